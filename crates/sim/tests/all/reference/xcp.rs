//! An XCP router, written from its specification once more: it keeps all that arrived in an interval, and
//! adds it up at the end.

use std::collections::BTreeMap;

use fairhaul_experiment::Scenario;
use fairhaul_path::queue::XcpRule;
use fairhaul_units::{Chance, CongestionHeader, Span, Time};

use super::link::size;
use super::xcp_fairness::Fairness;
use super::{DataOrAck, Packet};

/// See the module.
pub struct Xcp {
    router: Router,
    number: u8,
    /// By the number of the previous router, if it also controls the links between.
    clouds: Option<BTreeMap<u8, Cloud>>,
    probe: f64,
    queueing: f64,
    fairness: Option<Fairness>,
}

/// What comes from one router before, over links that know nothing of XCP.
struct Cloud {
    router: Router,
    /// Transit times of packets in steps of 16 us, of those of the interval under way; and the smallest ever.
    transit_steps: Vec<u64>,
    smallest: u64,
    last_standing: f64,
    probe: f64,
}

/// The laws of a router, real or not.
#[derive(Clone)]
struct Router {
    alpha: f64,
    beta: f64,
    gamma: f64,
    share: f64,
    min_interval: Span,
    max_interval: f64,
    /// Of the interval under way.
    arrived: Vec<(u64, Option<CongestionHeader>)>,
    ctl_interval: Span,
    ctl_timer: Time,
    avg_rtt: f64,
    cp: f64,
    cn: f64,
    residue_pos: f64,
    residue_neg: f64,
    queue: f64,
    /// Backlogs that departures have left since the last update, and at that update.
    backlogs: Vec<u64>,
    queue_timer: Time,
    /// What the last control interval found.
    f: f64,
    shuffled: f64,
}

impl Xcp {
    /// The router of a link; `None` if it has another queue.
    pub fn of(scenario: &Scenario, index: usize, chance: Chance) -> Option<Xcp> {
        let is_xcp = |index: usize| scenario.links[index].queue.entry.answers;
        if !is_xcp(index) {
            return None;
        }
        let spec = &scenario.links[index];
        let given = XcpRule::from(&spec.queue.settings);
        let router = Router {
            alpha: given.alpha,
            beta: given.beta,
            gamma: given.gamma,
            share: given.share,
            min_interval: given.min_interval.max(spec.delay),
            max_interval: given.max_interval.max(spec.delay).as_secs(),
            ..Router::idle()
        };
        Some(Xcp {
            router,
            number: 1 + (0..index).filter(|&index| is_xcp(index)).count() as u8,
            clouds: given.virtual_router.then(BTreeMap::new),
            probe: given.probe,
            queueing: given.queueing * 1e-3,
            fairness: Fairness::of(spec, chance),
        })
    }

    /// Its gauges.
    pub fn gauges(&self) -> Vec<f64> {
        let Router { avg_rtt, queue, f, shuffled, .. } = self.router;
        [avg_rtt, queue, f, shuffled]
            .into_iter()
            .chain(self.fairness.iter().flat_map(Fairness::gauges))
            .collect()
    }

    fn timers(&mut self, now: Time, waiting: u64, bps: u64) {
        self.router.timers(now, waiting, bps);
        let Router { avg_rtt, min_interval, .. } = self.router;
        let ctl_interval = Span::from_secs(avg_rtt).max(min_interval);
        self.fairness.iter_mut().for_each(|fairness| fairness.timer(now, bps, avg_rtt, ctl_interval));
    }

    /// A packet arrives, while `waiting` bytes wait; whether it is let in.
    pub fn arrive(&mut self, packet: &Packet, now: Time, waiting: u64, bps: u64) -> bool {
        self.count(packet, now, waiting, bps);
        self.fairness.as_mut().is_none_or(|fairness| fairness.arrive(packet, now))
    }

    fn count(&mut self, packet: &Packet, now: Time, waiting: u64, bps: u64) {
        self.timers(now, waiting, bps);
        let header = if let DataOrAck::Data(data) = &packet.content { data.congestion } else { None };
        self.router.arrived.push((size(packet), header));
        let Some(header) = header.filter(|header| header.plain > 0 && header.last.get() < 255) else {
            return;
        };
        let Some(clouds) = &mut self.clouds else { return };
        let fresh = || Cloud {
            router: self.router.anew(now),
            transit_steps: Vec::new(),
            smallest: u64::MAX,
            last_standing: 0.0,
            probe: 0.5,
        };
        let cloud = clouds.entry(header.last.get()).or_insert_with(fresh);
        cloud.intervals(now, self.probe, self.queueing);
        let steps = now.as_ps() / 16_000_000 % 65_536;
        let transit_steps = (steps + 65_536 - u64::from(header.left)) % 65_536;
        cloud.smallest = cloud.smallest.min(transit_steps);
        cloud.transit_steps.push(transit_steps);
        cloud.router.arrived.push((size(packet), Some(header)));
    }

    /// Nothing leaves, as nothing waits.
    pub fn idle(&mut self, now: Time, bps: u64) {
        self.timers(now, 0, bps);
    }

    /// A packet leaves; with it, `waiting` bytes waited.
    pub fn depart(&mut self, packet: &mut Packet, now: Time, waiting: u64, bps: u64) {
        self.timers(now, waiting, bps);
        let bytes = size(packet);
        self.fairness.iter_mut().for_each(|fairness| fairness.depart(packet));
        self.router.backlogs.push(waiting - bytes);
        let DataOrAck::Data(data) = &mut packet.content else { return };
        let Some(header) = &mut data.congestion else { return };
        let from = if header.plain > 0 { header.last.get() } else { 255 };
        if let Some(cloud) = self.clouds.as_mut().and_then(|clouds| clouds.get_mut(&from)) {
            cloud.intervals(now, self.probe, self.queueing);
            cloud.router.answer(bytes, header);
        }
        self.router.answer(bytes, header);
        header.left = (now.as_ps() / 16_000_000 % 65_536) as u16;
        header.plain = 0;
        header.last = self.number.try_into().expect("it is not zero");
    }
}

impl Cloud {
    /// The intervals that have ended by `now`.
    fn intervals(&mut self, now: Time, probe: f64, queueing: f64) {
        while self.router.ctl_timer <= now {
            let interval = self.router.ctl_interval.as_secs();
            let output_bw = self.router.input() / interval;
            let least = self.transit_steps.drain(..).min().unwrap_or(self.smallest.min(65_535));
            let standing = Span::from_us(16 * (least - self.smallest.min(least))).as_secs();
            let grown = standing - self.last_standing;
            self.last_standing = standing;
            let input_bw = output_bw * interval / (interval - grown).max(interval / 2.0);
            let mut capacity = output_bw;
            if standing > queueing {
                self.probe = probe;
            } else {
                capacity = output_bw * (1.0 + self.probe);
                self.probe = (self.probe * 2.0).min(0.5);
            }
            self.router.queue = standing * output_bw;
            self.router.control(capacity, input_bw);
        }
    }
}

impl Router {
    /// Without its numbers.
    fn idle() -> Router {
        let first = Span::from_ms(50);
        Router {
            alpha: 0.0,
            beta: 0.0,
            gamma: 0.0,
            share: 0.0,
            min_interval: Span::ZERO,
            max_interval: 0.0,
            arrived: Vec::new(),
            ctl_interval: first,
            ctl_timer: Time::ZERO + first,
            avg_rtt: first.as_secs(),
            cp: 0.0,
            cn: 0.0,
            residue_pos: 0.0,
            residue_neg: 0.0,
            queue: 0.0,
            backlogs: vec![0],
            queue_timer: Time::ZERO + first,
            f: 0.0,
            shuffled: 0.0,
        }
    }

    /// One with the same numbers that begins at `now`.
    fn anew(&self, now: Time) -> Router {
        let Router { alpha, beta, gamma, share, min_interval, max_interval, .. } = *self;
        let ctl_timer = now + Span::from_ms(50);
        Router { alpha, beta, gamma, share, min_interval, max_interval, ctl_timer, ..Router::idle() }
    }

    fn input(&self) -> f64 {
        self.arrived.iter().map(|(bytes, _)| *bytes as f64).sum()
    }

    /// Both timers, up to `now`; `waiting` bytes wait and the link carries `bps`.
    fn timers(&mut self, now: Time, waiting: u64, bps: u64) {
        let capacity = bps as f64 / 8.0;
        loop {
            if self.queue_timer <= now && self.queue_timer <= self.ctl_timer {
                self.backlogs.push(waiting);
                self.queue = *self.backlogs.iter().min().expect("one was pushed") as f64;
                self.backlogs = vec![waiting];
                let drain = if bps == 0 { self.avg_rtt } else { waiting as f64 / capacity };
                let half = Span::from_secs(((self.avg_rtt - drain) / 2.0).max(0.0));
                self.queue_timer += half.max(Span::from_ms(2));
            } else if self.ctl_timer <= now {
                self.control(capacity * self.share, self.input() / self.ctl_interval.as_secs());
            } else {
                return;
            }
        }
    }

    fn control(&mut self, capacity: f64, input_bw: f64) {
        let input = self.input();
        let (mut sum_x, mut sum_x_rtt) = (0.0, 0.0);
        for (_, header) in self.arrived.drain(..) {
            if let Some(header) = header.filter(|header| header.rtt.as_secs() > 0.0) {
                sum_x += header.gap.as_secs();
                sum_x_rtt += header.gap.as_secs() * header.rtt.as_secs().min(self.max_interval);
            }
        }
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

    /// How much it grants of what a packet requests.
    fn answer(&mut self, bytes: u64, header: &mut CongestionHeader) {
        let mut pos = self.cp * header.gap.as_secs();
        let mut neg = self.cn * bytes as f64;
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
