"""The figures of several runs: summaries, rows and columns of results."""
