"""The score: drawn paths, parts by hand, whole scores, the command, the page."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path as File
from types import SimpleNamespace
from typing import Any

import pytest

import fairhaul
from fairhaul import cli
from fairhaul.scenario.own import Controller, Event, Round, Window
from fairhaul.scenario.profiles import TUNED
from fairhaul.scenario.transport import Transport, read_transport
from fairhaul.studies.scoring import Score, cases, geometric, parts
from fairhaul.studies.scoring.figures import Figures, at_the_queue
from fairhaul.studies.scoring.figures import most_bps as most_bps_of
from fairhaul.studies.scoring.paths import PATHS, Path, drawn, read_queue
from tools import scores

FEW = 8
PATH = Path(number=1, rate_bps=12_000_000, rtt_s=0.1, buffer_packets=50, loss=0.0)


def figures(goodputs_bps: tuple[float, ...], **other: float) -> Figures:
    return Figures(
        goodputs_bps=goodputs_bps,
        most_bps=11.68e6,
        waiting_s=other.get("waiting_s", 0.0),
        drop_rate=other.get("drop_rate", 0.0),
        jain=other.get("jain"),
        convergence_s=other.get("convergence_s"),
        window_s=1.0,
        packets=1,
        cpu_s=0.0,
    )


def test_the_public_draw_has_64_paths_spread_over_the_ranges() -> None:
    paths = drawn()
    assert len(paths) == PATHS == 64
    # A Latin hypercube: each eighth of the range has an eighth of the paths.
    eighths = [int(8 * math.log(path.rate_bps / 5e6) / math.log(100)) for path in paths]
    assert all(eighths.count(eighth) == 8 for eighth in range(8))
    eighths = [int(8 * math.log(path.rtt_s / 0.005) / math.log(40)) for path in paths]
    assert all(eighths.count(eighth) == 8 for eighth in range(8))
    assert [sum(path.loss == loss for path in paths) for loss in (0.0, 1e-5, 1e-4, 1e-3)] == [
        *(40, 8, 8, 8)
    ]
    assert all(path.buffer_packets >= 10 for path in paths)
    assert sum(path.begins for path in paths) == 32
    assert drawn() == paths
    assert drawn(2) != paths
    # 400 round trips of 100 ms; 20 s is the least.
    assert PATH.duration_s == 40
    assert min(path.duration_s for path in paths) == 20


def test_throughput_is_goodput_over_what_the_path_can_carry() -> None:
    # Of 12 Mbit/s in packets of 1500 B, 11.68 are payload, with time stamps 11.584.
    flow = {"packet_bytes": 1500, "traffic": {"kind": "greedy"}}
    stamped = flow | {"header_bytes": 52}
    for of, loss, most_bps in (
        (flow, None, 11.68e6),
        (stamped, None, 11.584e6),
        (flow, {"probability": 0.001}, 11.66832e6),
    ):
        scenario = {"links": [{"rate_bps": 12e6, "loss": loss}], "flows": [of]}
        record: Any = SimpleNamespace(meta={"scenario": scenario, "engine": "sim"})
        assert most_bps_of(record) == pytest.approx(most_bps)
    assert parts.throughput(5.84e6, 11.68e6) == pytest.approx(0.5)
    assert parts.throughput(12e6, 11.68e6) == 1


def test_a_queue_as_long_as_the_path_halves_the_delay_part() -> None:
    assert parts.delay(0.0, 0.1) == 1
    assert parts.delay(0.1, 0.1) == 0.5
    assert parts.delay(0.3, 0.1) == pytest.approx(0.25)


def test_a_drop_in_a_hundred_halves_the_loss_part() -> None:
    assert parts.loss(0.0) == 1
    assert parts.loss(0.01) == 0.5
    assert parts.loss(0.03) == pytest.approx(0.25)
    # Of 1000 packets the queue drops 10, and chance takes 99 of the other 990: 109 together.
    assert at_the_queue(0.109, {"probability": 0.1}) == pytest.approx(0.01)
    assert at_the_queue(0.0009, {"probability": 0.001}) == 0
    assert at_the_queue(0.02, None) == 0.02


def test_convergence_is_the_time_that_is_left() -> None:
    # 30 s are left after the second start; fair at the end of the first window of 1 s is best.
    assert parts.convergence(1.0, 1.0, 30.0) == 1
    assert parts.convergence(15.5, 1.0, 30.0) == pytest.approx(0.5)
    assert parts.convergence(30.0, 1.0, 30.0) == 0
    assert parts.convergence(None, 1.0, 30.0) == 0


def test_fairness_to_itself_is_0_if_one_flow_has_everything() -> None:
    assert parts.fair_to_itself(0.5) == 0
    assert parts.fair_to_itself(1.0) == 1
    # Goodputs of 2 and 1: Jain's index 9 / (2 x 5) = 0.9.
    assert parts.fair_to_itself(0.9) == pytest.approx(0.8)
    assert parts.fair_to_itself(None) == 0


def test_fairness_beside_a_rival_is_what_the_worse_off_flow_has_of_its_due() -> None:
    pair = figures((6e6, 4e6))
    assert parts.fair_beside(figures((5e6, 5e6)), pair) == 1
    # The due is 5 Mbit/s, whichever of the two flows has less.
    assert parts.fair_beside(figures((9e6, 1e6)), pair) == pytest.approx(0.2)
    assert parts.fair_beside(figures((1e6, 9e6)), pair) == pytest.approx(0.2)
    # To take what two rivals would leave does no harm.
    assert parts.fair_beside(figures((5e6, 6e6)), pair) == 1
    assert parts.fair_beside(figures((0.0, 6e6)), figures((0.0, 0.0))) == 0


def test_parts_come_from_their_runs() -> None:
    runs = {
        "alone": figures((11.68e6,), waiting_s=0.1),
        "pair": figures((2.92e6, 2.92e6), drop_rate=0.01, jain=1.0, convergence_s=1.0),
        "beside cubic": figures((2e6, 8e6)),
        "pair of cubic": figures((5e6, 5e6)),
        "beside reno": figures((5e6, 5e6)),
        "pair of reno": figures((5e6, 5e6)),
    }
    # Throughput, delay and loss are means of the flow alone and the pair.
    assert parts.parts_of(PATH, runs) == pytest.approx(
        {
            "throughput": (1 + 0.5) / 2,
            "delay": (0.5 + 1) / 2,
            "loss": (1 + 0.5) / 2,
            "convergence": 1.0,
            "fair_to_itself": 1.0,
            "fair_to_cubic": 0.4,
            "fair_to_reno": 1.0,
        }
    )
    assert list(parts.PARTS) == list(parts.parts_of(PATH, runs))


def test_the_score_is_the_geometric_mean_of_the_means() -> None:
    # Means 0.5 and 0.72 over two paths: the square root of 0.36.
    assert geometric([[0.4, 0.44], [0.6, 1.0]]).mean == pytest.approx(0.6)
    assert geometric([[0.0, 0.9], [0.0, 1.0]]).mean == 0, "nothing makes up for a part of 0"
    # The same values over every path leave nothing open.
    same = geometric([[0.5, 0.5]] * 5)
    assert same.low == pytest.approx(0.5)
    assert same.high == pytest.approx(0.5)
    # Where one part rises as the other falls, the logarithms cancel and the interval is narrow.
    up = [[0.6, 0.6], [0.4, 0.4]] * 5
    across = [[0.6, 0.4], [0.4, 0.6]] * 5
    wide, narrow = geometric(up), geometric(across)
    assert wide.low is not None
    assert wide.low < 0.48
    assert narrow.low == pytest.approx(0.5)


def test_a_pair_starts_one_after_the_other_and_is_measured_in_the_second_half() -> None:
    reno, cubic = (Transport(controller={"kind": kind}) for kind in ("reno", "cubic"))
    transports = {"own": reno, "cubic": cubic}
    assert cases.cases_over(PATH)["beside cubic"] == ("own", "cubic")
    read = json.loads(
        cases.scenario(PATH, ("own", "cubic"), transports, read_queue("droptail")).describe()
    )
    assert [flow["controller"] for flow in read["flows"]] == ["reno", "cubic"]
    assert [flow["start"]["at_s"] for flow in read["flows"]] == [0, 10]
    assert (read["duration_s"], read["warmup_s"]) == (40, 20)
    alone = json.loads(
        cases.scenario(PATH, ("own", None), transports, read_queue("droptail")).describe()
    )
    assert alone["warmup_s"] == 10
    assert alone["links"][0]["capacity_packets"] == 50


Scored = Callable[[str | type[Controller]], Score]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> File:
    """The store of the scores over few paths, in which the runs of the rivals are run once."""
    return tmp_path_factory.mktemp("scores")


@pytest.fixture(scope="module")
def scored(kept: File) -> Scored:
    """The score of a controller over few paths, with two runs at a time."""
    return lambda controller: fairhaul.score(controller, paths=FEW, jobs=2, out=kept)


def test_the_same_controller_has_the_same_score(scored: Scored) -> None:
    first = fairhaul.score("reno", paths=FEW, jobs=1)
    second = scored("reno")
    assert first.parts == second.parts
    assert first.score == second.score
    assert 0 < first.score < 1


def test_a_rival_is_scored_by_the_runs_that_others_are_compared_with(scored: Scored) -> None:
    of_cubic = scored("cubic")
    for path in of_cubic.paths:
        assert path.figures["pair"] == path.figures["pair of cubic"]
        assert path.figures["beside cubic"] == path.figures["pair of cubic"]
    assert scored("cubic:beta=0.8").score != of_cubic.score


def test_a_score_has_its_parts_paths_and_intervals(scored: Scored) -> None:
    done = scored("reno")
    found = json.loads(json.dumps(done.to_dict()))["values"]
    assert found["controller"] == "reno"
    assert found["low"] < found["score"] < found["high"]
    assert found["interval"] == "95 %"
    assert list(found["parts"]) == list(parts.PARTS)
    assert len(found["paths"]) == FEW
    for path in found["paths"]:
        assert all(0 <= value <= 1 for value in path["parts"].values())
        assert path["figures"]["beside_cubic_own_bps"] > 0
        assert path["figures"]["pair_jain"] >= 0.5
    means = [of["mean"] for of in found["parts"].values()]
    assert found["score"] == pytest.approx(math.prod(means) ** (1 / len(means)))
    frame = done.frame()
    assert frame.height == FEW
    assert {"rate_bps", "rtt_s", "loss", "throughput", "fair_to_reno"} <= set(frame.columns)
    assert "reno scores" in done._repr_html_()


class Greedy(Controller):
    """Adds a tenth of the window each round trip, and hardly reacts to losses."""

    every = "round"

    def on_round(self, window: Window, report: Round) -> None:  # noqa: ARG002
        """Grow."""
        window.growth = 0.1 * window.cwnd

    def on_congestion(self, window: Window, event: Event) -> None:  # noqa: ARG002
        """Give up a twentieth."""
        window.give_up(0.05)


GREEDY = """
import fairhaul


class Greedy(fairhaul.Controller):
    every = "round"

    def on_round(self, window, report):
        window.growth = 0.1 * window.cwnd

    def on_congestion(self, window, event):
        window.give_up(0.05)
"""


def test_a_greedy_controller_of_ones_own_is_no_match_for_reno(
    tmp_path: File, kept: File, scored: Scored, capsys: pytest.CaptureFixture[str]
) -> None:
    greedy, reno = scored(Greedy), scored("reno")
    assert greedy.controller == "greedy"
    assert greedy.parts["throughput"].mean > reno.parts["throughput"].mean
    assert greedy.parts["fair_to_reno"].mean < 0.5 * reno.parts["fair_to_reno"].mean
    assert greedy.score < reno.score
    (tmp_path / "greedy.py").write_text(GREEDY)
    option = ["--controller", f"greedy={tmp_path}/greedy.py:Greedy", "--out", str(kept)]
    for names in ([], ["greedy"]):
        assert cli.status_of(["score", *names, *option, "--paths", str(FEW), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["values"]["score"] == greedy.score


def test_the_command_prints_the_parts(scored: Scored, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["score", "--controller", "fhstcp:c=20", "--paths", str(FEW), "--draw", "5"]
    assert cli.status_of(asked) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("fhstcp:c=20 scores 0.")
    assert f"over {FEW} paths (draw 5)" in printed
    for part in parts.PARTS:
        assert part.replace("_", " ") in printed
    assert 'The weakest part is "' in printed
    assert "geometric mean" in printed
    assert f"over {FEW} paths (public draw)" in scored("reno").outcome().answer


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "CC is missing; for example: fairhaul score cubic"),
        (["cubik"], 'cubik: unknown controller "cubik"; did you mean "cubic"?'),
        (["cubic:bta=0.5"], 'did you mean "beta"?'),
        (["xcp"], "needs routers"),
        (["cubic", "--controller", "reno"], "a score is of one controller"),
        (["--controller", "x=nowhere.py:X"], "nowhere.py: no such file"),
        (["cubic", "--paths", "4"], "--paths"),
        (["cubic", "--draw", "-1"], "--draw"),
        (["cubic", "--profile", "plane"], "--profile"),
        (["cubic", "--queue", "dualpi"], 'did you mean "dualpi2"?'),
        (["cubic", "--queue", "codel:capacity=9"], "the paths give the capacity"),
    ],
)
def test_mistakes_are_refused(
    args: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.status_of(["score", *args]) == 2
    assert message in capsys.readouterr().err


def test_another_queue_judges_an_l4s_sender_where_its_marks_are() -> None:
    """Through a dual queue Prague waits less than over the drop-tail paths of published scores."""
    transports = {cases.OWN: read_transport("prague", TUNED)}
    for queue, known in (("droptail", None), ("dualpi2:variant=linux", {"kind": "dualpi2"})):
        of = cases.scenario(drawn()[0], (cases.OWN, None), transports, read_queue(queue))
        described = of.described["links"][0].get("queue")
        assert (described and {"kind": described["kind"]}) == known
    dual = fairhaul.score("prague", paths=FEW, queue="dualpi2")
    published = fairhaul.score("prague", paths=FEW)
    assert (dual.queue, published.queue) == ("dualpi2", "droptail")
    assert dual.parts["delay"].mean > published.parts["delay"].mean
    assert "with the queue dualpi2" in dual.outcome().answer
    assert "queue" not in published.outcome().answer


def test_mistakes_in_python_name_the_argument() -> None:
    with pytest.raises(fairhaul.ScenarioError, match=r"^paths 4: wanted from 8"):
        fairhaul.score("cubic", paths=4)
    with pytest.raises(fairhaul.ScenarioError, match=r"^draw -1: wanted a whole number"):
        fairhaul.score("cubic", draw=-1)
    with pytest.raises(fairhaul.ScenarioError, match=r"^profile plane: "):
        fairhaul.score("cubic", profile="plane")


def test_the_page_has_every_controller_and_its_score() -> None:
    page = scores.rows_of_page()
    assert set(page) == set(scores.scored()), "run `make scores`"
    assert all(len(row) == len(parts.PARTS) + 3 for row in page.values())
    cells = scores.cells(fairhaul.score("cubic"))
    assert page["cubic"][: len(cells)] == cells, "the engine gives other figures: `make scores`"
