"""Texts: tables, digits, durations, and what a terminal may print."""
