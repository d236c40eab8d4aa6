//! What must hold for every scenario holds for some that are drawn, for some that are damaged, and
//! for every file that once broke it.

use std::path::PathBuf;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use fairhaul_fuzz::check::Verdict;
use fairhaul_fuzz::judge::Judge;
use fairhaul_fuzz::{damage, draw};
use fairhaul_units::Chance;

/// So many cases are judged each time; `make fuzz` judges others, for as long as one likes.
const SEED: u64 = 20;
const CASES: u64 = 100;
const DAMAGED: u64 = 120;

/// The files that once broke an invariant, and the traces that scenarios name.
fn kept() -> PathBuf {
    let here = std::env::var("CARGO_MANIFEST_DIR").expect("run this with cargo test");
    PathBuf::from(here).join("kept")
}

fn judge() -> Judge {
    Judge { program: env!("CARGO_BIN_EXE_fairhaul-fuzz").into(), beside: kept(), figures: None }
}

/// Has as many judge as there are processors, each case once: what is broken, and how many were refused.
fn all(count: u64, text: impl Fn(u64) -> String + Sync) -> (Vec<String>, u64) {
    let (next, refused) = (AtomicU64::new(0), AtomicU64::new(0));
    let work = || {
        let mut broken = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return broken;
            }
            let text = text(number);
            match judge().judge(&text) {
                Verdict::Broken(violation) => broken.push(format!("case {number}: {violation}\n{text}")),
                Verdict::Refused => drop(refused.fetch_add(1, Ordering::Relaxed)),
                _ => {}
            }
        }
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let broken = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no judge panics")).collect()
    });
    (broken, refused.into_inner())
}

#[test]
fn what_must_hold_holds_for_drawn_scenarios() {
    let (broken, refused) = all(CASES, |number| draw::accepted(SEED, number, &kept()).short());
    assert!(broken.is_empty(), "{}", broken.join("\n\n"));
    assert_eq!(refused, 0, "both forms of a scenario are accepted");
}

#[test]
fn damaged_files_are_refused_with_a_line_or_run_like_others() {
    let text = |number| {
        let keys = draw::accepted(SEED + 1, number, &kept());
        damage::damaged(&keys.long().0, &mut Chance::stream(SEED, "damage", number))
    };
    let (broken, refused) = all(DAMAGED, text);
    assert!(broken.is_empty(), "{}", broken.join("\n\n"));
    assert!(refused > DAMAGED / 2, "only {refused} of {DAMAGED} are refused");
}

#[test]
fn what_once_broke_an_invariant_does_so_no_more() {
    let mut files: Vec<PathBuf> = std::fs::read_dir(kept())
        .expect("the folder is there")
        .map(|entry| entry.expect("it can be listed").path())
        .filter(|path| path.extension().is_some_and(|end| end == "toml"))
        .collect();
    files.sort();
    assert!(files.len() >= 15, "the files are in {}", kept().display());
    let read = |number: u64| std::fs::read_to_string(&files[number as usize]).expect("it can be read");
    let (broken, _) =
        all(files.len() as u64, |number| format!("# {}\n{}", files[number as usize].display(), read(number)));
    assert!(broken.is_empty(), "{}", broken.join("\n\n"));
}

/// Scenarios in both forms.
static DRAWN: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
    let keys = (0..600).map(|number| draw::accepted(SEED, number, &kept()));
    keys.map(|keys| (keys.short(), keys.long().0)).collect()
});

#[test]
fn drawing_meets_every_controller_queue_counter_and_traffic() {
    let named = |word: &str| DRAWN.iter().any(|(text, _)| text.contains(&format!("\"{word}\"")));
    let controllers = fairhaul_cc::entries().iter().map(|entry| entry.name);
    let others =
        [fairhaul_experiment::queues(), fairhaul_experiment::counters(), fairhaul_experiment::traffics()];
    let words = controllers.chain(others.iter().flatten().map(|word| word.name));
    // `sized` is a size alone as often as not, and plain traffic is what is left out.
    let missing: Vec<&str> = words.filter(|word| !named(word)).collect();
    assert!(missing.is_empty(), "{missing:?} are never drawn");
}

#[test]
fn drawing_meets_every_key() {
    use fairhaul_experiment::table::{Accepts, SCENARIO};
    // Expectations change nothing in a run, and runs of a sweep are scenarios like others; the check runs one at a time.
    let drawn = || SCENARIO.fields.iter().filter(|field| !["expect", "sweep"].contains(&field.name));
    let tables = drawn().filter_map(|field| match field.accepts {
        Accepts::Table(shape) | Accepts::Tables(shape) => Some(shape),
        _ => None,
    });
    let keys = tables.flat_map(|shape| shape.fields).chain(drawn());
    let named = |key: &str| {
        DRAWN.iter().any(|(_, text)| {
            text.lines()
                .any(|line| line.starts_with(&format!("{key} = ")) || line.contains(&format!("{key}]")))
        })
    };
    // A program without transport stacks refuses them, and the simulator runs no programs.
    let keys = keys.map(|field| field.name).filter(|key| !["stack", "program"].contains(key));
    let missing: Vec<&str> = keys.filter(|key| !named(key)).collect();
    assert!(missing.is_empty(), "{missing:?} are never drawn");
}
