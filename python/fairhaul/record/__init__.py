"""The record of a run: its tables, its files, and packet traces."""
