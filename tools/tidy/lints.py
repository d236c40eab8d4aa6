"""Lints of clippy that make rules here unnecessary, and what it has no lint for."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator

from tools.tidy.tree import Tree

FUNCTIONS = """
powi powf exp exp2 exp_m1 ln ln_1p log log2 log10 cbrt hypot sin cos sin_cos tan asin acos
atan atan2 sinh cosh tanh asinh acosh atanh
"""
"""The functions of f64 of which the standard library says "unspecified precision"."""

DENIED = "dbg_macro disallowed_methods todo too_many_lines unimplemented unwrap_used"


def functions_of_f64(tree: Tree) -> Iterator[str]:
    """Clippy bans every function of f64 whose last bit depends on the platform."""
    methods = tomllib.loads(tree.get("clippy.toml", "")).get("disallowed-methods", [])
    banned = {method["path"] for method in methods}
    for function in FUNCTIONS.split():
        if f"f64::{function}" not in banned:
            yield f"clippy.toml:1: `f64::{function}` is allowed: add it to disallowed-methods"


def examples_in_comments(tree: Tree) -> Iterator[str]:
    """No comment of a crate has code of Rust: it would be a test that `make test` does not run."""
    for path, text in tree.below("crates", ".rs"):
        opens = True
        for number, line in enumerate(text.splitlines(), 1):
            fence = re.match(r"\s*//[/!]\s*```(.*)", line)
            if fence and opens and fence[1].strip() in {"", "rust"}:
                yield f"{path}:{number}: write a test instead of an example, or ```text"
            opens ^= fence is not None


def workspace_lints(tree: Tree) -> Iterator[str]:
    """The workspace denies these lints, and every crate takes the lints of the workspace."""
    workspace = tomllib.loads(tree.get("Cargo.toml", "")).get("workspace", {})
    lints = workspace.get("lints", {}).get("clippy", {})
    for lint in DENIED.split():
        if lints.get(lint) != "deny":
            yield f'Cargo.toml:1: write `{lint} = "deny"` under [workspace.lints.clippy]'
    for path, manifest in tree.below("crates", "/Cargo.toml"):
        if not tomllib.loads(manifest).get("lints", {}).get("workspace"):
            yield f"{path}:1: write [lints], workspace = true"
