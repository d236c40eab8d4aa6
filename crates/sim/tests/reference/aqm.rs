//! Queues that drop or mark before they are full, written from their sources once more: what they
//! measure is the queue as it stands, packet by packet.

use fairhaul_experiment::LinkSpec;
use fairhaul_units::{Chance, Ecn, Settings, Span, Time};

/// What becomes of a packet that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Taken,
    /// Taken, and marked where it can be.
    Marked,
    Dropped,
}

/// A queue that manages itself.
pub enum Aqm {
    Red(Red),
}

impl Aqm {
    /// That of a link; `None` for a drop-tail queue.
    pub fn of(spec: &LinkSpec, chance: Chance) -> Option<Aqm> {
        match spec.queue.entry.name {
            "red" => Some(Aqm::Red(Red::new(&spec.queue.settings, spec.rate.as_bps() as f64, chance))),
            _ => None,
        }
    }

    /// A packet arrives at a queue of these sizes, of which the first is being sent; whether it fits,
    /// and when the last packet left.
    pub fn arrive(&mut self, size: u64, ecn: Ecn, fits: bool, queue: &[u64], left: Time, now: Time) -> Fate {
        match self {
            Aqm::Red(red) => red.arrive(size, ecn, fits, queue, left, now),
        }
    }
}

/// RED with its variables under the names of ns-2.
pub struct Red {
    settings: Settings,
    ptc: f64,
    ave: f64,
    cur_max_p: f64,
    lastset: Time,
    count: f64,
    old: bool,
    chance: Chance,
}

impl Red {
    fn new(settings: &Settings, bps: f64, chance: Chance) -> Red {
        Red {
            ptc: bps / (8.0 * settings.number("mean_packet")),
            cur_max_p: settings.number("max_p"),
            settings: settings.clone(),
            ave: 0.0,
            lastset: Time::ZERO,
            count: 0.0,
            old: false,
            chance,
        }
    }

    fn arrive(&mut self, size: u64, ecn: Ecn, fits: bool, queue: &[u64], left: Time, now: Time) -> Fate {
        let get = |name: &str| self.settings.number(name);
        let mean = get("mean_packet");
        let in_bytes = self.settings.switch("queue_in_bytes");
        let unit = if in_bytes { mean } else { 1.0 };
        let (th_min, th_max) = (get("min_threshold") * unit, get("max_threshold") * unit);
        let waiting = queue.get(1..).unwrap_or_default();
        let length = if in_bytes { waiting.iter().sum() } else { waiting.len() as u64 } as f64;
        let m = if queue.is_empty() { (self.ptc * now.since(left).as_secs()) as u64 } else { 0 };
        let w = get("q_weight");
        self.ave = libm::pow(1.0 - w, (m + 1) as f64) * self.ave + w * length;
        self.adapt(th_min, th_max, now);
        let weighs = if self.settings.switch("drop_in_bytes") { size as f64 / mean } else { 1.0 };
        self.count += weighs;
        let end = if self.settings.switch("gentle") { 2.0 * th_max } else { th_max };
        let mut fate = Fate::Taken;
        if self.ave < th_min || waiting.len() < 2 {
            self.old = false;
        } else if self.ave >= end {
            fate = Fate::Dropped;
        } else if !self.old {
            (self.old, self.count) = (true, weighs);
        } else {
            fate = self.early(ecn, weighs, th_min, th_max);
        }
        if fate == Fate::Dropped || !fits {
            self.count = 0.0;
            return Fate::Dropped;
        }
        fate
    }

    fn early(&mut self, ecn: Ecn, weighs: f64, th_min: f64, th_max: f64) -> Fate {
        let p = if self.ave < th_max {
            self.cur_max_p * (self.ave - th_min) / (th_max - th_min)
        } else {
            self.cur_max_p + (1.0 - self.cur_max_p) * (self.ave - th_max) / th_max
        };
        let due = self.count * p;
        let earliest = if self.settings.switch("wait") { 1.0 } else { 0.0 };
        let spread = match due - earliest {
            _ if due >= earliest + 1.0 => 1.0,
            _ if due < earliest => 0.0,
            _ => (p / (earliest + 1.0 - due)).min(1.0),
        };
        let spread = if spread < 1.0 { spread * weighs } else { 1.0 };
        if spread == 0.0 || self.chance.unit() >= spread {
            return Fate::Taken;
        }
        self.count = 0.0;
        let markable = ecn != Ecn::NotCapable && p < self.settings.number("mark_p");
        if markable { Fate::Marked } else { Fate::Dropped }
    }

    fn adapt(&mut self, th_min: f64, th_max: f64, now: Time) {
        let get = |name: &str| self.settings.number(name);
        let ripe = now.since(self.lastset) > Span::from_secs(get("interval"));
        if !self.settings.switch("adaptive") || !ripe {
            return;
        }
        let part = 0.4 * (th_max - th_min);
        let before = self.cur_max_p;
        if self.ave < th_min + part && before > get("bottom") {
            self.cur_max_p *= get("beta");
        } else if self.ave > th_max - part && before < get("top") {
            self.cur_max_p += get("alpha").min(before / 4.0);
        }
        if self.cur_max_p != before {
            self.lastset = now;
        }
    }
}
