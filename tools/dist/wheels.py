"""The wheels, built from the source distribution."""

from __future__ import annotations

import shutil
from pathlib import Path

from tools.dist import GLIBC, Architecture, call
from tools.dist.components import linked
from tools.dist.licences import text
from tools.dist.programs import STAGE, build_engine, build_host, build_stacks, environment, prepare
from tools.dist.sbom import write
from tools.dist.sources import epoch

LICENCES = "LICENSE-THIRD-PARTY.txt"
"""The file with the licences of what is linked in; its name makes maturin pack it."""

SBOM = "fairhaul.cdx.json"


def build(architecture: Architecture, out: Path) -> Path:
    """Build the wheel of an architecture, with engine, studio, `fairhaul-host` and the stacks of others."""
    prepare(architecture)
    if not (STAGE / "python/fairhaul/studio/engine.wasm.gz").exists():
        build_engine()
    build_host(architecture)
    build_stacks(architecture)
    components = linked(architecture)
    (STAGE / LICENCES).write_text(text(components))
    write(components, STAGE / SBOM)
    built = STAGE / "target/wheels" / architecture.machine
    shutil.rmtree(built, ignore_errors=True)
    options = ("--release", "--locked", "--strip", "--zig", "--target", architecture.triple)
    tag = f"manylinux_{GLIBC.replace('.', '_')}"
    more = ("--compatibility", tag, "--sbom-include", STAGE / SBOM, "--out", built)
    env = environment() | {"SOURCE_DATE_EPOCH": str(epoch())}
    call(["maturin", "build", *options, *more], STAGE, env)
    (wheel,) = built.glob("*.whl")
    return Path(shutil.copy(wheel, out / wheel.name))
