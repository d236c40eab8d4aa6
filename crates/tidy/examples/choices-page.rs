//! Writes `docs/choices.md` from the marks in the code.

use std::path::Path;

use fairhaul_tidy::{Tree, choices};

fn main() -> std::io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::write(root.join("docs/choices.md"), choices::page(&Tree::read(&root)))
}
