//! An XCP router, written from its specification once more: it keeps all that came in an interval, and
//! adds it up at the end.

use fairhaul_experiment::LinkSpec;
use fairhaul_units::{Chance, CongestionHeader, Span, Time};

use super::fair::Fair;
use super::link::size;
use super::{Load, Parcel};

/// See the module.
pub struct Xcp {
    alpha: f64,
    beta: f64,
    gamma: f64,
    share: f64,
    min_interval: Span,
    max_interval: f64,
    /// Of the interval under way.
    came: Vec<(u64, Option<CongestionHeader>)>,
    ctl_interval: Span,
    ctl_timer: Time,
    avg_rtt: f64,
    cp: f64,
    cn: f64,
    residue_pos: f64,
    residue_neg: f64,
    queue: f64,
    /// What was left behind by the departures since the last look, and at that.
    seen: Vec<u64>,
    queue_timer: Time,
    /// What the last control interval found.
    f: f64,
    shuffled: f64,
    fair: Option<Fair>,
}

impl Xcp {
    /// That of a link; `None` where it has another queue.
    pub fn of(spec: &LinkSpec, chance: Chance) -> Option<Xcp> {
        if !["xcp", "xcp_tcp"].contains(&spec.queue.entry.name) {
            return None;
        }
        let number = |name| spec.queue.settings.number(name);
        let ms = |name| Span::from_secs(number(name) * 1e-3).max(spec.delay);
        let first = Span::from_ms(50);
        Some(Xcp {
            alpha: number("alpha"),
            beta: number("beta"),
            gamma: number("gamma"),
            share: number("share"),
            min_interval: ms("min_interval"),
            max_interval: ms("max_interval").as_secs(),
            came: Vec::new(),
            ctl_interval: first,
            ctl_timer: Time::ZERO + first,
            avg_rtt: first.as_secs(),
            cp: 0.0,
            cn: 0.0,
            residue_pos: 0.0,
            residue_neg: 0.0,
            queue: 0.0,
            seen: vec![0],
            queue_timer: Time::ZERO + first,
            f: 0.0,
            shuffled: 0.0,
            fair: Fair::of(spec, chance),
        })
    }

    /// What it tells of itself.
    pub fn shows(&self) -> Vec<f64> {
        let own = [self.avg_rtt, self.queue, self.f, self.shuffled];
        own.into_iter().chain(self.fair.iter().flat_map(Fair::shows)).collect()
    }

    /// Both timers, up to `now`; `waiting` bytes wait and the link carries `bps`.
    fn timers(&mut self, now: Time, waiting: u64, bps: u64) {
        let capacity = bps as f64 / 8.0;
        loop {
            if self.queue_timer <= now && self.queue_timer <= self.ctl_timer {
                self.seen.push(waiting);
                self.queue = *self.seen.iter().min().expect("one was pushed") as f64;
                self.seen = vec![waiting];
                let drain = if bps == 0 { self.avg_rtt } else { waiting as f64 / capacity };
                let half = Span::from_secs(((self.avg_rtt - drain) / 2.0).max(0.0));
                self.queue_timer += half.max(Span::from_ms(2));
            } else if self.ctl_timer <= now {
                self.control(capacity * self.share);
            } else {
                break;
            }
        }
        let ctl = Span::from_secs(self.avg_rtt).max(self.min_interval);
        self.fair.iter_mut().for_each(|fair| fair.timer(now, bps, self.avg_rtt, ctl));
    }

    fn control(&mut self, capacity: f64) {
        let mut input = 0.0;
        let (mut sum_x, mut sum_x_rtt) = (0.0, 0.0);
        for (bytes, header) in self.came.drain(..) {
            input += bytes as f64;
            if let Some(header) = header.filter(|header| header.rtt.as_secs() > 0.0) {
                sum_x += header.gap.as_secs();
                sum_x_rtt += header.gap.as_secs() * header.rtt.as_secs().min(self.max_interval);
            }
        }
        let input_bw = input / self.ctl_interval.as_secs();
        self.avg_rtt = if sum_x > 0.0 { sum_x_rtt / sum_x } else { 0.05 };
        let f = self.alpha * (capacity - input_bw) - self.beta * self.queue / self.avg_rtt;
        let shuffled = (self.gamma * input_bw - f.abs()).max(0.0);
        (self.f, self.shuffled) = (f, shuffled);
        self.residue_pos = shuffled + f.max(0.0);
        self.residue_neg = shuffled + (-f).max(0.0);
        self.cp = if sum_x > 0.0 { self.residue_pos / sum_x } else { 0.0 };
        self.cn = if input > 0.0 { self.residue_neg / input } else { 0.0 };
        self.ctl_interval = Span::from_secs(self.avg_rtt).max(self.min_interval);
        self.ctl_timer += self.ctl_interval;
    }

    /// A packet arrives, while `waiting` bytes wait; whether it is let in.
    pub fn arrive(&mut self, parcel: &Parcel, now: Time, waiting: u64, bps: u64) -> bool {
        self.timers(now, waiting, bps);
        let header = if let Load::Data(data) = &parcel.load { data.congestion } else { None };
        self.came.push((size(parcel), header));
        self.fair.as_mut().is_none_or(|fair| fair.arrive(parcel, now))
    }

    /// Nothing leaves, as nothing waits.
    pub fn idle(&mut self, now: Time, bps: u64) {
        self.timers(now, 0, bps);
    }

    /// A packet leaves; with it, `waiting` bytes waited.
    pub fn depart(&mut self, parcel: &mut Parcel, now: Time, waiting: u64, bps: u64) {
        self.timers(now, waiting, bps);
        self.seen.push(waiting - size(parcel));
        self.fair.iter_mut().for_each(|fair| fair.depart(parcel));
        let bytes = size(parcel) as f64;
        let Load::Data(data) = &mut parcel.load else { return };
        let Some(header) = &mut data.congestion else { return };
        let mut pos = self.cp * header.gap.as_secs();
        let mut neg = self.cn * bytes;
        let feedback = pos - neg;
        let delta = f64::from(header.delta);
        if delta > feedback {
            header.delta = libm::rint(feedback) as i32;
        } else {
            neg = self.residue_neg.min(neg + (feedback - delta));
            pos = delta + neg;
        }
        self.residue_pos = (self.residue_pos - pos).max(0.0);
        self.residue_neg = (self.residue_neg - neg).max(0.0);
        self.cp = if self.residue_pos > 0.0 { self.cp } else { 0.0 };
        self.cn = if self.residue_neg > 0.0 { self.cn } else { 0.0 };
    }
}
