"""Figures of runs and of sweeps."""
