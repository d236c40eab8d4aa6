"""Which congestion controller a connection had, by the signs in its window.

Each sign is put into a bin, for each of which `recognised.json` has the probability under each
controller, and the products of these probabilities are compared. Signs depend on each other, so
the logarithms are multiplied by a factor that is fitted, too. `python -m tools.explanation.fitted`
writes the file from captures of Linux with known controllers (docs/explain.md).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fairhaul.studies.explanation.results import Recognised
from fairhaul.studies.explanation.signs import Signs, signs_of

if TYPE_CHECKING:
    from fairhaul.studies.explanation.limits import Shares
    from fairhaul.studies.explanation.trace import Column, Trace

FILE = Path(__file__).with_name("recognised.json")
# A controller with a smaller confidence is not listed.
LISTED = 0.05
# The network must limit a connection for this part of the time: otherwise its window is not that
# of its controller.
NETWORK = 0.5
# Pauses and the receiver's window may limit it for this part of the time.
HOSTS_LIMIT = 0.1
POLICED = "behind a policer losses come in bursts, which the fit of the controllers does not have"
FAR = "the controller is recognised on the sender's side only"
HOSTS = "the hosts limit the connection, or nothing shows that the network does"
SHORT = "the capture shows too few losses and round trips"


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """How probable each bin of each sign is under each controller.

    `edges` are the bounds between the bins of a sign. `logs` are logarithms of probabilities, a row
    for each controller: of each bin, and at the end of a sign that the capture does not show.
    """

    prior: Mapping[str, float]
    factor: float
    edges: Mapping[str, Column]
    logs: Mapping[str, Column]

    def likely(self, signs: Signs) -> dict[str, float]:
        """Give the probability of each controller."""
        logs = np.log(list(self.prior.values()))
        for name, edges in self.edges.items():
            logs = logs + self.factor * self.logs[name][:, place(signs[name], edges)]
        parts = np.exp(logs - logs.max())
        return dict(zip(self.prior, map(float, parts / parts.sum()), strict=True))


def place(sign: float, edges: Column) -> int:
    """Give the bin of a sign; the last one is that of an unknown sign."""
    return len(edges) + 1 if np.isnan(sign) else int(np.searchsorted(edges, sign))


def recognised(
    trace: Trace, limits: Shares, *, is_policed: bool = False
) -> tuple[Sequence[Recognised], str | None]:
    """Give the controllers that a connection may have had, the most probable first.

    The second value is the reason if there is none.
    """
    if is_policed:
        return [], POLICED
    if trace.side != "sender":
        return [], FAR
    hosts = limits["application"] + limits["receive_window"]
    if hosts > HOSTS_LIMIT or limits["path"] + limits["congestion_window"] < NETWORK:
        return [], HOSTS
    signs = signs_of(trace)
    if signs is None or (np.isnan(signs["kept"]) and np.isnan(signs["slope"])):
        return [], SHORT
    likely = fitted().likely(signs)
    listed = [Recognised(controller=name, confidence=of) for name, of in likely.items()]
    listed.sort(key=lambda of: -of.confidence)
    return [of for of in listed if of.confidence >= LISTED], None


@cache
def fitted() -> Fitted:
    """Read the probabilities."""
    read = json.loads(FILE.read_text(encoding="utf-8"))
    return Fitted(
        prior=read["prior"],
        factor=read["factor"],
        edges={name: np.array(of["edges"]) for name, of in read["signs"].items()},
        logs={name: np.log(of["parts"]) for name, of in read["signs"].items()},
    )
