//! Turns a panic into an error: nothing is printed, and its place is added to its message.

use std::cell::{Cell, RefCell};
use std::panic;
use std::sync::Once;

use fairhaul_sim::{Control, RunError, guarded};

thread_local! {
    static WATCHED: Cell<bool> = const { Cell::new(false) };
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Calls `work`, a part of the run of `control`; a panic becomes [`RunError::Broken`].
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

/// Records where a watched thread panics; panics of other threads are printed as usual.
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
