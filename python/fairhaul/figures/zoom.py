"""The data of a chart over time that the page draws when a reader zooms in: those of the record.

`zoom.js` puts the bins of the chosen time together. The charts of one run are zoomed together.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairhaul.figures.bins import MOST_BINS, Bins

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairhaul.figures.charts import Span
    from fairhaul.measures.losses import Loss

Raw = dict[str, Any]

# Values of one figure, about 270 kB of the page. Of longer records neighbouring bins are together.
MOST_VALUES = 100_000
MOST_EVENTS = 20_000
MOST_PART = 65_535


def lanes(bins_of: Callable[[int], Bins], parts: Sequence[int], run: str, span: Span) -> Raw | None:
    """Give the bins of `parts` for lanes; `bins_of` puts them together to at most a number."""
    bins = bins_of(most_bins(len(parts)))
    return _series("lanes", bins, [bins.mean[part] for part in parts], run, span)


def lines(
    bins: Bins, values: Sequence[Sequence[float]], run: str, span: Span, most: int
) -> Raw | None:
    """Give the values of lines, a value for each of `bins`; at most `most` are drawn at a time."""
    raw = _series("lines", bins, values, run, span)
    return None if raw is None else {**raw, "most": most}


def events(losses: Sequence[Loss], names: Sequence[str], run: str, span: Span) -> Raw | None:
    """Give the loss events of the flows `names`; nothing if they are too many for the page."""
    number = {name: i for i, name in enumerate(names)}
    found = [
        [float(f"{loss.t_s:.6g}"), number[loss.flow], int(loss.kind == "timeout")]
        for loss in losses
        if loss.flow in number
    ]
    if len(found) > MOST_EVENTS:
        return None
    return {"run": run, "end": span.end_s, "kind": "events", "names": list(names), "events": found}


def most_bins(parts: int) -> int:
    """Give the number of bins for which there is room in the page."""
    return max(MOST_BINS, MOST_VALUES // max(parts, 1))


def _series(
    kind: str, bins: Bins, values: Sequence[Sequence[float]], run: str, span: Span
) -> Raw | None:
    """Give the values of bins of one length; nothing if their lengths differ."""
    between = np.diff(bins.middle_s)[:-1]  # the last bin may be shorter
    if not values or not np.allclose(between, bins.width_s, rtol=1e-3):
        return None
    return {
        **{"run": run, "end": span.end_s, "kind": kind, "step": bins.width_s},
        "start": float(bins.middle_s[0] - bins.width_s / 2) if len(between) else 0.0,
        "series": [_packed(np.asarray(series)) for series in values],
    }


def _packed(values: NDArray[np.float64]) -> Raw:
    """Pack values, of which none is negative, as parts of the largest in 16 bits each."""
    top = max(float(values.max()), 1e-300)
    parts = np.rint(values / top * MOST_PART).astype("<u2")
    return {"top": top, "parts": base64.b64encode(parts.tobytes()).decode()}
