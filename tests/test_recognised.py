"""Controllers that are recognised by their windows, and limits by the clocks beside a capture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import fairhaul
from fairhaul.studies.explanation.clocks import Look, judged_of, with_clocks
from fairhaul.studies.explanation.laws import cubic, highspeed, htcp, reno, scalable
from fairhaul.studies.explanation.limits import Held, Limit, Rounds, Sign
from fairhaul.studies.explanation.looks import looks_of
from fairhaul.studies.explanation.recognised import fitted, place, recognised
from fairhaul.studies.explanation.results import Recognised, recognised_text
from fairhaul.studies.explanation.signs import signs_of
from fairhaul.studies.explanation.trace import Trace, read_capture
from fairhaul.studies.explanation.windows import Growth, recoveries_of, windows_of
from tests.captures import RECEIVER, SENDER, Transfer, losing, pcap
from tests.linux_program import needs_linux
from tools.explanation import controllers, limited
from tools.explanation import fitted as fitting
from tools.explanation.connections import RARE, USUAL, captures, scenario

LOST = (1000, 3000, 5000)


def sawtooth() -> Transfer:
    """A window of at most 60 packets that grows by one in a round trip, and is halved by a loss."""
    transfer = Transfer(packets=6000, window=60, halves=True)
    return transfer.run(losing(lambda number: number in LOST))


def trace_of(tmp_path: Path, transfer: Transfer) -> Trace:
    file = tmp_path / "one.pcap"
    file.write_bytes(pcap([transfer]))
    (trace,) = read_capture(file).traces
    return trace


def growth(first: float, rounds: int, round_s: float, *befores: float) -> Growth:
    since = round_s * np.arange(rounds, dtype=np.float64)
    return Growth(since_s=since, window=np.full(rounds, first), befores=befores)


def test_laws_grow_as_their_sources_say() -> None:
    # 0.4 K^3 = 100 - 70, so that K = 4.217 s; there the window is 100 again.
    at_turn = cubic(growth(70, 6, 4.217 / 5, 100))[-1]
    assert at_turn == pytest.approx(100, abs=0.01)
    # Of a smaller window before the loss than before the last one CUBIC keeps 0.85: 0.4 K^3 = 15.
    assert cubic(growth(70, 6, 3.347 / 5, 120, 100))[-1] == pytest.approx(85, abs=0.01)
    assert list(reno(growth(10, 4, 0.1, 20))) == [10, 11, 12, 13]
    assert scalable(growth(200, 3, 0.1, 230))[-1] == pytest.approx(200 * 1.01**2)
    # [RFC 3649]: a(38) = 1 and about 8 at a window of 1058, of which an acknowledgement of two
    # packets gives half.
    assert np.diff(highspeed(growth(1058, 2, 0.1, 2000)))[0] == pytest.approx(4, rel=0.05)
    assert list(highspeed(growth(0, 3, 0.1))) == [0, 1, 2]
    # 1 + 10 (t - 1) + (t - 1)^2 / 4 a second after the first second.
    assert np.diff(htcp(growth(10, 4, 1.0, 20))) == pytest.approx([1, 1, 11.25])


def test_the_windows_around_a_loss_are_those_of_the_sender(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, sawtooth())
    windows = windows_of(trace)
    assert windows is not None
    losses = recoveries_of(trace, windows)
    # This sender sends a window, and waits until all of it is acknowledged: after the first
    # acknowledgement 59 of 60 packets are outstanding, and of 31 the half on average.
    assert [(of.before, of.after) for of in losses] == [(59, 15.5)] * 3
    signs = signs_of(trace)
    assert signs is not None
    assert signs["kept"] == pytest.approx(15.5 / 59)
    assert set(signs) == set(fitted().edges) == set(fitting.BOUNDS)


def test_a_sign_that_is_not_shown_has_the_last_bin() -> None:
    edges = np.array([0.5, 0.7])
    assert [place(sign, edges) for sign in (0.4, 0.6, 0.8, np.nan)] == [0, 1, 2, 3]


def test_controllers_are_written_with_the_confidence_of_the_first_one() -> None:
    of = [Recognised(controller=name, confidence=part) for name, part in (("a", 0.9), ("b", 0.1))]
    assert recognised_text(of) == "a, 0.90; or b"
    assert recognised_text([Recognised(controller="a", confidence=1.0)]) == "a, 0.99"


def test_nothing_is_recognised_where_hosts_limit_or_on_the_far_side(tmp_path: Path) -> None:
    transfer = Transfer(packets=3000, window=40, chunk=100, pause_s=1.0).run(lambda *_: 0.0)
    trace = trace_of(tmp_path, transfer)
    found, why = recognised(trace, judged_of(trace, None, ()).limits)
    assert found == []
    assert why is not None
    far = trace_of(tmp_path, sawtooth().at_the_receiver())
    limits = judged_of(far, None, ()).limits
    assert "sender's side" in str(recognised(far, limits)[1])
    assert "policer" in str(recognised(trace, limits, is_policed=True)[1])


def look(**changed: Any) -> Look:
    values: dict[str, Any] = {
        "acked_bytes": 1e9,
        "window_s": 0.0,
        "buffer_s": 0.0,
        "app_limited": False,
        "is_full": False,
        "is_empty": False,
        "at_pacing_cap": False,
        "controller": "cubic",
    }
    return Look(**{**values, **changed})


def judged(trace: Trace, sign: Sign, *looks: Look) -> dict[Limit, float]:
    """Judge as if all round trips of a connection showed one sign: give the shares of time."""
    edges = np.linspace(trace.first_s, trace.last_s, 101)
    signs = dict.fromkeys(get_args(Sign), np.zeros(100))
    rounds = Rounds(edges_s=edges, signs_s={**signs, sign: np.diff(edges)})
    held = Held(edges_s=edges, limits_s=with_clocks(trace, rounds, looks))
    return dict(held.shares())


@pytest.mark.parametrize(
    ("changed", "limit"),
    [
        ({"buffer_s": 0.5}, "send_buffer"),
        ({"is_full": True}, "send_buffer"),
        ({"at_pacing_cap": True}, "pacing"),
        ({"app_limited": True}, "application"),
        ({"is_empty": True}, "application"),
        ({}, "congestion_window"),
        ({"controller": "bbr"}, "path"),
    ],
)
def test_the_clocks_say_what_headers_do_not_separate(
    tmp_path: Path, changed: Any, limit: Limit
) -> None:
    trace = trace_of(tmp_path, Transfer(packets=300).run(lambda *_: 0.0))
    for sign in ("open", "few", "even"):
        assert judged(trace, sign, look(**changed))[limit] == pytest.approx(1)
    assert judged(trace, "lost", look(**changed))["congestion_window"] == pytest.approx(1)


def test_the_clock_of_the_window_counts_between_looks(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, Transfer(packets=3000).run(lambda *_: 0.0))
    quarter_s = (trace.last_s - trace.first_s) / 4
    half = look(acked_bytes=trace.data_bytes / 2, window_s=quarter_s, app_limited=True)
    whole = look(acked_bytes=trace.data_bytes + 1, window_s=quarter_s, at_pacing_cap=True)
    found = judged(trace, "open", half, whole)
    wanted = {"receive_window": 0.25, "application": 0.25, "pacing": 0.5}
    assert {limit: of for limit, of in found.items() if of} == pytest.approx(wanted, abs=0.02)


SS = f"""\
ESTAB 0 100 [::ffff:{SENDER}]:5001 [::ffff:{RECEIVER}]:443
\t skmem:(r0,rb131072,t0,tb46080,f0,w40000,o0,bl0,d0) cubic wscale:7,7 rto:250 rtt:50/1 mss:1448 \
cwnd:45 bytes_sent:4344000 bytes_acked:4344001 data_segs_out:3000 delivered:3000 app_limited \
busy:3700ms sndbuf_limited:400ms(10%) pacing_rate 8000000bps/8000000bps minrtt:50
"""


def test_a_connection_in_a_capture_and_in_ss_is_one(tmp_path: Path) -> None:
    capture, text = tmp_path / "one.pcap", tmp_path / "one.txt"
    capture.write_bytes(pcap([Transfer(packets=3000, window=40).run(lambda *_: 0.0)]))
    text.write_text(SS)
    (seen,) = looks_of(SS)[SENDER, 5001, RECEIVER, 443]
    assert (seen.is_full, seen.at_pacing_cap, seen.app_limited) == (True, True, True)
    for files in ([capture, text], [text, capture]):
        (of,) = fairhaul.explain(files).connections
        assert (of.source, of.controller, of.not_separated) == ("capture", "cubic", None)
        assert of.limits["send_buffer"] > 0.1
    assert fairhaul.explain(capture).connections[0].not_separated is not None
    assert len(fairhaul.explain(text).connections) == 1


def test_drawn_paths_are_the_same_for_the_same_numbers() -> None:
    assert scenario(45, 3, "bbr") == scenario(45, 3, "bbr")
    assert scenario(45, 3, "bbr")["bottleneck"] != scenario(1, 3, "bbr")["bottleneck"]


def test_a_fit_finds_the_controllers_whose_signs_it_was_given() -> None:
    unknown = dict.fromkeys(fitting.BOUNDS, float("nan"))
    examples = [
        (name, {**unknown, "kept": 0.45 + 0.05 * at})
        for at, name in enumerate((*USUAL, *RARE))
        for _ in range(8)
    ]
    likely = fitting.fit(examples, 1.0).likely(examples[0][1])
    assert sum(likely.values()) == pytest.approx(1)
    assert max(likely, key=lambda name: likely[name]) == "reno"


def test_the_table_of_controllers_counts_by_confidence(tmp_path: Path) -> None:
    def judged(name: str, *found: tuple[str, float]) -> controllers.Judged:
        of = [Recognised(controller=one, confidence=part) for one, part in found]
        return controllers.Judged(file=tmp_path / name, controller=name, recognised=of)

    each = [judged("reno", ("reno", 0.95)), judged("reno", ("cubic", 0.6)), judged("bbr")]
    text = "\n".join(controllers._lines(each))
    assert "| reno | 2 | 1 | 1 | 2 | 1 |" in text
    assert "| these four | 3 | 1 | 1 | 2 | 1 |" in text
    assert "- reno: cubic, 0.60" in text


@needs_linux
def test_linux_is_recognised_and_its_limits_are_found(tmp_path: Path) -> None:
    for _, file in captures(tmp_path, 3, ("cubic", "bbr")):
        (of,) = fairhaul.explain(file).connections
        assert of.recognised[0].controller == file.name.split("-")[0]
        assert json.loads(json.dumps(of.values()))["recognised"][0]["confidence"] > 0.5


def test_the_planted_limits_are_drawn_for_every_kind() -> None:
    for kind, drawn in limited.KINDS.items():
        planned = drawn(lambda low, high: (low + high) / 2)
        assert fairhaul.read(planned.scenario(1)), kind
