//! The horizon of a host's queue discipline `fq`: how far ahead a packet may be due [LINUX, sch_fq].

use fairhaul_units::Span;

/// The name of the queue discipline that paces.
const FQ: &str = "fq";

/// How far ahead of the present a packet may be due, and what happens beyond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FqHorizon {
    /// The longest time until it is due.
    pub length: Span,
    /// Whether a packet beyond leaves after that time (`horizon_cap`); otherwise it is dropped (`horizon_drop`).
    pub caps: bool,
}

impl Default for FqHorizon {
    /// Ten seconds, and what is due later is dropped.
    fn default() -> FqHorizon {
        FqHorizon { length: Span::from_s(10), caps: false }
    }
}

impl FqHorizon {
    /// Whether a queue discipline, in the words of `tc`, is `fq`.
    pub fn is_fq(qdisc: &str) -> bool {
        qdisc.split_whitespace().next() == Some(FQ)
    }

    /// The horizon in the words of `tc`, as `fq horizon 2s horizon_cap`; `None`: it is not `fq`, or has an option that says
    /// something else.
    pub fn of(qdisc: &str) -> Option<FqHorizon> {
        let mut words = qdisc.split_whitespace();
        let mut horizon = FqHorizon::default();
        if words.next() != Some(FQ) {
            return None;
        }
        while let Some(word) = words.next() {
            match word {
                "horizon" => horizon.length = time(words.next()?)?,
                "horizon_cap" => horizon.caps = true,
                "horizon_drop" => horizon.caps = false,
                _ => return None,
            }
        }
        Some(horizon)
    }
}

/// A time in the words of `tc`: a number and its unit; without one it is in microseconds.
fn time(word: &str) -> Option<Span> {
    let end = word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len());
    let (number, unit) = word.split_at(end);
    let second = match unit {
        "s" | "sec" | "secs" => 1.0,
        "ms" | "msec" | "msecs" => 1e-3,
        "us" | "usec" | "usecs" | "" => 1e-6,
        _ => return None,
    };
    let length = number.parse::<f64>().ok()? * second;
    // The kernel keeps microseconds in 32 bits.
    (length <= f64::from(u32::MAX) * 1e-6).then(|| Span::from_secs(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_horizon_is_read_as_tc_takes_it() {
        let of = |text| FqHorizon::of(text).map(|found| (found.length, found.caps));
        assert_eq!(of("fq"), Some((Span::from_s(10), false)));
        assert_eq!(of("fq horizon 2s horizon_cap"), Some((Span::from_s(2), true)));
        assert_eq!(of("fq horizon_cap horizon 250ms horizon_drop"), Some((Span::from_ms(250), false)));
        assert_eq!(of("fq horizon 500"), Some((Span::from_us(500), false)));
        for text in ["fq_codel", "fq maxrate 1mbit", "fq horizon", "fq horizon 2h", "fq horizon 5000s", ""] {
            assert_eq!(of(text), None, "{text}");
        }
        assert!(FqHorizon::is_fq("fq maxrate 1mbit") && !FqHorizon::is_fq("fq_codel"));
    }
}
