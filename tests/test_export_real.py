"""Flows and the watch as metrics, as root: a transfer over an eBPF port, scraped by Prometheus, and
compared with what the sender reports.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fairhaul.host.export import DASHBOARD
from tests.kernel_host import PYTHON, Pair, locked, needs_kernel, pair, settled, sh, state, wait_for

ROOT = Path(__file__).parents[1]
ONE = f"fh_{os.getpid():x}_e"
METRICS, PROMETHEUS = "127.0.0.1:9797", "127.0.0.1:9090"
# What an HTTP client does inside the namespace: the URL, and the type that it accepts.
GET = (
    "import sys, urllib.request as u; "
    "print(u.urlopen(u.Request(sys.argv[1], headers={'Accept': sys.argv[2]}), timeout=20)"
    ".read().decode())"
)
CONFIG = f"""\
scrape_configs:
  - job_name: fairhaul
    scrape_interval: 1s
    static_configs:
      - targets: ["{METRICS}"]
"""
SECONDS = 15
# Of what the sender reports: a scrape is up to a second late, and so is a look.
TOLERANCE = 0.1


def _tool(name: str) -> str:
    """Find a program of Prometheus, which `scripts/debian` unpacks without installing it."""
    found = shutil.which(name) or shutil.which(name, path=ROOT / "target/prometheus/usr/bin")
    if found is None:
        pytest.skip(f"{name} is not installed (scripts/debian)")
    return found


@pytest.fixture
def kernel() -> Iterator[Pair]:
    """Two namespaces; at the end the host has to be as it was before."""
    with locked():
        before = state()
        with pair() as made:
            yield made
        assert settled(before) == before


@contextmanager
def flowing(kernel: Pair, controller: str, *more: str) -> Iterator[None]:
    """Let a flow send while the context lasts."""
    processes = kernel.flow(controller, 120, *more)
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


@contextmanager
def running(kernel: Pair, *command: str | Path) -> Iterator[subprocess.Popen[str]]:
    """Run a program in the namespace of the sender, and end it as Ctrl-C does."""
    process = subprocess.Popen(
        [*_within(kernel), *map(str, command)],
        env={**os.environ, "FAIRHAUL_PLACE": str(kernel.place)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


def _within(kernel: Pair) -> tuple[str, ...]:
    return ("nsenter", f"--net=/run/netns/{kernel.near}")


def get(kernel: Pair, url: str, accept: str = "*/*") -> str:
    return sh(*_within(kernel), PYTHON, "-c", GET, url, accept)


def query(kernel: Pair, expression: str, when: float | None = None) -> list[dict[str, Any]]:
    """Give the result of an expression of PromQL at a time (in Unix seconds), by default now."""
    asked = {"query": expression} | ({} if when is None else {"time": str(when)})
    url = f"http://{PROMETHEUS}/api/v1/query?" + urllib.parse.urlencode(asked)
    answer = json.loads(get(kernel, url))
    assert answer["status"] == "success", answer
    return list(answer["data"]["result"])


def value(kernel: Pair, expression: str) -> float:
    (one,) = query(kernel, expression)
    return float(one["value"][1])


def answers(kernel: Pair, url: str) -> bool:
    command = [*_within(kernel), PYTHON, "-c", GET, url, "*/*"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@needs_kernel
def test_prometheus_scrapes_what_the_sender_reports(kernel: Pair, tmp_path: Path) -> None:
    prometheus, promtool = _tool("prometheus"), _tool("promtool")
    config = tmp_path / "prometheus.yml"
    config.write_text(CONFIG)
    done = kernel.fairhaul("kernel", "install", "fhstcp", "--as", ONE)
    assert done.returncode == 0, done.stdout + done.stderr
    watch = (PYTHON, "-m", "fairhaul", "kernel", "watch", "--export", METRICS)
    storage = (f"--config.file={config}", f"--storage.tsdb.path={tmp_path / 'data'}")
    with (
        running(kernel, *watch, "--interval", "1") as exporter,
        running(kernel, prometheus, *storage, f"--web.listen-address={PROMETHEUS}"),
    ):
        wait_for(lambda: answers(kernel, f"http://{PROMETHEUS}/-/ready"))
        wait_for(lambda: query(kernel, "fairhaul_port_installed"))
        assert _user_of_the_server(exporter.pid) == "nobody"
        sender, receiver = kernel.flow(ONE, SECONDS, "-b", "40M")
        # The second look at a flow is the first with a rate.
        rate = f'fairhaul_flow_throughput_bytes_per_second{{fairhaul_controller="{ONE}"}}'
        wait_for(lambda: query(kernel, rate))
        _check_exposition(kernel, promtool)
        result = json.loads(sender.communicate(timeout=120)[0])
        receiver.wait(timeout=120)
        _check_board(kernel, _middle(kernel, rate))
        _compare(kernel, result)
    done = kernel.fairhaul("kernel", "remove", "--all")
    assert done.returncode == 0, done.stderr


def _user_of_the_server(pid: int) -> str:
    """Give the user of the child of the exporter that is the same program."""
    children = [line.split(None, 1) for line in sh(*_children(pid)).splitlines()]
    (user,) = [user for user, name in children if name != "fairhaul-host"]
    return user


def _children(pid: int) -> tuple[str, ...]:
    return ("ps", "--ppid", str(pid), "-o", "user=,comm=")


def _check_exposition(kernel: Pair, promtool: str) -> None:
    """Have promtool and the parser of OpenMetrics read what is served."""
    from fairhaul.host.export.metrics import METRICS as TABLE

    url = f"http://{METRICS}/metrics"
    text = get(kernel, url)
    told = subprocess.run(
        [promtool, "check", "metrics"], input=text, capture_output=True, text=True, check=False
    )
    assert (told.returncode, told.stdout, told.stderr) == (0, "", "")
    open_metrics = get(kernel, url, "application/openmetrics-text; version=1.0.0")
    families = _families(open_metrics.rstrip("\n") + "\n")
    names = {sample.name for family in families for sample in family.samples}
    assert {f.name for f in families} <= {metric.family for metric in TABLE.values()}
    # All are there except for what needs a loss, or other flows that send.
    absent = {metric.prometheus for metric in TABLE.values()} - names
    assert absent <= {"fairhaul_flow_ssthresh", "fairhaul_port_retransmitted_ratio"}, absent


def _families(text: str) -> list[Any]:
    from prometheus_client.openmetrics import parser

    read: Any = parser.text_string_to_metric_families
    return list(read(text))


def _middle(kernel: Pair, series: str) -> float:
    """Give the time in the middle of a series, in Unix seconds."""
    (one,) = query(kernel, f"{series}[5m]")
    times = [float(time) for time, _ in one["values"]]
    return statistics.median(times)


def _check_board(kernel: Pair, when: float) -> None:
    """Have Prometheus answer every question of the board for a time when the flow was sending.

    The flow may have ended before the last question on a busy machine.
    """
    board = json.loads(DASHBOARD.read_text())
    for variable in board["templating"]["list"][1:]:
        series = variable["query"]["query"].removeprefix("label_values(").rpartition(",")[0]
        assert query(kernel, _filled(series), when), variable["name"]
    for panel in board["panels"]:
        first, *others = panel["targets"]
        for target in others:
            query(kernel, _filled(target["expr"]), when)
        assert query(kernel, _filled(first["expr"]), when), panel["title"]


def _filled(expression: str) -> str:
    values = {"$instance": ".*", "$controller": ".*", "$namespace": ".*", "$__rate_interval": "4s"}
    for name, replacement in values.items():
        expression = expression.replace(name, replacement)
    assert "$" not in expression
    return expression


def _compare(kernel: Pair, result: dict[str, Any]) -> None:
    """Compare the metrics with the report of iperf3."""
    of_port = f'{{fairhaul_controller="{ONE}"}}'
    acked, sent = ("fairhaul_controller_" + name for name in ("acknowledged_bytes", "packets_sent"))
    received, given = (result["end"][end]["bytes"] for end in ("sum_received", "sum_sent"))
    # The flow has ended, and its last packets are counted; a scrape after that is waited for.
    wait_for(lambda: value(kernel, f"{acked}_total{of_port}") >= received, 30)
    assert value(kernel, f"{acked}_total{of_port}") <= 1.001 * given
    assert value(kernel, f"{sent}_total{of_port}") >= received / 1448
    for name in (acked, sent, "fairhaul_controller_packets_retransmitted"):
        assert value(kernel, f"resets({name}_total{of_port}[5m])") == 0
        (series,) = query(kernel, f"{name}_total{of_port}[5m]")
        numbers = [float(number) for _, number in series["values"]]
        assert numbers == sorted(numbers)
    # Both are medians over the seconds of the transfer, so that its beginning does not count.
    expected = statistics.median(i["sum"]["bits_per_second"] for i in result["intervals"])
    flow = f'fairhaul_flow_throughput_bytes_per_second{{fairhaul_controller="{ONE}"}} > 1e5'
    (series,) = query(kernel, f"quantile_over_time(0.5, ({flow})[2m:1s])")
    assert 8 * float(series["value"][1]) == pytest.approx(expected, rel=TOLERANCE)
    assert series["metric"]["network_peer_address"] == kernel.address


@needs_kernel
def test_a_port_that_was_removed_is_in_the_textfile_which_is_removed_at_the_end(
    kernel: Pair, tmp_path: Path
) -> None:
    done = kernel.fairhaul("kernel", "install", "scalable", "--as", ONE)
    assert done.returncode == 0, done.stdout + done.stderr
    narrow = ("root", "tbf", "rate", "20mbit", "burst", "3000", "limit", "6000")
    sh("ip", "netns", "exec", kernel.near, "tc", "qdisc", "add", "dev", "wire", *narrow)
    file = tmp_path / "fairhaul.prom"
    watch = (PYTHON, "-m", "fairhaul", "kernel", "watch", "--seconds", "4", "--interval", "1")
    with flowing(kernel, ONE), running(kernel, *watch, "--export", file):
        wait_for(
            lambda: file.exists() and f'removed{{fairhaul_port="{ONE}"}} 1.0' in file.read_text()
        )
        text = file.read_text()
        assert f'fairhaul_port_installed{{fairhaul_port="{ONE}"}} 0.0' in text
        assert "fairhaul_watch_limit_share_ratio 0.01" in text
        assert f'retransmitted_ratio{{fairhaul_flows="own",fairhaul_port="{ONE}"}} 0.' in text
        assert text.endswith("\n")
        # Its writer makes another file whole and renames it.
        assert list(tmp_path.iterdir()) == [file]
    assert not file.exists()


@needs_kernel
def test_flows_are_listed_with_and_without_root(kernel: Pair) -> None:
    there = ("flows", "--json", "--controller", "reno", "--port", "5299")
    bare = (*_within(kernel), "setpriv", "--bounding-set=-all", "--inh-caps=-all")
    with flowing(kernel, "reno", "-b", "50M"):
        wait_for(lambda: _rates(kernel.fairhaul(*there, "--namespace", kernel.near)))
        (flow,) = json.loads(kernel.fairhaul(*there, "--namespace", kernel.near).stdout)["flows"]
        done = kernel.fairhaul(*there, before=bare)
        text = kernel.fairhaul("flows", "--namespace", kernel.near).stdout
    assert (flow["namespace"], flow["remote"]) == (kernel.near, f"{kernel.address}:5299")
    assert 30e6 < flow["rate_bps"] < 70e6
    assert flow["bounds"]["cwnd_min"] <= flow["bounds"]["cwnd_max"]
    assert flow["min_rtt_ms"] <= flow["bounds"]["rtt_max_ms"]
    assert f"{kernel.address}:5299" in text
    assert done.returncode == 0, done.stderr
    assert "without root, only the flows of this network namespace" in done.stderr
    assert "tracepoints are not used" in done.stderr
    (flow,) = json.loads(done.stdout)["flows"]
    assert (flow["namespace"], flow["bounds"]) == ("", None)
    assert flow["rate_bps"] > 0


@needs_kernel
def test_a_namespace_that_cannot_be_looked_into_is_refused(kernel: Pair) -> None:
    done = kernel.fairhaul("flows", "--namespace", kernel.near + "x")
    assert done.returncode == 2
    assert f'did you mean "{kernel.near}"?' in done.stderr
    bare = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")
    done = kernel.fairhaul("flows", "--namespace", kernel.near, before=bare)
    assert done.returncode == 2
    assert "only root can look into other network namespaces" in done.stderr


def _rates(done: Any) -> list[float]:
    return [flow["rate_bps"] for flow in json.loads(done.stdout)["flows"] if flow["rate_bps"]]


@needs_kernel
def test_flows_shorter_than_the_time_between_two_looks_are_counted(kernel: Pair) -> None:
    command = (PYTHON, "-m", "fairhaul", "flows", "--watch", "--json", "--interval", "3")
    # A controller that no other program of this machine uses.
    done = kernel.fairhaul("kernel", "install", "scalable", "--as", ONE)
    assert done.returncode == 0, done.stdout + done.stderr
    process = subprocess.Popen(
        [*_within(kernel), *command], stdout=subprocess.PIPE, text=True, env=dict(os.environ)
    )
    assert process.stdout is not None
    first = json.loads(process.stdout.readline())
    assert ONE not in first["controllers"]
    sender, receiver = kernel.flow(ONE, 1, "-b", "50M")
    ended = json.loads(sender.communicate(timeout=60)[0])["end"]
    receiver.wait()
    for _ in range(2):
        look = json.loads(process.stdout.readline())
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    acked = look["controllers"][ONE]["acked_bytes"]
    # Not what iperf3 says it has sent: on a busy machine it counts less than leaves.
    left = sh("ip", "netns", "exec", kernel.near, "cat", "/sys/class/net/wire/statistics/tx_bytes")
    assert ended["sum_received"]["bytes"] <= acked <= int(left)
    assert look["lost_ends"] == 0
    done = kernel.fairhaul("kernel", "remove", "--all")
    assert done.returncode == 0, done.stdout + done.stderr


@needs_kernel
def test_a_port_in_use_and_a_missing_right_are_errors(kernel: Pair) -> None:
    words = ("flows", "--export", METRICS)
    with running(kernel, PYTHON, "-m", "fairhaul", *words):
        wait_for(lambda: answers(kernel, f"http://{METRICS}/metrics"))
        done = kernel.fairhaul(*words, before=_within(kernel))
        assert done.returncode == 1
        assert f"fairhaul: {METRICS}: address already in use" in done.stderr
    bound = (*_within(kernel), "setpriv", "--bounding-set=-setuid,-setgid", "--inh-caps=-all")
    done = kernel.fairhaul(*words, before=bound)
    assert done.returncode == 1
    assert "root needs CAP_SETUID and CAP_SETGID" in done.stderr


@needs_kernel
def test_the_unit_with_the_export_works_with_its_capabilities(kernel: Pair) -> None:
    lines = (ROOT / "docs/deploy/fairhaul-watch-export.conf").read_text().splitlines()
    (start,) = [line for line in lines if line.startswith("ExecStart=/")]
    program, *words = start.removeprefix("ExecStart=").split()
    assert program == "/opt/fairhaul/bin/fairhaul"
    base = (ROOT / "docs/deploy/fairhaul-watch.service").read_text().splitlines()
    caps = [
        word.lower().removeprefix("cap_")
        for line in (*lines, *base)
        if line.startswith("CapabilityBoundingSet=")
        for word in line.partition("=")[2].split()
    ]
    only = ("setpriv", "--bounding-set=-all," + ",".join(f"+{name}" for name in caps))
    with running(kernel, *only, sys.executable, "-m", "fairhaul", *words):
        wait_for(lambda: answers(kernel, f"http://{METRICS}/metrics"))
        text = f"http://{METRICS}/metrics"
        wait_for(lambda: "fairhaul_look_traced 1.0" in get(kernel, text))
