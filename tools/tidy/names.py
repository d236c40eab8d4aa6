"""One name everywhere: a controller or a queue is complete, or the place that lacks it is named."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from tools.tidy.layers import layer
from tools.tidy.tree import Tree

CATALOGUE = "crates/cc/src/catalogue.rs"
SNAPSHOTS = "crates/cc/tests/snapshots"
QUEUES = "crates/path/src/queue"
COUNTERS = "crates/path/src/count"
COUNTERS_PAGE = "docs/queues/counting.md"


def controllers(tree: Tree) -> Iterator[str]:
    """Each controller has its file, staircase, page and scenario; each file and page its line."""
    names = _catalogued(tree)
    if not names:
        yield f'{CATALOGUE}:1: there is no line such as `Reno = "reno",` in `catalogue! {{ }}`'
        return
    staircases = [stem(path) for path, _ in tree.below(SNAPSHOTS, ".snap") if "staircase" in path]
    for name, line in names.items():
        place = f"{CATALOGUE}:{line}"
        if (file := f"crates/cc/src/{name}.rs") not in tree:
            yield f"{place}: the controller `{name}` has no file: add {file}"
        if not any(staircase.endswith(f"__{name}") for staircase in staircases):
            snapshot = f"{SNAPSHOTS}/staircase__{name}.snap"
            yield f"{place}: the controller `{name}` has no staircase: add its test, {snapshot}"
        yield from _page_and_use(tree, "controller", name, place)
    for path, text in tree.below("crates/cc/src", ".rs"):
        if path == CATALOGUE or "/tests" in path or stem(path) in names:
            continue
        code = layer(path, text, "code")
        # One with a maker of its own is in no catalogue.
        if "impl Controller for " in code and "impl Own for " not in code:
            yield f"{path}:1: the controller `{stem(path)}` is not in {CATALOGUE}: add its line"
    yield from _strays(tree, "controller", names)


def queues(tree: Tree) -> Iterator[str]:
    """Each queue has its page, line in the index and scenario, each flow counter its section."""
    names = _titled(tree, QUEUES)
    if not names:
        yield f"{QUEUES}: no file has a `TITLE`: a queue says in one line what it is"
        return
    for path in names:
        yield from _page_and_use(tree, "queue", stem(path), f"{path}:1")
    counters = _titled(tree, COUNTERS)
    for path in counters:
        if f"\n## {stem(path)}\n" not in tree.get(COUNTERS_PAGE, ""):
            yield f"{path}:1: this flow counter has no section `## {stem(path)}` in {COUNTERS_PAGE}"
    yield from _strays(tree, "queue", map(stem, [*names, *([COUNTERS_PAGE] if counters else [])]))


def stem(path: str) -> str:
    """The name of a file up to its first dot."""
    return PurePosixPath(path).name.split(".")[0]


def _page_and_use(tree: Tree, kind: str, name: str, place: str) -> Iterator[str]:
    """What controllers and queues need both: a page, a line in the index, a scenario."""
    page, index = f"docs/{kind}s/{name}.md", f"docs/{kind}s/index.md"
    if page not in tree:
        yield f"{place}: the {kind} `{name}` has no page: add {page}"
    if f"{name}.md" not in tree.get(index, ""):
        yield f"{place}: the {kind} `{name}` is not in the index: link {name}.md in {index}"
    use = re.compile(rf'^[^#\n]*"{re.escape(name)}"', re.MULTILINE)
    if not any(use.search(text) for _, text in tree.below("scenarios", ".toml")):
        yield f"{place}: the {kind} `{name}` is in no scenario: use it in a file under scenarios/"


def _strays(tree: Tree, kind: str, names: Iterable[str]) -> Iterator[str]:
    """Pages of something that does not exist."""
    known = {"index", *names}
    for path, _ in tree.below(f"docs/{kind}s", ".md"):
        if stem(path) not in known:
            yield f"{path}:1: there is no {kind} `{stem(path)}`: rename the page or remove it"


def _titled(tree: Tree, folder: str) -> list[str]:
    return [path for path, text in tree.below(folder, ".rs") if "const TITLE: " in text]


def _catalogued(tree: Tree) -> dict[str, int]:
    """The words in the last `catalogue! { Kind = "word", }`, each with its line."""
    before, _, after = tree.get(CATALOGUE, "").rpartition("catalogue! {")
    words: dict[str, int] = {}
    for line, entry in enumerate(after.splitlines(), start=before.count("\n") + 1):
        if entry.startswith("}"):
            break
        if word := re.match(r'(?!\s*//)[^"]*"([^"]*)', entry):
            words[word[1]] = line
    return words
