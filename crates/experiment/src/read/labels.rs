//! The hosts and classes of flows, for queues that share by them.

use std::sync::Arc;

use fairhaul_path::LinkSpec;
use fairhaul_path::queue::FlowLabel;

use super::fields::FlowKeys;
use super::mistake::Notes;
use crate::Flow;

/// The queue that reads them.
const READS: &str = "cake";

/// Gives every queue that reads them the labels of all flows.
pub(super) fn label(links: &mut [LinkSpec], flows: &[Flow]) {
    let is_given = flows.iter().any(|flow| flow.dscp != 0 || flow.between.iter().any(Option::is_some));
    let is_reader = |link: &LinkSpec| link.queue.entry.name == READS || is_given && reads_in_kernel(link);
    let mut readers = links.iter_mut().filter(|link| is_reader(link)).peekable();
    if readers.peek().is_some() {
        let labels: Arc<[FlowLabel]> = labels(flows).into();
        readers.for_each(|link| link.queue.labels = Some(labels.clone()));
    }
}

/// Whether a queue is the same one of the kernel.
fn reads_in_kernel(link: &LinkSpec) -> bool {
    link.queue.qdisc.as_deref().is_some_and(|qdisc| qdisc.split_whitespace().next() == Some(READS))
}

/// Notes keys that no queue reads.
pub(super) fn check(tables: &[FlowKeys], links: &[LinkSpec], notes: &mut Notes) {
    if links.iter().any(|link| link.queue.entry.name == READS || reads_in_kernel(link)) {
        return;
    }
    for keys in tables {
        let text = "only the queue \"cake\" reads it, and no link has that queue";
        let given = [keys.source_host.key, keys.destination_host.key, keys.dscp.key];
        given.into_iter().filter(|key| key.given).for_each(|key| key.note(text, notes));
    }
}

/// Hosts by number: first those with names, in the order of their first flow, then those of the others.
fn labels(flows: &[Flow]) -> Vec<FlowLabel> {
    let mut names: Vec<&str> =
        flows.iter().flat_map(|flow| flow.between.iter().flatten()).map(String::as_str).collect();
    let mut seen = Vec::new();
    names.retain(|name| {
        let is_new = !seen.contains(name);
        seen.push(*name);
        is_new
    });
    let number = |index: usize, place: usize| {
        let flow = &flows[index];
        let own = 2 * flow.lead.unwrap_or(index as u32) + place as u32;
        let named =
            flow.between[place].as_deref().and_then(|name| names.iter().position(|other| *other == name));
        named.map_or(names.len() as u32 + own, |named| named as u32)
    };
    (0..flows.len())
        .map(|index| FlowLabel {
            source: number(index, 0),
            destination: number(index, 1),
            dscp: flows[index].dscp,
        })
        .collect()
}
