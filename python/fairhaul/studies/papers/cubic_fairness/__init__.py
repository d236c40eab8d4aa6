"""CUBIC beside NewReno: the functions that its `paper.toml` names."""
