//! The requests of a scenario that only Linux kernels can fulfil so far, for the engines that refuse them.

use std::collections::BTreeMap;

use fairhaul_units::Span;

use crate::{Flow, HostSettings, Scenario, Traffic};

/// How to run a scenario that only kernels can run, as the end of a sentence.
pub const RUNS_WITH: &str = "runs with --engine linux";

impl Flow {
    /// The keys whose values need the hosts of a kernel, as paths from the flow.
    pub fn kernel_keys(&self) -> Vec<&'static str> {
        let bursts = (self.offload == Flow::BURSTS_OF_KERNEL).then_some("offload");
        bursts.into_iter().chain(self.host.iter().flat_map(|host| host.keys())).collect()
    }

    /// Whether it needs a controller that only kernels have.
    pub fn needs_kernel_controller(&self) -> bool {
        !matches!(self.traffic, Traffic::Cbr { .. })
            && self.controller.own.is_none()
            && self.controller.entry.kernel_only
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
            (self.moderation > Span::ZERO, "host.moderation"),
            (self.noise > Span::ZERO, "host.noise"),
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
            let keys = flow.kernel_keys();
            let keys = (!keys.is_empty()).then(|| {
                format!("{}: the simulator has no hosts of a kernel; this {RUNS_WITH}", keys.join(", "))
            });
            for reason in controller.into_iter().chain(keys) {
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
