//! Traces of capacity: a file beside the scenario, as rates over time or as opportunities to
//! deliver [MAHIMAHI].

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fairhaul_path::Rates;
use fairhaul_units::{Rate, Span};

use super::fields::RateUnit;
use super::mistake::clip;
use super::quantities::{FASTEST_BPS, LONGEST_RUN};
use super::trace_columns::{TraceColumns, quantity};
use super::vector_file;
use crate::Vectors;

/// A long day in milliseconds fits; beyond it a file is probably no trace.
const MOST_LINES: usize = 2_000_000;
const MOST_BYTES: u64 = 100_000_000;
/// What one opportunity delivers at most, and what a second of one in each millisecond does.
const OPPORTUNITY_BPS: u64 = 1504 * 8 * 1000;

/// A trace that was read.
#[derive(Clone, Debug)]
pub(super) struct CapacityTrace {
    pub(super) rates: Arc<Rates>,
    /// Over its own length.
    pub(super) mean: Rate,
    /// Its delays and losses, where it has any.
    pub(super) columns: TraceColumns,
    /// After which it begins again.
    pub(super) period: Option<Span>,
}

/// The name of a file, whether it repeats, and its unit.
type TraceKey = (String, bool, Option<RateUnit>);

/// The traces and connection vectors of a scenario, each file read once for all runs of a sweep.
pub(super) struct Traces {
    folder: PathBuf,
    read: RefCell<BTreeMap<TraceKey, Result<CapacityTrace, String>>>,
    vectors: RefCell<BTreeMap<String, Result<Arc<Vectors>, String>>>,
}

impl Traces {
    /// Those beside `scenario`.
    pub(super) fn beside(scenario: &Path) -> Traces {
        let folder = scenario.parent().unwrap_or(Path::new("")).to_owned();
        Traces { folder, read: RefCell::default(), vectors: RefCell::default() }
    }

    /// The trace in the file of that name; else a phrase that says where in the file what is wrong.
    pub(super) fn open(
        &self,
        name: &str,
        repeat: bool,
        unit: Option<RateUnit>,
    ) -> Result<CapacityTrace, String> {
        let load = || {
            let text = text(&self.folder.join(name)).map_err(|why| format!("{name}: {why}"))?;
            let with_place = |(line, why)| format!("{name}:{line}: {why}");
            TraceSteps::parse(&text, unit)
                .map_err(with_place)?
                .trace(repeat)
                .map_err(|why| format!("{name}: {why}"))
        };
        self.read.borrow_mut().entry((name.to_owned(), repeat, unit)).or_insert_with(load).clone()
    }

    /// The connection vectors in the file of that name; else the same.
    pub(super) fn vectors(&self, name: &str) -> Result<Arc<Vectors>, String> {
        let load = || {
            let text = text(&self.folder.join(name)).map_err(|why| format!("{name}: {why}"))?;
            vector_file::parse(&text).map(Arc::new).map_err(|(line, why)| format!("{name}:{line}: {why}"))
        };
        self.vectors.borrow_mut().entry(name.to_owned()).or_insert_with(load).clone()
    }
}

/// Reads the text of a trace as a link with `rate = { trace = … }` would.
///
/// # Errors
/// What is wrong, with the number of its line where it is in one.
pub fn check(text: &str, repeat: bool) -> Result<(), String> {
    let steps = TraceSteps::parse(text, None).map_err(|(line, why)| format!("{line}: {why}"))?;
    steps.trace(repeat).map(drop)
}

fn text(path: &Path) -> Result<String, String> {
    let message = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => "file not found".to_owned(),
        io::ErrorKind::InvalidData => "the file is not UTF-8 text".to_owned(),
        _ => error.to_string().to_lowercase(),
    };
    // A pipe or a device might never end.
    if !path.metadata().map_err(message)?.is_file() {
        return Err("not a regular file".into());
    }
    let mut text = String::new();
    File::open(path).map_err(message)?.take(MOST_BYTES + 1).read_to_string(&mut text).map_err(message)?;
    let fits = text.len() as u64 <= MOST_BYTES && text.lines().count() <= MOST_LINES;
    if fits { Ok(text) } else { Err(format!("the file is too long; at most {MOST_LINES} lines")) }
}

/// A trace as it stands in its file.
#[derive(Debug)]
struct TraceSteps {
    /// From when on which rate, none in an outage; from zero on.
    rates: Vec<(Span, Option<Rate>)>,
    /// How long the whole is.
    length: Span,
    /// What holds after it, where it does not repeat: the last rate, or nothing.
    lasts: bool,
    columns: TraceColumns,
}

/// The number of a line, and what is wrong there.
type Wrong = (usize, String);

impl TraceSteps {
    /// Lines that are empty or begin with `#` say nothing.
    fn parse(text: &str, unit: Option<RateUnit>) -> Result<TraceSteps, Wrong> {
        let lines =
            || (1..).zip(text.lines().map(str::trim)).filter(|l| !l.1.is_empty() && !l.1.starts_with('#'));
        if let Some((number, Some(why))) = lines().next().map(|(n, first)| (n, other_separator(first))) {
            return Err((number, why));
        }
        match lines().next() {
            None => Err((1, "the trace is empty".into())),
            Some((number, first)) if first.contains(',') => {
                let named = first.starts_with(|c: char| c.is_alphabetic() || c == '"');
                let header = if named { first } else { "" };
                let columns = TraceColumns::named(header).map_err(|why| (number, why))?;
                over_time(lines().skip(named.into()), columns, unit)
            }
            Some((number, _)) if unit.is_some() => {
                let text = "\"unit\" is for lines of seconds and rates; this is a trace of milliseconds";
                Err((number, text.into()))
            }
            Some(_) => opportunities(lines()),
        }
    }

    fn trace(mut self, repeat: bool) -> Result<CapacityTrace, String> {
        let lap = Rates::new(&self.rates, Some(self.length));
        let mean =
            lap.mean().ok_or("the trace never sends anything; wanted a mean rate of at least 1 bit/s")?;
        let rates = if repeat {
            lap
        } else {
            if !self.lasts {
                self.rates.push((self.length, None));
            }
            Rates::new(&self.rates, None)
        };
        let TraceSteps { columns, length, .. } = self;
        Ok(CapacityTrace { rates: Arc::new(rates), mean, columns, period: repeat.then_some(length) })
    }
}

/// What is wrong with a line whose values other characters than commas separate, as in files of programs that write
/// decimal commas. A header with commas may have any names.
fn other_separator(line: &str) -> Option<String> {
    if line.contains(',') && !line.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let separates = |c: char| line.split(',').any(|value| value.trim().contains(c));
    let [name, from] =
        [(';', ["semicolons", ",;"]), ('\t', ["tabs", ",\\t"])].into_iter().find(|of| separates(of.0))?.1;
    Some(format!("{name} separate the values; wanted commas: tr '{from}' '.,' < OLD > NEW converts the file"))
}

/// The least rate that some line of a trace has, unless its unit is given: below it, the rates are not in bit/s.
const LEAST_BPS: f64 = 1000.0;

/// Lines of seconds, a rate, and what `columns` name. The last rate holds as long as the one before it.
fn over_time<'a>(
    lines: impl Iterator<Item = (usize, &'a str)>,
    mut columns: TraceColumns,
    unit: Option<RateUnit>,
) -> Result<TraceSteps, Wrong> {
    let mut rates: Vec<(Span, Option<Rate>)> = Vec::new();
    let bps_of_unit = unit.unwrap_or(RateUnit::Bit).as_bps();
    let mut largest = (1, 0.0);
    for (number, line) in lines {
        let wrong = |why: String| Err((number, why));
        let values: Vec<&str> = line.split(',').map(str::trim).collect();
        let [at, rate, others @ ..] = &values[..] else {
            return wrong(format!("wanted \"seconds,rate\", not \"{}\"", clip(line)));
        };
        let Some(at) = quantity(at, LONGEST_RUN.as_secs()).map(Span::from_secs) else {
            return wrong(format!("\"{}\" is not a time in seconds, at most 100 days", clip(at)));
        };
        let Some(bps) = quantity(rate, FASTEST_BPS as f64 / bps_of_unit).map(|rate| rate * bps_of_unit)
        else {
            return wrong(format!("\"{}\" is not a rate, at most 1000 Tbit/s", clip(rate)));
        };
        if bps > largest.1 {
            largest = (number, bps);
        }
        match rates.last() {
            None if !at.is_zero() => return wrong(format!("the first time must be 0, not {at}")),
            Some(last) if last.0 >= at => {
                return wrong(format!("{at} is not later than the previous time"));
            }
            _ => rates.push((at, Rate::from_bps((bps + 0.5) as u64))),
        }
        columns.read_line(at, others).map_err(|why| (number, why))?;
    }
    if unit.is_none() {
        plausible(largest)?;
    }
    let length = match rates[..] {
        [] => return Err((1, "no line gives a rate".into())),
        [_] => Span::from_s(1), // the same rate for ever
        [.., (before, _), (last, _)] => last + (last - before),
    };
    Ok(TraceSteps { rates, length, lasts: true, columns })
}

/// Refuses a trace whose largest rate, in that line, is too small for bits per second.
fn plausible((number, bps): (usize, f64)) -> Result<(), Wrong> {
    if !(0.5..LEAST_BPS).contains(&bps) {
        return Ok(());
    }
    let text = format!(
        "the largest rate is {bps} bit/s, less than 1 kbit/s; the rates are probably in another unit: set unit = \
         \"Mbit/s\", or unit = \"bit/s\" if they are right"
    );
    Err((number, text))
}

/// Lines of one whole number of milliseconds: by then 1504 bytes more can have been delivered.
// Differs from [MAHIMAHI]: the bytes of a delivery opportunity are spread over the millisecond before it, and
// bytes that a packet does not use are not wasted. The capacity up to each millisecond is the same.
fn opportunities<'a>(lines: impl Iterator<Item = (usize, &'a str)>) -> Result<TraceSteps, Wrong> {
    let mut rates: Vec<(Span, Option<Rate>)> = vec![(Span::ZERO, None)];
    let (mut last, mut count, mut delivers) = (0, 0, false);
    let mut close = |ms: u64, count: u64, next: u64| {
        let mut from = |ms, rate| match rates.last_mut() {
            Some(step) if step.0 == Span::from_ms(ms) => step.1 = rate,
            Some(step) if step.1 == rate => {}
            _ => rates.push((Span::from_ms(ms), rate)),
        };
        from(ms - 1, Rate::from_bps(count * OPPORTUNITY_BPS));
        if next > ms + 1 {
            from(ms, None);
        }
    };
    for (number, line) in lines {
        let fits = |ms: &u64| *ms <= LONGEST_RUN / Span::from_ms(1);
        let Some(ms) = line.parse().ok().filter(fits) else {
            let text =
                format!("wanted a whole number of milliseconds, at most 100 days, not \"{}\"", clip(line));
            return Err((number, text));
        };
        delivers |= ms > 0;
        let ms = ms.max(1); // what can be delivered at once is so within the first
        if ms < last {
            return Err((number, format!("{ms} ms is before the {last} ms of the previous line")));
        }
        if ms > last && last > 0 {
            close(last, count, ms);
            count = 0;
        }
        (last, count) = (ms, count + 1);
    }
    if !delivers {
        return Err((1, "every delivery is at 0 ms, so the trace lasts no time and never delivers".into()));
    }
    close(last, count, last);
    let length = Span::from_ms(last);
    Ok(TraceSteps { rates, length, lasts: false, columns: TraceColumns::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(text: &str) -> Vec<(u64, u64)> {
        let ms = |span: Span| span.as_ps() / 1_000_000_000;
        let steps = TraceSteps::parse(text, None).expect("it is a trace");
        let bps = |rate: Option<Rate>| rate.map_or(0, Rate::as_bps);
        steps.rates.iter().map(|step| (ms(step.0), bps(step.1))).chain([(ms(steps.length), 0)]).collect()
    }

    #[test]
    fn rates_over_time_read_with_and_without_a_header() {
        let wanted = [(0, 8_000_000), (500, 0), (2000, 1_500_000), (3500, 0)]; // 2 s + the 1.5 s before
        assert_eq!(steps("time,rate\n0,8e6\n0.5, 0\n\n# a comment\n2,1500000\n"), wanted);
        assert_eq!(steps("0,8000000\n0.5,0\n2,1500000.4"), wanted);
    }

    #[test]
    fn opportunities_are_1504_bytes_in_the_millisecond_before_them() {
        // 12.032 Mbit/s for each in a millisecond; two at 3 ms.
        let packet_per_ms = 12_032_000;
        assert_eq!(
            steps("1\n2\n3\n3\n6"),
            [(0, packet_per_ms), (2, 2 * packet_per_ms), (3, 0), (5, packet_per_ms), (6, 0)]
        );
        assert_eq!(steps("0\n5\n5"), [(0, packet_per_ms), (1, 0), (4, 2 * packet_per_ms), (5, 0)]);
        assert_eq!(steps("4"), [(0, 0), (3, packet_per_ms), (4, 0)]);
    }

    #[test]
    fn the_mean_is_taken_over_the_length_of_the_trace() {
        let mean = |text: &str| TraceSteps::parse(text, None).unwrap().trace(true).unwrap().mean.as_bps();
        assert_eq!(mean("0,8e6\n1,4e6"), 6_000_000);
        assert_eq!(mean("1\n4"), 6_016_000); // 2 x 12 032 bit in 4 ms
        assert!(TraceSteps::parse("0,0\n1,0", None).unwrap().trace(true).is_err());
    }

    #[test]
    fn what_does_not_repeat_keeps_its_last_rate_or_delivers_no_more() {
        let rates = |text: &str| TraceSteps::parse(text, None).unwrap().trace(false).unwrap().rates;
        assert_eq!(rates("0,8e6\n1,4e6").steps().last(), Some((Span::from_s(1), 4_000_000)));
        assert_eq!(rates("1\n4").steps().last(), Some((Span::from_ms(4), 0)));
        assert_eq!(rates("1\n4").lap(), None);
    }

    #[test]
    fn what_is_no_trace_is_told_with_its_line() {
        let mistake = |text: &str| TraceSteps::parse(text, None).expect_err("it is no trace");
        assert_eq!(mistake(""), (1, "the trace is empty".into()));
        assert_eq!(mistake("t,r\n").1, "no line gives a rate");
        assert_eq!(mistake("t,r\n1,5e6\n"), (2, "the first time must be 0, not 1 s".into()));
        assert_eq!(mistake("0,5\n1\n"), (2, "wanted \"seconds,rate\", not \"1\"".into()));
        assert_eq!(mistake("0,5\n1,fast\n").1, "\"fast\" is not a rate, at most 1000 Tbit/s");
        assert_eq!(mistake("0,5\n2,1\n2,1\n"), (3, "2 s is not later than the previous time".into()));
        assert!(mistake("0,5\nnan,1\n").1.contains("\"nan\" is not a time"));
        assert!(mistake("0,-5\n").1.contains("\"-5\" is not a rate"));
        assert_eq!(
            mistake("time;rate\n0;5,5\n").1,
            "semicolons separate the values; wanted commas: tr ',;' '.,' < OLD > NEW converts the file"
        );
        assert!(mistake("0\t5\n1\t6\n").1.contains("tr ',\\t' '.,'"));
        assert!(mistake("0,5;6\n").1.starts_with("semicolons"));
        assert!(TraceSteps::parse("time,\"rate; bit/s\"\n0,8e6\n", None).is_ok());
        assert_eq!(mistake("5\n3\n"), (2, "3 ms is before the 5 ms of the previous line".into()));
        assert!(mistake("1\n2.5\n").1.contains("not \"2.5\""));
    }

    #[test]
    fn rates_have_the_unit_that_is_given_and_without_one_a_trace_of_less_than_1_kbit_per_s_is_refused() {
        let mean = |text: &str, unit| {
            TraceSteps::parse(text, Some(unit)).unwrap().trace(true).unwrap().mean.as_bps()
        };
        assert_eq!(mean("0,2.5\n1,1.5\n", RateUnit::Megabit), 2_000_000);
        assert_eq!(mean("0,2\n", RateUnit::Gigabit), 2_000_000_000);
        assert_eq!(mean("0,500\n", RateUnit::Bit), 500);
        let (line, why) = TraceSteps::parse("t,r\n0,1.5\n1,2.4\n2,0.3\n", None).expect_err("it is in Mbit/s");
        assert!(line == 3 && why.contains("2.4 bit/s") && why.contains("unit = \"Mbit/s\""), "{why}");
        assert!(TraceSteps::parse("1\n2\n", Some(RateUnit::Megabit)).is_err());
    }

    #[test]
    fn columns_of_delay_and_loss_have_the_steps_at_which_they_change() {
        let text = "time,rate,loss,delay_ms\n0,8e6,0,20\n15,4e6,0.01,20\n30,8e6,0.01,35.5\n";
        let trace = TraceSteps::parse(text, None).unwrap().trace(true).unwrap();
        assert_eq!(trace.columns.losses, [(Span::ZERO, 0.0), (Span::from_s(15), 0.01)]);
        assert_eq!(
            trace.columns.delays,
            [(Span::ZERO, Span::from_ms(20)), (Span::from_s(30), Span::from_us(35_500))]
        );
        assert_eq!(trace.period, Some(Span::from_s(45)));
        let mistake = |text: &str| TraceSteps::parse(text, None).expect_err("it is no trace");
        assert!(mistake("time,rate,dleay\n0,8e6,1\n").1.contains("unknown column \"dleay\""));
        assert!(mistake("time,rate,loss,loss\n").1.contains("two columns"));
        assert!(mistake("0,8e6,20\n").1.contains("wanted 2 values, not 3"));
        assert!(mistake("time,rate,loss\n0,8e6,1.5\n").1.contains("not a loss probability"));
    }

    #[test]
    fn a_trace_whose_deliveries_are_all_at_zero_never_delivers() {
        let (line, why) = TraceSteps::parse("0\n0\n0\n", None).expect_err("it lasts no time");
        assert!(line == 1 && why.contains("never delivers"), "{why}");
    }
}
