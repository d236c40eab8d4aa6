"""gHSTCP: the functions that its `paper.toml` names."""
