//! The books of a run: what happened, in bins of the time at which it happened.
//!
//! Parts of the engine run ahead of the clock, so nothing is read at a tick. A counter is added to
//! the bin of its own event. A level whose steps are known (the backlog of a link) is booked as its
//! steps, in integers, so that the order of booking does not matter; what a step adds to the bins
//! after its own is summed when the books are closed. A level that is known only up to now (a window)
//! is added as the integral over the time that it stood; a flow's sender and its receiver each book
//! in the order of their own time.

use crate::{EventRow, FlowRow, Grid, LinkRow, Record, TransferRow};
use fairhaul_units::{Span, Time, real};

/// Cells by bin, of which the one of the last time lies open: times mostly stay in the bin of the one
/// before.
#[derive(Clone, Debug)]
struct Pages<T> {
    open: T,
    from: Time,
    to: Time,
    bin: usize,
    /// The place of the open one is empty.
    cells: Vec<T>,
}

impl<T: Clone + Default> Pages<T> {
    fn new(grid: &Grid) -> Pages<T> {
        let (from, to) = (grid.start(0), grid.start(1));
        Pages { open: T::default(), from, to, bin: 0, cells: vec![T::default(); grid.len()] }
    }

    /// The cell of the bin that holds `time`; `None` from the end of the run on.
    #[inline(always)]
    fn at(&mut self, grid: &Grid, time: Time) -> Option<&mut T> {
        if (self.from <= time && time < self.to) || self.turn(grid, time) {
            Some(&mut self.open)
        } else {
            None
        }
    }

    #[inline(never)]
    fn turn(&mut self, grid: &Grid, time: Time) -> bool {
        if time >= grid.end {
            return false;
        }
        std::mem::swap(&mut self.open, &mut self.cells[self.bin]);
        self.bin = grid.bin(time);
        std::mem::swap(&mut self.open, &mut self.cells[self.bin]);
        (self.from, self.to) = (grid.start(self.bin), grid.start(self.bin + 1));
        true
    }

    /// Calls `book(cell, part)` for each part of `from..to` that lies in one bin.
    #[inline(always)]
    fn split(&mut self, grid: &Grid, from: Time, to: Time, mut book: impl FnMut(&mut T, Span)) {
        if self.from <= from && to <= self.to {
            return book(&mut self.open, to - from);
        }
        let mut from = from;
        while from < to && self.at(grid, from).is_some() {
            let until = self.to.min(to);
            book(&mut self.open, until - from);
            from = until;
        }
    }

    fn close(mut self) -> Vec<T> {
        self.cells[self.bin] = self.open;
        self.cells
    }
}

/// The book of one flow, in three cache lines.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct FlowBook {
    sending: Pages<Sending>,
    arriving: Pages<Arriving>,
    lost: Vec<u64>,
}

const _: () = assert!(size_of::<FlowBook>() == 192);

/// What a sender does in a bin, and learns: sums of times in picoseconds, and the integrals of its
/// window, packets times picoseconds.
#[derive(Clone, Debug, Default)]
struct Sending {
    sent: u64,
    retransmitted: u64,
    samples: u64,
    rtt_ps: f64,
    one_way_ps: f64,
    cwnd: f64,
    ssthresh: f64,
}

/// What a receiver gets in a bin, bytes.
#[derive(Clone, Debug, Default)]
struct Arriving {
    delivered: u64,
    goodput: u64,
}

/// The book of one direction of a link.
#[derive(Clone, Debug)]
struct LinkBook {
    arriving: Pages<Offered>,
    leaving: Pages<Left>,
    /// By bin: what was dropped after it had been taken, what was marked, and what was sent, bytes.
    rare: Vec<[u64; 3]>,
}

/// What is offered to a link in a bin.
#[derive(Clone, Debug, Default)]
struct Offered {
    refused: u64,
    packets: Steps,
    bytes: Steps,
}

/// What leaves the queue of a link in a bin.
#[derive(Clone, Debug, Default)]
struct Left {
    busy_ps: u64,
    packets: Steps,
    bytes: Steps,
}

/// The steps of a level within one bin, up or down.
#[derive(Clone, Copy, Debug, Default)]
struct Steps {
    /// How far they lead.
    sum: u64,
    /// Sum of each step times its time since the start of the bin, ps.
    moment: u128,
}

impl Steps {
    #[inline(always)]
    fn step(&mut self, by: u32, after: Span) {
        self.sum += u64::from(by);
        self.moment += u128::from(by) * u128::from(after.as_ps());
    }
}

/// The mean over a bin of that length of a level that was `level` at its start, which becomes what it is
/// at its end.
fn mean(level: &mut u64, up: Steps, down: Steps, length: Span) -> f64 {
    *level = *level + up.sum - down.sum;
    let length = u128::from(length.as_ps());
    (u128::from(*level) * length + down.moment - up.moment) as f64 / length as f64
}

/// The books of all flows and links.
#[derive(Clone, Debug)]
pub struct Ledger {
    grid: Grid,
    flows: Vec<FlowBook>,
    links: Vec<LinkBook>,
    /// What the queue of each link has told of itself at the starts of bins.
    gauges: Vec<Vec<f64>>,
    events: Vec<EventRow>,
    packets: u64,
}

impl Ledger {
    /// Empty books.
    pub fn new(grid: Grid, flows: usize, links: usize) -> Ledger {
        let bins = grid.len();
        let flow = FlowBook { sending: Pages::new(&grid), arriving: Pages::new(&grid), lost: vec![0; bins] };
        let link =
            LinkBook { arriving: Pages::new(&grid), leaving: Pages::new(&grid), rare: vec![[0; 3]; bins] };
        Ledger {
            grid,
            flows: vec![flow; flows],
            links: vec![link; links],
            gauges: vec![Vec::new(); links],
            events: Vec::new(),
            packets: 0,
        }
    }

    /// The end of the run: what happens at or after it is not booked.
    pub fn end(&self) -> Time {
        self.grid.end
    }

    /// Where the queue of a link tells what its gauges show at `now`, the start of a bin, and when that of the next is.
    pub fn gauges(&mut self, link: u32, now: Time) -> (&mut Vec<f64>, Time) {
        let next = self.grid.start(self.grid.bin(now) + 1);
        let next = if next < self.grid.end { next } else { Time::NEVER };
        (&mut self.gauges[link as usize], next)
    }

    /// A data packet leaves its sender.
    #[inline(always)]
    pub fn sent(&mut self, flow: u32, again: bool, now: Time) {
        if let Some(cell) = self.flows[flow as usize].sending.at(&self.grid, now) {
            cell.sent += 1;
            cell.retransmitted += u64::from(again);
        }
    }

    /// A data packet arrives: its payload, whether it is new, and the new payload in order; whether
    /// that is before the end.
    #[inline(always)]
    pub fn delivered(&mut self, flow: u32, payload: u64, fresh: bool, in_order: u64, now: Time) -> bool {
        let Some(cell) = self.flows[flow as usize].arriving.at(&self.grid, now) else { return false };
        cell.delivered += payload;
        cell.goodput += in_order;
        self.packets += u64::from(fresh);
        true
    }

    /// A data packet is dropped, by a queue or behind it.
    pub fn lost(&mut self, flow: u32, now: Time) {
        if now < self.grid.end {
            self.flows[flow as usize].lost[self.grid.bin(now)] += 1;
        }
    }

    /// A sender's window stood at these values from `from` to `to`.
    #[inline(always)]
    pub fn stood(&mut self, flow: u32, cwnd: f64, ssthresh: f64, from: Time, to: Time) {
        self.flows[flow as usize].sending.split(&self.grid, from, to, |cell, part| {
            let part = real(part.as_ps());
            cell.cwnd += cwnd * part;
            cell.ssthresh += ssthresh * part;
        });
    }

    /// An acknowledgement brings a sample.
    #[inline(always)]
    pub fn sampled(&mut self, flow: u32, rtt: Span, one_way: Span, now: Time) {
        if let Some(cell) = self.flows[flow as usize].sending.at(&self.grid, now) {
            cell.rtt_ps += real(rtt.as_ps());
            cell.one_way_ps += real(one_way.as_ps());
            cell.samples += 1;
        }
    }

    /// Something happened to a flow.
    pub fn event(&mut self, kind: &'static str, flow: u32, value: f64, now: Time) {
        self.events.push(EventRow { t_s: now.as_secs(), kind, flow, value });
    }

    /// A packet is offered to a link, which refuses it.
    pub fn refused(&mut self, link: u32, now: Time) {
        if let Some(cell) = self.links[link as usize].arriving.at(&self.grid, now) {
            cell.refused += 1;
        }
    }

    /// A packet of `size` is offered to a link, and taken into its queue.
    #[inline(always)]
    pub fn taken(&mut self, link: u32, size: u32, now: Time) {
        let pages = &mut self.links[link as usize].arriving;
        if pages.at(&self.grid, now).is_some() {
            let after = now - pages.from;
            pages.open.packets.step(1, after);
            pages.open.bytes.step(size, after);
        }
    }

    /// The last bit of a packet of `size` leaves a link's queue at `departs`; it was on its way out for
    /// the last `on_wire`.
    #[inline(always)]
    pub fn passed(&mut self, link: u32, size: u32, departs: Time, on_wire: Span) {
        let pages = &mut self.links[link as usize].leaving;
        let began = Time::from_ps(departs.as_ps() - on_wire.as_ps());
        pages.split(&self.grid, began, departs, |cell, part| cell.busy_ps += part.as_ps());
        self.leaves(link, size, departs);
    }

    /// A packet of `size` is no longer in a link's queue.
    #[inline(always)]
    fn leaves(&mut self, link: u32, size: u32, now: Time) {
        let pages = &mut self.links[link as usize].leaving;
        if pages.at(&self.grid, now).is_some() {
            let after = now - pages.from;
            pages.open.packets.step(1, after);
            pages.open.bytes.step(size, after);
        }
    }

    /// A link drops a packet of `size` from its queue.
    pub fn dropped(&mut self, link: u32, size: u32, now: Time) {
        self.leaves(link, size, now);
        self.lost_behind(link, now);
    }

    /// A link loses a packet behind its queue.
    pub fn lost_behind(&mut self, link: u32, now: Time) {
        self.rarely(link, 0, 1, now);
    }

    /// A link's queue marks a packet.
    pub fn marked(&mut self, link: u32, now: Time) {
        self.rarely(link, 1, 1, now);
    }

    /// The last bit of a packet of `size` leaves a link's queue, where what it sends is counted.
    pub fn sends(&mut self, link: u32, size: u32, now: Time) {
        self.rarely(link, 2, size.into(), now);
    }

    fn rarely(&mut self, link: u32, which: usize, by: u64, now: Time) {
        if now < self.grid.end {
            self.links[link as usize].rare[self.grid.bin(now)][which] += by;
        }
    }

    /// Closes the books of a run of `engine` that made these transfers.
    pub fn close(mut self, engine: &'static str, transfers: Vec<TransferRow>) -> Record {
        let grid = self.grid;
        let length = |bin| grid.start(bin + 1) - grid.start(bin);
        let flows = self.flows.into_iter().map(|book| close_flow(book, &length)).collect();
        let links = self.links.into_iter().map(|book| close_link(book, &length)).collect();
        self.events.sort_by(|a, b| {
            let by_time = a.t_s.total_cmp(&b.t_s).then(a.flow.cmp(&b.flow));
            by_time.then(a.kind.cmp(b.kind)).then(a.value.total_cmp(&b.value))
        });
        Record {
            engine,
            grid,
            flows,
            links,
            gauges: self.gauges,
            transfers,
            events: self.events,
            packets: self.packets,
        }
    }
}

fn close_flow(book: FlowBook, length: &impl Fn(usize) -> Span) -> Vec<FlowRow> {
    let (sending, arriving) = (book.sending.close(), book.arriving.close());
    let row = |bin: usize| {
        let (sending, arriving) = (&sending[bin], &arriving[bin]);
        let length = real(length(bin).as_ps());
        let ssthresh = sending.ssthresh / length;
        let second = 1e-12 / real(sending.samples);
        FlowRow {
            delivered_bytes: arriving.delivered,
            goodput_bytes: arriving.goodput,
            sent: sending.sent,
            retransmitted: sending.retransmitted,
            lost: book.lost[bin],
            cwnd_packets: sending.cwnd / length,
            ssthresh_packets: if ssthresh.is_finite() { ssthresh } else { f64::NAN },
            rtt_s: sending.rtt_ps * second, // not a number without a sample
            one_way_s: sending.one_way_ps * second,
            rtt_samples: sending.samples,
        }
    };
    (0..sending.len()).map(row).collect()
}

fn close_link(book: LinkBook, length: &impl Fn(usize) -> Span) -> Vec<LinkRow> {
    let (arriving, leaving) = (book.arriving.close(), book.leaving.close());
    let (mut packets, mut bytes) = (0, 0);
    let row = |bin: usize| {
        let (offered, left, length) = (&arriving[bin], &leaving[bin], length(bin));
        let [dropped, marked, sent_bytes] = book.rare[bin];
        LinkRow {
            busy_s: Span::from_ps(left.busy_ps).as_secs(),
            arrived: offered.refused + offered.packets.sum,
            dropped: offered.refused + dropped,
            marked,
            backlog_packets: mean(&mut packets, offered.packets, left.packets, length),
            backlog_bytes: mean(&mut bytes, offered.bytes, left.bytes, length),
            sent_bytes,
        }
    };
    (0..arriving.len()).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    #[test]
    fn a_level_is_split_between_the_bins_that_it_stood_in() {
        // 10 s in bins of 10 ms. Window 4 from 5 to 25 ms: 2 in the first bin, 4, 2.
        let mut ledger = Ledger::new(grid(Span::from_s(10), Span::ZERO, 1), 1, 1);
        ledger.stood(0, 4.0, f64::INFINITY, at(5), at(25));
        ledger.taken(0, 1000, at(5));
        ledger.passed(0, 1000, at(25), Span::from_ms(10));
        let Record { flows, links, .. } = ledger.close("sim", Vec::new());
        let cwnd: Vec<f64> = flows[0][..4].iter().map(|r| r.cwnd_packets).collect();
        assert_eq!(cwnd.iter().map(|c| (c * 1e9).round() / 1e9).collect::<Vec<_>>(), [2.0, 4.0, 2.0, 0.0]);
        assert!(flows[0][0].ssthresh_packets.is_nan());
        let busy: Vec<f64> = links[0][..4].iter().map(|r| r.busy_s).collect();
        assert_eq!(busy, [0.0, 0.005, 0.005, 0.0]);
        let backlog: Vec<(f64, f64)> =
            links[0].iter().map(|r| (r.backlog_packets, r.backlog_bytes)).collect();
        assert_eq!(backlog[..4], [(0.5, 500.0), (1.0, 1000.0), (0.5, 500.0), (0.0, 0.0)]);
    }

    #[test]
    fn what_happens_at_the_end_or_later_is_not_booked() {
        let mut ledger = Ledger::new(grid(Span::from_s(1), Span::ZERO, 1), 1, 1);
        ledger.sent(0, false, at(1000));
        ledger.delivered(0, 960, true, 960, at(1500));
        ledger.taken(0, 1000, at(999));
        ledger.passed(0, 1000, at(2000), Span::from_ms(1));
        let Record { flows, links, packets, .. } = ledger.close("sim", Vec::new());
        assert!(flows[0].iter().all(|r| r.sent == 0 && r.delivered_bytes == 0) && packets == 0);
        assert_eq!(links[0].iter().map(|r| r.busy_s).sum::<f64>(), 0.0);
        // It stood in the queue for the last of 1000 bins of 1 ms.
        assert_eq!(links[0].iter().map(|r| r.backlog_packets).sum::<f64>(), 1.0);
    }
}
