//! A run that ends in a sentence: where the engine panics, nothing is printed, and where it
//! happened is added to what it said.

use std::cell::{Cell, RefCell};
use std::panic;
use std::sync::Once;

use fairhaul_experiment::{Record, Scenario};
use fairhaul_sim::{Control, RunError};

thread_local! {
    static WATCHED: Cell<bool> = const { Cell::new(false) };
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs `scenario` and keeps this thread from printing a panic.
pub fn run(scenario: &Scenario, control: &Control) -> Result<Record, RunError> {
    listen();
    WATCHED.set(true);
    let outcome = fairhaul_sim::run(scenario, control);
    WATCHED.set(false);
    outcome.map_err(|error| match (error, PLACE.take()) {
        (RunError::Broken { at, what }, Some(place)) => {
            RunError::Broken { at, what: format!("{} ({place})", what.replace('\n', " ")) }
        }
        (error, _) => error,
    })
}

/// Takes note of where a watched thread panics; all others speak as before.
fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if WATCHED.get() {
                PLACE.set(panic.location().map(|place| format!("{}:{}", place.file(), place.line())));
            } else {
                before(panic);
            }
        }));
    });
}
