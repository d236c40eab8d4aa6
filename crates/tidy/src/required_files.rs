//! Files and make targets that the project must have: pages, licences, and the script of the CI.

use crate::Tree;

const TARGETS: [&str; 8] = ["help", "demo", "test", "check", "bench", "papers", "fmt", "clean"];

const FILES: [&str; 9] = [
    ".ci/run",
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "deny.toml",
    "requirements.lock",
];

/// The Makefile has its targets, each with its line of help, and all required files exist.
pub fn required_files(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    let makefile = tree.text("Makefile").unwrap_or_default();
    for target in TARGETS {
        let rule = makefile.lines().find(|line| line.starts_with(&format!("{target}:")));
        if !rule.is_some_and(|line| line.contains("## ")) {
            complaints.push(format!("Makefile: write `{target}: … ## what it does`"));
        }
    }
    if !makefile.contains(".DEFAULT_GOAL := help") {
        complaints.push("Makefile: `make` alone prints the help: write `.DEFAULT_GOAL := help`".into());
    }
    for file in FILES.into_iter().filter(|file| !tree.has(file)) {
        complaints.push(format!("{file} is missing"));
    }
    if tree.text(".ci/run").is_some_and(|text| !text.contains("make test")) {
        complaints.push(".ci/run: run `make test`".into());
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_project_lacks_everything() {
        assert_eq!(required_files(&Tree::default()).len(), TARGETS.len() + 1 + FILES.len());
    }

    #[test]
    fn a_target_without_help_and_a_ci_that_tests_nothing_are_found() {
        let mut makefile = String::from(".DEFAULT_GOAL := help\n");
        for target in TARGETS {
            makefile += &format!("{target}: ## does it\n");
        }
        let complaints = |makefile: &str, ci: &str| {
            let mut files: Vec<(&str, &str)> = FILES.iter().map(|&file| (file, "")).collect();
            files.extend([("Makefile", makefile), (".ci/run", ci)]);
            required_files(&Tree::of(&files))
        };
        assert_eq!(complaints(&makefile, "make test"), [""; 0]);
        assert_eq!(complaints(&makefile.replace("demo: ##", "demo: #"), "make test").len(), 1);
        assert_eq!(complaints(&makefile, "true").len(), 1);
    }
}
