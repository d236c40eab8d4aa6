//! References to the outside that sources must not contain: clocks, sockets and files in the models, and folders of a
//! machine.

use crate::Tree;
use crate::rust::{layers, line_of, test_items, without};

/// Crates without a clock, a socket or a file, because both engines use the same code.
const PURE: [&str; 3] = ["units", "cc", "path"];

const OUTSIDE: [&str; 7] =
    ["std::fs", "std::net", "std::env", "std::process", "Instant::now", "SystemTime", "std::io"];

/// Folders at the root of a machine.
const MACHINE: [&str; 2] = ["work", "root"];

/// The crates of the models use no clock, socket or file.
pub fn pure(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    for name in PURE {
        for (path, text) in tree.below(&format!("crates/{name}/src"), ".rs") {
            let code = untested(text);
            for word in OUTSIDE {
                for at in whole_words(&code, word) {
                    let line = line_of(&code, at);
                    complaints.push(format!(
                        "{path}:{line}: `{word}`: {name} has no clock, socket or file; let the caller pass it in"
                    ));
                }
            }
        }
    }
    complaints
}

/// No file names a folder of the machine on which it was written.
pub fn machine_paths(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    for (path, text) in tree.files() {
        for word in MACHINE.map(|folder| format!("/{folder}/")) {
            for (at, _) in text.match_indices(&word) {
                // `a/work/b` is a folder of something else.
                if !text[..at].ends_with(|c: char| c.is_alphanumeric() || "_-.})".contains(c)) {
                    let line = line_of(text, at);
                    complaints.push(format!("{path}:{line}: `{word}`: name no folder of a machine"));
                }
            }
        }
    }
    complaints
}

/// The code of a Rust file without its tests.
fn untested(text: &str) -> String {
    let code = layers(text).code;
    let tests = test_items(&code);
    without(&code, &tests)
}

/// The positions of `word` where it is not the end of a longer word.
fn whole_words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let cut = |at: usize| code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
    code.match_indices(word).map(|(at, _)| at).filter(move |&at| !cut(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(path: &str, text: &str) -> Tree {
        Tree::of(&[(path, text)])
    }

    #[test]
    fn a_clock_in_a_model_is_found() {
        let bad = "fn a() { let now = std::time::Instant::now(); }";
        assert_eq!(pure(&one("crates/cc/src/b.rs", bad)).len(), 1);
        assert!(pure(&one("crates/host/src/b.rs", bad)).is_empty());
    }

    #[test]
    fn a_folder_of_a_machine_is_found() {
        let folder = MACHINE[0];
        assert_eq!(machine_paths(&one("docs/a.md", &format!("see `/{folder}/b`"))).len(), 1);
        assert!(machine_paths(&one("docs/a.md", &format!("see docs/{folder}/b"))).is_empty());
    }
}
