//! The nearest valid word to a mistyped one.

/// Asks "did you mean …?", or lists all valid words.
pub fn hint<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let likeness = |other: &&&str| strsim::jaro_winkler(word, other);
    match known.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b))) {
        Some(near) if likeness(&near) > 0.75 => format!("did you mean {near:?}?"),
        Some(_) => format!("choose from {}", known.join(", ")),
        None => "there is nothing to choose from".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_gets_the_nearest_word_and_an_unknown_word_all_words() {
        assert_eq!(hint("fhtcp", ["reno", "fhstcp"]), "did you mean \"fhstcp\"?");
        assert_eq!(hint("quic", ["reno", "fhstcp"]), "choose from reno, fhstcp");
    }
}
