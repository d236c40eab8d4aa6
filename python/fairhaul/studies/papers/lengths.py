"""The length of runs as a formula of the axes, in seconds: `200 * rtt / (1.5 * p) ** 0.5`.

A formula has numbers, `+ - * / **`, brackets, `min`, `max` and `sqrt`, and axes by name, one with
other signs as `axes["RTT ratio"]`. The value of an axis is that of a label: a time in seconds, a
rate in bit/s, a size in bytes, or the number with which it begins.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from fairhaul import _core
from fairhaul.scenario.read import ScenarioError
from fairhaul.studies.papers.axes import Axes
from fairhaul.studies.papers.results import Settings
from fairhaul.studies.papers.section import LONG, Section
from fairhaul.text.nearest import hint

if TYPE_CHECKING:
    from fairhaul._core import QuantityKind

# The keys of a scenario that may be formulas.
LENGTHS = ("duration", "warmup")
LONGEST_S = 1e9
KINDS: tuple[QuantityKind, ...] = ("time", "rate", "size")

OPERATORS: Mapping[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: math.pow,
}
FUNCTIONS: Mapping[str, Callable[..., float]] = {"min": min, "max": max, "sqrt": math.sqrt}


class _WrongFormula(ValueError):
    """A formula that gives no length; the argument says why."""


@dataclass(frozen=True, kw_only=True)
class Lengths:
    """The formulas of the full form and of the quick one, by their keys."""

    axes: Axes
    full: Mapping[str, str]
    quick: Mapping[str, str]

    @classmethod
    def read(cls, section: Section, quick: Section, axes: Axes) -> Lengths:
        """Read the formulas, and check them for all labels."""
        full = _formulas(section, axes)
        return cls(axes=axes, full=full, quick={**full, **_formulas(quick, axes)})

    def of(self, labels: Mapping[str, str], quick: bool) -> Settings:
        """Give the lengths of a case."""
        return {
            key: f"{_seconds(formula, self.axes, labels):.3f} s"
            for key, formula in (self.quick if quick else self.full).items()
        }


def _formulas(section: Section, axes: Axes) -> dict[str, str]:
    texts = {key: section.text(key) for key in LENGTHS if key in section.content}
    for key, text in texts.items():
        for labels in product(*axes.settings.values()):
            try:
                _seconds(text, axes, dict(zip(axes.names, labels, strict=True)))
            except _WrongFormula as wrong:
                section.wrong(key, str(wrong))
                break
    return texts


def _seconds(text: str, axes: Axes, labels: Mapping[str, str]) -> float:
    """Compute a length for a case.

    Raises:
        _WrongFormula: the text is no formula of the axes, or the result is no length of time.
    """
    short = text if len(text) <= LONG else f"{text[:LONG]}…"
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        value = float(_value(tree, axes, labels))
    except (SyntaxError, RecursionError, MemoryError):
        raise _WrongFormula(
            f"a formula that gives seconds, such as '200 * rtt', is required, not {short!r}"
        ) from None
    except (ArithmeticError, TypeError):
        value = math.nan
    except _WrongFormula:
        raise
    except ValueError:
        value = math.nan
    if not 0 <= value <= LONGEST_S:
        case = ", ".join(f"{axis} = {label}" for axis, label in labels.items())
        raise _WrongFormula(f"{short!r} gives {value:g} s{f' for {case}' if case else ''}")
    return value


def _value(node: ast.expr, axes: Axes, labels: Mapping[str, str]) -> float:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return number
        case ast.BinOp(op=op) if type(op) in OPERATORS:
            left, right = (_value(each, axes, labels) for each in (node.left, node.right))
            return OPERATORS[type(op)](left, right)
        case ast.UnaryOp(op=ast.USub()):
            return -_value(node.operand, axes, labels)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
            if name not in FUNCTIONS:
                raise _WrongFormula(f"unknown function {name!r}; {hint(name, list(FUNCTIONS))}")
            return FUNCTIONS[name](*(_value(each, axes, labels) for each in args))
        case ast.Subscript(value=ast.Name(id="axes"), slice=ast.Constant(value=str() as axis)):
            return _of_axis(axis, axes, labels)
        case ast.Name(id=axis):
            return _of_axis(axis, axes, labels)
    raise _WrongFormula(f"{ast.unparse(node)[:LONG]!r} is no part of a formula of axes")


def _of_axis(axis: str, axes: Axes, labels: Mapping[str, str]) -> float:
    """Give the value of an axis: that of its key, or else that of its label."""
    if axis not in axes.names:
        raise _WrongFormula(f"unknown axis {axis!r}; {hint(axis, axes.names)}")
    label = labels[axis]
    settings = axes.settings[axis][label]
    given: list[Any] = [*settings.values()] if len(settings) == 1 else []
    for text in (str(each) for each in (*given, label)):
        for kind in KINDS:
            try:
                return _core.quantity(kind, text)
            except ScenarioError:
                continue
        try:
            return float(text.split(maxsplit=1)[0])
        except (ValueError, IndexError):
            continue
    raise _WrongFormula(f"the label {label!r} of the axis {axis} does not begin with a number")
