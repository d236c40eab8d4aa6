"""Train a small policy in the environments, and show it beside CUBIC: python train.py.

The policy is linear: a decision is tanh of a weighted sum of six ratios. Its weights are found by
an evolution strategy [SALIMANS 2017]: in each generation several copies with random changes run
over drawn paths, and the weights move towards the changes that were rewarded. It takes half a
minute on two cores that do nothing else, and writes the weights to policy.json.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import fairhaul
from fairhaul.environments import NAMES, SenderVectorEnv

WEIGHTS = Path(__file__).with_name("policy.json")
USED = [NAMES.index(name) for name in ("rtt", "rtt_change", "lost", "rate", "window")]

# Paths to train on; those of the table below are others.
PATHS = {
    "bottleneck.rate": {"from": "5 Mbit/s", "to": "50 Mbit/s", "scale": "log"},
    "flow.agent.rtt": {"from": "20 ms", "to": "100 ms", "scale": "log"},
    "bottleneck.queue.capacity": {"from": "0.5 bdp", "to": "3 bdp", "scale": "log"},
}
GENERATIONS, PAIRS, PATHS_EACH, STEPS = 60, 8, 4, 150
CHANGE, RATE = 0.1, 0.15


def decide(weights: np.ndarray, ratios: np.ndarray) -> np.ndarray:
    """Give actions from -1 to 1; one row of weights and of ratios for each sender."""
    rtt, change, lost, rate, window = np.moveaxis(ratios, -1, 0)
    inputs = np.stack([np.ones_like(rtt), rtt - 1, change, 10 * lost, 1 - rate, window - 1], -1)
    return np.tanh((weights * inputs).sum(-1))


def returns(env: SenderVectorEnv, weights: np.ndarray, seed: int) -> np.ndarray:
    """Give the mean reward of each sender with its row of weights."""
    observed, _ = env.reset(seed=seed)
    total = np.zeros(env.num_envs)
    for _ in range(STEPS):
        ratios = observed[:, -len(NAMES) :][:, USED]
        observed, reward, *_ = env.step(decide(weights, ratios)[:, None])
        total += reward
    return total / STEPS


def train(generations: int = GENERATIONS) -> np.ndarray:
    """Find weights by an evolution strategy with mirrored changes."""
    env = SenderVectorEnv(2 * PAIRS * PATHS_EACH, draw=PATHS, reward="log", history=1)
    random = np.random.default_rng(1)
    weights = np.array([0.3, -0.5, 0.0, -0.5, 0.0, 0.0])
    for generation in range(generations):
        changes = random.normal(size=(PAIRS, len(weights)))
        each = np.repeat(np.concatenate([changes, -changes]), PATHS_EACH, axis=0)
        # Every copy runs over the same paths: the seeds repeat.
        seeds = np.tile(generation * PATHS_EACH + np.arange(PATHS_EACH), 2 * PAIRS)
        found = returns(env, weights + CHANGE * each, [int(seed) for seed in seeds])
        mean = found.reshape(2, PAIRS, PATHS_EACH).mean(-1)
        better = (mean[0] - mean[1]) / (found.std() + 1e-9)
        weights += RATE * (better[:, None] * changes).mean(0)
        print(f"generation {generation + 1:3}: mean reward {found.mean():.3f}", flush=True)
    return weights


class Learned(fairhaul.Controller):
    """The policy as a controller, for `run`, `compare`, `score` and `sweep`."""

    every = "round"
    slow_start = False

    def __init__(self) -> None:
        """Read the weights."""
        self.weights = np.array(json.loads(WEIGHTS.read_text(encoding="utf-8")))
        self.rtt_s = self.most = 0.0

    def on_round(self, window: Any, report: Any) -> None:
        """Decide once a round trip."""
        rate = report.packets / report.duration_s
        self.most = max(self.most, rate)
        known = report.packets + report.lost
        ratios = [
            report.rtt_s / report.min_rtt_s,
            (report.rtt_s - (self.rtt_s or report.rtt_s)) / report.min_rtt_s,
            report.lost / known if known else 0.0,
            rate / self.most if self.most else 0.0,
            window.cwnd / (self.most * report.min_rtt_s) if self.most else 0.0,
        ]
        self.rtt_s = report.rtt_s
        factor = 2.0 ** float(decide(self.weights, np.array(ratios)))
        window.cwnd = max(window.cwnd * factor, 2.0)
        window.ssthresh = window.cwnd
        window.growth = 0.0

    def on_congestion(self, window: Any, _event: Any) -> None:
        """Leave the window to the next decision."""
        window.ssthresh = window.cwnd


def scenario(rate: str, rtt: str, flows: list[tuple[str, str]]) -> dict[str, Any]:
    """Give a path that was not trained on, and the flows over it."""
    return {
        "title": "learned and cubic",
        "duration": "60 s",
        "warmup": "20 s",
        "packet": "1500 B",
        "bottleneck": {
            "rate": rate,
            "delay": "2 ms",
            "queue": {"kind": "droptail", "capacity": "1 bdp"},
        },
        "flow": [{"name": name, "rtt": rtt, "controller": kind} for name, kind in flows],
    }


def show() -> None:
    """Print how the policy does beside CUBIC, as rows of a Markdown table."""
    for rate, rtt in [("15 Mbit/s", "35 ms"), ("40 Mbit/s", "80 ms"), ("200 Mbit/s", "50 ms")]:
        for first, second in [
            ("learned", None),
            ("cubic", None),
            ("learned", "cubic"),
            ("cubic",) * 2,
        ]:
            flows = [("first", first)] + ([("second", second)] if second else [])
            answer = fairhaul.run(
                scenario(rate, rtt, flows), seeds=5, controllers={"learned": Learned}
            )
            runs = [fairhaul.measure(record) for record in answer.records]
            shares = [run["flows"][0]["goodput_bps"] / 1e6 for run in runs]
            used = [run["links"][0]["utilization"] for run in runs]
            queue = [1e3 * (run["links"][0]["queue_mean_s"] or 0) for run in runs]
            beside = f"beside {second}" if second else "alone"
            print(
                f"| {rate}, {rtt} | `{first}` {beside} | {np.mean(shares):.1f} | "
                f"{100 * np.mean(used):.0f} | {np.mean(queue):.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    if "--show" not in sys.argv:
        WEIGHTS.write_text(json.dumps([round(float(w), 4) for w in train()]) + "\n")
    show()
