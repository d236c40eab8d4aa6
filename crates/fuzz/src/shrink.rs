//! Reduces a scenario that violates an invariant, as far as it still violates the same.

use crate::check::Verdict;
use crate::doc::{Item, Keys};
use crate::judge::Judge;
use crate::violation::{Invariant, Violation};

/// The limit of other scenarios that are tried.
const MOST_TRIES: usize = 400;

/// The smallest scenario found that violates the same invariant, and its violation.
pub fn shrink(judge: &Judge, start: &Keys, first: Violation) -> (Keys, Violation) {
    let mut search =
        Search { judge, subject: subject(&first), best: start.clone(), violation: first, tries: 0 };
    while search.tries < MOST_TRIES && (search.drop_items() | search.simplify()) {}
    (search.best, search.violation)
}

struct Search<'a> {
    judge: &'a Judge,
    subject: (Invariant, String),
    best: Keys,
    violation: Violation,
    tries: usize,
}

impl Search<'_> {
    /// Whether `keys` violates the same invariant; then it is the best so far.
    fn takes(&mut self, keys: Keys) -> bool {
        if keys == self.best || self.tries >= MOST_TRIES {
            return false;
        }
        self.tries += 1;
        match self.judge.judge(&keys.short()) {
            Verdict::Broken(violation) if subject(&violation) == self.subject => {
                (self.best, self.violation) = (keys, violation);
                true
            }
            _ => false,
        }
    }

    /// Removes what the failure does not need, the last and outermost first.
    fn drop_items(&mut self) -> bool {
        let mut better = false;
        let mut at = self.best.paths().len();
        while at > 0 {
            at -= 1;
            let paths = self.best.paths();
            let Some(path) = paths.get(at) else { continue };
            let mut keys = self.best.clone();
            if keys.cut(path).is_some() && self.takes(keys) {
                better = true;
            }
        }
        better
    }

    /// Replaces odd values by simpler ones.
    fn simplify(&mut self) -> bool {
        let mut better = false;
        for path in self.best.paths() {
            let Some(item) = self.best.at(&path).cloned() else { continue };
            for simple in simpler(&item) {
                let mut keys = self.best.clone();
                if let Some(item) = keys.at_mut(&path) {
                    *item = simple;
                    if self.takes(keys) {
                        better = true;
                        break;
                    }
                }
            }
        }
        better
    }
}

/// The subject of a violation: the invariant, and the name of the figure if there is one.
fn subject(violation: &Violation) -> (Invariant, String) {
    let figure = violation.text.split(' ').next().filter(|_| violation.invariant == Invariant::Bounds);
    (violation.invariant, figure.unwrap_or_default().to_owned())
}

/// Simpler items, the simplest first.
fn simpler(item: &Item) -> Vec<Item> {
    match item {
        Item::Table(keys) => match keys.0.as_slice() {
            [(tag, word)] if tag == "kind" => vec![word.clone()],
            _ => Vec::new(),
        },
        Item::List(_) => Vec::new(),
        Item::Raw(raw) => match item.as_text() {
            Some(text) => texts(text).into_iter().map(|text| Item::text(&text)).collect(),
            None => rounded(raw).into_iter().map(Item::Raw).collect(),
        },
    }
}

/// The quantity of a text with fewer digits; a controller becomes the simplest one.
fn texts(text: &str) -> Vec<String> {
    if fairhaul_cc::entries().iter().any(|entry| entry.name == text) {
        return if text == "reno" { Vec::new() } else { vec!["reno".into()] };
    }
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    rounded(number).into_iter().map(|number| format!("{number}{unit}")).collect()
}

/// A number with one digit, and with two.
fn rounded(number: &str) -> Vec<String> {
    let Ok(value) = number.parse::<f64>() else { return Vec::new() };
    let whole = !number.contains(['.', 'e']);
    let short = |digits: usize| {
        let rounded: f64 = format!("{value:.digits$e}").parse().unwrap_or(value);
        if whole {
            format!("{rounded:.0}")
        } else if rounded.abs() >= 1e-3 {
            format!("{rounded}")
        } else {
            format!("{rounded:.12}")
        }
    };
    let mut shorter = vec![short(0), short(1)];
    shorter.retain(|other| other != number && other.parse::<f64>().is_ok_and(|other| other != value));
    shorter.dedup();
    shorter
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantity_loses_its_digits_and_keeps_its_unit() {
        assert_eq!(texts("123.456 ms"), ["100 ms", "120 ms"]);
        assert_eq!(texts("bbr3"), ["reno"]);
        assert!(texts("unlimited").is_empty() && texts("reno").is_empty());
        assert_eq!(rounded("0.0123"), ["0.01", "0.012"]);
        assert!(rounded("20").is_empty());
    }
}
