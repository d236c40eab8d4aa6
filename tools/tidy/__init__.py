"""The rules of style and structure that no lint of clippy or ruff checks.

A rule takes a `Tree` and gives complaints, each with its place and what to do. `tests/test_tidy.py`
proves of each rule that it can fail, and that the repository follows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tools.tidy import (
    choices,
    circles,
    cited_tests,
    imports,
    links,
    lints,
    modules,
    names,
    outside,
    required_files,
    requirements,
    size,
    sources,
    unused,
    wording,
)
from tools.tidy.tree import Tree

Rule = Callable[[Tree], Iterator[str]]

RULES: tuple[Rule, ...] = (
    imports.imports,
    circles.circles,
    size.openings,
    size.lengths,
    size.functions,
    size.results,
    sources.keys,
    choices.choices,
    requirements.requirements,
    names.controllers,
    names.queues,
    outside.pure,
    outside.machine_paths,
    wording.wording,
    links.links,
    cited_tests.cited_tests,
    required_files.required_files,
    required_files.executables,
    modules.modules,
    lints.functions_of_f64,
    lints.examples_in_comments,
    unused.unused,
    lints.workspace_lints,
)
