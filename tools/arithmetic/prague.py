"""The helpers of Prague's port, and what is claimed of their results."""

from __future__ import annotations

from typing import Any

import z3

from tools.arithmetic.claims import U32, Helper, floor, pace


def _alpha(result: Any, alpha: Any, marked: Any, delivered: Any, gain: Any) -> Any:
    # In units of 2^-31: at most one, where the share is rounded down, and half of one more.
    exact = alpha * delivered * 1_000_000 + gain * (marked * (1 << 31) - alpha * delivered)
    off = 2 * (result * delivered * 1_000_000 - exact)
    unit = delivered * 1_000_000
    return z3.And(off <= 3 * unit, off >= -3 * unit, result >= 0, result <= 1 << 31)


def _less(result: Any, cwnd: Any, alpha: Any) -> Any:
    # In units of 2^-32 packets: what is given up is too little by 2^-17 of the window, and 2^-15.
    off = result * (1 << 32) - cwnd * ((1 << 32) - alpha)
    return z3.And(off >= 0, off <= cwnd * (1 << 15) + (1 << 49))


def _round(result: Any, srtt: Any, target: Any, independent: Any) -> Any:
    below = z3.And(srtt < 8 * target, independent == 1)
    off = srtt * srtt * (1 << 32) - result * (8 * target) * (8 * target)
    near = z3.And(off >= 0, off < 5 * (8 * target) * (8 * target))
    return z3.If(below, near, result == 1 << 32)


def _packet(result: Any, cwnd: Any, more: Any) -> Any:
    # Against the window with all of its fraction: half a unit, and what 16 bits of it change.
    off = result * cwnd - more * (1 << 32)
    return z3.And(2 * off <= cwnd + 2 * (1 << 16) * result, 2 * off >= -cwnd)


HELPERS = (
    Helper(
        file="prague",
        name="a_next_alpha",
        arguments={"alpha_q31": (0, 1 << 31), "marked": U32, "delivered": (1, (1 << 32) - 1)},
        assumes=lambda _alpha, marked, delivered, _gain: marked <= delivered,
        parameters=("gain",),
        error="3/2 x 2^-31",
        claim=_alpha,
    ),
    Helper(
        file="prague",
        name="a_less",
        arguments={"cwnd_q32": (0, ((1 << 31) - 1) << 32), "alpha_q31": (0, 1 << 31)},
        error="2^-17 of the window, and 2^-15 packets, too many",
        claim=_less,
    ),
    Helper(
        file="prague",
        name="a_round",
        arguments={"srtt_8us": U32},
        parameters=("target_rtt", "rtt_independent"),
        error="5 x 2^-32 packets too little",
        claim=_round,
    ),
    Helper(
        file="prague",
        name="a_packet",
        arguments={"cwnd_q32": (1 << 22, ((1 << 31) - 1) << 32), "round_q32": (0, 1 << 32)},
        error="1/2 x 2^-32 packets, and 2^-16 / cwnd of the growth",
        claim=_packet,
    ),
    Helper(
        file="prague",
        name="a_grown",
        arguments={
            "cwnd_q32": (0, ((1 << 31) - 1) << 32),
            "round_q32": (0, 1 << 32),
            "packets": (0, 1 << 20),
        },
        error="no overflow",
        claim=lambda result, cwnd, *_: z3.And(result >= cwnd, result < 1 << 64),
    ),
    Helper(
        file="prague",
        name="a_rate",
        arguments={"cwnd_q16": (0, 1 << 44), "srtt_8us": (1, (1 << 31) - 1)},
        error="2^-32 packets per us too little, below 256 packets per us",
        claim=lambda result, cwnd, srtt: z3.Or(
            floor(result, cwnd * (1 << 19), srtt), result == (1 << 40) - 1
        ),
    ),
    Helper(
        file="prague",
        name="a_fast_rate",
        arguments={"cwnd_q16": (0, 1 << 47), "srtt_8us": (1, (1 << 31) - 1), "speed": (124, 256)},
        error="no overflow",
        claim=lambda result, *_: z3.And(result >= 0, result < 1 << 40),
    ),
    Helper(
        file="prague",
        name="a_bytes",
        arguments={"rate_q32": (0, (1 << 40) - 1), "mss": (0, 65535)},
        error="2 bytes per second too little",
        claim=pace,
    ),
)
