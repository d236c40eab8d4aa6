//! The settings of a stack in a scenario, as a stack in Rust takes them.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use fairhaul_units::hint;

/// Keys of `stack = { kind = …, key = value }` and their values as text. A stack reads the keys that it knows, and then
/// [`check`](Settings::check) refuses the others.
#[derive(Debug, Default)]
pub struct Settings {
    given: Vec<(String, String)>,
    read: Vec<&'static str>,
}

impl Settings {
    /// These keys and values.
    pub fn new(given: Vec<(String, String)>) -> Settings {
        Settings { given, read: Vec::new() }
    }

    /// The text of `name`, if it is given.
    pub fn text(&mut self, name: &'static str) -> Option<&str> {
        self.read.push(name);
        self.given.iter().find(|(key, _)| key == name).map(|(_, value)| &**value)
    }

    /// The word of `name`, one of `words`; the first of them where it is not given.
    ///
    /// # Errors
    /// It is another word.
    pub fn word(&mut self, name: &'static str, words: &[&'static str]) -> Result<&'static str, String> {
        let Some(given) = self.text(name) else { return Ok(words[0]) };
        let word = words.iter().find(|word| **word == given);
        word.copied().ok_or_else(|| format!("{name} = \"{given}\"; {}", hint(given, words.iter().copied())))
    }

    /// The number of `name`, if it is given.
    ///
    /// # Errors
    /// It is no number within `bounds`.
    pub fn number<T>(&mut self, name: &'static str, bounds: RangeInclusive<T>) -> Result<Option<T>, String>
    where
        T: FromStr + PartialOrd + Display,
    {
        let Some(given) = self.text(name) else { return Ok(None) };
        match given.parse::<T>().ok().filter(|number| bounds.contains(number)) {
            Some(number) => Ok(Some(number)),
            None => {
                Err(format!("{name} = {given}; wanted a number from {} to {}", bounds.start(), bounds.end()))
            }
        }
    }

    /// The truth value of `name`.
    ///
    /// # Errors
    /// It is neither true nor false.
    pub fn switch(&mut self, name: &'static str, default: bool) -> Result<bool, String> {
        let Some(given) = self.text(name) else { return Ok(default) };
        given.parse().map_err(|_| format!("{name} = {given}; wanted true or false"))
    }

    /// Refuses the first key that was not read.
    ///
    /// # Errors
    /// There is one.
    pub fn check(&self) -> Result<(), String> {
        match self.given.iter().find(|(key, _)| !self.read.contains(&&**key)) {
            Some((key, _)) => {
                Err(format!("unknown setting \"{key}\"; {}", hint(key, self.read.iter().copied())))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_read_or_refused() {
        let given = [("controller", "bbr"), ("streams", "x"), ("contoller", "cubic")];
        let given = given.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let mut settings = Settings::new(given.to_vec());
        assert_eq!(settings.word("controller", &["cubic", "bbr"]), Ok("bbr"));
        assert_eq!(settings.word("other", &["a", "b"]), Ok("a"));
        assert_eq!(
            settings.number("streams", 1..=9u32).unwrap_err(),
            "streams = x; wanted a number from 1 to 9"
        );
        assert_eq!(
            settings.check().unwrap_err(),
            "unknown setting \"contoller\"; did you mean \"controller\"?"
        );
    }
}
