"""Why the congestion window was as small as it was, where it limited a connection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from fairhaul.studies.explanation.path import queued_at_losses

if TYPE_CHECKING:
    from fairhaul.studies.explanation.limits import Held
    from fairhaul.studies.explanation.token_bucket import Bucket
    from fairhaul.studies.explanation.trace import Index, Trace

Cause = Literal["slow_start", "overflow", "policer", "random_loss", "marks", "unknown"]
CAUSES: tuple[Cause, ...] = get_args(Cause)


def causes_of(trace: Trace, bucket: Bucket | None, held: Held) -> Mapping[Cause, float]:
    """Give the shares of time in which the congestion window limited, by their causes.

    The cause is that of the last loss: the policer, a queue that overflowed, or chance if no queue
    stood. Before the first loss it is the slow start, or marks if the receiver reported any.
    """
    reported, _, _ = trace.marks
    first = CAUSES.index("marks" if reported else "slow_start")
    lost_s = trace.sent.time_s[trace.sent.lost]
    last = np.searchsorted(lost_s, held.edges_s[1:], side="right")
    of_rounds = np.concatenate(([first], _of_losses(trace, bucket)))[last]
    seconds = np.bincount(of_rounds, held.limits_s["congestion_window"], len(CAUSES))
    whole_s = sum(float(of.sum()) for of in held.limits_s.values())
    return {cause: float(seconds[at]) / whole_s for at, cause in enumerate(CAUSES)}


def _of_losses(trace: Trace, bucket: Bucket | None) -> Index:
    """Give the place of the cause of each loss among the causes."""
    policer, overflow, chance, none = map(
        CAUSES.index, ("policer", "overflow", "random_loss", "unknown")
    )
    if bucket is not None and bucket.is_policer:
        return np.full(int(trace.sent.lost.sum()), policer)
    queued = queued_at_losses(trace)
    if queued is None:
        return np.full(int(trace.sent.lost.sum()), none)
    return np.where(queued, overflow, chance)
