"""The simulator compared with kernels: the same cells on several engines, and their differences.

A cell is one or two flows on one bottleneck. The simulator runs first, and its prediction is stored
before the kernel runs.
"""

from __future__ import annotations

from fairhaul.cells.table import CELLS, Cell
from fairhaul.cells.work import Compared, compare

__all__ = ["CELLS", "Cell", "Compared", "compare"]
