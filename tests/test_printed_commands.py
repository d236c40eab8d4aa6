"""Every command that an output or a report prints is executed, with each kind of controller."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from fairhaul.host.deployable import Way
from fairhaul.scenario.read import toml
from fairhaul.scenario.transport import read_transport
from fairhaul.studies import advice, evaluation
from fairhaul.studies.advice.commands import commands as advice_commands
from tests.compiled import bpf_object, crate
from tests.conftest import Fairhaul
from tests.kernel_host import needs_kernel
from tests.test_advise import QUICK, advised
from tools import ROOT

CLASS = """\
import fairhaul

class Gentle(fairhaul.Controller):
    every = "round"

    def on_round(self, window, report):
        window.growth = 1.0
"""

# A weakness is found at once where any starving counts: a flow of its own against reno.
BOX = """\
rate = "2 Mbit/s"
rtt = { from = "20 ms", to = "40 ms" }
buffer = { from = "0.5 bdp", to = "1 bdp" }
rival = "reno"
rivals = 1
flows = 1
loss = 0
round_trips = 20
least_duration = "3 s"
"""

COMMAND = re.compile(r"^(?: {2}| {4})(?:sudo )?fairhaul (.+)$", re.MULTILINE)
Given = tuple[str, Sequence[str]]


def of_the_catalogue(_: Path) -> Given:
    return "cubic", ()


def with_parameters(_: Path) -> Given:
    return "fhstcp:c=20", ()


def formula(_: Path) -> Given:
    return "law:increase=min(1, w),decrease=0.3", ()


def of_python(folder: Path) -> Given:
    # A blank in the name: what is printed has to be quoted.
    (folder / "my idea.py").write_text(CLASS)
    return "gentle", ("--controller", "gentle=my idea.py:Gentle")


def of_ebpf(folder: Path) -> Given:
    shutil.copyfile(bpf_object("aimd"), folder / "aimd.bpf.o")
    return "mine", ("--controller", "mine=aimd.bpf.o")


def of_a_library(_: Path) -> Given:
    return "lib", ("--controller", f"lib={crate('gentle')}")


WAYS = [of_the_catalogue, with_parameters, formula, of_python, of_ebpf, of_a_library]
Made = Callable[[Path], Given]


def executed(text: str, fairhaul: Fairhaul, **words: str) -> list[str]:
    """Execute the commands of a text, with the words of its placeholders; give what ran."""
    for word, value in words.items():
        text = text.replace(word, value)
    commands = COMMAND.findall(text)
    for command in commands:
        done = fairhaul(*shlex.split(command))
        # 1 is the verdict of a check.
        assert done.returncode == 0 or command.startswith("check "), (command, done.stderr)
        assert done.returncode in {0, 1}, (command, done.stderr)
        assert done.stdout, command
    return commands


@pytest.mark.parametrize("way", WAYS)
def test_the_smallest_scenario_of_an_attack_runs(
    way: Made, tmp_path: Path, fairhaul: Fairhaul
) -> None:
    name, options = way(tmp_path)
    (tmp_path / "box.toml").write_text(BOX)
    words = ("--objective", "queue", "--within", "box.toml", "--budget", "1s", "--report")
    done = fairhaul("attack", name, *options, *words, "--jobs", 1, "--out", "my out")
    assert done.returncode == 0, done.stderr
    assert len(executed(done.stdout, fairhaul)) == 1, done.stdout
    note = re.search(r"^# (fairhaul run FILE.*) repeats the runs", worst(tmp_path), re.MULTILINE)
    assert note is not None
    executed(f"    {note[1]}", fairhaul, FILE="'my out/worst.toml'")
    # The studio has no controllers but those of the catalogue.
    page = (tmp_path / "my out/report.html").read_text()
    assert ("studio.html#s=" in page) is (not options)


def worst(folder: Path) -> str:
    return (folder / "my out/worst.toml").read_text()


@pytest.mark.parametrize("way", WAYS)
def test_the_scenarios_of_an_evaluation_are_checked_again(
    way: Made,
    tmp_path: Path,
    fairhaul: Fairhaul,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name, options = way(tmp_path)
    (tmp_path / "one").mkdir()
    shutil.copyfile(evaluation.SCENARIOS / "incast.toml", tmp_path / "one/incast.toml")
    monkeypatch.setattr(evaluation, "SCENARIOS", tmp_path / "one")
    done = fairhaul(
        *("evaluate", name, *options, "--seeds", 1, "--jobs", 1, "--markdown", "--out", "out")
    )
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "out/report.md").read_text()
    assert len(executed(text, fairhaul, FILE="incast.toml")) == 1


@needs_kernel
def test_what_compare_says_of_deployment_can_be_carried_out(fairhaul: Fairhaul) -> None:
    path = ("--rate", "10Mbit/s", "--rtt", "20ms", "--buffer", "20ms", "--duration", "100s")
    names = ("fhstcp", "fhstcp:c=20,eta_floor=false", "highspeed", "reno")
    text = fairhaul("compare", *names, *path, "--pacing", "fq", "--seeds", 1).stdout
    installs = re.findall(r"^  sudo fairhaul (kernel install .+)$", text, re.MULTILINE)
    assert installs
    for command in installs:
        done = fairhaul(*command.split(), "--dry-run")
        assert (done.returncode, "would load" in done.stdout) == (0, True), (command, done.stderr)
    pacing = re.search(r"^  sudo (tc .+)$", text, re.MULTILINE)
    assert pacing is not None
    # Nothing of this host changes: the device is in a network namespace of its own.
    inside = f"ip link add d0 type veth peer name d1 && {pacing[1].replace('DEVICE', 'd0')}"
    shell = ["unshare", "--net", "sh", "-ec", inside]
    done = subprocess.run(shell, capture_output=True, text=True, check=False)
    # Some kernels lack this queue discipline.
    assert done.returncode == 0 or "qdisc kind is unknown" in done.stderr, done.stderr


@needs_kernel
def test_the_commands_of_an_advice_can_be_carried_out(fairhaul: Fairhaul) -> None:
    question, known, choices = advice.read_path(["fhstcp:c=20,eta_floor=false", "reno"], **QUICK)  # type: ignore[arg-type]
    done = advised(question, known, choices)
    changed = [entry for entry in done.entries if entry is not done.now]
    assert {entry.name.partition(":")[0] for entry in changed} == {"fhstcp", "reno"}
    for entry in changed:
        ways = {"fhstcp": Way.PORT, "reno": Way.KERNEL}
        commands = [text for _, text in advice_commands(replace(done, winner=entry, ways=ways))]
        installs = [text for text in commands if text.startswith("sudo fairhaul ")]
        assert len(installs) == entry.name.startswith("fhstcp")
        for command in installs:
            ran = fairhaul(*shlex.split(command)[2:], "--dry-run")
            assert (ran.returncode, "would load" in ran.stdout) == (0, True), command
        (route,) = (text for text in commands if " ip route " in text)
        # A controller that is not installed here stands for that of the kernel.
        route = re.sub(r"\w+$", "cubic", route.removeprefix("sudo "))
        for word, value in {
            "PREFIX": "198.51.100.0/24",
            "GATEWAY": "192.0.2.2",
            "DEVICE": "d0",
        }.items():
            route = route.replace(word, value)
        host = (
            "ip link add d0 type veth peer name d1 && ip addr add 192.0.2.1/24 dev d0 && "
            "ip link set d0 up && ip route add 198.51.100.0/24 via 192.0.2.2 dev d0"
        )
        subprocess.run(["unshare", "--net", "sh", "-ec", f"{host} && {route}"], check=True)


@pytest.mark.parametrize("way", WAYS)
def test_a_report_links_to_the_studio_where_the_studio_opens_the_scenario(
    way: Made,
    small: Path,
    tmp_path: Path,
    fairhaul: Fairhaul,
) -> None:
    name, options = way(tmp_path)
    kind = toml(read_transport(name).controller) if not options else name
    done = fairhaul(
        *("run", small, *options, "--set", f"flow.far.controller={kind}", "--report"),
        *("--set", "duration=6 s", "--out", "r"),
    )
    assert done.returncode == 0, done.stderr
    assert ("studio.html#s=" in (tmp_path / "r/report.html").read_text()) is (not options)


def test_a_new_controllers_next_steps_work(tmp_path: Path, fairhaul: Fairhaul) -> None:
    library = crate("gentle")
    done = fairhaul("new-controller", "gentle")
    assert done.returncode == 0
    # The same crate was compiled before.
    (tmp_path / "gentle/target/release").mkdir(parents=True)
    shutil.copyfile(library, tmp_path / "gentle/target/release" / library.name)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path / "gentle")
        assert len(executed(done.stdout, fairhaul)) == 2


def test_a_reproduction_is_repeated(tmp_path: Path, fairhaul: Fairhaul) -> None:
    shutil.copytree(ROOT / "docs/own-paper", tmp_path / "my paper")
    done = fairhaul("reproduce", "my paper", "--quick", "--profile", "plain", "--only", "table1")
    assert done.returncode == 0, done.stderr
    printed = executed(done.stdout, fairhaul)
    assert printed == ["reproduce 'my paper' --profile plain --quick --only table1"]
