//! Gives the engine an identity: a hash of its sources, so that a stored result is never taken for that of another
//! engine, and two builds of the same sources have the same identity on every machine.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// The crates that decide what a run gives.
const ENGINE: [&str; 7] = ["units", "cc", "path", "experiment", "sim", "bpf", "controller"];

/// The crates that a controller in Rust needs; their sources are in the extension.
const INTERFACE: [&str; 3] = ["units", "cc", "controller"];

fn main() {
    // As it is when this runs: a folder of compiled crates may be shared by several checkouts.
    let folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let workspace = folder.join("../..");
    let mut files = vec![workspace.join("Cargo.lock")];
    for name in ENGINE {
        let sources = workspace.join("crates").join(name).join("src");
        println!("cargo:rerun-if-changed={}", sources.display());
        gather(&sources, &mut files);
    }
    println!("cargo:rerun-if-changed={}", files[0].display());
    let mut hash = FNV_BASIS;
    for file in &files {
        let name = file.strip_prefix(&workspace).expect("it is within the workspace");
        hash = hashed(hash, name.to_string_lossy().as_bytes());
        hash = hashed(hash, &fs::read(file).expect("the file was listed"));
    }
    println!("cargo:rustc-env=FAIRHAUL_ENGINE={hash:032x}");
    write_sources(&workspace);
}

/// Writes a table of the sources of [`INTERFACE`], with their paths from the folder of the crates.
fn write_sources(workspace: &Path) {
    let mut files = vec![workspace.join("Cargo.toml")];
    for name in INTERFACE {
        let folder = workspace.join("crates").join(name);
        files.push(folder.join("Cargo.toml"));
        gather(&folder.join("src"), &mut files);
    }
    let mut table = String::from("&[\n");
    for file in files {
        println!("cargo:rerun-if-changed={}", file.display());
        let text = fs::canonicalize(&file).expect("the file was listed");
        let name = file.strip_prefix(workspace).expect("it is within the workspace");
        let name = name.strip_prefix("crates").unwrap_or(name).to_string_lossy();
        table += &format!("    ({name:?}, include_str!({text:?})),\n");
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(out.join("sources.rs"), table + "]\n").expect("OUT_DIR can be written to");
}

/// The Rust files of a folder, in the order of their names.
fn gather(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut found: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    found.sort();
    for path in found {
        if path.is_dir() {
            gather(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

// FNV-1a of 128 bits.
const FNV_BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const FNV_PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

fn hashed(hash: u128, bytes: &[u8]) -> u128 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u128::from(*byte)).wrapping_mul(FNV_PRIME))
}
