//! Files of at most 400 lines without their tests, with a paragraph at the top, and functions of Python of at most 60;
//! clippy counts the lines of Rust's functions.

use crate::python::Function;
use crate::{Tree, python, rust};

const MOST_FILE: usize = 400;
const MOST_FUNCTION: usize = 60;

/// Every Rust source opens with `//!`.
pub fn openings(tree: &Tree) -> Vec<String> {
    let sources = tree.below("crates", ".rs").filter(|(path, _)| path.contains("/src/"));
    sources
        .filter(|(_, text)| !text.starts_with("//!"))
        .map(|(path, _)| format!("{path}:1: open with `//!`: what the file is, and the key of its source"))
        .collect()
}

/// Files and functions are short enough to be held.
pub fn lengths(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    for (path, text) in tree.below("crates", ".rs").filter(|(path, _)| !is_test(path)) {
        let code = rust::layers(text).code;
        let tests = rust::test_items(&code);
        let in_tests: usize = tests.iter().map(|item| text[item.clone()].matches('\n').count() + 1).sum();
        judge(path, text.lines().count().saturating_sub(in_tests), &[], &mut complaints);
    }
    for (path, text) in tree.below("python", ".py").chain(tree.below("tools", ".py")) {
        let functions = python::functions(&python::layer(text, false));
        judge(path, text.lines().count(), &functions, &mut complaints);
    }
    complaints
}

/// Whether all of the file is tests.
pub(crate) fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs")
}

fn judge(path: &str, lines: usize, functions: &[Function], complaints: &mut Vec<String>) {
    if lines > MOST_FILE {
        complaints
            .push(format!("{path}: {lines} lines without tests, {MOST_FILE} at most: split it by noun"));
    }
    for function in functions.iter().filter(|function| function.lines > MOST_FUNCTION) {
        let Function { name, line, lines } = function;
        complaints.push(format!(
            "{path}:{line}: `{name}` has {lines} lines, {MOST_FUNCTION} at most: move steps of it to functions"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_paragraph_is_found() {
        let tree = Tree::of(&[("crates/a/src/b.rs", "use c;"), ("crates/a/tests/d.rs", "use e;")]);
        assert_eq!(openings(&tree).len(), 1);
        assert!(openings(&Tree::of(&[("crates/a/src/b.rs", "//! B.")])).is_empty());
    }

    #[test]
    fn line_401_is_one_too_many_unless_it_is_a_test() {
        let long = "// a\n".repeat(401);
        let tested = format!("{}#[cfg(test)]\nmod tests {{\n{long}}}\n", "// a\n".repeat(400));
        let found = |path, text: &str| lengths(&Tree::of(&[(path, text)])).len();
        assert_eq!(found("crates/a/src/b.rs", &long), 1);
        assert_eq!(found("crates/a/src/b.rs", &tested), 0);
        assert_eq!(found("crates/a/tests/b.rs", &long), 0);
        assert_eq!(found("python/fairhaul/b.py", &"a\n".repeat(401)), 1);
        assert_eq!(found("python/fairhaul/b.py", &"a\n".repeat(400)), 0);
    }

    #[test]
    fn a_function_of_61_lines_is_one_too_long() {
        let python = |inside: usize| format!("def a():\n{}", "    b()\n".repeat(inside));
        let found = |path, text: &str| lengths(&Tree::of(&[(path, text)])).len();
        assert_eq!(found("python/b.py", &python(59)), 0);
        assert_eq!(found("tools/b.py", &python(60)), 1);
    }
}
