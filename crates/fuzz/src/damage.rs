//! Damaged files: truncated, with typing errors, or not scenarios at all.

use fairhaul_units::Chance;

/// Values that replace a value of another kind.
const VALUES: [&str; 16] = [
    "[]",
    "{}",
    "true",
    "nan",
    "-inf",
    "1e400",
    "-1",
    "0",
    "18446744073709551616",
    "\"\"",
    "\"1e9 bit/s\"",
    "\"-3 s\"",
    "1979-05-27T07:32:00Z",
    "[[1], [2]]",
    "{ kind = \"reno\", kind = \"cubic\" }",
    "\"\\u001b[2J\"",
];

/// `text`, damaged in one to three places.
pub fn damaged(text: &str, chance: &mut Chance) -> String {
    (0..=chance.below(3)).fold(text.to_owned(), |text, _| damage(&text, chance))
}

fn damage(text: &str, chance: &mut Chance) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let at = chance.below(lines.len() as u64) as usize;
    if lines.is_empty() {
        return "[".into();
    }
    match chance.below(9) {
        0 => return boundary(text, chance.below(text.len() as u64 + 1) as usize).0.to_owned(),
        1 => drop(lines.remove(at)),
        2 => lines.insert(at, lines[at].clone()),
        3 => lines.insert(at, "unknown_key = \"1 s\"".into()),
        4 => lines.insert(at, format!("title = \"{}\"", "long ".repeat(14_000))),
        5 => lines.insert(at, format!("deep = {}", "[".repeat(2000))),
        6 => {
            let (before, after) = boundary(text, chance.below(text.len() as u64) as usize);
            let letter = char::from(b' ' + chance.below(95) as u8);
            return format!("{before}{letter}{}", after.chars().skip(1).collect::<String>());
        }
        _ => {
            if let Some((key, _)) = lines[at].split_once('=') {
                lines[at] = format!("{key}= {}", VALUES[chance.below(VALUES.len() as u64) as usize]);
            }
        }
    }
    lines.join("\n")
}

/// `text` in two parts, cut at the last place between characters up to `at`.
fn boundary(text: &str, at: usize) -> (&str, &str) {
    let at = (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    text.split_at(at)
}
