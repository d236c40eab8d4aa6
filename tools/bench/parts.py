"""The parts of the bench: each measures one quantity and gives its rows."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from tools import names
from tools.bench import Row, cost, hosts, kernel, linux, loads, queues
from tools.bench.loads import Load
from tools.bench.timing import CALENDAR, ENGINE, RINGS, best, once


def workloads() -> Iterator[Row]:
    """Run W1 to W4 and both floors in turns, five times, and W5 and W6 twice; the best counts."""
    programs = [ENGINE, CALENDAR, RINGS]
    uses = {**best(programs, loads.WORKLOADS, runs=5), **best(programs, loads.FAST, runs=2)}
    for load in (*loads.WORKLOADS, *loads.FAST):
        engine, calendar, rings = (uses[p, load.name] for p in programs)
        aim = loads.AIMS.get(load.name, loads.Aim())

        def row(
            figure: str, measured: float, target: float | None = None, name: str = load.name
        ) -> Row:
            return Row(
                part="workloads",
                load=name,
                figure=figure,
                measured=measured,
                target=target,
                bound="least",
                unit="x" if "over" in figure else "M/s",
            )

        yield row("packets per CPU second", engine.rate, aim.rate)
        yield row("floor, calendar", calendar.rate)
        yield row("floor, rings", rings.rate)
        yield row("engine over calendar", engine.rate / calendar.rate)
        yield row("engine over rings", engine.rate / rings.rate, aim.over_rings)
        yield Row(
            part="workloads",
            load=load.name,
            figure="peak memory",
            measured=engine.peak_mb,
            unit="MB",
            target=aim.peak_mb,
        )


def rates() -> Iterator[Row]:
    """Run the same flows over links of 0.1 to 100 Gbit/s."""
    targets = dict.fromkeys(loads.RATE_SERIES, loads.MOST_OVER_RATES)
    return _series("rates", loads.RATE_SERIES, targets)


def flows() -> Iterator[Row]:
    """Run 10 to 10,000 flows over one link."""
    return _series("flows", loads.FLOW_SERIES, loads.MOST_OVER_FLOWS)


def _series(
    part: str, series: Mapping[str, Sequence[Load]], targets: Mapping[str, float]
) -> Iterator[Row]:
    for name, row_of_loads in series.items():
        uses = best([ENGINE], row_of_loads, runs=2)
        costs = []
        for load in row_of_loads:
            use = uses[ENGINE, load.name]
            costs.append(use.ns)
            figure = f"a packet, {load.name}"
            yield Row(part=part, load=name, figure=figure, measured=use.ns, unit="ns")
            figure = f"peak memory, {load.name}"
            yield Row(part=part, load=name, figure=figure, measured=use.peak_mb, unit="MB")
        yield Row(
            part=part,
            load=name,
            figure="highest cost of a packet over lowest",
            measured=max(costs) / min(costs),
            unit="x",
            target=targets[name],
        )


def many() -> Iterator[Row]:
    """Run 100,000 flows over a link of 100 Gbit/s, once."""
    use = once(ENGINE, loads.MANY)
    load = f"{loads.MANY.name}, 100 Gbit/s"
    yield Row(
        part="many", load=load, figure="packets per CPU second", measured=use.rate, unit="M/s"
    )
    yield Row(
        part="many",
        load=load,
        figure="peak memory",
        measured=use.peak_mb,
        unit="MB",
        target=loads.MOST_MB_OF_MANY,
    )


def behind_queues() -> Iterator[Row]:
    """Count the instructions of a delivered packet behind each queue."""
    plain = queues.per_packet("droptail")
    load = "8 flows, 50 Mbit/s"
    yield Row(part="queues", load=load, figure="droptail", measured=plain, unit="instructions")
    for queue in names("queues"):
        if queue != "droptail":
            yield Row(
                part="queues",
                load=load,
                figure=f"{queue} over droptail",
                measured=queues.per_packet(queue) / plain,
                unit="x",
                target=queues.target(queue),
            )


def ledger() -> Iterator[Row]:
    """Count the share of instructions that record a run: its bins, means and gauges."""
    for load in loads.COUNTED:
        arguments = tuple(load.arguments)
        share = cost.share_of_module("sim", "bench", arguments, "experiment/src/record/ledger")
        yield Row(
            part="ledger",
            load=f"small {load.name}",
            figure="instructions in the ledger",
            measured=100 * share,
            unit="%",
            target=5,
        )


def report() -> Iterator[Row]:
    """Run W2 for 10 minutes; time its figures, the files of its record, and its report."""
    from fairhaul.measures.measures import measure
    from fairhaul.record.record import write_record
    from fairhaul.runs.runs import for_each
    from fairhaul.scenario.read import read_one

    def row(figure: str, measured: float, unit: str, target: float | None = None) -> Row:
        load = "W2, 600 s"
        return Row(
            part="report", load=load, figure=figure, measured=measured, unit=unit, target=target
        )

    scenario = read_one(loads.FOLDER / "w2.toml", {"duration": "600 s", "warmup": "100 s"})
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "record"
        [record] = for_each([scenario], lambda _, record: record)
        begun = time.process_time()
        json.dumps(measure(record))
        write_record(record, directory)
        kept_s = time.process_time() - begun
        command = [sys.executable, "-m", "fairhaul", "report", str(directory)]
        took = []
        for number in range(5):
            begun = time.perf_counter()
            place = Path(folder) / str(number)
            subprocess.run([*command, "--out", str(place)], check=True, capture_output=True)
            took.append(time.perf_counter() - begun)
        size = (place / "report.html").stat().st_size
    engine_s = record.meta["cpu_s"]
    yield row("the engine", engine_s, "s")
    yield row("figures and files of the record", 100 * kept_s / engine_s, "% of it", 5)
    yield row("`fairhaul report`, start to end", min(took), "s", 2)
    yield row("its page", size / 1e6, "MB", 3)


Part = Callable[[], Iterator[Row]]
PARTS: Mapping[str, Part] = {
    "workloads": workloads,
    "rates": rates,
    "flows": flows,
    "many": many,
    "hosts": hosts.measure,
    "queues": behind_queues,
    "ledger": ledger,
    "report": report,
    "kernel": kernel.measure,
    "linux": linux.measure,
}

# The parts that count instructions, and therefore need valgrind.
COUNTING = ("queues", "ledger")
