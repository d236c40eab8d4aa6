//! Queues that drop or mark before they are full, written from their sources once more: what they
//! measure is the current queue, packet by packet.

use fairhaul_path::LinkSpec;
use fairhaul_path::count::{AverageStart, ListFill};
use fairhaul_path::queue::{Capacity, PieParameters, RedParameters, SredLaw, SredParameters};
use fairhaul_units::{Chance, Ecn, Span, Time};

/// What the queue decides about an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueDecision {
    Accepted,
    /// Accepted, and marked if it can be.
    Marked,
    Dropped,
}

/// What a queue sees of a packet.
pub struct ArrivingPacket {
    /// Of its connection.
    pub id: u32,
    pub size: u64,
    pub ecn: Ecn,
}

/// A queue that manages itself.
pub enum Aqm {
    Red(Red),
    Pie(Pie),
    Sred(Sred),
}

impl Aqm {
    /// That of a link; `None` for a drop-tail queue.
    pub fn of(spec: &LinkSpec, chance: Chance) -> Option<Aqm> {
        match spec.queue.entry.name {
            "red" => {
                let bps = spec.drain_rate().as_bps() as f64;
                Some(Aqm::Red(Red::new((&spec.queue.settings).into(), bps, chance)))
            }
            "pie" => Some(Aqm::Pie(Pie::new((&spec.queue.settings).into(), chance))),
            "sred" => Some(Aqm::Sred(Sred::new((&spec.queue.settings).into(), spec.capacity, chance))),
            _ => None,
        }
    }

    /// The period of its update, if it has one.
    pub fn period(&self) -> Option<Span> {
        match self {
            Aqm::Red(_) | Aqm::Sred(_) => None,
            Aqm::Pie(pie) => Some(pie.given.update),
        }
    }

    /// Its gauges, in the order of the catalogue.
    pub fn gauges(&self) -> [f64; 2] {
        match self {
            Aqm::Red(Red { given, ave, cur_max_p, .. }) if given.queue_in_bytes => {
                [ave / given.mean_packet, *cur_max_p]
            }
            Aqm::Red(Red { ave, cur_max_p, .. }) => [*ave, *cur_max_p],
            Aqm::Pie(Pie { drop_prob, qdelay_old, .. }) => [*drop_prob, *qdelay_old],
            Aqm::Sred(sred) => [sred.number(), sred.by_flows(false)],
        }
    }

    /// The periodic update; `delay`: how long the last packet waits.
    pub fn update(&mut self, delay: Span) {
        if let Aqm::Pie(pie) = self {
            pie.update(delay.as_secs());
        }
    }

    /// A packet of `id` arrives at a queue of these sizes, of which the first is being sent; whether it
    /// fits, and when the last packet left.
    pub fn arrive(
        &mut self,
        packet: ArrivingPacket,
        fits: bool,
        queue: &[u64],
        left: Time,
        now: Time,
    ) -> QueueDecision {
        let ArrivingPacket { id, size, ecn } = packet;
        match self {
            Aqm::Red(red) => red.arrive(size, ecn, fits, queue, left, now),
            Aqm::Pie(pie) => pie.arrive(ecn, fits, queue),
            Aqm::Sred(sred) => sred.arrive(id, ecn, fits, queue),
        }
    }
}

/// RED with its variables under the names of ns-2.
pub struct Red {
    given: RedParameters,
    ptc: f64,
    ave: f64,
    cur_max_p: f64,
    lastset: Time,
    count: f64,
    old: bool,
    chance: Chance,
}

impl Red {
    fn new(given: RedParameters, bps: f64, chance: Chance) -> Red {
        Red {
            ptc: bps / (8.0 * given.mean_packet),
            cur_max_p: given.max_p,
            given,
            ave: 0.0,
            lastset: Time::ZERO,
            count: 0.0,
            old: false,
            chance,
        }
    }

    fn arrive(
        &mut self,
        size: u64,
        ecn: Ecn,
        fits: bool,
        queue: &[u64],
        left: Time,
        now: Time,
    ) -> QueueDecision {
        let given = self.given;
        let mean = given.mean_packet;
        let in_bytes = given.queue_in_bytes;
        let unit = if in_bytes { mean } else { 1.0 };
        let (th_min, th_max) = (given.min_threshold * unit, given.max_threshold * unit);
        let waiting = queue.get(1..).unwrap_or_default();
        let length = if in_bytes { waiting.iter().sum() } else { waiting.len() as u64 } as f64;
        let m = if queue.is_empty() { (self.ptc * now.since(left).as_secs()) as u64 } else { 0 };
        let w = given.q_weight;
        self.ave = libm::pow(1.0 - w, (m + 1) as f64) * self.ave + w * length;
        self.adapt(th_min, th_max, now);
        let weighs = if given.drop_in_bytes { size as f64 / mean } else { 1.0 };
        self.count += weighs;
        let end = if given.gentle { 2.0 * th_max } else { th_max };
        let mut decision = QueueDecision::Accepted;
        if self.ave < th_min || waiting.len() < 2 {
            self.old = false;
        } else if self.ave >= end {
            decision = QueueDecision::Dropped;
        } else if !self.old {
            (self.old, self.count) = (true, weighs);
        } else {
            decision = self.early(ecn, weighs, th_min, th_max);
        }
        if decision == QueueDecision::Dropped || !fits {
            self.count = 0.0;
            return QueueDecision::Dropped;
        }
        decision
    }

    fn early(&mut self, ecn: Ecn, weighs: f64, th_min: f64, th_max: f64) -> QueueDecision {
        let p = if self.ave < th_max {
            self.cur_max_p * (self.ave - th_min) / (th_max - th_min)
        } else {
            self.cur_max_p + (1.0 - self.cur_max_p) * (self.ave - th_max) / th_max
        };
        let due = self.count * p;
        let earliest = if self.given.wait { 1.0 } else { 0.0 };
        let spread = match due - earliest {
            _ if due >= earliest + 1.0 => 1.0,
            _ if due < earliest => 0.0,
            _ => (p / (earliest + 1.0 - due)).min(1.0),
        };
        let spread = if spread < 1.0 { spread * weighs } else { 1.0 };
        if spread == 0.0 || self.chance.unit() >= spread {
            return QueueDecision::Accepted;
        }
        self.count = 0.0;
        let markable = ecn != Ecn::NotCapable && p < self.given.mark_p;
        if markable { QueueDecision::Marked } else { QueueDecision::Dropped }
    }

    fn adapt(&mut self, th_min: f64, th_max: f64, now: Time) {
        let given = self.given;
        let ripe = now.since(self.lastset) > given.interval;
        if !given.adaptive || !ripe {
            return;
        }
        let part = 0.4 * (th_max - th_min);
        let before = self.cur_max_p;
        if self.ave < th_min + part && before > given.bottom {
            self.cur_max_p *= given.beta;
        } else if self.ave > th_max - part && before < given.top {
            self.cur_max_p += given.alpha.min(before / 4.0);
        }
        if self.cur_max_p != before {
            self.lastset = now;
        }
    }
}

/// PIE with its variables under the names of its pseudocode.
pub struct Pie {
    given: PieParameters,
    target: f64,
    drop_prob: f64,
    accu_prob: f64,
    qdelay_old: f64,
    burst_allowance: Span,
    chance: Chance,
}

impl Pie {
    fn new(given: PieParameters, chance: Chance) -> Pie {
        Pie {
            target: given.target.as_secs(),
            drop_prob: 0.0,
            accu_prob: 0.0,
            qdelay_old: 0.0,
            burst_allowance: given.max_burst,
            chance,
            given,
        }
    }

    fn update(&mut self, qdelay: f64) {
        let (alpha, beta) = (self.given.alpha, self.given.beta);
        let mut p = alpha * (qdelay - self.target) + beta * (qdelay - self.qdelay_old);
        p /= match self.drop_prob {
            d if d < 0.000_001 => 2048.0,
            d if d < 0.000_01 => 512.0,
            d if d < 0.000_1 => 128.0,
            d if d < 0.001 => 32.0,
            d if d < 0.01 => 8.0,
            d if d < 0.1 => 2.0,
            _ => 1.0,
        };
        if self.drop_prob >= 0.1 && p > 0.02 {
            p = 0.02;
        }
        self.drop_prob += p;
        if qdelay == 0.0 && self.qdelay_old == 0.0 {
            self.drop_prob *= 0.98;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        self.burst_allowance = self.burst_allowance.saturating_sub(self.given.update);
        let half = self.target / 2.0;
        if self.drop_prob == 0.0 && qdelay < half && self.qdelay_old < half {
            self.burst_allowance = self.given.max_burst;
        }
        self.qdelay_old = qdelay;
    }

    fn arrive(&mut self, ecn: Ecn, fits: bool, queue: &[u64]) -> QueueDecision {
        if !fits {
            self.accu_prob = 0.0;
            return QueueDecision::Dropped;
        }
        let waiting: u64 = queue.iter().skip(1).sum();
        let idle = self.qdelay_old < self.target / 2.0 && self.drop_prob < 0.2;
        if !self.burst_allowance.is_zero() || idle || waiting as f64 <= 2.0 * self.given.mean_packet {
            return QueueDecision::Accepted;
        }
        self.accu_prob += self.drop_prob;
        if self.drop_prob == 0.0 {
            self.accu_prob = 0.0;
        }
        let is_hit = match self.accu_prob {
            a if a < 0.85 => false,
            a if a >= 8.5 => true,
            _ => self.chance.unit() < self.drop_prob,
        };
        let markable = ecn != Ecn::NotCapable && self.drop_prob <= self.given.mark_ecnth;
        if !is_hit {
            return QueueDecision::Accepted;
        }
        self.accu_prob = 0.0;
        if markable { QueueDecision::Marked } else { QueueDecision::Dropped }
    }
}

/// Stabilized RED with its variables under the names of its paper.
pub struct Sred {
    given: SredParameters,
    capacity: Capacity,
    zombies: Vec<u32>,
    p: f64,
    /// 1 - (1 - alpha)^n after n comparisons, or 1 if the start is literal.
    begun: f64,
    of_list: Chance,
    chance: Chance,
}

impl Sred {
    fn new(given: SredParameters, capacity: Capacity, mut chance: Chance) -> Sred {
        let begun = match given.start {
            AverageStart::Literal => 1.0,
            AverageStart::Corrected => 0.0,
        };
        let of_list = chance.split("zombies");
        Sred { given, capacity, zombies: Vec::new(), p: 0.0, begun, of_list, chance }
    }

    fn arrive(&mut self, id: u32, ecn: Ecn, fits: bool, queue: &[u64]) -> QueueDecision {
        let hit = self.meet(id);
        if !fits {
            return QueueDecision::Dropped;
        }
        let p_zap = self.p_sred(queue) * self.by_flows(hit);
        if p_zap == 0.0 || self.chance.unit() >= p_zap {
            return QueueDecision::Accepted;
        }
        if ecn == Ecn::NotCapable { QueueDecision::Dropped } else { QueueDecision::Marked }
    }

    /// The packet meets a zombie; whether that is of its own flow.
    fn meet(&mut self, id: u32) -> bool {
        let most = self.given.list.entries as usize;
        let full = self.zombies.len() >= most;
        let idle = self.zombies.is_empty() || (!full && self.given.fill == ListFill::Literal);
        let mut hit = false;
        if !idle {
            let one = self.of_list.below(self.zombies.len() as u64) as usize;
            hit = self.zombies[one] == id;
            if !hit && full && self.of_list.unit() < self.given.list.overwrite {
                self.zombies[one] = id;
            }
            let alpha = self.given.list.weight;
            self.p += alpha * (if hit { 1.0 } else { 0.0 } - self.p);
            self.begun += alpha * (1.0 - self.begun);
        }
        if !full {
            self.zombies.push(id);
        }
        hit
    }

    fn p_sred(&self, queue: &[u64]) -> f64 {
        let (q, b) = match self.capacity {
            Capacity::Packets(most) => (queue.len() as f64, most as f64),
            Capacity::Bytes(most) => (queue.iter().sum::<u64>() as f64, most.0 as f64),
            Capacity::Unlimited => unreachable!("it has no thirds"),
        };
        let p_max = self.given.max_p;
        if q * 3.0 >= b {
            p_max
        } else if q * 6.0 >= b {
            p_max / 4.0
        } else {
            0.0
        }
    }

    /// How many flows there are.
    fn number(&self) -> f64 {
        let most = self.zombies.len() as f64;
        if self.p > 0.0 { (1.0 / (self.p / self.begun)).max(1.0).min(most) } else { most }
    }

    fn by_flows(&self, hit: bool) -> f64 {
        let p = if self.begun == 0.0 { 0.0 } else { self.p / self.begun };
        let product = self.given.flows * p;
        let square = if product <= 1.0 { 1.0 } else { 1.0 / (product * product) };
        match (self.given.law, hit) {
            (SredLaw::Full, true) => square * (1.0 + 1.0 / p),
            _ => square,
        }
    }
}
