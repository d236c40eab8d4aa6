"""The simulator's Linux hosts beside Linux in simulated time, in cells that are drawn.

`cells.py` draws them from the distribution that docs/hosts.md states, `figures.py` computes what is
compared, `comparison.py` compares it, and `work.py` runs the cells and keeps what they gave.
"""
