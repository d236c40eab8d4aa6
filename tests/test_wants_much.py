"""Input that is small and wants much ends with a sentence, soon, and without much memory."""

from __future__ import annotations

import random

import pytest

from .wants_much import KINDS, LARGEST, drawn, judge

SAID = {
    "programs": "sections",
    "variables": "sections",
    "type names": "(BTF) is damaged",
    "members": "members of types",
    "accesses": ".BTF.ext",
    "symbols": "symbols",
    "section names": "sections",
}


@pytest.mark.parametrize("kind", KINDS)
def test_an_object_that_wants_much_is_refused_with_a_sentence(kind: str) -> None:
    count, size = LARGEST[kind]
    said = judge(KINDS[kind](count, size).written())
    assert not said.startswith("!"), said
    assert SAID[kind] in said
    assert len(said) < 300


@pytest.mark.parametrize(
    ("kind", "count", "size", "reason"),
    [
        ("programs", 3, 1 << 20, "overlap"),
        ("programs", 1, 4 << 20, "instructions"),
        ("variables", 40, 1 << 17, "bytes of variables"),
        ("variables", 1, 1 << 60, "bytes of variables"),
        ("type names", 1 << 18, 3, "types"),
        ("symbols", 1 << 16, 3, "symbols"),
        ("symbols", 60_000, 600, "relocation"),
        ("accesses", 1, 30, ".BTF.ext"),
        ("accesses", 1 << 17, 2, "accesses"),
        ("section names", 900, 1 << 20, "no table of operations"),
    ],
)
def test_each_sum_has_a_bound_of_its_own(kind: str, count: int, size: int, reason: str) -> None:
    said = judge(KINDS[kind](count, size).written())
    assert not said.startswith("!"), said
    assert reason in said


def test_objects_that_are_drawn_end_with_a_sentence() -> None:
    chance = random.Random(1)
    for _ in range(6):
        kind, count, size = drawn(chance)
        said = judge(KINDS[kind](count, size).written())
        assert not said.startswith("!"), f"{kind}, {count}, {size}: {said}"
