"""Trains of packets compared with single packets."""
