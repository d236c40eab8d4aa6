"""Signs of the congestion controller in the window of a sender, as numbers.

They are those of a single connection: what a loss leaves of its window, how the window grows
between losses, beside what the laws of controllers would add, and whether it is drained for a
short time now and then, as BBR does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fairhaul.studies.explanation.laws import LAWS
from fairhaul.studies.explanation.windows import growths_of, recoveries_of, windows_of

if TYPE_CHECKING:
    from fairhaul.studies.explanation.trace import Column, Trace
    from fairhaul.studies.explanation.windows import Growth, Recovery, Windows

# A number for each sign; NaN where the capture does not show it.
Signs = Mapping[str, float]

# A smaller window, in packets, has too few steps for a ratio.
LEAST_WINDOW = 8
# A shorter growth, in round trips, has no shape; one of fewer packets has none, either.
LEAST_ROUNDS, LEAST_GROWTH = 5, 4
# Slow start is over after this time in seconds on most paths; what comes later is looked at.
STARTED_S = 2.0
# The window is sampled this often in a smallest round-trip time, and at least this often (s).
# Longer captures are sampled less often.
SAMPLES, STEP_S, MOST_SAMPLES = 4, 0.05, 1 << 20
# BBR drains what is outstanding for 0.2 s [BBR], and as long as that takes. The window is then
# below this part of the usual one, and soon afterwards it is nearly as large as before.
DRAINED, DRAIN_S, RESTORED = 0.75, (0.1, 0.4), 0.9
# The gains of BBR have a cycle of eight round trips [BBR], and last a little longer.
CYCLE, CYCLES = (7.0, 10.0), (2.0, 40.0)
# A window that grows by this in a round trip grows fast.
JUMP = 1.15


def signs_of(trace: Trace) -> Signs | None:
    """Give the signs of a connection, or None if the capture does not show its window."""
    windows = windows_of(trace)
    if windows is None or trace.rtt_s is None:
        return None
    losses = recoveries_of(trace, windows)
    samples, step_s = _samples(windows, trace.rtt_s)
    return {
        **_at_losses(losses),
        **_between_losses(growths_of(windows, losses, LEAST_ROUNDS)),
        **_drains(samples, step_s, trace.rtt_s),
        **_changes(windows),
        "cycle": _cycle(samples, step_s / trace.rtt_s),
    }


def _at_losses(losses: Sequence[Recovery]) -> Signs:
    """Give what a loss leaves of the window, and by how much that differs from loss to loss."""
    kept = [of.after / of.before for of in losses if of.before >= LEAST_WINDOW]
    known = np.array([of for of in kept if not np.isnan(of)])
    low, middle, high = np.quantile(known, (0.25, 0.5, 0.75)) if len(known) else [np.nan] * 3
    return {"kept": float(middle), "kept_spread": float(high - low) if len(known) > 2 else np.nan}


def _between_losses(growths: Sequence[Growth]) -> Signs:
    """Give the growth in packets per round trip, its shape, and how far it is from each law."""
    slopes, halves = [], []
    for of in growths:
        grown = float(of.window[-1] - of.window[0])
        slopes.append(grown / (len(of.window) - 1))
        if grown >= LEAST_GROWTH:
            halves.append(float(of.window[len(of.window) // 2] - of.window[0]) / grown)
    return {
        "slope": _median(slopes),
        "half": _median(halves),
        **{name: _median([_off(of, law(of)) for of in growths]) for name, law in LAWS.items()},
    }


def _off(growth: Growth, expected: Column) -> float:
    """Give the mean distance of a growth from a law, in parts of what it grew."""
    grown = max(LEAST_GROWTH, float(np.ptp(growth.window)))
    return float(np.abs(expected - growth.window).mean()) / grown


def _samples(windows: Windows, rtt_s: float) -> tuple[Column, float]:
    """Give the window after the start in equal steps of time, and the step in seconds."""
    begin, end = float(windows.time_s[0]) + STARTED_S, float(windows.time_s[-1])
    step_s = max(min(rtt_s / SAMPLES, STEP_S), (end - begin) / MOST_SAMPLES)
    times = np.arange(begin, end, step_s)
    return windows.window[np.searchsorted(windows.time_s, times, side="right") - 1], step_s


def _drains(samples: Column, step_s: float, rtt_s: float) -> Signs:
    """Give the number of drains in ten seconds, and the part of the window that they leave."""
    usual = float(np.median(samples)) if len(samples) else 0.0
    low = np.concatenate(([0], samples < DRAINED * usual, [0]))
    edges = np.flatnonzero(np.diff(low))
    depths = []
    for begin, end in zip(edges[::2], edges[1::2], strict=True):
        took_s = (end - begin) * step_s
        soon = samples[end : end + round(2 * rtt_s / step_s) + 1]
        if not DRAIN_S[0] <= took_s <= DRAIN_S[1] + 3 * rtt_s or not len(soon) or begin == 0:
            continue
        if soon.max() >= RESTORED * usual:
            depths.append(float(np.quantile(samples[begin:end], 0.25)) / usual)
    lasted_s = len(samples) * step_s
    return {
        "drains": 10 * len(depths) / lasted_s if lasted_s else np.nan,
        "drained": _median(depths),
    }


def _changes(windows: Windows) -> Signs:
    """Give the relative spread of the windows, and the part of the round trips of fast growth."""
    late = windows.rounds[windows.starts_s > windows.starts_s[0] + STARTED_S]
    if len(late) < LEAST_ROUNDS:
        return {"spread": np.nan, "jumps": np.nan}
    jumps = float(np.mean(late[1:] > JUMP * late[:-1]))
    return {"spread": float(late.std() / late.mean()), "jumps": jumps}


def _cycle(samples: Column, step: float) -> float:
    """Give the part of the power of the window's changes near a period of eight round trips."""
    if len(samples) * step < CYCLES[1]:
        return np.nan
    width = max(1, round(CYCLES[1] / 2 / step))
    part = samples[: 1 << 16]
    part = part - np.convolve(part, np.ones(width) / width, "same")
    power = np.abs(np.fft.rfft(part * np.hanning(len(part)))[1:]) ** 2
    period = step / np.fft.rfftfreq(len(part))[1:]
    near = power[(period > CYCLE[0]) & (period < CYCLE[1])].sum()
    whole = power[(period > CYCLES[0]) & (period < CYCLES[1])].sum()
    return float(near / whole) if whole > 0 else 0.0


def _median(of: Sequence[float]) -> float:
    return float(np.median(of)) if len(of) else np.nan
