"""Environments for learning: what their libraries ask of them, and that runs are the same."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import (  # type: ignore[import-untyped]
    parallel_api_test,
    parallel_seed_test,
)

import fairhaul
from fairhaul import ScenarioError
from fairhaul.environments import NAMES, SenderEnv, SendersEnv, SenderVectorEnv, Step
from fairhaul.environments.scenario import USUAL
from tools import ROOT

DRAW = {
    "bottleneck.rate": {"from": "2 Mbit/s", "to": "20 Mbit/s", "scale": "log"},
    "bottleneck.queue.capacity": ["0.5 bdp", "2 bdp"],
}
SHORT = {**USUAL, "duration": "4 s"}


def action(value: float) -> Any:
    return np.array([value], dtype=np.float32)


@pytest.mark.parametrize("act", ["window", "rate"])
def test_gymnasium_accepts_a_sender(act: Any) -> None:
    check_env(SenderEnv(SHORT, draw=DRAW, act=act), skip_render_check=True)


def test_pettingzoo_accepts_senders() -> None:
    parallel_api_test(SendersEnv(), num_cycles=200)
    parallel_seed_test(SendersEnv)


def test_stable_baselines_accepts_a_sender(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its checker needs no PyTorch; what surrounds it does, and is left out."""
    found = importlib.util.find_spec("stable_baselines3")
    assert found is not None
    assert found.origin is not None
    folder = Path(found.origin).parent
    for name, parts in (("stable_baselines3", ()), ("stable_baselines3.common", ("common",))):
        package = types.ModuleType(name)
        package.__path__ = [str(folder.joinpath(*parts))]
        monkeypatch.setitem(sys.modules, name, package)
    torch = MagicMock()
    torch.Tensor = types.SimpleNamespace
    for name in ("torch", "torch.nn"):
        monkeypatch.setitem(sys.modules, name, torch)
    checker = importlib.import_module("stable_baselines3.common.env_checker")
    checker.check_env(SenderEnv(SHORT), warn=True)


def test_many_runs_are_those_of_single_senders_whatever_the_threads() -> None:
    count = 4
    many = [SenderVectorEnv(count, SHORT, draw=DRAW, threads=threads) for threads in (1, 3)]
    single = [SenderEnv(SHORT, draw=DRAW) for _ in range(count)]
    observed = [env.reset(seed=7)[0] for env in many]
    ones = np.stack([env.reset(seed=7 + index)[0] for index, env in enumerate(single)])
    assert all(np.array_equal(rows, ones) for rows in observed)
    random, ended = np.random.default_rng(0), [False] * count
    for _ in range(200):
        actions = random.uniform(-0.4, 0.4, (count, 1)).astype(np.float32)
        steps = [env.step(actions) for env in many]
        for index, env in enumerate(single):
            if ended[index]:
                row, reward, ended[index] = env.reset()[0], 0.0, False
            else:
                row, reward, terminated, truncated, _ = env.step(actions[index])
                ended[index] = terminated or truncated
            for rows, rewards, *_ in steps:
                assert np.array_equal(rows[index], row)
                assert rewards[index] == reward


def test_a_window_that_is_held_gives_the_rate_of_little() -> None:
    """Without a queue a window of w packets delivers w packets per round trip."""
    env = SenderEnv({**SHORT, "packet": "1500 B"}, every=0.2, history=1)
    env.reset(seed=1, options={"set": {"flow.agent.initial_window": 8}})
    for _ in range(5):
        observation, _, _, _, info = env.step(action(0))
    assert info["window"] == 8
    assert info["rate"] == pytest.approx(8 / 0.04, rel=0.03)
    ratios = dict(zip(NAMES, observation, strict=True))
    assert ratios["filled"] == pytest.approx(1)
    assert (ratios["lost"], ratios["delivered"]) == (0, pytest.approx(1, abs=0.05))
    assert env.step(action(1))[4]["window"] == 16
    rate = SenderEnv(SHORT, every=0.2, act="rate", history=1)
    rate.reset(seed=1, options={"set": {"flow.agent.initial_window": 8}})
    rates = [rate.step(action(a))[4]["rate"] for a in (0, 0, 0, 1, 0)]
    assert rates[-1] == pytest.approx(2 * rates[2], rel=0.1)


def test_losses_do_not_move_the_window_and_are_observed() -> None:
    env = SenderEnv({**USUAL, "duration": "60 s"}, every=0.5, history=1)
    keys = {"bottleneck.loss": {"every": 100}, "flow.agent.initial_window": 16}
    env.reset(seed=3, options={"set": keys})
    steps = [env.step(action(0)) for _ in range(80)]
    assert {step[4]["window"] for step in steps} == {16}
    lost = [step[0][NAMES.index("lost")] for step in steps]
    assert np.mean(lost) == pytest.approx(0.01, rel=0.1)


def test_the_end_of_a_transfer_terminates_and_that_of_the_run_truncates() -> None:
    env = SenderEnv({**SHORT, "flow": [{**USUAL["flow"][0], "traffic": "50 kB"}]})
    env.reset(seed=1)
    ends = [env.step(action(0.5))[2:4] for _ in range(12)]
    assert (True, False) in ends
    env = SenderEnv(SHORT, every=0.5)
    env.reset(seed=1)
    assert [env.step(action(0))[3] for _ in range(7)][-1]


def test_rewards_have_names_or_are_functions() -> None:
    def own(step: Step) -> float:
        return -step.rtt_s

    env = SenderEnv(SHORT, reward=own)
    env.reset(seed=1)
    assert env.step(action(0))[1] == pytest.approx(-0.04, rel=0.2)
    for name in ("power", "used", "log", "vivace"):
        env = SenderEnv(SHORT, reward=name)
        env.reset(seed=1)
        assert np.isfinite(env.step(action(0.1))[1])


def test_mistakes_are_named() -> None:
    def refused(**words: Any) -> str:
        with pytest.raises(ScenarioError) as raised:
            SenderEnv(**words)
        return str(raised.value)

    assert "did you mean 'power'" in refused(reward="powr")
    assert 'wanted "window" or "rate"' in refused(act="both")
    two = {**USUAL, "flow": [{**USUAL["flow"][0], "name": name} for name in ("a", "b")]}
    assert "several flows: say which one is the agent's: a, b" in refused(scenario=two)
    assert "unknown flow 'c'" in refused(scenario=two, flow="c")
    assert "bottleneck.rat" in refused(draw={"bottleneck.rat": ["1 Mbit/s"]})
    with pytest.raises(gymnasium.error.ResetNeeded):
        SenderEnv(SHORT).step(action(0))


def test_an_agent_beside_cubic_leaves_it_its_controller() -> None:
    pair = {
        **SHORT,
        "flow": [USUAL["flow"][0], {"name": "c", "rtt": "40 ms", "controller": "cubic"}],
    }
    env = SenderEnv(pair, flow="agent", history=1)
    env.reset(seed=1)
    used = [env.step(action(0))[4]["used"] for _ in range(60)]
    assert used[-1] < 0.3


def test_the_example_trains_and_its_policy_has_the_shorter_queue() -> None:
    spec = importlib.util.spec_from_file_location("train", ROOT / "docs" / "learn" / "train.py")
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    sys.modules["train"] = example
    spec.loader.exec_module(example)
    assert example.train(1).shape == (6,)
    queue = {}
    for name in ("learned", "cubic"):
        scenario = example.scenario("15 Mbit/s", "35 ms", [("first", name)])
        answer = fairhaul.run(scenario, controllers={"learned": example.Learned})
        link = fairhaul.measure(answer.records[0])["links"][0]
        queue[name] = link["queue_mean_s"] or 0.0
        assert link["utilization"] > 0.98
    assert queue["learned"] < queue["cubic"] / 2


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        *(
            ({"every": every}, "every")
            for every in (0, -1, 1e-12, float("nan"), "1 s", True, 1e300)
        ),
        *(({"history": history}, "history") for history in (0, -1, 2.5, None, 10**12)),
        ({"every": 0, "history": 0, "act": "x"}, "act"),
    ],
)
def test_an_argument_that_is_no_use_is_refused(more: dict[str, Any], reason: str) -> None:
    for kind in (SenderEnv, SendersEnv, lambda **given: SenderVectorEnv(2, **given)):
        with pytest.raises(ScenarioError) as refusal:
            kind(**more)
        assert len(refusal.value.args) == len(more)
        assert str(refusal.value.args[0]).startswith(f"{reason} = ")


def test_a_number_of_runs_or_threads_that_is_no_use_is_refused() -> None:
    for runs in (0, -1, 1.5, 10**9):
        with pytest.raises(ScenarioError, match="runs = "):
            SenderVectorEnv(runs)  # type: ignore[arg-type]
    for threads in (0, -1, 10**6):
        with pytest.raises(ScenarioError, match="threads = "):
            SenderVectorEnv(2, threads=threads)


@pytest.mark.parametrize(
    "action", [[float("nan")], [float("inf")], [1, 2], np.zeros((3, 3)), [], "x", None, [None]]
)
def test_an_action_that_is_not_one_number_is_refused(action: Any) -> None:
    env = SenderEnv()
    env.reset(seed=1)
    with pytest.raises(ValueError, match="action"):
        env.step(action)
    senders: Any = SendersEnv()
    senders.reset(seed=1)
    with pytest.raises(ValueError, match="action"):
        senders.step({"first": action, "second": [0.0]})
    with pytest.raises(ValueError, match="no action for second"):
        senders.step({"first": [0.0]})
    runs: Any = SenderVectorEnv(2)
    runs.reset(seed=1)
    with pytest.raises(ValueError, match="action"):
        runs.step(action if np.size(action) == 2 and action != [1, 2] else [0.0, float("nan")])
    assert np.isfinite(runs.step(np.zeros((2, 1)))[1]).all()
