"""The commands of `fairhaul kernel`: eBPF ports of controllers in the running kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from fairhaul.cli import show
from fairhaul.cli.click_ext import Command, CommandGroup, flag, option
from fairhaul.cli.flows import export_option, exporting, top_option, trace_option
from fairhaul.cli.options import json_option
from fairhaul.cli.trial import trial

if TYPE_CHECKING:
    from fairhaul.host.export.destination import Destination
    from fairhaul.host.results import PortParameter

dry_run_option = flag("--dry-run", "Print every change that would be made, but make none.")
set_option = option(
    "--set KEY=VALUE",
    "Set a parameter, as in a scenario; a time or a rate requires its unit: c=20/s; a switch "
    "is on or off.",
    name="settings",
    multiple=True,
)


@click.group(cls=CommandGroup)
def kernel() -> None:
    """Install controllers in the running kernel, as eBPF ports.

    In the kernel, the eBPF port of NAME is called fh_NAME. Any program can select it for its
    connections, e.g. `iperf3 -C fh_fhstcp`. Changes require root, and do not survive a reboot.
    """


kernel.add_command(trial)


@kernel.command("list", cls=Command, example="fairhaul kernel list")
@json_option
def list_(json_: bool) -> None:
    """List the eBPF ports of this installation, with their parameters."""
    from fairhaul.host import kernel as api

    ports = api.ports()
    if json_:
        show.as_json({"ports": ports})
        return
    for port in ports:
        click.echo(f"{port['name']:10} {port['title']}")
        for key in port["parameters"]:
            click.echo(f"    {key['name']:18} {_values(key)}")
            click.echo(f"    {'':18} {key['help']}")


def _values(key: PortParameter) -> str:
    """Say which values a parameter may have, as `install --set` takes them."""
    from fairhaul.cli.kernel_show import amount, switch

    if key["most"] == 1 and not key["unit"]:
        return f"on or off, default {switch(key['default'])}"
    counts = (key["least"], key["most"], key["default"])
    least, most, default = (amount(count, key["unit"]) for count in counts)
    steps = f" in steps of {amount(1, key['unit'])}" if key["unit"][:1].isdigit() else ""
    return f"{least} to {most}{steps}, default {default}"


@kernel.command(cls=Command, example="fairhaul kernel install fhstcp")
@click.argument("ports", nargs=-1, required=True, metavar="CONTROLLER...")
@option("--as NAME", "Name in the kernel, e.g. fh_site.", name="name")
@set_option
@flag("--default", "Use it for new connections of this host.")
@option("--namespace NAME", "Use it for new connections in this network namespace.", multiple=True)
@option(
    "--route PREFIX",
    "Use it for new connections over the route with this prefix, e.g. 10.1.0.0/16, or "
    "'10.1.0.0/16 metric 100' if several routes have the prefix.",
    multiple=True,
)
@flag("--replace", "With --route: replace the controller that the route has.")
@option(
    "--cgroup PATH",
    "For xcp: the cgroup whose connections have its options of TCP; default: all processes.",
)
@dry_run_option
@json_option
def install(
    ports: tuple[str, ...],
    settings: tuple[str, ...],
    namespace: tuple[str, ...],
    route: tuple[str, ...],
    json_: bool,
    **options: Any,
) -> None:
    """Install eBPF ports of controllers, after a test of each.

    The test runs in temporary network namespaces. A connection uses an eBPF port only if its
    program selects it by name, or if --default, --namespace or --route select it. CONTROLLER is the
    name of a controller, or the path of an object file of eBPF: mine.bpf.o, or mine.bpf.o:NAME if
    the file has several controllers.
    """
    from fairhaul.host import kernel as api

    parameters = _parsed(settings)
    done = api.install(
        *ports,
        parameters=parameters,
        namespaces=namespace,
        routes=route,
        on_event=_event_printer(json_),
        **options,
    )
    if json_:
        show.as_json(done)
    elif not options["dry_run"]:
        names = ", ".join(done["installed"])
        click.echo(f"Installed: {names}. To see which connections use them: fairhaul kernel status")


@kernel.command("set", cls=Command, example="fairhaul kernel set fh_fhstcp c=20/s")
@click.argument("name", metavar="NAME")
@click.argument("settings", nargs=-1, required=True, metavar="KEY=VALUE...")
@dry_run_option
@json_option
def set_(name: str, settings: tuple[str, ...], dry_run: bool, json_: bool) -> None:
    """Change parameters of an installed eBPF port.

    The new values also apply to the connections that use it now.
    """
    from fairhaul.host import kernel as api

    done = api.change(name, _parsed(settings), dry_run=dry_run, on_event=_event_printer(json_))
    if json_:
        show.as_json(done)


@kernel.command(cls=Command, example="fairhaul kernel status")
@json_option
def status(json_: bool) -> None:
    """Show the installed eBPF ports and their connections."""
    from fairhaul.cli.kernel_show import show_status
    from fairhaul.host import kernel as api

    answer = api.status(_event_printer(json_))
    if json_:
        show.as_json(answer)
    else:
        show_status(answer)


@kernel.command(cls=Command, example="fairhaul kernel verify")
@click.argument("ports", nargs=-1, metavar="[CONTROLLER]...")
@json_option
def verify(ports: tuple[str, ...], json_: bool) -> None:
    """Test eBPF ports on this kernel, and remove them again.

    Without CONTROLLER, all eBPF ports of this installation are tested.
    """
    from fairhaul.host import kernel as api

    done = api.verify(*ports, on_event=_event_printer(json_))
    if json_:
        show.as_json(done)
    else:
        click.echo(f"These eBPF ports work on Linux {done['kernel']}: {', '.join(done['works'])}.")


@kernel.command(cls=Command, example="fairhaul kernel remove fh_fhstcp")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@flag("--all", "Remove all eBPF ports, and what a killed process left behind.", name="everything")
@dry_run_option
@json_option
def remove(names: tuple[str, ...], everything: bool, dry_run: bool, json_: bool) -> None:
    """Remove installed eBPF ports.

    Connections that use an eBPF port keep it until they end. If an eBPF port is a default, the
    previous default is restored. The owner of each eBPF port is printed, with a warning if it is
    another user.
    """
    from fairhaul.host import kernel as api

    done = api.remove(
        *names, everything=everything, dry_run=dry_run, on_event=_event_printer(json_)
    )
    if json_:
        show.as_json(done)
    elif not dry_run:
        removed = done["removed"]
        click.echo(f"Removed: {', '.join(removed)}." if removed else "Nothing was installed.")


@kernel.command(cls=Command, example="fairhaul kernel watch --seconds 60")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@option(
    "--share",
    "Share of retransmitted packets, from 0 to 1, above which an eBPF port is removed.",
    default=0.01,
)
@option(
    "--times",
    "The share must also exceed that of the host's other connections by this factor.",
    default=3.0,
)
@option("--seconds", "How long the condition must hold, in seconds.", default=30.0)
@option("--packets", "Packets that the eBPF port must have sent in that time.", default=1000)
@option("--interval", "Time between measurements, in seconds.", default=5.0)
@export_option
@trace_option
@top_option
@dry_run_option
@json_option
def watch(
    names: tuple[str, ...],
    interval: float,
    export: Destination | None,
    top: int | None,
    trace: bool,
    dry_run: bool,
    json_: bool,
    **limits: float,
) -> None:
    """Watch installed eBPF ports, and remove a port if its loss is too high.

    An eBPF port is removed when, for --seconds, every measurement shows that more than --share of
    its packets are retransmissions, and more than --times the share of the host's other
    connections. Without NAME, all installed eBPF ports are watched. The command ends when no port
    is left to watch; with --export it goes on, and reports that a port was removed.
    """
    from fairhaul.host import kernel as api

    shown = _event_printer(json_)
    with exporting(export, top) as update:
        update({"limits": limits})

        def on_event(line: Mapping[str, Any]) -> None:
            update(line)
            shown(line)

        done = api.watch(
            *names,
            limits=limits,
            interval_s=interval,
            flows=export is not None,
            trace=trace,
            dry_run=dry_run,
            on_event=on_event,
        )
    if json_:
        show.as_json(done)


def _parsed(settings: tuple[str, ...]) -> dict[str, str]:
    values = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key or not value:
            raise click.UsageError(f"{setting!r} does not have the form KEY=VALUE, e.g. c=20/s")
        values[key] = value
    return values


def _event_printer(json_: bool) -> Any:
    """Print events as they come: all of them to people, only warnings with --json."""

    def on_event(line: Mapping[str, Any]) -> None:
        if "warning" in line:
            click.echo(f"fairhaul: {line['warning']}", err=True)
        elif json_:
            return
        elif "step" in line:
            click.echo(line["step"] if line["done"] else f"would {line['step']}")
        elif "look" in line:
            own, others = (line["finding"][who] for who in ("own", "others"))
            click.echo(
                f"{line['look']}: retransmitted {_share(own)}; other connections {_share(others)}"
            )

    return on_event


def _share(counts: Mapping[str, int]) -> str:
    sent, retransmitted = counts["sent"], counts["retransmitted"]
    if not sent:
        return "0 of 0 packets"
    return f"{retransmitted} of {sent} packets ({retransmitted / sent:.2%})"
