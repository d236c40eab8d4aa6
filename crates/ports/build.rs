//! Compiles with clang every `bpf/<name>.bpf.c`, which are the eBPF ports, the probes of the lab and of flows, and the
//! lot of a trial, and embeds the objects in the library. Without clang the library contains no objects, and the reason.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let sources = sources(Path::new("bpf"));
    println!("cargo::rerun-if-changed=bpf");
    let list = match program("clang") {
        Some(clang) => {
            let objects = sources.iter().map(|source| compile(&clang, source, &out));
            let lines: Vec<String> =
                objects.map(|object| format!("    include_bytes!({object:?}),\n")).collect();
            let other = |source: &str| {
                let object = compile(&clang, Path::new(source), &out);
                format!("Some(include_bytes!({object:?}))")
            };
            let others = [
                other("bpf/lab/tcp_probe.bpf.c"),
                other("bpf/host/flow_probe.bpf.c"),
                other("bpf/host/trial.bpf.c"),
            ];
            listed(&lines.concat(), &others, "None")
        }
        None => listed(
            "",
            &["None".to_string(), "None".to_string(), "None".to_string()],
            "Some(\"clang was not there when Fairhaul was built (Debian: apt-get install clang llvm)\")",
        ),
    };
    fs::write(out.join("objects.rs"), list).expect("OUT_DIR can be written to");
}

fn listed(objects: &str, [tcp_probe, flow_probe, trial]: &[String; 3], missing: &str) -> String {
    format!(
        "static OBJECTS: &[&[u8]] = &[\n{objects}];\n\
         /// The object that samples the state of a sender as each packet arrives; it is no controller.\n\
         pub static TCP_PROBE: Option<&[u8]> = {tcp_probe};\n\
         /// The object that watches all senders of a host between two looks; it is no controller.\n\
         pub static FLOW_PROBE: Option<&[u8]> = {flow_probe};\n\
         /// The object that draws the controller of each new connection of a cgroup; it is no controller.\n\
         pub static TRIAL: Option<&[u8]> = {trial};\n\
         /// Why there are no eBPF ports in this build; `None` where there are.\n\
         pub static MISSING: Option<&str> = {missing};\n"
    )
}

/// The sources of the ports in the order of their names.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder bpf stands beside build.rs");
    let paths = entries.map(|entry| entry.expect("bpf can be listed").path());
    let mut sources: Vec<PathBuf> = paths.filter(|path| path.to_string_lossy().ends_with(".bpf.c")).collect();
    sources.sort();
    sources
}

/// The program in the search path; if it is missing, cargo searches again the next time.
fn program(name: &str) -> Option<PathBuf> {
    println!("cargo::rerun-if-env-changed=PATH");
    let folders = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file());
    if found.is_none() {
        println!("cargo::rerun-if-changed=/usr/bin/{name}");
    }
    found
}

/// The object of a source: debugging information is needed for BTF, and removed afterwards if llvm-strip is
/// available.
fn compile(clang: &Path, source: &Path, out: &Path) -> PathBuf {
    let object = out.join(source.with_extension("o").file_name().expect("a source has a name"));
    let version = format!("-DFAIRHAUL_VERSION=\"{}\"", env!("CARGO_PKG_VERSION"));
    let mut command = Command::new(clang);
    command.args([
        "-O2",
        "-g",
        "-target",
        "bpf",
        "-mcpu=v3",
        "-ffreestanding",
        "-Wall",
        "-Wextra",
        "-Werror",
    ]);
    // The object contains source lines, but no path of this machine.
    let here = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    command.arg(format!("-ffile-prefix-map={here}=ports"));
    run(command.arg(version).arg("-c").arg(source).arg("-o").arg(&object));
    if let Some(strip) = program("llvm-strip") {
        run(Command::new(strip).arg("-g").arg(&object));
    }
    object
}

fn run(command: &mut Command) {
    let status = command.status();
    assert!(status.is_ok_and(|status| status.success()), "failed: {command:?}");
}
