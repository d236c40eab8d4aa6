//! Stabilized RED [SRED]: drops, or marks, by how full the queue is and by how many flows there are.
//!
//! A zombie list (`count/sred.rs`) estimates the number of flows. Up to 256 of them the probability grows with the
//! square of their number, because the windows of that many TCP flows require it; no average of the queue is kept.

use fairhaul_units::{Bytes, Chance, Ecn, Gauge, Parameter, Settings, Span, Time, parameters, words};

use super::{Arrival, Capacity, QueueDecision, Refusal, Site};
use crate::count::{AverageStart, ListFill, ListRule, ListStart, ZombieRule, Zombies};

/// The arrival law of SRED.
#[derive(Clone, Debug)]
pub struct Sred {
    capacity: Capacity,
    given: SredParameters,
    zombies: Zombies,
    chance: Chance,
}

words! {
    /// Whether a hit makes a drop more likely.
    pub enum SredLaw {
        /// It does.
        Full = "full",
        /// It does not.
        Simple = "simple",
    }
}

parameters! {
    /// The parameters of SRED.
    pub struct SredParameters {
        law: Word(SredLaw) = SredLaw::Full,
            "full: a packet that matches an entry of its own flow is dropped with a higher probability; simple: equal for all packets [SRED]";
        max_p: Number(1e-6..=1.0) = 0.15,
            "drop probability above a third of the capacity; a quarter of it above a sixth [SRED]";
        flows: Number(1.0..=1e6) = 256.0,
            "with fewer flows than this the probability falls with the square of their number [SRED]";
        list: Parameters(ListRule), "those of the zombie list";
        // As for the flow counter `sred`, whose defaults are others.
        fill: Word(ListFill) = ListFill::Literal,
            "while the list fills: compare packets with the entries so far, or compare nothing as in the source";
        start: Word(AverageStart) = AverageStart::Literal,
            "average hit rate: corrected for its initial value of zero, or uncorrected as in the source";
    }
}

impl Sred {
    /// One line of what it is.
    pub const TITLE: &'static str =
        "Stabilized RED: drops or marks at random by the fill level of the queue and the number of flows";
    pub(super) const SOURCE: &'static str = "SRED";
    /// Its parameters.
    pub const PARAMETERS: &'static [Parameter] = SredParameters::LIST;
    pub(super) const GAUGES: [Gauge; 2] = [
        Gauge {
            name: "flows",
            unit: "",
            help: "number of flows estimated from the zombie list; 0: no packet so far",
        },
        Gauge {
            name: "share_of_p",
            unit: "",
            help: "factor by which the number of flows scales the drop probability",
        },
    ];

    /// The queue of these parameters.
    pub(super) fn new(given: SredParameters, site: &Site, mut chance: Chance) -> Sred {
        let begin = ListStart { fill: given.fill, start: given.start };
        let rule = ZombieRule { list: given.list, inspect: 1.0, begin, stale: Span::ZERO };
        let zombies = Zombies::new(rule, chance.split("zombies"));
        Sred { capacity: site.capacity, given, zombies, chance }
    }

    pub(super) fn resolve(_: &mut Settings, site: &Site, _: Bytes) -> Result<(), Refusal> {
        match site.capacity {
            Capacity::Unlimited => {
                let text = "sred drops above a third of the capacity, so the queue needs a limit";
                Err(Refusal::new("capacity", text.into()))
            }
            _ => Ok(()),
        }
    }

    /// What its gauges show at `at`.
    pub(super) fn gauges(&self, at: Time) -> [f64; 2] {
        [self.zombies.flows(at), self.by_flows(false)]
    }

    /// What becomes of an arriving packet.
    pub(crate) fn decide(&mut self, arrival: &Arrival) -> QueueDecision {
        // Unclear in [SRED]: whether a packet that finds the queue full is compared. It is, because it has
        // arrived.
        let hit = self.zombies.count_packet(arrival.flow.into(), arrival.now);
        if !self.capacity.admits(arrival.size, arrival.packets, arrival.bytes) {
            return QueueDecision::Drop;
        }
        let p = self.by_queue(arrival) * self.by_flows(hit);
        if p == 0.0 || !self.chance.hits(p) {
            return QueueDecision::Enqueue;
        }
        // Differs from [SRED]: the source has no marks. A packet that can be marked is marked, at any
        // probability; a full queue drops.
        match arrival.ecn {
            Ecn::Capable | Ecn::CapableL4s => QueueDecision::Mark,
            Ecn::Marked => QueueDecision::Enqueue,
            Ecn::NotCapable => QueueDecision::Drop,
        }
    }

    /// The probability of the queue that an arrival finds, in what the capacity counts.
    fn by_queue(&self, arrival: &Arrival) -> f64 {
        let (backlog, whole) = match self.capacity {
            Capacity::Unlimited => unreachable!("it was refused"),
            Capacity::Packets(most) => (arrival.packets, most),
            Capacity::Bytes(most) => (arrival.bytes.0, most.0),
        };
        match backlog {
            _ if 3 * backlog >= whole => self.given.max_p,
            _ if 6 * backlog >= whole => self.given.max_p / 4.0,
            _ => 0.0,
        }
    }

    /// What the number of flows, and a hit, make of it.
    fn by_flows(&self, hit: bool) -> f64 {
        let share = self.zombies.share_of_hits();
        let few = self.given.flows * share;
        let factor = (1.0 / (few * few)).min(1.0);
        match self.given.law {
            SredLaw::Full if hit => factor * (1.0 + 1.0 / share),
            SredLaw::Full | SredLaw::Simple => factor,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::QueueChoice;
    use fairhaul_units::Rate;

    fn sred(capacity: Capacity, values: &[(&str, f64)]) -> Result<Sred, Refusal> {
        let mut choice = QueueChoice::named("sred").expect("it is in the catalogue");
        values.iter().for_each(|(name, value)| choice.settings.set(name, *value));
        let rate = Rate::from_bps(8_000_000).expect("not zero");
        let site = Site { rate, delay: Span::ZERO, capacity, mark: Capacity::Unlimited };
        let settings = choice.resolved(&site, Bytes(1000))?.settings;
        Ok(Sred::new((&settings).into(), &site, Chance::stream(1, "queue", 0)))
    }

    /// A packet of 1000 B of `flow` that finds so many.
    fn finds(flow: u32, packets: u64) -> Arrival {
        Arrival {
            size: Bytes(1000),
            ecn: Ecn::NotCapable,
            flow,
            now: Time::ZERO,
            packets,
            bytes: Bytes(packets * 1000),
            waiting: packets.saturating_sub(1),
            waiting_bytes: Bytes(packets.saturating_sub(1) * 1000),
            busy_until: Time::NEVER,
        }
    }

    /// The share of arrivals at `packets` packets that are dropped, with `flows` equal flows.
    fn dropped(sred: &mut Sred, flows: u64, packets: u64, arrivals: u32) -> f64 {
        let mut chance = Chance::stream(2, "flow", 0);
        let mut drops = |count: u32| {
            (0..count)
                .filter(|_| {
                    let flow = chance.below(flows) as u32;
                    sred.decide(&finds(flow, packets)) == QueueDecision::Drop
                })
                .count()
        };
        drops(20_000); // the list fills and the average settles
        drops(arrivals) as f64 / f64::from(arrivals)
    }

    #[test]
    fn the_probability_has_two_steps_at_a_sixth_and_a_third_of_packets_or_bytes() {
        let wanted = [(19, 0.0), (20, 0.0375), (39, 0.0375), (40, 0.15), (119, 0.15)];
        for capacity in [Capacity::Packets(120), Capacity::Bytes(Bytes(120_000))] {
            let queue = sred(capacity, &[]).expect("the values fit");
            wanted.iter().for_each(|(found, p)| assert_eq!(queue.by_queue(&finds(0, *found)), *p));
            let mut queue = queue;
            assert_eq!(queue.decide(&finds(0, 120)), QueueDecision::Drop);
        }
    }

    #[test]
    fn while_the_list_fills_flows_seem_many_and_the_whole_probability_holds() {
        let mut queue = sred(Capacity::Packets(90), &[("entries", 100_000.0)]).expect("the values fit");
        let dropped = dropped(&mut queue, 2, 45, 60_000);
        // 0.15, and the deviation is sqrt(0.15 x 0.85 / 60,000) = 0.0015.
        assert!((dropped - 0.15).abs() < 0.006, "{dropped}");
    }

    #[test]
    fn simple_sred_drops_by_the_square_of_the_flows_up_to_256() {
        // 32 flows are an eighth: 0.15 / 64 = 0.00234, and more by three times the square of the noise
        // of P, 3 x 0.0155. From 256 on 0.15; at 256 flows P is as often above 1/256.
        for (flows, wanted, off) in [(32, 0.002_45, 0.000_3), (2000, 0.15, 0.006)] {
            let mut queue =
                sred(Capacity::Packets(90), &[("law", SredLaw::Simple.value())]).expect("the values fit");
            let found = dropped(&mut queue, flows, 45, 300_000);
            println!("{flows} flows: {found:.5}");
            assert!((found - wanted).abs() < off, "{flows}: {found} for {wanted}");
        }
    }

    #[test]
    fn full_sred_drops_twice_as_much_of_equal_flows_and_more_of_a_large_one() {
        // The factor is 1 + hit / P. Of 32 equal flows it would be 2 on average, but the hit itself has raised P from
        // 0.03125 to 0.0322: its part is (0.03125 / 0.0322)^3 = 0.91, 0.00234 x 1.91 x 1.05 = 0.0047 in all, 1.05 for the noise. One flow of
        // half the packets beside 32 that share the rest: P = 1/4 + 1/128 = 0.258; it is met with 1/2: 1 + 0.5 / 0.258 =
        // 2.94; another with 1/64: 1.06.
        let mut queue = sred(Capacity::Packets(90), &[]).expect("the values fit");
        let equal = dropped(&mut queue, 32, 45, 300_000);
        assert!((equal / 0.0047 - 1.0).abs() < 0.12, "{equal}");
        let mut queue = sred(Capacity::Packets(90), &[("flows", 8.0)]).expect("the values fit");
        let (mut chance, mut drops, mut sent) = (Chance::stream(2, "flow", 0), [0.0; 2], [0.0; 2]);
        for n in 0..400_000 {
            let large = chance.hits(0.5);
            let flow = if large { 0 } else { 1 + chance.below(32) as u32 };
            let gone = queue.decide(&finds(flow, 45)) == QueueDecision::Drop;
            if n >= 20_000 {
                sent[usize::from(large)] += 1.0;
                drops[usize::from(large)] += f64::from(u8::from(gone));
            }
        }
        let times = drops[1] / sent[1] / (drops[0] / sent[0]);
        println!("full: {equal:.5} of equal ones; large over small {times:.3}");
        assert!((times / (2.94 / 1.06) - 1.0).abs() < 0.05, "{times}");
    }

    #[test]
    fn what_can_be_marked_is_marked_and_a_full_queue_drops_it() {
        let mut queue = sred(Capacity::Packets(90), &[("max_p", 1.0)]).expect("the values fit");
        let mut decide = |ecn, packets| queue.decide(&Arrival { ecn, ..finds(0, packets) });
        assert_eq!(decide(Ecn::Capable, 45), QueueDecision::Mark);
        assert_eq!(decide(Ecn::Marked, 45), QueueDecision::Enqueue);
        assert_eq!(decide(Ecn::NotCapable, 45), QueueDecision::Drop);
        assert_eq!(decide(Ecn::Capable, 90), QueueDecision::Drop);
    }

    #[test]
    fn a_queue_without_a_limit_is_refused() {
        assert_eq!(sred(Capacity::Unlimited, &[]).expect_err("no third").parameter, "capacity");
    }
}
