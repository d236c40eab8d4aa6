"""Words with which a shell completes an argument: names of the catalogue, and files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem


def files(_context: click.Context, _argument: click.Parameter, begun: str) -> list[CompletionItem]:
    """Let the shell complete the name of a file."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(begun, type="file")]


def controllers(_context: click.Context, _argument: click.Parameter, begun: str) -> list[str]:
    """Give the controllers whose names begin so."""
    return _beginning(begun, _catalogue("controllers"))


def entries(context: click.Context, _argument: click.Parameter, begun: str) -> list[str]:
    """Give the names in the list that the argument `what` names."""
    return _beginning(begun, _catalogue(context.params.get("what") or ""))


def papers(
    context: click.Context, argument: click.Parameter, begun: str
) -> list[str] | list[CompletionItem]:
    """Give the papers whose names begin so; a folder of the user if there is none."""
    return _beginning(begun, ("all", *_catalogue("papers"))) or files(context, argument, begun)


def _beginning(begun: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(begun)]


def _catalogue(what: str) -> list[str]:
    """The names in a list of the catalogue; none of an unknown list."""
    from fairhaul.scenario import listings
    from fairhaul.studies import papers as all_papers

    lists: dict[str, Any] = {**listings.catalogue(), "papers": all_papers.catalogue()}
    return [entry["name"] for entry in lists.get(what, ())]
