"""What else can happen at a place: jitter, policers, changes of the path, pauses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fairhaul.text.phrases import quantity

if TYPE_CHECKING:
    from fairhaul.studies.attack.place import Place

NONE = "none"
# The part of the run after which something changes.
CHANGE = 0.7


@dataclass(frozen=True, kw_only=True)
class Impairment:
    """An impairment, as `attack.toml` declares it: its values, and keys of a scenario with them."""

    text: str
    least: float
    """The value for a strength of 0."""
    most: float
    of: str = "number"
    bottleneck: Mapping[str, Any] = field(default_factory=dict)
    flow: Mapping[str, Any] = field(default_factory=dict)

    def value(self, place: Place) -> float:
        """Give the value: seconds, bit/s, or a number."""
        bases = {
            "rtt": place.rtt_ms / 1000,
            "run": place.duration_s,
            "rate": place.rate_mbps * 1e6,
            "number": 1.0,
        }
        part = self.least * (self.most / self.least) ** place.strength
        return float(f"{part * bases[self.of]:.3g}")

    @property
    def sets_traffic(self) -> bool:
        """Whether it says what the attacked flows have to send."""
        return "traffic" in self.flow

    def described(self, place: Place) -> str:
        """Describe it in a few words."""
        return self.text.format_map(self._words(place))

    def keys(self, place: Place, table: str) -> dict[str, Any]:
        """Give the keys that it sets in `bottleneck` or in the attacked `flow`."""
        filled = _filled(getattr(self, table), self._words(place))
        assert isinstance(filled, dict)
        return filled

    def _words(self, place: Place) -> dict[str, str]:
        value, change_s = self.value(place), CHANGE * place.duration_s
        units = {"rtt": _time(value), "run": _time(value), "rate": quantity(value, "bit/s")}
        return {
            "x": units.get(self.of, f"{value:g}"),
            "half_rtt": _time(place.rtt_ms / 2000),
            "half_bdp": quantity(max(place.bdp_packets, 2.0) * 750, "B"),
            "at": _time(change_s),
            "until": _time(change_s + value),
        }


def _time(seconds: float) -> str:
    return f"{1000 * seconds:.4g} ms" if seconds < 1 else f"{seconds:.4g} s"


def _filled(given: Any, words: Mapping[str, str]) -> Any:
    """Put values into texts; a text that is a number then becomes one."""
    if isinstance(given, Mapping):
        return {key: _filled(value, words) for key, value in given.items()}
    if isinstance(given, list):
        return [_filled(value, words) for value in given]
    text = str(given).format_map(words)
    try:
        return float(text)
    except ValueError:
        return text
