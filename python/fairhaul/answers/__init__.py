"""The records and figures of the runs of a scenario, for Python and the terminal."""
