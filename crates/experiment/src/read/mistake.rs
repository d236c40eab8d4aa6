//! Mistakes of a user: collected, not thrown one by one, each with its place, what was wanted and
//! the nearest right word.

use std::fmt;
use std::sync::Arc;

use fairhaul_cc::OwnKinds;
use fairhaul_units::hint;

/// Where a value comes from: a line of the file, or an override.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SourceSpan {
    /// A line of the file, from 1.
    Line(usize),
    /// An override, by its index.
    Override(usize),
}

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// `file:line`, or the option that brought it in.
    pub place: String,
    /// What is wrong, what was wanted, and the way out.
    pub text: String,
}

/// All mistakes of a scenario, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistakes(pub Vec<Mistake>);

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.text)
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, mistake) in self.0.iter().enumerate() {
            write!(f, "{}{mistake}", if index == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}

impl std::error::Error for Mistakes {}

/// Where the reader writes down what it finds.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    found: Vec<(SourceSpan, String)>,
    /// The controllers that are known beside the catalogue.
    pub(crate) own: Arc<OwnKinds>,
}

impl Notes {
    /// With controllers beside the catalogue.
    pub(crate) fn with(own: Arc<OwnKinds>) -> Notes {
        Notes { found: Vec::new(), own }
    }

    /// Writes down one mistake.
    pub(crate) fn note(&mut self, origin: SourceSpan, text: impl Into<String>) {
        self.found.push((origin, text.into()));
    }

    /// Whether nothing was found.
    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Takes over what another reading found.
    pub(crate) fn extend(&mut self, other: Notes) {
        self.found.extend(other.found);
    }

    /// The mistakes in the order of the file, each once: the runs of a sweep repeat those of the
    /// file they vary. Of very many, which one cause may have, the first are reported and the rest counted.
    pub(crate) fn finish(mut self, file: &str, overrides: &[(String, String)]) -> Mistakes {
        self.found.sort();
        self.found.dedup();
        let place = |origin: SourceSpan| match origin {
            SourceSpan::Line(line) => format!("{file}:{line}"),
            SourceSpan::Override(index) => {
                let (key, value) = &overrides[index];
                format!("--set {}={}", clip(key), clip(value))
            }
        };
        let unreported = self.found.split_off(MOST_REPORTED.min(self.found.len()));
        let reported = |(origin, text): (SourceSpan, String)| Mistake {
            place: printable(&place(origin)),
            text: printable(&shortened(text)),
        };
        let mut mistakes: Vec<Mistake> = self.found.into_iter().map(reported).collect();
        if let Some((first, _)) = unreported.first() {
            let text = format!("and {} more errors from here on", unreported.len());
            mistakes.push(Mistake { place: printable(&place(*first)), text });
        }
        Mistakes(mistakes)
    }
}

/// Mistakes that are reported one by one.
const MOST_REPORTED: usize = 40;

/// A message that fits a screen, whatever it quotes.
fn shortened(text: String) -> String {
    const MOST: usize = 1000;
    if text.chars().count() <= MOST { text } else { text.chars().take(MOST).chain("…".chars()).collect() }
}

/// `text` with what a terminal would obey written out: titles and names may come from anybody's file.
pub fn printable(text: &str) -> String {
    let steers = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    text.chars().fold(String::with_capacity(text.len()), |mut shown, c| {
        if steers(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
        shown
    })
}

/// `; did you mean "x"?`, or the known words.
pub(crate) fn way_out(word: &str, known: &[&str]) -> String {
    if known.is_empty() { String::new() } else { format!("; {}", hint(word, known.iter().copied())) }
}

/// `text` short enough for a message.
pub(crate) fn clip(text: &str) -> String {
    const MOST: usize = 60;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= MOST { line } else { line.chars().take(MOST).chain("…".chars()).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn very_many_mistakes_are_counted_and_what_they_quote_is_cut() {
        let mut notes = Notes::default();
        for line in 1..=300_000 {
            notes.note(SourceSpan::Line(line), "x".repeat(if line == 1 { 70_000 } else { 1 }));
        }
        let Mistakes(mistakes) = notes.finish("x.toml", &[]);
        assert_eq!(mistakes.len(), MOST_REPORTED + 1);
        assert_eq!(mistakes[0].text.chars().count(), 1001);
        assert_eq!(mistakes[MOST_REPORTED].to_string(), "x.toml:41: and 299960 more errors from here on");
    }

    #[test]
    fn what_a_terminal_would_obey_is_written_out() {
        let mut notes = Notes::default();
        notes.note(SourceSpan::Line(1), "\u{1b}[2J \u{7} \u{9b} \u{202e} é 漢");
        let text = notes.finish("a\u{1b}.toml", &[]).to_string();
        assert_eq!(text, "a\\u{1b}.toml:1: \\u{1b}[2J \\u{7} \\u{9b} \\u{202e} é 漢");
    }

    #[test]
    fn the_same_mistake_is_told_once_and_lines_come_in_order() {
        let mut notes = Notes::default();
        notes.note(SourceSpan::Override(0), "c");
        notes.note(SourceSpan::Line(10), "b");
        notes.note(SourceSpan::Line(9), "a");
        notes.note(SourceSpan::Line(10), "b");
        let text = notes.finish("x.toml", &[("k".into(), "v".into())]).to_string();
        assert_eq!(text, "x.toml:9: a\nx.toml:10: b\n--set k=v: c");
    }
}
