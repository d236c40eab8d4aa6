"""The criteria of RFC 9743 (BCP 133), sections 5 to 7: every heading, and what runs cannot show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# How strongly the document wants it; "" where it only says what to expect.
Level = Literal["MUST", "SHOULD", ""]


@dataclass(frozen=True)
class Heading:
    """A heading of RFC 9743: its section, its title, and how strongly it is wanted."""

    section: str
    title: str
    level: Level
    missing: str = ""
    """Why no run can be evidence for it; empty where runs are."""


HEADINGS = (
    Heading("5.1.1", "Protection against congestion collapse", ""),
    Heading("5.1.2", "Protection against bufferbloat", ""),
    Heading("5.1.3", "Protection against high packet loss", ""),
    Heading("5.1.4", "Fairness within the algorithm", ""),
    Heading("5.1.5", "Short flows", "MUST"),
    Heading("5.2.1", "Beside existing congestion control", "MUST"),
    Heading("5.2.2", "Beside real-time traffic", "SHOULD"),
    Heading("5.2.3", "Short and long flows of others", "MUST"),
    Heading(
        "5.3.1",
        "Differences from the principles of congestion control",
        "MUST",
        "an explanation in the text of the proposal, which no run replaces",
    ),
    Heading(
        "5.3.2",
        "Incremental deployment",
        "MUST",
        "a discussion of the equipment on today's paths; the runs beside reno and cubic need a "
        "change of the sender alone",
    ),
    Heading("6.1", "Paths with tail-drop queues", "MUST"),
    Heading(
        "6.2",
        "Tunnels",
        "MUST",
        "no tunnels are simulated; it concerns controllers that depend on signals of the path",
    ),
    Heading("6.3", "Wired paths", ""),
    Heading("6.4", "Wireless paths", ""),
    Heading("7.1", "Active queue management", "SHOULD"),
    Heading("7.2", "Network circuit breakers", ""),
    Heading("7.3", "Paths with varying delay", "SHOULD"),
    Heading("7.4", "Constrained nodes", ""),
    Heading("7.5", "Paths with high delay", ""),
    Heading(
        "7.6",
        "Misbehaving nodes",
        "SHOULD",
        "all receivers and routers here are honest; a lying receiver is not simulated",
    ),
    Heading("7.7", "Extreme reordering", ""),
    Heading("7.8", "Transient events", "SHOULD"),
    Heading("7.9", "Sudden changes of the path", "MUST"),
    Heading("7.10", "Multipath transport", "MUST", "connections here have one path"),
    Heading("7.11", "Data centres", "SHOULD"),
)
