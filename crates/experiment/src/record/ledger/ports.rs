//! What the ports of links record in the ledger.

use fairhaul_path::{Burst, Departure, LinkLedger, LinkPacket, LinkRate};
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
    fn enqueued(&mut self, link: u32, size: u32, now: Time) {
        let series = &mut self.links[link as usize].arriving;
        if series.at(&self.grid, now).is_some() {
            let after = now - series.from;
            series.open.packets.step(1, after);
            series.open.bytes.step(size, after);
        }
    }

    fn enqueued_burst(&mut self, link: u32, size: u32, burst: Burst, now: Time) {
        let series = &mut self.links[link as usize].arriving;
        let Burst { packets, spacing } = burst;
        if now < series.from || now + spacing * u64::from(packets) >= series.to {
            return burst.times(now).for_each(|at| self.enqueued(link, size, at));
        }
        let after = now - series.from;
        series.open.packets.equal_steps(1, after, packets, spacing);
        series.open.bytes.equal_steps(size, after, packets, spacing);
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
        let (began, departs) = (departure.began(), departure.departs);
        let LinkCounters { leaving: series, delays, .. } = &mut self.links[link as usize];
        if series.from <= began && departs < series.to {
            delays.add(departs - offered, 1);
            series.open.busy_ps += departure.on_wire.as_ps();
            series.open.steps(packet.size, departs - series.from);
            if let Some((flow, payload)) = packet.counted_payload() {
                self.carried[series.bin * self.flows.len() + flow as usize] += f64::from(payload);
            }
        } else {
            // A copy, so that a packet that stays within a bin never has to be written to memory.
            self.departed_in_parts(link, *packet, offered, departure, rate);
        }
    }

    fn departed_burst(
        &mut self,
        link: u32,
        packet: &LinkPacket,
        burst: Burst,
        offered: Time,
        first: Departure,
        rate: &LinkRate,
    ) {
        let counters = &mut self.links[link as usize];
        let Burst { packets, spacing } = burst;
        let last = first.of_follower(u64::from(packets) - 1).departs;
        let is_in_one_bin =
            counters.leaving.at(&self.grid, first.began()).is_some() && last < counters.leaving.to;
        counters.measure_delays(first.departs, self.grid.measured);
        let LinkCounters { leaving: series, delays, .. } = counters;
        if !is_in_one_bin {
            for (place, at) in (0..).zip(burst.times(offered)) {
                self.departed(link, packet, at, first.of_follower(place), rate);
            }
            return;
        }
        let Departure { departs, on_wire, .. } = first;
        delays.add_all(departs - offered, on_wire - spacing, packets);
        series.open.busy_ps += (on_wire * u64::from(packets)).as_ps();
        series.open.packets.equal_steps(1, departs - series.from, packets, on_wire);
        series.open.bytes.equal_steps(packet.size, departs - series.from, packets, on_wire);
        if let Some((flow, payload)) = packet.counted_payload() {
            self.carried[series.bin * self.flows.len() + flow as usize] +=
                f64::from(payload) * f64::from(packets);
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
        self.leaves(link, packet.size, departs);
        if departs < self.grid.end {
            self.links[link as usize].delays.add(departs - offered, 1);
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
