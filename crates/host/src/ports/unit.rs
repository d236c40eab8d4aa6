//! The units of an eBPF port's parameters, which are whole numbers: a user writes `20/s`, the eBPF port stores
//! 20000 in units of 0.001/s.

use fairhaul_ports::PortParameter;

/// Units of time, in seconds.
const TIMES: [(&str, f64); 3] = [("s", 1.0), ("ms", 1e3), ("us", 1e6)];

/// The unit of an eBPF port's parameter: `0.001/s` has the scale 1000 and the name `/s`.
#[derive(Clone, Copy, Debug)]
pub struct Unit<'a> {
    /// The number of such units in one `name`.
    parts: f64,
    name: &'a str,
}

impl Unit<'_> {
    /// Reads the `unit` in the note of an eBPF port.
    pub fn of(unit: &str) -> Unit<'_> {
        let name_at = unit.find(|c: char| !"0123456789.-e".contains(c)).unwrap_or(unit.len());
        let (scale, name) = unit.split_at(name_at);
        // A scale is one divided by a whole number, so that values such as 0.375 are exact.
        let parts = scale.parse::<f64>().map_or(1.0, |scale| (1.0 / scale).round());
        Unit { parts, name: name.trim() }
    }

    /// Whether it is the unit of a time or a rate, for which a bare number is ambiguous.
    pub fn is_needed(self) -> bool {
        self.name == "/s" || self.in_seconds().is_some()
    }

    /// Whether a value is simply a whole number.
    pub fn is_plain(self) -> bool {
        self.parts == 1.0 && !self.is_needed()
    }

    fn in_seconds(self) -> Option<f64> {
        TIMES.iter().find(|(name, _)| *name == self.name).map(|(_, in_a_second)| *in_a_second)
    }

    /// The names that a value may have.
    pub fn names(self) -> Vec<&'static str> {
        match self.in_seconds() {
            Some(_) => TIMES.iter().map(|(name, _)| *name).collect(),
            None => vec!["/s"],
        }
    }

    /// Reads a text as a number of this unit.
    pub fn count(self, text: &str) -> Option<u32> {
        let text = text.trim();
        let (number, factor) = match self.in_seconds() {
            Some(own) => {
                let number_end =
                    text.find(|c: char| c.is_ascii_alphabetic() && c != 'e').unwrap_or(text.len());
                let (number, name) = text.split_at(number_end);
                let (_, other) = TIMES.iter().find(|(other, _)| *other == name)?;
                (number, own / other)
            }
            None => (text.strip_suffix(self.name).unwrap_or(text), 1.0),
        };
        let count = number.trim().parse::<f64>().ok()? * self.parts * factor;
        let whole = count.round();
        let near = (count - whole).abs() <= 1e-6 * whole.max(1.0);
        (near && (0.0..=f64::from(u32::MAX)).contains(&whole)).then_some(whole as u32)
    }

    /// Writes a number of this unit as a user would set it.
    pub fn written(self, count: u32) -> String {
        let name = if self.is_needed() { self.name } else { "" };
        format!("{}{name}", f64::from(count) / self.parts)
    }

    /// A hint for a user who has written a number in the eBPF port's own unit.
    pub fn nearest(self, text: &str, parameter: &PortParameter) -> Option<String> {
        let count: u32 = text.trim().parse().ok()?;
        let fits = self.parts != 1.0 && (parameter.least..=parameter.most).contains(&count);
        fits.then(|| self.written(count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(text: &str, unit: &str) -> Option<u32> {
        Unit::of(unit).count(text)
    }

    #[test]
    fn a_number_means_what_it_means_in_a_scenario() {
        assert_eq!(count("20/s", "0.001/s"), Some(20_000));
        assert_eq!(count("0.125", "1e-6"), Some(125_000));
        assert_eq!(count("1", "1e-6 packets"), Some(1_000_000));
        assert_eq!(count("0.01 packets", "1e-6 packets"), Some(10_000));
        assert_eq!(count("2", "0.01"), Some(200));
        assert_eq!(count("32", "packets"), Some(32));
        assert_eq!(count("100us", "us"), Some(100));
        assert_eq!(count("1e2 us", "us"), Some(100));
        assert_eq!(count("20 ms", "us"), Some(20_000));
        assert_eq!(count("1.5s", "ms"), Some(1500));
        assert_eq!(count("0.1us", "us"), None);
        assert_eq!(count("20/s", "us"), None);
        assert_eq!(count("0.0000001", "1e-6"), None);
        assert_eq!(count("-1", ""), None);
    }

    #[test]
    fn a_value_is_written_as_it_would_be_set() {
        for (unit, value, text) in [
            ("0.001/s", 20_000, "20/s"),
            ("1e-6", 375_000, "0.375"),
            ("us", 100, "100us"),
            ("packets", 32, "32"),
        ] {
            assert_eq!(Unit::of(unit).written(value), text);
            assert_eq!(count(text, unit), Some(value));
        }
    }
}
