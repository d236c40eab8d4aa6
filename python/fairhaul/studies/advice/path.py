"""What is known of the path of a transfer, and what is drawn where it is not known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairhaul import _core
from fairhaul.studies.advice.hosts import USUAL

if TYPE_CHECKING:
    from fairhaul.studies.advice.shown import Shown
    from fairhaul.studies.explanation.observed import Observed

# What is drawn where nothing is known, and how far from a given value it may be.
BUFFERS = ("0.05 bdp", "2 bdp")
BUFFER_FACTOR = 2.0
CROSS_COUNTS = (1, 2, 4, 8)
LOSSES = (0.0, 0.0, 1e-7, 1e-6, 1e-5)
LOSS_FACTOR = 3.0

# What is drawn, by the key of a scenario.
NAMES = {
    "bottleneck.queue.capacity": "a buffer",
    "flow.cross.count": "a number of competing flows",
    "bottleneck.loss": "a probability of loss",
    "bottleneck.policer.burst": "a bucket",
}


@dataclass(frozen=True, kw_only=True)
class Known:
    """What is known beside rate, round-trip time and size; None is what is not known.

    `buffer` is written as in a scenario, `cross` is the number of competing flows, perhaps 0.
    `policer` is the size of the token bucket that enforces the rate, where no queue does.
    `observed` is what connections over the path have shown.
    """

    buffer: str | None
    cross: int | None
    cross_kind: str = USUAL
    loss: float | None = None
    policer: str | None = None
    observed: Observed | Shown | None = None

    def sweep(self) -> dict[str, Any]:
        """Give what is drawn, as `[sweep]` takes it."""
        counts = {} if self.cross == 0 else {"flow.cross.count": {"any": self._counts()}}
        return {self._key(): self._buffers(), **counts, "bottleneck.loss": self._losses()}

    def _key(self) -> str:
        return "bottleneck.policer.burst" if self.policer else "bottleneck.queue.capacity"

    def _buffers(self) -> dict[str, Any]:
        given = self.policer or self.buffer
        if given is None:
            return {"from": BUFFERS[0], "to": BUFFERS[1], "scale": "log"}
        parts = _core.number_and_unit(given)
        assert parts is not None, "it was read as a capacity or a size before"
        number, unit = parts
        low, high = number / BUFFER_FACTOR, number * BUFFER_FACTOR
        if unit in {"packets", "packet", "B"}:
            low, high = max(1.0, round(low)), round(high)
        return {"from": f"{low:.12g} {unit}", "to": f"{high:.12g} {unit}", "scale": "log"}

    def _counts(self) -> list[int]:
        if self.cross is None:
            return list(CROSS_COUNTS)
        return sorted({max(1, self.cross // 2), self.cross, 2 * self.cross})

    def _losses(self) -> dict[str, Any]:
        if self.loss is None:
            return {"any": list(LOSSES)}
        if self.loss == 0:
            return {"any": [0.0]}
        return {"from": self.loss / LOSS_FACTOR, "to": self.loss * LOSS_FACTOR, "scale": "log"}

    def text(self) -> str:
        """Say what is drawn from where."""
        buffers, losses = self._buffers(), self._losses()
        counts = "no" if self.cross == 0 else ", ".join(map(str, self._counts()))
        kind = "" if self.cross == 0 else f"{self.cross_kind} "
        if "from" in losses:
            loss = f"{losses['from']:.2g} to {losses['to']:.2g}"
        else:
            loss = ", ".join(f"{value:g}" for value in dict.fromkeys(losses["any"]))
        what = "bucket of the policer" if self.policer else "buffer"
        return (
            f"{what} {buffers['from']} to {buffers['to']}; {counts} competing {kind}flows; "
            f"probability of random loss {loss}"
        )
