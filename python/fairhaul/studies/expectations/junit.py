"""The verdicts of a check as JUnit XML, which CI systems show."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from fairhaul.studies.expectations import NOT_MET, UNDECIDED
from fairhaul.studies.expectations.words import verdicts
from fairhaul.text.printable import printable

if TYPE_CHECKING:
    from fairhaul.studies.expectations.checking import Check, Checked, CheckedCase


def write_junit(study: str, checks: Sequence[tuple[str, Check]], file: Path) -> None:
    """Write the verdicts, a suite for each scenario and a test case for each expectation.

    The file is written beside its place and then renamed, so that it is never incomplete. An
    undecided expectation is a skipped test, of a strict check a failed one.

    Args:
        study: the command that judged.
        checks: each with the name of what is judged, before the titles of its suites; or empty.
        file: the file.
    """
    root = ET.Element("testsuites", name=f"fairhaul {study}")
    totals = dict.fromkeys(("tests", "failures", "skipped"), 0)
    for before, case, strict in (
        (name, case, done.strict) for name, done in checks for case in done.cases
    ):
        suite = _suite(case, before, strict=strict)
        root.append(suite)
        for key in totals:
            totals[key] += int(suite.get(key, "0"))
    for key, count in totals.items():
        root.set(key, str(count))
    ET.indent(root)
    draft = file.with_name(f".{file.name}.draft")
    try:
        ET.ElementTree(root).write(draft, encoding="utf-8", xml_declaration=True)
        draft.replace(file)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _suite(case: CheckedCase, before: str, *, strict: bool) -> ET.Element:
    name = _text(f"{before}: {case.case.title}" if before else case.case.title)
    suite = ET.Element("testsuite", name=name, file=_text(case.case.file))
    for checked in case.expectations:
        suite.append(_test(checked, name, strict=strict))
    suite.set("tests", str(len(case.expectations)))
    for key, tag in (("failures", "failure"), ("skipped", "skipped")):
        suite.set(key, str(len(suite.findall(f"testcase/{tag}"))))
    for engine, why in case.refused.items():
        ET.SubElement(suite, "system-out").text = _text(f"not run on {engine}: {why}")
    return suite


def _test(checked: Checked, suite: str, *, strict: bool) -> ET.Element:
    test = ET.Element("testcase", classname=suite, name=_text(checked.expectation.what))
    words = _text(verdicts(checked))
    if checked.verdict == NOT_MET or (strict and checked.verdict == UNDECIDED):
        failure = ET.SubElement(test, "failure", message=words, type=checked.verdict)
        failure.text = _text(
            f"{checked.expectation.number}\nexpected: {checked.expectation.bound()}\n"
            f"source: {checked.expectation.source or 'none'}"
        )
    elif checked.verdict == UNDECIDED:
        ET.SubElement(test, "skipped", message=words)
    else:
        ET.SubElement(test, "system-out").text = words
    return test


def _text(text: str) -> str:
    """Write control characters out, which XML cannot hold."""
    return "\n".join(printable(line) for line in text.split("\n"))
