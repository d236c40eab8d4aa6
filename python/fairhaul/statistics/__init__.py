"""Estimates with their intervals, and evidence for statements."""
