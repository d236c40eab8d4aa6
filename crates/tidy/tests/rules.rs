//! Checks the repository, with one test for each rule.

use std::path::{Path, PathBuf};

use fairhaul_tidy::{
    Tree, choices, circles, imports, names, outside, required_files, size, sources, wording,
};

/// The repository, by the variable that cargo sets when it runs tests, because clones may share one target folder.
fn root() -> PathBuf {
    let here = std::env::var("CARGO_MANIFEST_DIR").expect("run this with cargo test");
    Path::new(&here).join("../..")
}

fn check(rule: fn(&Tree) -> Vec<String>) {
    let complaints = rule(&Tree::read(&root()));
    assert!(complaints.is_empty(), "\n\n{}\n", complaints.join("\n"));
}

#[test]
fn crates_import_only_what_architecture_md_allows() {
    check(imports::imports);
}

#[test]
fn modules_import_each_other_in_no_new_circle() {
    check(circles::circles);
}

#[test]
fn every_source_opens_with_a_description() {
    check(size::openings);
}

#[test]
fn files_and_functions_are_short() {
    check(size::lengths);
}

#[test]
fn every_cited_source_is_listed() {
    check(sources::keys);
}

#[test]
fn the_page_of_choices_matches_the_code() {
    check(choices::choices);
}

#[test]
fn every_controller_is_complete() {
    check(names::controllers);
}

#[test]
fn every_queue_is_complete() {
    check(names::queues);
}

#[test]
fn the_models_use_no_clock_socket_or_file() {
    check(outside::pure);
}

#[test]
fn no_file_names_a_folder_of_a_machine() {
    check(outside::machine_paths);
}

#[test]
fn texts_for_users_are_in_plain_english() {
    check(wording::wording);
}

#[test]
fn required_files_and_targets_exist() {
    check(required_files::required_files);
}

/// The functions of f64 of which the standard library says "unspecified precision".
#[test]
fn clippy_bans_every_function_of_f64_whose_last_bit_depends_on_the_platform() {
    let banned = std::fs::read_to_string(root().join("clippy.toml")).expect("clippy.toml exists");
    let functions = "powi powf exp exp2 exp_m1 ln ln_1p log log2 log10 cbrt hypot sin cos sin_cos tan asin acos \
                     atan atan2 sinh cosh tanh asinh acosh atanh";
    for function in functions.split_whitespace() {
        assert!(banned.contains(&format!("\"f64::{function}\"")), "clippy.toml allows f64::{function}");
    }
}

/// What clippy denies needs no rule here, as long as every crate takes the lints of the workspace.
#[test]
fn every_crate_takes_the_lints_of_the_workspace() {
    let tree = Tree::read(&root());
    let workspace = tree.text("Cargo.toml").expect("Cargo.toml exists");
    for lint in ["dbg_macro", "disallowed_methods", "todo", "too_many_lines", "unimplemented", "unwrap_used"]
    {
        assert!(workspace.contains(&format!("\n{lint} = \"deny\"\n")), "Cargo.toml: deny {lint}");
    }
    for (path, manifest) in tree.below("crates", "/Cargo.toml") {
        assert!(manifest.contains("[lints]\nworkspace = true"), "{path}: write [lints], workspace = true");
    }
}

#[cfg(unix)]
#[test]
fn scripts_can_be_run() {
    use std::os::unix::fs::PermissionsExt;
    for script in [
        ".ci/run",
        "scripts/require",
        "scripts/tally",
        "scripts/debian",
        "scripts/fuzz",
        "scripts/peers/install",
    ] {
        let file = root().join(script);
        let mode = file.metadata().expect("the script exists").permissions().mode();
        assert!(mode & 0o111 != 0, "chmod +x {script}");
    }
}
