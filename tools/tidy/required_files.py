"""Files and make targets that the project must have: pages, licences, and the script of the CI."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.tidy.tree import Tree

TARGETS = ("help", "demo", "test", "check", "bench", "papers", "fmt", "clean")

FILES = """
.ci/run README.md ARCHITECTURE.md CONTRIBUTING.md CHANGELOG.md SECURITY.md CITATION.cff
LICENSE-APACHE LICENSE-MIT deny.toml requirements.lock
"""


def required_files(tree: Tree) -> Iterator[str]:
    """The Makefile has its targets, each with its line of help, and all required files exist."""
    makefile = tree.get("Makefile", "")
    for target in TARGETS:
        if not re.search(rf"^{target}:.*## ", makefile, re.MULTILINE):
            yield f"Makefile:1: write `{target}: … ## what it does`"
    if ".DEFAULT_GOAL := help" not in makefile:
        yield "Makefile:1: `make` alone prints the help: write `.DEFAULT_GOAL := help`"
    for file in FILES.split():
        if file not in tree:
            yield f"{file}: this file is missing: add it"
    if "make test" not in tree.get(".ci/run", "make test"):
        yield ".ci/run:1: run `make test`"


def executables(tree: Tree) -> Iterator[str]:
    """Every script can be executed."""
    for path, text in tree.items():
        if text.startswith("#!/") and path not in tree.executable:
            yield f"{path}:1: this script cannot be executed: chmod +x {path}"
