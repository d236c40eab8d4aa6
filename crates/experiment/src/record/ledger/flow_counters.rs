//! The counters of one flow in the ledger, by bin, and the integrals of its window.

use fairhaul_units::{Span, real};

use super::binned_series::BinnedSeries;
use super::sparse_series::SparseSeries;
use crate::FlowRow;

/// Windows are summed in this unit, a 2^24th of a packet.
const UNITS_PER_PACKET: f64 = 16_777_216.0;
/// A window that is larger counts as this, packets: 2^38 of the smallest are ten terabytes.
const LARGEST_WINDOW: f64 = 274_877_906_944.0;

/// A window in whole units.
#[inline(always)]
pub(super) fn in_units(packets: f64) -> i64 {
    (packets.min(LARGEST_WINDOW) * UNITS_PER_PACKET) as i64
}

/// The counters of one flow, in three cache lines.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct FlowCounters {
    pub(super) sending: BinnedSeries<Sending>,
    pub(super) arriving: BinnedSeries<Arriving>,
    pub(super) rare_events: Box<SparseSeries<RareEvents>>,
}

const _: () = assert!(size_of::<FlowCounters>() == 192);

/// What a sender does in a bin, and learns: sums of times in picoseconds, and the steps of its window.
#[derive(Clone, Debug, Default)]
pub(super) struct Sending {
    pub(super) cwnd: Change,
    pub(super) sent: u64,
    pub(super) retransmitted: u64,
    pub(super) samples: u64,
    pub(super) rtt_ps: f64,
    pub(super) one_way_ps: f64,
}

const _: () = assert!(size_of::<Sending>() == 64);

/// What seldom happens to a flow in a bin.
#[derive(Clone, Debug, Default)]
pub(super) struct RareEvents {
    pub(super) lost: u64,
    pub(super) copied: u64,
    /// Of the finite thresholds, and of the number of infinite thresholds.
    pub(super) ssthresh: Change,
    pub(super) endless: Change,
    /// Of the number of windows that are not known.
    pub(super) unknown: Change,
    /// What did not fit the sums of the windows and of the finite thresholds.
    pub(super) more_cwnd: i128,
    pub(super) more_ssthresh: i128,
}

/// The steps of a level within one bin, up less down.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, packed(8))]
pub(super) struct Change {
    /// Sum of each step times its time since the start of the bin, ps.
    pub(super) moment: i128,
    /// Sum of the steps, without the sums that [`step`](Change::step) has returned.
    pub(super) sum: i64,
}

impl Change {
    /// One step, `after` the start of the bin. A sum that has no room for it begins anew, and what it was is the
    /// answer: hundreds of connections whose windows are a billion packets get there.
    #[inline(always)]
    #[must_use]
    pub(super) fn step(&mut self, by: i64, after: Span) -> Option<i64> {
        // A run lasts no longer than that fits.
        self.moment += i128::from(by) * i128::from(after.as_ps() as i64);
        let before = self.sum;
        let sum = before.checked_add(by);
        self.sum = sum.unwrap_or(by);
        sum.is_none().then_some(before)
    }

    /// Whether the level stands throughout.
    fn is_none(self) -> bool {
        let Change { moment, sum } = self;
        moment == 0 && sum == 0
    }

    /// The integral over a bin of that length of a level that was `level` at its start, which becomes what
    /// it is at its end.
    pub(super) fn integral(self, level: &mut i128, length: Span) -> i128 {
        *level += i128::from(self.sum);
        *level * i128::from(length.as_ps()) - self.moment
    }
}

/// A level at the start of a bin, in units, and what its mean was over the bin before where it stood.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    units: i128,
    as_before: Option<(Span, f64)>,
}

impl Level {
    /// Its mean over a bin of that length in which it changes so, and by `more`, in packets.
    fn mean(&mut self, change: Change, more: i128, length: Span) -> f64 {
        let stands = change.is_none() && more == 0;
        self.units += more;
        if let Some((as_long, mean)) = self.as_before
            && stands
            && as_long == length
        {
            return mean;
        }
        self.integrate(change, stands, length)
    }

    /// Apart, since most levels stand in most bins.
    #[inline(never)]
    fn integrate(&mut self, change: Change, stands: bool, length: Span) -> f64 {
        let mean = change.integral(&mut self.units, length) as f64 / UNITS_PER_PACKET / real(length.as_ps());
        self.as_before = stands.then_some((length, mean));
        mean
    }
}

/// What a receiver gets in a bin, bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Arriving {
    pub(super) delivered: u64,
    pub(super) goodput: u64,
}

pub(super) fn close_flow(
    counters: FlowCounters,
    carried: impl Iterator<Item = f64>,
    length: &impl Fn(usize) -> Span,
) -> Vec<FlowRow> {
    let (sending, arriving) = (counters.sending.close(), counters.arriving.close());
    let (mut cwnd, mut ssthresh) = (Level::default(), Level::default());
    let (mut endless, mut unknown) = (0, 0);
    let row = |(bin, carried): (usize, f64)| {
        let (sending, arriving) = (&sending[bin], &arriving[bin]);
        let (rare_events, length) = (counters.rare_events.get(bin), length(bin));
        let endless_while = rare_events.map_or(endless, |rare| rare.endless.integral(&mut endless, length));
        let unknown_while = rare_events.map_or(unknown, |rare| rare.unknown.integral(&mut unknown, length));
        let finite = match rare_events {
            Some(rare) => ssthresh.mean(rare.ssthresh, rare.more_ssthresh, length),
            None => ssthresh.mean(Change::default(), 0, length),
        };
        let window = cwnd.mean(sending.cwnd, rare_events.map_or(0, |rare| rare.more_cwnd), length);
        let window = if unknown_while == 0 { window } else { f64::NAN };
        let second = 1e-12 / real(sending.samples);
        FlowRow {
            delivered_bytes: arriving.delivered,
            goodput_bytes: arriving.goodput,
            carried_bytes: carried,
            sent: sending.sent,
            retransmitted: sending.retransmitted,
            copied: rare_events.map_or(0, |rare| rare.copied),
            lost: rare_events.map_or(0, |rare| rare.lost),
            cwnd_packets: window,
            // Where there is no window, there is no threshold either.
            ssthresh_packets: if endless_while == 0 && window > 0.0 { finite } else { f64::NAN },
            rtt_s: sending.rtt_ps * second, // not a number without a sample
            one_way_s: sending.one_way_ps * second,
            rtt_samples: sending.samples,
        }
    };
    (0..sending.len()).zip(carried).map(row).collect()
}
