"""Flow counters: their estimates for 1 to 10,000 flows, and their cost per packet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairhaul.figures.bins import tidy
from fairhaul.figures.charts import INK, Curve, Look, Scale, band, head, line
from fairhaul.figures.charts import looks as looks_of
from fairhaul.figures.charts.vega import Row, Spec, horizontal, layers, vertical
from fairhaul.measures.counting import count_flows, effective_flows, zipf
from fairhaul.statistics.estimate import estimate
from tools.bench.cost import per_packet
from tools.gallery.grid import legend

FIGURE = "counting"
COUNTERS = ("exact", "nred", "sred")
FLOWS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
SEEDS = range(1, 41)

# The counters' size for the cost, which does not depend on it.
SIZE = 30_000
WIDTH, HEIGHT, SPACE = 205, 200, 30

TRUTH = Look(label="truth", colour="var(--quiet)", dash=(4, 3), thin=True)
THEORY = Look(label="sred by theory", colour=INK, dash=(2, 3), thin=True)


@dataclass(frozen=True, kw_only=True)
class _Part:
    name: str
    curves: Sequence[Curve]
    y: Scale


def draw(quick: bool) -> Spec:
    """Draw accuracy under equal and unequal rates, and the cost beside it.

    `quick` has fewer points and seeds, so its estimates are rough.
    """
    flows = FLOWS[::4] if quick else FLOWS
    seeds = SEEDS[:3] if quick else SEEDS
    looks = {look.label: look for look in looks_of(COUNTERS)}
    accuracy = Scale(title="Estimated / true flows", low=0, high=1.5, ticks=[0, 0.5, 1, 1.5])
    truth = Curve(look=TRUTH, points=[{"x": n, "mean": 1} for n in (flows[0], flows[-1])])
    theory = [{"x": n, "mean": tidy(effective_flows(zipf(n)) / n)} for n in flows]
    cost = {name: _cost(name, flows) for name in COUNTERS}
    top = 1.15 * max(row["mean"] for rows in cost.values() for row in rows)
    parts = [
        _Part(
            name="Equal rates",
            curves=[truth, *_accuracy(looks, flows, seeds, exponent=0)],
            y=accuracy,
        ),
        _Part(
            name="Unequal rates (Zipf)",
            curves=[
                truth,
                *_accuracy(looks, flows, seeds, exponent=1),
                Curve(look=THEORY, points=theory),
            ],
            y=accuracy,
        ),
        _Part(
            name="Cost, equal rates",
            curves=[Curve(look=looks[name], points=cost[name]) for name in COUNTERS],
            y=Scale(title="Instructions per packet", low=0, high=top),
        ),
    ]
    x = Scale(
        title="Flows", low=1, high=FLOWS[-1], log=True, ticks=[1, 10, 100, 1000, 10_000], form="~s"
    )
    names = legend([*looks.values(), TRUTH, THEORY])
    row = horizontal([_drawn(part, x) for part in parts], spacing=SPACE)
    return vertical([names, row], spacing=14)


def _accuracy(
    looks: dict[str, Look], flows: Sequence[int], seeds: Sequence[int], *, exponent: float
) -> list[Curve]:
    """Give each counter's estimate over the true number, with the 95 % interval over seeds."""
    return [
        Curve(look=look, points=[_estimated(name, n, seeds, exponent) for n in flows])
        for name, look in looks.items()
    ]


def _estimated(name: str, flows: int, seeds: Sequence[int], exponent: float) -> Row:
    estimated = estimate([n / flows for n in count_flows(name, zipf(flows, exponent), seeds=seeds)])
    low, high = (None if end is None else tidy(end) for end in (estimated.low, estimated.high))
    return {"x": flows, "mean": tidy(estimated.mean), "low": low, "high": high}


def _cost(name: str, flows: Sequence[int]) -> list[dict[str, float]]:
    return [{"x": n, "mean": tidy(per_packet(name, SIZE, n))} for n in flows]


def _drawn(part: _Part, x: Scale) -> Spec:
    drawn: list[Spec] = []
    for curve in part.curves:
        drawn += band(curve, x, part.y) if "low" in curve.points[0] else []
    drawn += [line(curve, x, part.y) for curve in part.curves]
    drawn.append(head(part.name, INK, bold=True))
    return layers(drawn, WIDTH, HEIGHT)
