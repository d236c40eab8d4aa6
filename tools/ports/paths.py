"""The scenarios in which calls are compared: a clean path, losses and reordering, and outages."""

from __future__ import annotations

from collections.abc import Mapping

PATHS = {
    "queue": """\
duration = "10 s"
profile = "plain"
[bottleneck]
rate  = "50 Mbit/s"
delay = "10 ms"
queue = { kind = "droptail", capacity = "1 bdp" }
""",
    "losses": """\
duration = "20 s"
profile = "plain"
[bottleneck]
rate      = "20 Mbit/s"
delay     = "10 ms"
queue     = { kind = "droptail", capacity = "2 bdp" }
loss      = 0.002
reorder   = { probability = 0.005, delay = "5 ms" }
duplicate = 0.001
""",
    "outages": """\
duration = "40 s"
profile = "plain"
[bottleneck]
rate     = "5 Mbit/s"
delay    = "10 ms"
queue    = { kind = "red", capacity = "60 packets" }
schedule = [
    { at = "10 s", loss = 1 }, { at = "11 s", loss = 0 },
    { at = "20 s", rate = "0 bit/s" }, { at = "22 s", rate = "10 Mbit/s" },
    { at = "30 s", delay = "60 ms" },
]
""",
}
"""Everything but the flows, by the name of the path."""

FLOW = """
[[flow]]
name       = "{name}"
rtt        = "{rtt}"
ecn        = {ecn}
controller = {{ {controller} }}
"""

OTHERS: Mapping[str, Mapping[str, int]] = {
    "bbr3": {"kept": 800_000, "probe_interval": 1000},
    "bic": {"smax": 16, "fast_convergence": 0},
    "fhstcp": {"c": 20_000, "eta_floor": 0},
    "ghstcp": {"original": 1, "sigma_round": 1},
    "htcp": {"rtt_scaling": 0, "delta_l": 500},
    "prague": {"rtt_independent": 0, "alpha": 500_000, "ect0": 1},
    "scalable": {"a": 20_000, "b": 250_000},
    "synctcp": {"always": 1, "tie_rises": 1},
}
"""Parameters of the second flow, for each port that has parameters."""


def scenario(path: str, controller: str, values: Mapping[str, int] = {}) -> str:
    """Give a scenario with two flows of a port, with different parameters and round-trip times.

    Args:
        path: the name of the path.
        controller: the controller, as keys of an inline table.
        values: parameters of the second flow, in the units of the port.
    """
    second = ", ".join([controller, *(f"{name} = {value}" for name, value in values.items())])
    one = FLOW.format(name="one", rtt="40 ms", ecn="false", controller=controller)
    two = FLOW.format(name="two", rtt="80 ms", ecn="true", controller=second)
    return f'title = "{path}"\nseed = 1\nwarmup = "1 s"\npacket = "1500 B"\n{PATHS[path]}{one}{two}'
