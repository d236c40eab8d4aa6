//! Resolves one `[[flow]]`: from its keys to the flows that it makes.

use fairhaul_cc::ControllerChoice;
use fairhaul_units::{Bytes, HEADER, Span, TIME_STAMPS};

use super::capacity_trace::Traces;
use super::ecn_keys::{self, reads_marks, sends_ect1};
use super::exchange::with_file;
use super::field::Accepts;
use super::fields::{DelayedAck, Direction, FlowKeys};
use super::flow_names::indexed;
use super::host_settings;
use super::link_graph::{LinkGraph, LinkRoute};
use super::mistake::Notes;
use super::program_flow;
use super::quantities::{BurstSpec, RoundTrips};
use super::stacked_flow::stacked;
use super::starts::starts;
use crate::scenario::plan::expected;
use crate::{Flow, FqHorizon, Hold, HostPacing, OnTimeout, Profile, ReceiverClock, Recovery, Start, Traffic};

/// The most packets at the start that Linux acknowledges one by one, where half of the receive
/// buffer is not less; and the least.
const QUICK: (u64, u64) = (2, 16);

/// The largest packet of most paths.
const ETHERNET: Bytes = Bytes(1500);

/// A `[[flow]]` with its route: `count` flows of the same values.
pub(super) struct FlowSpec<'a> {
    pub(super) keys: &'a FlowKeys,
    pub(super) name: &'a str,
    pub(super) packet: Bytes,
    pub(super) route: LinkRoute,
    /// Of each flow.
    pub(super) rtts: Vec<Span>,
    /// What each of its flows sends.
    traffic: Traffic,
}

impl<'a> FlowSpec<'a> {
    /// Checks what the values of one flow say together. `None`: it could not be understood, which
    /// has been noted.
    pub(super) fn read(
        keys: &'a FlowKeys,
        packet: Bytes,
        duration: Option<Span>,
        (net, traces): (&LinkGraph, &Traces),
        notes: &mut Notes,
    ) -> Option<FlowSpec<'a>> {
        // To another stack it is the largest packet of the path.
        let of_others = keys.stack.key.given || keys.program.key.given;
        let packet = if of_others { packet.max(ETHERNET) } else { packet };
        let packet = keys.packet.value.unwrap_or(packet);
        window(keys, notes);
        timeouts(keys, notes);
        starts(keys, notes);
        check_sizes(keys, packet, notes);
        bursts(keys, packet, notes);
        host_settings::check(keys, notes);
        if let Some(duration) = duration {
            in_time(keys, duration, notes);
        }
        let route = net.route(keys, notes);
        let route = route.map(|route| match keys.direction.value {
            Direction::Forward => route,
            Direction::Reverse => route.reversed(),
        });
        let rtts = round_trips(keys, route.as_ref().map(|route| net.two_way(route)), notes);
        controlled(keys, notes);
        limited(keys, notes);
        ecn_keys::check(keys, notes);
        acknowledged(keys, notes);
        shared(keys, notes);
        let traffic = with_file(keys, traces, notes)?;
        let name = keys.name.value.as_deref()?;
        Some(FlowSpec { keys, name, packet, route: route?, rtts: rtts?, traffic })
    }

    /// What each of its flows sends.
    pub(super) fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// Whether its controller asks routers how fast to be.
    pub(super) fn asks_routers(&self) -> bool {
        let asks = |choice: &ControllerChoice| choice.entry.header > Bytes(0);
        has_controller(self.keys) && self.keys.controller.value.as_ref().is_some_and(asks)
    }

    /// Whether its packets have the size that the scenario says, and not what an end of others discovers.
    pub(super) fn has_one_size(&self) -> bool {
        !(self.keys.stack.key.given || self.keys.program.key.given)
    }

    /// The transfers that it is expected to make.
    pub(super) fn transfers(&self, duration: Span) -> f64 {
        self.keys.width() as f64 * expected(self.traffic(), duration)
    }

    /// Its flows, the first of which is flow number `base` of the scenario. `None`: its controller
    /// was wrong, which has been noted.
    pub(super) fn flows(&self, base: u64, net: &LinkGraph) -> Option<Vec<Flow>> {
        let keys = self.keys;
        let controller = controller_of(keys)?;
        let accurate = keys.accecn.value.unwrap_or_else(|| sends_ect1(&controller));
        let first = Flow {
            name: String::new(),
            group: String::new(),
            class: keys.group.value.clone().unwrap_or_else(|| self.name.to_owned()),
            lead: None,
            role: keys.role.value,
            // What reads marks can do nothing without them.
            ecn: keys.ecn.value.unwrap_or_else(|| reads_marks(&controller)),
            ect1: keys.ect1.value.unwrap_or_else(|| sends_ect1(&controller)),
            accecn: accurate.then_some(keys.accecn_option.value),
            middlebox: keys.middlebox.value,
            controller,
            program: program_flow::programs(keys),
            recovery: keys.recovery.value,
            traffic: self.traffic.clone(),
            start: keys.start.value,
            rtt: Span::ZERO,
            forward: Vec::new(),
            reverse: Vec::new(),
            packet: self.packet,
            initial_window: keys.initial_window.value,
            initial_ssthresh: keys.initial_ssthresh.value.unwrap_or(f64::INFINITY),
            max_window: keys.max_window.value.unwrap_or(f64::INFINITY),
            slow_start: keys.slow_start.value,
            startup: keys.startup.value,
            rate_limited_increase: keys.rate_limited_increase.value,
            growth: keys.growth.value,
            restart: keys.restart.value,
            pacing: pacing(keys),
            on_timeout: keys.on_timeout.value,
            min_window: keys.min_window.value,
            mark_beta: keys.mark_beta.value,
            first_beta: keys.first_beta.value,
            max_pacing_rate: keys.max_pacing_rate.value,
            offload: burst(keys, self.packet),
            undo: keys.undo.value,
            delayed_ack: self.hold(),
            integer_cwnd: keys.whole_window.value,
            profile: keys.profile.value.unwrap_or(Profile::Plain),
            rto: keys.rto.value,
            sockbuf: keys.sockbuf.value,
            clock: clock(keys),
            min_rto: keys.min_rto.value,
            send_buffer: keys.send_buffer.value.bytes(),
            receive_buffer: keys.receive_buffer.value.bytes(),
            overhead: keys.overhead.value.unwrap_or_else(|| net.slowest(&self.route).on_wire(self.packet)),
            between: [&keys.source_host, &keys.destination_host].map(|host| host.value.clone()),
            dscp: keys.dscp.value,
            host: host_settings::of(keys),
        };
        Some(self.spread_over(&first, base, net))
    }

    /// Such flows, one for each round-trip time and connection.
    fn spread_over(&self, first: &Flow, base: u64, net: &LinkGraph) -> Vec<Flow> {
        let (keys, count, connections) = (self.keys, self.keys.count.value, self.keys.connections.value);
        let connected = self.rtts.iter().enumerate().flat_map(|(index, rtt)| {
            let (forward, reverse) = net.hops(&self.route, *rtt);
            let whole = indexed(self.name, count, index as u64);
            let group = keys.group.value.clone().unwrap_or_else(|| whole.clone());
            let lead = (connections > 1).then(|| (base + index as u64 * connections) as u32);
            let whole = Flow { name: whole, group, lead, rtt: *rtt, forward, reverse, ..first.clone() };
            (0..connections)
                .map(move |index| Flow { name: indexed(&whole.name, connections, index), ..whole.clone() })
        });
        connected.collect()
    }

    /// How long the receiver holds an acknowledgement.
    fn hold(&self) -> Option<Hold> {
        match self.keys.delayed_ack.value {
            DelayedAck::Never => None,
            DelayedAck::For(most) => Some(Hold::For { most, packets: self.keys.ack_every.value as u32 }),
            DelayedAck::Adaptive => {
                let buffer = self.keys.receive_buffer.value.bytes();
                let half = buffer.map_or(u64::MAX, |b| b.0 / (2 * self.packet.0));
                Some(Hold::Adaptive { quick: half.clamp(QUICK.0, QUICK.1) as u32 })
            }
        }
    }
}

impl FlowKeys {
    /// How many flows it stands for in the record: every connection is one.
    pub(super) fn width(&self) -> u64 {
        self.count.value * self.connections.value
    }
}

/// Whether its traffic has congestion control that Fairhaul knows.
fn has_controller(keys: &FlowKeys) -> bool {
    !matches!(keys.traffic.value, Traffic::Cbr { .. }) && !keys.program.key.given
}

/// Its controller; of traffic that has none, one that no engine asks.
fn controller_of(keys: &FlowKeys) -> Option<ControllerChoice> {
    match has_controller(keys) {
        true if keys.stack.key.given => keys.stack.value.clone(),
        true => keys.controller.value.clone(),
        false => ControllerChoice::named("reno"), // no engine asks
    }
}

/// The windows of a flow fit each other.
fn window(keys: &FlowKeys, notes: &mut Notes) {
    let initial = keys.initial_window.value;
    if let Some(most) = keys.max_window.value.filter(|most| initial > *most) {
        let text = format!("{most} packets is less than initial_window, {initial}");
        keys.max_window.key.note(text, notes);
    }
    if let (Some(least), Some(most)) = (keys.min_window.value, keys.max_window.value)
        && least > most
    {
        let text = format!("{least} packets is more than max_window, {most}");
        keys.min_window.key.note(text, notes);
    }
}

/// Who probes instead of starting over has a probe, which another recovery lacks.
fn timeouts(keys: &FlowKeys, notes: &mut Notes) {
    if keys.on_timeout.value == OnTimeout::Probe && keys.recovery.value != Recovery::Rack {
        keys.on_timeout.key.note("\"probe\" needs recovery = \"rack\"", notes);
    }
}

/// What has congestion control says which, and what has none does not.
fn controlled(keys: &FlowKeys, notes: &mut Notes) {
    if keys.program.key.given {
        return program_flow::check(keys, notes);
    }
    if keys.stack.key.given {
        return stacked(keys, notes);
    }
    match (has_controller(keys), keys.controller.key.given) {
        (true, false) => {
            let wanted = Accepts::Controller.wanted();
            notes.note(keys.origin, format!("[[flow]] needs \"controller\": {wanted}"));
        }
        (false, true) => {
            let text = "not possible with \"cbr\" traffic, which has no congestion control";
            keys.controller.key.note(text, notes);
        }
        _ => {}
    }
    if keys.ecn.value == Some(true) && !has_controller(keys) {
        let text = "not possible with \"cbr\" traffic, because UDP has no ECN feedback";
        keys.ecn.key.note(text, notes);
    }
}

/// A time without an end before it has begun limits nothing.
fn limited(keys: &FlowKeys, notes: &mut Notes) {
    if let Traffic::Limited { from, until, .. } = keys.traffic.value
        && from >= until
    {
        keys.traffic.key.note(format!("until, {until}, must be after from, {from}"), notes);
    }
}

/// Only a delayed acknowledgement can wait for a number of packets.
fn acknowledged(keys: &FlowKeys, notes: &mut Notes) {
    if keys.ack_every.value != 2 && !matches!(keys.delayed_ack.value, DelayedAck::For(_)) {
        let text = "needs delayed_ack with a time, such as \"25 ms\"";
        keys.ack_every.key.note(text, notes);
    }
}

/// Only one transfer can be shared: many that come and go are connections of their own.
fn shared(keys: &FlowKeys, notes: &mut Notes) {
    let is_bulk_or_sized = matches!(keys.traffic.value, Traffic::Bulk | Traffic::Sized(_));
    if keys.connections.value > 1 && !is_bulk_or_sized {
        let text = "more than one connection can carry \"bulk\" traffic or a single size such as \"1 GB\"; other \
                    traffic opens its own connections";
        keys.connections.key.note(text, notes);
    }
}

/// A packet holds its headers and something more, and a buffer the payload of one: a smaller one would
/// stop the flow for good.
fn check_sizes(keys: &FlowKeys, packet: Bytes, notes: &mut Notes) {
    let controller = keys.controller.value.as_ref().map(|controller| controller.entry);
    let has_options = keys.profile.value.is_some_and(Profile::is_linux) && has_controller(keys);
    let stamps = if has_options { TIME_STAMPS } else { Bytes(0) };
    let headers = HEADER + stamps + controller.map_or(Bytes(0), |entry| entry.header);
    if packet <= headers {
        let whose = controller.map_or("", |entry| entry.name);
        let text = format!("{packet} leaves no room for payload; the headers of {whose} take {headers}");
        return keys.packet.key.note(text, notes);
    }
    let payload = packet - headers;
    for buffer in [&keys.send_buffer, &keys.receive_buffer] {
        if let Some(size) = buffer.value.bytes().filter(|size| *size < payload) {
            let text = format!("{size} is less than the payload of one packet, {payload}");
            buffer.key.note(text, notes);
        }
    }
}

/// The receiver's clock against the sender's.
fn clock(keys: &FlowKeys) -> ReceiverClock {
    ReceiverClock {
        offset: keys.clock_offset.value,
        drift_ppb: libm::round(keys.clock_drift.value * 1000.0) as i64,
        stamp: keys.clock_stamp.value,
    }
}

/// How its host paces; a bound of the rate switches it on in Linux (SO_MAX_PACING_RATE), and so does its queue discipline
/// `fq`.
fn pacing(keys: &FlowKeys) -> HostPacing {
    let is_linux = keys.profile.value.is_some_and(Profile::is_linux);
    let bounded = keys.max_pacing_rate.value.is_some() && is_linux;
    let has_fq = || keys.host.value.as_ref()?.qdisc.value.as_deref().filter(|qdisc| FqHorizon::is_fq(qdisc));
    match keys.pacing.value {
        HostPacing::None if bounded || has_fq().is_some() => HostPacing::Linux,
        pacing => pacing,
    }
}

/// Packets in a burst of offload; a size is rounded down.
fn burst(keys: &FlowKeys, packet: Bytes) -> u64 {
    match keys.offload.value {
        BurstSpec::Packets(packets) => packets,
        BurstSpec::Bytes(size) => size.0 / packet.0,
        BurstSpec::Auto => Flow::BURSTS_OF_KERNEL,
    }
}

/// A burst holds a packet.
fn bursts(keys: &FlowKeys, packet: Bytes, notes: &mut Notes) {
    if let BurstSpec::Bytes(size) = keys.offload.value
        && size < packet
    {
        keys.offload.key.note(format!("{size} is less than one packet of {packet}"), notes);
    }
}

/// A flow starts before the end.
fn in_time(keys: &FlowKeys, duration: Span, notes: &mut Notes) {
    let late = match keys.start.value {
        Start::At(at) => at >= duration,
        Start::Uniform(from, to) => from >= duration || to > duration,
        Start::Exponential(mean) => mean >= duration,
    };
    if late {
        keys.start.key.note(format!("must be before the end of the run at {duration}"), notes);
    }
}

/// The round-trip time of each flow; `links`: what the links need, where that is known.
fn round_trips(keys: &FlowKeys, links: Option<Span>, notes: &mut Notes) -> Option<Vec<Span>> {
    let (rtt, count) = (&keys.rtt, keys.count.value);
    if !rtt.key.given {
        return Some(vec![links?; count as usize]);
    }
    let all = match rtt.value.as_ref()? {
        RoundTrips::One(rtt) => vec![*rtt; count as usize],
        RoundTrips::Spread(from, to) => spread(*from, *to, count),
        RoundTrips::Each(each) if each.len() as u64 != count => {
            let (entries, flows) =
                (plural(each.len() as u64, "entry", "entries"), plural(count, "flow", "flows"));
            rtt.key.note(format!("the list has {entries} for {flows}"), notes);
            return None;
        }
        RoundTrips::Each(each) => each.clone(),
    };
    let shortest = all.iter().min().copied().unwrap_or_default();
    if let Some(links) = links.filter(|links| shortest < *links) {
        let text =
            format!("{shortest} is less than the two-way propagation delay of the flow's links, {links}");
        rtt.key.note(text, notes);
        return None;
    }
    Some(all)
}

fn plural(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// `count` times from `from` to `to`, both included; for one flow the middle.
fn spread(from: Span, to: Span, count: u64) -> Vec<Span> {
    let width = u128::from((to - from).as_ps());
    let part = |i: u64| match count {
        1 => width / 2,
        _ => width * u128::from(i) / u128::from(count - 1),
    };
    (0..count).map(|i| from + Span::from_ps(part(i) as u64)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_flows_from_80_to_200_ms_are_40_ms_apart() {
        let ms = |list: &[u64]| list.iter().map(|m| Span::from_ms(*m)).collect::<Vec<_>>();
        assert_eq!(spread(Span::from_ms(80), Span::from_ms(200), 4), ms(&[80, 120, 160, 200]));
        assert_eq!(spread(Span::from_ms(80), Span::from_ms(200), 1), ms(&[140]));
    }
}
