"""Helpers of several arguments: the ranges of these, and what is claimed of the results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import z3

Interval = tuple[int, int]
Claim = Callable[..., Any]
U32 = (0, (1 << 32) - 1)
U31 = (0, (1 << 31) - 1)
CWND = (1, (1 << 31) - 1)


@dataclass(frozen=True, kw_only=True)
class Helper:
    """A wrapper, its arguments, and the claim, in terms of the result and the arguments.

    A claim says in whole numbers how far the result is from the exact one; `error` is a text.
    """

    file: str
    name: str
    arguments: dict[str, Interval]
    error: str
    claim: Claim
    assumes: Claim | None = None
    parameters: tuple[str, ...] = ()


def nearest(result: Any, dividend: Any, divisor: Any) -> Any:
    """The result is at most half of a unit from the quotient."""
    off = 2 * (result * divisor - dividend)
    return z3.And(off <= divisor, off >= -divisor)


def floor(result: Any, dividend: Any, divisor: Any) -> Any:
    """The result is the quotient, rounded down."""
    off = dividend - result * divisor
    return z3.And(off >= 0, off < divisor)


def toward_zero(result: Any, dividend: Any, divisor: Any) -> Any:
    """The result is less than one from the quotient."""
    off = dividend - result * divisor
    return z3.And(off > -divisor, off < divisor)


def _window(cwnd: Any, fraction: Any) -> Any:
    return cwnd * (1 << 32) + fraction


def _per_packet(result: Any, cwnd: Any, fraction: Any, round_q16: Any) -> Any:
    # Against the window with all of its fraction: half a unit, and what 16 bits of it change.
    whole = _window(cwnd, fraction)
    off = result * whole - round_q16 * (1 << 48)
    return z3.And(2 * off <= whole + 2 * (1 << 16) * result, 2 * off >= -whole)


def _kept(result: Any, cwnd: Any, fraction: Any, kept_q16: Any) -> Any:
    # In units of 2^-32 packets: at most 2^16 too little, or the minimum of two packets.
    off = _window(cwnd, fraction) * kept_q16 - result * (1 << 16)
    return z3.Or(z3.And(off >= 0, off < 1 << 32), result == 2 << 32)


def _restart(result: Any, cwnd: Any, fraction: Any, kept_q16: Any) -> Any:
    off = result * (1 << 48) - _window(cwnd, fraction) * kept_q16
    return z3.Or(z3.And(off > -(1 << 32), off < 1 << 48), result == 2)


def _average(result: Any, average: Any, queued: Any) -> Any:
    off = 8 * result - (7 * average + queued * (1 << 32))
    return z3.And(off > -4, off <= 4, result >= 0)


def _early(result: Any, window: Any, asked: Any) -> Any:
    off = window * (1000 + asked) - 1000 * result
    return z3.And(off >= 0, off < 1000 * 1000)


def _path(result: Any, rate: Any, rtt: Any, gain: Any) -> Any:
    # Rounded up from a number that is at most a packet too small, and less than a millionth part.
    exact = rate * rtt * gain
    return result * 1000 * (1 << 32) < exact + 1000 * (1 << 32)


def pace(result: Any, rate: Any, mss: Any) -> Any:
    """The result is the rate in bytes per second, rounded down by less than two."""
    off = rate * mss * 1_000_000 - result * (1 << 32)
    return z3.And(off >= 0, off < (1 << 32) + (1 << 12) * 1_000_000)


def _xcp_packets(result: Any, change: Any, us: Any, mss: Any) -> Any:
    off = change * us * (1 << 32) - result * 1_000_000 * (mss + 52)
    return z3.And(off >= 0, off < 16 * 1_000_000 * (mss + 52))


def _xcp_given_back(result: Any, cwnd: Any, fraction: Any, most: Any, ageing: Any) -> Any:
    # In units of 2^-32 packets, of which less than 2^21 stay too many; at least a packet is left.
    window = _window(cwnd, fraction)
    off = result * 1_000_000 - window * 1_000_000 + (window - most * (1 << 32)) * ageing
    unused = most * (1 << 32) < window
    given = z3.And(off >= 0, off < (1 << 21) * 1_000_000)
    return z3.If(unused, z3.Or(given, result == 1 << 32), result == window)


SUM_X, SUM_Y = (-(1 << 41), 1 << 41), (-(1 << 40), 1 << 40)
PAIRS = (8, 1 << 20)
RATE = (0, (1 << 38) - 1)
RTT = (0, 7_999_999)
MSS = (0, 65535)
HELPERS = (
    Helper(
        file="window",
        name="a_rounded",
        arguments={"dividend": (0, 1 << 63), "divisor": (1, 1 << 63)},
        error="1/2 unit",
        claim=nearest,
    ),
    Helper(
        file="window",
        name="a_per_packet",
        arguments={"cwnd": CWND, "fraction": U32, "round_q16": (0, 1 << 31)},
        error="1/2 x 2^-32 packets, and 2^-16 / cwnd of the growth",
        claim=_per_packet,
    ),
    Helper(
        file="window",
        name="a_kept",
        arguments={"cwnd": CWND, "fraction": U32, "kept_q16": (0, 1 << 16)},
        error="2^-16 packets too little",
        claim=_kept,
    ),
    Helper(
        file="window",
        name="a_restart",
        arguments={"cwnd": CWND, "fraction": U32, "kept_q16": (0, 52429)},
        error="rounded up, one packet",
        claim=_restart,
    ),
    Helper(
        file="ghstcp",
        name="a_quotient",
        arguments={"a": (-(1 << 45), 1 << 45), "n": PAIRS},
        error="less than 1",
        claim=toward_zero,
    ),
    Helper(
        file="ghstcp",
        name="a_share",
        arguments={"a": SUM_X, "b": SUM_X, "n": PAIRS},
        assumes=lambda a, _b, n: z3.And(a <= n * (1 << 21), a >= -n * (1 << 21)),
        error="less than 1",
        claim=lambda result, a, b, n: toward_zero(result, a * b, n),
    ),
    Helper(
        file="ghstcp",
        name="a_root",
        arguments={"x": (1, 1 << 49)},
        error="see the exhaustive test",
        claim=lambda result, _: result >= 1,
    ),
    Helper(
        file="ghstcp",
        name="a_sum_xx",
        arguments={"xx": (0, 1 << 62), "sent_us": U31},
        error="exact",
        claim=lambda result, xx, _: z3.And(result >= xx, result < xx + (1 << 42)),
    ),
    Helper(
        file="ghstcp",
        name="a_sum_xy",
        arguments={"xy": (-(1 << 61), 1 << 61), "sent_us": U31, "rtt_us": U31},
        error="exact",
        claim=lambda result, xy, *_: z3.And(result > xy - (1 << 41), result < xy + (1 << 41)),
    ),
    Helper(
        file="synctcp",
        name="a_average",
        arguments={"average_q32": (0, ((1 << 31) - 1) << 32), "queued_us": (0, (1 << 31) - 1)},
        error="1/2 x 2^-32 us",
        claim=_average,
    ),
    Helper(
        file="synctcp",
        name="a_region",
        arguments={"average_q32": (0, (1 << 63) - 1), "most_us": (0, (1 << 31) - 1)},
        parameters=("qmax_floor",),
        error="0 to 3",
        claim=lambda result, *_: z3.And(result >= 0, result <= 3),
    ),
    Helper(
        file="synctcp",
        name="a_early",
        arguments={"window_q32": (0, (1 << 63) - 1), "asked": (-500, -1)},
        error="1000 x 2^-32 packets too little",
        claim=_early,
    ),
    Helper(
        file="bbr3",
        name="a_path",
        arguments={"rate_q32": RATE, "min_rtt_us": (0, (1 << 29) - 1), "gain": (500, 2250)},
        assumes=lambda rate, rtt, _: rate * rtt < 1 << 64,
        error="less than one packet too many",
        claim=_path,
    ),
    Helper(
        file="bbr3",
        name="a_rate",
        arguments={"delivered": U32, "interval_us": (1, (1 << 63) - 1)},
        error="2^-32 packets per us too little",
        claim=lambda result, delivered, us: floor(result, delivered * (1 << 32), us),
    ),
    Helper(
        file="bbr3",
        name="a_pace",
        arguments={"rate_q32": (0, (1 << 40) - 1), "mss": (0, 65535)},
        error="2 bytes per second too little",
        claim=pace,
    ),
    Helper(
        file="bbr3",
        name="a_gain",
        arguments={"rate_q32": RATE, "gain": (500, 2770)},
        error="2^-32 packets per us too little",
        claim=lambda result, rate, gain: floor(result, rate * gain * 990, 1_000_000),
    ),
    Helper(
        file="bbr3",
        name="a_kept_rate",
        arguments={"rate_q32": RATE},
        parameters=("kept",),
        error="2^-32 packets per us too little",
        claim=lambda result, rate, kept: floor(result, rate * kept, 1_000_000),
    ),
    Helper(
        file="bbr3",
        name="a_crossed",
        arguments={"delivered": U32},
        parameters=("loss_threshold",),
        error="one packet too few",
        claim=lambda result, sent, share: floor(result, sent * 1_000_000, 1_000_000 - share),
    ),
    Helper(
        file="bbr3",
        name="a_expected",
        arguments={"rate_q32": RATE, "elapsed_us": (0, 1 << 26)},
        error="2^-16 packets too little",
        claim=lambda result, rate, us: floor(result, rate * us, 1 << 16),
    ),
    Helper(
        file="bbr3",
        name="a_first_rate",
        arguments={"cwnd": (0, (1 << 20) - 1), "srtt_us": (0, (1 << 29) - 1)},
        error="4 x 2^-32 packets per us too little",
        claim=lambda result, *_: result >= 0,
    ),
    Helper(
        file="bbr3",
        name="a_headroom",
        arguments={"most": U32},
        parameters=("headroom",),
        error="one packet too few",
        claim=lambda result, most, free: floor(result, most * (1_000_000 - free), 1_000_000),
    ),
    Helper(
        file="xcp",
        name="a_packets",
        arguments={"change": (0, (1 << 31) - 1), "us": RTT, "mss": MSS},
        error="2^-28 packets too little",
        claim=_xcp_packets,
    ),
    Helper(
        file="xcp",
        name="a_line",
        arguments={"us": RTT, "mss": MSS},
        parameters=("line",),
        error="2^-28 packets too little",
        claim=lambda result, us, mss, line: _xcp_packets(result, line * 125_000, us, mss),
    ),
    Helper(
        file="xcp",
        name="a_rtt",
        arguments={"us": RTT},
        error="2^-28 s too little",
        claim=lambda result, us: z3.Or(floor(result, us * (1 << 28), 1_000_000), us == 0),
    ),
    Helper(
        file="xcp",
        name="a_gap",
        arguments={"cwnd": CWND, "fraction": U32, "us": (1, 7_999_999)},
        error="no overflow",
        claim=lambda result, *_: z3.And(result >= 0, result < 1 << 31),
    ),
    Helper(
        file="xcp",
        name="a_delta",
        arguments={"cwnd": CWND, "fraction": U32, "us": (1, 7_999_999), "mss": MSS},
        parameters=("line",),
        error="no overflow",
        claim=lambda result, *_: z3.And(result >= 0, result < 1 << 31),
    ),
    Helper(
        file="xcp",
        name="a_raised",
        arguments={"cwnd": CWND, "fraction": U32, "change": U32, "us": RTT, "mss": MSS},
        parameters=("line",),
        error="no overflow",
        claim=lambda result, *_: z3.And(result >= 1 << 32, result < 1 << 63),
    ),
    Helper(
        file="xcp",
        name="a_lowered",
        arguments={"cwnd": CWND, "fraction": U32, "change": U32, "us": RTT, "mss": MSS},
        parameters=("line",),
        error="no overflow, at least one packet",
        claim=lambda result, cwnd, *_: z3.And(result >= 1 << 32, result < (cwnd + 1) * (1 << 32)),
    ),
    Helper(
        file="xcp",
        name="a_given_back",
        arguments={"cwnd": CWND, "fraction": U32, "most": (0, (1 << 31) - 1)},
        parameters=("ageing",),
        error="2^-11 packets too many",
        claim=_xcp_given_back,
    ),
)
