//! The queue before a link: which it is, and its parameters with numbers for all that is automatic.

use fairhaul_path::queue::{QueueChoice, Site};
use fairhaul_units::Bytes;

use super::mistake::Notes;
use super::reader::Values;

/// The queue of a table at `site`; `None` where its parameters do not fit, which has been noted.
pub(super) fn queue(table: &Values, site: &Site, largest: Bytes, notes: &mut Notes) -> Option<QueueChoice> {
    let mut choice =
        QueueChoice::named(table.shape.name).expect("every word for a queue is in the catalogue");
    for parameter in choice.entry.parameters {
        if let Some(value) = table.number(parameter.name) {
            choice.settings.set(parameter.name, value);
        }
    }
    let refused = |refusal: fairhaul_path::queue::Refusal| {
        notes.note(table.origin(refusal.parameter), format!("{}: {}", refusal.parameter, refusal.text));
    };
    choice.resolved(site, largest).map_err(refused).ok()
}
