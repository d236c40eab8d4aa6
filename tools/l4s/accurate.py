"""Accurate feedback on marks of the simulator beside the kernel's, which has it since Linux 6.18.

Links, queues and middleboxes are the same in both engines: a difference is one of the hosts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from fairhaul.record.trace import option_bytes
from fairhaul.runs.runs import for_each
from fairhaul.scenario.engines import Engine
from fairhaul.scenario.packets import STAMPED_BYTES
from fairhaul.scenario.read import read_one
from tools.l4s.dual_queue import SCENARIO

# What the three bits begin with [RFC 9768, 3.2.1]; the counter of bytes with CE begins with 0.
_FIRST_ACE = 5
_PLAIN = {"flow.first.ect1": False}
# What is changed in the scenario, by the name of the cell.
CELLS: Mapping[str, Mapping[str, object]] = {
    "dctcp, ECT(1)": {},
    "dctcp, ECT(0)": _PLAIN,
    "cubic": {**_PLAIN, "flow.first.controller": "cubic", "flow.first.ecn": True},
    "reno": {**_PLAIN, "flow.first.controller": "reno", "flow.first.ecn": True},
    "option minimum": {"flow.first.accecn_option": "minimum"},
    "option never": {"flow.first.accecn_option": "never"},
    "clears request": {"flow.first.middlebox": "clears request"},
    "clears ae": {"flow.first.middlebox": "clears ae"},
    "clears ace": {"flow.first.middlebox": "clears ace"},
    "removes option": {"flow.first.middlebox": "removes option"},
    "clears ecn": {"flow.first.middlebox": "clears ecn"},
    "sets ect": {"flow.first.middlebox": "sets ect"},
}


@dataclass(frozen=True, kw_only=True)
class Feedback:
    """What the packets of a connection say of marks."""

    request: int | None
    """The code of the three bits of the request for a connection."""
    answer: int | None
    """That of its answer."""
    capable: float
    """The share of data packets that left with a codepoint of ECN."""
    marked: float
    """The share of data packets that arrived with CE."""
    ace_off: int | None
    """The bits of the last acknowledgement, less what the marks add to them, modulo 8."""
    option_off: int | None
    """The CE counter of the last option, less the payload that had arrived with CE."""
    acks: float
    """Acknowledgements for each data packet."""
    options: float
    """The share of acknowledgements with the option."""

    def text(self) -> str:
        """Write it in a line."""
        return (
            f"codes {self.request}, {self.answer}; ECT {100 * self.capable:.1f} %; "
            f"CE {100 * self.marked:.2f} %; ACE off by {self.ace_off}, option by "
            f"{self.option_off}; ACKs {self.acks:.3f}, with option {100 * self.options:.1f} %"
        )


def far(simulated: Feedback, linux: Feedback) -> list[str]:
    """Name what differs: codes and sums have to be equal, and shares within a tenth."""
    exact = [
        name
        for name in ("request", "answer", "ace_off", "option_off")
        if getattr(simulated, name) != getattr(linux, name)
    ]
    close = [
        name
        for name, least in (("capable", 0.01), ("marked", 0.002), ("acks", 0.0), ("options", 0.01))
        if not _is_near(getattr(simulated, name), getattr(linux, name), least)
    ]
    return exact + close


def _is_near(one: float, other: float, least: float) -> bool:
    return abs(one - other) <= max(0.1 * max(one, other), least)


def beside(name: str) -> tuple[Feedback, Feedback]:
    """Run a cell in the simulator and in Linux."""
    return feedback(name, "sim"), feedback(name, "linux")


def feedback(name: str, engine: Engine) -> Feedback:
    """Run a cell in one engine."""

    def then(_: int, record: Any) -> Feedback:
        return read(record.trace)

    (found,) = for_each([read_one(SCENARIO, CELLS[name])], then, trace="first", engine=engine)
    return found


def read(trace: pl.DataFrame) -> Feedback:
    """Read the trace of a flow."""
    opening, rest = trace.filter(trace["opens"]), trace.filter(~trace["opens"])

    def code(what: str) -> int | None:
        codes = opening.filter(opening["what"] == what)["ace"].to_list()
        return None if not codes or codes[0] is None else int(codes[0])

    left = rest.filter(rest["what"] == "sent")["ecn"].to_list()
    arrived = rest.filter(rest["what"] == "received")
    acks = rest.filter(rest["what"] == "ack_sent")
    ace_off, option_off = _sums(rest)
    options = [option for option in acks["accecn"].to_list() if option]
    return Feedback(
        request=code("sent"),
        answer=code("ack_sent"),
        capable=1 - left.count("Not-ECT") / max(len(left), 1),
        marked=arrived["ecn"].to_list().count("CE") / max(arrived.height, 1),
        ace_off=ace_off,
        option_off=option_off,
        acks=acks.height / max(arrived.height, 1),
        options=len(options) / max(acks.height, 1),
    )


def _sums(rest: pl.DataFrame) -> tuple[int | None, int | None]:
    """Compare what the last acknowledgement and the last option say with what had arrived."""
    header = pl.col("bytes").cast(pl.Int64) - STAMPED_BYTES
    rows = rest.with_columns((header - option_bytes(pl.col("accecn"))).alias("payload"))
    marks, carried = 0, 0
    ace_off: int | None = None
    option_off: int | None = None
    columns = ("what", "ecn", "payload", "ace", "accecn")
    for what, ecn, payload, ace, option in rows.select(*columns).iter_rows():
        if what == "received" and ecn == "CE":
            marks, carried = marks + 1, carried + payload
        elif what == "ack_sent" and ace is not None:
            ace_off = (int(ace) - _FIRST_ACE - marks) % 8
            counter = option.split()[1] if option else "-"
            if counter != "-":
                option_off = (int(counter) - carried) % 2**24
    return ace_off, option_off
