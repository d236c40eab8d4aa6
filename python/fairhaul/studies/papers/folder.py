"""Papers as folders: `paper.toml`, the scenarios that it names, and functions where needed.

`docs/own-paper.md` describes every key. The papers that come with Fairhaul are read in the same
way; their scenarios are in `scenarios/papers`, and their functions in this package.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import Any

from fairhaul.files import files
from fairhaul.jobs.store import build_of
from fairhaul.scenario.read import ScenarioError
from fairhaul.studies.papers import OWN, PAPERS, is_folder
from fairhaul.studies.papers.axes import Case
from fairhaul.studies.papers.experiment import Experiment, Place, read_experiment
from fairhaul.studies.papers.section import Printed, Section
from fairhaul.studies.papers.work import Task
from fairhaul.text.nearest import hint
from fairhaul.text.printable import printable

FILE = "paper.toml"
# A paper has some kilobytes.
LARGEST = 10_000_000
MODULES = "fairhaul.studies.papers."


@dataclass(frozen=True, kw_only=True)
class Paper:
    """A paper: its title, its key among the sources, its question and its experiments.

    `argument` is what the command line takes for it: the name of a paper that comes with Fairhaul,
    or a folder. What is in `folder` computes numbers.
    """

    name: str
    title: str
    key: str
    question: str
    experiments: Mapping[str, Experiment]
    argument: str
    folder: Path

    def task(self, name: str, experiment: Experiment, cases: Sequence[Case], seeds: int) -> Task:
        """Plan an experiment, which may differ from the paper's own of this name."""
        files = (file for end in ("py", "toml") for file in self.folder.rglob(f"*.{end}"))
        by = build_of(experiment.numbers, *files)
        return Task(
            paper=self.name, name=name, experiment=experiment, cases=cases, seeds=seeds, by=by
        )


def catalogue() -> list[dict[str, Any]]:
    """Give the papers by name, title and key."""
    found = []
    for name in PAPERS:
        content = _content(_code(name) / FILE)
        found.append({"name": name, **{key: content[key] for key in ("title", "source")}})
    return found


def on_a_kernel() -> list[str]:
    """Give the papers of which experiments can run on hosts with a kernel."""
    return [
        name
        for name in PAPERS
        if any(experiment.on(["linux"]) for experiment in paper_of(name).experiments.values())
    ]


def paper_of(paper: str | PathLike[str]) -> Paper:
    """Read one of `PAPERS`, or the paper of a folder with a `paper.toml`.

    Raises:
        ScenarioError: there is no such paper, or it is wrong; `args` are all mistakes.
    """
    if isinstance(paper, str) and paper in PAPERS:
        return _built_in(paper)
    if isinstance(paper, str) and not is_folder(paper):
        raise ScenarioError(f"unknown paper {paper!r}; {hint(paper, PAPERS)} {OWN}")
    return _load(Path(paper))


def scenario_file(paper: str, name: str) -> Path:
    """Give the file of a scenario of one of `PAPERS`."""
    return files.PACKAGE / "scenarios" / "papers" / paper / name


@cache
def _built_in(name: str) -> Paper:
    """Read a paper that comes with Fairhaul."""
    code = _code(name)
    return _read(
        name,
        Place(
            file=code / FILE,
            scenarios=scenario_file(name, ""),
            argument=name,
            module=lambda module: importlib.import_module(f"{MODULES}{code.name}.{module}"),
        ),
    )


def _load(folder: Path) -> Paper:
    """Read the paper of a user from its folder, or from its file.

    Raises:
        ScenarioError: the folder or its file is wrong; `args` are all mistakes, one line each.
    """
    folder = folder.parent if folder.name == FILE else folder
    name = folder.resolve().name
    return _read(
        name,
        Place(
            file=folder / FILE,
            scenarios=folder,
            argument=str(folder),
            module=lambda file: _module(folder, file),
        ),
    )


def _module(folder: Path, name: str) -> ModuleType:
    """Import a file of the user's folder."""
    file = folder / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"{folder.resolve().name}.{name}", file)
    if spec is None or spec.loader is None or not file.is_file():
        raise ImportError(f"{file} does not exist")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _code(name: str) -> Path:
    return Path(__file__).parent / name.replace("-", "_")


def _content(file: Path) -> dict[str, Any]:
    try:
        text = files.read(file, LARGEST).decode()
        content = tomllib.loads(text, parse_float=Printed)
        if (hidden := next(_hidden(content), None)) is not None:
            raise ScenarioError(f"{file}: {printable(hidden)}: control characters are not allowed")
        return content
    except RecursionError:
        raise ScenarioError(f"{file}: tables are nested too deeply") from None
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"{file}: {error}") from None
    except UnicodeDecodeError:
        raise ScenarioError(f"{file}: not UTF-8") from None
    except OSError as error:
        raise ScenarioError(f"{file}: {(error.strerror or str(error)).lower()}") from None


def _hidden(value: Any, key: str = "") -> Iterator[str]:
    """Give the keys of texts with characters that a terminal interprets; also such keys."""
    if isinstance(value, str):
        if printable(value) != value:
            yield key
    elif isinstance(value, list):
        for each in value:
            yield from _hidden(each, key)
    elif isinstance(value, dict):
        for name, each in value.items():
            if printable(name) != name:
                yield name
            yield from _hidden(each, name)


def _read(name: str, place: Place) -> Paper:
    mistakes: list[str] = []
    content = _content(place.file)
    section = Section(content, str(place.file), mistakes)
    experiments, shared = section.section("experiment"), section.section("axis")
    tables = {experiment: _inherited(experiments, experiment) for experiment in experiments.content}
    for experiment in experiments.content:
        experiments.check_name(experiment, experiment)
    names = [
        str(figure["name"])
        for table in tables.values()
        for figure in table.items("figure")
        if isinstance(figure, dict) and "name" in figure and not figure.get("lab")
    ]
    for twice in dict.fromkeys(name for name in names if names.count(name) > 1):
        section.wrong("experiment", f"several figures have the name {twice!r}")
    paper = Paper(
        name=name,
        title=section.text("title"),
        key=section.text("source"),
        question=section.text("question"),
        experiments={
            experiment: read_experiment(table, shared, place)
            for experiment, table in tables.items()
        },
        argument=place.argument,
        folder=place.file.parent,
    )
    if not experiments.content:
        section.wrong("experiment", "at least one [experiment.NAME] is required")
    section.close()
    if mistakes:
        raise ScenarioError(*dict.fromkeys(mistakes))
    return paper


def _inherited(experiments: Section, name: str) -> Section:
    """Give an experiment with the keys of the one that it is `like`, except for its own."""
    section = experiments.section(name)
    if "like" not in section.content:
        return section
    like = section.text("like")
    section.one_of("like", like, list(experiments.content), "experiment")
    own = {key: value for key, value in section.content.items() if key != "like"}
    base = experiments.content.get(like)
    return Section(
        {**(base if isinstance(base, dict) else {}), **own}, section.place, section.mistakes
    )
