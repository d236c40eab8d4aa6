"""What docs/threat-model.md promises of `fairhaul-host`, as root on the real kernel.

After a crash at any moment the host is as before, users do not disturb each other, and hostile
input is refused.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import struct
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fairhaul.host import process as host
from tests.compiled import compiled_by_clang
from tests.kernel_host import PYTHON, in_linux, locked, needs_kernel, settled, sh, state, wait_for

NUMBER = os.getpid()
ONE, TWO = f"fh_{NUMBER:x}_1", f"fh_{NUMBER:x}_2"
NOBODY = 65534
AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
ADA, BOB = "54321", "54322"

# Cycles of install, remove, crash and recover, spread over workers, each with names, a network
# namespace and a store of its own. The router of a self-test has a third of a processor, before all
# others: more of them at once would hold up the labs of other tests.
CYCLES, WORKERS, SEED = 200, 4, 23

AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")

# The kernel's constants for the capabilities of a file (linux/capability.h).
CAPABILITIES_OF_A_FILE, CAP_NET_ADMIN = 0x0200_0001, 12


@dataclass(frozen=True, kw_only=True)
class Done:
    """What `fairhaul-host` answered: its status, and its lines."""

    status: int
    lines: list[Any]

    @property
    def error(self) -> str:
        """The message of a refusal or a failure."""
        return str(self.lines[-1].get("error", ""))

    @property
    def warnings(self) -> str:
        """All warnings."""
        return "\n".join(line["warning"] for line in self.lines if "warning" in line)


@dataclass(frozen=True, kw_only=True)
class Store:
    """A folder of installed ports, and how `fairhaul-host` is called for it."""

    place: Path
    before: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()

    def start(self, do: str, **request: Any) -> subprocess.Popen[str]:
        """Start a request."""
        pipe = subprocess.PIPE
        environment = {**os.environ, **dict(self.environment)}
        process = subprocess.Popen(
            [*self.before, host.PROGRAM], stdin=pipe, stdout=pipe, text=True, env=environment
        )
        assert process.stdin is not None
        envelope = {"request": {"do": do, **request}, "place": str(self.place)}
        process.stdin.write(json.dumps(envelope))
        process.stdin.close()
        process.stdin = None
        return process

    def ask(self, do: str, **request: Any) -> Done:
        """Have a request carried out."""
        return ended(self.start(do, **request))

    def install(self, name: str, port: str = "reno", **scope: Any) -> Done:
        """Install a port."""
        return self.ask("install", ports=[{"port": port, "as": name}], scope=scope)

    def installed(self, name: str, **scope: Any) -> None:
        """Install a port; the self-test is repeated where the machine was too busy for it."""
        for _ in range(5):
            done = self.install(name, **scope)
            if "of the path" not in done.error:
                break
        assert done.status == 0, done.lines

    def removed(self, *names: str) -> Done:
        """Remove these ports, or all."""
        done = self.ask("remove", names=names, all=not names)
        assert done.status == 0, done.lines
        if not names:
            assert not self.place.exists() or "stays" in done.warnings
        return done

    def owners(self) -> dict[str, int]:
        """Give the owners of the installed ports."""
        ports = self.ask("status").lines[-1]["result"]["ports"]
        return {one["name"]: one["owner"]["uid"] for one in ports if one["owner"]}

    def by(self, user: str) -> Store:
        """Give the same store, for a user who calls `sudo`."""
        return Store(place=self.place, before=self.before, environment=(("SUDO_UID", user),))


def ended(process: subprocess.Popen[str]) -> Done:
    """Wait for the end of a request; the bound is for a defect, not for a machine that is busy."""
    try:
        text, _ = process.communicate(timeout=300)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return Done(status=process.returncode, lines=[json.loads(line) for line in text.splitlines()])


@pytest.fixture(scope="module")
def base() -> Iterator[Path]:
    """A folder that every user can open; at the end of the module the host has to be as before."""
    with locked():
        before = state()
        folder = Path(tempfile.mkdtemp(prefix="fairhaul-threats-", dir="/run"))
        folder.chmod(0o755)
        yield folder
        assert list(folder.iterdir()) == []
        folder.rmdir()
        assert settled(before) == before


@pytest.fixture
def store(base: Path) -> Iterator[Store]:
    """A store that does not exist yet, and whose ports are removed at the end."""
    made = Store(place=base / "store")
    yield made
    made.removed()


# --- Crashes


@needs_kernel
def test_after_200_cycles_of_install_remove_crash_and_recover_the_host_is_as_before(
    base: Path,
) -> None:
    with ThreadPoolExecutor(WORKERS) as pool:
        outcomes = pool.map(lambda worker: _cycles(base, worker), range(WORKERS))
        counts = sum(outcomes, Counter[str]())
    print(dict(counts))
    assert counts.total() == CYCLES
    # Each kind of crash has happened, so that the recovery from it was tested.
    for kind in ("removed", "killed while installing", "killed while removing"):
        assert counts[kind] >= CYCLES // 20, counts


def _cycles(base: Path, worker: int) -> Counter[str]:
    """Go through the cycles of one worker, and count how they ended."""
    chance, name = random.Random(f"{SEED} {worker}"), f"fh_{NUMBER:x}_c{worker}"
    namespace, counts = f"fht{NUMBER}c{worker}", Counter[str]()
    inside = ("nsenter", f"--net=/run/netns/{namespace}")
    sh("ip", "netns", "add", namespace)
    try:
        sh("ip", "-n", namespace, "link", "set", "lo", "up")
        sh("ip", "-n", namespace, "route", "add", "10.200.0.0/16", "dev", "lo")
        store = Store(place=base / f"cycles{worker}", before=inside)
        before = _defaults(namespace)
        for _ in range(CYCLES // WORKERS):
            counts[_cycle(store, name, chance)] += 1
            store.removed()
            assert _defaults(namespace) == before
            wait_for(lambda: name not in AVAILABLE.read_text().split())
    finally:
        store.removed()
        sh("ip", "netns", "delete", namespace)
    return counts


def _cycle(store: Store, name: str, chance: random.Random) -> str:
    """Install and remove; one of the two may be killed, at a random moment of a random step."""
    scope: dict[str, Any] = chance.choice(({}, {"default": True}, {"routes": ["10.200.0.0/16"]}))
    request = {"ports": [{"port": "reno", "as": name}], "scope": scope}
    kill = chance.choice(("install", "install", "remove", "nothing"))
    if kill == "install":
        # The first step is the self-test, which takes most of the time.
        step = chance.choice((1, 2, 2, 3, 3, 4))
        return _killed(store.start("install", **request), step, chance, "installing")
    done = store.ask("install", **request)
    if done.status != 0:
        # The machine was too busy for the self-test: the port has to be refused, and leave nothing.
        assert "of the path" in done.error, done.lines
        return "failed in the self-test"
    if kill == "remove":
        return _killed(
            store.start("remove", all=True), chance.choice((0, 1, 2)), chance, "removing"
        )
    store.removed()
    return "removed"


def _killed(process: subprocess.Popen[str], steps: int, chance: random.Random, doing: str) -> str:
    """Kill a process after this many steps and a random time of at most 20 ms."""
    assert process.stdout is not None
    seconds = chance.uniform(0, 0.02)
    seen = 0
    while seen < steps and (line := process.stdout.readline()):
        seen += '"step"' in line
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return f"killed while {doing}" if process.returncode == -signal.SIGKILL else "ended before"


def _defaults(namespace: str) -> tuple[str, str]:
    file = "/proc/sys/net/ipv4/tcp_congestion_control"
    default = sh("nsenter", f"--net=/run/netns/{namespace}", "cat", file)
    return default, sh("ip", "-n", namespace, "route", "show", "table", "all")


@in_linux
@needs_kernel
def test_a_record_that_was_not_written_completely_is_removed(store: Store) -> None:
    store.place.mkdir(mode=0o700)
    (store.place / f"{ONE}.new").write_text("{")
    assert store.removed().lines[-1]["result"]["removed"] == [ONE]


# --- Several users


@in_linux
@needs_kernel
def test_two_users_install_and_remove_at_once_and_keep_what_the_other_has(store: Store) -> None:
    users = {ONE: store.by(ADA), TWO: store.by(BOB)}

    def rounds(name: str) -> None:
        other = TWO if name == ONE else ONE
        for _ in range(4):
            users[name].installed(name)
            found = users[name].owners()
            assert found[name] == int(dict(users[name].environment)["SUDO_UID"])
            assert found.get(other) in (None, int(BOB if name == ONE else ADA))
            done = users[name].removed(name)
            assert done.lines[-1]["result"]["removed"] == [name]
            assert "was installed by" not in done.warnings
        users[name].installed(name)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(rounds, users))
    # Side by side, each sees the other's owner; the removal of one leaves the other.
    assert store.owners() == {ONE: int(ADA), TWO: int(BOB)}
    warned = users[ONE].removed(TWO).warnings
    assert f"{TWO} was installed by uid {BOB}, 20" in warned
    assert f"not by uid {ADA}" in warned
    assert store.owners() == {ONE: int(ADA)}
    changed = users[TWO].ask("set", name=ONE, set={"no": "1"})
    assert changed.status == 2


@in_linux
@needs_kernel
def test_of_two_users_who_want_one_name_the_second_hears_who_has_it(store: Store) -> None:
    while True:
        both = [
            store.by(user).start("install", ports=[{"port": "reno", "as": ONE}])
            for user in (ADA, BOB)
        ]
        first, second = sorted(map(ended, both), key=lambda done: done.status)
        if "of the path" not in first.error + second.error:
            break
        store.removed()
    assert (first.status, second.status) == (0, 2)
    (winner,) = store.owners().values()
    assert f"{ONE} is already installed (by uid {winner}, 20" in second.error
    assert "another fairhaul is installing" in first.warnings + second.warnings


@in_linux
@needs_kernel
def test_an_ordinary_user_cannot_hold_up_an_installation_or_read_its_folder(store: Store) -> None:
    store.installed(ONE)
    script = f"flock --exclusive --nonblock {store.place.parent} sh -c 'echo held; exec sleep 300'"
    holder = subprocess.Popen([*AS_NOBODY, "sh", "-c", script], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        for folder in (store.place, store.place / "bpf", store.place / f"{ONE}.json"):
            done = subprocess.run(
                [*AS_NOBODY, "cat", folder], capture_output=True, text=True, check=False
            )
            assert "Permission denied" in done.stderr
        # It would wait for the holder, and the bound of `ended` would end it.
        store.removed()
    finally:
        holder.kill()
        holder.wait()


@in_linux
@needs_kernel
def test_only_the_word_of_root_about_the_owner_counts(base: Path) -> None:
    # A user who has the capabilities, and a store of his own, but is not root.
    needed = ("bpf", "net_admin", "perfmon", "sys_admin", "sys_ptrace")
    capabilities = ",".join(f"+{name}" for name in needed)
    own = base / "own"
    own.mkdir(mode=0o700)
    record = {"name": ONE, "port": "reno", "version": "", "parameters": []}
    owner = {"uid": int(BOB), "user": "", "at": "2026-01-01 00:00 UTC"}
    (own / f"{ONE}.json").write_text(
        json.dumps({**record, "owner": owner, "namespaces": [], "routes": []})
    )
    os.chown(own, NOBODY, NOBODY)
    os.chown(own / f"{ONE}.json", NOBODY, NOBODY)
    words = (*AS_NOBODY, f"--inh-caps={capabilities}", f"--ambient-caps={capabilities}")
    user = Store(place=own, before=words, environment=(("SUDO_UID", BOB),))
    # With the word of `sudo` the owner would remove his own port, and get no warning.
    warned = user.ask("remove", all=True, dry_run=True).warnings
    assert f"{ONE} was installed by uid {BOB}" in warned
    assert f"(uid {NOBODY})" in warned
    shutil.rmtree(own)


# --- The environment of the caller


@in_linux
@needs_kernel
def test_programs_are_not_looked_up_in_the_path_of_the_caller(store: Store, tmp_path: Path) -> None:
    fake, marker = tmp_path / "ip", tmp_path / "marker"
    fake.write_text(f"#!/bin/sh\n: > {marker}\nexit 1\n")
    fake.chmod(0o755)
    changed = Store(place=store.place, environment=(("PATH", f"{tmp_path}:{os.environ['PATH']}"),))
    done = changed.install(ONE, routes=["198.18.7.0/24"])
    assert "there is no route to exactly" in done.error
    assert not marker.exists()


@needs_kernel
def test_a_program_with_the_bit_setuid_or_with_file_capabilities_refuses_every_request() -> None:
    folder = _with_setuid()
    program = folder / "fairhaul-host"
    try:
        for elevate in (_setuid, _capabilities):
            shutil.copy(host.PROGRAM, program)
            elevate(program)
            done = subprocess.run(
                [*AS_NOBODY, program],
                input='{"request": {"do": "list"}}',
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 2, done.stdout
            assert "has the bit setuid or setgid, or file capabilities" in done.stdout
    finally:
        shutil.rmtree(folder)


def _with_setuid() -> Path:
    """Make a folder of a file system that honours setuid, which every user can open."""
    for parent in ("/tmp", "/var/tmp", "/usr/local/lib"):
        if not os.statvfs(parent).f_flag & (os.ST_NOSUID | os.ST_NOEXEC):
            folder = Path(tempfile.mkdtemp(prefix="fairhaul-threats-", dir=parent))
            folder.chmod(0o755)
            return folder
    raise AssertionError("every folder is mounted with nosuid or noexec")


def _setuid(program: Path) -> None:
    program.chmod(0o4755)


def _capabilities(program: Path) -> None:
    program.chmod(0o755)
    value = struct.pack("<5I", CAPABILITIES_OF_A_FILE, 1 << CAP_NET_ADMIN, 0, 0, 0)
    os.setxattr(program, "security.capability", value)


@in_linux
@needs_kernel
def test_programs_that_it_starts_can_gain_no_capabilities(store: Store) -> None:
    store.installed(ONE)
    watch = store.start("watch", names=[], interval_s=1)
    try:
        assert watch.stdout is not None
        watch.stdout.readline()
        text = Path(f"/proc/{watch.pid}/status").read_text()
        assert "NoNewPrivs:\t1" in text
        held = next(line.split()[1] for line in text.splitlines() if line.startswith("CapPrm"))
        assert int(held, 16).bit_count() <= 5
    finally:
        watch.kill()
        watch.communicate()


# --- Files


@needs_kernel
def test_only_a_regular_file_with_a_controller_is_loaded(store: Store, tmp_path: Path) -> None:
    def file(name: str) -> Path:
        return tmp_path / f"{name}.bpf.o"

    xdp = tmp_path / "xdp.bpf.c"
    xdp.write_text(
        '__attribute__((section("xdp"), used)) int pass(void) { return 2; }\n'
        'char _license[] __attribute__((section("license"), used)) = "GPL";\n'
    )
    built = compiled_by_clang(xdp, "xdp")
    file("directory").mkdir()
    os.mkfifo(file("pipe"))
    os.mknod(file("device"), 0o600 | 0o020000, os.makedev(1, 5))
    file("link").symlink_to(built)
    file("dangling").symlink_to(tmp_path / "nothing")
    with file("huge").open("wb") as huge:
        huge.truncate(1 << 40)
    file("machine").write_bytes(Path("/bin/true").read_bytes())
    file("cut").write_bytes(built.read_bytes()[:300])
    file("empty").touch()
    refusals = {
        file("directory"): "is not a regular file",
        file("pipe"): "is not a regular file",
        file("device"): "is not a regular file",
        file("link"): "is a symbolic link",
        file("dangling"): "is a symbolic link",
        file("huge"): "is too large",
        file("none"): "No such file",
        file("machine"): "is not loaded",
        file("cut"): "is not loaded",
        file("empty"): "is not loaded",
        built: "is not loaded",
        "/proc/self/mem.o": "No such file",
        "a\0b.o": "NUL byte",
    }
    for path, why in refusals.items():
        done = store.install(ONE, port=str(path))
        assert (done.status, why in done.error) == (2, True), (path, done.lines)
    # Root without the rights over other users' files cannot read this one.
    file("unreadable").touch(mode=0)
    os.chown(file("unreadable"), NOBODY, NOBODY)
    drop = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
    done = Store(place=store.place, before=drop).install(ONE, port=str(file("unreadable")))
    assert (done.status, "Permission denied" in done.error) == (2, True), done.lines
    assert not store.place.exists()


@in_linux
@needs_kernel
def test_an_object_that_others_can_change_is_reported(store: Store, tmp_path: Path) -> None:
    shared = tmp_path / "shared.bpf.o"
    shared.write_bytes(b"no object")
    for owner, mode, who in (
        (NOBODY, 0o644, f"its owner (uid {NOBODY})"),
        (0, 0o666, "every user"),
    ):
        os.chown(shared, owner, 0)
        shared.chmod(mode)
        done = store.by("0").install(ONE, port=str(shared))
        assert f"can be changed by {who}" in done.warnings, done.lines


@in_linux
@needs_kernel
def test_a_name_is_never_a_path_an_option_or_a_line(store: Store) -> None:
    secret = store.place.parent / "secret.json"
    secret.write_text('{"name": "../secret"}')
    names = (
        *("", ".", "..", "../secret", "fh_../secret", "/etc/passwd", "fh_a/b", "-fh_a", "--all"),
        *("fh_a\n", "fh_\x1b[2J", "fh_a\0b", "fh_é", "fh_A", "fh_a b", "fh_", "cubic"),
        *("fh_abcdefghijklm", "fh_" + "a" * 100_000),
    )
    for name in names:
        done = store.install(name)
        assert done.status == 2, done.lines
        assert "is not a valid name for a controller" in done.error
        assert "\x1b" not in done.error
        for request in ({"do": "remove", "names": [name]}, {"do": "set", "name": name, "set": {}}):
            done = store.ask(**request)
            assert (done.status, "is not installed" in done.error) == (2, True), done.lines
    for name in ("", ".", "..", "../../etc", "/proc/1/ns/net", "a\0b", "nowhere"):
        done = store.install(ONE, namespaces=[name])
        assert (done.status, "namespace" in done.error) == (2, True), done.lines
    for prefix in ("", "-batch /etc/passwd", "10.0.0.0/8 table 5", "all", "10.0.0.0/99"):
        done = store.install(ONE, routes=[prefix])
        assert (done.status, "is not a valid prefix" in done.error) == (2, True), done.lines
    assert secret.exists()
    secret.unlink()


@in_linux
@needs_kernel
def test_a_pipe_among_the_namespaces_blocks_nothing(store: Store) -> None:
    # In mounts of its own, because other programs of this host would wait for this pipe.
    hide = 'mount -t tmpfs none /run/netns && mkfifo /run/netns/pipe && exec "$@"'
    Path("/run/netns").mkdir(exist_ok=True)
    there = Store(place=store.place, before=("unshare", "--mount", "sh", "-c", hide, "sh"))
    assert there.ask("status").status == 0
    assert "it is a file, and no namespace" in there.install(ONE, namespaces=["pipe"]).error


@in_linux
@needs_kernel
def test_a_folder_of_another_user_is_no_store(base: Path) -> None:
    trap = base / "trap"
    record = trap / f"{ONE}.json"
    for owner, mode in ((NOBODY, 0o700), (0, 0o777), (0, 0o755)):
        trap.mkdir()
        record.write_text("{}")
        trap.chmod(mode)
        os.chown(trap, owner, owner)
        for request in (
            {"do": "install", "ports": [{"port": "reno", "as": ONE}]},
            {"do": "remove", "all": True},
        ):
            done = Store(place=trap).ask(**request)
            assert done.status == 2, done.lines
            assert f"{trap} cannot hold installed eBPF ports: " in done.error
        assert record.read_text() == "{}"
        shutil.rmtree(trap)
    trap.symlink_to("/etc")
    done = Store(place=trap).ask("remove", all=True)
    assert (done.status, "cannot hold installed" in done.error) == (2, True), done.lines
    trap.unlink()


@in_linux
@needs_kernel
def test_what_other_programs_have_in_the_folder_stays(store: Store) -> None:
    store.installed(ONE)
    pins = store.place / "bpf"
    mode = pins.stat().st_mode & 0o777
    assert (mode, store.place.stat().st_mode & 0o777) == (0o700, 0o700)
    sh(
        "bpftool",
        "map",
        "create",
        pins / "theirs",
        "type",
        "array",
        "key",
        "4",
        "value",
        "4",
        "entries",
        "1",
        "name",
        "theirs",
    )
    (pins / "folder").mkdir()
    (store.place / "notes.txt").write_text("x")
    os.mkfifo(store.place / "..json")
    warned = store.removed().warnings
    for name in ("bpf/theirs", "bpf/folder", "notes.txt", "..json"):
        assert name in warned
    assert (pins / "theirs").exists()
    for path in (pins / "theirs", store.place / "notes.txt", store.place / "..json"):
        path.unlink()
    (pins / "folder").rmdir()
    assert store.removed().warnings == ""


@in_linux
@needs_kernel
@pytest.mark.parametrize("text", ["", "no JSON", "[]", '{"name": "../../etc/x"}', "[" * 100_000])
def test_a_damaged_record_does_not_prevent_removal(store: Store, text: str) -> None:
    namespace = f"fht{NUMBER}d"
    sh("ip", "netns", "add", namespace)
    try:
        store.installed(ONE, namespaces=[namespace])
        record = store.place / f"{ONE}.json"
        record.write_text(text)
        assert store.ask("status").status == 0
        warned = store.removed().warnings
        assert f"the record of {ONE} is damaged" in warned
        assert _defaults(namespace)[0].strip() in ("cubic", "reno")
    finally:
        sh("ip", "netns", "delete", namespace)


@needs_kernel
def test_names_that_others_chose_do_not_control_the_terminal(store: Store) -> None:
    store.installed(ONE)
    record = store.place / f"{ONE}.json"
    told = json.loads(record.read_text())
    told["port"] = told["owner"]["user"] = "\x1b[2J\x9b\u202e"
    record.write_text(json.dumps(told))
    environment = {**os.environ, "FAIRHAUL_PLACE": str(store.place)}
    for words in (("status",), ("status", "--json"), ("remove", "--all", "--dry-run")):
        command = [PYTHON, "-m", "fairhaul", "kernel", *words]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        shown = done.stdout + done.stderr
        assert "u{1b}" in shown
        assert not set(shown) & {"\x1b", "\x9b", "\u202e"}


@needs_kernel
@pytest.mark.parametrize("text", ["", "{", "[]", '{"request": {"do": "nothing"}}', "[" * 1_000_000])
def test_a_request_that_is_none_is_refused(text: str) -> None:
    done = subprocess.run(
        [host.PROGRAM], input=text, capture_output=True, text=True, check=False, timeout=300
    )
    assert (done.returncode, "invalid request" in done.stdout) == (2, True), done.stdout
