"""eBPF objects as a kernel would load them, in the simulator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import fairhaul
from fairhaul import ScenarioError, cli
from fairhaul.scenario import memory

from .compiled import bpf_object, documented_object

PATH: dict[str, Any] = {
    "title": "objects",
    "duration": "60 s",
    "warmup": "10 s",
    "profile": "plain",
    "bottleneck": {
        "rate": "50 Mbit/s",
        "delay": "10 ms",
        "queue": {"kind": "droptail", "capacity": "1 bdp"},
    },
    "flow": [{"name": "a", "controller": "reno", "rtt": "60 ms"}],
}
MARKING = {
    "flow.a.ecn": True,
    "bottleneck.queue": {"kind": "droptail", "capacity": "1 bdp", "mark": "2 ms"},
}


def bpf(name: str, **more: object) -> dict[str, object]:
    return {"kind": "bpf", "object": str(bpf_object(name)), **more}


def ran(controller: object, more: dict[str, Any] | None = None) -> dict[str, float]:
    answer = fairhaul.run(PATH, {"flow.a.controller": controller, **(more or {})})
    found = fairhaul.measure(answer.records[0])["flows"][0]
    return {key: float(found[key] or 0) for key in ("goodput_bps", "loss_events", "rtt_mean_s")}


def test_cubic_by_functions_of_the_kernel_is_that_of_linux() -> None:
    ours, theirs = ran({"kind": "cubic", "variant": "linux"}), ran(bpf("cubic"))
    assert theirs["loss_events"] == pytest.approx(ours["loss_events"], abs=1)
    assert theirs["goodput_bps"] == pytest.approx(ours["goodput_bps"], rel=0.01)
    assert theirs["rtt_mean_s"] == pytest.approx(ours["rtt_mean_s"], rel=0.02)
    assert ran(bpf("cubic", kept=512))["rtt_mean_s"] < theirs["rtt_mean_s"] - 0.002


def test_dctcp_with_its_state_in_a_storage_of_sockets() -> None:
    ours, theirs = ran("dctcp", MARKING), ran(bpf("dctcp", controller="test_dctcp"), MARKING)
    assert theirs["loss_events"] == pytest.approx(ours["loss_events"], abs=2)
    assert theirs["goodput_bps"] == pytest.approx(ours["goodput_bps"], rel=0.02)
    reno = ran("reno", MARKING)
    assert theirs["goodput_bps"] > reno["goodput_bps"] * 1.02


def test_the_object_of_the_documentation_is_reno_with_another_decrease() -> None:
    theirs = ran({"kind": "bpf", "object": str(documented_object())})
    ours = ran({"kind": "aimd", "a": 1, "b": 0.25})
    assert theirs["loss_events"] == pytest.approx(ours["loss_events"], abs=1)
    assert theirs["rtt_mean_s"] == pytest.approx(ours["rtt_mean_s"], rel=0.02)


def test_the_object_by_delay_of_the_documentation_keeps_its_delay() -> None:
    deep = {"bottleneck.queue.capacity": "8 bdp"}
    found = ran({"kind": "bpf", "object": str(documented_object("own-controllers"))}, deep)
    assert found["goodput_bps"] > 47e6
    # The path has 60 ms, to which its target adds 10 ms.
    assert found["rtt_mean_s"] == pytest.approx(0.070, abs=0.002)
    shorter = {"kind": "bpf", "object": str(documented_object("own-controllers"))}
    assert ran({**shorter, "target_us": 5000}, deep)["rtt_mean_s"] < 0.067


def test_what_an_object_asks_for_in_vain_is_named() -> None:
    plain = bpf("dctcp", controller="test_dctcp", initial_alpha=0)
    assert ran(plain, MARKING)["goodput_bps"] > 0
    with pytest.raises(fairhaul.RunError, match=r"helper 49, which a simulation does not have"):
        ran(bpf("vain"))


def test_mistakes_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def refused(controller: dict[str, object]) -> str:
        with pytest.raises(ScenarioError) as raised:
            ran(controller)
        return str(raised.value)

    assert refused(bpf("dctcp")).endswith("name one: test_dctcp, test_other")
    assert "no controller tcp; it has test_dctcp" in refused(bpf("dctcp", controller="tcp"))
    assert "no variable `beta`; it has epochs, kept, per_packet" in refused(bpf("cubic", beta=1))
    assert "`kept`: wanted a whole number" in refused(bpf("cubic", kept=0.5))
    assert "the variable has 4 bytes" in refused(bpf("cubic", kept=1 << 40))
    assert "`object` is missing" in refused({"kind": "bpf"})
    other = tmp_path / "other.o"
    other.write_bytes(b"no object")
    assert "cannot read the object" in refused({"kind": "bpf", "object": str(other)})
    scenario = tmp_path / "s.toml"
    scenario.write_text(
        'duration = "3 s"\n'
        'bottleneck = { rate = "9 Mbit/s", delay = "5 ms", queue = { kind = "droptail", '
        'capacity = "1 bdp" } }\n'
        'flow = [{ name = "f", controller = "mine", rtt = "40 ms" }]\n'
    )
    command = ["run", str(scenario), "--controller"]
    assert cli.status_of([*command, f"mine={tmp_path}/none.bpf.o"]) == 2
    assert "no such file" in capsys.readouterr().err
    assert cli.status_of([*command, f"mine={bpf_object('cubic')}"]) == 0


@pytest.mark.parametrize("name", ["test_endless", "test_deep"])
def test_a_call_ends_within_the_instructions_that_a_kernel_allows(name: str) -> None:
    with pytest.raises(fairhaul.RunError, match="does not end within a million instructions"):
        ran(bpf("hungry", controller=name))


def test_the_variables_of_an_object_count_in_the_memory_of_its_connections(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hungry = bpf("hungry", controller="test_lasting")
    monkeypatch.setattr(memory, "available_bytes", lambda: 500_000_000)
    # Each connection has 3 MB, and as much while a loss event may be spurious.
    with pytest.raises(ScenarioError, match=r"a run needs about 6\d\d MB of memory"):
        ran(hungry, {"flow.a.count": 100})
    # Connections that begin later are not known beforehand. This outage lets none of them end.
    short = {
        "flow.a.traffic": {"kind": "short", "rate": "50 /s", "size": "10 kB"},
        "bottleneck.queue.capacity": "20 packets",
        "bottleneck.schedule": [{"at": "1 s", "rate": "0 bit/s"}],
    }
    with pytest.raises(fairhaul.RunError, match="MB of memory, more than its limit"):
        ran(hungry, short)
