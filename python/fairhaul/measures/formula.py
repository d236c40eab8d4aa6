"""Numbers of a run as formulas over its figures: `flows.near.goodput_bps / flows.far.goodput_bps`.

A formula has numbers, `+ - * /`, brackets, the functions below, and figures as `fairhaul run
--json` prints them, with the name of a flow, group or link for its place in the list. A name with
`*` gives a list: `jain(flows["F*"].goodput_bps)`.

The formulas of expectations also have lists that come from the record of a run, in `RECORDS`: every
bin of a column, `max(flow_series.bbr.cwnd_packets)`, or every event, `count(events.bbr.timeout)`.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from fairhaul.measures.formula_terms import FUNCTIONS, OPERATORS, Number, bounds_of, unit_of
from fairhaul.measures.types import Fairness, FlowFigures, GroupFigures, LinkFigures, LossEpisodes
from fairhaul.statistics.estimate import Bounds
from fairhaul.text.nearest import hint

LISTS: Mapping[str, type] = {
    "flows": FlowFigures,
    "groups": GroupFigures,
    "links": LinkFigures,
}
TABLES: Mapping[str, type] = {"fairness": Fairness, "loss_episodes": LossEpisodes}
# Of a flow or a link, lists that only the record of a run has; what a list is of is checked later.
RECORDS: Mapping[str, str] = {
    "flow_series": "flows",
    "link_series": "links",
    "events": "flows",
    "modes": "flows",
}
WORDS = {"name", "group", "role", "controller", "profile", "jain_by_window"}
# Of a list of a record that is empty, because nothing happened.
OF_NOTHING: Mapping[str, float] = {"sum": 0.0, "count": 0.0}


# The longest formula, and what of one is quoted, characters.
LONGEST, QUOTED = 10_000, 100


class FormulaError(ValueError):
    """A formula that cannot be computed; the argument says why."""


@dataclass(frozen=True, kw_only=True)
class Formula:
    """A formula that was read.

    `figures` names what it has of them: table, name of the flow or link, if any, and figure.
    """

    tree: ast.expr
    figures: Sequence[tuple[str, str, str]]

    def of(self, figures: Mapping[str, Any]) -> Number:
        """Compute the number of a run; None where a figure of it is missing, or by zero."""
        value = _value(self.tree, figures)
        return value if not isinstance(value, list) else None

    @property
    def bounds(self) -> Bounds:
        """The smallest and the largest value that it can have."""
        return bounds_of(self.tree)

    @property
    def unit(self) -> str:
        """The ending of the names of its figures, such as `s`; empty of a ratio."""
        return unit_of(self.tree)

    def check(self, scenario: Mapping[str, Any]) -> None:
        """Check the names of flows and links against those of a described scenario.

        Raises:
            FormulaError: the scenario has no such flow, group or link.
        """
        names = {
            "flows": [flow["name"] for flow in scenario["flows"]],
            "groups": [flow["group"] for flow in scenario["flows"]],
            "links": [link["name"] for link in scenario["links"]],
        }
        for table, name, _ in self.figures:
            what = RECORDS.get(table, table)
            if name and not any(matches(candidate, name) for candidate in names[what]):
                known = list(dict.fromkeys(names[what]))
                raise FormulaError(f"no {what.removesuffix('s')} {name!r}; {hint(name, known)}")


def _quoted(text: str) -> str:
    """Quote the beginning of a text."""
    return repr(text if len(text) <= QUOTED else f"{text[:QUOTED]}…")


def read_formula(text: str, *, records: bool = False) -> Formula:
    """Read a formula; with `records` it may have the lists of `RECORDS`.

    Raises:
        FormulaError: it is not one, or has an unknown figure or function.
    """
    if len(text) > LONGEST:
        raise FormulaError(f"{_quoted(text)} has {len(text)} characters; at most {LONGEST}")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise FormulaError(f"{_quoted(text)} is not a formula") from None
    try:
        figures = _figures(tree)
    except RecursionError:
        raise FormulaError(f"{_quoted(text)} is nested too deeply") from None
    for table, name, figure in figures:
        if table in RECORDS and not records:
            known = [*LISTS, *TABLES]
            raise FormulaError(f"unknown figure '{table}.{name}.{figure}'; {hint(table, known)}")
    return Formula(tree=tree, figures=figures)


def matches(name: str, pattern: str) -> bool:
    """Whether a name is meant by one with `*` in a formula."""
    return fnmatchcase(name, _pattern(pattern))


def _figures(node: ast.expr) -> list[tuple[str, str, str]]:
    """Give every figure that a formula has, and check all of it."""
    match node:
        case ast.Constant(value=int() | float()):
            return []
        case ast.BinOp(op=op) if type(op) in OPERATORS:
            return [*_figures(node.left), *_figures(node.right)]
        case ast.UnaryOp(op=ast.USub()):
            return _figures(node.operand)
        case ast.Call(func=ast.Name(id=name), args=[inner]):
            if name not in FUNCTIONS:
                raise FormulaError(f"unknown function {_quoted(name)}; {hint(name, FUNCTIONS)}")
            return _figures(inner)
    return [_path(node)]


def _path(node: ast.expr) -> tuple[str, str, str]:
    """Give the table of a figure, the name of the flow or link, if any, and the figure."""
    words: list[str] = []
    left = node
    while not isinstance(left, ast.Name):
        match left:
            case ast.Attribute(value=inner, attr=word):
                left = inner
            case ast.Subscript(value=inner, slice=ast.Constant(value=word)):
                left = inner
            case _:
                raise FormulaError(f"{_quoted(ast.unparse(node))} is no figure of a run")
        words.insert(0, str(word))
    first = left.id
    known = [*LISTS, *TABLES, *RECORDS]
    if first not in known:
        raise FormulaError(f"unknown figure {_quoted(ast.unparse(node))}; {hint(first, known)}")
    count = 1 if first in TABLES else 2
    if len(words) != count:
        form = f"{first}.FIGURE" if first in TABLES else f"{first}.NAME.FIGURE"
        raise FormulaError(f"{_quoted(ast.unparse(node))}: {form} is required")
    if first in RECORDS:
        return first, words[0], words[1]
    kind = LISTS.get(first) or TABLES[first]
    figures = [name for name in kind.__annotations__ if name not in WORDS]
    if words[-1] not in figures:
        raise FormulaError(f"unknown figure {_quoted(words[-1])}; {hint(words[-1], figures)}")
    return first, words[0] if count == 2 else "", words[-1]


def _value(node: ast.expr, figures: Mapping[str, Any]) -> Number | list[float]:
    match node:
        case ast.Constant(value=value):
            return float(str(value))
        case ast.UnaryOp():
            return _joined(operator.mul, -1.0, _value(node.operand, figures))
        case ast.BinOp():
            left, right = _value(node.left, figures), _value(node.right, figures)
            return _joined(OPERATORS[type(node.op)].of, left, right)
        case ast.Call(func=ast.Name(id=name)):
            values = _value(node.args[0], figures)
            if isinstance(values, list):
                of_lists = any(table in RECORDS for table, _, _ in _figures(node))
                nothing = OF_NOTHING.get(name) if of_lists else None
                return FUNCTIONS[name].of(values) if values else nothing
            return None if values is None else FUNCTIONS[name].of([values])
    return _figure(*_path(node), figures)


def _figure(what: str, name: str, figure: str, figures: Mapping[str, Any]) -> Number | list[float]:
    """Look a figure up: in a table, or of one or several flows, groups or links."""
    rows = [figures[what]] if not name else _named(figures.get(what, ()), name)
    if what in RECORDS:
        known = [row[figure] for row in rows if row[figure] is not None]
        return [float(value) for values in known for value in values] if known else None
    values = [float(row[figure]) for row in rows if row.get(figure) is not None]
    if "*" in name:
        return values
    return values[0] if values else None


def _named(rows: Sequence[Mapping[str, Any]], name: str) -> list[Mapping[str, Any]]:
    return [row for row in rows if matches(row["name"], name)]


def _joined(
    join: Callable[[float, float], float], left: Number | list[float], right: Number | list[float]
) -> Number | list[float]:
    """Join two numbers, or a number and each of a list."""
    if left is None or right is None:
        return None
    try:
        if isinstance(left, list):
            return [join(item, right) for item in left] if not isinstance(right, list) else None
        if isinstance(right, list):
            return [join(left, item) for item in right]
        return join(left, right)
    except ZeroDivisionError:
        return None


def _pattern(name: str) -> str:
    """Take the brackets of a flow's name, such as `bulk[0]`, as they are."""
    return name.replace("[", "[[]")
