"""Numbers with no more digits than they are known to."""

from __future__ import annotations

from dataclasses import dataclass, replace

# Digits of the half width of an interval that are printed: 6803 ±392 becomes 6800 ±390.
OF_WIDTH = 2


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

    def within(self, width: float) -> Decimals:
        """Give the form of a number that is known to `width`; it never has more digits."""
        if width <= 0:
            return self
        # The exponent of the width as it is printed: 0.0996 is printed as 0.10.
        exponent = int(f"{width * self.scale:.{OF_WIDTH - 1}e}".partition("e")[2])
        return replace(self, digits=min(self.digits, OF_WIDTH - 1 - exponent))
