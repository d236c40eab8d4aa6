//! The requests of a scenario that only kernels can fulfil, for the engines that refuse them: some the lab, which has the
//! kernel of the machine, fewer the simulator, which has a model of the hosts.

use std::collections::BTreeMap;

use super::host::{TCP_RMEM, TCP_WMEM, TSO_RTT_LOG};
use crate::{Flow, FqHorizon, Hold, HostSettings, Scenario};

/// How to run a scenario that only kernels can run, as the end of a sentence.
pub const RUNS_WITH: &str = "runs with --engine linux";

/// The same for a scenario with programs.
const RUNS_PROGRAMS: &str = "runs with --engine linux, in simulated time, or --engine lab";
/// The queue disciplines of a sender that the simulator has: `fq` paces, the others only hold packets.
const SIMULATED_QDISCS: [&str; 2] = ["fq_codel", "pfifo_fast"];
/// The settings of a kernel that the simulator's hosts follow.
const SIMULATED_SYSCTLS: [&str; 3] = [TCP_RMEM, TSO_RTT_LOG, TCP_WMEM];

impl Flow {
    /// What the hosts of the lab do not do, as paths from the flow. They have the bursts and buffers of the kernel, merge
    /// packets at a tick of their own, and pace by a socket option.
    pub fn beyond_lab(&self) -> Vec<&'static str> {
        let Some(host) = self.host.as_deref() else { return Vec::new() };
        let keys = [
            (host.sender.is_some(), "host.sender"),
            (host.line_rate.is_some(), "host.line_rate"),
            (host.links.is_some(), "host.links"),
            (!host.noise.is_none(), "host.noise"),
            (host.processor.is_some(), "host.processor"),
            (host.has_unknown_qdisc() || host.horizon() != FqHorizon::default(), "host.qdisc"),
            (!host.sysctls.is_empty(), "host.sysctl"),
        ];
        keys.into_iter().filter_map(|(is_set, key)| is_set.then_some(key)).collect()
    }

    /// Whether its kernel chooses how much it hands over at once, or merges what arrives.
    pub fn has_bursts_of_kernel(&self) -> bool {
        self.offload == Flow::BURSTS_OF_KERNEL || self.host.as_ref().is_some_and(|host| host.gro)
    }

    /// What the simulator's hosts do not do of what it asks of its hosts.
    fn beyond_simulator(&self) -> Vec<String> {
        if self.program.is_some() {
            return vec![format!(
                "program: programs run on a kernel, not in the simulator; this {RUNS_PROGRAMS}"
            )];
        }
        let Some(host) = self.host.as_deref() else { return Vec::new() };
        let merges = host.gro && !matches!(self.delayed_ack, Some(Hold::Adaptive { .. }));
        let receiver = merges.then(|| {
            "host.gro: in the simulator a receiver that merges packets needs delayed_ack = \"adaptive\""
                .to_owned()
        });
        let qdisc = host.has_unknown_qdisc().then(|| {
            let known = SIMULATED_QDISCS.join(", ");
            format!("host.qdisc: the simulator's hosts have fq (horizon, horizon_cap, horizon_drop), {known}; this {RUNS_WITH}")
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
    /// Whether the queue discipline of the sender is none that only holds packets, or paces.
    fn has_unknown_qdisc(&self) -> bool {
        let is_known = |qdisc: &str| SIMULATED_QDISCS.contains(&qdisc) || FqHorizon::of(qdisc).is_some();
        self.qdisc.as_deref().is_some_and(|qdisc| !is_known(qdisc))
    }
}

impl Scenario {
    /// What the simulator cannot do of it because only kernels can, a sentence each; identical ones of several flows
    /// are one.
    pub fn kernel_requests(&self) -> Vec<String> {
        let mut by_reason: BTreeMap<String, (usize, &str)> = BTreeMap::new();
        let mut sentences = Vec::new();
        for flow in &self.flows {
            for reason in flow.beyond_simulator() {
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
