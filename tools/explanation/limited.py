"""`python -m tools.explanation.limited`: compare limits that are found with planted ones.

Each capture is made in Linux in simulated time, or with `--engine lab` over a path of the lab, by
a sender that is limited as planned, beside what `ss` prints once a second. What was planted is the
truth, and where it has no number, the clocks of the kernel are: how long data was outstanding, and
how long the receiver's window was used up.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

import fairhaul
from fairhaul.files import files
from fairhaul.studies.explanation import Explained
from fairhaul.text.table import Table
from tools import ROOT

OUT = ROOT / "out" / "explain"
GUEST = Path(__file__).with_name("guest.py")
SEED = 46
EACH = 6
SECONDS = 15.0
# The shares of time must be as near as this.
NEAR = 0.05
# The path and the congestion window take turns behind a usual buffer: they count together.
NETWORK = "network"
TOGETHER = ("path", "congestion_window")
LOSSLESS = 0.0

Draw = Callable[[float, float], float]


@dataclass(frozen=True, kw_only=True)
class Planned:
    """A sender, its path and its controller. Rates are in bit/s, `buffer` in products of both."""

    plan: Mapping[str, Any]
    rate_bps: float
    rtt_s: float
    limit: str
    buffer: float = 1.0
    loss: float = LOSSLESS
    controller: str = "cubic"

    def scenario(self, seed: int) -> str:
        """Write the scenario of the path."""
        return "\n".join(
            [
                f"seed = {seed}",
                f'duration = "{SECONDS + 5:g} s"',
                'packet = "1500 B"',
                'profile = "linux"',
                "[bottleneck]",
                f'rate = "{self.rate_bps:.0f} bit/s"',
                f'delay = "{250 * self.rtt_s:.3f} ms"',
                f'queue = {{ kind = "droptail", capacity = "{self.buffer:.2f} bdp" }}',
                f"loss = {self.loss:.5f}",
                "[[flow]]",
                'name = "F"',
                f'controller = "{self.controller}"',
                f'rtt = "{1000 * self.rtt_s:.3f} ms"\n',
            ]
        )


def _long(draw: Draw) -> dict[str, float]:
    """Draw a path whose product of rate and round-trip time is far above small buffers."""
    return {"rate_bps": draw(50e6, 80e6), "rtt_s": draw(0.06, 0.1)}


def _planned(plan: Mapping[str, Any], limit: str, **path: Any) -> Planned:
    return Planned(plan={"write": 65536, "seconds": SECONDS, **plan}, limit=limit, **path)


def _trickle(draw: Draw) -> Planned:
    path, every = _long(draw), draw(0.005, 0.02)
    return _planned(
        {"write": int(draw(0.05, 0.4) * path["rate_bps"] * every / 8), "every": every},
        "application",
        **path,
    )


def _paced(draw: Draw) -> Planned:
    path = _long(draw)
    return _planned({"pacing": int(draw(0.1, 0.6) * path["rate_bps"] / 8)}, "pacing", **path)


KINDS: Mapping[str, Callable[[Draw], Planned]] = {
    "deep buffer": lambda draw: _planned(
        {}, "path", rate_bps=draw(10e6, 30e6), rtt_s=draw(0.02, 0.05), buffer=draw(4, 6)
    ),
    "usual buffer": lambda draw: _planned(
        {}, NETWORK, rate_bps=draw(10e6, 40e6), rtt_s=draw(0.02, 0.08), buffer=draw(0.5, 1.5)
    ),
    "random loss": lambda draw: _planned(
        {},
        "congestion_window",
        rate_bps=draw(60e6, 100e6),
        rtt_s=draw(0.04, 0.08),
        loss=draw(0.005, 0.015),
        controller="reno",
    ),
    "small receive buffer": lambda draw: _planned(
        {"receive_buffer": int(draw(32e3, 128e3))}, "receive_window", **_long(draw)
    ),
    "slow reader": lambda draw: _planned(
        {"reads": draw(0.5e6, 2e6)}, "receive_window", **_long(draw)
    ),
    "small send buffer": lambda draw: _planned(
        {"send_buffer": int(draw(16e3, 64e3)), "write": int(draw(4e3, 64e3))},
        "send_buffer",
        **_long(draw),
    ),
    "small tcp_wmem": lambda draw: _planned(
        {"write": int(draw(16e3, 64e3)), "most_send": int(draw(64e3, 160e3))},
        "send_buffer",
        **_long(draw),
    ),
    "pauses": lambda draw: _planned(
        {"write": int(draw(0.3e6, 2e6)), "every": draw(1, 2)}, "application", **_long(draw)
    ),
    "trickle": _trickle,
    "pacing cap": _paced,
}


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A capture: what was planted, the true shares, and both explanations of it."""

    kind: str
    number: int
    truth: Mapping[str, float]
    alone: Explained
    beside: Explained


@click.command()
@click.option("--seed", default=SEED, help="Seed of the paths and the senders.")
@click.option("--engine", type=click.Choice(["linux", "lab"]), default="linux")
def main(seed: int, engine: str) -> None:
    """Make captures of senders with planted limits, explain them, and count what is right.

    There are six of each kind, in the lab the first of each. They are kept in out/explain/limits,
    so that an interrupted run continues. The tables are in out/explain/limits.md, too.
    """
    plan = [kind for kind in KINDS for _ in range(EACH)]
    name = "limits" if engine == "linux" else "limits-lab"
    folder = OUT / (name if seed == SEED else f"{name}-{seed}")
    each = []
    for number, kind in enumerate(plan):
        if engine == "lab" and number % EACH:
            continue
        planned = KINDS[kind](_drawing(seed, number))
        place = folder / str(number)
        if not (place / "clocks.json").exists():
            click.echo(f"{number + 1} of {len(plan)}: {kind}", err=True)
            _capture(planned, seed + number, place, engine)
        each.append(_judged(kind, number, planned, place))
    text = "\n".join(_lines(each))
    files.replace(folder.with_suffix(".md"), text.encode())
    click.echo(text)


def _drawing(seed: int, number: int) -> Draw:
    """Give what draws a number evenly between two others."""
    chance = np.random.default_rng((seed, number))
    return lambda low, high: float(chance.uniform(low, high))


def _capture(planned: Planned, seed: int, place: Path, engine: str) -> None:
    place.mkdir(parents=True, exist_ok=True)
    scenario = place / "scenario.toml"
    scenario.write_text(planned.scenario(seed))
    plan = json.dumps(planned.plan)
    receiver = f"{sys.executable} {GUEST} receive '{plan}'"
    shell = [sys.executable, "-m", "fairhaul", "lab", "shell", str(scenario), "--engine", engine]
    program = [sys.executable, str(GUEST), "send", plan, str(place)]
    subprocess.run(
        [*shell, "--host", "F", "--receiver", receiver, "--", *program],
        check=True,
        stderr=subprocess.DEVNULL,
    )


def _judged(kind: str, number: int, planned: Planned, place: Path) -> Judged:
    clocks = json.loads((place / "clocks.json").read_text())
    took = clocks["seconds"]
    idle = max(0.0, 1 - clocks["busy"] / took)
    window = clocks["receive_window"] / took
    truth = {planned.limit: 1.0}
    if kind == "pauses":
        truth = {"application": idle, NETWORK: 1 - idle}
    if planned.limit == "receive_window":
        truth = {"receive_window": window, NETWORK: 1 - window - idle, "application": idle}
    capture, text = place / "sender.pcap", place / "sender.txt"
    return Judged(
        kind=kind,
        number=number,
        truth=truth,
        alone=fairhaul.explain(capture).connections[0],
        beside=fairhaul.explain([capture, text]).connections[0],
    )


def _shares(of: Explained, truth: Mapping[str, float]) -> dict[str, float]:
    """Give the shares that were found, of the path and the window together if planted so."""
    shares = {str(limit): share for limit, share in of.limits.items()}
    if NETWORK in truth:
        shares[NETWORK] = sum(shares.pop(limit) for limit in TOGETHER)
    return shares


def _is_near(of: Judged) -> bool:
    """Whether the shares beside `ss` are near the true ones."""
    shares = _shares(of.beside, of.truth)
    return all(abs(share - of.truth.get(limit, 0.0)) <= NEAR for limit, share in shares.items())


def _is_consistent(of: Judged) -> bool:
    """Whether the capture alone is near the truth, where it says what it cannot separate."""
    shares = _shares(of.alone, of.truth)
    hidden = of.alone.not_separated or 0.0
    open_limits = ("application", "send_buffer", "unknown")
    return all(
        abs(share - of.truth.get(limit, 0.0)) <= NEAR + (hidden if limit in open_limits else 0.0)
        for limit, share in shares.items()
    )


def _lines(each: Sequence[Judged]) -> Iterator[str]:
    kinds = dict.fromkeys(of.kind for of in each)
    rows = [_row(kind, [of for of in each if of.kind == kind]) for kind in kinds]
    columns = [
        "planted",
        "captures",
        "right with ss",
        "right alone",
        "not separated, % of the time",
    ]
    yield from Table(columns=columns, rows=[*rows, _row("all", each)]).markdown()
    yield ""
    for of in each:
        for name, found, is_right in (
            ("with ss", of.beside, _is_near(of)),
            ("alone", of.alone, _is_consistent(of)),
        ):
            if not is_right:
                shares = f"{_text(_shares(found, of.truth))}; true: {_text(of.truth)}"
                yield f"- {of.kind}, number {of.number}, {name}: {shares}"
    yield ""


def _text(shares: Mapping[str, float]) -> str:
    parts = [f"{limit} {100 * share:.1f} %" for limit, share in shares.items() if share >= 0.001]
    return ", ".join(parts)


def _row(what: str, each: Sequence[Judged]) -> list[str]:
    hidden = sum(of.alone.not_separated or 0.0 for of in each) / len(each)
    near, consistent = sum(map(_is_near, each)), sum(map(_is_consistent, each))
    return [what, str(len(each)), str(near), str(consistent), f"{100 * hidden:.1f}"]


if __name__ == "__main__":
    main()
