"""The package as a whole: its stub, its lists, how soon it starts, and its paper."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from itertools import chain
from pathlib import Path

import click
import pytest
from jsonschema import Draft202012Validator

import fairhaul as package
from fairhaul import _core
from fairhaul.cli import fairhaul as commands
from fairhaul.record.libraries import LIBRARIES, MISSING
from fairhaul.statistics.estimate import Estimate
from fairhaul.studies import papers
from fairhaul.studies.papers.outcome import DIFFERS, remarks
from tools import ROOT

from .conftest import SMALL, Fairhaul

SOURCE = Path(package.__file__).parent
# Modules of which a command uses several functions.
MODULES = {"flows", "studio"}


def test_the_stub_lists_what_the_module_has() -> None:
    tree = ast.parse((SOURCE / "_core.pyi").read_text())
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    there = {name for name in dir(_core) if not name.startswith("_")}
    assert there == classes.keys() | functions.keys()
    for name, function in functions.items():
        assert _arguments(function) == _signature(getattr(_core, name)), name
    for name, node in classes.items():
        real = getattr(_core, name)
        methods = {item.name: item for item in node.body if isinstance(item, ast.FunctionDef)}
        own = {item for item in vars(real) if not item.startswith("_")}
        attributes = [item.target for item in node.body if isinstance(item, ast.AnnAssign)]
        writable = {target.id for target in attributes if isinstance(target, ast.Name)}
        assert own == {item for item in {*methods, *writable} if not item.startswith("_")}, name
        for method, function in methods.items():
            assert hasattr(real, method), f"{name}.{method}"
            if method in own and not function.decorator_list:
                assert _arguments(function) == _signature(getattr(real, method)), f"{name}.{method}"


def _arguments(function: ast.FunctionDef) -> list[str]:
    return [argument.arg for argument in function.args.args]


def _signature(function: object) -> list[str]:
    text = str(getattr(function, "__text_signature__", "()"))
    names = (part.partition("=")[0].strip(" $") for part in text.strip("()").split(","))
    return [name for name in names if name and name != "/"]


def test_every_name_of_the_package_can_be_had() -> None:
    code = "import fairhaul; print(*dir(fairhaul))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(package.__all__) <= set(out.stdout.split())
    for name in package.__all__:
        assert getattr(package, name) is not None
    assert issubclass(package.Refused, Exception)
    with pytest.raises(AttributeError, match="nonsense"):
        _ = package.nonsense


@pytest.mark.parametrize("module", ["fairhaul", "fairhaul.cli"])
def test_nothing_heavy_is_imported_before_it_is_used(module: str) -> None:
    code = f"import sys, {module}; print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"polars", "numpy", "rich", "vl_convert", "jinja2"} & set(out.stdout.split())


def test_lists_name_what_a_scenario_may_say(fairhaul: Fairhaul) -> None:
    for what in ("controllers", "queues", "counters", "recoveries", "traffic", "papers"):
        entries = json.loads(fairhaul("list", what, "--json").stdout)[what]
        lines = fairhaul("list", what).stdout.splitlines()
        assert [line.split()[0] for line in lines] == [entry["name"] for entry in entries]
        assert all(
            f"[{entry['source']}]" in line
            for entry, line in zip(entries, lines, strict=True)
            if entry["source"]
        )
    for what, word in [
        ("queues", "droptail"),
        ("counters", "nred"),
        ("traffic", "web"),
        ("papers", "fhstcp"),
    ]:
        found = json.loads(fairhaul("list", what, "--json").stdout)[what]
        assert word in [entry["name"] for entry in found]
    assert package.catalogue()["recoveries"][0]["name"] == "sack"


def test_a_name_or_an_option_lists_parameters(fairhaul: Fairhaul) -> None:
    assert "q_weight" not in fairhaul("list", "queues").stdout
    all_of_them = fairhaul("list", "queues", "--parameters").stdout
    two = fairhaul("list", "queues", "pie", "codel").stdout
    heads = [line.split()[0] for line in two.splitlines() if not line.startswith(" ")]
    assert heads == ["pie", "codel"]
    assert "q_weight" in all_of_them
    assert "max_burst" in two
    assert "q_weight" not in two
    found = json.loads(fairhaul("list", "queues", "pie", "--json").stdout)["queues"]
    assert [entry["name"] for entry in found] == ["pie"]


def test_the_schema_is_json(fairhaul: Fairhaul) -> None:
    found = json.loads(fairhaul("schema").stdout)
    assert found == package.schema()
    assert "bottleneck" in found["properties"]


def test_the_schema_takes_every_scenario_there_is_and_no_wrong_sweep() -> None:
    schema = package.schema()
    Draft202012Validator.check_schema(schema)
    check = Draft202012Validator(schema)
    files = sorted((Path(package.__file__).parent / "scenarios").glob("*/**/*.toml"))
    assert len(files) > 8
    for file in files:
        check.validate(tomllib.loads(file.read_text()))
    right = [
        "seed = [1, 2]",
        '"flow.{near,far}.rtt" = ["40 ms"]',
        'bottleneck.rate = ["1 Mbit/s", "2 Mbit/s"]',
        "flow.near.controller.c = [5, 10]",
        '"flow.near.controller" = [{ kind = "fhstcp", c = 5 }, "reno"]',
        '"flow.n*.traffic.size.mean" = ["30 kB"]',
        '"bottleneck.queue.capacity" = ["20 ms", "1 bdp"]',
    ]
    wrong = [
        "seed = 1",
        "seed = []",
        '"flow.near.rtt" = ["40"]',
        '"flow.near.rrt" = ["40 ms"]',
        '"flow.near" = ["40 ms"]',
        '"bottelneck.rate" = ["1 Mbit/s"]',
        '"bottleneck.rate" = [10]',
        'bottleneck.rate = "1 Mbit/s"',
    ]
    for line in right:
        check.validate(tomllib.loads(f"{SMALL}[sweep]\n{line}\n"))
    for line in wrong:
        assert not check.is_valid(tomllib.loads(f"{SMALL}[sweep]\n{line}\n")), line
    printed = SMALL.replace('"20 s"', '"2e+01 s"').replace('"10 Mbit/s"', '"1E7 bit/s"')
    assert check.is_valid(tomllib.loads(printed))


def test_every_imported_library_is_a_dependency_of_users_and_not_of_developers_alone() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    groups = (extras[name] for name in extras.keys() - {"dev", "site"})
    wanted = [*project["dependencies"], *chain(*groups)]
    names = (re.split("[<>=]", requirement)[0].removesuffix("-python") for requirement in wanted)
    imported = {
        name.partition(".")[0]
        for file in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        for name in _imported(node)
    }
    # jinja2 and distributed depend on these, and a result prints itself in a notebook of IPython.
    brought = {"markupsafe", "dask", "IPython"}
    others = imported - sys.stdlib_module_names - {"fairhaul"} - brought
    assert others == {name.replace("-", "_") for name in names}


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and not node.level:
        return [str(node.module)]
    return []


def test_without_the_large_libraries_only_what_writes_files_of_them_is_refused(
    fairhaul: Fairhaul, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = small.parent / "out/near.pcapng"
    fairhaul("run", small, "--trace", "near", "--out", "out")
    trace.rename(small.parent / trace.name)
    for library in LIBRARIES:
        monkeypatch.setitem(sys.modules, library, None)
    before = sorted(small.parent.rglob("*"))
    for command in (
        ("run", small, "--report"),
        ("run", small, "--out", "other"),
        ("reproduce", "cubic-fairness", "--quick"),
        ("sweep", small),
        ("report", "out"),
    ):
        done = fairhaul(*command)
        assert done.returncode == 2
        assert MISSING in " ".join(done.stderr.split())
        assert not done.stdout
    assert sorted(small.parent.rglob("*")) == before
    path = ("--rate", "5Mbit/s", "--rtt", "20ms", "--buffer", "20ms", "--duration", "20s")
    for works in (("run", small), ("explain", trace.name), ("compare", "reno", *path)):
        assert fairhaul(*works).returncode == 0
    assert fairhaul("list", "controllers").returncode == 0


def test_help_and_version(fairhaul: Fairhaul) -> None:
    assert fairhaul("--version").stdout == f"fairhaul {package.__version__}\n"
    for verb in ("run", "reproduce", "report", "list", "schema"):
        assert verb in fairhaul("--help").stdout
        assert fairhaul(verb, "--help").returncode == 0


def test_a_number_agrees_up_to_its_printed_precision() -> None:
    ours = Estimate(mean=0.91, low=0.9049, high=0.915, runs=5)
    near = papers.Cell(paper=[0.90], steps=[0.01], ours=[ours], form=".3f")
    far = papers.Cell(paper=[0.89], steps=[0.01], ours=[ours], form=".3f")
    alone = Estimate(mean=0.9, low=None, high=None)
    assert near.agrees() is True
    assert far.agrees() is False
    assert far.ratio() == pytest.approx(0.91 / 0.89)
    assert replace(far, within=0.03).agrees() is True
    assert replace(far, within=0.02).agrees() is False
    assert papers.Cell(paper=[0.9], steps=[0.01], ours=[alone], form=".3f").agrees() is None
    assert near.ours_text() == "0.910 [0.905, 0.915]"
    few = Estimate(mean=0.9, low=0.85, high=0.95, runs=4)
    assert papers.Cell(paper=[0.9], steps=[0.01], ours=[few], form=".3f").agrees() is None


def test_table_1_is_reproduced_in_a_short_form() -> None:
    slower = {"bottleneck.rate": "20 Mbit/s", "duration": "12 s", "warmup": "2 s"}
    done = papers.reproduce("fhstcp", quick=True, seeds=5, overrides=slower, only=["table1"])
    table, _ = done.tables
    assert [row.label for row in table.rows] == ["5", "10", "20"]
    first = done.values()["tables"][0]["rows"][0]
    assert first["F1"]["paper"] == 29.79
    assert first["background loss"]["paper"] == [7e-5, 1e-4]
    shares = [first[name]["ours"]["mean"] for name in ("F1", "F2", "F3", "F4")]
    assert sum(shares) == pytest.approx(first["total"]["ours"]["mean"])
    assert 50 < sum(shares) < 97
    # Ten seconds at a fiftieth of the rate are another question: most of the answers differ.
    assert remarks(done)[DIFFERS]
    json.dumps(done.to_dict(), allow_nan=False)


# Commands whose function has another name, and those of a terminal alone.
OTHERWISE = {
    **{"list": "catalogue", "new-controller": "new_controller", "new-stack": "new_stack"},
    **{"report": "write_report", "results": "read_sweep"},
}
OF_A_TERMINAL = {"completion"}


@pytest.mark.parametrize("command", sorted(set(commands.commands) - OF_A_TERMINAL))
def test_every_command_is_a_function_of_the_package_or_a_module_of_functions(command: str) -> None:
    name = OTHERWISE.get(command, command)
    assert name in package.__all__
    there = getattr(package, name)
    assert callable(there) or isinstance(commands.commands[command], click.Group) or name in MODULES


def test_papers_are_listed(fairhaul: Fairhaul) -> None:
    assert "FHSTCP" in fairhaul("reproduce").stdout
    assert json.loads(fairhaul("reproduce", "list", "--json").stdout)["papers"]
    with pytest.raises(ValueError, match="choose from fhstcp"):
        papers.reproduce("nothing")
