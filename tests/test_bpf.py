"""eBPF objects as a kernel would load them, in the simulator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import fairhaul
from fairhaul import ScenarioError, cli

from .compiled import bpf_object, documented_object

PATH: dict[str, Any] = {
    "title": "objects",
    "duration": "60 s",
    "warmup": "10 s",
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
