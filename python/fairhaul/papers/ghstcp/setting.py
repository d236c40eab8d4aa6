"""What the experiments of gHSTCP share: its variants, and what makes round-trip times swing."""

from __future__ import annotations

from collections.abc import Mapping

Settings = Mapping[str, object]

REFINED, ORIGINAL, BY_SIGN = "refined", "original", "original by sign"

# By the sign of the correlation alone is the paper to the letter; a test is what it needs to be of
# use, and what the rule has here unless said.
VARIANTS: Mapping[str, Settings] = {
    REFINED: {"kind": "ghstcp"},
    ORIGINAL: {"kind": "ghstcp", "variant": "original"},
    BY_SIGN: {"kind": "ghstcp", "variant": "original", "significance": "none"},
}

NONE, LITTLE, MUCH, HELD = "none", "jitter 0.05 ms", "jitter 0.3 ms", "delayed ACKs"

# What strikes the acknowledgements of the flow `one`.
SWINGS: Mapping[str, Settings] = {
    NONE: {},
    LITTLE: {"bottleneck.jitter": "uniform 0 s..0.05 ms"},
    MUCH: {"bottleneck.jitter": "uniform 0 s..0.3 ms"},
    HELD: {"flow.one.delayed_ack": True},
}

# Data go over the other direction of the one link.
DATA_LINK = 1
