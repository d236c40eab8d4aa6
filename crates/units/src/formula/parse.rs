//! Parses the text of a formula, by recursive descent, into steps.

use std::fmt;

use super::{COMPARISONS, DEPTH, ONE, Step, TWO};

/// What is wrong with the text of a formula.
#[derive(Clone, Debug, PartialEq)]
pub struct FormulaError {
    what: String,
    /// A name that is unknown, and the names that are known in its place.
    pub unknown: Option<(String, Vec<String>)>,
}

impl fmt::Display for FormulaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for FormulaError {}

impl FormulaError {
    fn new(what: String) -> FormulaError {
        FormulaError { what, unknown: None }
    }
}

type Parsed<T> = Result<T, FormulaError>;

/// The steps of a formula over `variables`.
pub(super) fn steps(text: &str, variables: &[&str]) -> Parsed<Vec<Step>> {
    let mut parser = Parser { text, at: 0, variables, steps: Vec::new(), open: 0 };
    parser.comparison()?;
    if parser.peek().is_some() {
        return Err(parser.wanted("an operator or the end"));
    }
    match most_numbers(&parser.steps) {
        ..=DEPTH => Ok(parser.steps),
        _ => Err(too_deep()),
    }
}

fn too_deep() -> FormulaError {
    FormulaError::new(format!("it nests more than {DEPTH} deep"))
}

/// How many numbers are on the stack at most.
fn most_numbers(steps: &[Step]) -> usize {
    let (mut now, mut most) = (0_usize, 0);
    for step in steps {
        match step {
            Step::Number(_) | Step::Variable(_) => now += 1,
            Step::One(_) => {}
            Step::Choose => now -= 2,
            Step::Two(_) | Step::Add | Step::Subtract | Step::Multiply | Step::Divide => now -= 1,
        }
        most = most.max(now);
    }
    most
}

struct Parser<'a> {
    text: &'a str,
    /// The place of what is not parsed yet, bytes.
    at: usize,
    variables: &'a [&'a str],
    steps: Vec<Step>,
    /// How many of its functions call each other.
    open: usize,
}

impl<'a> Parser<'a> {
    fn comparison(&mut self) -> Parsed<()> {
        self.sum()?;
        let found = COMPARISONS.iter().find(|(sign, _)| self.takes(sign));
        if let Some(&(_, compare)) = found {
            self.sum()?;
            self.steps.push(Step::Two(compare));
        }
        Ok(())
    }

    fn sum(&mut self) -> Parsed<()> {
        self.product()?;
        loop {
            let step = match () {
                () if self.takes("+") => Step::Add,
                () if self.takes("-") => Step::Subtract,
                () => return Ok(()),
            };
            self.product()?;
            self.steps.push(step);
        }
    }

    fn product(&mut self) -> Parsed<()> {
        self.signed()?;
        loop {
            let step = match () {
                () if self.takes("*") => Step::Multiply,
                () if self.takes("/") => Step::Divide,
                () => return Ok(()),
            };
            self.signed()?;
            self.steps.push(step);
        }
    }

    fn signed(&mut self) -> Parsed<()> {
        self.open += 1;
        if self.open > DEPTH {
            return Err(too_deep());
        }
        if self.takes("-") {
            self.signed()?;
            self.steps.push(Step::One(|x| -x));
        } else {
            self.operand()?;
            if self.takes("^") {
                self.signed()?;
                self.steps.push(Step::Two(libm::pow));
            }
        }
        self.open -= 1;
        Ok(())
    }

    fn operand(&mut self) -> Parsed<()> {
        if self.takes("(") {
            self.comparison()?;
            return self.expect(")");
        }
        let rest = self.rest();
        if rest.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
            return self.number();
        }
        let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        if length == 0 {
            return Err(self.wanted("a number, a variable, a function or \"(\""));
        }
        let (name, place) = (rest[..length].to_owned(), self.at);
        self.at += length;
        if let Some(index) = self.variables.iter().position(|variable| *variable == name) {
            self.steps.push(Step::Variable(index as u8));
            return Ok(());
        }
        self.function(&name, place)
    }

    fn number(&mut self) -> Parsed<()> {
        let rest = self.rest();
        let signed = |at: usize| rest[..at].ends_with(['e', 'E']);
        let part = |(at, c): &(usize, char)| {
            c.is_ascii_alphanumeric() || *c == '.' || matches!(c, '+' | '-') && signed(*at)
        };
        let length = rest.char_indices().take_while(part).count();
        match rest[..length].parse::<f64>() {
            Ok(number) if number.is_finite() => {
                self.at += length;
                self.steps.push(Step::Number(number));
                Ok(())
            }
            _ => {
                let place = self.character();
                let what = format!("at character {place}: \"{}\" is not a number", &rest[..length]);
                Err(FormulaError::new(what))
            }
        }
    }

    /// A function and its arguments; its name, which is at `place`, is parsed.
    fn function(&mut self, name: &str, place: usize) -> Parsed<()> {
        let is_called = self.peek() == Some('(');
        let open = |parser: &mut Self| match is_called {
            true => parser.expect("("),
            false => Err(parser.wanted(&format!("\"(\" after the function \"{name}\""))),
        };
        if let Some(&(_, function)) = ONE.iter().find(|(known, _)| *known == name) {
            open(self)?;
            self.comparison()?;
            self.steps.push(Step::One(function));
        } else if let Some(&(_, function)) = TWO.iter().find(|(known, _)| *known == name) {
            open(self)?;
            self.comparison()?;
            self.expect(",")?;
            loop {
                self.comparison()?;
                self.steps.push(Step::Two(function));
                if !self.takes(",") {
                    break;
                }
            }
        } else if name == "if" {
            open(self)?;
            self.comparison()?;
            for _ in 0..2 {
                self.expect(",")?;
                self.comparison()?;
            }
            self.steps.push(Step::Choose);
        } else {
            return Err(self.unknown(name, place, is_called));
        }
        self.expect(")")
    }

    fn unknown(&self, name: &str, place: usize, is_called: bool) -> FormulaError {
        let functions = ONE.iter().map(|(known, _)| *known).chain(TWO.iter().map(|(known, _)| *known));
        let (what, known): (&str, Vec<&str>) = match is_called {
            true => ("function", functions.chain(["if"]).collect()),
            false => ("variable", self.variables.to_vec()),
        };
        let character = self.text[..place].chars().count() + 1;
        FormulaError {
            what: format!("at character {character}: unknown {what} \"{name}\""),
            unknown: Some((name.to_owned(), known.iter().map(|known| (*known).to_owned()).collect())),
        }
    }

    /// What is not parsed yet, without the spaces before it.
    fn rest(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        &self.text[self.at..]
    }

    fn peek(&mut self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Whether `sign` is next, which is then parsed.
    fn takes(&mut self, sign: &str) -> bool {
        let is_next = self.rest().starts_with(sign);
        self.at += if is_next { sign.len() } else { 0 };
        is_next
    }

    fn expect(&mut self, sign: &str) -> Parsed<()> {
        if self.takes(sign) { Ok(()) } else { Err(self.wanted(&format!("\"{sign}\""))) }
    }

    /// The number of the character that is next, from 1.
    fn character(&self) -> usize {
        self.text[..self.at].chars().count() + 1
    }

    fn wanted(&mut self, what: &str) -> FormulaError {
        let found = self.peek();
        FormulaError::new(match found {
            None => format!("at its end: wanted {what}"),
            Some(found) => format!("at character {}, \"{found}\": wanted {what}", self.character()),
        })
    }
}
