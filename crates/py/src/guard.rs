//! A run that ends in a sentence: where anything panics, nothing is printed, and where it happened
//! is added to what it said.

use std::cell::{Cell, RefCell};
use std::panic;
use std::sync::Once;

use fairhaul_sim::{Control, RunError, guarded};

thread_local! {
    static WATCHED: Cell<bool> = const { Cell::new(false) };
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Does `work`, part of the run behind `control`; a panic becomes [`RunError::Broken`].
pub fn watch<T>(control: &Control, work: impl FnOnce() -> Result<T, RunError>) -> Result<T, RunError> {
    listen();
    PLACE.set(None);
    WATCHED.set(true);
    let done = guarded(control, work);
    WATCHED.set(false);
    done.map_err(|error| match (error, PLACE.take()) {
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
