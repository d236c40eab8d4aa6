//! When flows send trains: the rule of the engine, written down a second time.

use fairhaul_experiment::{Grain, Hop, Scenario};
use fairhaul_path::queue::Capacity;
use fairhaul_units::{Span, Time};

use super::host::Host;
use super::link::Link;

const PERIOD: Span = Span::from_ms(10);

/// See the module.
pub struct Trains {
    pub boundary: Time,
    /// By link: until when its flows send single packets.
    single_until: Vec<Time>,
    /// By flow: when its round began, its window then, and what it added in the round before.
    rounds: Vec<(Time, f64, f64)>,
    /// By flow: whether it may send trains at all.
    eligible: Vec<bool>,
}

impl Trains {
    pub fn of(scenario: &Scenario) -> Trains {
        Trains {
            boundary: if scenario.grain == Grain::Auto { Time::ZERO + PERIOD } else { Time::NEVER },
            single_until: vec![Time::ZERO; scenario.links.len()],
            rounds: vec![(Time::ZERO, 0.0, 0.0); scenario.flows.len()],
            eligible: scenario.why_no_trains().iter().map(Option::is_none).collect(),
        }
    }

    /// Decides at the boundary, which the clock has reached.
    pub fn decide(&mut self, scenario: &Scenario, hosts: &mut [Option<Host>], links: &[Link]) {
        let now = self.boundary;
        let mut needed = vec![0.0; scenario.links.len()];
        let mut longest = vec![Span::ZERO; scenario.links.len()];
        for (index, flow) in scenario.flows.iter().enumerate() {
            let of_flow = || hosts.iter().flatten().filter(|host| host.flow() as usize == index);
            let open: Vec<(f64, Span)> = of_flow().filter_map(Host::load).collect();
            let cwnd = open.iter().map(|load| load.0).sum::<f64>();
            let srtt = open.iter().map(|load| load.1).max().unwrap_or(Span::ZERO);
            let (began, then, before) = self.rounds[index];
            let more = (cwnd - then).max(0.0);
            if now.since(began) >= srtt {
                self.rounds[index] = (now, cwnd, more);
            }
            for hop in flow.forward.iter().chain(&flow.reverse) {
                if let Hop::Link(link) = *hop {
                    needed[link as usize] += 2.0 * (before.max(more) + (cwnd / 128.0).clamp(1.0, 64.0));
                    longest[link as usize] = longest[link as usize].max(srtt);
                }
            }
        }
        for (index, spec) in scenario.links.iter().enumerate() {
            let smallest = scenario.flows.iter().map(|flow| flow.packet.0).min().unwrap_or(1);
            let capacity = match spec.capacity {
                Capacity::Unlimited => u64::MAX,
                Capacity::Packets(packets) => packets,
                Capacity::Bytes(bytes) => bytes.0 / smallest,
            };
            if (capacity.saturating_sub(links[index].backlog(now)) as f64) < needed[index] {
                self.single_until[index] = now + longest[index];
            }
        }
        self.boundary = now + PERIOD;
        for host in hosts.iter_mut().flatten() {
            let flow = &scenario.flows[host.flow() as usize];
            let mut hops = flow.forward.iter().chain(&flow.reverse);
            let single = hops
                .any(|hop| matches!(hop, Hop::Link(l) if self.single_until[*l as usize] >= self.boundary));
            host.allow_trains(self.eligible[host.flow() as usize] && !single);
        }
    }
}
