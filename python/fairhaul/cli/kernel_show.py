"""What `fairhaul kernel status` prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairhaul.cli import show
from fairhaul.cli.flow_table import flow_table
from fairhaul.host.kernel import unit_parts


def show_status(status: Mapping[str, Any]) -> None:
    """Print the installed eBPF ports, and a table of the connections that use them."""
    screen = show.console()
    screen.print(
        f"Linux {status['kernel']}; the default controller of this host is {status['default']}."
    )
    if not status["ports"]:
        screen.print("No eBPF port is installed.")
        return
    for port in status["ports"]:
        screen.print(_line(port))
        for where in sorted(
            namespace for namespace, name in status["defaults"].items() if name == port["name"]
        ):
            screen.print(f"    default of {where}")
        for route in port["routes"]:
            screen.print(f"    route {route}")
        if port["cgroup"]:
            screen.print(f"    options of TCP: connections of {port['cgroup']}")
    flows = [flow for port in status["ports"] for flow in port["flows"]]
    if flows:
        screen.print(flow_table("Connections", flows))
    else:
        screen.print("No connection uses them now.")
    silent = sum(port["connections_without_data"] for port in status["ports"])
    if silent:
        more = "connection that uses them has" if silent == 1 else "connections that use them have"
        screen.print(f"{silent} more {more} sent no data.")


def _line(port: Mapping[str, Any]) -> str:
    which = f" ({' '.join(filter(None, (port['port'], port['version'])))})" if port["port"] else ""
    units, switches = port["units"] or {}, port["switches"] or ()
    parameters = ", ".join(
        f"{key} = {switch(value) if key in switches else amount(value, units.get(key, ''))}"
        for key, value in (port["parameters"] or {}).items()
    )
    owner = f" by {installed_by(port['owner'])}" if port["owner"] else ""
    parts = (f"{port['name']}{which}: {port['state']}{owner}", parameters)
    return "; ".join(part for part in parts if part)


def installed_by(owner: Mapping[str, Any]) -> str:
    """Say who installed an eBPF port, and when."""
    uid = f"uid {owner['uid']}"
    who = f"{owner['user']} ({uid})" if owner["user"] else uid
    return f"{who}, {owner['at']}"


def amount(count: int, unit: str) -> str:
    """Write the value of an eBPF port's parameter: 20000 of `0.001/s` are `20/s`."""
    factor, name = unit_parts(unit)
    parts = round(1 / factor)
    space = " " if name[:1].isalpha() else ""
    return f"{count / parts:.9f}".rstrip("0").rstrip(".") + space + name


def switch(value: int) -> str:
    """Write the value of a switch."""
    return "on" if value else "off"
