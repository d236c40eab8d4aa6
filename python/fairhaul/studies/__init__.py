"""Studies: questions that are answered by many runs."""
