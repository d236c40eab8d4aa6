"""Numbers with no more digits than they are known to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

# Digits of the half width of an interval that are printed: 6803 within 392 becomes 6800.
OF_WIDTH = 2
# Digits after the point of a number with an exponent.
MOST_DIGITS = 2
SPEC = re.compile(r"(?:\.(\d+))?([feg%]?)$")


@dataclass(frozen=True, kw_only=True)
class Decimals:
    """Writes numbers, times `scale`, with `digits` digits after the decimal point, and their unit.

    With fewer than 0 digits, that many digits before the point are rounded to 0.
    """

    digits: int
    scale: float = 1.0
    unit: str = ""

    def __call__(self, value: float) -> str:
        """Write a number."""
        rounded = round(value * self.scale, self.digits) + 0.0  # never "-0"
        return f"{rounded:.{max(self.digits, 0)}f}{self.unit}"

    def within(self, width: float, _: float) -> Decimals:
        """Give the form of a number that is known to `width`; it never has more digits."""
        if width <= 0:
            return self
        return replace(self, digits=min(self.digits, OF_WIDTH - 1 - _exponent(width * self.scale)))


@dataclass(frozen=True, kw_only=True)
class Significant:
    """Writes numbers with `digits` significant digits, in the largest unit that leaves 1 or more.

    `units` are names with their sizes, the largest first.
    """

    digits: int = 3
    units: Sequence[tuple[str, float]] = (("", 1.0),)

    def __call__(self, value: float) -> str:
        """Write a number."""
        unit, size = self._unit(value)
        scaled = value / size
        known = f"{scaled:.{self.digits}g}"
        return (f"{scaled:.0f}" if "e+" in known else known) + unit

    def within(self, width: float, mean: float) -> Decimals:
        """Give the form of a mean that is known to `width`, and of that width."""
        unit, size = self._unit(mean)
        digits = max(0, self.digits - 1 - _exponent(mean / size))
        return Decimals(digits=digits, scale=1 / size, unit=unit).within(width, mean)

    def _unit(self, value: float) -> tuple[str, float]:
        known = (of for of in self.units if abs(value) >= of[1])
        return next(known, self.units[-1])


@dataclass(frozen=True, kw_only=True)
class Scientific:
    """Writes small numbers as `1.4e-3`; those of one interval have one exponent, if it is given."""

    exponent: int | None = None
    digits: int = 1

    def __call__(self, value: float) -> str:
        """Write a number."""
        if not value:
            return "0"
        if self.exponent is None:
            return f"{value:.{self.digits}e}".replace("e-0", "e-")
        return f"{value / 10.0**self.exponent:.{self.digits}f}e{self.exponent}"

    def within(self, width: float, mean: float) -> Scientific:
        """Give the form of a mean that is known to `width`, and of that width."""
        if width <= 0 or mean <= 0:
            return self
        known = _exponent(mean) - _exponent(width) + OF_WIDTH - 1
        return replace(self, exponent=_exponent(mean), digits=min(max(known, 1), MOST_DIGITS))


Form = Decimals | Significant | Scientific


def form_of(spec: str) -> Form:
    """Give the form that Python's format specification describes: `.2f`, `.1e` or `.3g`."""
    found = SPEC.search(spec)
    digits, kind = int(found[1] or 6) if found else 6, found[2] if found else ""
    if kind in {"f", "%"}:
        return Decimals(digits=digits) if kind == "f" else percent(digits)
    return Scientific(digits=digits) if kind == "e" else Significant(digits=digits)


def percent(digits: int) -> Decimals:
    """Give the form of a part, as a percentage."""
    return Decimals(digits=digits, scale=100, unit=" %")


def _exponent(value: float) -> int:
    """Give the exponent of a number as it is printed: 0.0996 is printed as 0.10."""
    return int(f"{value:.{OF_WIDTH - 1}e}".partition("e")[2])
