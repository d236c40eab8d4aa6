//! Writes the objects that this build carries into a folder, and prints what they are.
//!
//! `cargo run -p fairhaul-ports --example objects -- FOLDER`

use std::path::PathBuf;

use fairhaul_ports::{MISSING, Object, objects};

fn main() -> std::io::Result<()> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".into()));
    if let Some(reason) = MISSING {
        eprintln!("this build contains no eBPF ports: {reason}");
        std::process::exit(1);
    }
    std::fs::create_dir_all(&folder)?;
    for Object { note, elf } in objects() {
        let path = folder.join(format!("{}.bpf.o", note.name));
        std::fs::write(&path, elf)?;
        println!("{}: {} ({} bytes)", path.display(), note.title, elf.len());
        for p in note.parameters {
            println!("    {} = {} ({}..{} {}): {}", p.name, p.default, p.least, p.most, p.unit, p.help);
        }
    }
    Ok(())
}
