//! A run that ends in a sentence, whatever happens inside it: a panic of the engine is caught, and
//! what it said is kept instead of being printed.

use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;

use fairhaul_experiment::{Record, Scenario};
use fairhaul_sim::{Control, RunError};

thread_local! {
    static WATCHED: Cell<bool> = const { Cell::new(false) };
    static SAID: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs `scenario`; a panic becomes [`RunError::Broken`] at the virtual time that it reached.
pub fn run(scenario: &Scenario, control: &Control) -> Result<Record, RunError> {
    listen();
    WATCHED.set(true);
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| fairhaul_sim::run(scenario, control)));
    WATCHED.set(false);
    outcome.unwrap_or_else(|_| Err(RunError::Broken { at: control.reached(), what: SAID.take() }))
}

/// Keeps what a watched thread says when it panics; all others speak as before.
fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if WATCHED.get() {
                SAID.replace(sentence(panic));
            } else {
                before(panic);
            }
        }));
    });
}

fn sentence(panic: &PanicHookInfo<'_>) -> String {
    let what = panic.payload_as_str().unwrap_or("an invariant broke");
    let what = what.replace('\n', " ");
    match panic.location() {
        Some(place) => format!("{what} ({}:{})", place.file(), place.line()),
        None => what,
    }
}
