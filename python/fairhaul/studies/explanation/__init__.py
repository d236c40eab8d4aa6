"""Explanation: what limited the connections in a file, and the path that they show.

Packet captures are fitted; the output of `ss -tin` and `iperf3 --json`, and a recording of
`fairhaul flows`, say less: what is not known is None with a reason. The method is described in
`docs/explain.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Unpack

from fairhaul import _core
from fairhaul.host.recording import is_recording
from fairhaul.jobs.values import Running, RunOptions
from fairhaul.report.outcome import Outcome, StudyResult
from fairhaul.scenario.read import ScenarioError
from fairhaul.studies.explanation.causes import causes_of
from fairhaul.studies.explanation.clocks import Look, judged_of
from fairhaul.studies.explanation.estimate import Estimate
from fairhaul.studies.explanation.limits import carried_of, pauses_of, window_of
from fairhaul.studies.explanation.looks import (
    Ends,
    Looks,
    ends_of,
    looks_of,
    plain,
    recorded_looks,
)
from fairhaul.studies.explanation.measured import measured
from fairhaul.studies.explanation.moments import moments_of, periods_of
from fairhaul.studies.explanation.path import Group, groups_of, path_of
from fairhaul.studies.explanation.qlog import is_qlog, trace_of
from fairhaul.studies.explanation.recognised import recognised
from fairhaul.studies.explanation.recorded import of_recording
from fairhaul.studies.explanation.results import (
    Explained,
    Path,
    Period,
    Recognised,
    TokenBucket,
)
from fairhaul.studies.explanation.scenario import scenario_text
from fairhaul.studies.explanation.sockets import is_iperf3, of_iperf3, of_ss
from fairhaul.studies.explanation.trace import read_capture

if TYPE_CHECKING:
    from fairhaul.studies.explanation.what_if import WhatIf

__all__ = [
    "Estimate",
    "Explained",
    "Explanation",
    "Path",
    "Period",
    "Recognised",
    "TokenBucket",
    "explain",
]

# The most that a text of `ss` or iperf3 may have, in bytes.
MOST_TEXT = 256 << 20
# A smaller share of the time needs no reason.
LEAST_SHARE = 0.01
ALIKE = (
    "neither a window nor a loss nor a queue shows what limits: the send buffer and the "
    "application look alike; `ss -tinm` on the sender would tell"
)
LITTLE = "the capture holds too little of the connection, or one direction alone"
# Files of these kinds have connections of their own; the others speak of the sender's sockets.
OWN = ("capture", "qlog", "iperf3")


@dataclass(frozen=True, kw_only=True)
class Explanation(StudyResult):
    """What is explained of the connections in files.

    `connections` are sorted by their bytes, the largest first. `notes` say what of the files could
    not be used. `what_if` says what changes would bring, if that was requested.
    """

    files: Sequence[str]
    connections: Sequence[Explained]
    notes: Sequence[str]
    what_if: WhatIf | None = None

    def outcome(self) -> Outcome:
        """Put the explanation into words and tables."""
        from fairhaul.studies.explanation.words import outcome_of

        return outcome_of(self)

    def scenario(self) -> str:
        """Give the path and the connections as the text of a scenario.

        Raises:
            ScenarioError: the rate or the round-trip time of the path is not known.
        """
        model = None if self.what_if is None else self.what_if.model
        return scenario_text(self.connections, model)


def explain(
    files: str | PathLike[str] | Iterable[str | PathLike[str]],
    *,
    anonymous: bool = False,
    what_if: bool = False,
    **options: Unpack[RunOptions],
) -> Explanation:
    """Say what limited the connections in files, and estimate their path.

    The format is recognised by the content: pcap and pcapng, qlog, `ss -tin`, and the JSON of
    iperf3, each also compressed by gzip, xz or zstd; and the directory or a file that `fairhaul
    flows --record` wrote. A connection that is in a capture and in what its kernel said of it is
    one: the clocks of the kernel decide what headers do not separate.

    Args:
        files: one file or several.
        anonymous: whether addresses are replaced by `host-1`, `host-2` and so on.
        what_if: whether the path is simulated as it is and with single changes.
        options: how the runs are run, as `fairhaul.jobs.values.Running` has it.

    Raises:
        ScenarioError: a file cannot be read, or has another format.
        RunError: a run failed.
    """
    names = [files] if isinstance(files, str | PathLike) else list(files)
    if not names:
        raise ScenarioError("no file to explain")
    found: list[Explained] = []
    notes: list[str] = []
    places = list(map(FilePath, names))
    captures = [place for place in places if _is_capture(place)]
    # What the kernel said of sockets is read before the captures, and of no use without them.
    looks: dict[Ends, Sequence[Look]] | None = {} if captures else None
    for place in places:
        if place not in captures:
            explained, said = _explained(place, looks)
            found += explained
            notes += said
    for place in captures:
        explained, said = _of_capture(place, looks or {})
        found += explained
        notes += said
    captured = {_ends(of) for of in found if of.source == "capture"}
    found = [of for of in found if of.source in OWN or _ends(of) not in captured]
    found.sort(key=lambda of: -of.data_bytes)
    if anonymous:
        found = _renamed(found)
    shown = [f"file {at}" for at, _ in enumerate(names, 1)] if anonymous else list(map(str, names))
    simulated = _what_if(found, Running.of(options)) if what_if else None
    return Explanation(files=shown, connections=found, notes=notes, what_if=simulated)


def _what_if(found: Sequence[Explained], running: Running) -> WhatIf:
    # It runs the simulator, which reading alone does not need.
    from fairhaul.studies.explanation.what_if import what_if

    with running.opened() as opened:
        return what_if(found, opened)


def text_of(file: FilePath) -> str:
    """Read a text, which may be compressed.

    Raises:
        ScenarioError: it cannot be read, or is too large.
    """
    return _core.read_content(file, MOST_TEXT).decode(errors="replace")


def _ends(of: Explained) -> tuple[str, str, tuple[int, int] | None]:
    return plain(of.sender), plain(of.receiver), of.ports


def _is_capture(file: FilePath) -> bool:
    return not is_recording(file) and _core.is_capture(file)


def _explained(
    file: FilePath, looks: dict[Ends, Sequence[Look]] | None
) -> tuple[list[Explained], Sequence[str]]:
    """Explain a file that is no capture, and add the looks at sockets that it has to `looks`."""
    if is_recording(file):
        if looks is not None:
            looks.update(recorded_looks(file))
        return of_recording(file)
    text = text_of(file)
    if is_qlog(text):
        return _of_qlog(text, file)
    try:
        if is_iperf3(text):
            return of_iperf3(text), []
        if looks is not None:
            looks.update(looks_of(text))
        return of_ss(text), []
    except ScenarioError as error:
        known = (
            ""
            if is_iperf3(text)
            else "; it is neither pcap, pcapng, qlog nor the JSON of iperf3, so"
        )
        place = f"{file}{known}" if known else str(file)
        raise ScenarioError(*(f"{place}: {mistake}" for mistake in error.args)) from None


def _of_qlog(text: str, file: FilePath) -> tuple[list[Explained], Sequence[str]]:
    trace = trace_of(text, file)
    if trace is None:
        return [], [f"{file}: the end that wrote this log has sent no data of streams."]
    (group,) = groups_of([trace])
    return [replace(of, source="qlog", ports=None) for of in of_group(group, {})], []


def _of_capture(file: FilePath, looks: Looks) -> tuple[list[Explained], Sequence[str]]:
    capture = read_capture(file)
    notes = list(capture.notes)
    if not capture.traces:
        packets = f"{capture.packets} packets, {capture.others} of them not TCP"
        notes.append(f"{file}: no connection carries data ({packets}).")
    explained = [of for group in groups_of(capture.traces) for of in of_group(group, looks)]
    return explained, notes


def of_group(group: Group, looks: Looks) -> Iterable[Explained]:
    figures = measured(group.traces)
    for trace in group.traces:
        path, reasons = path_of(trace, group.bucket)
        judged = judged_of(trace, group.bucket, looks.get(ends_of(trace), ()))
        limits, held = judged.limits, judged.held
        if max(limits["unknown"], judged.not_separated or 0.0) >= LEAST_SHARE:
            reasons["limits"] = LITTLE if held is None else ALIKE
        controllers, why = recognised(trace, limits, is_policed=path.policer is not None)
        if why is not None:
            reasons["recognised"] = why
        if trace.uncaptured:
            reasons["capture"] = f"{trace.uncaptured:.0f} bytes were acknowledged, not captured"
        packets = float(trace.sent.packets.sum())
        again = float(trace.sent.packets[trace.sent.again].sum())
        yield Explained(
            sender=trace.sender,
            receiver=trace.receiver,
            ports=trace.ports,
            controller=judged.controller,
            not_separated=judged.not_separated,
            data_bytes=int(trace.data_bytes),
            duration_s=max(0.0, trace.last_s - trace.first_s),
            limits=limits,
            carried=None if held is None else carried_of(trace, held),
            causes=None if held is None else causes_of(trace, group.bucket, held),
            path=path,
            unknown=reasons,
            pauses=pauses_of(trace),
            recognised=controllers,
            window_bytes=window_of(trace),
            retransmitted=again / packets if packets and trace.shows_again else None,
            mss=trace.mss,
            measured=figures,
            joint=len(group.traces),
            periods=() if held is None else periods_of(held),
            # Only the largest connection is drawn, and it is the first one of its hosts.
            moments=moments_of(trace, held) if held and trace is group.traces[0] else None,
        )


def _renamed(found: Sequence[Explained]) -> list[Explained]:
    hosts: dict[str, str] = {}
    for of in found:
        for address in (of.sender, of.receiver):
            hosts.setdefault(address, f"host-{len(hosts) + 1}")
    return [replace(of, sender=hosts[of.sender], receiver=hosts[of.receiver]) for of in found]
