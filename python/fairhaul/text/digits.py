"""Numbers with no more digits than they are known to."""

from __future__ import annotations

from dataclasses import dataclass, replace

# Digits of the half width of an interval that are printed: 6803 ±392 becomes 6800 ±390.
OF_WIDTH = 2
# Digits after the point of a number with an exponent.
MOST_DIGITS = 2


@dataclass(frozen=True, kw_only=True)
class Decimals:
    """Writes numbers, times `scale`, with `digits` digits after the decimal point.

    With fewer than 0 digits, that many digits before the point are rounded to 0.
    """

    digits: int
    scale: float = 1.0

    def __call__(self, value: float) -> str:
        """Write a number."""
        scaled = value * self.scale
        return (
            f"{scaled:.{self.digits}f}" if self.digits >= 0 else f"{round(scaled, self.digits):.0f}"
        )

    def within(self, width: float, _: float) -> Decimals:
        """Give the form of a number that is known to `width`; it never has more digits."""
        if width <= 0:
            return self
        return replace(self, digits=min(self.digits, OF_WIDTH - 1 - _exponent(width * self.scale)))


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


def _exponent(value: float) -> int:
    """Give the exponent of a number as it is printed: 0.0996 is printed as 0.10."""
    return int(f"{value:.{OF_WIDTH - 1}e}".partition("e")[2])
