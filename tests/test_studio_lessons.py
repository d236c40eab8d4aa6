"""Every sentence of a lesson that states a result is true of its run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import fairhaul
from fairhaul.studio.lessons import HOME, lessons

if TYPE_CHECKING:
    from fairhaul.measures import Measures


def of_lesson(name: str) -> list[Measures]:
    """Run the set-ups of a lesson."""
    lesson = next(it for it in lessons() if it.name == name)
    return [fairhaul.run(Path(str(HOME)) / file).runs[0] for file in lesson.files]


def rates(run: Measures) -> list[float]:
    return [flow.goodput_mbps for flow in run.flows]


def test_lessons_have_different_names_three_sentences_and_a_link() -> None:
    known = lessons()
    assert len({it.name for it in known}) == len(known) >= 12
    for lesson in known:
        assert lesson.text.count(". ") + 1 >= 3, lesson.name
        assert lesson.link.startswith("http")
        assert 1 <= len(lesson.texts) <= 2
