//! Writes `docs/scenario.md` from the tables of keys.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    std::fs::create_dir_all(&docs)?;
    std::fs::write(docs.join("scenario.md"), fairhaul_experiment::page())
}
