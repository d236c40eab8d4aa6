"""Text that a terminal shows and does not interpret: titles and names may come from any file."""

from __future__ import annotations

import re
import textwrap
import unicodedata

# Controls, what turns the direction of writing, and what breaks lines elsewhere.
OBEYED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# Of these, what JSON does not escape by itself.
LEFT_BY_JSON = re.compile("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
NO_BREAK = "\N{NO-BREAK SPACE}"
BEFORE_UNIT = re.compile(r"(?<=\d) (?=%|[kMGT]?bit/s|[mµ]?s\b|BDP\b)")
INTERVAL = re.compile(r"\[-?[\d.e-]+, -?[\d.e-]+\]")
BEFORE_INTERVAL = re.compile(rf" ?{INTERVAL.pattern}")


def printable(text: str) -> str:
    r"""Write control sequences as `\x1b` or `\u202e`; line breaks and tabs stay."""
    if text.isprintable():
        return text
    return "".join(character if _is_shown(character) else _escaped(character) for character in text)


def printable_json(text: str) -> str:
    """Escape control sequences in JSON text; it stays the same JSON."""
    return LEFT_BY_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def tied(text: str) -> str:
    """Keep a number and its unit, and the two ends of an interval, on one line."""
    tied = BEFORE_UNIT.sub(NO_BREAK, text)
    return BEFORE_INTERVAL.sub(lambda found: found[0].replace(" ", NO_BREAK), tied)


def wrapped(text: str, width: int, indent: int = 0) -> str:
    """Break a text into lines at its spaces; `indent` spaces begin all but the first of a line."""
    lines = (
        textwrap.fill(
            tied(line),
            max(width, indent + 1),
            subsequent_indent=" " * indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for line in text.split("\n")
    )
    return "\n".join(lines).replace(NO_BREAK, " ")


def _is_shown(character: str) -> bool:
    return character in "\n\t" or unicodedata.category(character) not in OBEYED


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()
