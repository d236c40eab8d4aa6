"""The process that serves metrics has no right left, whoever started it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

CODE = """
from pathlib import Path
from fairhaul.host.export import rights
rights.give_up()
lines = Path("/proc/self/status").read_text().splitlines()
wanted = ("Uid", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs")
print(*(line.split()[:2] for line in lines if line.split(":")[0] in wanted))
"""
FIVE = ("bpf", "perfmon", "net_admin", "sys_admin", "sys_ptrace")


def left(*before: str) -> dict[str, str]:
    """Give up all rights in a process, and give what it has then."""
    done = subprocess.run(
        [*before, sys.executable, "-c", CODE], capture_output=True, text=True, check=True
    )
    pairs = done.stdout.replace("[", "").replace("]", "").replace("'", "").split(", ")
    words = " ".join(pairs).split()
    return dict(zip((word.rstrip(":") for word in words[::2]), words[1::2], strict=True))


def test_a_process_gives_up_all() -> None:
    found = left()
    assert found.pop("NoNewPrivs") == "1"
    user = found.pop("Uid")
    assert user == ("65534" if os.geteuid() == 0 else str(os.geteuid()))
    bounding = found.pop("CapBnd")
    assert os.geteuid() != 0 or int(bounding, 16) == 0
    assert set(found) == {"CapInh", "CapPrm", "CapEff", "CapAmb"}
    assert not any(int(value, 16) for value in found.values())


def test_a_user_with_capabilities_gives_them_up() -> None:
    setpriv = shutil.which("setpriv")
    if os.geteuid() != 0 or setpriv is None:
        pytest.skip("capabilities can be given to a user by root only")
    # The interpreter of the tests may lie in a folder of root's.
    given = ",".join(f"+{name}" for name in (*FIVE, "dac_read_search"))
    user = ("--reuid", "1000", "--regid", "1000", "--clear-groups")
    found = left(setpriv, *user, f"--inh-caps={given}", f"--ambient-caps={given}")
    assert found["Uid"] == "1000"
    assert found["NoNewPrivs"] == "1"
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        assert int(found[name], 16) == 0
