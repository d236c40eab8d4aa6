"""The moments of a connection as a figure: when which limit held, beside what shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairhaul.figures.bins import tidy
from fairhaul.figures.charts import Lane, Look, Span, lanes, timeline
from fairhaul.figures.figure import Figure
from fairhaul.figures.look import case_colour, colour
from fairhaul.text.phrases import rate_unit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairhaul.figures.charts.vega import Row
    from fairhaul.studies.explanation.moments import Moments
    from fairhaul.studies.explanation.results import Explained
    from fairhaul.studies.explanation.trace import Column

NAMES = {
    "application": "application",
    "receive_window": "receive window",
    "send_buffer": "send buffer",
    "congestion_window": "congestion window",
    "pacing": "pacing",
    "path": "path",
    "unknown": "not known",
}
LOSSES = "losses"
# The receiver's window is drawn where it is at most this many times what was outstanding.
NEAR = 3.0
CAPTION = (
    "For each part of the time, the rate of what was sent, in Ethernet frames, the most that was "
    "outstanding, and the smallest round-trip time. Below, what limited the connection then: a bar "
    "is as opaque as the share of its time for which that limit held."
)


def picture(of: Explained) -> list[Figure]:
    """Draw a connection over time; nothing if it was not read from a capture."""
    moments = of.moments
    if moments is None:
        return []
    span = Span(end_s=float(moments.edges_s[-1]), warmup_s=0.0)
    rows = list(_held(moments))
    names = list(dict.fromkeys(row["of"] for row in rows))
    looks = [Look(label=name, colour=case_colour(at)) for at, name in enumerate(names)]
    chart = lanes(list(_lanes(of, moments)), span, below=[timeline(looks, rows, span)])
    return [Figure(name="moments", title="What limited it when", caption=CAPTION, chart=chart)]


def _lanes(of: Explained, moments: Moments) -> Iterator[Lane]:
    policer = of.path.policer
    rate, what = (of.path.rate_bps, "path") if policer is None else (policer.rate_bps, "policer")
    scale, unit = rate_unit(float(moments.sent_bps.max()))
    limit = None if rate is None else (scale * rate.value, what)
    yield _lane("sent", unit, scale * moments.sent_bps, moments, limit)
    most, window = _end(moments.outstanding_bytes, np.fmax), moments.window_bytes
    usual = float(np.median(window[~np.isnan(window)])) if _end(window, np.fmax) else None
    limit = None
    if most and usual and usual <= NEAR * most:
        limit = (usual / 1e3, "median window of the receiver")
    if most:
        yield _lane("outstanding", "kB", moments.outstanding_bytes / 1e3, moments, limit)
    if _end(moments.rtt_s, np.fmax):
        yield _lane("round trip", "ms", 1e3 * moments.rtt_s, moments, None)


def _lane(
    name: str, unit: str, values: Column, moments: Moments, limit: tuple[float, str] | None
) -> Lane:
    middles_s = (moments.edges_s[:-1] + moments.edges_s[1:]) / 2
    rows = [
        {"t": tidy(float(t)), **dict.fromkeys(("mean", "low", "high"), _value(value))}
        for t, value in zip(middles_s, values, strict=True)
    ]
    top = max(_end(values, np.fmax) or 0.0, limit[0] if limit else 0.0)
    look = Look(label=name, colour=colour(0))
    return Lane(look=look, rows=rows, top=1.05 * top or 1.0, unit=unit, limit=limit)


def _held(moments: Moments) -> Iterator[Row]:
    """Give the bars: what limited the connection, and when packets were lost."""
    for limit, start_s, end_s, share in moments.held():
        yield {"of": NAMES[limit], "from": tidy(start_s), "t": tidy(end_s), "share": share}
    for at in np.flatnonzero(moments.lost):
        start_s, end_s = (float(of) for of in moments.edges_s[at : at + 2])
        yield {"of": LOSSES, "from": tidy(start_s), "t": tidy(end_s), "share": 1.0}


def _end(values: Column, of: np.ufunc) -> float | None:
    """Give the largest or the smallest of values that are known; None without one."""
    end = float(of.reduce(values))
    return None if np.isnan(end) else end


def _value(value: float) -> float | None:
    return None if np.isnan(value) else tidy(float(value))
