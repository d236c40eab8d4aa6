//! The mechanism of an XCP router that limits flows that do not request a rate, written from its paper once more: it
//! keeps what arrived and departed in an interval, and adds it up at the end. The counters are the engine's.

use fairhaul_path::LinkSpec;
use fairhaul_path::count::Counter;
use fairhaul_path::queue::{DropLaw, XcpTcpParameters, XcpTcpRule};
use fairhaul_units::{Chance, Span, Time};

use super::link::size;
use super::{DataOrAck, Packet};

/// See the module.
pub struct Fairness {
    given: XcpTcpParameters,
    counters: [Counter; 2],
    chance: Chance,
    begun: Time,
    until: Time,
    /// Sizes of the others' packets, and whether each was let in; and of all that departed.
    arrived: Vec<(u64, bool)>,
    departed: Vec<u64>,
    rate_before: f64,
    p: f64,
    phi: f64,
    dropping: bool,
    gauges: [f64; 3],
}

impl Fairness {
    /// The mechanism of a link; `None` if its queue has none.
    pub fn of(spec: &LinkSpec, mut chance: Chance) -> Option<Fairness> {
        if spec.queue.entry.name != "xcp_tcp" {
            return None;
        }
        let given = XcpTcpParameters::from(&spec.queue.settings);
        let counters = ["asking", "plain"].map(|class| XcpTcpRule::counter(&given, chance.split(class)));
        let period = Span::from_secs(given.period * 1e-3);
        Some(Fairness {
            counters,
            chance,
            begun: Time::ZERO,
            until: Time::ZERO + if period.is_zero() { Span::from_ms(50) } else { period },
            arrived: Vec::new(),
            departed: Vec::new(),
            rate_before: 0.0,
            p: match given.rule {
                DropLaw::Literal => given.min_p,
                DropLaw::Adaptive => 0.0,
            },
            phi: 1.0,
            dropping: false,
            gauges: [0.0; 3],
            given,
        })
    }

    pub fn gauges(&self) -> [f64; 4] {
        let [n, m, share] = self.gauges;
        [n, m, share, if self.dropping { self.p } else { 0.0 }]
    }

    /// The updates up to `now`.
    pub fn timer(&mut self, now: Time, bps: u64, rtt: f64, ctl_interval: Span) {
        let period = Span::from_secs(self.given.period * 1e-3);
        let next = if period.is_zero() { ctl_interval } else { period };
        let mut first = true;
        while self.until <= now {
            // No packet arrived after the first interval: intervals with the same counts are one update.
            let mut identical = 1;
            if !first {
                let mut counters = self.counters.clone();
                let mut counts = |at: Time| counters.each_mut().map(|counter| counter.flows(at));
                let counts_now = counts(self.until);
                while self.until + next * identical <= now
                    && counts(self.until + next * identical) == counts_now
                {
                    identical += 1;
                }
            }
            first = false;
            self.update(identical, bps as f64 / 8.0, rtt);
            self.begun += next * (identical - 1);
            self.until += next * (identical - 1);
            let passed: f64 =
                self.arrived.iter().filter(|arrived| arrived.1).map(|arrived| arrived.0 as f64).sum();
            self.rate_before = passed / (self.until - self.begun).as_secs();
            self.arrived.clear();
            self.departed.clear();
            self.begun = self.until;
            self.until += next;
        }
    }

    /// A packet arrives: whether it is let in.
    pub fn arrive(&mut self, packet: &Packet, now: Time) -> bool {
        let DataOrAck::Data(data) = packet.content else { return true };
        if data.opens() {
            return true;
        }
        let plain = data.congestion.is_none();
        let inspect = self.given.inspect;
        if inspect == 1.0 || self.chance.hits(inspect) {
            self.counters[usize::from(plain)].count_packet(packet.serial.into(), now);
        }
        if !plain {
            return true;
        }
        let lets_in = !(self.dropping && self.p > 0.0 && self.chance.hits(self.p));
        self.arrived.push((data.size.into(), lets_in));
        lets_in
    }

    pub fn depart(&mut self, packet: &Packet) {
        self.departed.push(size(packet));
    }

    fn update(&mut self, identical: u64, c: f64, rtt: f64) {
        let given = self.given;
        let length = (self.until - self.begun).as_secs();
        let (n, m) = (self.counters[0].flows(self.until), self.counters[1].flows(self.until));
        let share = if m > 0.0 { m / (n + m) } else { 0.0 };
        self.gauges = [n, m, share];
        let departed: f64 = self.departed.iter().map(|bytes| *bytes as f64).sum();
        if departed < given.gate * c * length || n == 0.0 || m == 0.0 {
            self.dropping = false;
            return;
        }
        let let_in: Vec<f64> =
            self.arrived.iter().filter(|arrived| arrived.1).map(|arrived| arrived.0 as f64).collect();
        let passed: f64 = let_in.iter().sum();
        let offered: f64 = self.arrived.iter().map(|arrived| arrived.0 as f64).sum();
        let (rate, target) = (passed / length, share * c);
        if given.rule == DropLaw::Literal {
            let near = given.tolerance * c;
            if rate > target + near && rate >= self.rate_before {
                self.p = (self.p * given.up).min(given.max_p);
            } else if rate < target - near {
                self.p = (self.p * libm::pow(given.down, identical as f64)).max(given.min_p);
            }
            self.dropping = given.at_floor || rate > target;
            return;
        }
        let mean = if let_in.is_empty() { 1000.0 } else { passed / let_in.len() as f64 };
        let w = (target * rtt / (m * mean)).max(2.0);
        let most = (1.0 - target * length / offered.max(1.0)).max(given.max_p);
        let e = (rate / target).clamp(0.25, 4.0);
        if e < 1.0 || self.p < most {
            self.phi = (self.phi
                * libm::pow(e, (length / (given.horizon * rtt)).min(1.0) * identical as f64))
            .max(0.5);
        }
        self.p = ((self.phi * e - 1.0) / (2.0 * w)).clamp(0.0, most);
        self.dropping = self.p > 0.0;
    }
}
