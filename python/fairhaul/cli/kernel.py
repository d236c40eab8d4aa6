"""The verbs of `fairhaul kernel`: twins in the running kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from fairhaul.cli import show
from fairhaul.cli.click_ext import Verb, Verbs
from fairhaul.cli.run import json_option

dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Print every change that would be made, and make none."
)
set_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="A parameter, as in a scenario, but a time or a rate with its unit: c=20/s.",
)


@click.group(cls=Verbs)
def kernel() -> None:
    """Have the running kernel use the controllers.

    In the kernel a twin is called fh_NAME, and any program can choose it for its connections, as
    `iperf3 -C fh_fhstcp` does. Changes need root, and are gone after a restart.
    """


@kernel.command("list", cls=Verb, example="fairhaul kernel list")
@json_option
def list_(json_: bool) -> None:
    """List the twins that there are, and their parameters."""
    from fairhaul import kernel as twins
    from fairhaul.cli.kernel_show import amount

    found = twins.twins()
    if json_:
        show.as_json({"twins": found})
        return
    for twin in found:
        click.echo(f"{twin['name']:10} {twin['title']}")
        for key in twin["parameters"]:
            counts = (key["least"], key["most"], key["default"])
            least, most, default = (amount(count, key["unit"]) for count in counts)
            steps = f" in steps of {amount(1, key['unit'])}" if key["unit"][:1].isdigit() else ""
            click.echo(f"    {key['name']:18} {least} to {most}{steps}, default {default}")
            click.echo(f"    {'':18} {key['help']}")


@kernel.command(cls=Verb, example="fairhaul kernel install fhstcp")
@click.argument("twins", nargs=-1, required=True, metavar="TWIN...")
@click.option("--as", "name", metavar="NAME", help="Its name in the kernel, such as fh_site.")
@set_option
@click.option("--default", is_flag=True, help="New connections of this host use it.")
@click.option("--namespace", multiple=True, metavar="NAME", help="Those of this namespace do.")
@click.option("--route", multiple=True, metavar="PREFIX", help="Those over this route do.")
@dry_run_option
@json_option
def install(
    twins: tuple[str, ...],
    settings: tuple[str, ...],
    namespace: tuple[str, ...],
    route: tuple[str, ...],
    json_: bool,
    **options: Any,
) -> None:
    """Install twins, after a trial of each.

    A trial is in a namespace of its own that goes again. Nothing uses a twin unless it asks for it
    by name, but what --default, --namespace or --route say. TWIN is a name, or the path of an
    object that was built with Fairhaul's header.
    """
    from fairhaul import kernel as twins_

    parameters = _parsed(settings)
    done = twins_.install(
        *twins,
        parameters=parameters,
        namespaces=namespace,
        routes=route,
        on_event=_teller(json_),
        **options,
    )
    if json_:
        show.as_json(done)
    elif not options["dry_run"]:
        names = ", ".join(done["installed"])
        click.echo(f"Installed: {names}. What uses them: fairhaul kernel status")


@kernel.command("set", cls=Verb, example="fairhaul kernel set fh_fhstcp c=20/s")
@click.argument("name", metavar="NAME")
@click.argument("settings", nargs=-1, required=True, metavar="KEY=VALUE...")
@dry_run_option
@json_option
def set_(name: str, settings: tuple[str, ...], dry_run: bool, json_: bool) -> None:
    """Change parameters of a twin, under its flows."""
    from fairhaul import kernel as twins

    done = twins.change(name, _parsed(settings), dry_run=dry_run, on_event=_teller(json_))
    if json_:
        show.as_json(done)


@kernel.command(cls=Verb, example="fairhaul kernel status")
@json_option
def status(json_: bool) -> None:
    """Say what is installed, and who uses it now."""
    from fairhaul import kernel as twins
    from fairhaul.cli.kernel_show import show_status

    found = twins.status(_teller(json_))
    if json_:
        show.as_json(found)
    else:
        show_status(found)


@kernel.command(cls=Verb, example="fairhaul kernel verify")
@click.argument("twins", nargs=-1, metavar="[TWIN]...")
@json_option
def verify(twins: tuple[str, ...], json_: bool) -> None:
    """Try twins on this kernel, and leave no trace."""
    from fairhaul import kernel as twins_

    done = twins_.verify(*twins, on_event=_teller(json_))
    if json_:
        show.as_json(done)
    else:
        click.echo(f"Linux {done['kernel']} takes {', '.join(done['works'])}; they work in it.")


@kernel.command(cls=Verb, example="fairhaul kernel remove fh_fhstcp")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--all", "everything", is_flag=True, help="All, and what a killed process left.")
@dry_run_option
@json_option
def remove(names: tuple[str, ...], everything: bool, dry_run: bool, json_: bool) -> None:
    """Take twins out.

    Flows that use them keep them until they end. What had them as its default gets back what it
    had before. Who installed each is said, and --all warns of those that others did.
    """
    from fairhaul import kernel as twins

    done = twins.remove(*names, everything=everything, dry_run=dry_run, on_event=_teller(json_))
    if json_:
        show.as_json(done)
    elif not dry_run:
        gone = done["removed"]
        click.echo(f"Removed: {', '.join(gone)}." if gone else "Nothing was installed.")


@kernel.command(cls=Verb, example="fairhaul kernel watch --seconds 60")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--share", default=0.01, show_default=True, help="Of its packets, sent again.")
@click.option("--times", default=3.0, show_default=True, help="As the host's other flows.")
@click.option("--seconds", default=30.0, show_default=True, help="For which it lasts.")
@click.option("--packets", default=1000, show_default=True, help="That it sent in them at least.")
@click.option("--interval", default=5.0, show_default=True, help="Seconds between looks.")
@dry_run_option
@json_option
def watch(
    names: tuple[str, ...], interval: float, dry_run: bool, json_: bool, **limits: float
) -> None:
    """Watch twins, and take out what loses too much.

    It goes when more than SHARE of its packets are sent again, at every look for SECONDS, and that
    is more than TIMES the share of the host's other flows. Without NAME all that are installed are
    watched; it ends when nothing is left.
    """
    from fairhaul import kernel as twins

    on_event = _teller(json_)
    done = twins.watch(*names, limits=limits, interval_s=interval, dry_run=dry_run, on_event=on_event)
    if json_:
        show.as_json(done)


def _parsed(settings: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key or not value:
            raise click.UsageError(f"{setting!r}: wanted KEY=VALUE, such as c=20/s")
        found[key] = value
    return found


def _teller(json_: bool) -> Any:
    """Print what is told on the way: to people as it comes, to programs warnings alone."""

    def on_event(line: Mapping[str, Any]) -> None:
        if "warning" in line:
            click.echo(f"fairhaul: {line['warning']}", err=True)
        elif json_:
            return
        elif "step" in line:
            click.echo(line["step"] if line["done"] else f"would {line['step']}")
        elif "look" in line:
            own, others = (line["finding"][who] for who in ("own", "others"))
            click.echo(f"{line['look']}: sent again {_share(own)}; other flows {_share(others)}")

    return on_event


def _share(counts: Mapping[str, int]) -> str:
    sent, again = counts["sent"], counts["retransmitted"]
    return f"{again} of {sent} packets ({again / sent:.2%})" if sent else "0 of 0 packets"
