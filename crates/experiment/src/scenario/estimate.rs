//! An estimate, before a run, of the memory and the packets that it takes.
//!
//! What windows will do is not known. `packets` is what the links let through at most; `bytes` counts what no window
//! can change, and the packets in flight when the bottlenecks are in use and their queues are empty. The engine watches
//! what is outstanding while it runs.

use fairhaul_path::LinkSpec;
use fairhaul_units::{Bytes, Time};

use super::plan::expected;
use crate::{Flow, Hop, Scenario, Side, SizeLaw, Traffic};

/// Memory of a flow, of a transfer before it begins, of a row of a series and of a packet that waits, bytes.
/// Measured with a million flows, ten million transfers and a hundred million packets.
const PER_FLOW: f64 = 2400.0;
const PER_TRANSFER: f64 = 80.0;
const PER_ROW: f64 = 250.0;
const PER_PACKET: f64 = 56.0;
/// Memory of a value of a gauge, bytes: 8 in the ledger, which may have room for twice as many, and a row of 24 in the
/// table.
const PER_GAUGE_VALUE: f64 = 40.0;
/// Processor time of a packet from end to end, seconds; what a transfer and a row of a series take, in packets.
const PER_PACKET_S: f64 = 3e-7;
const TRANSFER_PACKETS: f64 = 10.0;
const ROW_PACKETS: f64 = 0.5;
/// What each link behind the first of a path takes, in packets: the events of a packet and of its acknowledgement there.
/// Measured with 1 to 1000 flows over 2 to 40 links: 0.2 to 1 packets.
const LINK_PACKETS: f64 = 0.5;
/// What a packet takes at least as a part of a burst that is simulated as one, in packets alone; its burst takes the rest of a
/// packet once. Measured with H1 and H2 of `make bench`, which take a third and a quarter of that.
const OF_BURST: f64 = 0.1;
/// The largest burst of a Linux host, bytes, and the time whose acknowledgements come together, and let one leave: what a
/// usual card collects.
const LARGEST_BURST: f64 = 65_536.0;
const COLLECTED_S: f64 = 50e-6;
/// What a packet of a transport stack of others takes, in packets: measured with quinn, noq and smoltcp, which take 5 to 21
/// (docs/performance.md). Memory of both ends, bytes: what they accept of an application that has more, 15 to 32 MB.
const STACK_PACKETS: f64 = 12.0;
const PER_STACK: f64 = 2e7;
/// The longest time between two retransmissions of a packet that does not arrive, seconds.
const LONGEST_RTO_S: f64 = 60.0;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostEstimate {
    /// Flows; each connection of a group counts individually.
    pub flows: u64,
    /// Transfers that start, on average.
    pub transfers: f64,
    /// Rows of the series of flows and links.
    pub rows: u64,
    /// Data packets that are sent, at most: what the links can carry and constant rates offer.
    pub packets: f64,
    /// Data packets of constant rates that wait at once, at least, since they come faster than they leave.
    pub waiting: f64,
    /// Packets in flight, with their acknowledgements, when bulk flows use their bottlenecks.
    pub in_flight: f64,
    /// Memory, about.
    pub bytes: f64,
    /// Processor time of the run, about: of its packets, on one link and on those behind it, of opening its transfers, of
    /// spurious retransmissions, and of the rows of its record.
    pub seconds: f64,
}

impl CostEstimate {
    /// Of a run of `scenario`.
    pub fn of(scenario: &Scenario) -> CostEstimate {
        let transfers: f64 =
            scenario.flows.iter().map(|flow| expected(&flow.traffic, scenario.duration)).sum();
        let bins = scenario.grid().len();
        let rows = (scenario.flows.len() + scenario.links.len()) as u64 * bins as u64;
        let flows = scenario.flows.len() as u64;
        let Sent { packets, work, behind, in_vain } = sent(scenario);
        let waiting: f64 = scenario.flows.iter().map(|flow| ahead(flow, scenario)).sum();
        // Each controller of a user has a copy while a loss event may be spurious.
        let of_users: f64 = scenario.flows.iter().map(|flow| 2.0 * flow.controller.memory() as f64).sum();
        let queues: usize = scenario.links.iter().map(|link| link.queue.entry.gauges.len()).sum();
        let controllers: usize = scenario.flows.iter().map(|flow| flow.gauges().len()).sum();
        let gauges = (queues + controllers) as f64 * bins as f64 * PER_GAUGE_VALUE;
        let of_stacks: f64 = scenario.flows.iter().map(|flow| held_by_stack(flow, scenario)).sum();
        let others = of_stacks
            + of_users
            + flows as f64 * PER_FLOW
            + transfers * PER_TRANSFER
            + rows as f64 * PER_ROW
            + gauges;
        let in_flight = in_flight(scenario);
        let bytes = others + (waiting + in_flight) * PER_PACKET;
        CostEstimate {
            flows,
            transfers,
            rows,
            packets,
            waiting,
            in_flight,
            bytes,
            seconds: (work
                + behind * LINK_PACKETS
                + in_vain
                + transfers * TRANSFER_PACKETS
                + rows as f64 * ROW_PACKETS)
                * PER_PACKET_S,
        }
    }
}

/// What all flows send at most.
struct Sent {
    /// Packets that links let through, and those of constant rates.
    packets: f64,
    /// What simulating these takes, in packets that are simulated one by one.
    work: f64,
    /// What the links behind the first of each path carry, copies included.
    behind: f64,
    /// Retransmissions of connections that a link starves: each goes on until the end.
    in_vain: f64,
}

/// What all flows send at most: those of one bottleneck share its rate, and constant rates, which nothing slows down, come
/// in addition.
fn sent(scenario: &Scenario) -> Sent {
    let end = Time::ZERO + scenario.duration;
    let room = |link: &LinkSpec| link.passes(Time::ZERO, end);
    let rooms: Vec<f64> = scenario.links.iter().map(room).collect();
    let mut left = rooms.clone();
    let (mut packets, mut work, mut behind, mut in_vain) = (0.0, 0.0, 0.0, 0.0);
    for (flow, bottleneck) in scenario.flows.iter().zip(scenario.bottlenecks()) {
        let (asked, size) = (demand(flow, scenario), flow.packet.0 as f64);
        let bytes = match (&flow.traffic, bottleneck) {
            (Traffic::Cbr { .. }, _) | (_, None) => asked,
            (_, Some(link)) => {
                let granted = asked.min(left[link as usize]);
                left[link as usize] -= granted;
                in_vain += starved(flow, 1.0 - granted / asked.max(1.0), scenario);
                granted
            }
        };
        packets += bytes / size;
        let share = bytes / scenario.duration.as_secs() / scenario.flows.len() as f64;
        work += bytes / size * work_of_packet(flow, share, scenario);
        behind += (carried(flow, bytes, scenario, &rooms) - bytes).max(0.0) / size;
    }
    Sent { packets, work, behind, in_vain }
}

/// What simulating a packet of a flow that sends `bytes_per_s` takes, in packets that are simulated one by one.
fn work_of_packet(flow: &Flow, bytes_per_s: f64, scenario: &Scenario) -> f64 {
    if flow.controller.stack().is_some() {
        return STACK_PACKETS;
    }
    if flow.offload <= 1 || scenario.why_single_packets(flow).is_some() {
        return 1.0;
    }
    let burst = if flow.offload == Flow::BURSTS_OF_KERNEL {
        (bytes_per_s * COLLECTED_S).min(LARGEST_BURST) / flow.packet.0 as f64
    } else {
        flow.offload as f64
    };
    OF_BURST + (1.0 - OF_BURST) / burst.max(1.0)
}

/// What the ends of a transport stack hold of the data of a flow that has one, bytes.
fn held_by_stack(flow: &Flow, scenario: &Scenario) -> f64 {
    if flow.controller.stack().is_none() { 0.0 } else { demand(flow, scenario).min(PER_STACK) }
}

/// The bytes that all links of a flow's path carry of `bytes` that it sends: a link that duplicates packets multiplies what
/// the links behind it carry, up to the `rooms` of these.
fn carried(flow: &Flow, bytes: f64, scenario: &Scenario, rooms: &[f64]) -> f64 {
    let (mut copies, mut carried) = (1.0, 0.0);
    for hop in &flow.forward {
        if let Hop::Link(link) = hop {
            let link = *link as usize;
            carried += (bytes * copies).min(rooms[link]);
            copies *= 1.0 + scenario.links[link].impair.duplicate;
        }
    }
    carried
}

/// The retransmissions of the transfers of a flow of which a share is not granted, so that they stay open: on average for
/// half of the run.
fn starved(flow: &Flow, share: f64, scenario: &Scenario) -> f64 {
    if !share.is_finite() {
        return 0.0;
    }
    let transfers = expected(&flow.traffic, scenario.duration);
    transfers * share.max(0.0) * scenario.duration.as_secs() / 2.0 / LONGEST_RTO_S
}

/// What a flow would send at most, bytes.
fn demand(flow: &Flow, scenario: &Scenario) -> f64 {
    let seconds = scenario.duration.as_secs();
    let line = flow.line() * flow.packet.0 as f64 * seconds;
    let asked = match flow.traffic {
        Traffic::Bulk | Traffic::Limited { .. } => f64::INFINITY,
        Traffic::Sized(Bytes(size)) => size as f64,
        Traffic::OnOff { rate, .. } => rate.as_bps() as f64 / 8.0 * seconds,
        Traffic::Cbr { rate, until } => return rate.as_bps() as f64 / 8.0 * seconds.min(until.as_secs()),
        Traffic::Short { size, .. } => expected(&flow.traffic, scenario.duration) * mean(size),
        Traffic::Web(web) => expected(&flow.traffic, scenario.duration) * mean(web.size),
        Traffic::Vectors { ref vectors, .. } => vectors.payload(Side::Initiator) as f64,
        Traffic::Answers { flow, .. } => match &scenario.flows[flow as usize].traffic {
            Traffic::Vectors { vectors, .. } => vectors.payload(Side::Acceptor) as f64,
            _ => 0.0,
        },
    };
    asked.min(line)
}

fn mean(size: SizeLaw) -> f64 {
    match size {
        SizeLaw::Fixed(mean) | SizeLaw::Exponential(mean) | SizeLaw::Pareto(mean, _) => mean.0 as f64,
    }
}

/// Packets of a constant rate that the sender has handed over and is still at work on: each takes up to the
/// `overhead`, none leaves before those ahead of it, so that nearly all take that long.
fn ahead(flow: &Flow, scenario: &Scenario) -> f64 {
    let Traffic::Cbr { rate, .. } = flow.traffic else { return 0.0 };
    let seconds = flow.overhead.min(scenario.duration).as_secs();
    let packets = rate.as_bps() as f64 / 8.0 / flow.packet.0 as f64 * seconds / 2.0;
    if packets < 1.0 { 0.0 } else { packets }
}

/// The bandwidth-delay products of the bottlenecks, each with the mean propagation time of its bulk flows, in packets,
/// unless the buffers of these flows hold less.
fn in_flight(scenario: &Scenario) -> f64 {
    let mut packets = 0.0;
    let mut flows: Vec<Vec<&Flow>> = vec![Vec::new(); scenario.links.len()];
    for (flow, bottleneck) in scenario.flows.iter().zip(scenario.bottlenecks()) {
        if let (Traffic::Bulk | Traffic::Limited { .. } | Traffic::Sized(_), Some(link)) =
            (&flow.traffic, bottleneck)
        {
            flows[link as usize].push(flow);
        }
    }
    for (link, flows) in scenario.links.iter().zip(flows).filter(|(_, flows)| !flows.is_empty()) {
        let count = flows.len() as f64;
        let delay_s = flows.iter().map(|flow| propagation_s(scenario, flow)).sum::<f64>() / count;
        let seconds = delay_s.min(scenario.duration.as_secs());
        let product =
            link.passes(Time::ZERO, Time::ZERO + scenario.duration) / scenario.duration.as_secs() * seconds;
        let buffer = |flow: &&Flow| flow.receive_buffer.map_or(f64::INFINITY, |buffer| buffer.0 as f64);
        let size = flows.iter().map(|flow| flow.packet.0 as f64).sum::<f64>() / count;
        packets += product.min(flows.iter().map(buffer).sum()) / size;
    }
    packets
}

/// The time that a packet and its acknowledgement spend on the wires of their paths, seconds.
fn propagation_s(scenario: &Scenario, flow: &Flow) -> f64 {
    let delay = |hop: &Hop| match hop {
        Hop::Link(link) => scenario.links[*link as usize].delay,
        Hop::Access { delay, .. } => *delay,
    };
    flow.forward.iter().chain(&flow.reverse).map(|hop| delay(hop).as_secs()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read;

    fn estimate(flows: &str) -> CostEstimate {
        let dumbbell = "duration = \"10 s\"\n[bottleneck]\nrate = \"8 Mbit/s\"\ndelay = \"10 ms\"\nqueue = { kind = \"droptail\", capacity = \"unlimited\" }\n";
        CostEstimate::of(&read(&[dumbbell, flows].concat(), "test", &[]).expect("it is a scenario").base)
    }

    /// 8 Mbit/s are 1000 packets a second, so 10,000 in all, whoever sends them; 80 Mbit/s of datagrams are 100,000.
    #[test]
    fn packets_are_what_links_carry_and_constant_rates_offer() {
        let bulk = "[[flow]]\nname = \"b\"\ncontroller = \"reno\"\ncount = 3\n";
        let small = "[[flow]]\nname = \"s\"\ncontroller = \"reno\"\ntraffic = \"10 kB\"\n";
        let flood = "[[flow]]\nname = \"c\"\ntraffic = { kind = \"cbr\", rate = \"80 Mbit/s\" }\n";
        assert_eq!(estimate(bulk).packets, 10_000.0);
        assert_eq!(estimate(small).packets, 10.0);
        assert_eq!(estimate(flood).packets, 100_000.0);
        assert_eq!((estimate(bulk).flows, estimate(bulk).transfers), (3, 3.0));
    }

    /// 10 s are 1000 bins of 10 ms, in which CUBIC shows its plateau.
    #[test]
    fn each_value_of_a_gauge_takes_memory() {
        let flow = |controller: &str| format!("[[flow]]\nname = \"f\"\ncontroller = \"{controller}\"\n");
        let more = estimate(&flow("cubic")).bytes - estimate(&flow("reno")).bytes;
        assert_eq!(more, 1000.0 * 40.0);
    }

    /// 10 s of 100 transfers a second, of 1 MB each, over 1 MB/s: 1 % is granted. 990 of the 1000 transfers stay open for
    /// 5 s on average, in which one of 12 repeats a packet.
    #[test]
    fn transfers_cost_their_opening_and_those_that_are_starved_their_retransmissions() {
        let short = "[[flow]]\nname = \"s\"\ncontroller = \"reno\"\ntraffic = { kind = \"short\", rate = \"100 /s\", size = \"1 MB\" }\n";
        let estimate = estimate(short);
        assert_eq!((estimate.packets, estimate.transfers), (10_000.0, 1000.0));
        let rows = estimate.rows as f64 * 0.5;
        let expected = 10_000.0 + 990.0 * 5.0 / 60.0 + 10_000.0 + rows;
        assert!((estimate.seconds / 3e-7 - expected).abs() < 20.0, "{}", estimate.seconds / 3e-7);
    }

    /// 8 Mbit/s are 10,000 packets in 10 s. The second link duplicates each, but only the first 10,000 of the 20,000 fit on the
    /// third, so that two links behind the first carry 10,000 each, which take half as much as a packet.
    #[test]
    fn links_behind_the_first_take_half_a_packet() {
        let link = |from: u32, more: &str| {
            format!(
                "[[link]]\nfrom = \"n{from}\"\nto = \"n{}\"\nrate = \"8 Mbit/s\"\ndelay = \"1 ms\"\nqueue = {{ kind = \"droptail\", capacity = \"unlimited\" }}\n{more}",
                from + 1
            )
        };
        let nodes: String = (0..4).map(|node| format!("[[node]]\nname = \"n{node}\"\n")).collect();
        let links = [link(0, ""), link(1, "duplicate = 1.0\n"), link(2, "")].concat();
        let flow = "[[flow]]\nname = \"b\"\ncontroller = \"reno\"\nfrom = \"n0\"\nto = \"n3\"\n";
        let text = format!("duration = \"10 s\"\n{nodes}{links}{flow}");
        let estimate = CostEstimate::of(&read(&text, "test", &[]).expect("it is a scenario").base);
        let expected = 10_000.0 + 0.5 * 20_000.0 + 10.0 + estimate.rows as f64 * 0.5;
        assert!((estimate.seconds / 3e-7 - expected).abs() < 20.0, "{}", estimate.seconds / 3e-7);
    }

    /// 50 us of 5 Gbit/s for each of two flows are 20.8 packets: a tenth of a packet each, and a 20.8th of the rest. A queue
    /// that decides about each packet takes the whole.
    #[test]
    fn packets_of_bursts_take_a_part() {
        let flows = "[[flow]]\nname = \"b\"\ncontroller = \"cubic\"\ncount = 2\noffload = \"auto\"\n";
        let fast = |queue: &str| {
            let queue = format!("queue = {{ kind = \"{queue}\", capacity = \"1 bdp\" }}");
            let link = format!("[bottleneck]\nrate = \"10 Gbit/s\"\ndelay = \"10 ms\"\n{queue}\n");
            let text =
                format!("duration = \"10 s\"\npacket = \"1500 B\"\nprofile = \"linux\"\n{link}{flows}");
            let estimate = CostEstimate::of(&read(&text, "test", &[]).expect("it is a scenario").base);
            estimate.seconds / 3e-7 / estimate.packets
        };
        assert!((fast("droptail") - 0.1432).abs() < 0.001, "{}", fast("droptail"));
        assert!((fast("codel") - 1.0).abs() < 0.001, "{}", fast("codel"));
    }

    /// 8 Mbit/s for the 20 ms that the link takes both ways are 20 packets, and flows of 200 ms have ten times that.
    #[test]
    fn bulk_flows_fill_their_bottleneck() {
        let bulk = "[[flow]]\nname = \"b\"\ncontroller = \"reno\"\ncount = 3\n";
        let in_flight = |flows: &str| estimate(flows).in_flight.round();
        assert_eq!(in_flight(bulk), 20.0);
        assert_eq!(in_flight(&format!("{bulk}rtt = \"200 ms\"\n")), 200.0);
        assert_eq!(in_flight(&format!("{bulk}receive_buffer = \"2 kB\"\n")), 6.0);
    }

    /// A packet takes 1 ms at 8 Mbit/s, which is the overhead; 80 Tbit/s are 10^7 of 1000 B in that, of which half count.
    #[test]
    fn what_comes_faster_than_a_sender_hands_it_on_waits() {
        let flood = "[[flow]]\nname = \"c\"\ntraffic = { kind = \"cbr\", rate = \"80 Tbit/s\" }\n";
        let flooded = estimate(flood);
        assert_eq!(flooded.waiting, 5e6);
        assert!(flooded.bytes > 5e6 * 56.0 && flooded.bytes < 6e6 * 56.0, "{flooded:?}");
        assert_eq!(estimate(&flood.replace("80 Tbit/s", "8 Mbit/s")).waiting, 0.0);
    }
}
