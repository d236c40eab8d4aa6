"""The model of a path: what a scenario needs of it, and its connections.

Estimates count Ethernet frames with their check sequences; a scenario counts IP packets with 52
bytes of headers, and its payload is that of the connections.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from fairhaul.scenario.packets import STAMPED_BYTES
from fairhaul.scenario.read import ScenarioError
from fairhaul.studies.explanation.results import (
    USUAL_BURST,
    Explained,
    recognised_text,
    size_text,
    with_largest,
)
from fairhaul.studies.explanation.trace import HEADERS, USUAL_MSS

Kind = Literal["queue", "policer", "shaper"]

# How much faster than its policer or its shaper a link is taken to be, here and in an advice.
POLICED_LINK = 4
# Where the rate is a bound and a host limits, a simulation of changes has a link this many times as
# fast.
HEADROOM = 4
# The buffer of a scenario where it is not known, in bandwidth-delay products.
USUAL_BUFFER_BDP = 1.0
# The controller where none was reported or recognised, the default of Linux; one that is recognised
# with a smaller confidence is not used.
USUAL_CONTROLLER, LIKELY = "cubic", 0.5
# A limit of the hosts belongs to the scenario if it took this share of the time.
LIMITED_FROM = 0.05
# What the kernel counts for a packet in a send buffer beside its data, in bytes, and how many times
# the size that was asked for it grants.
RECORD_BYTES, GRANTED = 832, 2
TRANSFER, OTHERS = "transfer", "others"


@dataclass(frozen=True, kw_only=True)
class Model:
    """A path and its connections, as they can be simulated.

    `rate_bps` is that of the policer, the shaper or the link in bits of frames per second,
    `buffer_bytes` and `burst_bytes` count frames, too; a queue has no burst. `rtt_s` is the
    smallest round-trip time in seconds, `loss` a probability. `hosts` are keys of the flow by which
    its hosts limit it, `mss` the data of a packet in bytes, and `others` the number of competing
    flows of cubic. `is_bound` says that the rate is only known to be at least that.
    """

    kind: Kind
    rate_bps: float
    rtt_s: float
    buffer_bytes: float
    burst_bytes: float | None
    loss: float
    mss: int
    controller: str
    count: int
    is_bound: bool
    hosts: Mapping[str, str | float] = field(default_factory=dict)
    others: int = 0

    @property
    def _counted(self) -> float:
        """What the scenario counts of a frame."""
        return (self.mss + STAMPED_BYTES) / (self.mss + HEADERS)

    def sections(self) -> dict[str, Any]:
        """Give the sections of a scenario, without its duration."""
        rate = f"{self.rate_bps * self._counted:.0f} bit/s"
        is_bucket = self.burst_bytes is not None
        link_bps = self.rate_bps * self._counted * (POLICED_LINK if is_bucket else 1)
        capacity = size_text(self.buffer_bytes * self._counted)
        bottleneck: dict[str, Any] = {
            "rate": f"{link_bps:.0f} bit/s",
            "delay": f"{250 * self.rtt_s:.6g} ms",
            "queue": {"kind": "droptail", "capacity": capacity},
        }
        if self.loss > 0:
            bottleneck["loss"] = float(f"{self.loss:.3g}")
        if self.burst_bytes is not None:
            burst = size_text(self.burst_bytes * self._counted)
            bottleneck[self.kind] = {"rate": rate, "burst": burst}
        rtt = f"{1000 * self.rtt_s:.6g} ms"
        flow = {"name": TRANSFER, "controller": self.controller, "rtt": rtt, **self.hosts}
        flows = [flow | ({"count": self.count} if self.count > 1 else {})]
        if self.others:
            kind: dict[str, Any] = {"role": "background", "controller": USUAL_CONTROLLER}
            flows.append({"name": OTHERS, "rtt": rtt, "count": self.others, **kind})
        return {
            "packet": f"{self.mss + STAMPED_BYTES} B",
            "bottleneck": bottleneck,
            "flow": flows,
        }


def model_of(explained: Sequence[Explained]) -> Model:
    """Give the model of the largest connection and those between the same hosts.

    Raises:
        ScenarioError: rate or round-trip time are not known.
    """
    if not explained:
        raise ScenarioError("no connection carries data, so there is no path")
    largest = explained[0]
    path, beside = largest.path, with_largest(explained)
    bucket = path.policer or path.shaper
    rate = path.rate_bps if bucket is None else bucket.rate_bps
    if rate is None or path.rtt_s is None:
        missing = "rate" if rate is None else "round-trip time"
        raise ScenarioError(f"the {missing} of the path is not known")
    kind: Kind = "policer" if path.policer else "shaper" if path.shaper else "queue"
    burst = None
    if bucket is not None:
        burst = USUAL_BURST if bucket.burst_bytes is None else bucket.burst_bytes.value
    link_bps = rate.value * (POLICED_LINK if path.policer else 1)
    buffer = USUAL_BUFFER_BDP * link_bps / 8 * path.rtt_s.value
    return Model(
        kind=kind,
        rate_bps=rate.value,
        rtt_s=path.rtt_s.value,
        buffer_bytes=buffer if path.buffer_bytes is None else path.buffer_bytes.value,
        burst_bytes=burst,
        loss=path.loss.value if path.loss is not None and path.loss.low > 0 else 0.0,
        mss=largest.mss or USUAL_MSS,
        controller=controller_of(largest)[0],
        count=len(beside),
        is_bound=rate.high is None,
        hosts=_hosts(largest, path.rtt_s.value),
        others=_others(beside),
    )


def controller_of(of: Explained) -> tuple[str, str]:
    """Give the controller of a connection, and a sentence on how it is known."""
    if of.controller is not None:
        return of.controller, "As the sender reported it."
    if of.recognised and of.recognised[0].confidence >= LIKELY:
        name = of.recognised[0].controller
        return name, f"Recognised by its window: {recognised_text(of.recognised)}."
    return USUAL_CONTROLLER, "The controller was not recognised; cubic is the default of Linux."


def _hosts(of: Explained, rtt_s: float) -> dict[str, str | float]:
    """Give the keys of a flow for the limits of its hosts."""
    keys: dict[str, str | float] = {}
    mss, goodput = of.mss or USUAL_MSS, of.goodput_bps or 0.0
    if of.limits["receive_window"] >= LIMITED_FROM and of.window_bytes:
        keys["receive_buffer"] = f"{of.window_bytes:.0f} B"
    if of.limits["send_buffer"] >= LIMITED_FROM and goodput:
        held = goodput / 8 * rtt_s * (mss + RECORD_BYTES) / mss
        keys["send_buffer"] = f"{held / GRANTED:.0f} B"
    busy_bps = goodput / max(1 - of.limits["application"], LIMITED_FROM)
    if of.limits["pacing"] >= LIMITED_FROM and goodput:
        keys["max_pacing_rate"] = f"{busy_bps * (mss + STAMPED_BYTES) / mss:.0f} bit/s"
    if of.main == "unknown" and of.measured is not None and goodput:
        # What is outstanding is constant, and neither a window nor a queue nor a loss says why.
        outstanding = busy_bps / 8 * (rtt_s + of.measured.waits_s[0])
        keys["max_window"] = max(1.0, round(outstanding / mss, 1))
    return keys


def _others(beside: Sequence[Explained]) -> int:
    """Give how many flows like these have the rate that others take."""
    cross = beside[0].path.cross_bps
    own = sum(of.goodput_bps or 0.0 for of in beside)
    if cross is None or not own:
        return 0
    return max(1, round(cross.value / (own / len(beside))))
