"""The paper's four fairness ratios, with three start times, and its two claims of queues."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from fairhaul.papers import Row, Table, losses
from fairhaul.papers.cubic_fairness.pair import (
    DROPTAIL,
    FAST,
    MIDDLE,
    NOT_STATIONARY,
    PAPER,
    QUEUES,
    RATES,
    RED,
    link,
    marked,
    pair_numbers,
)
from fairhaul.papers.experiment import (
    Case,
    Claim,
    Experiment,
    Found,
    Settings,
    below,
    case,
    cell,
    every,
    judged,
    within,
)

if TYPE_CHECKING:
    from fairhaul.estimate import Estimate
    from fairhaul.papers.experiment import Key
    from fairhaul.record import Record
    from fairhaul.report import Figure

FILE = "fairness.toml"
TOGETHER, STEADY = "together", "slow-but-steady"
LATER = "uniform 50 s..51 s"
STARTS: dict[str, Settings] = {
    TOGETHER: {},
    "CUBIC first": {"flow.newreno.start": LATER},
    "NewReno first": {"flow.cubic.start": LATER},
    STEADY: {"flow.newreno.recovery": {"kind": "newreno", "variant": "slow-but-steady"}},
}

# "Fairness will be a problem": less than half of what the other has.
PROBLEM = 0.5
HALF = 0.5

# In proportion to the rates it would be 1.5 at 20 Mbit/s and 10 at 1 Gbit/s.
HIGHER = 1.25

RATIO = "NewReno / CUBIC"
NUMBERS = {
    RATIO: ("ratio", ".3f"),
    "NewReno in %": ("NewReno", ".1f"),
    "CUBIC in %": ("other", ".1f"),
    "utilisation in %": ("utilisation", ".1f"),
    "fewest loss events": ("loss events", ".0f"),
    "timeouts": ("timeouts", ".0f"),
}
QUEUED = {
    "drops of NewReno": ("loss NewReno", ".1e"),
    "drops of CUBIC": ("loss other", ".1e"),
    "CUBIC's / NewReno's": ("loss ratio", ".2f"),
    "CUBIC's share of what is sent": ("sent share", ".3f"),
    "CUBIC's share of the queue": ("queue share", ".3f"),
    "queue in packets": ("queue", ".0f"),
    "found of it": ("queue found", ".2f"),
}

CHOSEN = (
    "Fairness: the ratio is NewReno's throughput, all payload that arrived, over CUBIC's; the "
    "paper's numbers are below 1, and it does not say which flow is above the line.",
    "Fairness: a buffer of a quarter of the bandwidth-delay product at both rates, RED with the "
    "automatic parameters of ns-2.26, slow start up to the bandwidth-delay product, the CUBIC of "
    "2005; the sensitivity changes each of them.",
    "Fairness: NewReno is impatient, and once slow-but-steady, as in ns-2.26 unless told "
    "otherwise. The latter was chosen first; the first runs showed it stuck in one recovery at "
    "1 Gbit/s, where it hides all else.",
    "Fairness: flows start together within a second, or one of them 50 s later; what is before "
    "100 s is left out.",
    "Fairness: a flow's packets in the queue are its throughput times what its round trips are "
    "above propagation (Little's law), for the record has the backlog of the link alone; the last "
    "column holds the sum against that.",
    f'Fairness: "a problem" is less than {PROBLEM:g} of what the other has; a drop probability is '
    f"higher where it is {HIGHER:g} times the other's; in proportion to the rates it would be 1.5 "
    "times at 20 Mbit/s and 10 times at 1 Gbit/s.",
)


def _cases(quick: bool, settings: Settings) -> list[Case]:
    return [
        case("cubic-fairness", FILE, [rate, kind, name], link(rate, kind, quick), start, settings)
        for rate in RATES
        for kind in QUEUES
        for name, start in STARTS.items()
    ]


def _label(found: Found, key: Key) -> str:
    return marked(found, key, ", ".join(key))


def _tables(found: Found) -> list[Table]:
    rows = []
    for key in found.runs:
        printed = {RATIO: PAPER[key[0], key[1]]}
        cells = [
            cell(found.estimate(key, name), form, printed.get(column))
            for column, (name, form) in NUMBERS.items()
        ]
        rows.append(Row(label=_label(found, key), cells=cells))
    ratios = Table(
        title="Fairness: throughput of NewReno over that of CUBIC",
        parameter="link, queue, start",
        columns=list(NUMBERS),
        rows=rows,
        notes=[
            "The paper does not say of which start its numbers are; they stand beside all three.",
            "Slow-but-steady: the other NewReno, started together with CUBIC.",
            NOT_STATIONARY,
        ],
    )
    synchronisation = losses.table(found, "Fairness", "link, queue, start", ["newreno", "cubic"])
    return [ratios, _queues(found), synchronisation]


def _queues(found: Found) -> Table:
    rows = [
        Row(
            label=_label(found, key),
            cells=[cell(found.estimate(key, name), form) for name, form in QUEUED.values()],
        )
        for key in found.runs
    ]
    return Table(
        title="Fairness: what the queue does to each flow",
        parameter="link, queue, start",
        columns=list(QUEUED),
        rows=rows,
        notes=["Drops: the part of a flow's packets that is dropped."],
    )


def _claims(found: Found) -> list[Claim]:
    both = (TOGETHER, STEADY)
    return [
        Claim(
            text="CUBIC is fairer to NewReno at 20 Mbit/s than at 1 Gbit/s",
            verdict=judged(
                [
                    below(_ratio(found, FAST, kind, who), _ratio(found, MIDDLE, kind, who))
                    for kind in QUEUES
                    for who in both
                ]
            ),
            seen=_seen(found),
            why=STUCK,
        ),
        Claim(
            text="fairness is a problem of CUBIC on fast networks",
            verdict=judged(
                [
                    within(_ratio(found, FAST, kind, who), -math.inf, PROBLEM)
                    for kind in QUEUES
                    for who in both
                ]
            ),
            seen="By the same ratios.",
            why=STUCK,
        ),
        Claim(
            text="at 20 Mbit/s RED is a little fairer than DropTail",
            verdict=judged(
                [
                    below(*(_ratio(found, MIDDLE, kind, who) for kind in (DROPTAIL, RED)))
                    for who in both
                ]
            ),
            seen="By the same ratios.",
        ),
        Claim(
            text="at 1 Gbit/s RED is a bit less fair than DropTail",
            verdict=judged(
                [
                    below(*(_ratio(found, FAST, kind, who) for kind in (RED, DROPTAIL)))
                    for who in both
                ]
            ),
            seen="By the same ratios.",
        ),
        _drops_claim(found),
        _queue_claim(found),
    ]


# Why claims of 1 Gbit/s hold with one NewReno and not with the other.
STUCK = (
    "A slow-but-steady NewReno sends one lost packet again in a round. At 1 Gbit/s its slow start "
    "loses thousands, so that it is in one recovery for minutes, in which further losses do not "
    "reduce its window: what it has is what slow start left it, and no share that was won."
)


def _ratio(found: Found, rate: str, kind: str, start: str) -> Estimate | None:
    return found.estimate((rate, kind, start), "ratio")


def _seen(found: Found) -> str:
    """Give the ratios of flows that start together, with either NewReno."""
    parts = [
        f"{cell(_ratio(found, rate, kind, TOGETHER), '.3f').ours_text()} at {rate} with {kind} "
        f"({found.text((rate, kind, STEADY), 'ratio', '.3f')} slow-but-steady)"
        for rate in RATES
        for kind in QUEUES
    ]
    return f"Started together: {', '.join(parts)}."


def _drops_claim(found: Found) -> Claim:
    """Judge whether RED drops the packets of the larger flow with a higher probability."""
    parts = [
        within(found.estimate((rate, RED, TOGETHER), "loss ratio"), HIGHER, math.inf)
        for rate in RATES
    ]
    seen = ", ".join(
        f"{found.text((rate, RED, TOGETHER), 'loss ratio', '.2f')} at {rate}" for rate in RATES
    )
    return Claim(
        text="under RED the flow with the larger rate has the higher drop probability",
        verdict=judged([every(parts)]),
        seen=f"Started together, CUBIC's drop probability over NewReno's is {seen}.",
        why="RED drops each packet that arrives with the same probability, whosoever it is: "
        "the larger flow has more drops, and no higher probability of one.",
    )


def _queue_claim(found: Found) -> Claim:
    """Judge whether the larger flow has more than half of what is in a DropTail queue."""
    keys = [(rate, DROPTAIL, TOGETHER) for rate in RATES]
    shares = ", ".join(
        f"{found.text(key, 'queue share', '.2f')} of the queue and "
        f"{found.text(key, 'sent share', '.2f')} of the throughput at {key[0]}"
        for key in keys
    )
    return Claim(
        text="under DropTail the flow with the larger rate has more packets in the queue",
        verdict=judged(
            [within(found.estimate(key, "queue share"), HALF, math.inf) for key in keys]
        ),
        seen=f"Started together, CUBIC has {shares}.",
    )


def _keep(record: Record) -> Any:
    from fairhaul.papers.figures import windows

    return windows(record, ["newreno", "cubic"])


def _figures(found: Found) -> list[Figure]:
    return [_ratios(found), *_windows(found), _drops(found), _backlog(found), _together(found)]


def _ratios(found: Found) -> Figure:
    from fairhaul.papers import figures
    from fairhaul.report import Figure, plots

    rows = [
        figures.point(one, row=_label(found, key), paper=PAPER[key[0], key[1]])
        for key in found.runs
        if (one := found.estimate(key, "ratio")) is not None
    ]
    values = [row[end] for row in rows for end in ("mean", "low", "high", "paper")]
    x = plots.powers(f"Throughput {RATIO}", [*values, 1.0])
    chart = plots.panels([row["row"] for row in rows], [plots.Panel(scale=x, rows=rows)])
    caption = (
        "At 1 both have the same. Dots are means over seeds with their 95 % intervals, diamonds "
        f"the paper's numbers, whose start it does not say. {NOT_STATIONARY}"
    )
    return Figure(name="ratio", title="Fairness ratio", caption=caption, chart=chart)


def _windows(found: Found) -> list[Figure]:
    from fairhaul.papers import figures
    from fairhaul.report import Figure, plots

    drawn = []
    for rate in RATES:
        spans = {key: found.kept[key] for key in found.runs if key[0] == rate}
        chart = plots.threads(
            figures.looks(["newreno", "cubic"]),
            {f"{kind}, {start}": rows for (_, kind, start), (_, rows) in spans.items()},
            next(iter(spans.values()))[0],
            "cwnd (packets)",
        )
        name = "pair-fast" if rate == FAST else "pair-middle"
        caption = "The first seed of each case, all on one scale."
        title = f"Congestion windows beside each other at {rate}"
        drawn.append(Figure(name=name, title=title, caption=caption, chart=chart))
    return drawn


def _labels(found: Found) -> dict[Key, str]:
    return {key: _label(found, key) for key in found.runs}


def _drops(found: Found) -> Figure:
    from fairhaul.papers import figures
    from fairhaul.report import Figure, plots

    flows = {"newreno": "loss NewReno", "cubic": "loss other"}
    rows = figures.dots(found, _labels(found), flows)
    values = [row[end] for row in rows for end in ("mean", "low", "high")]
    x = plots.powers("Drop probability", values, steps=(1,), form=".0e")
    chart = plots.dots(figures.looks(list(flows)), rows, list(_labels(found).values()), x)
    caption = (
        "The part of a flow's packets that is dropped. The paper has the flow with the larger rate "
        f"dropped with a higher probability under RED. {figures.INTERVALS}"
    )
    return Figure(name="drops", title="Drop probability per flow", caption=caption, chart=chart)


def _backlog(found: Found) -> Figure:
    from fairhaul.papers import figures
    from fairhaul.report import Figure, plots

    shares = {"of the throughput": "sent share", "of the queue": "queue share"}
    rows = figures.dots(found, _labels(found), shares)
    x = plots.Scale(title="CUBIC's share", low=0, high=1)
    chart = plots.dots(figures.looks(list(shares)), rows, list(_labels(found).values()), x)
    caption = (
        "A flow's packets in the queue are found by Little's law. First in, first out makes all "
        f"wait alike, so that the two shares are nearly the same. {figures.INTERVALS}"
    )
    return Figure(name="queue-share", title="Who is in the queue", caption=caption, chart=chart)


def _together(found: Found) -> Figure:
    from fairhaul.papers import figures
    from fairhaul.report import Figure, plots

    flows = {name: f"{name} reduces in" for name in ("newreno", "cubic")}
    rows = figures.dots(found, _labels(found), flows)
    x = plots.Scale(title="Part of the loss episodes", low=0, high=1)
    chart = plots.dots(figures.looks(list(flows)), rows, list(_labels(found).values()), x)
    hit = {
        kind: found.text((MIDDLE, kind, TOGETHER), "newreno reduces in", ".2f") for kind in QUEUES
    }
    caption = (
        "The part of the loss episodes in which a flow reduced its window. At 20 Mbit/s, started "
        f"together, NewReno does in {hit[DROPTAIL]} of them with DropTail and in {hit[RED]} with "
        f"RED. {figures.INTERVALS}"
    )
    return Figure(name="fairness-losses", title="Who loses together", caption=caption, chart=chart)


EXPERIMENT = Experiment(
    heading="Fairness of CUBIC to NewReno",
    about="One flow of each, the same round trip of 100 ms, two rates, two queues, three starts, "
    "and the other NewReno. The paper has one ratio for each rate and queue.",
    seeds=5,
    quick_seeds=4,
    cases=_cases,
    numbers=pair_numbers,
    tables=_tables,
    figures=_figures,
    claims=_claims,
    keep=_keep,
    chosen=CHOSEN,
)
