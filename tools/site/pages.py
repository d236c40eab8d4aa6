"""What the site adds to the pages: navigation, the reference of commands and of Python."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path

import fairhaul
from fairhaul.studio.lessons import Lesson, lessons

NAVIGATION = Path(__file__).with_name("navigation.toml")

# The page of the studio, in the folder of the site.
STUDIO = "studio.html"

# The home page: what Fairhaul is, and whom it is for, beside the first lesson.
HOME = "docs/index"
FRONT = """\
`````{container} front
````{container} words
%s
````

```{raw} html
%s
```
`````
"""

COMMANDS = """\
.. click:: fairhaul.cli:fairhaul
   :prog: fairhaul
   :nested: full
"""


# A link whose text is the name of the file.
NAMED = re.compile(r"\[[\w.-]+\.md\]\(([\w./-]+\.md(?:#[\w-]+)?)\)")


def titled(text: str) -> str:
    """Let the links of a page that name a file name the title of that page instead."""
    return NAMED.sub(r"[](\1)", text)


def opening(text: str) -> str:
    """Set what stands above the first picture of the home page beside the first lesson."""
    head, blank, rest = text.partition("\n\n")
    words, picture, below = rest.partition("\n\n![")
    if not picture:
        return text
    lesson = lessons()[0]
    frame = (
        f"<figure>{_frame(lesson)}<figcaption>{escape(lesson.title)}: the simulator runs in this "
        f"page. <a href='../{STUDIO}#lesson={lesson.name}'>Change it in the studio</a>."
        "<noscript> It needs JavaScript.</noscript></figcaption></figure>"
    )
    return head + blank + FRONT % (words, frame) + picture + below


def _frame(lesson: Lesson) -> str:
    return (
        f"<iframe loading='lazy' title='{escape(lesson.title)}' "
        f"src='../{STUDIO}?embed#lesson={lesson.name}'></iframe>"
    )


def addition(page: str) -> str:
    """Give the text, in MyST, that the site appends to a page; often none."""
    return "".join(toctrees(page)) + reference(page) + studio_lessons(page)


def toctrees(page: str) -> Iterator[str]:
    """The navigation below a page, which the page itself does not show."""
    navigation = tomllib.loads(NAVIGATION.read_text(encoding="utf-8"))
    for group in navigation["group"]:
        if page == group["below"]:
            caption = f":caption: {group['title']}\n" if "title" in group else ""
            lines = "\n".join(group["pages"])
            yield f"\n\n```{{toctree}}\n:hidden:\n:glob:\n{caption}\n{lines}\n```\n"


def reference(page: str) -> str:
    """The reference of all commands, or of what the package exports, from their definitions."""
    references: dict[str, tuple[str, Callable[[], str]]] = {
        "docs/commands": ("All commands and options", lambda: COMMANDS),
        "docs/python": ("All functions and classes", python),
    }
    if page not in references:
        return ""
    title, text = references[page]
    return f"\n\n## {title}\n\n```{{eval-rst}}\n{text()}\n```\n"


def studio_lessons(page: str) -> str:
    """Each lesson of the studio, which runs in the page when it is opened."""
    if page != "docs/studio":
        return ""
    parts = [
        f"<details class='lesson'><summary>{escape(lesson.title)}</summary>"
        f"<p>{escape(lesson.text)} "
        f"<a href='../{STUDIO}#lesson={lesson.name}'>The whole page</a></p>"
        f"{_frame(lesson)}</details>\n"
        for lesson in lessons()
    ]
    return "".join(["\n\n## The lessons, here\n\n```{raw} html\n", *parts, "```\n"])


def python() -> str:
    """The names that the package exports, each with its docstring."""
    names = [name for name in fairhaul.__all__ if not name.startswith("_")]
    functions = [name for name in names if inspect.isfunction(getattr(fairhaul, name))]
    modules = [name for name in names if inspect.ismodule(getattr(fairhaul, name))]
    errors = [name for name in names if _is_error(name)]
    classes = [name for name in names if name not in {*functions, *modules, *errors}]
    entries = [
        *_section("Functions", "autofunction", [f"fairhaul.{name}" for name in functions]),
        *_section("Modules", "automodule", [getattr(fairhaul, name).__name__ for name in modules]),
        *_section("Classes", "autoclass", [f"fairhaul.{name}" for name in classes]),
        *_section("Errors", "autoexception", [f"fairhaul.{name}" for name in errors]),
    ]
    return "\n".join(entries)


def _is_error(name: str) -> bool:
    value = getattr(fairhaul, name)
    return inspect.isclass(value) and issubclass(value, BaseException)


def _section(title: str, directive: str, names: list[str]) -> Iterator[str]:
    yield f"{title}\n{'-' * len(title)}\n"
    for name in names:
        members = "   :members:\n" if directive in {"autoclass", "automodule"} else ""
        yield f".. {directive}:: {name}\n{members}"
