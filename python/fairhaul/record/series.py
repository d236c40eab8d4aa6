"""The series of a record as arrays: a row for each flow, link or gauge, a column for each bin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairhaul.record.columns import columns_of
from fairhaul.record.integrity import bins_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fairhaul.record.columns import Table

    Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Series:
    """The columns of a series as arrays (part, bin), without the bins of the warm-up."""

    columns: Mapping[str, Floats]
    starts_s: Floats
    lengths_s: Floats

    def total(self, name: str) -> Floats:
        """The sum over time of a counter, per part."""
        total: Floats = self.columns[name].sum(axis=1)
        return total

    def sent_with_copies(self) -> Floats:
        """The packets that each flow sent, with the copies that links made of them."""
        sent = self.total("sent")
        return sent + self.total("copied") if "copied" in self.columns else sent

    def mean(self, name: str) -> Floats:
        """The mean over time of a level, per part."""
        mean: Floats = self.columns[name] @ self.lengths_s / self.lengths_s.sum()
        return mean


def series(table: Table, parts: int, scenario: Mapping[str, Any]) -> Series:
    """Turn a series table, whose rows are ordered by part, then time, into arrays.

    Raises:
        ValueError: its rows are not the parts of `scenario`, in their order.
    """
    import numpy as np

    held = columns_of(table)
    bins = bins_of(held, parts, scenario)
    starts = held.numbers["t_s"][:bins]
    lengths = np.diff(np.append(starts, scenario["duration_s"]))
    inside = starts >= scenario["warmup_s"]
    columns = {
        name: values.reshape(parts, bins)[:, inside] for name, values in held.numbers.items()
    }
    return Series(columns=columns, starts_s=starts[inside], lengths_s=lengths[inside])
