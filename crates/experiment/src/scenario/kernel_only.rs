//! The requests of a scenario that only kernels can fulfil, for the engines that refuse them: some the lab, which has the
//! kernel of the machine, fewer the simulator, which has a model of the hosts.

use std::collections::BTreeMap;

use fairhaul_path::card::Moderation;

use super::host::{TCP_RMEM, TCP_WMEM, TSO_RTT_LOG};
use crate::{Flow, Hold, HostSettings, Scenario, Traffic};

/// How to run a scenario that only kernels can run, as the end of a sentence.
pub const RUNS_WITH: &str = "runs with --engine linux";

/// The queue disciplines of a sender that the simulator has: `fq` paces, the others only hold packets.
const SIMULATED_QDISCS: [&str; 3] = ["fq", "fq_codel", "pfifo_fast"];
/// The settings of a kernel that the simulator's hosts follow.
const SIMULATED_SYSCTLS: [&str; 3] = [TCP_RMEM, TSO_RTT_LOG, TCP_WMEM];

impl Flow {
    /// The keys that set its hosts, as paths from the flow.
    pub fn host_keys(&self) -> Vec<&'static str> {
        let bursts = (self.offload == Flow::BURSTS_OF_KERNEL).then_some("offload");
        bursts.into_iter().chain(self.host.iter().flat_map(|host| host.keys())).collect()
    }

    /// Whether it needs a controller that only kernels have.
    pub fn needs_kernel_controller(&self) -> bool {
        !matches!(self.traffic, Traffic::Cbr { .. })
            && self.controller.own.is_none()
            && self.controller.entry.kernel_only
    }

    /// What the simulator's hosts do not do of what it asks of its hosts.
    fn beyond_simulator(&self) -> Vec<String> {
        let Some(host) = self.host.as_deref() else { return Vec::new() };
        let merges = host.gro && !matches!(self.delayed_ack, Some(Hold::Adaptive { .. }));
        let receiver = merges.then(|| {
            "host.gro: in the simulator a receiver that merges packets needs delayed_ack = \"adaptive\""
                .to_owned()
        });
        let qdisc = host.qdisc.as_ref().filter(|qdisc| !SIMULATED_QDISCS.contains(&qdisc.as_str()));
        let qdisc = qdisc.map(|_| {
            let known = SIMULATED_QDISCS.join(", ");
            format!("host.qdisc: the simulator's hosts have {known}; this {RUNS_WITH}")
        });
        let unknown = host.sysctls.keys().filter(|name| !SIMULATED_SYSCTLS.contains(&name.as_str()));
        let unknown: Vec<&str> = unknown.map(String::as_str).collect();
        let sysctl = (!unknown.is_empty()).then(|| {
            let known = SIMULATED_SYSCTLS.join(", ");
            let unknown = unknown.join(", ");
            format!("host.sysctl: the simulator knows {known}, not {unknown}; this {RUNS_WITH}")
        });
        let wrong = host.wrong_sysctl().map(|(name, wanted)| format!("host.sysctl: {name} must be {wanted}"));
        receiver.into_iter().chain(qdisc).chain(sysctl).chain(wrong).collect()
    }
}

impl HostSettings {
    /// The keys that set it, as paths from the flow.
    fn keys(&self) -> impl Iterator<Item = &'static str> {
        let set = [
            (self.tunes_send_buffer, "send_buffer"),
            (self.tunes_receive_buffer, "receive_buffer"),
            (self.gro, "host.gro"),
            (self.line_rate.is_some(), "host.line_rate"),
            (self.moderation != Moderation::NONE, "host.moderation"),
            (!self.noise.is_none(), "host.noise"),
            (self.processor.is_some(), "host.processor"),
            (self.qdisc.is_some(), "host.qdisc"),
            (!self.sysctls.is_empty(), "host.sysctl"),
        ];
        set.into_iter().filter_map(|(is_set, key)| is_set.then_some(key))
    }
}

impl Scenario {
    /// What the simulator cannot do of it because only kernels can, a sentence each; identical ones of several flows
    /// are one.
    pub fn kernel_requests(&self) -> Vec<String> {
        let mut by_reason: BTreeMap<String, (usize, &str)> = BTreeMap::new();
        let mut sentences = Vec::new();
        for flow in &self.flows {
            let controller = flow.needs_kernel_controller().then(|| {
                format!("controller = \"{}\": only kernels have it; it {RUNS_WITH}", flow.controller.name())
            });
            for reason in controller.into_iter().chain(flow.beyond_simulator()) {
                by_reason.entry(reason).or_insert((0, &flow.name)).0 += 1;
            }
        }
        for (reason, (count, name)) in by_reason {
            let others = if count > 1 { format!(" and {} more", count - 1) } else { String::new() };
            sentences.push(format!("flow \"{name}\"{others}: {reason}"));
        }
        let of_kernel = self.links.iter().filter_map(|link| Some((&link.name, link.queue.qdisc.as_ref()?)));
        sentences.extend(of_kernel.map(|(name, qdisc)| {
            format!("link \"{name}\": queue = \"{qdisc}\": only kernels have this queue; it {RUNS_WITH}")
        }));
        sentences
    }
}
