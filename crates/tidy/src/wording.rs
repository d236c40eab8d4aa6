//! Words and phrases that a text for users may not contain, each with what to write instead.
//!
//! Pages are read whole, except for code; of Rust sources the string literals outside tests are read, because
//! they are printed, of Python sources all strings, because docstrings are help texts, of scenarios the comments,
//! and of papers the whole files. [`COVERED`] lists the files that are checked.

use crate::Tree;
use crate::rust::{self, test_items, without};
use crate::size::is_test;

/// Files and folders that are checked: pages (`.md`), Rust and Python sources, scenarios (`.toml`).
pub const COVERED: &[&str] = &[
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "crates/cc/src",
    "crates/experiment/src",
    "crates/fuzz/src",
    "crates/host/src",
    "crates/path/src",
    "crates/py/src",
    "crates/sim/src",
    "crates/twins/src",
    "crates/units/src",
    "docs",
    "python/fairhaul",
    "scenarios",
    "tools",
];

/// What is banned, in small letters, and what to write instead. A phrase is found as whole words, also
/// where a line ends within it.
const BANNED: &[(&str, &str)] = &[
    ("left out", "\"default\" for a key, \"omitted\", \"skipped\" or \"excluded\" elsewhere"),
    ("leave it out", "remove the key"),
    ("leave them out", "remove the keys"),
    ("must be there", "required"),
    ("what it says", "meaning"),
    ("how many alike", "number of identical flows"),
    ("sent again", "retransmitted"),
    ("sends again", "retransmits"),
    ("told", "reported"),
    ("tell of", "report"),
    ("tells", "reports, shows or distinguishes"),
    ("seen", "measured, observed or found"),
    ("held against", "compared with"),
    ("so many", "the quantity, by its name"),
    ("so much", "the quantity, by its name"),
    ("for so long", "the duration, by its name"),
    ("in the mean", "on average"),
    ("those that", "the noun again"),
    ("those of them", "the noun again"),
    ("what there is", "the nouns"),
    ("what is there", "the nouns"),
    ("such a one", "the noun again"),
    ("virtual time", "simulated time"),
    ("taken for", "mistaken for"),
    ("for itself", "individually"),
    ("made small", "scaled down"),
    ("mended", "corrected"),
    ("in vain", "without effect"),
    ("asked for", "requested"),
    ("whoever", "the noun: the user, the process"),
    ("but for", "except for"),
    ("anyhow", "no replacement: delete the word"),
    ("nobody", "the noun: no flow, no router, no user"),
    ("somebody", "the noun: a user, another process"),
    ("with the time over", "instead of"),
    ("in the place of", "instead of"),
    ("in place of", "instead of"),
    ("without a trace", "and cleans up, even after a crash"),
    ("what came of it", "result"),
    ("over the way of", "along the path of"),
    ("takes the way of", "runs along the path of"),
    ("on the way of", "on the path of"),
    ("on its way", "on its path, or in flight"),
    ("on their way", "on their path, or in flight"),
    ("way back", "the reverse path"),
    ("way there", "the forward path"),
    ("soon done", "the completion time"),
    ("until it fits", "no parameter is tuned to match"),
    ("was turned", "no parameter was tuned to match"),
    ("outside our interval", "outside our 95 % interval"),
    ("evidence per packet", "packet trace"),
    ("does not settle", "undecided"),
    ("not settled", "undecided"),
    ("not settle", "undecided"),
    ("is gone", "is removed"),
    ("goes again", "is removed"),
    ("taken out", "removed"),
    ("takes it out", "removes it"),
    ("for want of", "because there is no"),
    ("is not a verb", "unknown command"),
    ("manner", "the thing, by its name"),
    ("affair", "the thing, by its name"),
    ("the books", "the counters"),
    ("a twin", "an eBPF port"),
    ("the twin", "the eBPF port"),
    ("the twins", "the eBPF ports"),
    ("rooms", "crates"),
    ("the house", "the project"),
];

/// Text for users is in plain technical English.
pub fn wording(tree: &Tree) -> Vec<String> {
    let covered = |path: &str| {
        COVERED
            .iter()
            .any(|at| path.strip_prefix(at).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
    };
    tree.files().filter(|(path, _)| covered(path)).flat_map(|(path, text)| complaints(path, text)).collect()
}

fn complaints(path: &str, text: &str) -> Vec<String> {
    let printed = match path.rsplit('.').next() {
        Some("md") => prose(text),
        Some("rs") if !is_test(path) => {
            let layers = rust::layers(text);
            literal(&without(&layers.strings, &test_items(&layers.code)))
        }
        Some("py") => literal(&crate::python::strings(text)),
        Some("toml") if path.starts_with("scenarios/") => comments(text),
        Some("toml") => text.to_owned(),
        _ => return Vec::new(),
    };
    let words = WordList::of(&printed);
    let found = BANNED.iter().flat_map(|(phrase, instead)| {
        words.lines_of(phrase).into_iter().map(move |line| (line, *phrase, *instead))
    });
    let mut found: Vec<(usize, &str, &str)> = found.collect();
    found.sort_unstable();
    let complaint = |(line, phrase, instead)| format!("{path}:{line}: \"{phrase}\": write {instead}");
    found.into_iter().map(complaint).collect()
}

/// Strings without the fields of their formats, as in `{name}`, and without code between backticks.
fn literal(strings: &str) -> String {
    let mut out = String::new();
    for line in strings.lines() {
        let line = uncoded(line);
        let mut rest = line.as_str();
        while let Some((text, (_, after))) =
            rest.split_once('{').and_then(|(t, r)| Some((t, r.split_once('}')?)))
        {
            out.extend([text, "|"]);
            rest = after;
        }
        out.extend([rest, "\n"]);
    }
    out
}

/// The comments of a TOML file, line by line.
fn comments(toml: &str) -> String {
    let comment = |line: &str| line.split_once('#').map_or(String::new(), |(_, comment)| uncoded(comment));
    toml.lines().map(|line| comment(line) + "\n").collect()
}

/// A page without its blocks of code and without code in its lines.
fn prose(page: &str) -> String {
    let (mut out, mut fenced) = (String::new(), false);
    for line in page.lines() {
        let fence = line.trim_start().starts_with("```");
        if !fence && !fenced {
            out.push_str(&uncoded(line));
        }
        fenced ^= fence;
        out.push('\n');
    }
    out
}

/// A line without code between backticks.
fn uncoded(line: &str) -> String {
    let pieces: Vec<&str> = line.split('`').step_by(2).collect();
    pieces.join("|")
}

/// The words of a text in small letters, each with its line; what is neither a word nor a space parts
/// sentences, so that no phrase goes over it.
struct WordList {
    words: Vec<(String, usize)>,
}

impl WordList {
    fn of(text: &str) -> WordList {
        let mut words = Vec::new();
        for (index, line) in text.lines().enumerate() {
            // A string goes on in the next line after a backslash.
            let line = line.strip_suffix('\\').unwrap_or(line);
            for piece in line.split_whitespace() {
                let mut word = String::new();
                for c in piece.chars() {
                    if c.is_alphanumeric() || c == '\'' || c == '-' {
                        word.extend(c.to_lowercase());
                    } else {
                        words.extend([(std::mem::take(&mut word), index + 1), (c.to_string(), index + 1)]);
                    }
                }
                words.push((word, index + 1));
            }
        }
        words.retain(|(word, _)| !word.is_empty());
        WordList { words }
    }

    /// The lines on which `phrase` begins.
    fn lines_of(&self, phrase: &str) -> Vec<usize> {
        let wanted: Vec<&str> = phrase.split(' ').collect();
        let here = |window: &&[(String, usize)]| window.iter().zip(&wanted).all(|((word, _), w)| word == w);
        self.words.windows(wanted.len()).filter(here).map(|window| window[0].1).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        wording(&Tree::of(&[(path, text)]))
    }

    #[test]
    fn a_phrase_in_a_page_is_found_with_what_to_write_instead() {
        let page = "# A\n\nIts packets were sent\nagain. `sent again` is code.\n\n```\nsent again\n```\n";
        assert_eq!(
            found("docs/scenario.md", page),
            ["docs/scenario.md:3: \"sent again\": write retransmitted"]
        );
        assert!(found("docs/queues/a.md", "Packets are retransmitted.").is_empty());
    }

    #[test]
    fn a_phrase_in_a_string_is_found_over_its_lines_and_one_in_a_comment_or_a_test_is_not() {
        let bad = "//! Sent again.\nfn a() {\n    b(\"was sent \\\n       again\");\n}\n";
        assert_eq!(
            found("crates/host/src/a.rs", bad),
            ["crates/host/src/a.rs:3: \"sent again\": write retransmitted"]
        );
        let fine = "//! Sent again.\nfn a() { b(\"sent\", \"again\") }\n#[cfg(test)]\nmod tests { fn c() { d(\"nobody\"); } }\n";
        assert!(found("crates/host/src/a.rs", fine).is_empty());
        assert!(found("crates/host/tests/a.rs", bad).is_empty());
    }

    #[test]
    fn strings_of_python_that_follow_each_other_are_one() {
        let bad = "# nobody\ndef a():\n    \"\"\"Tell nobody.\"\"\"\n    b(\"was sent \"\n      f\"again\")\n    c(\"sent\", \"again\")\n";
        let found = complaints("python/fairhaul/cli/a.py", bad);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains(":3: \"nobody\"") && found[1].contains(":4: \"sent again\""), "{found:?}");
    }

    #[test]
    fn a_field_of_a_format_is_code() {
        let bad = "fn a() { b(\"{told} of {seen:?} was told\") }\n";
        assert_eq!(found("crates/host/src/a.rs", bad), ["crates/host/src/a.rs:1: \"told\": write reported"]);
        let python = "\"\"\"Tell nobody.\"\"\"\n";
        assert_eq!(found("python/fairhaul/a.py", python).len(), 1);
        let scenario = "# Packets are sent\n# again.\ntitle = \"sent again\"\n";
        assert_eq!(found("scenarios/a.toml", scenario).len(), 1);
    }

    #[test]
    fn a_word_within_another_is_not_found_and_a_sentence_ends_a_phrase() {
        assert!(found("docs/queues/a.md", "Mannerheim. He sent. Again, it rains.").is_empty());
    }

    #[test]
    fn what_is_written_instead_holds_no_banned_phrase() {
        for (phrase, instead) in BANNED {
            let words = WordList::of(instead);
            let banned = BANNED.iter().find(|(other, _)| !words.lines_of(other).is_empty());
            assert!(banned.is_none(), "{phrase}: {instead}: {banned:?}");
        }
    }

    #[test]
    fn every_covered_path_exists() {
        let here = std::env::var("CARGO_MANIFEST_DIR").expect("run this with cargo test");
        for path in COVERED {
            assert!(std::path::Path::new(&here).join("../..").join(path).exists(), "{path}");
        }
    }
}
