"""What is measured in a record: the figures of a run."""
