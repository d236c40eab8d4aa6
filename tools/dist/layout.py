"""Which file of an installation is where: the same below `/usr` in a Debian package and below PREFIX."""

from __future__ import annotations

import gzip
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools import ROOT
from tools.dist import text_of
from tools.dist.sources import epoch

UNITS = ("fairhaul.service", "fairhaul-watch.service")

EXAMPLE = "/opt/fairhaul/bin/fairhaul"
"""The program that the units in the documentation start."""

PAGES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md")

COMPLETIONS = {
    "bash": "share/bash-completion/completions/fairhaul",
    "zsh": "share/zsh/vendor-completions/_fairhaul",
    "fish": "share/fish/vendor_completions.d/fairhaul.fish",
}


@dataclass(frozen=True, kw_only=True)
class Installation:
    """A folder that gets the files, and where they will be."""

    root: Path
    """What stands for `/`."""
    prefix: Path
    """The folder below which everything is, as an absolute path."""
    python: Path
    """The interpreter that runs Fairhaul there."""
    python_version: str

    def at(self, name: str) -> Path:
        """The place of a file now, by its name below the prefix."""
        return self.root / self.prefix.relative_to("/") / name

    @property
    def site(self) -> Path:
        """The private environment's folder of packages."""
        return self.at(f"lib/fairhaul/lib/python{self.python_version}/site-packages")


def lay_out(there: Installation, extra: dict[str, bytes]) -> list[str]:
    """Write all files except the packages of the private environment.

    Args:
        there: the installation, whose `site` exists.
        extra: more files of the folder of the documentation, by their names.

    Returns:
        the names below the prefix of all files outside of `lib/fairhaul`.
    """
    _interpreter(there)
    files = {f"share/doc/fairhaul/{name}": content for name, content in extra.items()}
    files |= {name: content for name, content in _units(there)}
    files |= {name: content for name, content in _pages()}
    files |= {name: content for name, content in _commands(there)}
    program = there.prefix / "lib/fairhaul/bin/python3"
    # Without -P, Python would look for modules beside the program.
    start = f"#!{program} -P\nimport sys\n\nfrom fairhaul.cli import main\n\nsys.exit(main())\n"
    files["bin/fairhaul"] = start.encode()
    for name, content in files.items():
        file = there.at(name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        file.chmod(0o755 if name == "bin/fairhaul" else 0o644)
    return sorted(files)


def compressed(text: str) -> bytes:
    """A text as Debian wants long ones: compressed, without a time."""
    return gzip.compress(text.encode(), 9, mtime=0)


def _interpreter(there: Installation) -> None:
    """Make the folder of the private environment one that Python recognizes as such."""
    home = there.at("lib/fairhaul")
    lines = (
        f"home = {there.python.parent}",
        "include-system-site-packages = false",
        f"version = {there.python_version}",
    )
    (home / "pyvenv.cfg").write_text("\n".join(lines) + "\n")
    link = home / "bin/python3"
    link.parent.mkdir(exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(there.python)


def _units(there: Installation) -> Iterator[tuple[str, bytes]]:
    """The units of systemd, which start the installed program."""
    for name in UNITS:
        text = (ROOT / "docs/deploy" / name).read_text()
        assert EXAMPLE in text, f"{name} starts {EXAMPLE}"
        yield (
            f"lib/systemd/system/{name}",
            text.replace(EXAMPLE, str(there.prefix / "bin/fairhaul")).encode(),
        )


def _pages() -> Iterator[tuple[str, bytes]]:
    """The documentation, as Markdown with its pictures and notebooks."""
    below = "share/doc/fairhaul"
    yield f"{below}/changelog.gz", compressed((ROOT / "CHANGELOG.md").read_text())
    for name in PAGES:
        yield f"{below}/{name}", (ROOT / name).read_bytes()
    for file in sorted((ROOT / "docs").rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            yield f"{below}/{file.relative_to(ROOT)}", file.read_bytes()


def _commands(there: Installation) -> Iterator[tuple[str, bytes]]:
    """The man pages and the completion in shells, from the commands of this checkout."""
    out = there.root.parent / f"{there.root.name}-man"
    shutil.rmtree(out, ignore_errors=True)
    env = {"SOURCE_DATE_EPOCH": str(epoch())}
    text_of([sys.executable, "-m", "tools.site", "man", "--out", out], ROOT, env)
    for page in sorted((out / "man1").glob("*.1")):
        yield f"share/man/man1/{page.name}.gz", compressed(page.read_text())
    for shell, name in COMPLETIONS.items():
        yield name, text_of([sys.executable, "-m", "fairhaul", "completion", shell], ROOT).encode()
