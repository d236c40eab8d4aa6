"""The crate of a controller in Rust, as a beginning of one's own."""

from __future__ import annotations

import re
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from fairhaul import _core
from fairhaul._core import ScenarioError, __version__

NAME = re.compile(r"[a-z][a-z0-9_-]*")
CRATES = "fairhaul"
"""The folder with the crates that the controller needs."""

MANIFEST = """\
[package]
name = "{name}"
version = "0.1.0"
edition = "2024"
publish = false

[lib]
crate-type = ["cdylib"]

[dependencies]
fairhaul-cc = {{ path = "{crates}/cc" }}
fairhaul-controller = {{ path = "{crates}/controller" }}
fairhaul-units = {{ path = "{crates}/units" }}

[workspace]
"""

SOURCE = """\
//! {title}: each round trip adds `a` packets to the window, and a loss takes the share `b` of it.

use fairhaul_cc::{{AckEvent, Congestion, Controller, Window}};
use fairhaul_controller::{{Exported, Given, export}};

#[derive(Clone, Debug)]
pub struct {title} {{
    a: f64,
    b: f64,
}}

impl Exported for {title} {{
    fn new(given: &Given, _stream: u64) -> Result<{title}, String> {{
        let (a, b) = (given.number("a", 1.0)?, given.number("b", 0.5)?);
        if a <= 0.0 || !(0.0..1.0).contains(&b) {{
            return Err(format!("a = {{a}}, b = {{b}}: a must be above 0, and b from 0 to below 1"));
        }}
        Ok({title} {{ a, b }})
    }}
}}

impl Controller for {title} {{
    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {{
        window.cwnd += self.a * ack.packets / window.cwnd;
    }}

    fn on_congestion(&mut self, window: &mut Window, _event: &Congestion) {{
        window.give_up(self.b);
    }}
}}

export!({title});

#[cfg(test)]
mod tests {{
    use super::*;

    #[test]
    fn a_loss_takes_its_share() {{
        let mut controller = {title} {{ a: 1.0, b: 0.25 }};
        let mut window = Window {{ cwnd: 100.0, ssthresh: 50.0 }};
        window.give_up(controller.b);
        assert_eq!(window, Window {{ cwnd: 75.0, ssthresh: 75.0 }});
        controller.a = 2.0;
    }}
}}
"""

SCENARIO = """\
# One flow of {name} beside one CUBIC flow.
title    = "{name} beside CUBIC"
duration = "60 s"
warmup   = "20 s"

[bottleneck]
rate  = "100 Mbit/s"
delay = "10 ms"
queue = {{ kind = "droptail", capacity = "1 bdp" }}

[[flow]]
name       = "mine"
rtt        = "40 ms"
controller = {{ kind = "library", library = "{library}" }}

[[flow]]
name       = "other"
rtt        = "40 ms"
controller = "cubic"
"""


def library_of(name: str) -> str:
    """Give the path of the library that the crate is compiled to, from its folder."""
    return f"target/release/lib{name.replace('-', '_')}.so"


def new_controller(name: str, folder: Path) -> Path:
    """Write a new crate into `folder / name`, whole or not at all, and give its path.

    Raises:
        ScenarioError: the name cannot be that of a crate, or the folder is there already.
    """
    if not NAME.fullmatch(name) or name in {"fairhaul", "target", "test", "core", "std"}:
        raise ScenarioError(f"{name}: wanted a name with lower-case letters, digits, - and _")
    target = folder / name
    if target.exists():
        raise ScenarioError(f"{target}: it is there already; nothing was changed")
    title = "".join(part.capitalize() for part in re.split(r"[-_]", name))
    files = {
        "Cargo.toml": MANIFEST.format(name=name, crates=CRATES),
        "src/lib.rs": SOURCE.format(title=title),
        "first.toml": SCENARIO.format(name=name, library=library_of(name)),
        ".gitignore": "/target\n*-report\n",
    }
    files |= {f"{CRATES}/{path}": text for path, text in _crates().items()}
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=folder) as made:
        whole = Path(made) / name
        for path, text in files.items():
            (whole / path).parent.mkdir(parents=True, exist_ok=True)
            (whole / path).write_text(text, encoding="utf-8")
        whole.rename(target)
    return target


def _crates() -> dict[str, str]:
    """The sources of the crates that a controller needs, with manifests that need no workspace."""
    sources = dict(_core.sources())
    shared = tomllib.loads(sources.pop("Cargo.toml"))["workspace"]
    for path, text in sources.items():
        if path.endswith("Cargo.toml"):
            sources[path] = _manifest(tomllib.loads(text), shared)
    return sources


def _manifest(given: dict[str, Any], shared: dict[str, Any]) -> str:
    """Write the manifest of one of these crates: its name, its edition and what it depends on."""
    lines = [
        "[package]",
        f'name = "{given["package"]["name"]}"',
        f'version = "{__version__}"',
        f'edition = "{shared["package"]["edition"]}"',
        f'license = "{shared["package"]["license"]}"',
        "publish = false",
        "",
        "[dependencies]",
    ]
    for name, wanted in given.get("dependencies", {}).items():
        own = isinstance(wanted, dict) and wanted.get("workspace")
        found = shared["dependencies"][name] if own else wanted
        if isinstance(found, dict) and found.get("optional"):
            continue
        if isinstance(found, dict):
            lines.append(f'{name} = {{ path = "../{Path(found["path"]).name}" }}')
        else:
            lines.append(f'{name} = "{found}"')
    lines += ["", "[features]", "load = []"] if "load" in given.get("features", {}) else []
    return "\n".join([*lines, ""])
