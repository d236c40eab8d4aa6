//! The values that a scenario gives to the parameters of a controller.

use std::cell::RefCell;

use fairhaul_cc::{OwnValue, OwnValues};

/// The values by the names of their parameters. A parameter that nothing asks for is a mistake of the scenario.
#[derive(Debug)]
pub struct Given {
    values: OwnValues,
    asked: RefCell<Vec<String>>,
}

impl Given {
    /// These values.
    pub fn new(values: OwnValues) -> Given {
        Given { values, asked: RefCell::default() }
    }

    /// A number; `default` if the scenario gives none.
    ///
    /// # Errors
    /// It is no number.
    pub fn number(&self, name: &str, default: f64) -> Result<f64, String> {
        match self.get(name) {
            None => Ok(default),
            Some(OwnValue::Number(number)) => Ok(*number),
            Some(OwnValue::Whole(whole)) => Ok(*whole as f64),
            Some(_) => Err(format!("`{name}`: wanted a number")),
        }
    }

    /// A whole number; `default` if the scenario gives none.
    ///
    /// # Errors
    /// It is no whole number.
    pub fn whole(&self, name: &str, default: i64) -> Result<i64, String> {
        match self.get(name) {
            None => Ok(default),
            Some(OwnValue::Whole(whole)) => Ok(*whole),
            Some(_) => Err(format!("`{name}`: wanted a whole number")),
        }
    }

    /// True or false; `default` if the scenario gives none.
    ///
    /// # Errors
    /// It is neither.
    pub fn switch(&self, name: &str, default: bool) -> Result<bool, String> {
        match self.get(name) {
            None => Ok(default),
            Some(OwnValue::Switch(switch)) => Ok(*switch),
            Some(_) => Err(format!("`{name}`: wanted true or false")),
        }
    }

    /// A text; `default` if the scenario gives none.
    ///
    /// # Errors
    /// It is no text.
    pub fn text(&self, name: &str, default: &str) -> Result<String, String> {
        match self.get(name) {
            None => Ok(default.to_owned()),
            Some(OwnValue::Text(text)) => Ok(text.clone()),
            Some(_) => Err(format!("`{name}`: wanted a text")),
        }
    }

    fn get(&self, name: &str) -> Option<&OwnValue> {
        self.asked.borrow_mut().push(name.to_owned());
        self.values.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// An error if the scenario gives a value that nothing has requested.
    pub(crate) fn check(&self) -> Result<(), String> {
        let asked = self.asked.borrow();
        match self.values.iter().find(|(name, _)| !asked.contains(name)) {
            None => Ok(()),
            Some((name, _)) if asked.is_empty() => {
                Err(format!("there is no parameter `{name}`, nor any other"))
            }
            Some((name, _)) => Err(format!("there is no parameter `{name}`; there are {}", asked.join(", "))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_nothing_asks_for_is_a_mistake() {
        let given = Given::new(vec![("a".into(), OwnValue::Whole(2)), ("c".into(), OwnValue::Switch(true))]);
        assert_eq!(given.number("a", 1.0), Ok(2.0));
        assert_eq!(given.number("b", 0.5), Ok(0.5));
        assert_eq!(given.check(), Err("there is no parameter `c`; there are a, b".into()));
        assert_eq!(given.switch("c", false), Ok(true));
        assert_eq!(given.check(), Ok(()));
        assert_eq!(given.text("a", ""), Err("`a`: wanted a text".into()));
    }
}
