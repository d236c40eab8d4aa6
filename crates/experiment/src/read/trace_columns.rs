//! The columns of a trace after those of time and rate, which its header names: delays and losses over time.

use fairhaul_units::Span;

use super::mistake::clip;

/// A one-way delay is at most that of the key `delay`.
const LONGEST_DELAY_MS: f64 = 36_000_000.0;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct TraceColumns {
    names: Vec<Column>,
    /// From when on another delay holds.
    pub(super) delays: Vec<(Span, Span)>,
    /// From when on packets are lost with another probability.
    pub(super) losses: Vec<(Span, f64)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Column {
    DelayMs,
    Loss,
}

impl TraceColumns {
    /// The columns that a header names; else what is wrong with it.
    pub(super) fn named(header: &str) -> Result<TraceColumns, String> {
        let mut names = Vec::new();
        for name in header.split(',').skip(2).map(|name| name.trim().trim_matches('"')) {
            let column = match name {
                "delay_ms" => Column::DelayMs,
                "loss" => Column::Loss,
                _ => {
                    let name = clip(name);
                    return Err(format!(
                        "unknown column \"{name}\"; after time and rate, \"delay_ms\" and \"loss\" are known"
                    ));
                }
            };
            if names.contains(&column) {
                return Err(format!("two columns \"{name}\""));
            }
            names.push(column);
        }
        Ok(TraceColumns { names, ..TraceColumns::default() })
    }

    /// Reads the values of a line that holds from `at` on; else what is wrong with them.
    pub(super) fn read_line(&mut self, at: Span, values: &[&str]) -> Result<(), String> {
        let (wanted, found) = (self.names.len() + 2, values.len() + 2);
        if wanted != found {
            return Err(format!(
                "wanted {wanted} values, not {found}; columns after time and rate need a header that names them"
            ));
        }
        for (column, text) in self.names.iter().zip(values) {
            match column {
                Column::DelayMs => {
                    let ms = quantity(text, LONGEST_DELAY_MS).ok_or_else(|| {
                        format!("\"{}\" is not a delay in milliseconds, at most 10 h", clip(text))
                    })?;
                    change(&mut self.delays, at, Span::from_secs(ms / 1000.0));
                }
                Column::Loss => {
                    let p = quantity(text, 1.0)
                        .ok_or_else(|| format!("\"{}\" is not a loss probability from 0 to 1", clip(text)))?;
                    change(&mut self.losses, at, p);
                }
            }
        }
        Ok(())
    }
}

/// A value holds from `at` on, where it is another one.
fn change<T: PartialEq>(steps: &mut Vec<(Span, T)>, at: Span, value: T) {
    if steps.last().is_none_or(|last| last.1 != value) {
        steps.push((at, value));
    }
}

/// A number from zero to `most`.
pub(super) fn quantity(text: &str, most: f64) -> Option<f64> {
    text.parse().ok().filter(|number| (0.0..=most).contains(number))
}
