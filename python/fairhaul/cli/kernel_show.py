"""What `fairhaul kernel status` prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairhaul.cli import show


def show_status(found: Mapping[str, Any]) -> None:
    """Print what is installed, and a table of the flows that use it."""
    screen = show.console()
    screen.print(f"Linux {found['kernel']}; this host's default is {found['default']}.")
    if not found["twins"]:
        screen.print("No twin is installed.")
        return
    for twin in found["twins"]:
        screen.print(_line(twin))
        for where in sorted(
            place for place, name in found["defaults"].items() if name == twin["name"]
        ):
            screen.print(f"    default of {where}")
        for route in twin["routes"]:
            screen.print(f"    route {route}")
    flows = [flow for twin in found["twins"] for flow in twin["flows"]]
    if flows:
        screen.print(show.table("Flows", COLUMNS, [_row(flow) for flow in flows], words=4))
    else:
        screen.print("No flow uses them now.")


COLUMNS = (
    "controller",
    "from",
    "to",
    "namespace",
    "cwnd",
    "ssthresh",
    "RTT ms",
    "Mbit/s",
    "packets",
    "again %",
)


def _line(twin: Mapping[str, Any]) -> str:
    which = f" ({twin['twin']} {twin['version']})" if twin["twin"] else ""
    units = twin["units"] or {}
    values = (twin["parameters"] or {}).items()
    parameters = ", ".join(f"{key} = {value}{_unit(units.get(key))}" for key, value in values)
    return f"{twin['name']}{which}: {twin['state']}" + (f"; {parameters}" if parameters else "")


def _unit(unit: str | None) -> str:
    return f" x {unit}" if unit else ""


def _row(flow: Mapping[str, Any]) -> list[str]:
    sent = flow["sent"]
    return [
        flow["controller"],
        flow["local"],
        flow["remote"],
        flow["namespace"] or "-",
        str(flow["cwnd"]),
        "-" if flow["ssthresh"] is None else str(flow["ssthresh"]),
        f"{flow['rtt_ms']:.2f}",
        f"{flow['rate_bps'] / 1e6:.1f}",
        str(sent),
        f"{100 * flow['retransmitted'] / sent:.2f}" if sent else "-",
    ]
