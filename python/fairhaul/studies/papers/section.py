"""The tables of a paper's TOML file, read key by key; every mistake is collected with its place."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from typing import Any, TypeVar

from fairhaul.text.nearest import hint

T = TypeVar("T")
# What is quoted of a text in a mistake.
LONG = 60


class Printed(float):
    """A number with the digits with which it is written."""

    text: str

    def __new__(cls, text: str) -> Printed:
        """Read a number of a TOML file."""
        value = super().__new__(cls, text)
        value.text = text
        return value


# What may be a part of the name of a file.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,99}")


class Section:
    """A table of the file: `place` is where it is, and `mistakes` are shared by all tables."""

    def __init__(self, content: Mapping[str, Any], place: str, mistakes: list[str]) -> None:
        """Take a table whose keys are still to be read."""
        self.content = content
        self.place = place
        self.mistakes = mistakes
        self._known: list[str] = []

    def at(self, key: object) -> str:
        """Name the place of a key."""
        return f"{self.place}.{key}" if ": " in self.place else f"{self.place}: {key}"

    def wrong(self, key: object, message: str) -> None:
        """Note a mistake at a key."""
        self.mistakes.append(f"{self.at(key)}: {message}")

    def one_of(self, key: str, word: str, known: Sequence[str], what: str) -> None:
        """Note a mistake where `word` is none of the known ones."""
        if word not in known:
            self.wrong(key, f"unknown {what} {word!r}; {hint(word, list(known))}")

    def _value(self, key: str, kind: type[T], what: str, default: T | None) -> T:
        self._known.append(key)
        value = self.content.get(key)
        if isinstance(value, kind) and not (isinstance(value, bool) and kind is not bool):
            return value
        if value is not None:
            self.wrong(key, f"{what} is required, not {value!r}")
        elif default is None:
            self.wrong(key, f"{what} is required")
        return kind() if default is None else default

    def text(self, key: str, default: str | None = None) -> str:
        """Read a text."""
        return self._value(key, str, "a text", default)

    def name(self, key: str) -> str:
        """Read a text that becomes the name of a file."""
        value = self.text(key)
        if isinstance(self.content.get(key), str):
            self.check_name(key, value)
        return value

    def check_name(self, key: object, name: str) -> None:
        """Note a mistake where a name is not fit for a file."""
        if not NAME.fullmatch(name):
            short = name if len(name) <= LONG else f"{name[:LONG]}…"
            self.wrong(
                key,
                "a name of at most 100 letters, digits, spaces and . _ - is required, because it "
                f"becomes the name of a file, not {short!r}",
            )

    def flag(self, key: str) -> bool:
        """Read true or false; false where it is missing."""
        return self._value(key, bool, "true or false", False)

    def count(self, key: str, default: int | None) -> int:
        """Read a whole number of at least 1."""
        value = self._value(key, int, "a whole number of at least 1", default)
        if value < 1:
            self.wrong(key, f"a whole number of at least 1 is required, not {value}")
        return value

    def number(self, key: str, default: float | None) -> float:
        """Read a number."""
        kinds: Any = (int, float)
        return float(self._value(key, kinds, "a number", default))

    def mapping(self, key: str) -> dict[str, Any]:
        """Read a table as it is; an empty one where it is missing."""
        return self._value(key, dict, "a table", {})

    def items(self, key: str) -> list[Any]:
        """Read a list as it is; an empty one where it is missing."""
        return self._value(key, list, "a list", [])

    def texts(self, key: str) -> list[str]:
        """Read a list of texts; one text is a list of one."""
        value = self.content.get(key)
        values = [value] if isinstance(value, str) else self.items(key)
        self._known.append(key)
        wrong = [text for text in values if not isinstance(text, str)]
        if wrong:
            self.wrong(key, f"a list of texts is required, not {wrong[0]!r}")
        return [str(text) for text in values]

    def numbers(self, key: str, count: int = 0) -> list[float]:
        """Read a list of `count` numbers, or of any length."""
        values = self.items(key)
        right = all(isinstance(number, int | float) for number in values)
        if not right or (values and count not in {0, len(values)}):
            many = f"{count} numbers" if count else "numbers"
            self.wrong(key, f"a list of {many} is required, not {values!r}")
            return []
        return [float(number) for number in values]

    def section(self, key: str) -> Section:
        """Read a table whose keys are read in turn; an empty one where it is missing."""
        return Section(self.mapping(key), self.at(key), self.mistakes)

    def sections(self, key: str) -> list[Section]:
        """Read a list of such tables."""
        values = self.items(key)
        for table in values:
            if not isinstance(table, dict):
                self.wrong(key, f"a list of tables is required, not {table!r}")
        tables = [table for table in values if isinstance(table, dict)]
        return [
            Section(table, self.at(f"{key}[{i}]"), self.mistakes) for i, table in enumerate(tables)
        ]

    def read(self, kind: type[T], /, **given: Any) -> T:
        """Read the table as a dataclass: fields that are not `given`, by their names and types."""
        declared: tuple[Field[Any], ...] = fields(kind)  # type: ignore[arg-type]
        for field in declared:
            if field.name not in given:
                default = None if field.default is MISSING else field.default
                given[field.name] = self._field(field.name, str(field.type), default)
        self.close()
        return kind(**given)

    def _field(self, key: str, kind: str, default: Any) -> object:
        """Read a field by its type, as it is written."""
        readers: dict[str, Callable[[], object]] = {
            "str": lambda: self.text(key, default),
            "int": lambda: self.count(key, default),
            "float": lambda: self.number(key, default),
            "float | None": lambda: self.number(key, 0) if key in self.content else None,
            "bool": lambda: self.flag(key),
            "Sequence[str]": lambda: self.texts(key),
            "Sequence[float]": lambda: self.numbers(key),
            "Mapping[str, Any]": lambda: self.mapping(key),
        }
        return readers[kind]()

    def close(self) -> None:
        """Note every key that was not read."""
        for key in self.content:
            if key not in self._known:
                self.wrong(key, f"unknown key; {hint(key, sorted(set(self._known)))}")
