//! `fairhaul-fuzz run` draws and checks scenarios for a time, and reduces and stores each that fails;
//! `fairhaul-fuzz draw` prints them; `fairhaul-fuzz judge` checks one, from its input.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fairhaul_fuzz::check::Verdict;
use fairhaul_fuzz::doc::Keys;
use fairhaul_fuzz::judge::{FigureProcess, Judge, serve};
use fairhaul_fuzz::violation::Violation;
use fairhaul_fuzz::{damage, draw, shrink};
use fairhaul_units::{Chance, Span};

const USAGE: &str = "usage: fairhaul-fuzz run --kept DIR [--time 10m] [--seed N] [--figures COMMAND]
       fairhaul-fuzz draw --kept DIR --seed N --count N --out DIR
       fairhaul-fuzz shrink --kept DIR --file FILE [--figures COMMAND]
       fairhaul-fuzz judge DIR";
/// One case in this number is damaged.
const DAMAGED: u64 = 4;
/// The number of failures of one kind that a run stores; more would show the same.
const MOST_OF_A_KIND: usize = 5;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.split_first().map(|(verb, rest)| (verb.as_str(), rest)) {
        Some(("judge", [beside])) => serve(Path::new(beside)).map_err(|error| error.to_string()),
        Some(("run", rest)) => Options::read(rest).and_then(|options| run(&options)),
        Some(("draw", rest)) => Options::read(rest).and_then(|options| print(&options)),
        Some(("shrink", rest)) => Options::read(rest).and_then(|options| shrink_file(&options)),
        _ => Err(USAGE.into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            eprintln!("{text}");
            ExitCode::from(if text.starts_with("usage") { 2 } else { 1 })
        }
    }
}

/// The options of a command.
#[derive(Default)]
struct Options {
    kept: PathBuf,
    time: Duration,
    seed: u64,
    count: u64,
    out: PathBuf,
    file: PathBuf,
    figures: Option<String>,
}

impl Options {
    fn read(arguments: &[String]) -> Result<Options, String> {
        let mut options =
            Options { time: Duration::from_secs(600), seed: 1, count: 10, ..Options::default() };
        for pair in arguments.chunks(2) {
            let [key, value] = pair else { return Err(USAGE.into()) };
            let number = || value.parse().map_err(|_| format!("{key}: \"{value}\" is not a whole number"));
            match key.as_str() {
                "--kept" => options.kept = value.into(),
                "--time" => options.time = time(value)?,
                "--seed" => options.seed = number()?,
                "--count" => options.count = number()?,
                "--out" => options.out = value.into(),
                "--file" => options.file = value.into(),
                "--figures" => options.figures = Some(value.clone()),
                _ => return Err(USAGE.into()),
            }
        }
        Ok(options)
    }

    fn judge(&self) -> Result<Judge, String> {
        let figures = self.figures.as_deref().map(FigureProcess::start).transpose();
        let figures = figures.map_err(|error| format!("--figures: {error}"))?;
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        Ok(Judge { program, beside: self.kept.clone(), figures })
    }
}

/// A time as in scenarios, or as `10m`.
fn time(text: &str) -> Result<Duration, String> {
    let spelled = text.strip_suffix('m').filter(|rest| rest.ends_with(|c: char| c.is_ascii_digit()));
    let text = spelled.map_or(text.to_owned(), |rest| format!("{rest} min"));
    let span: Span = text.parse().map_err(|error| format!("--time: {error}"))?;
    Ok(Duration::from_secs_f64(span.as_secs()))
}

/// Writes scenarios to a folder.
fn print(options: &Options) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", options.out.display());
    std::fs::create_dir_all(&options.out).map_err(failed)?;
    for number in 0..options.count {
        let keys = draw::accepted(options.seed, number, &options.kept);
        std::fs::write(options.out.join(format!("{number}.toml")), keys.short()).map_err(failed)?;
    }
    Ok(())
}

/// Reduces a file that fails, and prints the result.
fn shrink_file(options: &Options) -> Result<(), String> {
    let text = std::fs::read_to_string(&options.file).map_err(|error| error.to_string())?;
    let judge = options.judge()?;
    let keys = Keys::parse(&text)?;
    match judge.judge(&keys.short()) {
        Verdict::Broken(violation) => {
            let (keys, violation) = shrink::shrink(&judge, &keys, violation);
            println!("# {violation}\n{}", keys.short());
            Ok(())
        }
        other => Err(format!("nothing fails: {other:?}")),
    }
}

/// The progress so far.
#[derive(Default)]
struct Tally {
    next: AtomicU64,
    fine: AtomicU64,
    refused: AtomicU64,
    unfinished: AtomicU64,
    /// The highest cost of a case as a share of its bound, thousandths.
    most_expensive: AtomicU64,
    failures: Mutex<Vec<Violation>>,
}

/// Draws and checks until the time is over.
fn run(options: &Options) -> Result<(), String> {
    let tally = Tally::default();
    let began = Instant::now();
    let workers = std::thread::available_parallelism().map_or(1, |count| count.get());
    let judges = (0..workers).map(|_| options.judge()).collect::<Result<Vec<_>, _>>()?;
    std::thread::scope(|scope| {
        for judge in &judges {
            let tally = &tally;
            scope.spawn(move || {
                while began.elapsed() < options.time {
                    case(options, judge, tally.next.fetch_add(1, Ordering::Relaxed), tally);
                }
            });
        }
        let mut minute = 0;
        while began.elapsed() < options.time {
            std::thread::sleep(Duration::from_millis(100));
            if began.elapsed().as_secs() / 60 > minute {
                minute = began.elapsed().as_secs() / 60;
                report(&tally, began);
            }
        }
    });
    report(&tally, began);
    let failures = tally.failures.into_inner().unwrap_or_default();
    if failures.is_empty() { Ok(()) } else { Err(format!("{} failures", failures.len())) }
}

fn report(tally: &Tally, began: Instant) {
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let (fine, refused, unfinished) = (count(&tally.fine), count(&tally.refused), count(&tally.unfinished));
    let failures = tally.failures.lock().map_or(0, |failures| failures.len());
    let all = fine + refused + unfinished + failures as u64;
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "{:.0} s: {all} cases, {:.1} per second: {fine} passed, {refused} refused, {unfinished} not \
         finished, {failures} failed; the most expensive took {:.2} of its bound",
        seconds,
        all as f64 / seconds,
        count(&tally.most_expensive) as f64 / 1000.0
    );
}

/// Draws and checks one case.
fn case(options: &Options, judge: &Judge, number: u64, tally: &Tally) {
    let keys = draw::accepted(options.seed, number, &options.kept);
    if number.is_multiple_of(DAMAGED) {
        let text = damage::damaged(&keys.long().0, &mut Chance::stream(options.seed, "damage", number));
        match judge.judge(&text) {
            Verdict::Broken(violation) => keep(options, number, &violation, &text, tally),
            verdict => count(&verdict, tally),
        }
        return;
    }
    match judge.judge(&keys.short()) {
        Verdict::Broken(violation) => {
            let known = tally.failures.lock().map_or(0, |all| {
                all.iter().filter(|failure| failure.invariant == violation.invariant).count()
            });
            let (keys, violation) = if known < MOST_OF_A_KIND {
                shrink::shrink(judge, &keys, violation)
            } else {
                (keys, violation)
            };
            keep(options, number, &violation, &keys.short(), tally);
        }
        verdict => count(&verdict, tally),
    }
}

fn count(verdict: &Verdict, tally: &Tally) {
    let counter = match verdict {
        Verdict::Refused => &tally.refused,
        Verdict::Unfinished => &tally.unfinished,
        Verdict::Fine(share) => {
            tally.most_expensive.fetch_max((share * 1000.0) as u64, Ordering::Relaxed);
            &tally.fine
        }
        Verdict::Broken(_) => return,
    };
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Writes a failure into the folder of stored ones.
fn keep(options: &Options, number: u64, violation: &Violation, text: &str, tally: &Tally) {
    let mut failures = tally.failures.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let known = failures.iter().filter(|failure| failure.invariant == violation.invariant).count();
    failures.push(violation.clone());
    println!("case {number} of seed {}: {violation}", options.seed);
    if known >= MOST_OF_A_KIND {
        return;
    }
    let name = format!("{}-{}-{number}.toml", violation.invariant.word(), options.seed);
    let path = options.kept.join(name);
    match std::fs::write(&path, format!("# {violation}\n{text}")) {
        Ok(()) => println!("  kept in {}", path.display()),
        Err(error) => println!("  not kept: {}: {error}\n{text}", path.display()),
    }
}
