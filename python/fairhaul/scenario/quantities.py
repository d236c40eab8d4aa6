"""The options of a question that are quantities: what they mean, and how they are read.

A text that is not a quantity of its kind is a `ScenarioError`, whose message names the option.
"""

from __future__ import annotations

from fairhaul import _core
from fairhaul._core import ScenarioError

# What each option means, with an example.
WANTED = {
    "--rate": "the rate of the bottleneck, such as 622Mbit/s",
    "--rtt": "round-trip times, such as 80ms,200ms",
    "--buffer": "the buffer of the bottleneck, such as 20ms",
    "--size": "the size of a transfer, such as 1TB",
    "--policer": "the size of a policer's token bucket, such as 1MB",
    "--buffers": "the largest socket buffers, such as 64MB",
    "--budget": "the processor time of all runs, such as 10min",
    "--duration": "a duration, such as 60s",
    "until": "a time of the run, such as 10s",
}


def time_s(option: str, given: str) -> float:
    """Read a length of time that `option` gives, in seconds."""
    return _quantity(option, "time", given)


def rtt_s(option: str, given: str) -> float:
    """Read a round-trip time that `option` gives, in seconds."""
    return _quantity(option, "rtt", given)


def rate_bps(option: str, given: str) -> int:
    """Read a rate that `option` gives, in bits per second."""
    return int(_quantity(option, "rate", given))


def size_bytes(option: str, given: str) -> int:
    """Read a size that `option` gives, in bytes."""
    return int(_quantity(option, "size", given))


def _quantity(option: str, kind: _core.QuantityKind, given: str) -> float:
    require(option, given)
    try:
        return _core.quantity(kind, given)
    except ScenarioError as error:
        raise ScenarioError(f"{option} {given}: {with_example(option, str(error))}") from None


def require(option: str, given: str) -> None:
    """Refuse an option without a value.

    Raises:
        ScenarioError: it has none.
    """
    if not given.strip():
        raise ScenarioError(f"{option}: required: {WANTED[option]}")


def with_example(option: str, mistake: str) -> str:
    """Give the text of a mistake in an option, with an example unless it has a correction."""
    if '"?' in mistake:
        return mistake
    what, wants, _ = mistake.partition("; wanted ")
    if wants:
        return f"{what}{wants}{WANTED[option]}"
    example = WANTED[option].rpartition("such as ")[2].partition(",")[0]
    return f"{mistake}; for example {example}"
