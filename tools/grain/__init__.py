"""Bursts simulated as one, compared with each packet on its own."""
