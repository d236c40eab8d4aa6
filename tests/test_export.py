"""The metrics of flows and of the watch: their names, their values, the board, and mistakes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from grafana_foundation_sdk.cog import plugins
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import dashboard

from fairhaul.cli.flow_table import COLUMNS, flow_table
from fairhaul.host.export import DASHBOARD, HttpAddress, Textfile, destination, opened
from fairhaul.host.export.metrics import METRICS
from fairhaul.host.export.state import Exported
from fairhaul.host.process import Refused
from tests.conftest import Fairhaul

ROOT = Path(__file__).parents[1]
# What kernels report that are newer than Linux 4.10.
NEWER = ("delivered", "sent_bytes", "retransmitted_bytes", "peer_window_bytes", "timeouts")


def _flow(number: int, rate_bps: float | None, **more: Any) -> dict[str, Any]:
    return {
        "namespace": "",
        "cookie": number,
        "local": "10.0.0.1:5001",
        "remote": f"[2001:db8::2]:{number}",
        "controller": "cubic",
        "cwnd": 100,
        "ssthresh": None,
        "mss": 1448,
        "rtt_ms": 25.0,
        "min_rtt_ms": 20.0,
        "pacing_rate_bps": 8e6,
        "acked_bytes": 1000,
        "sent": 10,
        "retransmitted": 1,
        "rate_bps": rate_bps,
        "recent": {"sent": 200, "retransmitted": 1},
        "limits": None,
        "bounds": None,
    } | more


def _look(*flows: dict[str, Any]) -> dict[str, Any]:
    totals = {"cubic": {"acked_bytes": 5000, "sent": 50, "retransmitted": 2}}
    return {
        "flows": {
            "unix_s": 1e9,
            "traced": False,
            "lost_ends": 0,
            "flows": list(flows),
            "controllers": totals,
            "took_s": 0.004,
        }
    }


def _port(over: bool = False) -> dict[str, Any]:
    about = {
        "port": "fhstcp",
        "version": "0.1.0",
        "parameters": {"c": 20000},
        "units": {"c": "0.001/s"},
    }
    finding = {
        "own": {"sent": 1000, "retransmitted": 20},
        "others": {"sent": 0, "retransmitted": 0},
        "over_limit": over,
    }
    return {"look": "fh_x", "finding": finding, "port": about}


def _values(state: Exported) -> dict[str, list[tuple[tuple[str, ...], float]]]:
    values: dict[str, list[tuple[tuple[str, ...], float]]] = {}
    for name, attributes, value in state.samples():
        metric = METRICS[name]
        assert len(attributes) == len(metric.attributes)
        values.setdefault(metric.prometheus, []).append((attributes, value))
    return values


def test_the_fastest_flows_have_metrics_and_the_others_are_summed() -> None:
    state = Exported(most_flows=2)
    state.update(_look(_flow(1, 8e6), _flow(2, None), _flow(3, 24e6), _flow(4, 16e6)))
    values = _values(state)
    rates = {
        attributes[5]: value
        for attributes, value in values["fairhaul_flow_throughput_bytes_per_second"]
    }
    # 24 and 16 Mbit/s are 3 and 2 MB/s; the other two have 8 Mbit/s together.
    assert rates == {"3": 3e6, "4": 2e6}
    assert values["fairhaul_unlisted_flows"] == [((), 2.0)]
    assert values["fairhaul_unlisted_throughput_bytes_per_second"] == [((), 1e6)]
    assert values["fairhaul_controller_throughput_bytes_per_second"] == [(("cubic",), 6e6)]
    assert values["fairhaul_controller_acknowledged_bytes_total"] == [(("cubic",), 5000.0)]
    attributes, srtt_s = values["fairhaul_flow_srtt_seconds"][0]
    assert attributes[:6] == ("tcp", "ipv4", "10.0.0.1", "5001", "2001:db8::2", "4")
    assert srtt_s == 0.025
    # One retransmission in 200 packets between the looks.
    assert values["fairhaul_flow_retransmitted_ratio"][0][1] == 0.005
    assert "fairhaul_flow_ssthresh" not in values
    assert "fairhaul_flow_cwnd_max" not in values


def test_a_flow_has_the_share_of_every_limit_and_none_before_its_second_look() -> None:
    state = Exported()
    limits = {"receive window": 0.75, "application": 0.25}
    state.update(_look(_flow(1, 8e6, limits=limits), _flow(2, None)))
    shares = {
        (attributes[5], attributes[-1]): value
        for attributes, value in _values(state)["fairhaul_flow_limited_ratio"]
    }
    assert shares == {
        ("1", "congestion window"): 0,
        ("1", "pacing cap"): 0,
        ("1", "receive window"): 0.75,
        ("1", "send buffer"): 0,
        ("1", "application"): 0.25,
    }


def test_fields_that_the_kernel_does_not_report_have_no_metrics_and_no_text() -> None:
    # What `fairhaul-host` gives of a reply of 192 bytes; its own tests have the lengths.
    flow = _flow(1, 8e6, **dict.fromkeys(NEWER), min_rtt_ms=None, pacing_rate_bps=None)
    state = Exported()
    state.update(_look(flow))
    values = _values(state)
    assert "fairhaul_flow_min_rtt_seconds" not in values
    assert "fairhaul_flow_pacing_rate_bytes_per_second" not in values
    (row,) = flow_table("Flows", [flow]).rows
    assert row[COLUMNS.index("min RTT ms")] == "-"
    assert row[COLUMNS.index("pacing Mbit/s")] == "-"


def test_a_removed_port_stays_known_as_removed_until_it_is_installed_again() -> None:
    state = Exported()
    state.update({"limits": {"share": 0.01, "times": 3.0, "seconds": 30.0, "packets": 1000}})
    state.update(_port())
    values = _values(state)
    assert values["fairhaul_port_info"] == [(("fh_x", "fhstcp", "0.1.0"), 1.0)]
    assert values["fairhaul_port_retransmitted_ratio"] == [(("fh_x", "own"), 0.02)]
    assert values["fairhaul_port_packets"][1] == (("fh_x", "others"), 0.0)
    # 20000 times 0.001/s.
    assert values["fairhaul_port_parameter"] == [(("fh_x", "c", "/s"), 20.0)]
    assert values["fairhaul_watch_limit_duration_seconds"] == [((), 30.0)]
    state.update(_port(over=True))
    state.update({"removed": "fh_x"})
    for _ in range(2):
        state.update(_look())
        values = _values(state)
        assert values["fairhaul_port_removed"] == [(("fh_x",), 1.0)]
        assert values["fairhaul_port_installed"] == [(("fh_x",), 0.0)]
        assert values["fairhaul_port_over_limit"] == [(("fh_x",), 1.0)]
    state.update(_port())
    state.update(_look())
    assert _values(state)["fairhaul_port_removed"] == [(("fh_x",), 0.0)]
    # Somebody else has removed it: the next look has no report of it.
    state.update(_look())
    values = _values(state)
    assert values["fairhaul_port_installed"] == [(("fh_x",), 0.0)]
    assert values["fairhaul_port_removed"] == [(("fh_x",), 0.0)]


def test_every_metric_is_on_the_page_with_both_names() -> None:
    page = (ROOT / "docs/monitoring.md").read_text()
    rows = re.findall(r"^\| `(fairhaul_\w+)` \| `(fairhaul[\w.]+)` \| (.*?) \|", page, re.MULTILINE)
    expected = {(metric.prometheus, metric.name, metric.unit) for metric in METRICS.values()}
    assert {(one, other, unit.strip("`-")) for one, other, unit in rows} == expected


def test_the_board_has_grafanas_schema_and_asks_for_metrics_that_exist() -> None:
    board = json.loads(DASHBOARD.read_text())
    assert DASHBOARD.read_text() == (ROOT / "docs/deploy/fairhaul-dashboard.json").read_text()
    plugins.register_default_plugins()
    # Grafana's own model keeps what it knows.
    read = json.loads(JSONEncoder().encode(dashboard.Dashboard.from_json(board)))
    assert list(_lost(board, read)) == []
    asked = set(re.findall(r"\bfairhaul_[a-z_]+", " ".join(_expressions(board))))
    labels = {a.replace(".", "_") for metric in METRICS.values() for a in metric.attributes}
    assert asked - labels <= {metric.prometheus for metric in METRICS.values()}
    boxes = [panel["gridPos"] for panel in board["panels"]]
    cells = [
        (x, y)
        for box in boxes
        for x in range(box["x"], box["x"] + box["w"])
        for y in range(box["y"], box["y"] + box["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
    assert all(panel["description"] for panel in board["panels"])


def _lost(given: Any, read: Any, place: str = "") -> Any:
    if isinstance(given, dict):
        for key, value in given.items():
            if key not in read:
                yield f"{place}.{key}"
            else:
                yield from _lost(value, read[key], f"{place}.{key}")
    elif isinstance(given, list):
        assert len(given) == len(read)
        for number, (one, other) in enumerate(zip(given, read, strict=True)):
            yield from _lost(one, other, f"{place}[{number}]")
    elif given != read:
        yield place


def _expressions(board: Any) -> list[str]:
    return [target["expr"] for panel in board["panels"] for target in panel["targets"]]


def test_a_place_for_metrics_is_a_port_an_address_or_a_file(tmp_path: Path) -> None:
    assert destination("9797") == HttpAddress(host="127.0.0.1", port=9797)
    assert destination("localhost:80") == HttpAddress(host="127.0.0.1", port=80)
    public = destination("[::]:9797")
    assert public == HttpAddress(host="::", port=9797)
    assert public.url == "http://[::]:9797/metrics"
    assert not public.is_loopback
    assert destination(f"{tmp_path}/a.prom") == Textfile(path=tmp_path / "a.prom")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("metrics", "wanted a port of this host, such as 9797"),
        ("70000", "wanted a port"),
        ("example.com:9797", "wanted a port"),
        ("/tmp/flows.txt", "did you mean /tmp/flows.prom?"),
        ("/no/such/folder/a.prom", "/no/such/folder: no such directory"),
    ],
)
def test_another_place_is_refused(fairhaul: Fairhaul, text: str, message: str) -> None:
    with pytest.raises(Refused, match=re.escape(message)):
        destination(text)
    done = fairhaul("flows", "--export", text)
    assert done.returncode == 2
    assert message in done.stderr


def test_a_textfile_is_written_whole_and_a_failure_is_a_warning(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "fairhaul.prom"
    with pytest.raises(OSError, match="No such file or directory"), opened(Textfile(path=file), 2):
        pass
    file.parent.mkdir()
    with opened(Textfile(path=file), 2) as update:
        assert "fairhaul_build_info" in file.read_text()
        update(_look(_flow(1, 8e6)))
        assert 'network_peer_port="1"' in file.read_text()
        assert list(file.parent.iterdir()) == [file]
        file.parent.rename(tmp_path / "other")
        with pytest.warns(UserWarning, match=r"not written: .*: No such file or directory"):
            update(_look())
        file.parent.mkdir()
        update(_look())
        assert "fairhaul_unlisted_flows 0.0" in file.read_text()
    assert not file.exists()


def test_the_library_of_prometheus_is_loaded_for_an_export_alone() -> None:
    code = (
        "import sys; from fairhaul.cli import status_of; status_of(['flows', '--help']); "
        "print('prometheus_client' in sys.modules, 'rich' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False False"
