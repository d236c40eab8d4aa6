"""The cases of BBR's draft for a transport stack with a BBR.

A packet of QUIC has at least 1228 B, so packets have 1500 B instead of 1000 B, and all rates are
half more: then every number of packets is that of the case. Stacks report no modes, timeouts and
undone reductions, so the expectations about these are not judged.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairhaul.files.files import PACKAGE
from fairhaul.scenario.read import toml
from fairhaul.scenario.transport import read_stack
from fairhaul.studies.expectations.stack_cases import controller_of

CASES = PACKAGE / "scenarios" / "conformance" / "bbr"
# The flow of the cases.
FLOW = "bbr"
SCALE = 1.5
# Packets of the largest size from the start, because the built-in sender has no other.
LARGEST = {"initial_mtu": 1472, "mtu_discovery": False}
# The stacks that have these settings.
OF_QUIC = ("quinn", "noq")
OF_A_SENDER = ("controller", "profile", "delayed_ack", "recovery")
NOT_REPORTED = ("modes.", "events.bbr.undone", "events.bbr.timeout")


def write_cases(stack: str, folder: Path) -> list[Path]:
    """Write the cases with a stack into a folder, and give the files; none if it has no BBR."""
    if "bbr" not in controller_of(stack):
        return []
    own = {"stack": _settings(stack)}
    texts = {folder / file.name: adapted(file, own) for file in sorted(CASES.glob("*.toml"))}
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in texts.items():
        if text:
            file.write_text(text, encoding="utf-8")
    return [file for file, text in texts.items() if text]


def bbr_setting(stack: str) -> tuple[str, str]:
    """Give the override by which the flow of a case gets a stack."""
    return f"flow.{FLOW}.stack", toml(_settings(stack))


def _settings(stack: str) -> Mapping[str, object]:
    settings = read_stack(stack).settings
    return {**(LARGEST if settings["kind"] in OF_QUIC else {}), **settings}


def scaled(value: Any) -> Any:
    """Multiply the rates and sizes of a scenario."""
    match value:
        case str():
            of = r"\b(\d+(?:\.\d+)?)( (?:[kM]?bit/s|k?B)|e6)(?=$|\W)"
            return re.sub(of, lambda found: f"{float(found[1]) * SCALE:g}{found[2]}", value)
        case dict():
            return {key: scaled(of) for key, of in value.items()}
        case list():
            return [scaled(of) for of in value]
    return value


def adapted(file: Path, sender: Mapping[str, Any]) -> str:
    """Give a case in packets of 1500 B, with another sender; nothing if no expectation is left."""
    case = scaled(tomllib.loads(file.read_text(encoding="utf-8")))
    (flow,) = case["flow"]
    unused = OF_A_SENDER if "stack" in sender else ("controller",)
    case["flow"] = [{key: of for key, of in flow.items() if key not in unused} | dict(sender)]
    case["expect"] = [
        of for of in case["expect"] if not any(word in of["number"] for word in NOT_REPORTED)
    ]
    return "".join(f"{key} = {toml(of)}\n" for key, of in case.items() if case["expect"])
