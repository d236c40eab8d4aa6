"""Quantities of the scenarios that are run, in the texts of a paper.

The same experiment may run at several rates: with Linux in simulated time at another one than in
the lab, and in the short form at another one than in the full form. A text that names the rate
therefore has `{rate}` for it, and likewise `{buffer}` and `{packet}`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from fairhaul.scenario.described import Described, DescribedLink
from fairhaul.scenario.read import Scenario
from fairhaul.studies.papers.section import Section
from fairhaul.text.phrases import listed, quantity

_PLACEHOLDER = re.compile(r"\{(\w+)\}")


def check_quantities(section: Section, texts: Mapping[str, Sequence[str]]) -> None:
    """Note a mistake where a text, by its key in `section`, has an unknown placeholder."""
    for key, each in texts.items():
        for name in _PLACEHOLDER.findall(" ".join(each)):
            section.one_of(key, name, list(QUANTITIES), "quantity")


def filled(text: str, scenarios: Sequence[Scenario]) -> str:
    """Give a text with its quantities: `20 Mbit/s and 200 Mbit/s` where the scenarios differ."""

    def of_all(found: re.Match[str]) -> str:
        written = (QUANTITIES[found[1]](scenario.described) for scenario in scenarios)
        return listed(list(dict.fromkeys(written)))

    return _PLACEHOLDER.sub(of_all, text)


def _slowest(scenario: Described) -> DescribedLink:
    return min(scenario["links"], key=lambda link: link["rate_bps"])


def _buffer(scenario: Described) -> str:
    packets = _slowest(scenario)["capacity_packets"]
    return "no limit" if packets is None else f"{packets} packets"


def _packet(scenario: Described) -> str:
    sizes = sorted({flow["packet_bytes"] for flow in scenario["flows"]})
    return listed([f"{size} bytes" for size in sizes])


# How each is written for a scenario as it is described; rate and buffer are those of the
# slowest link.
QUANTITIES: Mapping[str, Callable[[Described], str]] = {
    "rate": lambda scenario: quantity(_slowest(scenario)["rate_bps"], "bit/s"),
    "buffer": _buffer,
    "packet": _packet,
}
