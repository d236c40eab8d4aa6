"""What the stacks give beside their packets: contents, keys, logs, and what of it is not known."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from aioquic.quic.crypto import CryptoError  # type: ignore[attr-defined]

import fairhaul
from fairhaul import RunError, ScenarioError, cli
from fairhaul.figures import figures
from fairhaul.record.record import Record
from fairhaul.record.trace import write
from fairhaul.record.trace.pcapng import RECEIVER, SENDER
from fairhaul.runs.runs import for_each
from fairhaul.scenario.read import read_as_typed, read_one
from fairhaul.scenario.template import new_stack
from fairhaul.studies.expectations.checking import check
from fairhaul.studies.expectations.words import measured
from fairhaul.studies.explanation import explain
from tests.quic_packets import Direction, Stream, secrets_of, short_packets, streams
from tests.test_stacks import built
from tools.stacks.repeat import BASE

LIBRARIES = Path(fairhaul.__file__).parent / "stacks"
needs_stacks = pytest.mark.skipif(
    not (LIBRARIES / "libfairhaul_quinn.so").exists(), reason="`make stacks` builds the stacks"
)
PATH: dict[str, str | float] = {
    "bottleneck.rate": "20 Mbit/s",
    "flow.stack.rtt": "40 ms",
    "duration": "5 s",
    "warmup": "0 s",
}
# The end says which texts it was asked for, each once.
RECORD = """
static size_t record(void *handle, uint32_t kind, uint8_t *bytes, size_t room)
{
	struct end *end = handle;
	const char *text = kind == FAIRHAUL_LOG ? "{}\\n" : "CLIENT_RANDOM 00 01\\n";

	if (end->recorded & 1 << kind)
		return 0;
	end->recorded |= 1 << kind;
	snprintf((char *)bytes, room, "%s", text);
	return GIVEN;
}

const struct fairhaul_stack FAIRHAUL_STACK = {
	.record = record,"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(new_stack("arq", tmp_path_factory.mktemp("outlet")))


def recording(made: Path, folder: Path, given: str) -> Path:
    """Compile the protocol with an outlet, and give its scenario."""
    shutil.copytree(made, folder, dirs_exist_ok=True)
    source = folder / "arq.c"
    text = source.read_text().replace("struct end {", "struct end {\n\tint recorded;", 1)
    exported = "const struct fairhaul_stack FAIRHAUL_STACK = {"
    assert exported in text
    source.write_text(text.replace(exported, RECORD.replace("GIVEN", given)))
    built(folder)
    return folder / "first.toml"


def traced(scenario: Path, settings: dict[str, str | float], flow: str) -> Record:
    """Run a scenario, and give its record with the trace of a flow."""
    found: list[Record] = []
    plan = [read_one(scenario, settings)]
    for_each(plan, lambda _, record: found.append(record), jobs=1, trace=flow)
    return found[0]


def test_a_stack_in_c_gives_keys_and_a_log_when_its_flow_is_traced(
    made: Path, tmp_path: Path
) -> None:
    scenario = recording(made, tmp_path, "strlen(text)")
    record = traced(scenario, {"duration": "2 s", "warmup": "1 s"}, "mine")
    outlet = record.outlet
    assert outlet is not None
    # Both ends have each text.
    assert outlet.keys == b"CLIENT_RANDOM 00 01\n" * 2
    assert outlet.logs == (b"{}\n", b"{}\n")
    assert record.trace is not None
    sent = record.trace.filter(what="sent")
    content = outlet.contents[0, True, sent["number"][0]]
    assert len(content) == sent["bytes"][0] - 28
    write(record, "mine", "pcapng", tmp_path / "mine.pcapng")
    capture = (tmp_path / "mine.pcapng").read_bytes()
    assert b"KSLT" + (40).to_bytes(4, "little") + outlet.keys in capture
    assert content in capture
    write(record, "mine", "qlog", tmp_path / "mine.qlog")
    assert (tmp_path / "mine.sender.sqlog").read_bytes() == b"{}\n"
    # Without these texts the log has the datagrams; what the answers acknowledge is not known.
    (tmp_path / "plain").mkdir()
    plain = traced(made / "first.toml", {"duration": "2 s", "warmup": "1 s"}, "mine")
    write(plain, "mine", "qlog", tmp_path / "plain" / "mine.qlog")
    events = json.loads((tmp_path / "plain" / "mine.qlog").read_text())["traces"][0]["events"]
    answers = [of["data"] for of in events if of["name"] == "transport:packet_received"]
    assert answers
    assert all(answer["frames"] == [] for answer in answers)
    (note,) = explain(tmp_path / "plain" / "mine.qlog").notes
    assert "has sent no data of streams" in note
    # The other flow is no stack.
    other = traced(scenario, {"duration": "2 s", "warmup": "1 s"}, "other").outlet
    assert other is not None
    assert (other.contents, other.keys, other.logs) == ({}, b"", (b"", b""))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("room + 1", "record gives 65536 bytes, and its buffer holds 65535"),
        ("end->recorded = 0, 1", "record gives one part after the other, without end"),
    ],
)
def test_a_stack_that_gives_more_than_there_is_ends_the_run(
    made: Path, tmp_path: Path, given: str, expected: str
) -> None:
    scenario = recording(made, tmp_path, given)
    fairhaul.run(scenario, {"duration": "2 s", "warmup": "1 s"})
    with pytest.raises(RunError, match=expected):
        traced(scenario, {"duration": "2 s", "warmup": "1 s"}, "mine")


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """One flow over 20 Mbit/s and 40 ms."""
    file = tmp_path / "stack.toml"
    file.write_text(BASE)
    return file


@needs_stacks
@pytest.mark.parametrize("stack", ["quinn", "noq"])
def test_wireshark_decrypts_the_capture_of_a_stack(scenario: Path, stack: str) -> None:
    tshark = shutil.which("tshark")
    if tshark is None:
        pytest.skip("tshark is not installed (Debian: tshark)")
    record = traced(scenario, {**PATH, "duration": "1 s", "flow.stack.stack": stack}, "stack")
    file = scenario.with_name("stack.pcapng")
    write(record, "stack", "pcapng", file)

    def packets(*condition: str) -> int:
        command = [tshark, "-r", str(file), "-Y", " && ".join(condition), "-T", "fields"]
        done = subprocess.run(
            [*command, "-e", "frame.number"], capture_output=True, text=True, check=True
        )
        return len(done.stdout.split())

    assert record.trace is not None
    every = record.trace.filter(record.trace["what"].is_in(["sent", "ack_received"])).height
    assert packets("quic") == every
    assert packets("quic.short") > 100
    # Frames are known of packets that are decrypted.
    assert packets("quic.short", "quic.frame_type") == packets("quic.short")
    assert packets("quic.stream.stream_id") > 100
    assert packets("_ws.expert.severity == error") == 0


@needs_stacks
@pytest.mark.parametrize("stack", ["quinn", "noq"])
def test_the_keys_of_a_capture_decrypt_its_packets_and_these_carry_the_data(
    scenario: Path, stack: str
) -> None:
    """Nothing is lost, so every byte of the one stream is in one frame."""
    settings = {**PATH, "duration": "1 s", "flow.stack.stack": stack, "flow.stack.traffic": "40 kB"}
    record = traced(scenario, settings, "stack")
    file = scenario.with_name("stack.pcapng")
    write(record, "stack", "pcapng", file)
    capture = file.read_bytes()
    secrets = secrets_of(capture)
    ends = {
        SENDER: Direction(secrets["CLIENT_TRAFFIC_SECRET_0"]),
        RECEIVER: Direction(secrets["SERVER_TRAFFIC_SECRET_0"]),
    }
    packets = list(short_packets(capture))
    found: list[Stream] = []
    for source, packet, id_length in packets:
        carried = list(streams(ends[source].frames_of(packet, id_length)))
        assert source == SENDER or not carried
        found += carried
    place = 0
    for frame in found:
        assert (frame.stream, frame.offset) == (found[0].stream, place)
        place += len(frame.data)
    assert place == 40_000
    assert [frame.is_last for frame in found] == [False] * (len(found) - 1) + [True]
    source, packet, id_length = packets[-1]
    with pytest.raises(CryptoError):
        Direction(secrets["EXPORTER_SECRET"]).frames_of(packet, id_length)


@needs_stacks
@pytest.mark.parametrize("stack", ["quinn", "noq"])
def test_the_log_of_a_stack_says_what_its_trace_says(scenario: Path, stack: str) -> None:
    """It has each packet with data, and `explain` reads the path and its limit from it."""
    record = traced(scenario, {**PATH, "flow.stack.stack": stack}, "stack")
    write(record, "stack", "qlog", scenario.with_name("stack.qlog"))
    file = scenario.with_name("stack.sender.sqlog")
    lines = [json.loads(line) for line in file.read_text().split("\x1e") if line.strip()]
    sent = [line for line in lines[1:] if line["name"].endswith(":packet_sent")]
    assert record.trace is not None
    # A datagram of the handshake may hold several packets.
    assert 0 <= len(sent) - record.trace.filter(what="sent").height <= 5
    assert scenario.with_name("stack.receiver.sqlog").stat().st_size > 0
    (connection,) = explain(file).connections
    assert connection.source == "qlog"
    assert connection.path.rtt_s is not None
    assert connection.path.rtt_s.value == pytest.approx(0.04, rel=0.15)
    delivered = record.flow_series["goodput_bytes"].sum()
    assert connection.data_bytes == pytest.approx(delivered, rel=0.1)
    assert connection.main in {"path", "congestion_window"}
    assert connection.window_bytes is None
    # quinn does not log frames, so what is retransmitted is not known.
    assert (connection.retransmitted is None) == (stack == "quinn")


@needs_stacks
def test_a_stack_of_ip_packets_has_them_in_its_capture(scenario: Path) -> None:
    """smoltcp's packets are TCP, which `explain` reads from the capture."""
    record = traced(scenario, {**PATH, "flow.stack.stack": "smoltcp"}, "stack")
    file = scenario.with_name("stack.pcapng")
    write(record, "stack", "pcapng", file)
    (connection,) = explain(file).connections
    assert connection.data_bytes > 1e6
    assert connection.ports is not None


@needs_stacks
def test_a_window_that_a_stack_does_not_show_is_missing(scenario: Path) -> None:
    settings = {**PATH, "flow.stack.stack": "smoltcp"}
    result = fairhaul.run(scenario, settings)
    (flow,) = result.measures[0]["flows"]
    assert flow["cwnd_mean"] is None
    record = result.records[0]
    assert record.flow_series["cwnd_packets"].is_null().all()
    assert record.flow_series["ssthresh_packets"].is_null().all()
    assert "cwnd" not in {figure.name.rpartition("-")[2] for figure in figures.of_run(record, "")}
    expected = '\n[[expect]]\nwhat = "small"\nnumber = "NUMBER"\nat_most = 4\nsource = "none"\n'
    for number in ("min(flow_series.stack.cwnd_packets)", "flows.stack.cwnd_mean"):
        scenario.write_text(BASE + expected.replace("NUMBER", number))
        given = {key: value for key, value in settings.items() if key != "warmup"}
        done = check(scenario, {**given, "duration": "2 s"})
        ((checked,),) = (case.expectations for case in done.cases)
        assert checked.verdict == "undecided"
        shown = measured(checked.by["sim"], checked.expectation.form)
        assert shown == "not known: no run has this number"


BESIDE = """
title    = "A flow beside another one"
duration = "6 s"
warmup   = "1 s"

[bottleneck]
rate  = "20 Mbit/s"
delay = "5 ms"
queue = { kind = "droptail", capacity = "1 bdp" }
loss  = LOSS

[[flow]]
name  = "mine"
rtt   = "40 ms"
stack = "quinn"

[[flow]]
name       = "other"
rtt        = "40 ms"
controller = "cubic"
"""
FLOOD = (
    BESIDE.replace("LOSS", "0.0001")
    + """
[[expect]]
what     = "the flow is slow"
number   = "flows.mine.goodput_bps"
at_most  = 1e6
source   = "none"

[[expect]]
what     = "the link is used"
number   = "links.bottleneck.utilization"
at_least = 0.1
source   = "none"
"""
)


@needs_stacks
def test_what_is_not_met_leaves_a_reduced_scenario_with_keys_and_logs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the other flow, without losses and in a quarter of the time the flow is fast, too."""
    monkeypatch.chdir(tmp_path)
    Path("flood.toml").write_text(FLOOD)
    assert cli.status_of(["check", "flood.toml", "--stack", "noq"]) == 1
    folder = tmp_path / "not-met" / "flood"
    (reduced,) = read_as_typed(folder / "scenario.toml", [])
    described = reduced.described
    assert [flow["name"] for flow in described["flows"]] == ["mine"]
    assert described["duration_s"] == 1.5
    assert len(json.loads(reduced.expectations())) == 1
    assert "loss" not in (folder / "scenario.toml").read_text()
    assert "without the flow other" in (folder / "not-met.txt").read_text()
    assert b"CLIENT_TRAFFIC_SECRET_0" in (folder / "packets.pcapng").read_bytes()
    for end in ("sender", "receiver"):
        assert (folder / f"mine.{end}.sqlog").stat().st_size > 10_000
    command = (folder / "command.sh").read_text().splitlines()[-1]
    assert "scenario.toml" in command
    monkeypatch.chdir(folder)
    assert cli.status_of(shlex.split(command)[1:]) == 0
    assert (folder / "run" / "mine.pcapng").stat().st_size == (
        folder / "packets.pcapng"
    ).stat().st_size


LATE = (
    BESIDE.replace("LOSS", '{ at = ["0.3 s"], flows = ["mine"] }')
    + """
[[expect]]
what     = "the stack gets more than the other flow, and leaves it some"
number   = "flows.mine.link_share"
at_least = 0.6
at_most  = 0.8
source   = "none"
"""
)


def test_a_reduced_scenario_has_its_event_and_is_not_met_on_the_same_side(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside the other flow the stack gets too little; alone it would get too much."""
    monkeypatch.chdir(tmp_path)
    Path("late.toml").write_text(LATE)
    library = next(made.glob("*.so"))
    assert cli.status_of(["check", "late.toml", "--stack", str(library)]) == 1
    folder = tmp_path / "not-met" / "late"
    (reduced,) = read_as_typed(folder / "scenario.toml", [])
    assert [flow["name"] for flow in reduced.described["flows"]] == ["mine", "other"]
    assert "0.3 s" in (folder / "scenario.toml").read_text()
    told = (folder / "not-met.txt").read_text().splitlines()
    found = [line for line in told if "link_share is" in line]
    assert found
    for line in found:
        values = line.partition(" is ")[2].partition(";")[0].split(", ")
        assert max(map(float, values)) < 0.6


def event(time_ms: float, name: str, number: int | None = None, **data: float) -> dict[str, object]:
    """Give an event of a log, of a packet or of the metrics."""
    header = {"packet_type": "1RTT", "packet_number": number, **data}
    return {"time": time_ms, "name": name, "data": data if number is None else {"header": header}}


LOG = [
    {"qlog_version": "0.3", "qlog_format": "JSON-SEQ", "title": "small", "trace": {}},
    event(0, "transport:packet_sent", 0, length=1200),
    event(1, "transport:packet_sent", 1, length=1200),
    event(2, "transport:packet_sent", 2, length=40),
    event(40, "recovery:metrics_updated", min_rtt=40, bytes_in_flight=1240),
    event(41, "recovery:packet_lost", 1),
    event(41, "recovery:metrics_updated", bytes_in_flight=40),
]


def sequence(*events: object) -> str:
    return "".join(f"\x1e{json.dumps(event)}\n" for event in events)


def test_a_log_without_frames_is_read_by_its_bytes_in_flight(tmp_path: Path) -> None:
    """Of two packets with data one is acknowledged after 40 ms, and one is lost."""
    file = tmp_path / "small.sqlog"
    file.write_text(sequence(*LOG))
    (connection,) = explain(file).connections
    assert (connection.sender, connection.data_bytes) == ("small", 2400)
    assert connection.path.rtt_s is not None
    assert connection.path.rtt_s.value == pytest.approx(0.04)
    assert connection.retransmitted is None
    # A log that is still written ends within a text.
    file.write_text(sequence(*LOG) + '\x1e{"time": 42.0, "na')
    assert explain(file).connections[0].data_bytes == 2400


def sent(time_ms: float, number: int, offset: int) -> dict[str, object]:
    """Give the event of a packet with 1000 bytes of a stream, as quiche logs it."""
    raw = {"payload_length": 1000}
    frame = {"frame_type": "stream", "stream_id": 2, "offset": offset, "raw": raw}
    header = {"packet_type": "1RTT", "packet_number": number}
    data = {"header": header, "raw": {"length": 1040}, "frames": [frame]}
    return {"time": time_ms, "name": "quic:packet_sent", "data": data}


def acknowledged(time_ms: float, *ranges: list[int]) -> dict[str, object]:
    """Give the event of an acknowledgement; the ends of its ranges are in them."""
    frames = [{"frame_type": "ack", "acked_ranges": ranges}]
    data = {"header": {"packet_type": "1RTT", "packet_number": 0}, "frames": frames}
    return {"time": time_ms, "name": "quic:packet_received", "data": data}


def test_a_log_that_names_no_lost_packets_shows_them_by_the_packet_threshold(
    tmp_path: Path,
) -> None:
    """Of ten packets the third is lost and sent again; the fifth is late, overtaken by four."""
    file = tmp_path / "quiche.sqlog"
    schema = {"file_schema": "urn:ietf:params:qlog:file:sequential", "title": "quiche"}
    first = [sent(number, number, 1000 * number) for number in range(10)]
    acks = [
        acknowledged(41, [0, 1]),
        acknowledged(45, [0, 1], [3]),
        acknowledged(48, [0, 1], [3], [5, 8]),
        acknowledged(49, [0, 1], [3, 9]),
    ]
    file.write_text(sequence(schema, *first, *acks, sent(50, 10, 2000), acknowledged(90, [3, 10])))
    (connection,) = explain(file).connections
    assert connection.measured is not None
    assert (connection.measured.sent, connection.measured.lost) == (11, 1)
    assert connection.retransmitted == pytest.approx(1 / 11)
    assert connection.data_bytes == 10_000


def test_a_log_that_cannot_be_read_is_refused_or_noted(tmp_path: Path) -> None:
    file = tmp_path / "small.sqlog"
    file.write_text(sequence(LOG[0]))
    with pytest.raises(ScenarioError, match=r"small\.sqlog: the qlog cannot be read: it has no"):
        explain(file)
    old = {"qlog_version": "draft-01", "traces": [{"events": [[0, "transport", "x", {}]]}]}
    file.write_text(json.dumps(old, indent=1))
    with pytest.raises(ScenarioError, match="its events are no objects"):
        explain(file)
    file.write_text(sequence(LOG[0], LOG[4]))
    done = explain(file)
    assert not done.connections
    assert "has sent no data" in done.notes[0]
