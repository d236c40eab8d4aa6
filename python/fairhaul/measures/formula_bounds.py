"""What a formula over the figures of a run can be, from what the figures can be."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from itertools import product

from fairhaul.measures.bounds import BOUNDS, INDICES
from fairhaul.statistics.estimate import ANY, AT_LEAST_0, FRACTION, Bounds

# Of lists of any length. A sum of shares may be above one.
FUNCTIONS: Mapping[str, Callable[[Bounds], Bounds]] = {
    "sum": lambda items: AT_LEAST_0 if items.low >= 0 else ANY,
    "mean": lambda items: items,
    "min": lambda items: items,
    "max": lambda items: items,
    "jain": lambda _: FRACTION,
    "count": lambda _: AT_LEAST_0,
    "p95": lambda items: items,
    "first": lambda items: items,
    "last": lambda items: items,
}


def bounds_of(node: ast.expr) -> Bounds:
    """Give the smallest and the largest value of a formula, by interval arithmetic."""
    match node:
        case ast.Constant(value=value):
            bounds = Bounds(low=float(str(value)), high=float(str(value)))
        case ast.UnaryOp():
            bounds = _times(bounds_of(node.operand), Bounds(low=-1, high=-1))
        case ast.BinOp():
            bounds = OPERATORS[type(node.op)](bounds_of(node.left), bounds_of(node.right))
        case ast.Call(func=ast.Name(id=name)):
            bounds = FUNCTIONS[name](bounds_of(node.args[0]))
        case ast.Attribute(attr=figure) | ast.Subscript(slice=ast.Constant(value=figure)):
            bounds = FRACTION if figure in INDICES else BOUNDS.get(str(figure), AT_LEAST_0)
        case _:
            bounds = ANY
    return bounds


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


OPERATORS: Mapping[type, Callable[[Bounds, Bounds], Bounds]] = {
    ast.Add: _plus,
    ast.Sub: _minus,
    ast.Mult: _times,
    ast.Div: _over,
}
