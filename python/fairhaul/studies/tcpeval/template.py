"""The scenarios of the suite: templates, to which the traffic of a load and a seed is added.

A template is a scenario, except for two things. `$warmup`, `$duration`, `$test` (times, also
divided: `$test/10`), `$load` and `$rate` are replaced by what they are in a run, and the tables
`[traffic]` by the flows of the connections that are offered. Keys of `[traffic]` that have a list
have a value for each load.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from fairhaul.files.files import replace
from fairhaul.scenario.read import written
from fairhaul.studies.tcpeval.traffic import Made, Traffic, Wanted
from fairhaul.studies.tcpeval.vectors import file_name
from fairhaul.text.digits import percent

FOLDER = Path(__file__).parent / "scenarios"
# The path of a trace [TCPEVAL, 4.1] that the sources of a graph play.
PATH = "r4s1"
# The tables `[traffic]` and `[traffic.…]`, up to the next other table.
TRAFFIC = re.compile(r"^\[traffic\b(?:.*\n)(?:(?!\[(?!traffic\b)).*\n)*", re.MULTILINE)
WORD = re.compile(r"\$([a-z]+)(?:/(\d+))?")
BITS = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}
# How a load is written.
LOAD = percent(0)
# A quick suite shortens times to no less than this.
LEAST_S = 20.0


@dataclass(frozen=True, kw_only=True)
class Written:
    """A scenario in a file: that of a template, a load and a seed."""

    file: Path
    point: tuple[str, ...]
    """The load and the rate, where the template has several."""


@dataclass(frozen=True)
class Template:
    """A template of the folder, by its name."""

    name: str

    @cached_property
    def text(self) -> str:
        """What its file has."""
        return (FOLDER / f"{self.name}.toml").read_text(encoding="utf-8")

    def write(self, traffic: Traffic, seeds: int, shorter: float) -> Iterator[Written]:
        """Write its scenarios beside their traffic, with times that are shorter by a factor."""
        for point, offered in self._loads():
            for seed in range(1, seeds + 1):
                text = f"seed = {seed}\n{self.text}"
                if offered:
                    text = _filled(text, offered, traffic, seed, shorter)
                words = [self.name, *point, str(seed)]
                name = "_".join(re.sub(r"[^\w.]+", "-", word).strip("-") for word in words)
                traffic.out.mkdir(parents=True, exist_ok=True)
                file = traffic.out / f"{name}.toml"
                replace(file, text.encode())
                yield Written(file=file, point=point)

    def _loads(self) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
        """Give what distinguishes each load, and the keys of its traffic; none without traffic."""
        found = TRAFFIC.search(self.text)
        keys = tomllib.loads(found[0])["traffic"] if found else {}
        for index, name in enumerate(keys.pop("names", [""])):
            own = {key: of[index] if isinstance(of, list) else of for key, of in keys.items()}
            several = [key for key in ("load", "rate") if isinstance(keys.get(key), list)]
            point = tuple(LOAD(own[key]) if key == "load" else own[key] for key in several)
            yield point, {"name": name, **own} if name else {}


def _filled(text: str, keys: Mapping[str, Any], traffic: Traffic, seed: int, shorter: float) -> str:
    """Put the traffic of a load into the text of a template."""
    wanted = _wanted(keys, shorter)
    if "between" in keys:
        each = {
            source: traffic.make(f"{keys['name']}-{source}", wanted, seed, (PATH,))
            for source in keys["rtt_ms"]
        }
    else:
        each = dict.fromkeys(keys["rtt_ms"], traffic.make(keys["name"], wanted, seed))
    flows = [
        flow
        for camp in [f"{camp}-" for camp in keys.get("camps", "")] or [""]
        for pair, made in each.items()
        for flow in _pair(f"{camp}{pair}", pair, made, keys)
    ]
    warmup_s = max(made.warmup_s for made in each.values())
    duration_s = min(made.length_s for made in each.values())
    times = {"warmup": warmup_s, "duration": duration_s, "test": duration_s - warmup_s}
    words = {"load": LOAD(keys["load"]), "rate": keys["rate"]}

    def word(found: re.Match[str]) -> str:
        name, parts = found.groups("1")
        return words[name] if name in words else _time(times[name] / int(parts))

    return WORD.sub(word, TRAFFIC.sub(lambda _: f"{written({'flow': flows}).lstrip()}\n", text))


def _wanted(keys: Mapping[str, Any], shorter: float) -> Wanted:
    rtts_ms = keys["rtt_ms"].values()
    number, unit = keys["rate"].split()

    def seconds(key: str) -> float:
        """Shorten a time of the draft, to no less than `LEAST_S` unless it is less."""
        of_draft = float(keys[key])
        return min(of_draft, max(of_draft / shorter, LEAST_S))

    return Wanted(
        capacity_bps=float(number) * BITS[unit],
        load=keys["load"] * keys.get("share", 1.0),
        both_directions=keys.get("both_directions", False),
        warmup_s=seconds("warmup_s"),
        test_s=seconds("test_s"),
        prefill_s=seconds("prefill_s"),
        rtt_s=keys.get("mean_rtt_ms", sum(rtts_ms) / len(rtts_ms)) / 1000,
        bin_s=keys.get("bin_s"),
    )


def _pair(name: str, pair: str, made: Made, keys: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Give the flows that play the connections of a pair, for each of their sizes of packets.

    Data of the heavier direction, which the draft draws from right to left, go forward.
    """
    graph = "between" in keys
    path = PATH if graph else pair
    nodes = dict(zip(("from", "to"), keys["between"][pair], strict=True)) if graph else {}
    for size in made.sizes[path]:
        common = {
            "controller": "reno",
            "rtt": _time(keys["rtt_ms"][pair] / 1000),
            "packet": f"{size} B",
            **nodes,
        }
        file = f"{made.folder}/{file_name(path, size)}"
        up, down = f"{name}-{size}-up", f"{name}-{size}-down"
        requests = {"direction": "reverse", "traffic": {"kind": "vectors", "file": file}}
        responses = {"traffic": {"kind": "answers", "to": up}}
        yield {"name": up, **common, **requests}
        yield {"name": down, **common, **responses}


def _time(seconds: float) -> str:
    """Write a time in whole microseconds."""
    return f"{round(seconds * 1e6)} us"
