"""What a wheel has beside the extension: `fairhaul-host`, its library, transport stacks, and the engine as WebAssembly."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from tools import ROOT
from tools.bench.cost import with_rust
from tools.dist import GLIBC, Architecture, Missing, call, text_of

WORK = ROOT / "target" / "dist"
"""Where releases are built: the unpacked sources, the tools, and libraries of both architectures."""

STAGE = WORK / "stage"

STACKS = ("quinn", "noq", "smoltcp")
"""The transport stacks of others."""

LIBRARIES = ("libelf-dev", "zlib1g-dev")
"""Debian packages whose static libraries `fairhaul-host` is linked with."""


def environment() -> dict[str, str]:
    """The environment of the compilers: with the tools of releases, and without this machine's paths."""
    tools = WORK / "venv"
    if not (tools / "bin" / "cargo-zigbuild").exists():
        call([sys.executable, "-m", "venv", tools], ROOT)
        lock = ROOT / "scripts/dist/requirements.lock"
        install = ("install", "-q", "--disable-pip-version-check", "--no-deps", "-r", lock)
        call([tools / "bin/pip", *install], ROOT)
    flags = text_of([STAGE / "scripts/rustflags"], STAGE, {"RUSTFLAGS": ""}).strip()
    found = with_rust()
    found.pop("CARGO_TARGET_DIR", None)
    return {**found, "PATH": f"{tools / 'bin'}{os.pathsep}{found['PATH']}", "RUSTFLAGS": flags}


def prepare(architecture: Architecture) -> None:
    """Obtain the standard library of Rust and the static libraries for an architecture."""
    library = Path(text_of(["rustc", "--print", "sysroot"], ROOT, with_rust()).strip())
    triple = architecture.triple
    if not (library / "lib/rustlib" / triple).is_dir():
        if shutil.which("rustup", path=with_rust()["PATH"]) is None:
            raise Missing(f"the standard library of Rust for {triple} (rustup target add {triple})")
        call(["rustup", "-q", "target", "add", triple], ROOT, with_rust())
    if not (_libraries(architecture) / "libelf.a").exists():
        _download(architecture)


def copyright_of(architecture: Architecture, package: str) -> tuple[str, str]:
    """The version of a Debian package that `prepare` obtained, and its copyright file."""
    folder = WORK / architecture.debian
    (archive,) = folder.glob(f"{package}_*.deb")
    return archive.name.split("_")[1].replace("%3a", ":"), (
        folder / "root/usr/share/doc" / package / "copyright"
    ).read_text()


def build_host(architecture: Architecture) -> None:
    """Build `fairhaul-host` and its library into the unpacked sources; they need no other library than glibc."""
    include = WORK / architecture.debian / "root/usr/include"
    more = include / f"{architecture.machine}-linux-gnu"
    # maturin calls zig with other flags: in one folder, each would build what both use again.
    folder = STAGE / "target/host"
    env = environment() | {
        "CARGO_TARGET_DIR": str(folder),
        "LIBBPF_SYS_LIBRARY_PATH": str(_libraries(architecture)),
        "LIBBPF_SYS_EXTRA_CFLAGS": f"-I{include} -I{more}",
    }
    target = f"{architecture.triple}.{GLIBC}"
    build = ("cargo", "zigbuild", "--release", "--locked", "-p", "fairhaul-host", "-p", "fairhaul-linux")
    call([*build, "--target", target], STAGE, env)
    to = STAGE / "python/fairhaul/bin"
    to.mkdir(exist_ok=True)
    for name in ("fairhaul-host", "libfairhaul_linux.so"):
        built = folder / architecture.triple / "release" / name
        call(["llvm-strip", "-o", to / name, built], STAGE)
        (to / name).chmod(0o755)


def build_stacks(architecture: Architecture) -> None:
    """Build the transport stacks of others into the unpacked sources; they need no other library than glibc."""
    folder = STAGE / "target/stacks"
    env = environment()
    env |= {
        "CARGO_TARGET_DIR": str(folder),
        "RUSTFLAGS": f'{env["RUSTFLAGS"]} --cfg getrandom_backend="custom"',
    }
    target = f"{architecture.triple}.{GLIBC}"
    call(["cargo", "zigbuild", "--release", "--locked", "--target", target], STAGE / "stacks", env)
    to = STAGE / "python/fairhaul/stacks"
    to.mkdir(exist_ok=True)
    for name in STACKS:
        library = f"libfairhaul_{name}.so"
        shutil.copy(folder / architecture.triple / "release" / library, to / library)


def build_engine() -> None:
    """Build the engine as WebAssembly into the unpacked sources."""
    call(["scripts/studio"], STAGE, environment())
    if not (STAGE / "python/fairhaul/studio/engine.wasm.gz").exists():
        raise Missing("what scripts/studio names")


def check_crates() -> None:
    """Do everything of the publication of the library crates except the upload."""
    crates = [f"--package=fairhaul-{name}" for name in ("units", "cc", "path")]
    options = ("--dry-run", "--quiet", "--locked", "--allow-dirty")
    call(["cargo", "publish", *options, *crates], STAGE, with_rust())


def _libraries(architecture: Architecture) -> Path:
    """The folder of the static libraries of an architecture."""
    return WORK / architecture.debian / "root/usr/lib" / f"{architecture.machine}-linux-gnu"


def _download(architecture: Architecture) -> None:
    """Unpack Debian's static libraries, with lists of packages apart from those of this machine."""
    if shutil.which("apt-get") is None:
        raise Missing(f"apt-get, for {' and '.join(LIBRARIES)} of {architecture.debian}")
    folder = WORK / architecture.debian
    shutil.rmtree(folder, ignore_errors=True)
    for below in ("state/lists/partial", "cache/archives/partial"):
        (folder / below).mkdir(parents=True)
    (folder / "status").touch()
    lines = (
        f'Dir::State "{folder}/state";',
        f'Dir::State::status "{folder}/status";',
        f'Dir::Cache "{folder}/cache";',
        f'APT::Architecture "{architecture.debian}";',
        f'APT::Architectures {{"{architecture.debian}";}};',
        'APT::Sandbox::User "root";',
    )
    (folder / "apt.conf").write_text("\n".join(lines))
    env = {"APT_CONFIG": str(folder / "apt.conf")}
    call(["apt-get", "update", "-qq"], folder, env)
    call(["apt-get", "download", "-qq", *LIBRARIES], folder, env)
    for archive in sorted(folder.glob("*.deb")):
        call(["dpkg-deb", "-x", archive, folder / "root"], folder)
