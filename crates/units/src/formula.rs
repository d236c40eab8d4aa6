//! Formulas that a scenario gives as text, such as `"max(1, 0.01 * w)"`.
//!
//! A formula is parsed once, into steps for a stack of numbers, and evaluated often. Logarithms and powers come from
//! `libm`, so that a formula has the same value on every machine.

mod parse;

use std::fmt;
use std::sync::Arc;

pub use parse::FormulaError;

/// The largest number of intermediate values of a formula.
const DEPTH: usize = 24;

/// A formula over named variables; copies share it.
#[derive(Clone)]
pub struct Formula(Arc<Parsed>);

struct Parsed {
    text: String,
    steps: Vec<Step>,
}

/// What a step does with the numbers on the stack.
#[derive(Clone, Copy)]
enum Step {
    /// Pushes a number.
    Number(f64),
    /// Pushes the variable of that index.
    Variable(u8),
    /// Replaces the last number.
    One(OfOne),
    /// Replaces the last two numbers by one.
    Two(OfTwo),
    /// Replaces a condition and two numbers by the first of them, unless the condition is zero; then by the second.
    Choose,
    Add,
    Subtract,
    Multiply,
    Divide,
}

type OfOne = fn(f64) -> f64;
type OfTwo = fn(f64, f64) -> f64;

/// Functions of one number.
const ONE: &[(&str, OfOne)] = &[
    ("sqrt", f64::sqrt),
    ("cbrt", libm::cbrt),
    ("exp", libm::exp),
    ("ln", libm::log),
    ("log10", libm::log10),
    ("abs", f64::abs),
    ("floor", f64::floor),
    ("ceil", f64::ceil),
];
/// Functions of two numbers or more, from left to right.
const TWO: &[(&str, OfTwo)] = &[("min", f64::min), ("max", f64::max)];
/// Comparisons, which give 1 or 0; of two with the same start the longer comes first.
const COMPARISONS: &[(&str, OfTwo)] = &[
    ("<=", |a, b| f64::from(u8::from(a <= b))),
    (">=", |a, b| f64::from(u8::from(a >= b))),
    ("==", |a, b| f64::from(u8::from(a == b))),
    ("!=", |a, b| f64::from(u8::from(a != b))),
    ("<", |a, b| f64::from(u8::from(a < b))),
    (">", |a, b| f64::from(u8::from(a > b))),
];

impl Formula {
    /// Parses a formula over `variables`, of which there are at most 255.
    ///
    /// It has numbers, variables, `+ - * / ^`, comparisons (`<`, `<=`, `>`, `>=`, `==`, `!=`, which give 1 or 0),
    /// parentheses, `min(a, b, ...)`, `max(a, b, ...)`, `sqrt`, `cbrt`, `exp`, `ln`, `log10`, `abs`, `floor`, `ceil`, and
    /// `if(condition, a, b)`. `^` binds more tightly than a minus sign before it, and to the right: `-2^3^2` is -512.
    ///
    /// # Errors
    /// The text is no such formula.
    pub fn new(text: &str, variables: &[&str]) -> Result<Formula, FormulaError> {
        let steps = parse::steps(text, variables)?;
        Ok(Formula(Arc::new(Parsed { text: text.to_owned(), steps })))
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// Its value; `variables` in the order in which they were named.
    #[inline]
    pub fn value(&self, variables: &[f64]) -> f64 {
        let mut stack = [0.0; DEPTH];
        let mut top = 0;
        for step in &self.0.steps {
            match *step {
                Step::Number(number) => (stack[top], top) = (number, top + 1),
                Step::Variable(index) => (stack[top], top) = (variables[usize::from(index)], top + 1),
                Step::One(function) => stack[top - 1] = function(stack[top - 1]),
                Step::Choose => {
                    top -= 2;
                    stack[top - 1] = if stack[top - 1] != 0.0 { stack[top] } else { stack[top + 1] };
                }
                two => {
                    top -= 1;
                    let (a, b) = (stack[top - 1], stack[top]);
                    stack[top - 1] = match two {
                        Step::Add => a + b,
                        Step::Subtract => a - b,
                        Step::Multiply => a * b,
                        Step::Divide => a / b,
                        Step::Two(function) => function(a, b),
                        _ => unreachable!("steps with other numbers of operands are above"),
                    };
                }
            }
        }
        stack[0]
    }
}

/// By their texts.
impl PartialEq for Formula {
    fn eq(&self, other: &Formula) -> bool {
        self.text() == other.text()
    }
}

/// The text alone: functions would print their addresses, which differ from process to process.
impl fmt::Debug for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Formula").field(&self.text()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> f64 {
        let formula = Formula::new(text, &["w", "rtt"]).unwrap_or_else(|error| panic!("{text}: {error}"));
        formula.value(&[100.0, 0.5])
    }

    fn error(text: &str) -> String {
        Formula::new(text, &["w", "rtt"]).unwrap_err().to_string()
    }

    #[test]
    fn operators_have_their_usual_order() {
        assert_eq!(value("1 + 2 * 3"), 7.0);
        assert_eq!(value("(1 + 2) * 3"), 9.0);
        assert_eq!(value("10 - 4 - 3"), 3.0);
        assert_eq!(value("24 / 4 / 3"), 2.0);
        assert_eq!(value("2 ^ 3 ^ 2"), 512.0);
        assert_eq!(value("-2 ^ 2"), -4.0);
        assert_eq!(value("2 ^ -1"), 0.5);
        assert_eq!(value("2 * -3"), -6.0);
        assert_eq!(value("1 + 1 < 3"), 1.0);
        assert_eq!(value("1e-3*1E+3"), 1.0);
        assert_eq!(value(".5 + 1."), 1.5);
    }

    #[test]
    fn variables_and_functions_have_their_values() {
        assert_eq!(value("0.01 * w"), 1.0);
        assert_eq!(value("w*rtt"), 50.0);
        assert_eq!(value("max(1, w, 7, rtt)"), 100.0);
        assert_eq!(value("min(rtt, 2)"), 0.5);
        assert_eq!(value("sqrt(w) + cbrt(27) + abs(-1) + floor(1.5) + ceil(1.5)"), 17.0);
        assert_eq!(value("log10(w)"), 2.0);
        assert_eq!(value("ln(exp(2))"), 2.0);
        assert_eq!(value("if(w > 38, 2, 3)"), 2.0);
        assert_eq!(value("if(w == 38, 2, if(rtt != 1, 4, 5))"), 4.0);
        assert_eq!(value("if(w <= 100, 1, 0) + if(w >= 101, 1, 0)"), 1.0);
    }

    #[test]
    fn a_mistake_is_named_with_its_place() {
        assert_eq!(error("0.01 * "), "at its end: wanted a number, a variable, a function or \"(\"");
        assert_eq!(error("0.01 w"), "at character 6, \"w\": wanted an operator or the end");
        assert_eq!(error("(1 + 2"), "at its end: wanted \")\"");
        assert_eq!(error("cwnd + 1"), "at character 1: unknown variable \"cwnd\"");
        assert_eq!(error("log(w)"), "at character 1: unknown function \"log\"");
        assert_eq!(error("sqrt + 1"), "at character 6, \"+\": wanted \"(\" after the function \"sqrt\"");
        assert_eq!(error("sqrt(1, 2)"), "at character 7, \",\": wanted \")\"");
        assert_eq!(error("max(1)"), "at character 6, \")\": wanted \",\"");
        assert_eq!(error("if(1, 2)"), "at character 8, \")\": wanted \",\"");
        assert_eq!(error("1.2.3"), "at character 1: \"1.2.3\" is not a number");
        assert_eq!(error("1 = 2"), "at character 3, \"=\": wanted an operator or the end");
        assert_eq!(error("w € 2"), "at character 3, \"€\": wanted an operator or the end");
        assert_eq!(error(""), "at its end: wanted a number, a variable, a function or \"(\"");
        assert_eq!(error("1 < 2 < 3"), "at character 7, \"<\": wanted an operator or the end");
    }

    #[test]
    fn a_formula_that_nests_too_deeply_is_refused() {
        let nested = |depth: usize| format!("{}1{}", "(1 + ".repeat(depth), ")".repeat(depth));
        assert_eq!(value(&nested(DEPTH - 1)), DEPTH as f64);
        assert_eq!(error(&nested(DEPTH)), "it nests more than 24 deep");
        assert_eq!(error(&nested(100_000)), "it nests more than 24 deep");
        assert_eq!(error(&"-".repeat(100_000)), "it nests more than 24 deep");
        assert_eq!(error(&"2^".repeat(100_000)), "it nests more than 24 deep");
    }

    #[test]
    fn what_an_unknown_name_could_have_been_is_known() {
        let unknown = |text| Formula::new(text, &["w", "rtt"]).unwrap_err().unknown.unwrap();
        assert_eq!(unknown("rt"), ("rt".to_owned(), vec!["w".to_owned(), "rtt".to_owned()]));
        assert_eq!(unknown("srt(2)").0, "srt");
        assert!(unknown("srt(2)").1.iter().any(|known| known == "sqrt"));
    }
}
