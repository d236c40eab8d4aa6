"""One file with the licences of all components: each text once, with the components it is for."""

from __future__ import annotations

from collections.abc import Sequence

from tools.dist.components import Component

RULE = "=" * 80


def text(components: Sequence[Component]) -> str:
    """The list of the components and their licences, then the texts."""
    head = "Fairhaul contains the following components of others. Their licences follow.\n"
    lines = [f"{one.name} {one.version}: {one.licence or 'see its text'}" for one in components]
    users: dict[str, list[str]] = {}
    for one in components:
        for licence in one.texts:
            users.setdefault(licence, []).append(f"{one.name} {one.version}")
    parts = [
        f"{RULE}\n{', '.join(names)}\n{RULE}\n\n{licence}\n" for licence, names in users.items()
    ]
    return "\n".join([head, *lines, "", *parts])
