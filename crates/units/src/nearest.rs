//! The valid word that a mistyped one was probably meant to be.

/// Words that people bring along from papers and other tools, and ours.
const SYNONYMS: &[(&str, &str)] = &[
    ("hstcp", "highspeed"),
    ("stcp", "scalable"),
    ("tcp", "reno"),
    ("ctcp", "compound"),
    ("h-tcp", "htcp"),
    ("westwood+", "westwood"),
    ("newreno", "reno"),
    ("standard", "reno"),
    ("tail-drop", "droptail"),
    ("taildrop", "droptail"),
    ("fifo", "droptail"),
    ("pfifo", "droptail"),
    ("ftp", "bulk"),
    ("http", "web"),
    ("bandwidth", "rate"),
    ("latency", "delay"),
    ("buffer", "capacity"),
    ("limit", "capacity"),
    ("cc", "controller"),
    ("mss", "packet"),
    ("iw", "initial_window"),
    ("ssthresh", "initial_ssthresh"),
    ("rwnd", "receive_buffer"),
];

/// The longest word that is compared with others; no valid word is longer.
const LONGEST: usize = 60;
/// Valid words that a message lists.
const MOST_LISTED: usize = 30;

/// The word of `known` that `word` was probably meant to be: another name of it, the same in other letters, one that
/// differs in at most a third of its letters, or one that contains it or is contained in it.
pub fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let lower: String = word.trim().to_lowercase().chars().take(LONGEST).collect();
    let find = |wanted: &str| known.iter().copied().find(|k| k.eq_ignore_ascii_case(wanted));
    let synonym = SYNONYMS.iter().find(|s| s.0 == lower).and_then(|s| find(s.1));
    let part = || {
        let holds = |k: &&&str| lower.len() > 2 && (k.contains(&lower) || k.len() > 2 && lower.contains(**k));
        known.iter().find(holds).copied()
    };
    synonym.or_else(|| find(&lower)).or_else(|| closest(&lower, known)).or_else(part)
}

/// The word of `known` that differs in the fewest letters, if they are at most a third.
pub(crate) fn closest<'a>(lower: &str, known: &[&'a str]) -> Option<&'a str> {
    let scored = known.iter().map(|k| (strsim::damerau_levenshtein(lower, &k.to_lowercase()), *k));
    let (distance, best) = scored.min_by_key(|(distance, _)| *distance)?;
    // Of two letters neither may differ, as F1 is not F2.
    (distance <= best.chars().count().max(lower.chars().count()) / 3).then_some(best)
}

/// Asks whether the nearest word was meant; lists the valid words if none is near.
pub fn hint<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(word, &known) {
        Some(best) => format!("did you mean \"{best}\"?"),
        None if known.is_empty() => "there is nothing to choose from".into(),
        None if known.len() > MOST_LISTED => {
            format!("some of the known names are {}", known[..MOST_LISTED].join(", "))
        }
        None => format!("choose from {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_synonym_beats_the_distance_and_a_far_word_has_no_neighbour() {
        let known = ["reno", "ghstcp", "highspeed", "scalable", "fhstcp"];
        assert_eq!(nearest("hstcp", &known), Some("highspeed"));
        assert_eq!(nearest("HighSpeed", &known), Some("highspeed"));
        assert_eq!(nearest("scaleable", &known), Some("scalable"));
        assert_eq!(nearest("fhtcp", &known), Some("fhstcp"));
        assert_eq!(nearest("quic", &known), None);
        assert_eq!(nearest("F7", &["F1", "F2"]), None);
        assert_eq!(nearest("steady", &["impatient", "slow-but-steady"]), Some("slow-but-steady"));
        assert_eq!(nearest(&"reno".repeat(20_000), &known), Some("reno"));
    }

    #[test]
    fn a_word_without_a_neighbour_gets_all_words() {
        assert_eq!(hint("fhtcp", ["reno", "fhstcp"]), "did you mean \"fhstcp\"?");
        assert_eq!(hint("quic", ["reno", "highspeed"]), "choose from reno, highspeed");
        assert_eq!(hint("quic", []), "there is nothing to choose from");
        assert!(hint("quic", ["reno"; 31]).starts_with("some of the known names are reno, reno"));
    }
}
