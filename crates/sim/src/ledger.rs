//! The books of a run: what happened, in bins of the time at which it happened.
//!
//! Parts of the engine run ahead of the clock, so nothing is read at a tick. A counter is added to
//! the bin of its own event. A level whose steps are known (the backlog of a link) is booked as its
//! steps, in integers, so that the order of booking does not matter; what a step adds to the bins
//! after its own is summed when the books are closed. A level that is known only up to now (a window)
//! is added as the integral over the time that it stood; a flow's sender and its receiver each book
//! in the order of their own time.

use fairhaul_experiment::{EventRow, FlowRow, Grid, LinkRow, Record, TransferRow};
use fairhaul_units::{Span, Time};

/// Finds the bin of a time quickly where times mostly stay in the bin of the one before.
#[derive(Clone, Copy, Debug, Default)]
struct Cursor {
    from: Time,
    to: Time,
    bin: usize,
}

impl Cursor {
    /// The bin that holds `time`; `None` from the end of the run on.
    #[inline(always)]
    fn at(&mut self, grid: &Grid, time: Time) -> Option<usize> {
        if self.from <= time && time < self.to { Some(self.bin) } else { self.turn(grid, time) }
    }

    #[inline(never)]
    fn turn(&mut self, grid: &Grid, time: Time) -> Option<usize> {
        if time >= grid.end {
            return None;
        }
        self.bin = grid.bin(time);
        (self.from, self.to) = (grid.start(self.bin), grid.start(self.bin + 1));
        Some(self.bin)
    }

    /// Calls `book(bin, part)` for each part of `from..to` that lies in one bin.
    #[inline(always)]
    fn split(&mut self, grid: &Grid, from: Time, to: Time, mut book: impl FnMut(usize, Span)) {
        let mut from = from;
        while from < to
            && let Some(bin) = self.at(grid, from)
        {
            let until = self.to.min(to);
            book(bin, until - from);
            from = until;
        }
    }
}

/// The book of one flow. Until it is closed, means hold sums, of times in picoseconds.
#[derive(Clone, Debug)]
struct FlowBook {
    rows: Vec<FlowRow>,
    sending: Cursor,
    standing: Cursor,
    arriving: Cursor,
}

/// The book of one direction of a link.
#[derive(Clone, Debug)]
struct LinkBook {
    cells: Vec<LinkCell>,
    arriving: Cursor,
    leaving: Cursor,
}

#[derive(Clone, Copy, Debug, Default)]
struct LinkCell {
    busy_ps: u64,
    arrived: u64,
    dropped: u64,
    marked: u64,
    sent_bytes: u64,
    packets: Steps,
    bytes: Steps,
}

/// The steps of a level within one bin.
#[derive(Clone, Copy, Debug, Default)]
struct Steps {
    /// By how much it is higher at the end.
    change: i64,
    /// Sum of each step times its time since the start of the bin, ps.
    moment: i128,
}

impl Steps {
    #[inline(always)]
    fn rise(&mut self, by: u32, after: Span) {
        self.change += i64::from(by);
        self.moment += (u128::from(by) * u128::from(after.as_ps())) as i128;
    }

    #[inline(always)]
    fn fall(&mut self, by: u32, after: Span) {
        self.change -= i64::from(by);
        self.moment -= (u128::from(by) * u128::from(after.as_ps())) as i128;
    }

    /// The integral over a bin of that length of a level that was `level` at its start, which becomes
    /// what it is at its end.
    fn close(&self, level: &mut i64, length: Span) -> f64 {
        *level += self.change;
        (i128::from(*level) * i128::from(length.as_ps()) - self.moment) as f64
    }
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
        let flow = FlowBook {
            rows: vec![FlowRow::default(); bins],
            sending: Cursor::default(),
            standing: Cursor::default(),
            arriving: Cursor::default(),
        };
        let link = LinkBook {
            cells: vec![LinkCell::default(); bins],
            arriving: Cursor::default(),
            leaving: Cursor::default(),
        };
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
        let book = &mut self.flows[flow as usize];
        if let Some(bin) = book.sending.at(&self.grid, now) {
            let row = &mut book.rows[bin];
            row.sent += 1;
            row.retransmitted += u64::from(again);
        }
    }

    /// A data packet arrives: its payload, whether it is new, and the new payload in order; whether
    /// that is before the end.
    #[inline(always)]
    pub fn delivered(&mut self, flow: u32, payload: u64, fresh: bool, in_order: u64, now: Time) -> bool {
        let book = &mut self.flows[flow as usize];
        let Some(bin) = book.arriving.at(&self.grid, now) else { return false };
        let row = &mut book.rows[bin];
        row.delivered_bytes += payload;
        row.goodput_bytes += in_order;
        self.packets += u64::from(fresh);
        true
    }

    /// A data packet is dropped, by a queue or behind it.
    pub fn lost(&mut self, flow: u32, now: Time) {
        if now < self.grid.end {
            self.flows[flow as usize].rows[self.grid.bin(now)].lost += 1;
        }
    }

    /// A sender's window stood at these values from `from` to `to`.
    #[inline]
    pub fn stood(&mut self, flow: u32, cwnd: f64, ssthresh: f64, from: Time, to: Time) {
        let FlowBook { rows, standing, .. } = &mut self.flows[flow as usize];
        standing.split(&self.grid, from, to, |bin, part| {
            let part = part.as_ps() as f64;
            rows[bin].cwnd_packets += cwnd * part;
            rows[bin].ssthresh_packets += ssthresh * part;
        });
    }

    /// An acknowledgement brings a sample.
    #[inline(always)]
    pub fn sampled(&mut self, flow: u32, rtt: Span, one_way: Span, now: Time) {
        let book = &mut self.flows[flow as usize];
        if let Some(bin) = book.sending.at(&self.grid, now) {
            let row = &mut book.rows[bin];
            row.rtt_s += rtt.as_ps() as f64;
            row.one_way_s += one_way.as_ps() as f64;
            row.rtt_samples += 1;
        }
    }

    /// Something happened to a flow.
    pub fn event(&mut self, kind: &'static str, flow: u32, value: f64, now: Time) {
        self.events.push(EventRow { t_s: now.as_secs(), kind, flow, value });
    }

    /// A packet is offered to a link, which refuses it.
    pub fn refused(&mut self, link: u32, now: Time) {
        let book = &mut self.links[link as usize];
        if let Some(bin) = book.arriving.at(&self.grid, now) {
            book.cells[bin].arrived += 1;
            book.cells[bin].dropped += 1;
        }
    }

    /// A packet of `size` is offered to a link, and taken into its queue.
    #[inline(always)]
    pub fn taken(&mut self, link: u32, size: u32, now: Time) {
        let book = &mut self.links[link as usize];
        if let Some(bin) = book.arriving.at(&self.grid, now) {
            let cell = &mut book.cells[bin];
            cell.arrived += 1;
            let after = now - book.arriving.from;
            cell.packets.rise(1, after);
            cell.bytes.rise(size, after);
        }
    }

    /// A link's queue marks a packet.
    pub fn marked(&mut self, link: u32, now: Time) {
        if now < self.grid.end {
            self.links[link as usize].cells[self.grid.bin(now)].marked += 1;
        }
    }

    /// The last bit of a packet of `size` leaves a link's queue at `departs`; it was on its way out for
    /// the last `on_wire`.
    #[inline(always)]
    pub fn passed(&mut self, link: u32, size: u32, departs: Time, on_wire: Span) {
        let LinkBook { cells, leaving, .. } = &mut self.links[link as usize];
        let began = Time::from_ps(departs.as_ps() - on_wire.as_ps());
        if leaving.from <= began && departs < leaving.to {
            cells[leaving.bin].busy_ps += on_wire.as_ps();
        } else {
            leaving.split(&self.grid, began, departs, |bin, part| cells[bin].busy_ps += part.as_ps());
        }
        self.leaves(link, size, departs);
    }

    /// A packet of `size` is no longer in a link's queue.
    #[inline(always)]
    fn leaves(&mut self, link: u32, size: u32, now: Time) {
        let LinkBook { cells, leaving, .. } = &mut self.links[link as usize];
        if let Some(bin) = leaving.at(&self.grid, now) {
            let after = now - leaving.from;
            cells[bin].packets.fall(1, after);
            cells[bin].bytes.fall(size, after);
        }
    }

    /// A link drops a packet of `size` from its queue.
    pub fn dropped(&mut self, link: u32, size: u32, now: Time) {
        self.leaves(link, size, now);
        self.lost_behind(link, now);
    }

    /// A link loses a packet behind its queue.
    pub fn lost_behind(&mut self, link: u32, now: Time) {
        if now < self.grid.end {
            self.links[link as usize].cells[self.grid.bin(now)].dropped += 1;
        }
    }

    /// The last bit of a packet of `size` leaves a link's queue, where what it sends is counted.
    pub fn sends(&mut self, link: u32, size: u32, now: Time) {
        if now < self.grid.end {
            self.links[link as usize].cells[self.grid.bin(now)].sent_bytes += u64::from(size);
        }
    }

    /// Closes the books of a run of the simulator that made these transfers.
    pub fn close(mut self, transfers: Vec<TransferRow>) -> Record {
        let grid = self.grid;
        let length = |bin| grid.start(bin + 1) - grid.start(bin);
        let flows = self.flows.into_iter().map(|book| close_flow(book.rows, &length)).collect();
        let links = self.links.into_iter().map(|book| close_link(&book.cells, &length)).collect();
        self.events.sort_by(|a, b| {
            let by_time = a.t_s.total_cmp(&b.t_s).then(a.flow.cmp(&b.flow));
            by_time.then(a.kind.cmp(b.kind)).then(a.value.total_cmp(&b.value))
        });
        Record {
            engine: "sim",
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

fn close_flow(mut rows: Vec<FlowRow>, length: &impl Fn(usize) -> Span) -> Vec<FlowRow> {
    for (bin, row) in rows.iter_mut().enumerate() {
        let length = length(bin).as_ps() as f64;
        row.cwnd_packets /= length;
        row.ssthresh_packets /= length;
        if !row.ssthresh_packets.is_finite() {
            row.ssthresh_packets = f64::NAN;
        }
        row.rtt_s *= 1e-12 / row.rtt_samples as f64; // not a number without a sample
        row.one_way_s *= 1e-12 / row.rtt_samples as f64;
    }
    rows
}

fn close_link(cells: &[LinkCell], length: &impl Fn(usize) -> Span) -> Vec<LinkRow> {
    let (mut packets, mut bytes) = (0, 0);
    let close = |(bin, cell): (usize, &LinkCell)| {
        let length = length(bin);
        let mean = |steps: &Steps, level: &mut i64| steps.close(level, length) / length.as_ps() as f64;
        LinkRow {
            busy_s: Span::from_ps(cell.busy_ps).as_secs(),
            arrived: cell.arrived,
            dropped: cell.dropped,
            marked: cell.marked,
            backlog_packets: mean(&cell.packets, &mut packets),
            backlog_bytes: mean(&cell.bytes, &mut bytes),
            sent_bytes: cell.sent_bytes,
        }
    };
    cells.iter().enumerate().map(close).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairhaul_experiment::grid;

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
        let Record { flows, links, .. } = ledger.close(Vec::new());
        let cwnd: Vec<f64> = flows[0][..4].iter().map(|r| r.cwnd_packets).collect();
        assert_eq!(cwnd.iter().map(|c| (c * 1e9).round() / 1e9).collect::<Vec<_>>(), [2.0, 4.0, 2.0, 0.0]);
        assert!(flows[0][0].ssthresh_packets.is_nan());
        let busy: Vec<f64> = links[0][..4].iter().map(|r| r.busy_s).collect();
        assert_eq!(busy, [0.0, 0.005, 0.005, 0.0]);
        let backlog: Vec<(f64, f64)> = links[0].iter().map(|r| (r.backlog_packets, r.backlog_bytes)).collect();
        assert_eq!(backlog[..4], [(0.5, 500.0), (1.0, 1000.0), (0.5, 500.0), (0.0, 0.0)]);
    }

    #[test]
    fn what_happens_at_the_end_or_later_is_not_booked() {
        let mut ledger = Ledger::new(grid(Span::from_s(1), Span::ZERO, 1), 1, 1);
        ledger.sent(0, false, at(1000));
        ledger.delivered(0, 960, true, 960, at(1500));
        ledger.taken(0, 1000, at(999));
        ledger.passed(0, 1000, at(2000), Span::from_ms(1));
        let Record { flows, links, packets, .. } = ledger.close(Vec::new());
        assert!(flows[0].iter().all(|r| r.sent == 0 && r.delivered_bytes == 0) && packets == 0);
        assert_eq!(links[0].iter().map(|r| r.busy_s).sum::<f64>(), 0.0);
        // It stood in the queue for the last of 1000 bins of 1 ms.
        assert_eq!(links[0].iter().map(|r| r.backlog_packets).sum::<f64>(), 1.0);
    }
}
