"""XCP on Linux: senders that ask in options of TCP, and the router of the simulator."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

import pytest

import fairhaul
from tests.compiled import OBJECTS, compiled_by_clang
from tests.inside_linux import inside
from tests.kernel_host import PYTHON, locked, needs_kernel
from tests.linux_program import needs_linux

HEAD = """\
title    = "XCP on Linux"
duration = "%s"
warmup   = "%s"
packet   = "1500 B"
profile  = "linux-tcp"

[bottleneck]
rate  = "%s"
delay = "10 ms"
queue = { kind = "%s", capacity = "1 bdp" }
"""
FLOW = """
[[flow]]
name       = "%s"
rtt        = "%s"
controller = "%s"
"""
# Of a packet of 1500 B: what the kernel's headers, time stamps and the request leave.
PAYLOAD = {"xcp": 1432 / 1500, "reno": 1448 / 1500}


def path(
    *flows: tuple[str, str], queue: str = "xcp", seconds: int = 12, rate: str = "50 Mbit/s"
) -> str:
    """Give a scenario of flows, each with its round-trip time and controller."""
    names = "ABC"
    head = HEAD % (f"{seconds} s", f"{seconds // 3} s", rate, queue)
    return head + "".join(FLOW % (names[i], rtt, who) for i, (rtt, who) in enumerate(flows))


def measured(scenario: str, engine: Literal["sim", "lab", "linux"]) -> Mapping[str, Any]:
    """Run a scenario once, and give its figures."""
    return fairhaul.run(scenario, engine=engine, seeds=1).measures[0]


def shares(figures: Mapping[str, Any], *controllers: str) -> list[float]:
    """Give what each flow has of the link, headers included."""
    pairs = zip(figures["flows"], controllers, strict=True)
    return [flow["link_share"] / PAYLOAD[who] for flow, who in pairs]


@needs_linux
def test_two_flows_share_the_link_as_in_the_simulator_without_loss_or_a_queue() -> None:
    scenario = path(("40 ms", "xcp"), ("120 ms", "xcp"))
    figures = measured(scenario, "linux")
    near, far = shares(figures, "xcp", "xcp")
    link = figures["links"][0]
    assert link["utilization"] >= 0.95
    assert near == pytest.approx(0.5, rel=0.05)
    assert far == pytest.approx(0.5, rel=0.05)
    assert link["queue_mean_s"] <= 2e-3
    assert all(flow["loss_rate"] == 0 for flow in figures["flows"])
    simulated = measured(scenario, "sim")["links"][0]
    assert link["utilization"] >= 0.9 * simulated["utilization"]


@needs_linux
def test_xcp_is_installed_with_its_program_and_removed() -> None:
    fairhaul_ = f"{PYTHON} -m fairhaul kernel"
    steps = (
        f"{fairhaul_} install xcp --dry-run >&2 && {fairhaul_} install xcp --set line=1000 >&2 && "
        f"{fairhaul_} status --json && {fairhaul_} remove --all >&2 && "
        "bpftool prog show name fh_xcp_option >&2 ; true"
    )
    done = inside("sh", "-c", steps)
    (found,) = json.loads(done.stdout)["ports"]
    assert (found["state"], found["cgroup"]) == ("installed", "all processes")
    assert found["parameters"]["line"] == 1000
    assert "the other host has such a program, too" in done.stderr
    assert "sock_ops" not in done.stderr.split("remove fh_xcp")[1]


BESIDE_ANOTHER = """\
mkdir /run/bpf /run/cgroup
mount -t bpf bpf /run/bpf && mount -t cgroup2 none /run/cgroup && mkdir /run/cgroup/flows || exit 1
bpftool prog load {other} /run/bpf/other
bpftool cgroup attach /run/cgroup/flows sock_ops pinned /run/bpf/other multi || exit 1
programs() {{
    bpftool cgroup show /run/cgroup/flows | awk 'NR > 1 {{ print $NF }}' | sort | xargs echo
}}
install() {{ $* {kernel} install xcp --cgroup /run/cgroup/flows >&2; }}
install timeout -s KILL 0.8
programs
install && programs
{kernel} remove --all >&2
programs
"""


@needs_linux
def test_its_program_stands_beside_that_of_another_and_ends_with_a_killed_installation() -> None:
    other = compiled_by_clang(OBJECTS / "sockops.bpf.c", "sockops")
    steps = BESIDE_ANOTHER.format(other=other, kernel=f"{PYTHON} -m fairhaul kernel")
    done = inside("sh", "-c", steps)
    assert done.stdout.splitlines() == ["choose", "choose fh_xcp_option", "choose"], done.stderr


@needs_linux
def test_lost_packets_and_acknowledgements_cost_little() -> None:
    lossy = path(("40 ms", "xcp")).replace("[bottleneck]", "[bottleneck]\nloss = 0.01")
    lossy = lossy.replace("[bottleneck]", "[bottleneck]\nreverse_loss = 0.01")
    real = measured(lossy, "linux")["links"][0]["utilization"]
    simulated = measured(lossy, "sim")["links"][0]["utilization"]
    assert real == pytest.approx(simulated, rel=0.1)


@needs_linux
@pytest.mark.parametrize("burst", ["1 packet", "16 packets"])
def test_receivers_add_up_what_the_router_has_granted(burst: str) -> None:
    scenario = path(("40 ms", "xcp"), ("120 ms", "xcp"), seconds=6)
    figures = measured(scenario.replace("[[flow]]", f'[[flow]]\noffload = "{burst}"'), "linux")
    requests = figures["trust"]["requests"]
    assert requests["answered"] > 10_000
    assert requests["returned"] == pytest.approx(requests["granted"], rel=0.01)


@needs_kernel
def test_this_kernel_gives_two_flows_what_is_due() -> None:
    with locked():
        figures = measured(path(("40 ms", "xcp"), ("120 ms", "xcp")), "lab")
    near, far = shares(figures, "xcp", "xcp")
    # On a busy machine packets come in bursts, and wait.
    assert near + far >= 0.9
    assert near / far == pytest.approx(1, rel=0.25)
    assert all(flow["loss_rate"] < 1e-3 for flow in figures["flows"])
