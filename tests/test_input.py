"""What a user can get wrong: one line each with file and line, exit status 2, and no files."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fairhaul as package
from fairhaul.scenario.read import read_as_typed, read_one, toml

from .conftest import SMALL, Fairhaul

# The text in the scenario, its replacement, the line, and a word of the message.
WRONG = {
    "syntax": ('rate  = "10 Mbit/s"', "rate  = 10 Mbit/s", 8, "TOML"),
    "key": ("rtt        =", "rrt        =", 14, "rtt"),
    "table": ("[bottleneck]", "[bottelneck]", 7, "bottleneck"),
    "unit": ('"10 Mbit/s"', '"10 Mbits"', 8, "Mbit/s"),
    "bare number": ('"20 s"', "20", 3, "duration"),
    "word": ('controller = "reno"', 'controller = "renno"', 15, "reno"),
    "queue": ('kind = "droptail"', 'kind = "fifo"', 10, "droptail"),
    "zero rate": ('"10 Mbit/s"', '"0 Mbit/s"', 8, "rate"),
    "negative time": ('"5 s"', '"-5 s"', 4, "warmup"),
    "warm-up without end": ('"5 s"', '"50 s"', 4, "warmup"),
    "queue without room": ('capacity = "20 ms"', 'capacity = "0 packets"', 10, "packet"),
    "round trip too short": ('"40 ms"', '"4 ms"', 14, "rtt"),
    "name twice": ('"far"', '"near"', 18, "near"),
    "seed": ("seed     = 1", "seed     = -1", 2, "seed"),
}

NOWHERE = """\
duration = "1 s"
[[node]]
name = "here"
[[node]]
name = "there"
[[link]]
from  = "here"
to    = "there"
rate  = "1 Mbit/s"
delay = "1 ms"
queue = { kind = "droptail", capacity = "10 packets" }
[[flow]]
name       = "lost"
from       = "here"
to         = "nowhere"
controller = "reno"
"""


def test_quantities_are_read_as_programs_print_them() -> None:
    changed = SMALL.replace('"20 s"', '"2e+01 s"').replace('"10 Mbit/s"', '"1E7 bit/s"')
    assert changed != SMALL
    described = read_one(changed).described
    assert described["duration_s"] == 20
    assert described["links"][0]["rate_bps"] == 10_000_000
    with pytest.raises(package.ScenarioError, match='did you mean "2e\\+01 s"'):
        read_one(SMALL.replace('"20 s"', '"2e+01 sec"'))


@pytest.mark.parametrize("what", WRONG)
def test_a_mistake_is_reported_with_its_line(what: str, small: Path, fairhaul: Fairhaul) -> None:
    right, wrong, line, word = WRONG[what]
    assert right in SMALL
    small.write_text(SMALL.replace(right, wrong, 1))
    done = fairhaul("run", small, "--out", "out", "--json")
    assert done.returncode == 2, done.stderr
    assert f"{small}:{line}: " in done.stderr
    assert word in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert sorted(small.parent.iterdir()) == [small]


def test_a_flow_without_a_route_is_reported(small: Path, fairhaul: Fairhaul) -> None:
    small.write_text(NOWHERE)
    done = fairhaul("run", small)
    assert done.returncode == 2
    assert f"{small}:15: " in done.stderr
    assert "nowhere" in done.stderr


def test_all_mistakes_of_all_files_are_reported_at_once(small: Path, fairhaul: Fairhaul) -> None:
    small.write_text(SMALL.replace('"20 s"', "20").replace('"near"', "3").replace("80 ms", "80"))
    done = fairhaul("run", small, "missing.toml")
    lines = done.stderr.splitlines()
    assert done.returncode == 2
    assert [line.partition(": ")[0] for line in lines] == [
        *(f"{small}:{n}" for n in (3, 13, 19)),
        "missing.toml",
    ]


def test_a_binary_file_is_reported(small: Path, fairhaul: Fairhaul) -> None:
    small.write_bytes(b"seed = 1\na = '\xff'\n")
    done = fairhaul("run", small, ".")
    assert done.returncode == 2
    assert f"{small}:2: not UTF-8 at byte 14" in done.stderr
    assert "directory" in done.stderr


@pytest.mark.parametrize(
    ("args", "word"),
    [
        (["--set", "duration"], "key=value"),
        (["--set", "duraton=1 s"], "duration"),
        (["--set", "flow.neer.rtt=50 ms"], "near"),
        (["--set", "duration=long"], "duration"),
        (["--seeds", "0"], "--seeds"),
        (["--seeds", "2", "--set", "seed=18446744073709551615"], "2^64"),
        (["--jobs", "none"], "--jobs"),
        (["--engine", "moon"], "--engine"),
        (["--jsn"], "--json"),
        (["--seeds", "two"], "not a valid integer"),
        (["--set"], "--set requires a value: --set KEY=VALUE"),
        (["--format", "pcap"], "'pcapng'"),
        (["--trace", "neer", "--out", "out"], "did you mean 'near'?"),
    ],
)
def test_an_invalid_option_is_reported(
    args: list[str], word: str, small: Path, fairhaul: Fairhaul
) -> None:
    done = fairhaul("run", small, *args)
    assert done.returncode == 2
    assert word in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("args", "word"),
    [
        (["rum"], "'run'"),
        (["xyzzy"], "explain, advise, compare, flows, kernel, check, evaluate, attack, score"),
        (["list", "contollers"], "controllers"),
        (["list", "bad"], "'controllers', 'queues'"),
        (["list", "controllers", "cubik"], "did you mean 'cubic'?"),
        (["list", "queues", "cubic"], "choose from droptail, red"),
        (["list"], "WHAT is missing; for example: fairhaul list controllers"),
        (["reproduce", "fhtcp"], "'fhstcp'"),
        (["reproduce", "fhstcp", "--only", "tabel1"], "did you mean 'table1'?"),
        (["reproduce", "fhstcp", "--only", "bad"], "choose from table1, figure3"),
        (["reproduce", "fhstcp", "--quik"], "--quick"),
        (["reproduce", "--only", "table1"], "--only requires the name of a paper"),
        (["reproduce", "all", "--only", "table1"], "--only requires the name of a paper"),
        (["run"], "FILE... is missing; for example: fairhaul run first.toml"),
        (["report"], "DIR... is missing; for example: fairhaul report out/first"),
        (["report", "nowhere"], "nowhere: no such directory"),
        (["compare"], "CC... is missing; for example: fairhaul compare fhstcp reno"),
        (["score"], "CC is missing; for example: fairhaul score cubic"),
        (["compare", "reno", "--rate"], "e.g. 622Mbit/s"),
        (["compare", "reno", "--rat", "1Gbit/s"], "--rate"),
        (["compare", "reno", "--seeds", "0"], "not in the range x>=1"),
    ],
)
def test_an_unknown_command_or_word_is_reported(
    args: list[str], word: str, fairhaul: Fairhaul
) -> None:
    done = fairhaul(*args)
    assert done.returncode == 2
    assert word in done.stderr


def test_a_directory_in_use_is_left_alone(small: Path, fairhaul: Fairhaul) -> None:
    done = fairhaul("run", small, "--out", small.parent)
    assert done.returncode == 2
    assert "not empty" in done.stderr
    assert sorted(small.parent.iterdir()) == [small]


@pytest.mark.parametrize("command", ["run", "sweep"])
def test_more_runs_than_can_be_planned_are_refused_at_once(
    command: str, small: Path, fairhaul: Fairhaul
) -> None:
    done = fairhaul(command, small, "--seeds", "100000000")
    assert (done.returncode, done.stdout) == (2, "")
    assert "100,000,000 runs are too many: at most 100,000 are planned" in done.stderr


def test_a_binary_file_is_no_output_of_ss(tmp_path: Path, fairhaul: Fairhaul) -> None:
    file = tmp_path / "old.flent.gz"
    file.write_bytes(bytes(range(256)) * 4)
    done = fairhaul("advise", "--from", file, "--size", "1GB")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("--from: ")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", ["run", "sweep"])
def test_an_empty_name_of_a_directory_is_reported(
    command: str, small: Path, fairhaul: Fairhaul
) -> None:
    done = fairhaul(command, small, "--out", "")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Invalid value for '--out': the name is empty" in done.stderr


def test_a_name_that_a_locale_cannot_write_is_reported(small: Path) -> None:
    file = small.rename(small.with_name("größe.toml"))
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "fairhaul", "run", file],
        env={**os.environ, **locale},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.endswith("set LC_ALL=C.UTF-8\n")
    assert "Traceback" not in done.stderr


def test_mistakes_reach_python_as_a_list() -> None:
    with pytest.raises(package.ScenarioError) as caught:
        package.read(SMALL.replace('"20 s"', "20").replace("80 ms", "80"))
    assert len(caught.value.args) == 2
    assert caught.value.args[0].startswith("scenario:3: ")


def test_text_file_and_mapping_are_the_same_scenario(small: Path) -> None:
    queue = {"kind": "droptail", "capacity": "20 ms"}
    mapping = {
        "title": "Two flows",
        "duration": "20 s",
        "warmup": "5 s",
        "profile": "plain",
        "bottleneck": {"rate": "10 Mbit/s", "delay": "10 ms", "queue": queue},
        "flow": [
            {"name": "near", "rtt": "40 ms", "controller": "reno"},
            {"name": "far", "rtt": "80 ms", "controller": "reno", "start": "uniform 0 s..1 s"},
        ],
    }
    texts = {read_one(source).describe() for source in (SMALL, small, mapping)}
    assert len(texts) == 1


def test_values_are_written_as_toml() -> None:
    value = {"a b": [1, 2.5, True], "c": 'say "x"'}
    assert toml(value) == '{ "a b" = [1, 2.5, true], c = "say \\"x\\"" }'
    with pytest.raises(package.ScenarioError, match="NoneType"):
        toml(None)


def test_numbers_of_numpy_are_written_as_those_of_python() -> None:
    values = np.linspace(5, 20, 4)
    assert [toml(value) for value in values] == ["5.0", "10.0", "15.0", "20.0"]
    assert toml(np.arange(3)) == "[0, 1, 2]"
    assert toml(np.array([[1.5, 2.0]])) == "[[1.5, 2.0]]"
    assert [toml(v) for v in (np.int64(3), np.float32(0.5), np.True_)] == ["3", "0.5", "true"]
    assert toml({"a": [np.float64(0.1), np.str_("x")]}) == '{ a = [0.1, "x"] }'
    setting = {"flow.near.controller.kind": "fhstcp", "flow.near.controller.c": values[1]}
    plain = {"flow.near.controller.kind": "fhstcp", "flow.near.controller.c": 10}
    assert read_one(SMALL, setting).describe() == read_one(SMALL, plain).describe()


def test_one_scenario_is_not_several() -> None:
    swept = SMALL + '[sweep]\n"flow.near.rtt" = ["40 ms", "60 ms"]\n'
    assert len(package.read(swept)) == 2
    with pytest.raises(package.ScenarioError, match=r"makes 2: run_many\(read\(...\)\)"):
        package.run(swept)


def test_values_that_do_not_fit_say_how_to_vary_a_key() -> None:
    for several in ("red,codel", '["red", "codel"]'):
        setting = ("bottleneck.queue.kind", several)
        with pytest.raises(package.ScenarioError) as caught:
            read_as_typed(SMALL, [setting])
        assert caught.value.args[-1].endswith(
            'one value is set; in the file, [sweep] varies "bottleneck.queue.kind"'
        )
    # reno has no c.
    kinds = SMALL + '[sweep]\n"flow.near.controller.kind" = ["fhstcp", "reno"]\n'
    with pytest.raises(package.ScenarioError) as caught:
        read_as_typed(kinds, [("flow.near.controller.c", "10")])
    assert caught.value.args[-1] == (
        '"flow.near.controller.kind": other kinds have other keys; give whole tables as '
        '"flow.near.controller"'
    )
    with pytest.raises(package.ScenarioError) as caught:
        read_as_typed(SMALL, [("bottleneck.queue.kind", "reed")])
    assert len(caught.value.args) == 1


def test_errors_from_python_name_arguments_and_no_options() -> None:
    for wrong in ({"duraton": "1 s"}, {"flow.near.rtt": "40"}, {"seed": -1}):
        with pytest.raises(package.ScenarioError) as caught:
            package.read(SMALL, wrong)
        (told,) = caught.value.args
        assert told.startswith("overrides: ")
        assert "--" not in told
    with pytest.raises(package.ScenarioError, match=r"^2 seeds counted up"):
        package.run(SMALL, {"seed": 2**64 - 1}, seeds=2)


def test_control_sequences_are_never_printed(small: Path, fairhaul: Fairhaul) -> None:
    evil = "\\u001b[2J\\u001b]0;owned\\u0007\\u009b31m\\u202e"
    small.write_text(SMALL.replace("Two flows", evil))
    # Of several scenarios the titles are printed.
    printed = [fairhaul("run", small, small), fairhaul("run", small, "--json")]
    assert [done.returncode for done in printed] == [0, 0]
    assert "\\x1b[2J" in printed[0].stdout
    found = json.loads(printed[1].stdout)["title"]
    assert found == "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e"
    # Invalid values, and the arguments.
    small.write_text(SMALL.replace('"10 Mbit/s"', f'"{evil}"'))
    printed += [
        fairhaul("run", small),
        fairhaul("run", "\x1b[2J.toml"),
        fairhaul("run", small, "--set", "\x1b[2J=1"),
        fairhaul("\x1b[2J"),
    ]
    for done in printed:
        for text in (done.stdout, done.stderr):
            assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(text), done.args
    assert [done.returncode for done in printed[2:]] == [2] * 4


def test_very_many_mistakes_and_long_values_are_shortened(small: Path, fairhaul: Fairhaul) -> None:
    long = SMALL.replace('"10 Mbit/s"', f'"{"9" * 70_000}"')
    small.write_text(long + "".join(f"wrong{i} = 1\n" for i in range(100_000)))
    done = fairhaul("run", small)
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert len(lines) == 41
    assert lines[-1].endswith(": and 99961 more errors from here on")
    assert max(map(len, lines)) < 600


def test_a_mistyped_file_gets_the_name_of_the_nearest_one(small: Path, fairhaul: Fairhaul) -> None:
    assert small.name == "small.toml"
    done = fairhaul("run", "smal.toml")
    assert done.returncode == 2
    assert done.stderr == 'smal.toml: no such file or directory; did you mean "small.toml"?\n'
    assert fairhaul("run", "other/x").stderr == "other/x: no such file or directory\n"


def test_an_example_of_the_documentation_is_found_in_the_package(
    fairhaul: Fairhaul, tmp_path: Path
) -> None:
    done = fairhaul("run", "scenarios/examples/two-flows.toml")
    assert done.returncode == 2
    command = done.stderr.partition("; the package has it: ")[2].strip()
    subprocess.run(shlex.split(command), cwd=tmp_path, check=True)
    exercise = "scenarios/course/1-sawtooth.toml"
    done = fairhaul("check", exercise, "--controller", "s=scenarios/course/student.py:Student")
    assert done.returncode == 1
    assert fairhaul("run", "scenarios/none.toml").stderr.endswith("no such file or directory\n")
