"""The functions and operators of formulas, and what values a formula can have."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from fairhaul.measures.bounds import BOUNDS, INDICES
from fairhaul.measures.fairness import jain
from fairhaul.statistics.estimate import ANY, AT_LEAST_0, FRACTION, Bounds

Number = float | None


class Function(NamedTuple):
    """A function of a list of any length, and the bounds of its value by those of the items."""

    of: Callable[[Sequence[float]], Number]
    bounds: Callable[[Bounds], Bounds] = lambda items: items


class Operator(NamedTuple):
    """An operator on two numbers, and the bounds of its value by theirs."""

    of: Callable[[float, float], float]
    bounds: Callable[[Bounds, Bounds], Bounds]


FUNCTIONS: Mapping[str, Function] = {
    # A sum of shares may be above one.
    "sum": Function(math.fsum, lambda items: AT_LEAST_0 if items.low >= 0 else ANY),
    "mean": Function(lambda values: math.fsum(values) / len(values)),
    "min": Function(min),
    "max": Function(max),
    "jain": Function(jain, lambda _: FRACTION),
    "count": Function(lambda values: float(len(values)), lambda _: AT_LEAST_0),
    "p95": Function(lambda values: sorted(values)[math.ceil(0.95 * len(values)) - 1]),
    "first": Function(lambda values: values[0]),
    "last": Function(lambda values: values[-1]),
}
# Their values are numbers, whatever the items are.
UNITLESS = frozenset({"jain", "count"})


def bounds_of(node: ast.expr) -> Bounds:
    """Give the smallest and the largest value of a formula, by interval arithmetic."""
    match node:
        case ast.Constant(value=value):
            bounds = Bounds(low=float(str(value)), high=float(str(value)))
        case ast.UnaryOp():
            bounds = _times(bounds_of(node.operand), Bounds(low=-1, high=-1))
        case ast.BinOp():
            bounds = OPERATORS[type(node.op)].bounds(bounds_of(node.left), bounds_of(node.right))
        case ast.Call(func=ast.Name(id=name)):
            bounds = FUNCTIONS[name].bounds(bounds_of(node.args[0]))
        case ast.Attribute(attr=figure) | ast.Subscript(slice=ast.Constant(value=figure)):
            bounds = FRACTION if figure in INDICES else BOUNDS.get(str(figure), AT_LEAST_0)
        case _:
            bounds = ANY
    return bounds


def unit_of(node: ast.expr) -> str:
    """Give the ending of the figures of a formula, such as `s` or `bps`; empty of a ratio."""
    match node:
        case ast.UnaryOp():
            return unit_of(node.operand)
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            return unit_of(node.left) or unit_of(node.right)
        case ast.Call(func=ast.Name(id=name)) if name not in UNITLESS:
            return unit_of(node.args[0])
        case ast.Attribute(attr=figure) | ast.Subscript(slice=ast.Constant(value=figure)):
            return str(figure).rpartition("_")[2]
    return ""


def _plus(left: Bounds, right: Bounds) -> Bounds:
    return Bounds(low=left.low + right.low, high=left.high + right.high)


def _minus(left: Bounds, right: Bounds) -> Bounds:
    return Bounds(low=left.low - right.high, high=left.high - right.low)


def _times(left: Bounds, right: Bounds) -> Bounds:
    pairs = product((left.low, left.high), (right.low, right.high))
    # Nothing times an unbounded factor is nothing.
    ends = [0.0 if 0 in pair else pair[0] * pair[1] for pair in pairs]
    return Bounds(low=min(ends), high=max(ends))


def _over(left: Bounds, right: Bounds) -> Bounds:
    if right.low < 0 < right.high:
        return ANY
    low = 1 / right.high if right.high else -math.inf
    high = 1 / right.low if right.low else math.inf
    return _times(left, Bounds(low=low, high=high))


OPERATORS: Mapping[type, Operator] = {
    ast.Add: Operator(operator.add, _plus),
    ast.Sub: Operator(operator.sub, _minus),
    ast.Mult: Operator(operator.mul, _times),
    ast.Div: Operator(operator.truediv, _over),
}
