//! The files of the repository, by path from its root.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Text files by path, `/` between the parts on every system.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    files: BTreeMap<String, String>,
}

/// Folders that hold what was built, not what was written.
const BUILT: [&str; 6] = ["target", "out", "dist", "build", "node_modules", "__pycache__"];

/// Folders with a leading dot that belong to the project all the same.
const DOTTED: [&str; 2] = [".ci", ".github"];

impl Tree {
    /// Reads every text file below `root`.
    ///
    /// # Panics
    /// Where a folder or a file cannot be read.
    pub fn read(root: &Path) -> Tree {
        let mut tree = Tree::default();
        tree.read_folder(root, "");
        tree
    }

    /// A tree made up for a test.
    pub fn of(files: &[(&str, &str)]) -> Tree {
        Tree { files: files.iter().map(|&(path, text)| (path.into(), text.into())).collect() }
    }

    /// The text of the file at `path`.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Whether there is a text file at `path`.
    pub fn has(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// Paths and texts, by path.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The files below `folder` whose name ends with `end`.
    pub fn below<'a>(&'a self, folder: &'a str, end: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let inside = move |path: &str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        self.files().filter(move |(path, _)| inside(path) && path.ends_with(end))
    }

    fn read_folder(&mut self, folder: &Path, prefix: &str) {
        for entry in fs::read_dir(folder).expect("a folder of the repository can be listed") {
            let entry = entry.expect("a folder of the repository can be listed");
            let name = entry.file_name().to_string_lossy().into_owned();
            let kind = entry.file_type().expect("an entry has a kind");
            let path = format!("{prefix}{name}");
            if kind.is_dir() && is_written(&name, &entry.path()) {
                self.read_folder(&entry.path(), &format!("{path}/"));
            } else if kind.is_file()
                && !name.starts_with('.')
                && let Ok(text) = fs::read_to_string(entry.path())
            {
                self.files.insert(path, text);
            }
        }
    }
}

/// Whether people write what is in the folder: not built, not hidden, no virtual environment.
fn is_written(name: &str, path: &Path) -> bool {
    let hidden = name.starts_with('.') && !DOTTED.contains(&name);
    !hidden && !BUILT.contains(&name) && !path.join("pyvenv.cfg").exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn below_means_inside_of_the_folder() {
        let tree = Tree::of(&[("a/b.rs", ""), ("ab/c.rs", ""), ("a/d.md", ""), ("a/e/f.rs", "")]);
        let found: Vec<&str> = tree.below("a", ".rs").map(|(path, _)| path).collect();
        assert_eq!(found, ["a/b.rs", "a/e/f.rs"]);
    }

    #[test]
    fn what_was_built_is_not_read() {
        let here = std::env::var("CARGO_MANIFEST_DIR").expect("run this with cargo test");
        let here = Path::new(&here);
        assert!(is_written("src", &here.join("src")) && is_written(".ci", here));
        assert!(!is_written("target", here) && !is_written(".git", here));
        assert!(Tree::read(here).has("src/tree.rs"));
    }
}
