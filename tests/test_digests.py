"""Runs give what they gave when their digests were recorded, to the bit."""

from __future__ import annotations

import json

from tests import digests


def test_records_are_what_they_were() -> None:
    before, now = json.loads(digests.RECORDED.read_text(encoding="utf-8")), digests.now()
    assert list(before) == list(now), "python -m tests.digests records them anew"
    moved = [name for name, digest in now.items() if digest != before[name]]
    assert not moved, "a rule has changed; python -m tests.digests records the new records"
