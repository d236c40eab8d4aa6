"""The calls of make, by which the kernel configures and compiles itself."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from fairhaul._core import RunError
from fairhaul.host.process import Refused
from fairhaul.linux import requirements
from fairhaul.linux.progress import Steps

OBJECTS = 760
"""About how many objects a program consists of."""

LOG = "make.log"

# Part of the program; with these equal sources give equal programs.
STAMPS = {
    "KBUILD_BUILD_TIMESTAMP": "@0",
    "KBUILD_BUILD_USER": "fairhaul",
    "KBUILD_BUILD_HOST": "fairhaul",
    "KBUILD_BUILD_VERSION": "1",
}

DONE = re.compile(r"^  (?:CC|AS|HOSTCC)\s+\S+")


def configure(tree: Path, objects: Path, fragment: Path, steps: Steps) -> None:
    """Write the configuration of a program: nothing but the lines of the fragment."""
    steps.begin("configuring")
    objects.mkdir(parents=True, exist_ok=True)
    config = objects / ".config"
    before = config.read_bytes() if config.is_file() else None
    stamp = config.stat().st_mtime_ns if before is not None else 0
    _make(tree, objects, [f"KCONFIG_ALLCONFIG={fragment}", "allnoconfig"])
    if before == config.read_bytes():
        os.utime(config, ns=(stamp, stamp))


def compile_all(tree: Path, objects: Path, steps: Steps) -> None:
    """Compile and link the program."""
    steps.begin("compiling Linux")
    config = (objects / ".config").stat().st_mtime_ns
    # Objects of an interrupted build; a changed configuration has all of them compiled again.
    done = sum(1 for file in objects.rglob("*.o") if file.stat().st_mtime_ns > config)

    def on_line(line: str) -> None:
        nonlocal done
        if DONE.match(line):
            done += 1
            steps.at(done / OBJECTS, f": {done} of about {max(done, OBJECTS)} objects")

    _make(tree, objects, [f"-j{len(os.sched_getaffinity(0))}", "linux"], on_line)


def facts(tree: Path, objects: Path) -> dict[str, int]:
    """The values that `fairhaul_facts.c` names, as this program computes them."""
    text = objects / "arch/um/drivers/fairhaul_facts.s"
    _make(tree, objects, [str(text.relative_to(objects))])
    found = re.findall(r'"fact (\w+) \$?(-?\d+)"', text.read_text(encoding="utf-8"))
    return {name: int(value) for name, value in found}


def strip(linux: Path, program: Path) -> None:
    """Copy the program without what only a debugger reads."""
    command = ["strip", "--strip-debug", "-o", str(program), str(linux)]
    answer = requirements.answer_of(command)
    if answer.returncode != 0:
        if "No space left" in answer.stderr:
            raise Refused(requirements.no_space(program.parent.parent))
        raise RunError(f"strip failed: {answer.stderr.strip()}")


def _make(
    tree: Path, objects: Path, targets: list[str], on_line: Callable[[str], None] = lambda _: None
) -> None:
    """Call make, in the same surroundings everywhere.

    Raises:
        Refused: there is no space left.
        RunError: it failed; the text contains the first error.
    """
    temporary = objects.parent / "tmp"
    temporary.mkdir(exist_ok=True)
    log = objects.parent / LOG
    maps = f"-ffile-prefix-map={tree}=linux -ffile-prefix-map={objects}=objects"
    command = ["make", "ARCH=um", f"O={objects}", f"KCFLAGS={maps}", f"KAFLAGS={maps}", *targets]
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(temporary),
        "TMPDIR": str(temporary),
        "LC_ALL": "C",
        **STAMPS,
    }
    with (
        log.open("w", encoding="utf-8") as out,
        subprocess.Popen(
            command,
            cwd=tree,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as process,
    ):
        assert process.stdout is not None
        try:
            for line in process.stdout:
                out.write(line)
                on_line(line)
            status = process.wait()
        except BaseException:
            _end(process)
            raise
    if status != 0:
        raise _failure(log, objects)


def _end(process: subprocess.Popen[str]) -> None:
    """End make and its compilers; make removes the files that are half written."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _failure(log: Path, objects: Path) -> Exception:
    text = log.read_text(encoding="utf-8", errors="replace")
    if "No space left on device" in text:
        return Refused(requirements.no_space(objects))
    errors = re.findall(r"^(.*(?:error:|can't open file|Error \d|\*\*\*).*)$", text, re.MULTILINE)
    reason = errors[0].strip() if errors else "make gives no reason"
    return RunError(f"Linux could not be compiled: {reason}; all output of make is in {log}")
