"""Depths of a queue compared with measurements: the reader, the statistic, the counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from tools.queues import __main__ as command
from tools.queues.comparison import Compared, report
from tools.queues.rows import BadFile, Row, depth, read

HEAD = "algorithm,num_flows,max_queue_depth_packets,depth_p50\n"


def row(flows: int = 1, buffer: float = 111.1, median: float = 58) -> Row:
    return Row(controller="reno", flows=flows, buffer=buffer, median=median)


def test_a_file_has_the_rows_with_a_buffer_of_17_packets(tmp_path: Path) -> None:
    file = tmp_path / "queues.csv"
    file.write_text(HEAD + "reno,1,111.1,58\nreno,2,13.3,2\nbbr,4,40.0,38\n", encoding="utf-8")
    assert [each.name for each in read(file)] == ["reno, 1 flow, 111", "bbr, 4 flows, 40"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("algorithm,num_flows\n", ":1: the column max_queue_depth_packets is missing"),
        (HEAD + "reno,1,111,58\nreno,1,many,58\n", ":3: column max_queue_depth_packets: 'many'"),
        (HEAD + "reno,1,111,\n", ":2: column depth_p50: '' is not a number"),
        (HEAD + "reno,1,nan,58\n", ":2: column max_queue_depth_packets: nan is not a number above"),
        (HEAD + "reno,1.5,111,58\n", ":2: column num_flows: 1.5 is not a whole number"),
        (HEAD + "ren0,1,111,58\n", ":2: column algorithm: 'ren0' is not a controller; did you"),
    ],
)
def test_a_mistake_is_named_by_line_and_column(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "queues.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(BadFile) as error:
        read(file)
    assert message in str(error.value)


def test_a_missing_file_names_the_public_source(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="ifip21-buffer-sizing"):
        read(tmp_path / "queues.csv")


def test_a_packet_counts_itself_and_113_cells() -> None:
    # A packet that waits for none is reported as 2.
    assert [depth(packets) for packets in (1.0, 1.99, 2.01, 100.0)] == [2, 2, 3, 100]
    # 111.1 packets are 12,500 cells: the 111th packet of 113 cells would reach them, and one more
    # is being sent. The switch never holds more than 215.
    assert [row(buffer=buffer).capacity for buffer in (111.1111, 222.2222)] == [111, 216]


def test_the_counts_are_parts_of_the_buffer() -> None:
    # 5 of 111.1 packets are 4.5 %, 20 are 18 %; the median of three seeds counts.
    near = Compared(row=row(), medians={"sim": [63, 90, 50], "linux": [58, 58, 58]})
    far = Compared(row=row(), medians={"sim": [78, 78, 78], "linux": [80, 78, 78]})
    text = "\n".join(report([near, far], ["sim", "linux"]))
    assert "| `reno` | 2 | 1 | 1 | 1 | 1 | 2 |" in text
    assert "Of the rows that `linux` meets, `sim` meets 1 of 1 (100 %, asked: 95 %)." in text
    assert "Both miss 1 rows: reno, 1 flow, 111." in text


def test_the_command_prints_the_table_and_keeps_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "OUT", tmp_path / "out")
    file = tmp_path / "queues.csv"
    file.write_text(HEAD + "reno,8,44.4,19\nbbr,2,44.4,41\n", encoding="utf-8")
    options = [str(file), "--engine", "sim", "--seeds", "2", "--jobs", "1", "--set"]
    short = [*options, "duration=0.1 s", "--set", "warmup=0.05 s"]
    first = CliRunner().invoke(command.main, short)
    assert first.exit_code == 0, first.output
    assert "| all | 2 |" in first.output
    assert "already" not in first.output
    again = CliRunner().invoke(command.main, short)
    assert "4 of 4 results are in" in again.output
    assert (tmp_path / "out" / "figure.svg").read_text(encoding="utf-8").startswith("<svg")
    refused = CliRunner().invoke(command.main, [*options, "duration=0.1 s", "--only", "cubic"])
    assert "no row has a buffer of 17 packets or more" in refused.output
