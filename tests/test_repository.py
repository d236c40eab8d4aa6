"""The files around the code: the version in every place, the citation, and the issue forms."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import click
import pytest
import yaml

from fairhaul import _core
from fairhaul.cli import fairhaul as program
from tools import ROOT
from tools.dist import sources

FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))


def test_every_file_has_the_version_of_the_workspace() -> None:
    version = sources.version()
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
    assert _core.__version__ == workspace["package"]["version"] == version
    assert "version" in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dynamic"]
    # Dependencies between the crates that are published.
    own = [one for one in workspace["dependencies"].values() if "path" in one]
    assert {one["version"] for one in own if "version" in one} == {version}
    for manifest in (ROOT / "crates").glob("*/Cargo.toml"):
        package = tomllib.loads(manifest.read_text())["package"]
        assert package["version"] == {"workspace": True}, manifest
    pages = "\n".join(page.read_text() for page in (ROOT / "docs").glob("*.md"))
    named = re.findall(r"fairhaul[-_](\d+\.\d+\.\d+)|\"version\": \"(.+?)\"", pages)
    assert {one or other for one, other in named} == {version}


def test_the_citation_has_the_licence_of_the_package_and_no_version_of_its_own() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    # These keys are required in version 1.2.0 of the format.
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()
    assert not {"version", "date-released", "commit"} & citation.keys()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert " OR ".join(citation["license"]) == project["license"]


@pytest.mark.parametrize("file", FORMS, ids=lambda file: file.stem)
def test_an_issue_form_is_one_of_the_forge_and_names_commands_that_exist(file: Path) -> None:
    form = yaml.safe_load(file.read_text())
    assert form.keys() == {"name", "description", "labels", "body"}
    fields = [part for part in form["body"] if part["type"] != "markdown"]
    assert {part["type"] for part in fields} <= {"input", "textarea"}
    assert len({part["id"] for part in fields}) == len(fields)
    for part in fields:
        assert part["attributes"].keys() <= {"label", "description", "render"}
        assert part["validations"] == {"required": True}
    for words in re.findall(r"`fairhaul (.+?)`", file.read_text()):
        first = words.split()[0]
        known = program.commands if not first.startswith("-") else _options(program)
        assert first in known, words
    for page in re.findall(r"`(docs/.+?)`", file.read_text()):
        assert (ROOT / page).is_file(), page


def _options(command: click.Command) -> list[str]:
    return [name for option in command.params for name in option.opts]
