"""`python -m tools.explanation.fitted`: fit how probable the signs of each controller are."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import click
import numpy as np

from fairhaul.files import files
from fairhaul.studies.explanation.recognised import FILE, Fitted, place
from fairhaul.studies.explanation.signs import Signs, signs_of
from fairhaul.studies.explanation.trace import read_capture
from tools import ROOT
from tools.explanation.connections import RARE, USUAL, captures

FOLDER = ROOT / "out" / "explain" / "training"
# The paths of the training are others than those of the table.
SEED = 1
# Each usual controller has this many captures, and each rare one half of them.
EACH = 26
# A rare controller is taken to be this much less frequent than a usual one.
RARELY = 0.1
# The bounds of the bins. A loss leaves 0.5, 0.7, 0.8 or 0.875 of the window; Reno grows by a
# packet in a round trip; BBR drains every 10 s to 4 packets, version 3 every 5 s to half.
LAW = (0.005, 0.01, 0.02, 0.04, 0.07, 0.12, 0.2, 0.35, 0.6, 1.2, 3.0)
BOUNDS: Mapping[str, Sequence[float]] = {
    "kept": (0.4, 0.47, 0.53, 0.57, 0.62, 0.67, 0.73, 0.78, 0.84, 0.9, 0.96, 1.04),
    "kept_spread": (0.01, 0.03, 0.06, 0.12, 0.25),
    "slope": (-0.1, 0.2, 0.45, 0.6, 0.8, 0.95, 1.05, 1.5, 3.0, 6.0),
    "half": (0.0, 0.25, 0.4, 0.48, 0.52, 0.6, 0.7, 0.9),
    **dict.fromkeys(("reno", "cubic", "highspeed", "scalable", "htcp"), LAW),
    "drains": (0.05, 0.25, 0.9, 1.2, 1.6, 2.3),
    "drained": (0.08, 0.2, 0.38, 0.45, 0.55),
    "spread": (0.03, 0.07, 0.12, 0.18, 0.25, 0.4),
    "jumps": (0.005, 0.03, 0.08, 0.16),
    "cycle": (0.06, 0.1, 0.15, 0.22, 0.35),
}
# A bin has as many captures more as the mean of all controllers has of one capture.
SMOOTHED = 1.0
FACTORS = (0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.8, 1.0)
FOLDS = 5

Example = tuple[str, Signs]


def examples() -> list[Example]:
    """Give the controllers of the captures with their signs."""
    plan = [
        controller
        for turn in range(EACH)
        for controller in (USUAL if turn % 2 else (*USUAL, *RARE))
    ]
    found = []
    for controller, file in captures(FOLDER, SEED, plan):
        signs = signs_of(read_capture(file).traces[0])
        if signs is not None:
            found.append((controller, signs))
    return found


def fit(of: Sequence[Example], factor: float) -> Fitted:
    """Count how often each sign of each controller is in each bin."""
    names = (*USUAL, *RARE)
    weights = {name: 1.0 if name in USUAL else RARELY for name in names}
    parts = {}
    for sign, bounds in BOUNDS.items():
        counts = np.zeros((len(names), len(bounds) + 2))
        for controller, signs in of:
            counts[names.index(controller), place(signs[sign], np.array(bounds))] += 1
        pooled = (counts / counts.sum(1, keepdims=True)).mean(0)
        pooled = (pooled + 0.01 / len(pooled)) / 1.01
        parts[sign] = (counts + SMOOTHED * pooled) / (counts.sum(1, keepdims=True) + SMOOTHED)
    return Fitted(
        prior={name: weight / sum(weights.values()) for name, weight in weights.items()},
        factor=factor,
        edges={sign: np.array(bounds) for sign, bounds in BOUNDS.items()},
        logs={sign: np.log(of) for sign, of in parts.items()},
    )


def _surprise(of: Sequence[Example], factor: float) -> float:
    """Give the mean logarithm that a fit without a fold lacks for the captures of the fold."""
    turns = dict.fromkeys((*USUAL, *RARE), 0)
    folds = []
    for controller, _ in of:
        folds.append(turns[controller] % FOLDS)
        turns[controller] += 1
    total = weight = 0.0
    for fold in range(FOLDS):
        others = [one for one, its in zip(of, folds, strict=True) if its != fold]
        fitted = fit(others, factor)
        for (controller, signs), its in zip(of, folds, strict=True):
            if its == fold:
                counts = 1.0 if controller in USUAL else RARELY
                total -= counts * float(np.log(fitted.likely(signs)[controller]))
                weight += counts
    return total / weight


@click.command()
def main() -> None:
    """Make the captures, fit the signs, and write recognised.json.

    The factor is that with the largest likelihood of the captures that were not used in a fit.
    """
    found = examples()
    lacks = {factor: _surprise(found, factor) for factor in FACTORS}
    for factor, of in lacks.items():
        click.echo(f"factor {factor:g}: {of:.3f}")
    fitted = fit(found, min(lacks, key=lambda factor: lacks[factor]))
    signs = {
        sign: {
            "edges": list(BOUNDS[sign]),
            "parts": [[float(f"{part:.3g}") for part in row] for row in np.exp(logs)],
        }
        for sign, logs in fitted.logs.items()
    }
    prior = {name: round(of, 4) for name, of in fitted.prior.items()}
    text = json.dumps({"prior": prior, "factor": fitted.factor, "signs": signs})
    files.replace(FILE, (text.replace("]], ", "]],\n") + "\n").encode())
    click.echo(f"{len(found)} captures; wrote {FILE.name}")


if __name__ == "__main__":
    main()
