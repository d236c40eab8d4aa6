//! Files of connection vectors in the original format of Tmix [TMIX].

use fairhaul_units::{Bytes, Span};

use super::mistake::clip;
use super::quantities::LONGEST_RUN;
use crate::{Side, Unit, Vector, Vectors};

/// A unit is smaller than what a run delivers.
const MOST_BYTES: u64 = 1_000_000_000_000_000;

/// What the first line of a file in the other format of Tmix is refused with.
const ALTERNATE: &str = "this is the alternate format of Tmix; \"Connection vectors\" in docs/scenario.md has a command \
                         that converts it to the original format";

/// The number of a line, and what is wrong there.
type Wrong = (usize, String);

/// Reads the text of a file. A connection begins with `SEQ` or `CONC` and its start in microseconds. The lines of a
/// sequential one are sizes, `> 245` of the initiator and `< 1213` of the acceptor, and times `t 534` between them;
/// those of a concurrent one `c> 245` and `c< 1213`, with times `t> 534` and `t< 534` of either side. Windows,
/// round-trip times, loss and segment sizes (`w`, `r`, `l`, `m`) are those of the scenario and are skipped.
pub(super) fn parse(text: &str) -> Result<Vectors, Wrong> {
    let mut vectors: Vec<Open> = Vec::new();
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        let wrong = |why: String| (number, why);
        let mut words = line.split_whitespace();
        let Some(word) = words.next().filter(|word| !word.starts_with('#')) else { continue };
        let given = words.next().unwrap_or("");
        match (word, vectors.last_mut()) {
            ("SEQ" | "CONC", _) => {
                let start = microseconds(given).map_err(wrong)?;
                vectors.push(Open::new(start, word == "SEQ"));
            }
            ("w" | "r" | "l" | "m", Some(_)) => {}
            ("S" | "C", None) => return Err(wrong(ALTERNATE.into())),
            (_, None) => {
                let text = format!("wanted \"SEQ\" or \"CONC\" and a start first, not \"{}\"", clip(line));
                return Err(wrong(text));
            }
            (_, Some(open)) => open.line(word, given).map_err(wrong)?,
        }
    }
    if vectors.is_empty() {
        return Err((1, "the file has no connection".into()));
    }
    Ok(Vectors(vectors.into_iter().map(|open| open.vector).collect()))
}

/// A connection whose lines are being read.
struct Open {
    vector: Vector,
    /// The time since the last unit or, by side, since the start.
    since: [Span; 2],
}

impl Open {
    fn new(start: Span, is_sequential: bool) -> Open {
        Open { vector: Vector { start, is_sequential, units: Vec::new() }, since: [Span::ZERO; 2] }
    }

    fn line(&mut self, word: &str, given: &str) -> Result<(), String> {
        match (self.vector.is_sequential, word) {
            (true, "t") => self.since[0] += microseconds(given)?,
            (true, ">") => self.unit(Side::Initiator, given, 0)?,
            (true, "<") => self.unit(Side::Acceptor, given, 0)?,
            (false, "t>") => self.since[0] += microseconds(given)?,
            (false, "t<") => self.since[1] += microseconds(given)?,
            (false, "c>") => self.unit(Side::Initiator, given, 0)?,
            (false, "c<") => self.unit(Side::Acceptor, given, 1)?,
            (true, _) => return Err(format!("\"{}\" is not \">\", \"<\" or \"t\" of \"SEQ\"", clip(word))),
            (false, _) => {
                let text = format!("\"{}\" is not \"c>\", \"c<\", \"t>\" or \"t<\" of \"CONC\"", clip(word));
                return Err(text);
            }
        }
        Ok(())
    }

    /// A size of zero, which is the end of what a side writes, is no unit.
    fn unit(&mut self, side: Side, given: &str, clock: usize) -> Result<(), String> {
        let size = given.parse().ok().filter(|size| *size <= MOST_BYTES);
        let size: u64 = size.ok_or_else(|| format!("\"{}\" is not a size in bytes", clip(given)))?;
        if size == 0 {
            return Ok(());
        }
        let pause = self.since[clock];
        if self.vector.is_sequential {
            self.since[clock] = Span::ZERO;
        }
        self.vector.units.push(Unit { side, pause, size: Bytes(size) });
        Ok(())
    }
}

fn microseconds(given: &str) -> Result<Span, String> {
    let us = given.parse().ok().filter(|us| *us <= LONGEST_RUN / Span::from_us(1));
    us.map(Span::from_us)
        .ok_or_else(|| format!("\"{}\" is not a time in microseconds, at most 100 days", clip(given)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(side: Side, pause_us: u64, size: u64) -> Unit {
        Unit { side, pause: Span::from_us(pause_us), size: Bytes(size) }
    }

    #[test]
    fn a_conversation_has_pauses_and_a_concurrent_connection_times_since_its_start() {
        let text = "# made by hand\nSEQ 6851 2 21217 555382\nw 64800 6432\nr 1176194\nl 0.0 0.0\nm 1460 536\n\
                    > 826\nt 534\n< 1213\nt 872\n> 0\nt 1\n> 5\n\
                    CONC 1429381 2 2 26876 793318\nc> 222\nt> 700\nc< 726\nc> 10\nt< 300\nt< 4\nc< 7\n";
        let (first, second) = (
            vec![
                unit(Side::Initiator, 0, 826),
                unit(Side::Acceptor, 534, 1213),
                unit(Side::Initiator, 873, 5),
            ],
            vec![
                unit(Side::Initiator, 0, 222),
                unit(Side::Acceptor, 0, 726),
                unit(Side::Initiator, 700, 10),
                unit(Side::Acceptor, 304, 7),
            ],
        );
        let vectors = parse(text).unwrap();
        assert_eq!(
            vectors.0,
            [
                Vector { start: Span::from_us(6851), is_sequential: true, units: first },
                Vector { start: Span::from_us(1_429_381), is_sequential: false, units: second },
            ]
        );
        let other = parse(&text.replace("< 1213", "< 1214")).unwrap();
        assert_ne!(vectors.digest(), other.digest());
        assert_eq!((vectors.payload(Side::Initiator), vectors.count(Side::Acceptor)), (1063, 3));
    }

    #[test]
    fn each_mistake_names_its_line() {
        let first = |text: &str| parse(text).unwrap_err();
        assert_eq!(first("\n> 5").0, 2);
        assert_eq!(first("SEQ x").1, "\"x\" is not a time in microseconds, at most 100 days");
        assert_eq!(first("SEQ 1\n> -3"), (2, "\"-3\" is not a size in bytes".into()));
        assert_eq!(first("SEQ 1\nc> 3"), (2, "\"c>\" is not \">\", \"<\" or \"t\" of \"SEQ\"".into()));
        assert_eq!(first("CONC 1\nt 3").0, 2);
        assert_eq!(first("# a comment\nS 6851 1 1 21217 555382\n"), (2, ALTERNATE.into()));
        assert_eq!(first("# nothing"), (1, "the file has no connection".into()));
    }

    #[test]
    fn a_run_sees_the_connections_that_open_before_its_end() {
        use fairhaul_units::Time;
        let text = "SEQ 0\n> 1\nt 9\n< 2\nSEQ 1000000\n> 3\nCONC 0\nt> 400000\nc> 4\nt> 700000\nc> 5\n";
        let vectors = parse(text).unwrap();
        let end = Time::ZERO + Span::from_s(1);
        let sizes = |start| -> Vec<u64> {
            vectors.placed(Time::ZERO + start, end).map(|placed| placed.unit.size.0).collect()
        };
        assert_eq!(sizes(Span::ZERO), [1, 2, 4]);
        assert_eq!(sizes(Span::from_ms(700)), [1, 2]);
    }
}
