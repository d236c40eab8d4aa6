//! What the ports of links record in the ledger.

use fairhaul_path::{Departure, LinkLedger, LinkPacket, LinkRate};
use fairhaul_units::Time;

use super::Ledger;
use super::link_counters::LinkCounters;

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
    fn enqueued(&mut self, link: u32, size: u32, packets: u8, now: Time) {
        let series = &mut self.links[link as usize].arriving;
        if series.at(&self.grid, now).is_some() {
            let after = now - series.from;
            series.open.packets.step(packets.into(), after);
            series.open.bytes.step(size, after);
        }
    }

    fn marked(&mut self, link: u32, offered: Time, now: Time) {
        self.count_rare(link, 1, offered, now);
    }

    fn dropped(&mut self, link: u32, size: u32, offered: Time, now: Time) {
        self.leaves(link, 1, size, now);
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
        let (began, departs) = (departure.began(), departure.departs);
        let LinkCounters { leaving: series, delays, .. } = &mut self.links[link as usize];
        if series.from <= began && departs < series.to {
            delays.add(departure.delay(offered, packet.packets), packet.packets.into());
            series.open.busy_ps += departure.on_wire.as_ps();
            series.open.steps(packet.packets, packet.size, departs - series.from);
            if let Some((flow, payload)) = packet.counted_payload() {
                self.carried[series.bin * self.flows.len() + flow as usize] += f64::from(payload);
            }
        } else {
            // A copy, so that a packet that stays within a bin never has to be written to memory.
            self.departed_in_parts(link, *packet, offered, departure, rate);
        }
    }

    fn sent_by_link(&mut self, link: u32, departure: Departure, rate: &LinkRate) {
        for (bin, from, to) in self.grid.parts(departure.began(), departure.departs) {
            self.links[link as usize].work[bin] += rate.work_between(from, to);
        }
    }

    fn lost_after_queue(&mut self, link: u32, offered: Time, now: Time) {
        self.count_rare(link, 0, offered, now);
    }
}

/// What the records of links are made from.
impl Ledger {
    #[inline(never)]
    fn departed_in_parts(
        &mut self,
        link: u32,
        packet: LinkPacket,
        offered: Time,
        departure: Departure,
        rate: &LinkRate,
    ) {
        let series = &mut self.links[link as usize].leaving;
        let (began, departs) = (departure.began(), departure.departs);
        series.split(&self.grid, began, departs, |cell, part| cell.busy_ps += part.as_ps());
        self.leaves(link, packet.packets, packet.size, departs);
        if departs < self.grid.end {
            let delay = departure.delay(offered, packet.packets);
            self.links[link as usize].delays.add(delay, packet.packets.into());
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

    /// A packet of `size`, or a train, is no longer in a link's queue.
    fn leaves(&mut self, link: u32, packets: u8, size: u32, now: Time) {
        let counters = &mut self.links[link as usize];
        counters.measure_delays(now, self.grid.measured);
        let series = &mut counters.leaving;
        if series.at(&self.grid, now).is_some() {
            series.open.steps(packets, size, now - series.from);
        }
    }

    fn count_rare(&mut self, link: u32, which: usize, offered: Time, now: Time) {
        if now < self.grid.end {
            self.links[link as usize].rare_events[self.grid.bin(offered)][which] += 1;
        }
    }
}
