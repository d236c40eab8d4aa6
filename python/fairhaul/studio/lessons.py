"""The lessons of the studio: each one or two scenario files, a text, and its source."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

HOME = files("fairhaul.studio") / "lessons"


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """A lesson; two files are two set-ups side by side."""

    name: str
    title: str
    text: str
    files: list[str]
    reference: str
    link: str

    @property
    def texts(self) -> list[str]:
        """The texts of its scenarios."""
        return [(HOME / file).read_text(encoding="utf-8") for file in self.files]

    def to_dict(self) -> dict[str, Any]:
        """Give what the page needs."""
        return {**vars(self), "texts": self.texts}


def lessons() -> list[Lesson]:
    """Read all lessons, in their order."""
    index = tomllib.loads((HOME / "index.toml").read_text(encoding="utf-8"))
    return [Lesson(**lesson) for lesson in index["lesson"]]
