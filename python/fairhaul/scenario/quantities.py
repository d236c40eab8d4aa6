"""The options of a question that are quantities: what they mean, and how to write them."""

from __future__ import annotations

import re

from fairhaul.text.nearest import nearest

# What each option means, with an example.
WANTED = {
    "--rate": "the rate of the bottleneck, such as 622Mbit/s",
    "--rtt": "round-trip times, such as 80ms,200ms",
    "--buffer": "the buffer of the bottleneck, such as 20ms",
    "--size": "the size of a transfer, such as 1TB",
    "--policer": "the size of a policer's token bucket, such as 1MB",
    "--budget": "the processor time of all runs, such as 10min",
    "--duration": "the duration of each run, such as 60s",
}

TIMES = ("ps", "ns", "us", "ms", "s", "min", "h")
SIZES = ("B", "kB", "KiB", "MB", "MiB", "GB", "GiB", "TB")
# The units of each option, the likeliest first.
UNITS = {
    "--rate": ("Mbit/s", "bit/s", "kbit/s", "Gbit/s", "Tbit/s"),
    "--rtt": ("ms", *TIMES),
    "--buffer": ("ms", "packets", "bdp", *TIMES, *SIZES),
    "--size": ("GB", *SIZES),
    "--policer": ("MB", *SIZES),
    "--budget": ("min", *TIMES),
    "--duration": ("s", *TIMES),
}


def way_out(option: str, given: str) -> str:
    """Say how to write a quantity whose unit is missing or wrong; nothing if it has a unit."""
    parts = re.fullmatch(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*(\S*)\s*", given)
    if parts is None:
        return f"; for example {WANTED[option].rpartition('such as ')[2].partition(',')[0]}"
    number, unit = parts.groups()
    units = UNITS[option]
    if unit in units:
        return ""
    if not unit:
        return f'; for example "{number} {units[0]}"'
    near = nearest(unit, units, cutoff=0.4)
    return f'; did you mean "{number} {near}"?' if near else ""
