"""The simulator compared with kernels: the same cells on several engines, and their differences.

A cell is one or two flows on one bottleneck. The simulator runs first, and its prediction is stored
before the kernel runs.
"""

from __future__ import annotations

from fairhaul.studies.cells.agreement import Agreement, Compared, agreement
from fairhaul.studies.cells.table import CELLS, UNUSUAL, Cell, UnusualCell
from fairhaul.studies.cells.work import Cells, compare, compare_unusual

__all__ = [
    "CELLS",
    "UNUSUAL",
    "Agreement",
    "Cell",
    "Cells",
    "Compared",
    "UnusualCell",
    "agreement",
    "compare",
    "compare_unusual",
]
