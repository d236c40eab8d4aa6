"""Runs of scenarios by an engine: in threads, one after the other, or step by step."""
