"""The source that a program is built from: a tree, an archive, or a package of Debian.

It is copied into a folder of its own, where it is changed; the tree of a user is only read. Parts
that no program of Linux for User-Mode contains are omitted, except for the files that describe the
configuration.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from fairhaul.host.process import Refused
from fairhaul.linux import changes, debian
from fairhaul.linux.ours import DIGITS
from fairhaul.linux.progress import Steps

OLDEST = "6.1"

OTHERS = (
    "alpha", "arc", "arm", "arm64", "csky", "hexagon", "loongarch", "m68k", "microblaze", "mips",
    "nios2", "openrisc", "parisc", "powerpc", "riscv", "s390", "sh", "sparc", "xtensa",
)  # fmt: skip
"""Other architectures."""

OMITTED = (
    "Documentation", "samples", "sound", "LICENSES",
    "drivers/accel", "drivers/gpu", "drivers/infiniband", "drivers/media", "drivers/scsi",
    "drivers/staging", "drivers/net/ethernet", "drivers/net/wireless", "drivers/usb",
    "tools/perf", "tools/testing", *(f"arch/{name}" for name in OTHERS),
)  # fmt: skip
"""Folders of which only files of the configuration are used."""

GENERATED = {"include": ("config", "generated"), "arch/um/include": ("generated",),
             "arch/x86/include": ("generated",)}  # fmt: skip
"""Folders of a tree in which a program was built, by the folder above."""

CONFIGURATION = ("Kconfig", "Makefile", "Kbuild")
"""How the names of files begin that describe the configuration."""

ENDINGS = ("c", "h", "S", "rst", "txt", "yaml", "dts", "dtsi", "json", "svg", "rs", "sh", "py")
"""How the names of other files end in folders that are omitted."""

SUFFIXES = (".tar", ".tar.xz", ".tar.gz", ".tgz", ".tar.bz2", ".tar.zst", ".deb")

BUILD = "fairhaul linux build"


def copied(source: str, builds: Path, steps: Steps) -> Path:
    """Copy the source into its folder below `builds`, and give the folder.

    The folder is `VERSION-DIGEST`; the kernel's sources are in `source` there. A source is the path
    of a tree or an archive, or the name of a package of Debian.
    """
    if debian.PACKAGE.fullmatch(source):
        return _from_debian(source, builds, steps)
    path = Path(source)
    if path.is_dir():
        return _from_tree(path, builds, steps)
    if path.is_file():
        if not path.name.endswith(SUFFIXES):
            raise Refused(
                f"{source} is neither a tree of Linux nor an archive ({', '.join(SUFFIXES)}); "
                f"without SOURCE, Debian's {debian.DEFAULT} is built: {BUILD}"
            )
        return _from_archive(path, _digest_of(path), builds, steps)
    raise Refused(f"there is no {source}; without it, Debian's {debian.DEFAULT} is built: {BUILD}")


def _from_debian(package: str, builds: Path, steps: Steps) -> Path:
    downloads = builds.parent / "downloads" / package
    try:
        name, options = debian.candidate(package, downloads / "apt")
        digest = _short(name.encode())
        if there := _there(builds, digest):
            return there
        file = debian.fetch(package, options, downloads, steps)
        return _from_archive(file, digest, builds, steps)
    finally:
        shutil.rmtree(downloads, ignore_errors=True)


def _from_archive(file: Path, digest: str, builds: Path, steps: Steps) -> Path:
    if there := _there(builds, digest):
        return there
    steps.begin(f"unpacking {file.name}")
    draft = builds / f".{digest}.draft"
    shutil.rmtree(draft, ignore_errors=True)
    (draft / "source").mkdir(parents=True)
    try:
        _unpack(file, draft / "source")
        return _named(draft, digest, str(file))
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _from_tree(tree: Path, builds: Path, steps: Steps) -> Path:
    version = version_of(tree, str(tree))
    folder = builds / f"{version}-{_short(str(tree).encode())}"
    steps.begin(f"unpacking {tree.name}")
    synchronise(tree, folder / "source", folder / "originals")
    return folder


def _there(builds: Path, digest: str) -> Path | None:
    """The folder of a source that was unpacked before."""
    return next(iter(sorted(builds.glob(f"[0-9]*-{digest}"))), None)


def _named(draft: Path, digest: str, source: str) -> Path:
    """Give a complete copy its name."""
    version = version_of(draft / "source", source)
    folder = draft.parent / f"{version}-{digest}"
    draft.rename(folder)
    return folder


def version_of(tree: Path, source: str) -> str:
    """The version of a tree.

    Raises:
        Refused: it is no tree of Linux, or one that is too old.
    """
    try:
        head = (tree / "Makefile").read_text(encoding="utf-8")[:2000]
    except (OSError, UnicodeDecodeError):
        head = ""
    values = dict(re.findall(r"^(VERSION|PATCHLEVEL|SUBLEVEL|EXTRAVERSION) *= *(\S*)$", head, re.M))
    if len(values) < 4 or not (tree / "arch/um/Kconfig").is_file():
        raise Refused(
            f"{source} contains no source of Linux with User-Mode Linux (a Makefile with its "
            f"version, arch/um); without SOURCE, Debian's {debian.DEFAULT} is built: {BUILD}"
        )
    version = "{VERSION}.{PATCHLEVEL}.{SUBLEVEL}{EXTRAVERSION}".format(**values)
    if changes.numbers(version) < changes.numbers(OLDEST):
        raise Refused(
            f"Linux {version} is older than {OLDEST}, the oldest version that Fairhaul builds; "
            f"without SOURCE, Debian's {debian.DEFAULT} is built: {BUILD}"
        )
    return version


def _unpack(file: Path, into: Path) -> None:
    """Unpack an archive of a tree, or a package of Debian that contains one."""
    unpack = ["tar", "-x", "--strip-components=1", "--no-same-owner", "--wildcards"]
    unpack += ["-C", str(into)]
    unpack += [f"--exclude={pattern}" for pattern in _patterns()]
    if file.suffix != ".deb":
        _piped(file, [[*unpack, "-f", str(file)]])
        return
    if shutil.which("dpkg-deb") is None:
        raise Refused(
            f"this system has no dpkg-deb, which opens {file}; unpack it, and give the archive "
            f"in it: {BUILD} linux-source-6.12.tar.xz"
        )
    content = ["dpkg-deb", "--fsys-tarfile", str(file)]
    archive = ["tar", "-x", "-O", "--wildcards", "*/linux-source-*.tar.xz"]
    _piped(file, [content, archive, [*unpack, "-J"]])


def _patterns() -> Iterator[str]:
    for folder in OMITTED:
        for ending in ENDINGS:
            yield f"*/{folder}/*.{ending}"


def _piped(file: Path, commands: list[list[str]]) -> None:
    """Run commands, each with the output of the one before as its input."""
    running: list[subprocess.Popen[bytes]] = []
    try:
        for command in commands:
            stdin = running[-1].stdout if running else subprocess.DEVNULL
            last = len(running) == len(commands) - 1
            process = subprocess.Popen(
                command,
                stdin=stdin,
                stdout=subprocess.DEVNULL if last else subprocess.PIPE,
                stderr=subprocess.PIPE if last else subprocess.DEVNULL,
                env={**os.environ, "LC_ALL": "C"},
            )
            if running and running[-1].stdout:
                running[-1].stdout.close()
            running.append(process)
        errors = running[-1].communicate()[1].decode(errors="replace").strip()
        status = [process.wait() for process in running]
    finally:
        for process in running:
            if process.poll() is None:
                process.kill()
                process.wait()
    if "No space left" in errors:
        raise OSError(28, "No space left on device", str(file))
    if any(status):
        reason = errors.splitlines()[0] if errors else "it is damaged"
        raise Refused(f"{file} cannot be unpacked: {reason}; give another archive: {BUILD} SOURCE")


def synchronise(tree: Path, copy: Path, originals: Path) -> None:
    """Copy a tree, or what has changed in it since it was copied.

    `originals` has files that are changed in the copy, as they were copied: they are compared and
    replaced there.
    """
    for name in _files(tree):
        original = originals / name
        to = original if original.is_file() else copy / name
        if _same(tree / name, to):
            continue
        to.parent.mkdir(parents=True, exist_ok=True)
        to.unlink(missing_ok=True)
        shutil.copy2(tree / name, to, follow_symlinks=False)


def _same(one: Path, other: Path) -> bool:
    try:
        a, b = one.lstat(), other.lstat()
    except FileNotFoundError:
        return False
    return (a.st_size, a.st_mtime_ns, a.st_mode) == (b.st_size, b.st_mtime_ns, b.st_mode)


def _files(tree: Path) -> Iterator[str]:
    """The files of a tree that are copied, by their paths in it."""
    for folder, folders, names in os.walk(tree):
        below = os.path.relpath(folder, tree).removeprefix(".").removeprefix("/")
        unused = (".git", *GENERATED.get(below, ()))
        folders[:] = sorted(name for name in folders if name not in unused)
        omitted = f"{below}/".startswith(tuple(f"{path}/" for path in OMITTED))
        for name in sorted(names):
            if omitted and not name.startswith(CONFIGURATION):
                continue
            if name.endswith((".o", ".cmd", ".a")) or name == ".config":
                continue
            yield f"{below}/{name}" if below else name


def _digest_of(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()[:DIGITS]


def _short(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:DIGITS]
