"""Sweeps: many runs of varied scenarios, whose results a store keeps."""
