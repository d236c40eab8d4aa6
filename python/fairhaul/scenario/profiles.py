"""Profiles: the words for the senders and receivers of flows, and what they are."""

from __future__ import annotations

from collections.abc import Iterable

PROFILES = {
    "plain": "ideal hosts that follow the RFCs by the letter",
    "linux-tcp": "ideal hosts with the TCP of Linux",
    "linux-tuned": "hosts with Linux, whose buffers limit nothing",
    "linux": "hosts with Linux and its default buffers, which hold about 4 MB of a flow",
}

# What commands that compare controllers use unless they are told otherwise: with the default
# buffers they would compare buffers on long, fast paths.
TUNED = "linux-tuned"
# Hosts with Linux that send and receive packet by packet.
BY_PACKET = "linux-tcp"

# What `--profile` takes, as the help shows it.
SHOWN = "|".join(PROFILES)


def checked(profile: str, place: str) -> str:
    """Give a profile, if it is one.

    Raises:
        ScenarioError: it is none; `place` is where it was given.
    """
    if profile not in PROFILES:
        from fairhaul.scenario.read import ScenarioError
        from fairhaul.text.nearest import hint

        raise ScenarioError(f"{place} {profile}: {hint(profile, list(PROFILES))}")
    return profile


def line(used: Iterable[str]) -> str:
    """Say which senders and receivers flows had."""
    from fairhaul.text.phrases import listed

    found = [profile for profile in PROFILES if profile in set(used)]
    each = listed([f'{PROFILES[profile]} (profile = "{profile}")' for profile in found])
    return f"Simulated were {each}."
