//! CAKE [CAKE, LINUX]: a shaper, tins for classes of traffic, and in each of them queues of connections that share by hosts
//! first, each under COBALT.
//
// Differs from [LINUX]: connections are sorted into queues as in `fq_codel`, so that neighbours do not collide, where the kernel
// has eight places for each hash.

mod classes;
mod cobalt;
mod shaper;
mod tin;

use std::sync::Arc;

use fairhaul_units::{Bytes, Chance, Gauge, Parameter, Settings, Time, parameters, real, words};

use super::fq_codel::bucket_of;
use super::{Queued, Refusal, Site};
use crate::packet::{LinkPacket, Packet, PacketKind};
pub use classes::Tins;
pub use shaper::Framing;
use shaper::{Clock, Sizes};
use tin::{Hosts, Isolation, Tin};

words! {
    /// Whose shares are equal.
    pub enum Sharing {
        /// Of source hosts, of destination hosts, and then of connections.
        Triple = "triple-isolate",
        /// Of source hosts, and then of connections.
        DualSource = "dual-srchost",
        /// Of destination hosts, and then of connections.
        DualDestination = "dual-dsthost",
        /// Of connections.
        Flows = "flows",
        /// There is one queue.
        Blind = "flowblind",
    }

    /// Whether acknowledgements that say nothing more are dropped.
    pub enum AckThinning {
        /// No.
        No = "no",
        /// If two of them wait.
        Yes = "yes",
        /// If one waits.
        Aggressive = "aggressive",
    }
}

parameters! {
    /// The parameters of CAKE.
    pub struct CakeRule {
        bandwidth: Number(0.0..=1_000_000.0, "Mbit/s") = 0.0, "rate of the shaper; 0: none [CAKE]";
        tins: Word(Tins) = Tins::Diffserv3, "classes of traffic by DSCP: besteffort, diffserv3 or diffserv4 [CAKE]";
        sharing: Word(Sharing) = Sharing::Triple,
            "whose shares are equal: triple-isolate, dual-srchost, dual-dsthost, flows or flowblind [CAKE]";
        rtt: Milliseconds(0.1..=10_000.0) = 100.0, "interval of the AQM; its target is a twentieth [CAKE]";
        overhead: Number(-64.0..=256.0, "B") = 0.0, "bytes that each packet takes more on the link behind [CAKE]";
        mpu: Number(0.0..=256.0, "B") = 0.0, "least size of a packet there [CAKE]";
        framing: Word(Framing) = Framing::None, "framing there: none, atm or ptm [CAKE]";
        ack_filter: Word(AckThinning) = AckThinning::No,
            "whether acknowledgements that a later one covers are dropped: no, yes or aggressive [CAKE]";
        mtu: Number(0.0..=64_000.0, "B") = 0.0, "largest packet; 0: that of the scenario";
    }
}

/// What a queue knows of a flow beside its packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowLabel {
    /// The number of the host of its sender.
    pub source: u32,
    /// The number of the host of its receiver.
    pub destination: u32,
    /// The class that its data have, and their acknowledgements.
    pub dscp: u8,
}

/// What a queue is made from.
#[derive(Clone, Debug)]
pub struct CakeChoice {
    /// Its parameters.
    pub rule: CakeRule,
    /// Those of the flows, in their order; a flow that has none is between hosts of its own.
    pub labels: Option<Arc<[FlowLabel]>>,
    /// Its own stream.
    pub chance: Chance,
}

/// Queues in each tin.
const QUEUES: u64 = 1024;

/// Checks what the descriptions of single parameters cannot say.
pub(super) fn resolve(settings: &mut Settings, _: &Site, largest: Bytes) -> Result<(), Refusal> {
    settings.set_automatic("mtu", real(largest.0));
    let rule = CakeRule::from(&*settings);
    let changes_size = rule.overhead != 0.0 || rule.mpu != 0.0 || rule.framing != Framing::None;
    if rule.bandwidth == 0.0 && changes_size {
        let text = "sizes on the link behind matter to the shaper only: set bandwidth, or remove overhead, mpu and framing";
        return Err(Refusal::new("bandwidth", text.to_owned()));
    }
    Ok(())
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Cake<T> {
    rule: CakeRule,
    tins: Vec<Tin<T>>,
    packets: usize,
    sizes: Sizes,
    clock: Clock,
    labels: Option<Arc<[FlowLabel]>>,
    chance: Chance,
    thinned: u64,
    /// Where nothing is shaped: whose turn it is.
    turn: usize,
}

impl Cake<()> {
    /// One line of what it is.
    pub const TITLE: &'static str =
        "CAKE: a shaper, classes of traffic, fair shares of hosts and then of connections, and COBALT";
    pub(super) const SOURCE: &'static str = "CAKE";
    /// Its parameters.
    pub const PARAMETERS: &'static [Parameter] = CakeRule::LIST;
    pub(super) const GAUGES: [Gauge; 3] = [
        Gauge { name: "backlogged_queues", unit: "queues", help: "number of queues with waiting packets" },
        Gauge { name: "bulk_queues", unit: "queues", help: "number of those beyond their first quantum" },
        Gauge { name: "thinned", unit: "", help: "acknowledgements dropped by the filter since the start" },
    ];
}

impl<T: Packet> Cake<T> {
    /// Empty queues.
    pub fn new(choice: &CakeChoice) -> Cake<T> {
        let rule = choice.rule;
        let rate = rule.bandwidth * 1e6 / 8.0;
        let isolation = Isolation {
            by_source: matches!(rule.sharing, Sharing::Triple | Sharing::DualSource),
            by_destination: matches!(rule.sharing, Sharing::Triple | Sharing::DualDestination),
        };
        let tin = |shift: &u32| {
            let clock = Clock { rate: (rate / real(1 << shift)).floor(), next: Time::ZERO };
            let times = tin::times(&clock, rule.mtu, rule.rtt / 20, rule.rtt);
            Tin::new(QUEUES, isolation, tin::quantum(clock.rate), times, clock, tin::turn(*shift))
        };
        Cake {
            tins: rule.tins.shifts().iter().map(tin).collect(),
            packets: 0,
            sizes: Sizes { overhead: rule.overhead, least: rule.mpu, framing: rule.framing },
            clock: Clock { rate, next: Time::ZERO },
            labels: choice.labels.clone(),
            chance: choice.chance.clone(),
            thinned: 0,
            turn: 0,
            rule,
        }
    }

    /// How many wait in all.
    pub fn len(&self) -> usize {
        self.packets
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.packets == 0
    }

    /// The packets that wait, tin by tin.
    pub fn iter(&self) -> impl Iterator<Item = &Queued<T>> {
        self.tins.iter().flat_map(Tin::iter)
    }

    /// When its shaper lets the next packet leave.
    pub fn ready(&self) -> Time {
        self.clock.next
    }

    /// What its gauges show.
    pub(crate) fn gauges(&self) -> [f64; 3] {
        let counts = self.tins.iter().map(Tin::counts);
        let (backlogged, bulk) = counts.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
        [backlogged as f64, bulk as f64, self.thinned as f64]
    }

    /// The hosts and the class of a packet; an acknowledgement goes from the receiver to the sender.
    fn label(&self, packet: &LinkPacket) -> (Hosts, u8) {
        let LinkPacket { flow, kind, .. } = *packet;
        let own = FlowLabel { source: flow, destination: flow, dscp: 0 };
        let label = self.labels.as_ref().and_then(|labels| labels.get(flow as usize)).copied().unwrap_or(own);
        let FlowLabel { source, destination, dscp } = label;
        let hosts = match kind {
            PacketKind::Data => Hosts { source, destination },
            PacketKind::Ack | PacketKind::Control => Hosts { source: destination, destination: source },
        };
        (hosts, dscp)
    }

    /// Puts a packet of connection `flow` into its queue; an acknowledgement that it makes needless goes to `dropped`.
    pub fn push(&mut self, flow: u32, queued: Queued<T>, dropped: &mut Vec<Queued<T>>) {
        let now = queued.arrived;
        if self.packets == 0 {
            self.clock.rest(now);
        }
        let packet = queued.packet.at_link();
        let (hosts, dscp) = self.label(&packet);
        let index = if self.rule.sharing == Sharing::Blind { 0 } else { bucket_of(flow, QUEUES) };
        let tin = &mut self.tins[self.rule.tins.of(dscp)];
        if !tin.is_active() {
            tin.clock.rest(now);
        }
        tin.push(index, hosts, queued, &mut self.chance);
        self.packets += 1;
        if packet.kind == PacketKind::Ack && self.rule.ack_filter != AckThinning::No {
            let least = if self.rule.ack_filter == AckThinning::Aggressive { 1 } else { 2 };
            if let Some(other) = covered(tin.queue(index), least) {
                tin.removed(index, other.size);
                (self.packets, self.thinned) = (self.packets - 1, self.thinned + 1);
                dropped.push(other);
            }
        }
    }

    /// The first packet of the longest queue, of equals that of the first tin: all queues together are full.
    pub fn pop_longest(&mut self, now: Time) -> Option<Queued<T>> {
        let longest =
            |(place, tin): (usize, &Tin<T>)| tin.longest().map(|(index, bytes)| (bytes, place, index));
        let (_, place, index) = self
            .tins
            .iter()
            .enumerate()
            .filter_map(longest)
            .max_by_key(|(bytes, place, _)| (*bytes, std::cmp::Reverse(*place)))?;
        let queued = self.tins[place].drop_first(index, now)?;
        self.packets -= 1;
        Some(queued)
    }

    /// The packet that is to be sent at `now`, and whether it was marked; the packets dropped before it go to `dropped`.
    pub fn next(&mut self, now: Time, dropped: &mut Vec<Queued<T>>) -> Option<(Queued<T>, bool)> {
        while self.packets > 0 {
            let place = self.choose(now);
            let before = dropped.len();
            let next = self.tins[place].next(now, &mut self.chance, dropped);
            self.packets -= dropped.len() - before + usize::from(next.is_some());
            let Some((queued, marked)) = next else { continue };
            let bytes = self.sizes.of(queued.size);
            self.clock.advance(bytes);
            self.tins[place].clock.advance_tin(bytes, now);
            self.tins[place].deficit -= bytes as i64;
            return Some((queued, marked));
        }
        None
    }

    /// The tin whose turn it is, which is active: with a shaper the last one that is on schedule, or else the one that is due
    /// first; otherwise by turns of bytes.
    fn choose(&mut self, now: Time) -> usize {
        if self.clock.rate > 0.0 {
            let mut best = (None, 0);
            for (place, tin) in self.tins.iter().enumerate().filter(|(_, tin)| tin.is_active()) {
                let due = tin.clock.next;
                if due <= now || best.0.is_none_or(|first| due <= first) {
                    best = (Some(due), place);
                }
            }
            return best.1;
        }
        loop {
            let tin = &mut self.tins[self.turn];
            if tin.deficit > 0 && tin.is_active() {
                return self.turn;
            }
            if tin.deficit <= 0 {
                tin.deficit += tin.turn;
            }
            self.turn = (self.turn + 1) % self.tins.len();
        }
    }
}

/// Takes an acknowledgement out of a queue that the last packet of the queue covers, if at least `least` of them wait.
fn covered<T: Packet>(queue: &mut std::collections::VecDeque<Queued<T>>, least: usize) -> Option<Queued<T>> {
    let newest = queue.back()?.packet;
    let others = queue.len() - 1;
    let mut covered = (0..others).filter(|place| newest.covers(&queue[*place].packet));
    let first = covered.next()?;
    if least > 1 && covered.next().is_none() {
        return None;
    }
    queue.remove(first)
}

#[cfg(test)]
mod tests;
