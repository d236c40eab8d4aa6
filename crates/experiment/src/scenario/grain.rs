//! The grain of a simulation: packets one by one, or trains of consecutive packets that are simulated as one. What that
//! saves and how much it errs is in `docs/grain.md`.

use fairhaul_path::LinkSpec;
use fairhaul_path::queue::Capacity;

use crate::{Flow, Recovery, Scenario, Traffic};

/// The most packets of a train.
pub const LONGEST_TRAIN: u8 = 64;

/// The length of a train is the congestion window divided by this number, and at most [`LONGEST_TRAIN`].
pub const TRAINS_PER_WINDOW: f64 = 128.0;

/// Controllers whose windows grow by what is acknowledged, whose packets leave when the window lets them, and for which
/// trains were compared with packets (docs/grain.md). Not `scalable`: its queue is nearly always about to be full.
const COMPARED: [&str; 3] = ["cubic", "highspeed", "reno"];

impl Scenario {
    /// Why each flow sends no trains, whatever the grain is; `None`: it may send them.
    ///
    /// Trains of flows that are not alike bunch at a link, and then other packets are dropped than of single packets
    /// (docs/grain.md). So all flows of a link send trains, or none does.
    pub fn why_no_trains(&self) -> Vec<Option<String>> {
        let mut reasons: Vec<Option<String>> = self.flows.iter().map(|flow| self.forbids(flow)).collect();
        loop {
            let of_links = self.unlike(&reasons);
            let mut changed = false;
            for (flow, reason) in self.flows.iter().zip(&mut reasons) {
                let found = flow.links().find_map(|link| of_links[link as usize].clone());
                if reason.is_none() && found.is_some() {
                    *reason = found;
                    changed = true;
                }
            }
            if !changed {
                return reasons;
            }
        }
    }

    /// By link, why its flows are not alike.
    fn unlike(&self, reasons: &[Option<String>]) -> Vec<Option<String>> {
        let mut of_links: Vec<Option<String>> = self.links.iter().map(|_| None).collect();
        let mut first: Vec<Option<&Flow>> = self.links.iter().map(|_| None).collect();
        for (flow, reason) in self.flows.iter().zip(reasons) {
            for link in flow.links().map(|link| link as usize) {
                let other = *first[link].get_or_insert(flow);
                let what = if reason.is_some() {
                    "sends single packets"
                } else if flow.rtt != other.rtt {
                    "has another round-trip time"
                } else if flow.controller.name() != other.controller.name() {
                    "has another controller"
                } else if flow.controller.settings != other.controller.settings {
                    "has other parameters of the controller"
                } else if flow.forward != other.forward {
                    "takes another path"
                } else {
                    continue;
                };
                let name = &flow.name;
                of_links[link]
                    .get_or_insert_with(|| format!("flow \"{name}\", which shares a link with it, {what}"));
            }
        }
        of_links
    }

    /// What about a flow itself forbids trains.
    fn forbids(&self, flow: &Flow) -> Option<String> {
        let name = flow.controller.name();
        if !COMPARED.contains(&name) {
            return Some(format!("trains have not been shown to give the results of packets for `{name}`"));
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
            let mut links = flow.links().map(|link| &self.links[link as usize]);
            let decides = links.find(|link| decides_by_packet(link))?;
            return Some(format!("link \"{}\" decides about each packet", decides.name));
        };
        Some(reason.to_owned())
    }
}

/// Whether more happens to a packet at `link` than that it waits, and is dropped where the queue is full.
fn decides_by_packet(link: &LinkSpec) -> bool {
    let does_more =
        link.loss.is_some() || !link.impair.is_none() || link.shaper.is_some() || !link.schedule.is_none();
    does_more || link.queue.entry.name != "droptail" || link.mark != Capacity::Unlimited
}
