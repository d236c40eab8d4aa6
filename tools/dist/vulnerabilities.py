"""Known vulnerabilities of the locked Python packages, as PyPI lists them."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import click

from tools import ROOT


def audit() -> bool:
    """Print the vulnerabilities, and the packages for which there are no data.

    Returns:
        whether there are none.
    """
    command = (sys.executable, "-m", "pip_audit", "--progress-spinner", "off", "--format", "json")
    options = ("--disable-pip", "--no-deps", "-r", ROOT / "requirements.lock")
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    if not done.stdout.strip():
        _unchecked("Python packages", "PyPI cannot be reached")
        return True
    packages = json.loads(done.stdout)["dependencies"]
    skipped = [one["name"] for one in packages if "skip_reason" in one]
    if skipped:
        _unchecked(f"{len(skipped)} of {len(packages)} Python packages", "PyPI gives no data")
    found = [line for one in packages for line in _lines(one)]
    click.echo("".join(found), nl=False)
    return not found


def _lines(package: dict[str, Any]) -> list[str]:
    name = f"{package['name']} {package.get('version', '')}"
    return [
        f"{name}: {one['id']}, corrected in {', '.join(one['fix_versions']) or 'no version yet'}\n"
        for one in package.get("vulns", [])
    ]


def _unchecked(what: str, why: str) -> None:
    click.echo(f"audit: not checked: known vulnerabilities of {what} ({why})")
