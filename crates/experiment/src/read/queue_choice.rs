//! Resolves the queue of a link: its discipline, and its parameters with numbers for the automatic ones.

use fairhaul_path::queue::{QueueChoice, Site};
use fairhaul_units::Bytes;

use super::fields::QueueKeys;
use super::mistake::Notes;

/// The queue of a table at `site`; `None` where its parameters do not fit, which has been noted.
pub(super) fn queue(keys: &QueueKeys, site: &Site, largest: Bytes, notes: &mut Notes) -> Option<QueueChoice> {
    let refused = |refusal: fairhaul_path::queue::Refusal| {
        // If it is none of its parameters, it is the capacity.
        let key = keys.parameters.iter().find(|key| key.name == refusal.parameter);
        key.unwrap_or(&keys.limits.capacity.key).note(refusal.text, notes);
    };
    keys.choice.clone().resolved(site, largest).map_err(refused).ok()
}
