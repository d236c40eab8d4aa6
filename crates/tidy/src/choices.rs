//! The page of choices: every mark of "unclear in" and "differs from" in the sources, in one place.

use std::collections::BTreeMap;

use crate::Tree;

const PAGE: &str = "docs/choices.md";
const PHRASES: [&str; 2] = ["Unclear in [", "Differs from ["];
const OPENING: &str = "# Choices\n\n\
    This page lists what the sources leave open, and where Fairhaul differs from them on purpose. It is collected from the comments in the code.\n\
    This page is written by `cargo run -p fairhaul-tidy --example choices-page`; a test compares it with the code.\n";

/// One marked choice.
struct Choice {
    key: String,
    place: String,
    text: String,
}

/// The page is what the code says today.
pub fn choices(tree: &Tree) -> Vec<String> {
    if tree.text(PAGE) == Some(page(tree).as_str()) {
        return Vec::new();
    }
    vec![format!("{PAGE} is not what the code says: cargo run -p fairhaul-tidy --example choices-page")]
}

/// The text of the page.
pub fn page(tree: &Tree) -> String {
    let mut by_key: BTreeMap<String, Vec<Choice>> = BTreeMap::new();
    let sources = tree.files().filter(|(path, _)| {
        let told = [".rs", ".py", ".toml", ".c", ".h"].iter().any(|end| path.ends_with(end));
        told && !path.starts_with("crates/tidy/")
    });
    for choice in sources.flat_map(|(path, text)| marked(path, text)) {
        by_key.entry(choice.key.clone()).or_default().push(choice);
    }
    let mut page = String::from(OPENING);
    for (key, choices) in by_key {
        page += &format!("\n## {key}\n\n");
        for choice in choices {
            page += &format!("- {} ([{}](../{}))\n", choice.text, choice.place, choice.place);
        }
    }
    page
}

/// The marked choices of one file. A choice ends with the comment, or where another begins.
fn marked(path: &str, text: &str) -> Vec<Choice> {
    let marks: &[&str] =
        if path.ends_with(".py") || path.ends_with(".toml") { &["#"] } else { &["///", "//!", "//"] };
    let comments: Vec<Option<&str>> = text.lines().map(|line| comment(line, marks)).collect();
    let begins = |line: &str| PHRASES.iter().any(|phrase| line.starts_with(phrase));
    let mut found = Vec::new();
    for (at, line) in comments.iter().enumerate() {
        let Some(first) = line.filter(|line| begins(line)) else { continue };
        let rest = comments[at + 1..].iter().map_while(|line| *line);
        let rest = rest.take_while(|line| !line.is_empty() && !begins(line));
        let text: Vec<&str> = std::iter::once(first).chain(rest).collect();
        let inside = first.split(['[', ']']).nth(1).unwrap_or_default();
        let key = inside.split(',').next().unwrap_or_default().trim().to_string();
        found.push(Choice { key, place: path.to_string(), text: text.join(" ") });
    }
    found
}

/// What a line says, where it is or ends with a comment.
fn comment<'a>(line: &'a str, marks: &[&str]) -> Option<&'a str> {
    let at = marks.iter().find_map(|mark| Some((line.find(mark)?, mark.len())));
    at.map(|(at, length)| line[at + length..].trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_may_span_lines_and_an_outdated_page_is_reported() {
        let code =
            "fn f() {\n    // Unclear in [RFC 1, 2]: whether\n    // or not. Not.\n    let x = 1;\n}\n";
        let mut files = vec![("crates/cc/src/a.rs", code)];
        let wanted = page(&Tree::of(&files));
        assert!(
            wanted
                .contains("## RFC 1\n\n- Unclear in [RFC 1, 2]: whether or not. Not. ([crates/cc/src/a.rs]")
        );
        assert_eq!(choices(&Tree::of(&files)).len(), 1);
        files.push((PAGE, &wanted));
        assert!(choices(&Tree::of(&files)).is_empty());
    }
}
