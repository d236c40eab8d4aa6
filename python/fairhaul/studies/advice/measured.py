"""What a run says about a transfer: how it went on, what kept it back, and what others had."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Any, TypedDict

from fairhaul.measures.limits import LIMITS
from fairhaul.measures.measures import measure
from fairhaul.record.series import series

if TYPE_CHECKING:
    from fairhaul.record.record import Record
    from fairhaul.scenario.read import Scenario

# The part of its time that an endless flow has gone on when its rate is taken as that of the rest.
SETTLED = 1 / 3


class TransferFigures(TypedDict):
    """The figures of a run over [warmup, duration], in which the transfer begins at `warmup`.

    `received_bytes` is what the transfer has got by the end of each bin of `until_s`, counted from
    its start.
    """

    until_s: list[float]
    received_bytes: list[float]
    others_bps: float
    retransmitted: float
    cycles: float
    limits: dict[str, float]
    packets: float


def transfer_figures(scenario: Scenario, record: Record) -> TransferFigures:
    """Compute the figures of a run of an advice."""
    import numpy as np

    run = measure(record)
    described = scenario.described
    rows = series(record.raw("flow_series"), len(described["flows"]), described)
    own = [at for at, flow in enumerate(run["flows"]) if flow["role"] == "measured"]
    received = np.cumsum(rows.columns["goodput_bytes"][own].sum(axis=0))
    sent = float(rows.sent_with_copies()[own].sum())
    again = float(rows.total("retransmitted")[own].sum())
    ends = rows.starts_s + rows.lengths_s - described["warmup_s"]
    kept_back = [run["flows"][at]["limits"] for at in own if run["flows"][at]["limits"]]
    return {
        "until_s": [round(float(end), 9) for end in ends],
        "received_bytes": [float(size) for size in received],
        "others_bps": sum(of["goodput_bps"] for of in run["flows"] if of["role"] == "background"),
        "retransmitted": again / sent if sent else 0.0,
        "cycles": max(flow["cycles"] or 0.0 for flow in run["flows"]),
        "limits": {
            limit: fmean(of[limit] for of in kept_back) if kept_back else 0.0 for limit in LIMITS
        },
        "packets": run["packets"],
    }


def completion_s(figures: TransferFigures | dict[str, Any], size_bytes: float) -> float:
    """Give how long a transfer of that size takes, s.

    After the end of the run it goes on at the rate of the last two thirds of its time.
    """
    import numpy as np

    until, received = np.array(figures["until_s"]), np.array(figures["received_bytes"])
    if received[-1] >= size_bytes:
        at = int(np.searchsorted(received, size_bytes))
        before_s, before = (until[at - 1], received[at - 1]) if at else (0.0, 0.0)
        part = (size_bytes - before) / (received[at] - before)
        return float(before_s + part * (until[at] - before_s))
    settled = int(np.searchsorted(until, SETTLED * until[-1]))
    rate = (received[-1] - received[settled]) / (until[-1] - until[settled])
    # What has stopped is taken to need forever, which no other number stands for as well.
    return float(until[-1] + (size_bytes - received[-1]) / max(rate, 1e-3))
