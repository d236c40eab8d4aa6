//! The grain of a simulation: packets one by one, or trains of consecutive packets that are simulated as one. What that
//! saves and how much it errs is in `docs/grain.md`.

use fairhaul_path::LinkSpec;
use fairhaul_path::queue::Capacity;

use crate::{Flow, Hop, Recovery, Scenario, Traffic};

/// The most packets of a train.
pub const LONGEST_TRAIN: u8 = 64;

/// The least part of a window that a train is: so many trains are in a window at least.
pub const TRAINS_PER_WINDOW: f64 = 128.0;

/// Controllers whose windows grow by what is acknowledged, whose packets leave when the window lets them, and for which
/// trains were compared with packets (docs/grain.md).
const COMPARED: [&str; 4] = ["cubic", "highspeed", "reno", "scalable"];

impl Scenario {
    /// Why `flow` sends no trains, whatever the grain is; `None`: it may send them.
    pub fn why_no_trains(&self, flow: &Flow) -> Option<String> {
        let name = flow.controller.entry.name;
        if !COMPARED.contains(&name) {
            return Some(format!("trains have not been compared with packets for `{name}`"));
        }
        let reason = if flow.traffic != Traffic::Bulk || flow.lead.is_some() {
            "it is no endless transfer over one connection"
        } else if flow.recovery != Recovery::Sack {
            "its recovery is not `sack`"
        } else if flow.delayed_ack.is_some() {
            "its acknowledgements may be delayed"
        } else if flow.offload > 1 || flow.max_pacing_rate.is_some() {
            "its packets are paced, or leave in bursts"
        } else if flow.linux || flow.integer_cwnd {
            "its sender is that of Linux"
        } else if flow.ecn {
            "its packets may be marked"
        } else {
            let hops = flow.forward.iter().chain(&flow.reverse);
            let links = hops.filter_map(|hop| if let Hop::Link(link) = hop { Some(*link) } else { None });
            let decides =
                links.map(|link| &self.links[link as usize]).find(|link| decides_by_packet(link))?;
            return Some(format!("link \"{}\" decides about each packet", decides.name));
        };
        Some(reason.to_owned())
    }
}

/// Whether more happens to a packet at `link` than that it waits, and is dropped where the queue is full.
fn decides_by_packet(link: &LinkSpec) -> bool {
    let does_more = link.loss.is_some() || !link.impair.is_none() || !link.schedule.is_none();
    does_more || link.queue.entry.name != "droptail" || link.mark != Capacity::Unlimited
}
