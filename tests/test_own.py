"""Controllers of one's own, in Python and by formula, beside the rule that is built in."""

from __future__ import annotations

import pickle
import re
import traceback
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest

import fairhaul
from fairhaul import ScenarioError, cli
from fairhaul.scenario import own
from fairhaul.scenario.own import Ack, Controller, Event, Round, Window
from fairhaul.scenario.read import read_one

from .compiled import bpf_object, crate

PATH: dict[str, Any] = {
    "title": "own",
    "duration": "60 s",
    "profile": "plain",
    "bottleneck": {
        "rate": "20 Mbit/s",
        "delay": "10 ms",
        "queue": {"kind": "droptail", "capacity": "0.5 bdp"},
    },
    "flow": [
        {"name": "a", "controller": "aimd", "rtt": "60 ms"},
        {"name": "b", "controller": "reno", "rtt": "60 ms", "start": "1 s"},
    ],
}
VALUES = {"a": 1.5, "b": 0.3}


class EachAck(Controller):
    """AIMD that is called for each acknowledgement."""

    def __init__(self, a: float = 1.0, b: float = 0.5) -> None:
        self.a, self.b = a, b

    def on_ack(self, window: Window, ack: Ack) -> None:
        window.cwnd += self.a * ack.packets / window.cwnd

    def on_congestion(self, window: Window, event: Event) -> None:
        window.give_up(self.b)


class EachRound(Controller):
    """AIMD that is called once a round."""

    every: ClassVar[Literal["ack", "round"] | float] = "round"

    def __init__(self, a: float = 1.0, b: float = 0.5) -> None:
        self.a, self.b = a, b
        self.heard: list[tuple[float, float]] = []

    def on_round(self, window: Window, report: Round) -> None:
        window.growth = self.a
        self.heard.append((report.now_s, report.rtt_s))

    def on_congestion(self, window: Window, event: Event) -> None:
        window.give_up(self.b)


MINE = {"each-ack": EachAck, "each-round": EachRound}


def ran(controller: object, **more: Any) -> fairhaul.Record:
    answer = fairhaul.run(PATH, {"flow.a.controller": controller, **more}, controllers=MINE)
    return answer.records[0]


def compiled(way: str) -> tuple[dict[str, object], dict[str, own.Given]]:
    """Give a controller in another language, and what it is known by."""
    if way == "ebpf":
        return {"kind": "object", "a": 1500, "b": 300}, {"object": bpf_object("aimd")}
    return {"kind": "gentle", **VALUES}, {"gentle": crate("gentle")}


def losses(record: fairhaul.Record) -> list[tuple[str, str, float]]:
    kinds = record.event.select("flow", "kind", "t_s").rows()
    return [(flow, kind, round(t_s, 6)) for flow, kind, t_s in kinds]


@pytest.mark.parametrize(
    "other",
    [
        {"kind": "law", "increase": "1.5", "decrease": "0.3"},
        {"kind": "each-ack", **VALUES},
        {"kind": "each-round", **VALUES},
    ],
    ids=lambda other: str(other["kind"]),
)
def test_aimd_in_each_way_has_the_losses_and_windows_of_the_built_in_one(
    other: dict[str, object],
) -> None:
    built_in, mine = ran({"kind": "aimd", **VALUES}), ran(other)
    assert len(losses(built_in)) > 20
    assert losses(mine) == losses(built_in)
    windows = [record.flow_series["cwnd_packets"].to_numpy() for record in (built_in, mine)]
    assert abs(windows[0] - windows[1]).max() < 1.0
    assert mine.meta["scenario"]["flows"][0]["controller"] == other["kind"]
    given = {key: value for key, value in other.items() if key != "kind"}
    assert mine.meta["scenario"]["flows"][0]["parameters"] == given


@pytest.mark.parametrize("way", ["ebpf", "rust"])
def test_aimd_in_another_language_has_them_too(way: str) -> None:
    controller, known = compiled(way)
    # The windows of a kernel are whole.
    whole = {"flow.*.whole_window": way == "ebpf"}
    built_in = ran({"kind": "aimd", **VALUES}, **whole)
    keys = {"flow.a.controller": controller, **whole}
    mine = fairhaul.run(PATH, keys, controllers=known).records[0]
    assert len(losses(built_in)) > 20
    assert losses(mine) == losses(built_in)
    windows = [record.flow_series["cwnd_packets"].to_numpy() for record in (built_in, mine)]
    assert abs(windows[0] - windows[1]).max() < 1.0


class Broken(Controller):
    """Divides by zero after a while."""

    def on_ack(self, window: Window, ack: Ack) -> None:
        if ack.now_s > 2:
            window.cwnd = 1 / (ack.packets * 0)


def test_an_exception_ends_the_run_with_its_traceback_and_the_time() -> None:
    with pytest.raises(ZeroDivisionError) as raised:
        fairhaul.run(PATH, {"flow.a.controller": "broken"}, controllers={"broken": Broken})
    assert traceback.extract_tb(raised.value.__traceback__)[-1].name == "on_ack"
    (note,) = raised.value.__notes__
    assert note.startswith("own, seed 1, at 2.0")


def test_the_command_line_shows_the_users_part_of_the_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, scenario = tmp_path / "mine.py", tmp_path / "s.toml"
    file.write_text(
        "import fairhaul\n"
        "class Mine(fairhaul.Controller):\n"
        "    def on_ack(self, window, ack):\n"
        "        window.cwnd = float('nan') if ack.now_s > 1 else window.cwnd\n"
        "class Bad(fairhaul.Controller):\n"
        "    def on_ack(self, window, ack):\n"
        "        raise ValueError('so')\n"
        "class Typo(fairhaul.Controller):\n"
        "    def on_ack(self, window, ack):\n"
        "        window.cwnd += ack.mean_rtt_s\n"
    )
    scenario.write_text(
        'duration = "3 s"\n'
        'bottleneck = { rate = "9 Mbit/s", delay = "5 ms", queue = { kind = "droptail", '
        'capacity = "1 bdp" } }\n'
        'flow = [{ name = "f", controller = "mine", rtt = "40 ms" }]\n'
    )
    command = ["run", str(scenario), "--controller"]
    assert cli.status_of([*command, f"mine={file}:Bad"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("Traceback:\n")
    assert "raise ValueError('so')" in error
    assert "fairhaul/cli" not in error
    assert cli.status_of([*command, f"mine={file}:Typo"]) == 1
    error = capsys.readouterr().err
    assert "\nAck has no mean_rtt_s; it has in_flight, lost, min_rtt_s" in error
    assert cli.status_of([*command, f"mine={file}:Mine"]) == 1
    assert re.fullmatch(
        r"fairhaul: s, seed 1, at 1\.0\d+ s of simulated time: cwnd = NaN, .*\n",
        capsys.readouterr().err,
    )
    assert cli.status_of([*command, f"mine={file}:Nobody"]) == 2
    assert "the file has no Nobody; choose from Mine, Bad" in capsys.readouterr().err
    assert cli.status_of([*command, f"mine={tmp_path}/none.py:Mine"]) == 2
    assert "none.py: no such file" in capsys.readouterr().err
    assert cli.status_of([*command, "mine"]) == 2
    assert "--controller mine: wanted NAME=FILE.py:CLASS" in capsys.readouterr().err


class Noise(Controller):
    """A window that is drawn anew each 50 ms, and paced."""

    every: ClassVar[Literal["ack", "round"] | float] = 0.05
    slow_start = False

    def on_round(self, window: Window, report: Round) -> None:
        assert report.duration_s >= 0.05 or report.now_s < 0.2
        assert not report.slow_start
        window.cwnd = self.random.uniform(10, 60)

    def pacing(self, window: Window) -> float | None:
        return window.cwnd / 0.06


def test_the_same_seed_draws_the_same_numbers_and_copies_go_to_workers() -> None:
    settings = {"flow.a.controller": "noise"}
    scenario = read_one(PATH, settings, controllers={"noise": Noise})
    again = pickle.loads(pickle.dumps(scenario))
    assert again.identity() == scenario.identity()
    first, same, other = fairhaul.for_each(
        [scenario, again, scenario.with_seed(2)], lambda _, record: record
    )
    assert first.flow_series.equals(same.flow_series)
    assert not first.flow_series.equals(other.flow_series)


def test_an_identity_changes_with_the_code() -> None:
    source = "import fairhaul\nclass Mine(fairhaul.Controller):\n    def on_ack(self, w, a): {}\n"
    texts = []
    for body in ("pass", "w.cwnd += 1"):
        space: dict[str, Any] = {"__name__": "typed"}
        exec(source.format(body), space)
        scenario = read_one(PATH, {"flow.a.controller": "m"}, controllers={"m": space["Mine"]})
        texts.append(scenario.identity())
    assert texts[0] != texts[1]


def test_classes_are_compared_and_swept(tmp_path: Path) -> None:
    compared = fairhaul.compare(
        [EachRound, "reno"],
        rate="20Mbit/s",
        rtt="20ms",
        buffer="1bdp",
        against="1xreno",
        seeds=5,
        duration="20 s",
    )
    assert [row["controller"] for row in compared.rows] == ["eachround", "reno"]
    swept = fairhaul.sweep(
        PATH | {"sweep": {"flow.a.controller.a": [1, 3]}, "duration": "20 s"},
        tmp_path / "out",
        {"flow.a.controller": {"kind": "each-round", "b": 0.3}},
        seeds=2,
        controllers=MINE,
    )
    few, many = swept.frame()["a.share"].to_list()
    assert many > few


class Untold(Controller):
    """Defines nothing that is called."""


class Typo(Controller):
    """Defines a method whose name is wrong."""

    def on_ack(self, window: Window, ack: Ack) -> None: ...
    def on_congested(self, window: Window, event: Event) -> None: ...


class Both(EachAck):
    """Defines a method that is never called."""

    def on_round(self, window: Window, report: Round) -> None: ...


@pytest.mark.parametrize(
    ("name", "given", "wanted"),
    [
        ("reno", EachAck, "a controller of the catalogue has this name"),
        ("a b", EachAck, "a name has letters, digits, - and _"),
        ("m", Untold, "Untold defines no on_ack, and every = 'ack'"),
        ("m", Typo, "Typo.on_congested: did you mean 'on_congestion'?"),
        ("m", Both, "Both.on_round would never be called"),
        ("m", dict, "wanted a class derived from fairhaul.Controller"),
        ("m", EachAck(), "wanted a class derived from fairhaul.Controller"),
        ("m", type("T", (EachRound,), {"every": "never"}), 'wanted "ack", "round" or a number'),
        ("m", type("T", (EachRound,), {"every": 0}), "wanted seconds above 0"),
    ],
)
def test_a_class_that_cannot_be_used_is_refused(name: str, given: Any, wanted: str) -> None:
    with pytest.raises(ScenarioError, match=r"^controllers: ") as error:
        fairhaul.read(PATH, controllers={name: given})
    assert wanted in str(error.value)


def test_each_field_of_an_argument_is_on_the_page() -> None:
    page = (Path(__file__).parents[1] / "docs/own-controllers.md").read_text()
    for given in (fairhaul.Window, fairhaul.Ack, fairhaul.Round, fairhaul.Event):
        for name in vars(given):
            assert name.startswith("_") or f"`{name}" in page, f"{given.__name__}.{name}"


def test_values_are_the_arguments_of_the_class() -> None:
    with pytest.raises(ScenarioError, match="unexpected keyword argument 'c'"):
        ran({"kind": "each-ack", "c": 1})
    with pytest.raises(
        ScenarioError, match='unknown controller "each-ak"; did you mean "each-ack"'
    ):
        ran("each-ak")
    assert own.kinds() == {}
