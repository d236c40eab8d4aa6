//! The counters of one link in the ledger, by bin, and the integrals of its backlog.

use fairhaul_path::{Burst, Departure, LinkPacket, WORK_PER_BYTE};
use fairhaul_units::{Histogram, Span, Time};

use super::binned_series::BinnedSeries;
use crate::{DelayRow, Grid, LinkRow};

/// The counters of one direction of a link.
#[derive(Clone, Debug)]
pub(super) struct LinkCounters {
    pub(super) arriving: BinnedSeries<Offered>,
    pub(super) leaving: BinnedSeries<Departed>,
    /// By bin: what of that which was taken then was dropped, and what was marked.
    pub(super) rare_events: Vec<[u64; 2]>,
    /// By bin: what was sent, in the unit of [`WORK_PER_BYTE`].
    pub(super) work: Vec<u128>,
    /// How long the packets took that have left since figures are taken, or until now where that is later.
    pub(super) delays: Histogram,
    pub(super) delays_are_measured: bool,
}

/// What is offered to a link in a bin.
#[derive(Clone, Debug, Default)]
pub(super) struct Offered {
    pub(super) refused: u64,
    pub(super) packets: LevelSteps,
    pub(super) bytes: LevelSteps,
}

/// What leaves the queue of a link in a bin.
#[derive(Clone, Debug, Default)]
pub(super) struct Departed {
    pub(super) busy_ps: u64,
    pub(super) packets: LevelSteps,
    pub(super) bytes: LevelSteps,
}

impl Departed {
    /// A packet of `size` leaves.
    #[inline(always)]
    pub(super) fn steps(&mut self, size: u32, after: Span) {
        self.packets.step(1, after);
        self.bytes.step(size, after);
    }
}

/// The steps of a level within one bin, up or down.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LevelSteps {
    /// How far they lead.
    pub(super) sum: u64,
    /// Sum of each step times its time since the start of the bin, ps.
    pub(super) moment: u128,
}

impl LevelSteps {
    #[inline(always)]
    pub(super) fn step(&mut self, by: u32, after: Span) {
        self.sum += u64::from(by);
        self.moment += u128::from(by) * u128::from(after.as_ps());
    }

    /// `steps` equal steps, the first of them `after` the start of the bin and the others `apart`.
    pub(super) fn equal_steps(&mut self, by: u32, after: Span, steps: u8, apart: Span) {
        let (by, steps) = (u128::from(by), u128::from(steps));
        let gaps = steps * (steps - 1) / 2;
        self.sum += (by * steps) as u64;
        self.moment += by * (steps * u128::from(after.as_ps()) + gaps * u128::from(apart.as_ps()));
    }
}

/// The mean over a bin of that length of a level that was `level` at its start, which becomes what it is
/// at its end.
pub(super) fn mean(level: &mut u64, up: LevelSteps, down: LevelSteps, length: Span) -> f64 {
    *level = *level + up.sum - down.sum;
    let length = u128::from(length.as_ps());
    (u128::from(*level) * length + down.moment - up.moment) as f64 / length as f64
}

impl LinkCounters {
    /// A packet is taken into the queue.
    #[inline(always)]
    pub(super) fn enqueue(&mut self, grid: &Grid, size: u32, now: Time) {
        let series = &mut self.arriving;
        if series.at(grid, now).is_some() {
            let after = now - series.from;
            series.open.packets.step(1, after);
            series.open.bytes.step(size, after);
        }
    }

    /// The packets of a burst are taken into the queue, if they are within the bin of the packet before: whether they are.
    pub(super) fn enqueue_burst(&mut self, size: u32, burst: Burst, now: Time) -> bool {
        let (Burst { packets, spacing }, series) = (burst, &mut self.arriving);
        if now < series.from || now + spacing * u64::from(packets) >= series.to {
            return false;
        }
        let after = now - series.from;
        series.open.packets.equal_steps(1, after, packets, spacing);
        series.open.bytes.equal_steps(size, after, packets, spacing);
        true
    }

    /// The packets of a burst leave the queue right behind each other, the first of which was offered at `offered`, if they do so
    /// within one bin: that bin.
    pub(super) fn depart_burst(
        &mut self,
        grid: &Grid,
        packet: &LinkPacket,
        burst: Burst,
        offered: Time,
        first: Departure,
    ) -> Option<usize> {
        let Burst { packets, spacing } = burst;
        let last = first.of_follower(u64::from(packets) - 1).departs;
        let is_in_one_bin = self.leaving.at(grid, first.began()).is_some() && last < self.leaving.to;
        self.measure_delays(first.departs, grid.measured);
        if !is_in_one_bin {
            return None;
        }
        let (Departure { departs, on_wire, .. }, series) = (first, &mut self.leaving);
        self.delays.add_all(departs - offered, on_wire - spacing, packets);
        series.open.busy_ps += (on_wire * u64::from(packets)).as_ps();
        series.open.packets.equal_steps(1, departs - series.from, packets, on_wire);
        series.open.bytes.equal_steps(packet.size, departs - series.from, packets, on_wire);
        Some(series.bin)
    }

    /// A packet that was offered at `offered` leaves the queue, if it does so within the bin of the packet before: that bin.
    #[inline(always)]
    pub(super) fn depart(
        &mut self,
        packet: &LinkPacket,
        offered: Time,
        departure: Departure,
    ) -> Option<usize> {
        let LinkCounters { leaving: series, delays, .. } = self;
        let (began, departs) = departure.on_link();
        if began < series.from || departs >= series.to {
            return None;
        }
        delays.add(departs - offered, 1);
        series.open.busy_ps += departure.on_wire.as_ps();
        series.open.steps(packet.size, departs - series.from);
        Some(series.bin)
    }

    /// A packet leaves the queue at `now`, perhaps in another bin than the one before it: what left before the measured
    /// time is forgotten.
    pub(super) fn measure_delays(&mut self, now: Time, measured: Time) {
        if !self.delays_are_measured && now >= measured {
            self.delays.clear();
            self.delays_are_measured = true;
        }
    }
}

pub(super) fn close_delays(delays: &Histogram) -> Vec<DelayRow> {
    let row = |(from, below, packets): (Span, Span, u64)| DelayRow {
        from_s: from.as_secs(),
        below_s: below.as_secs(),
        packets,
    };
    delays.buckets().map(row).collect()
}

pub(super) fn close_link(counters: LinkCounters, length: &impl Fn(usize) -> Span) -> Vec<LinkRow> {
    let (arriving, leaving) = (counters.arriving.close(), counters.leaving.close());
    let (mut packets, mut bytes) = (0, 0);
    let row = |bin: usize| {
        let (offered, left, length) = (&arriving[bin], &leaving[bin], length(bin));
        let [dropped, marked] = counters.rare_events[bin];
        LinkRow {
            busy_s: Span::from_ps(left.busy_ps).as_secs(),
            arrived: offered.refused + offered.packets.sum,
            dropped: offered.refused + dropped,
            marked,
            backlog_packets: mean(&mut packets, offered.packets, left.packets, length),
            backlog_bytes: mean(&mut bytes, offered.bytes, left.bytes, length),
            sent_bytes: counters.work[bin] as f64 / WORK_PER_BYTE as f64,
        }
    };
    (0..arriving.len()).map(row).collect()
}
