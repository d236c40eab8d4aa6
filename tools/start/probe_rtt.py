"""The probes of the round trip of BBRv3: intervals, filters and the remedies, by what they cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairhaul.jobs.store import build_of, jobs_of
from fairhaul.jobs.values import Running, values
from fairhaul.scenario.read import read, variant
from fairhaul.statistics.estimate import AT_LEAST_0, FRACTION, Bounds, estimate
from fairhaul.statistics.estimate import text as estimate_text
from fairhaul.statistics.evidence import below, judge, less
from fairhaul.text.digits import Significant, percent
from fairhaul.text.table import Table
from tools import ROOT
from tools.start.compared import Of
from tools.start.figures import write
from tools.start.probed import probed

if TYPE_CHECKING:
    from tools.start.rules import Keys

NAME = "probe-rtt"
# The values of a run.
Probed = Mapping[str, float]
# A situation, the number of flows, and a setting.
Key = tuple[str, str, str]
# A number with a setting less that with the draft; None where it is not beyond chance.
Beyond = Mapping[tuple[Key, str], "float | None"]
SCENARIO = ROOT / "scenarios" / "start" / f"{NAME}.toml"
DRAFT = "5 s, 10 s"
SETTINGS: dict[str, Mapping[str, Any]] = {
    DRAFT: {"probe_rtt_interval": 5, "min_rtt_window": 10},
    "10 s, 10 s": {"probe_rtt_interval": 10, "min_rtt_window": 10},
    "10 s, 20 s (remedy B)": {"probe_rtt_interval": 10, "min_rtt_window": 20},
    "10 s, 10 s, old window (remedy A)": {"min_rtt_window": 10, "single_filter": True},
}
IDLE = {"kind": "limited", "rate": "0 bit/s", "from": "30 s", "until": "42 s"}
SITUATIONS: dict[str, Keys] = {
    "a flow joins": {},
    "the round trip rises by 40 ms": {"bottleneck.schedule": [{"at": "30 s", "delay": "30 ms"}]},
    "the round trip falls by 16 ms": {"bottleneck.schedule": [{"at": "30 s", "delay": "2 ms"}]},
    "an application pauses for 12 s": {"flow.F.traffic": IDLE},
}
NUMBERS: Mapping[str, tuple[str, Bounds, Any]] = {
    "utilization": ("utilization", FRACTION, percent(1)),
    "fairness": ("Jain's index", FRACTION, Significant(digits=3)),
    "queue_s": ("mean time in the queue, s", AT_LEAST_0, Significant(digits=3)),
    "retransmits": ("retransmissions", AT_LEAST_0, Significant(digits=3)),
}


def report(seeds: int, running: Running) -> Iterator[str]:
    """Run every situation with every setting; give a table of each, and what is beyond chance."""
    build = build_of(probed)
    plan, jobs = [], []
    for situation, keys in SITUATIONS.items():
        for setting, parameters in SETTINGS.items():
            own = {"flow.*.controller": {"kind": "bbr3", **parameters}}
            for of in read(SCENARIO, {**keys, **own}):
                jobs += jobs_of(of, seeds, "sim", "probed", build)
                plan.append((situation, str(1 + variant(of)["flow.F.count"]), setting))
    found = iter(values(jobs, probed, running))
    runs = {key: [next(found) for _ in range(seeds)] for key in plan}
    for situation in SITUATIONS:
        yield f"{situation}:"
        yield ""
        yield from _table({key[1:]: of for key, of in runs.items() if key[0] == situation})
        yield ""
    yield "Beyond chance, the utilization with 2, 4 and 8 flows less that of the draft, points:"
    yield ""
    beyond = _beyond(runs)
    yield from _utilizations(beyond)
    yield ""
    yield from _sentences(beyond)
    write(
        NAME,
        {situation: _of(situation, runs) for situation in SITUATIONS},
        DRAFT,
        lambda run: max(run["queue_s"], 1e-6),
        f"Mean time in the queue, times that with {DRAFT}",
    )


def _of(situation: str, runs: Mapping[Key, Sequence[Probed]]) -> Of[Probed]:
    """Give the runs of a situation with each setting, by the number of flows."""
    found: dict[tuple[str, ...], dict[str, Sequence[Probed]]] = {}
    for (where, flows, setting), of in runs.items():
        if where == situation:
            found.setdefault((flows,), {})[setting] = of
    return found


def _table(runs: Mapping[tuple[str, str], Sequence[Mapping[str, float]]]) -> Iterator[str]:
    heads = ["flows", "interval, filter", *(called for called, _, _ in NUMBERS.values())]
    rows = [
        [
            flows,
            setting,
            *(
                estimate_text(estimate([run[name] for run in of], bounds), form)
                for name, (_, bounds, form) in NUMBERS.items()
            ),
        ]
        for (flows, setting), of in runs.items()
    ]
    yield from Table(columns=heads, rows=rows, words=2).markdown()


def _beyond(runs: Mapping[Key, Sequence[Probed]]) -> Beyond:
    """Compare every setting with that of the draft; all statements are judged together."""
    family = [(key, name) for key in runs if key[2] != DRAFT for name in NUMBERS]
    differences = []
    for (situation, flows, setting), name in family:
        ours, theirs = (
            dict(enumerate(run[name] for run in runs[situation, flows, of]))
            for of in (setting, DRAFT)
        )
        differences.append(less(ours, theirs))
    judged = judge([below(of, 0.0) for of in differences])
    return {
        each: None if of is None or is_less is None else of.mean
        for each, of, is_less in zip(family, differences, judged, strict=True)
    }


def _utilizations(beyond: Beyond) -> Iterator[str]:
    """Give the differences of the utilization by situation and setting, in the order of flows."""
    rows: dict[tuple[str, str], list[str]] = {}
    for ((situation, _, setting), name), mean in beyond.items():
        if name == "utilization":
            cell = "-" if mean is None else f"{100 * mean:+.1f}"
            rows.setdefault((situation, setting), []).append(cell)
    settings = [setting for setting in SETTINGS if setting != DRAFT]
    yield from Table(
        columns=["situation", *settings],
        rows=[
            [situation, *(", ".join(rows[situation, setting]) for setting in settings)]
            for situation in SITUATIONS
        ],
        words=4,
    ).markdown()


def _sentences(beyond: Beyond) -> Iterator[str]:
    """Say where a setting differs from that of the draft."""
    for ((situation, flows, setting), name), mean in beyond.items():
        if mean is None:
            continue
        called, _, form = NUMBERS[name]
        way = "less" if mean < 0 else "more"
        yield (
            f"- Where {situation}, with {flows} flows: {called} with {setting} is {way} than with "
            f"{DRAFT}, by {form(abs(mean))}."
        )
