//! One line of an event script.

use fairhaul_units::{Span, Time, hint};

/// The events, as a script names them.
const EVENTS: [&str; 5] = ["sent", "ack", "lost", "app-limited", "timeout"];

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ScriptEvent {
    /// That much was sent.
    Sent(u64),
    /// That much was acknowledged, with a round-trip sample.
    Ack {
        /// The amount.
        amount: u64,
        /// How much of it was marked.
        marked: u64,
        /// The sample.
        rtt: Span,
    },
    /// That much is believed lost.
    Lost(u64),
    /// The application has nothing more to send, until the next packet is sent.
    AppLimited,
    /// The retransmission timer ran out, or persistent congestion was found: all in flight is lost.
    Timeout,
}

/// A line that holds an event.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptLine {
    /// When it happened.
    pub at: Time,
    /// What happened.
    pub event: ScriptEvent,
    /// The event as the script writes it.
    pub text: String,
}

impl ScriptLine {
    /// Reads a line; `None` if it is empty, or a comment after `#`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(text: &str) -> Result<Option<ScriptLine>, String> {
        let text = text.split('#').next().unwrap_or_default().trim();
        if text.is_empty() {
            return Ok(None);
        }
        let Some(start) = text.find(|c: char| c.is_ascii_alphabetic()) else {
            return Err(format!("{text:?} has no event; one of {} is wanted", EVENTS.join(", ")));
        };
        let mut words = Words(text[start..].split_whitespace().collect());
        let since_start = words.span(&text[..start], "a time")?;
        let written = words.0.join(" ");
        let event = words.event()?;
        match words.0.first() {
            Some(more) => Err(format!("{more:?} does not belong to this event")),
            None => Ok(Some(ScriptLine { at: Time::ZERO + since_start, event, text: written })),
        }
    }
}

/// The words of a line that have not been read.
struct Words<'a>(Vec<&'a str>);

impl<'a> Words<'a> {
    fn next(&mut self) -> Option<&'a str> {
        if self.0.is_empty() { None } else { Some(self.0.remove(0)) }
    }

    fn event(&mut self) -> Result<ScriptEvent, String> {
        match self.next() {
            Some("sent") => self.amount("sent").map(ScriptEvent::Sent),
            Some("lost") => self.amount("lost").map(ScriptEvent::Lost),
            Some("app-limited") => Ok(ScriptEvent::AppLimited),
            Some("timeout") => Ok(ScriptEvent::Timeout),
            Some("ack") => self.ack(),
            Some(word) => Err(format!("unknown event {word:?}; {}", hint(word, EVENTS))),
            None => Err(format!("the event is missing; one of {} is wanted", EVENTS.join(", "))),
        }
    }

    fn ack(&mut self) -> Result<ScriptEvent, String> {
        let amount = self.amount("ack")?;
        let (mut rtt, mut marked) = (None, 0);
        loop {
            match self.next() {
                Some("rtt") => {
                    let number = self.next().unwrap_or_default();
                    rtt = Some(self.span(number, "rtt")?);
                }
                Some("marked") => marked = self.amount("marked")?,
                Some(word) => {
                    return Err(format!(
                        "unknown value {word:?} of an ack; {}",
                        hint(word, ["rtt", "marked"])
                    ));
                }
                None => break,
            }
        }
        let rtt = rtt
            .filter(|rtt| !rtt.is_zero())
            .ok_or("an ack needs its sample above zero, as in `rtt 40 ms`")?;
        if marked > amount {
            return Err(format!("{marked} of {amount} cannot be marked"));
        }
        Ok(ScriptEvent::Ack { amount, marked, rtt })
    }

    fn amount(&mut self, of: &str) -> Result<u64, String> {
        let word = self.next().unwrap_or_default();
        let amount = word.parse().ok().filter(|&amount| amount > 0);
        amount.ok_or_else(|| format!("`{of}` needs a whole number above zero, not {word:?}"))
    }

    /// A time whose number is `number`, perhaps with its unit; the unit may be the next word.
    fn span(&mut self, number: &str, of: &str) -> Result<Span, String> {
        let number = number.trim();
        let is_bare = number.ends_with(|c: char| c.is_ascii_digit());
        let unit = if is_bare { self.next().unwrap_or_default() } else { "" };
        format!("{number} {unit}").parse().map_err(|error| format!("{of}: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<ScriptEvent, String> {
        ScriptLine::read(text).map(|line| line.expect("the line holds an event").event)
    }

    #[test]
    fn a_line_is_a_time_an_event_and_its_values() {
        let ack = ScriptEvent::Ack { amount: 3, marked: 1, rtt: Span::from_ms(40) };
        assert_eq!(read("0.1 s ack 3 rtt 40ms marked 1  # a comment"), Ok(ack));
        let line = ScriptLine::read("100 ms  sent   10").expect("it is well formed").expect("it is an event");
        assert_eq!((line.at, &*line.text), (Time::ZERO + Span::from_ms(100), "sent 10"));
        assert_eq!(ScriptLine::read("  # nothing"), Ok(None));
    }

    #[test]
    fn an_error_says_what_was_wanted() {
        let error = |text: &str| read(text).expect_err("it is not well formed");
        assert_eq!(error("1 ms snet 3"), "unknown event \"snet\"; did you mean \"sent\"?");
        assert_eq!(error("1 ms sent"), "`sent` needs a whole number above zero, not \"\"");
        assert_eq!(error("1 ms ack 1"), "an ack needs its sample above zero, as in `rtt 40 ms`");
        assert_eq!(error("1 ms ack 1 rtt 4 ms marked 2"), "2 of 1 cannot be marked");
        assert_eq!(error("1 ms timeout 3"), "\"3\" does not belong to this event");
    }
}
