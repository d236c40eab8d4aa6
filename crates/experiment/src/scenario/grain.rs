//! The grain of a simulation: what a host hands over together is one object, or each packet is. What that saves and how much it
//! differs is in `docs/grain.md`.

use fairhaul_path::LinkSpec;
use fairhaul_path::impair::LossRule;
use fairhaul_path::queue::Capacity;

use crate::{Flow, Grain, Hop, Recovery, Scenario};

impl Scenario {
    /// Why the packets of a flow that leaves in bursts of segmentation offload are simulated one by one, on their whole way or
    /// from some link on; `None`: they are not, or the flow sends no bursts.
    pub fn why_single_packets(&self, flow: &Flow) -> Option<String> {
        if flow.offload <= 1 {
            return None;
        }
        if self.grain == Grain::Packet {
            return Some("the grain is `packet`".to_owned());
        }
        if flow.recovery != Recovery::Rack {
            return Some("its recovery is not `rack`".to_owned());
        }
        if flow.is_bonded() {
            return Some("packets of several links interleave".to_owned());
        }
        let mut links = flow.forward.iter().filter_map(Hop::link).map(|link| &self.links[link as usize]);
        let link = links.find(|link| decides_by_packet(link))?;
        Some(format!("link \"{}\" decides about each packet", link.name))
    }
}

/// Whether more happens to a packet at `link` than that it waits, is dropped where the queue is full, and may be lost with a
/// probability.
fn decides_by_packet(link: &LinkSpec) -> bool {
    let loses_by_packet = link.loss.as_ref().is_some_and(|rule| !matches!(rule, LossRule::Spaced(_)));
    let does_more =
        loses_by_packet || !link.impair.is_none() || link.shaper.is_some() || !link.schedule.is_none();
    does_more
        || link.queue.entry.name != "droptail"
        || link.queue.entry.at_departure
        || link.mark != Capacity::Unlimited
}
