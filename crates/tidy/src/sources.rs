//! Keys of sources: whatever is cited as `[RFC 3649, 5]` or `[FHSTCP, Table 1]` stands in `docs/sources.md`.
//!
//! A key is `RFC` and a number, or a word with two capitals in a row, with a year where it needs one. It is listed where a line of
//! the page begins with it, in a heading, a list or a table.

use crate::rust::{layers, line_of};
use crate::{Tree, python};

const PAGE: &str = "docs/sources.md";

/// Every key in a comment, in a page and in a controller's `SOURCE` is listed.
pub fn keys(tree: &Tree) -> Vec<String> {
    let Some(page) = tree.text(PAGE) else {
        return vec![format!("{PAGE} is missing: list every source there, key first")];
    };
    let listed: Vec<&str> =
        page.lines().map(|line| line.trim_start_matches(['|', '#', '-', '*', '[', '`', ' '])).collect();
    let mut complaints = Vec::new();
    for (path, text) in tree.files().filter(|(path, _)| *path != PAGE) {
        for (line, key) in cited(path, text) {
            if !listed.iter().any(|entry| begins_with(entry, &key)) {
                complaints.push(format!(
                    "{path}:{line}: the source [{key}] is not in {PAGE}: list it, or write the key as there"
                ));
            }
        }
    }
    complaints
}

fn begins_with(entry: &str, key: &str) -> bool {
    entry.strip_prefix(key).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '-'))
}

/// The keys of a file, with their lines.
fn cited(path: &str, text: &str) -> Vec<(usize, String)> {
    let name = |end: &str| path.ends_with(end);
    if name(".rs") {
        let mut found = in_brackets(&layers(text).comments);
        found.extend(constant(text));
        found
    } else if name(".py") || name(".pyi") {
        in_brackets(&python::layer(text, true))
    } else if name(".toml") {
        let comments: Vec<&str> =
            text.lines().map(|line| line.find('#').map_or("", |at| &line[at..])).collect();
        in_brackets(&comments.join("\n"))
    } else if name(".md") && path.starts_with("docs/") {
        in_brackets(text)
    } else {
        Vec::new()
    }
}

/// The keys between square brackets that do not index, attribute or quote.
fn in_brackets(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices('[') {
        let before = text[..at].chars().next_back().unwrap_or(' ');
        let inside = text[at + 1..].split(['[', ']']).next().unwrap_or_default();
        let closed = text[at + 1 + inside.len()..].starts_with(']');
        if !closed || before.is_alphanumeric() || "#!]_`\"".contains(before) {
            continue;
        }
        let parts: Vec<&str> = inside.split([',', ';']).map(str::trim).collect();
        if parts.first().is_some_and(|part| is_key(part)) {
            let line = line_of(text, at);
            found.extend(parts.iter().filter(|part| is_key(part)).map(|key| (line, (*key).to_string())));
        }
    }
    found
}

/// The key in `SOURCE: &str = "RFC 5681"`.
fn constant(text: &str) -> Vec<(usize, String)> {
    let at = text.find("const SOURCE: &");
    let value = at.and_then(|at| Some((line_of(text, at), text[at..].split('"').nth(1)?)));
    let key =
        value.map(|(line, value)| (line, value.split([',', ';']).next().unwrap_or(value).trim().to_string()));
    key.filter(|(_, key)| is_key(key)).into_iter().collect()
}

fn is_key(part: &str) -> bool {
    if let Some(number) = part.strip_prefix("RFC ") {
        return !number.is_empty() && number.chars().all(|c| c.is_ascii_digit());
    }
    let part = part.rsplit_once(' ').filter(|(_, year)| is_year(year)).map_or(part, |(word, _)| word);
    let word = part.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let capitals = part.as_bytes().windows(2).any(|pair| pair.iter().all(u8::is_ascii_uppercase));
    word && capitals && part.starts_with(|c: char| c.is_ascii_alphabetic())
}

fn is_year(word: &str) -> bool {
    word.len() == 4 && word.chars().all(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str =
        "# Sources\n\n| key | what |\n|---|---|\n| `RFC 3649` | S. Floyd |\n- **FHSTCP** Su\n## [STCP]\n";

    fn unlisted(path: &str, text: &str) -> usize {
        keys(&Tree::of(&[(PAGE, LIST), (path, text)])).len()
    }

    #[test]
    fn listed_keys_pass_with_their_places() {
        let text =
            "//! HighSpeed TCP [RFC 3649, Table 6], [FHSTCP, §2], [RFC 3649, STCP].\n// Unclear in [STCP]: x";
        assert_eq!(unlisted("crates/cc/src/a.rs", text), 0);
    }

    #[test]
    fn a_key_that_is_not_listed_is_found_anywhere() {
        assert_eq!(unlisted("crates/cc/src/a.rs", "//! By [RFC 364]."), 1);
        assert_eq!(unlisted("crates/cc/src/a.rs", "// Differs from [gHSTCP, 2]: x"), 1);
        assert_eq!(unlisted("crates/cc/src/a.rs", "// [RFC 3649, RFC 1]"), 1);
        assert_eq!(unlisted("crates/cc/src/a.rs", "const SOURCE: &'static str = \"RFC 5681\";"), 1);
        assert_eq!(unlisted("python/a.py", "a = 1  # [CUBIC-fairness]"), 1);
        assert_eq!(unlisted("docs/controllers/a.md", "see [XCP]"), 1);
        assert_eq!(unlisted("docs/controllers/a.md", "see [FHSTCP 2005]"), 1);
        assert_eq!(unlisted("scenarios/a.toml", "c = 1 # as in [XCP, 4]"), 1);
        assert_eq!(keys(&Tree::default()).len(), 1);
    }

    #[test]
    fn what_is_no_key_is_left_alone() {
        let text = "//! [RFC 3649, DupThresh], a [`Window`] over [warmup, duration], w[MSS], [0, 1), [x](y).\n#[cfg(A)]\nlet a = [CC];";
        assert_eq!(unlisted("crates/cc/src/a.rs", text), 0);
        assert_eq!(unlisted("scenarios/a.toml", "[CC]"), 0);
    }
}
