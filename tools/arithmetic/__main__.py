"""`python -m tools.arithmetic`: compare the ports' integer arithmetic with exact arithmetic.

Proofs need z3 (`pip install z3-solver`), which no other part of the project needs, and clang.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path as File

import click

from tools.arithmetic import prague
from tools.arithmetic.claims import HELPERS, Helper
from tools.arithmetic.machine import Machine
from tools.arithmetic.objects import PORTS, port, wrappers
from tools.arithmetic.programs import PROGRAMS, machine, parameter_regions, parameters
from tools.arithmetic.values import Path, Pointer, constant

EXHAUSTIVE = File(__file__).parent / "exhaustive"
PARTS = ("faults", "helpers", "programs", "exhaustive")
# Planted faults, by the arguments that they have to be found with.
FAULTS = {
    "a_product": {"a": (0, 1 << 30), "b": (0, 1 << 30), "c": (0, 1 << 30)},
    "a_division": {"a": (0, 1 << 30), "b": (0, 5)},
    "a_narrow_sum": {"a": (0, 1 << 31), "b": (0, 1 << 31)},
    "a_negative": {"a": (0, 10), "b": (0, 5)},
    "a_sign": {"a": (0, 1 << 30)},
}


@click.command()
@click.option("--only", metavar="PART,PART", default=",".join(PARTS), help="Of " + ", ".join(PARTS))
@click.option("--ports", metavar="PORT,PORT", default=",".join(PROGRAMS), help="Programs of these.")
def main(only: str, ports: str) -> None:
    """Prove what is claimed of each helper, follow whole programs, and try all inputs."""
    chosen, failed = only.split(","), False
    if "faults" in chosen:
        failed |= not _faults()
    if "helpers" in chosen:
        failed |= False in list(map(_helper, (*HELPERS, *prague.HELPERS)))
    if "programs" in chosen:
        failed |= False in list(map(_programs, ports.split(",")))
    if "exhaustive" in chosen:
        failed |= False in list(map(_exhaustive, sorted(EXHAUSTIVE.glob("*.c"))))
    sys.exit(failed)


def _start(arguments: dict[str, tuple[int, int]]) -> tuple[Path, list[object]]:
    """The path at the beginning of a wrapper, and its arguments."""
    start = Path(at=0, registers={10: Pointer(region="stack", offset=constant(0))})
    values = [start.unknown(name, *interval) for name, interval in arguments.items()]
    start.registers |= dict(enumerate(values, 1))
    return start, [value.term for value in values]


def _faults() -> bool:
    """Whether all planted faults are found."""
    object_, found = wrappers("faults"), True
    for name, arguments in FAULTS.items():
        one = Machine(object=object_, function=name, regions={})
        one.run(_start(arguments)[0])
        found &= bool(one.failures)
        click.echo(f"planted fault {name}: {one.failures[0] if one.failures else 'NOT FOUND'}")
    return found


def _helper(helper: Helper) -> bool:
    begun = time.monotonic()
    object_ = wrappers(helper.file)
    one = Machine(object=object_, function=helper.name, regions=parameter_regions(object_))
    start, terms = _start(helper.arguments)
    for name in helper.parameters:
        value = start.unknown(name, *parameters(object_)[name])
        start.memory[name, 0, 4] = value
        terms.append(value.term)
    if helper.assumes is not None:
        start.known.append(helper.assumes(*terms))
    answers = []
    for path in one.run(start):
        result = path.registers[0]
        assert not isinstance(result, Pointer), "a helper returns a number"
        answers.append(one.proves(path, helper.claim(result.term, *terms)))
    proven = all(answers) and not one.failures
    for failure in one.failures:
        click.echo(f"  {failure}")
    claim = "proven" if all(answers) else "UNDECIDED" if None in answers else "WRONG"
    click.echo(
        f"{helper.file} {helper.name}: {len(answers)} paths, {one.by_interval} results by "
        f"intervals, {one.by_solver} by z3; {helper.error}: {claim}, "
        f"{time.monotonic() - begun:.1f} s"
    )
    return proven


def _programs(name: str) -> bool:
    object_, passed = port(name), True
    for function in PROGRAMS[name]:
        begun = time.monotonic()
        one, start = machine(name, object_, function)
        paths = one.run(start)
        passed &= not one.failures
        for failure in one.failures[:10]:
            click.echo(f"  {failure}")
        click.echo(
            f"{name} {function}: {len(paths)} paths, {one.by_interval} results by "
            f"intervals, {one.by_solver} by z3, {len(one.failures)} not proven, "
            f"{time.monotonic() - begun:.1f} s"
        )
    return passed


def _exhaustive(source: File) -> bool:
    """All inputs of a helper, in the machine code of this machine."""
    with tempfile.TemporaryDirectory() as folder:
        program = str(File(folder) / "all")
        command = ["clang", "-O2", "-w", "-fno-builtin", '-DFAIRHAUL_VERSION="0"', f"-I{PORTS}"]
        subprocess.run([*command, str(source), "-o", program, "-lm"], check=True)
        run = subprocess.run([program], check=False, text=True, stdout=subprocess.PIPE)
    click.echo(run.stdout, nl=False)
    return run.returncode == 0


main(prog_name="python -m tools.arithmetic")
