"""The path and the connections of an explanation as a scenario that can be run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairhaul.scenario.read import ScenarioError, toml
from fairhaul.studies.explanation.model import Model, controller_of, model_of
from fairhaul.studies.explanation.results import Explained

# How long the transfer of a scenario takes, in seconds.
LEAST_S, MOST_S = 10, 300


def scenario_text(explained: Sequence[Explained], model: Model | None = None) -> str:
    """Write a scenario with the path of the largest connection and the connections beside it.

    Args:
        explained: the connections, the largest first.
        model: the path after a correction; by default that of the connections.

    Raises:
        ScenarioError: rate or round-trip time are not known.
    """
    try:
        of = model or model_of(explained)
    except ScenarioError as error:
        raise ScenarioError(f"--scenario: {error.args[0]}") from None
    largest = explained[0]
    sections = of.sections()
    comments = [f"# {key}: {why}" for key, why in largest.unknown.items()]
    if of.is_bound:
        comments.append(f"# The rate is at least {of.rate_bps:.0f} bit/s.")
    transfer, *others = sections["flow"]
    lines = [
        f'title = "The path from {largest.sender} to {largest.receiver}"',
        f'duration = "{min(max(largest.duration_s, LEAST_S), MOST_S):.0f} s"',
        "# A packet with 40 B of headers; a frame has 30 B more of headers, options and its check.",
        f"packet = {toml(sections['packet'])}",
        "",
        *comments,
        *_section("[bottleneck]", sections["bottleneck"]),
        "",
        f"# {controller_of(largest)[1]}",
        *_section("[[flow]]", transfer),
        *(line for flow in others for line in ("", *_section("[[flow]]", flow))),
    ]
    return "\n".join(lines) + "\n"


def _section(heading: str, keys: Mapping[str, object]) -> list[str]:
    return [heading, *(f"{key} = {_value(value)}" for key, value in keys.items())]


def _value(value: object) -> str:
    """Write a value; the keys of a table are names."""
    if not isinstance(value, Mapping):
        return toml(value)
    return f"{{ {', '.join(f'{key} = {_value(of)}' for key, of in value.items())} }}"
