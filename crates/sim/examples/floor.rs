//! The floor: what a packet of a dumbbell costs a program that knows nothing of TCP.
//!
//! `floor calendar|rings FILE [KEY=VALUE]...` takes flows, links and round trips of a scenario, gives each
//! flow a window that never changes (its share of the path and of half the queue), and prints the
//! packets that came back, the processor time in seconds and the peak of memory in kB. A packet
//! takes the three events that flows which meet cannot do without (at the bottleneck, on the way back at it, and
//! at the sender), and between them the arithmetic of four wires of its own. What is next, either
//! a calendar knows that holds every packet, or rings do that hold those of one stage and one round
//! trip, which are nearly in order: then only their heads are compared.

use std::process::ExitCode;

use fairhaul_experiment::{Hop, Scenario, plan};
use fairhaul_path::queue::Capacity;
use fairhaul_units::{ACK_SIZE, Bytes, Rate};

mod usage;

/// Events of a packet: at the bottleneck, on its way back, and at its sender.
const STAGES: usize = 3;

/// A packet before its next event.
#[derive(Clone, Copy, Debug, Default)]
struct Packet {
    time: u64,
    flow: u32,
    stage: u32,
}

/// What knows which packet is next.
trait Next {
    fn put(&mut self, packet: Packet, class: u32);
    fn take(&mut self) -> Packet;
}

/// A wire or a link: times in picoseconds.
#[derive(Clone, Copy, Debug)]
struct Wire {
    free: u64,
    takes: u64,
    delay: u64,
}

impl Wire {
    fn new(rate: Rate, size: Bytes, delay: u64) -> Wire {
        Wire { free: 0, takes: rate.on_wire(size).as_ps(), delay }
    }

    /// When what comes at `time` is at the other end.
    fn passes(&mut self, time: u64) -> u64 {
        self.free = self.free.max(time) + self.takes;
        self.free + self.delay
    }
}

/// A flow: its wires, in the order of a packet's passage, and the class of its round trip.
#[derive(Clone, Debug)]
struct Flow {
    wires: [Wire; 4],
    class: u32,
    rtt: u64,
    window: u64,
    start: u64,
}

/// The dumbbell of a scenario.
struct Dumbbell {
    flows: Vec<Flow>,
    links: [Wire; 2],
    classes: u32,
    end: u64,
}

impl Dumbbell {
    fn of(scenario: &Scenario) -> Dumbbell {
        let link = |index: usize, size| {
            let link = &scenario.links[index];
            Wire::new(link.rate, size, link.delay.as_ps())
        };
        let size = scenario.flows[0].packet;
        let links = [link(0, size), link(1, ACK_SIZE)];
        let Capacity::Packets(capacity) = scenario.links[0].capacity else {
            panic!("the queue of a workload is counted in packets");
        };
        let count = scenario.flows.len() as u64;
        let mut round_trips: Vec<u64> = scenario.flows.iter().map(|flow| flow.rtt.as_ps()).collect();
        round_trips.sort_unstable();
        round_trips.dedup();
        let mut flows = Vec::new();
        for (flow, transfer) in scenario.flows.iter().zip(plan(scenario)) {
            let sizes = [size, size, ACK_SIZE, ACK_SIZE];
            let hops = flow.forward.iter().chain(&flow.reverse);
            let mut access = hops.filter_map(|hop| match hop {
                Hop::Access { rate, delay } => Some((*rate, delay.as_ps())),
                Hop::Link(_) => None,
            });
            let wires = sizes.map(|size| {
                let (rate, delay) = access.next().expect("a flow of a dumbbell has four wires of its own");
                Wire::new(rate, size, delay)
            });
            let rtt = flow.rtt.as_ps();
            let class = round_trips.binary_search(&rtt).expect("it is among them") as u32;
            // A start within the round trip spreads the flows as well, and keeps the calendar short.
            let window = (rtt / links[0].takes + capacity / 2).div_ceil(count);
            flows.push(Flow { wires, class, rtt, window, start: transfer.start.as_ps() % rtt });
        }
        Dumbbell { flows, links, classes: round_trips.len() as u32, end: scenario.duration.as_ps() }
    }

    /// When the packets of the first windows leave, evenly over a round trip: before the first of them are back, so
    /// that a ring is in order.
    fn starts(&self) -> Vec<(u64, u32)> {
        let mut starts = Vec::new();
        for (index, flow) in (0u32..).zip(&self.flows) {
            let start = |number| (flow.start + number * flow.rtt / flow.window) % flow.rtt;
            starts.extend((0..flow.window).map(|number| (start(number), index)));
        }
        starts.sort_unstable();
        starts
    }

    /// Runs to the end: the packets whose acknowledgement came back.
    fn run(&mut self, next: &mut impl Next) -> u64 {
        for (time, flow) in self.starts() {
            self.send(time, flow, next);
        }
        let mut delivered = 0;
        loop {
            let packet = next.take();
            if packet.time >= self.end {
                return delivered;
            }
            if packet.stage == 2 {
                delivered += 1;
                self.send(packet.time, packet.flow, next);
                continue;
            }
            let Flow { wires, class, .. } = &mut self.flows[packet.flow as usize];
            let across = self.links[packet.stage as usize].passes(packet.time);
            // From the bottleneck to the receiver and back to the link, or from the link to the sender.
            let time = match packet.stage {
                0 => {
                    let received = wires[1].passes(across);
                    wires[2].passes(received)
                }
                _ => wires[3].passes(across),
            };
            next.put(Packet { time, stage: packet.stage + 1, ..packet }, *class);
        }
    }

    fn send(&mut self, now: u64, flow: u32, next: &mut impl Next) {
        let Flow { wires, class, .. } = &mut self.flows[flow as usize];
        next.put(Packet { time: wires[0].passes(now), flow, stage: 0 }, *class);
    }
}

/// No entry, in a chain of them.
const NONE: u32 = u32::MAX;

/// Days of equal length, as many as a power of two, each with a chain in order of time.
struct Calendar {
    heads: Vec<u32>,
    entries: Vec<(Packet, u32)>,
    free: u32,
    /// A day is that power of two, in picoseconds.
    shift: u32,
    today: u64,
}

impl Calendar {
    /// A day is about the time between two events, the year holds the longest wait.
    fn new(dumbbell: &Dumbbell) -> Calendar {
        let shift = (dumbbell.links[0].takes / STAGES as u64).ilog2();
        let start = dumbbell.flows.iter().map(|flow| flow.start).max().unwrap_or(0);
        let wires = |flow: &Flow| flow.wires.iter().map(|wire| wire.delay).sum::<u64>();
        let far = dumbbell.flows.iter().map(wires).max().unwrap_or(0) + dumbbell.links[0].delay;
        let waiting: u64 = dumbbell.flows.iter().map(|flow| flow.window).sum();
        let longest = start + 2 * far + waiting * dumbbell.links[0].takes;
        let days = ((longest >> shift) + 2).next_power_of_two();
        Calendar { heads: vec![NONE; days as usize], entries: Vec::new(), free: NONE, shift, today: 0 }
    }

    fn entry(&mut self, packet: Packet, next: u32) -> u32 {
        let free = self.free;
        if free == NONE {
            self.entries.push((packet, next));
            return self.entries.len() as u32 - 1;
        }
        self.free = self.entries[free as usize].1;
        self.entries[free as usize] = (packet, next);
        free
    }
}

impl Next for Calendar {
    #[inline]
    fn put(&mut self, packet: Packet, _: u32) {
        let day = (packet.time >> self.shift) as usize & (self.heads.len() - 1);
        let (mut before, mut after) = (NONE, self.heads[day]);
        while after != NONE && self.entries[after as usize].0.time <= packet.time {
            (before, after) = (after, self.entries[after as usize].1);
        }
        let entry = self.entry(packet, after);
        match before {
            NONE => self.heads[day] = entry,
            _ => self.entries[before as usize].1 = entry,
        }
    }

    #[inline]
    fn take(&mut self) -> Packet {
        let mask = self.heads.len() as u64 - 1;
        while self.heads[(self.today & mask) as usize] == NONE {
            self.today += 1;
        }
        let head = &mut self.heads[(self.today & mask) as usize];
        let entry = *head;
        let (packet, next) = self.entries[entry as usize];
        *head = next;
        self.entries[entry as usize].1 = self.free;
        self.free = entry;
        packet
    }
}

/// A ring of packets, in order of time; its length is a power of two.
#[derive(Clone, Debug)]
struct Ring {
    packets: Vec<Packet>,
    first: usize,
    behind: usize,
}

impl Ring {
    fn at(&mut self, place: usize) -> &mut Packet {
        let mask = self.packets.len() - 1;
        &mut self.packets[place & mask]
    }

    /// Puts a packet in its place, from the tail.
    fn put(&mut self, packet: Packet) {
        if self.behind - self.first == self.packets.len() {
            self.grow();
        }
        let mut place = self.behind;
        self.behind += 1;
        while place > self.first && self.at(place - 1).time > packet.time {
            *self.at(place) = *self.at(place - 1);
            place -= 1;
        }
        *self.at(place) = packet;
    }

    #[cold]
    fn grow(&mut self) {
        let mask = self.packets.len() - 1;
        self.packets.rotate_left(self.first & mask);
        self.packets.resize(2 * (mask + 1), Packet::default());
        (self.first, self.behind) = (0, self.behind - self.first);
    }
}

/// A ring for each stage and round trip. The time of its head stands before the number of the ring
/// at a leaf of a tree; every node holds the lesser of its children, so the root says who is next.
struct Rings {
    rings: Vec<Ring>,
    tree: Vec<u64>,
}

/// Bits of a leaf that number its ring.
const NUMBER: u32 = 8;

impl Rings {
    fn new(dumbbell: &Dumbbell) -> Rings {
        let count = (STAGES * dumbbell.classes as usize).next_power_of_two();
        assert!(count <= 1 << NUMBER, "the rings are for few round trips");
        let ring = Ring { packets: vec![Packet::default()], first: 0, behind: 0 };
        Rings { rings: vec![ring; count], tree: vec![u64::MAX; 2 * count] }
    }

    fn lead(&mut self, index: usize, time: u64) {
        let mut node = self.rings.len() + index;
        self.tree[node] = time << NUMBER | index as u64;
        while node > 1 {
            self.tree[node / 2] = self.tree[node].min(self.tree[node ^ 1]);
            node /= 2;
        }
    }
}

impl Next for Rings {
    #[inline]
    fn put(&mut self, packet: Packet, class: u32) {
        let index = STAGES * class as usize + packet.stage as usize;
        let ring = &mut self.rings[index];
        ring.put(packet);
        let time = ring.at(ring.first).time;
        if self.tree[self.rings.len() + index] >> NUMBER != time {
            self.lead(index, time);
        }
    }

    #[inline]
    fn take(&mut self) -> Packet {
        let index = self.tree[1] as usize & ((1 << NUMBER) - 1);
        let ring = &mut self.rings[index];
        assert!(ring.first < ring.behind, "a packet is always on its way");
        let packet = *ring.at(ring.first);
        ring.first += 1;
        let time = if ring.first < ring.behind { ring.at(ring.first).time } else { u64::MAX >> NUMBER };
        self.lead(index, time);
        packet
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((kind, rest)) =
        arguments.split_first().filter(|(kind, _)| *kind == "calendar" || *kind == "rings")
    else {
        eprintln!("floor: wanted: floor calendar|rings FILE [KEY=VALUE]...");
        return ExitCode::from(2);
    };
    let scenario = match usage::scenario("floor", rest) {
        Ok(scenario) => scenario,
        Err(status) => return status,
    };
    let begun = usage::cpu_s();
    let mut dumbbell = Dumbbell::of(&scenario);
    let packets = match kind.as_str() {
        "calendar" => dumbbell.run(&mut Calendar::new(&dumbbell)),
        _ => dumbbell.run(&mut Rings::new(&dumbbell)),
    };
    let cpu_s = usage::cpu_s() - begun;
    println!("{packets} {cpu_s:.6} {}", usage::peak_kb());
    ExitCode::SUCCESS
}
