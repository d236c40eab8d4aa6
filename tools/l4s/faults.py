"""Faults that the public L4S tests showed, beside our runs: rate steps, a wireless link, video."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from fairhaul.measures.measures import measure
from fairhaul.scenario.read import Source
from tools.l4s import SCENARIOS, Figure, by_seed, published

if TYPE_CHECKING:
    from fairhaul.record.record import Record

STEP_AT_S, BASE_RTT_S = 30.0, 0.08
# How much longer than the propagation delay a round trip is that counts as long, s.
LONG_S = 0.05
# Times between two bursts of the wireless link: the source gives no length of its bursts. Bursts of
# 1 us hold nothing.
BURSTS = ("1 us", "1 ms", "2 ms", "4 ms")
# The measured time of a run of five minutes at 160 ms begins as in the source.
STEADY_AT = "145 s"


@dataclass(frozen=True, kw_only=True)
class Case:
    """A scenario, and what was published of the numbers that are read of its record."""

    what: Sequence[str]
    published: Sequence[float | None]
    source: Source
    overrides: Mapping[str, object]


def _sender(name: str, flow: str, prague: Any) -> dict[str, object]:
    """Give the keys of the flow `name`; CUBIC had ECN in these tests."""
    controller, _, ecn = flow.partition(" ")
    if controller == "prague":
        return {f"flow.{name}.controller": prague}
    return {f"flow.{name}.controller": controller, f"flow.{name}.ecn": not ecn}


def _rate_steps() -> Iterator[Case]:
    for row in published()["rate_step"]:
        what = f"50 to {row['to']}, {row['flow']}"
        yield Case(
            what=[f"{what}: ms more", f"{what}: s with more than {1e3 * LONG_S:g} ms"],
            published=[row.get("more_ms"), row.get("lasts_s")],
            source=SCENARIOS / "rate-step.toml",
            overrides={
                "bottleneck.schedule": [{"at": f"{STEP_AT_S:g} s", "rate": row["to"]}],
                **_sender("prague", row["flow"], {"kind": "prague", "rtt_independent": False}),
            },
        )


def _delay(record: Record) -> Sequence[float]:
    """Give by how many ms the round trip is longer after the step, and how many s it stays long."""
    bins = record.flow_series.filter((pl.col("t_s") >= STEP_AT_S) & (pl.col("rtt_samples") > 0))
    more_s = (bins["rtt_s"] - BASE_RTT_S).to_list()
    times_s = bins["t_s"].to_list()
    begin = next((index for index, more in enumerate(more_s) if more > LONG_S), len(more_s) - 1)
    short = (index for index in range(begin, len(more_s)) if more_s[index] <= LONG_S)
    return [1e3 * max(more_s), times_s[next(short, len(more_s) - 1)] - times_s[begin]]


def _wireless() -> Iterator[Case]:
    for row in published()["wireless"]:
        for rate, mbps in zip(row["rates"], row["mbps"], strict=True):
            for burst in BURSTS:
                step = {"link.bottleneck.queue.step": row["step"]} if "step" in row else {}
                with_step = f", step {row['step']} ms" if step else ""
                what = f"{row['rtt']} ms, {rate} Mbit/s, {row['flow']}{with_step}, bursts {burst}"
                yield Case(
                    what=[what],
                    published=[mbps],
                    source=SCENARIOS / "wireless.toml",
                    overrides={
                        "link.bottleneck.rate": f"{rate} Mbit/s",
                        "link.wireless.aggregate.every": burst,
                        "flow.flow.rtt": f"{row['rtt'] - 1} ms",
                        "warmup": STEADY_AT if row["rtt"] == 160 else "0 s",
                        **step,
                        **_sender("flow", row["flow"], "prague"),
                    },
                )


def _videos() -> Iterator[Case]:
    for row in published()["video"]:
        yield Case(
            what=[row["what"]],
            published=[row.get("mbps")],
            source=_video(row.get("rates", {})),
            overrides={},
        )


def _video(rates: Mapping[str, str]) -> dict[str, Any]:
    """Give the scenario with these flows of video alone, and their rates within bursts."""
    scenario = tomllib.loads((SCENARIOS / "video.toml").read_text(encoding="utf-8"))
    flows = [flow for flow in scenario["flow"] if flow["name"] in ("prague", *rates)]
    for flow in flows:
        if flow["name"] in rates:
            flow["traffic"]["rate"] = rates[flow["name"]]
    return {**scenario, "flow": flows}


def _goodput(record: Record) -> Sequence[float]:
    """Give the goodput of the first flow, Mbit/s."""
    return [measure(record)["flows"][0]["goodput_bps"] / 1e6]


# Of each fault its cases, and what is read of a record.
FAULTS: Mapping[str, tuple[Callable[[], Iterator[Case]], Callable[[Record], Sequence[float]]]] = {
    "rate-step": (_rate_steps, _delay),
    "wireless": (_wireless, _goodput),
    "video": (_videos, _goodput),
}


def figures(
    name: str,
    seeds: int = 1,
    short: Mapping[str, object] | None = None,
    wanted: Callable[[str], bool] = lambda _: True,
) -> list[Figure]:
    """Run the cases of a fault whose names are wanted; `short`: further overrides."""
    plan, read = FAULTS[name]
    cases = [case for case in plan() if wanted(case.what[0])]
    found = by_seed(
        [(case.source, {**case.overrides, **(short or {})}) for case in cases], seeds, read
    )
    return [
        Figure(what=what, published=theirs, values=[run[index] for run in runs])
        for case, runs in zip(cases, found, strict=True)
        for index, (what, theirs) in enumerate(zip(case.what, case.published, strict=True))
    ]
