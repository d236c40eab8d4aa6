"""Sync-TCP: the functions that its `paper.toml` names."""
