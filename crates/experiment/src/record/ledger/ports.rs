//! What the ports of links record in the ledger.

use fairhaul_path::{Burst, Departure, LinkLedger, LinkPacket, LinkRate};
use fairhaul_units::{Span, Time};

use super::Ledger;

impl LinkLedger for Ledger {
    fn gauges(&mut self, link: u32, now: Time) -> (&mut Vec<f64>, Time) {
        let next = self.next_start(now);
        (&mut self.gauges[link as usize], next)
    }

    fn refused(&mut self, link: u32, now: Time) {
        if let Some(cell) = self.links[link as usize].arriving.at(&self.grid, now) {
            cell.refused += 1;
        }
    }

    #[inline(always)]
    fn enqueued(&mut self, link: u32, size: u32, now: Time) {
        self.links[link as usize].enqueue(&self.grid, size, now);
    }

    fn enqueued_together(&mut self, link: u32, size: u32, burst: Burst, now: Time) -> bool {
        self.links[link as usize].enqueue_burst(size, burst, now)
    }

    #[inline(always)]
    fn passed(&mut self, link: u32, packet: &LinkPacket, now: Time, departure: Departure, rate: &LinkRate) {
        let counters = &mut self.links[link as usize];
        counters.enqueue(&self.grid, packet.size, now);
        match counters.depart(packet, now, departure) {
            Some(bin) => self.carry(packet, bin),
            None => self.departed_in_parts(link, *packet, departure.departs - now, departure.on_link(), rate),
        }
    }

    fn marked(&mut self, link: u32, offered: Time, now: Time) {
        self.count_rare(link, 1, offered, now);
    }

    fn dropped(&mut self, link: u32, size: u32, offered: Time, now: Time) {
        self.leaves(link, size, now);
        self.lost_after_queue(link, offered, now);
    }

    #[inline(always)]
    fn departed(
        &mut self,
        link: u32,
        packet: &LinkPacket,
        offered: Time,
        departure: Departure,
        rate: &LinkRate,
    ) {
        match self.links[link as usize].depart(packet, offered, departure) {
            Some(bin) => self.carry(packet, bin),
            None => {
                let delay = departure.departs - offered;
                self.departed_in_parts(link, *packet, delay, departure.on_link(), rate);
            }
        }
    }

    fn departed_together(
        &mut self,
        link: u32,
        packet: &LinkPacket,
        burst: Burst,
        offered: Time,
        first: Departure,
    ) -> bool {
        let bin = self.links[link as usize].depart_burst(&self.grid, packet, burst, offered, first);
        if let (Some(bin), Some((flow, payload))) = (bin, packet.counted_payload()) {
            self.carried[bin * self.flows.len() + flow as usize] +=
                f64::from(payload) * f64::from(burst.packets);
        }
        bin.is_some()
    }

    fn sent_by_link(&mut self, link: u32, (began, departs): (Time, Time), rate: &LinkRate) {
        for (bin, from, to) in self.grid.parts(began, departs) {
            self.links[link as usize].work[bin] += rate.work_between(from, to);
        }
    }

    fn lost_after_queue(&mut self, link: u32, offered: Time, now: Time) {
        self.count_rare(link, 0, offered, now);
    }
}

/// What the records of links are made from.
impl Ledger {
    /// The bottleneck of a flow has sent a packet in one bin.
    #[inline(always)]
    fn carry(&mut self, packet: &LinkPacket, bin: usize) {
        if let Some((flow, payload)) = packet.counted_payload() {
            self.carried[bin * self.flows.len() + flow as usize] += f64::from(payload);
        }
    }

    /// Takes copies, so that a packet that stays within a bin never has to be written to memory.
    #[inline(never)]
    fn departed_in_parts(
        &mut self,
        link: u32,
        packet: LinkPacket,
        delay: Span,
        (began, departs): (Time, Time),
        rate: &LinkRate,
    ) {
        let series = &mut self.links[link as usize].leaving;
        series.split(&self.grid, began, departs, |cell, part| cell.busy_ps += part.as_ps());
        self.leaves(link, packet.size, departs);
        if departs < self.grid.end {
            self.links[link as usize].delays.add(delay, 1);
        }
        if let Some((flow, payload)) = packet.counted_payload() {
            self.carried_in_parts(flow, payload, began, departs, rate);
        }
    }

    fn carried_in_parts(&mut self, flow: u32, payload: u32, began: Time, departs: Time, rate: &LinkRate) {
        let whole = if departs == Time::NEVER { return } else { rate.work_between(began, departs) as f64 };
        for (bin, from, to) in self.grid.parts(began, departs) {
            self.carried[bin * self.flows.len() + flow as usize] +=
                f64::from(payload) * (rate.work_between(from, to) as f64 / whole);
        }
    }

    /// A packet of `size` is no longer in a link's queue.
    fn leaves(&mut self, link: u32, size: u32, now: Time) {
        let counters = &mut self.links[link as usize];
        counters.measure_delays(now, self.grid.measured);
        let series = &mut counters.leaving;
        if series.at(&self.grid, now).is_some() {
            series.open.steps(size, now - series.from);
        }
    }

    fn count_rare(&mut self, link: u32, which: usize, offered: Time, now: Time) {
        if now < self.grid.end {
            self.links[link as usize].rare_events[self.grid.bin(offered)][which] += 1;
        }
    }
}
