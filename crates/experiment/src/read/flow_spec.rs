//! One `[[flow]]`: its own values, and the flows that it stands for.

use fairhaul_cc::{Controller, ControllerChoice};
use fairhaul_units::{Bytes, HEADER, Span};

use super::field::Accepts;
use super::flow_names::indexed;
use super::link_graph::{LinkGraph, LinkRoute};
use super::mistake::Notes;
use super::quantities::{CapacitySpec, RoundTrips};
use super::reader::{Value, Values};
use crate::plan::expected;
use crate::{
    Flow, Hold, ReceiverClock, Recovery, Role, Rto, SizeLaw, SlowStart, Sockbuf, Start, Traffic, WebPages,
};

/// What a receiver holds an acknowledgement for where the file says `true`, as Linux does.
const DELAYED_ACK: Span = Span::from_ms(40);
/// The most packets at the start that Linux acknowledges one by one, where half of the receive
/// buffer is not less; and the least.
const QUICK: (u64, u64) = (2, 16);

/// A `[[flow]]` with its route: `count` flows of the same values.
pub(super) struct FlowSpec<'a> {
    values: &'a Values,
    name: String,
    count: u64,
    /// Of each flow.
    connections: u64,
    packet: Bytes,
    pub(super) traffic: Traffic,
    pub(super) route: LinkRoute,
    /// Of each flow.
    pub(super) rtts: Vec<Span>,
}

impl<'a> FlowSpec<'a> {
    /// Checks what the values of one flow say together. `None`: it could not be understood, which
    /// has been noted.
    pub(super) fn read(
        values: &'a Values,
        packet: Bytes,
        duration: Option<Span>,
        net: &LinkGraph,
        notes: &mut Notes,
    ) -> Option<FlowSpec<'a>> {
        let packet = values.size("packet").unwrap_or(packet);
        let count = values.whole("count").unwrap_or(1);
        window(values, notes);
        room(values, packet, notes);
        bursts(values, packet, notes);
        if let (Some(duration), Some(start)) = (duration, values.start("start")) {
            in_time(start, duration, values, notes);
        }
        let route = net.route(values, notes);
        let reverse = values.table("direction").is_some_and(|word| word.shape.name == "reverse");
        let route = route.map(|route| if reverse { route.reversed() } else { route });
        let rtts = round_trips(values, count, route.as_ref().map(|route| net.two_way(route)), notes);
        let (name, traffic) = (values.text("name"), traffic(values));
        let connections = values.whole("connections").unwrap_or(1);
        controlled(values, traffic.as_ref(), notes);
        shared(values, connections, traffic.as_ref(), notes);
        Some(FlowSpec {
            name: name?,
            count,
            connections,
            packet,
            traffic: traffic?,
            route: route?,
            rtts: rtts?,
            values,
        })
    }

    /// Whether its controller asks routers how fast to be.
    pub(super) fn asks_routers(&self) -> bool {
        let asks = |choice: ControllerChoice| choice.entry.header > Bytes(0);
        !matches!(self.traffic, Traffic::Cbr { .. }) && self.values.controller("controller").is_some_and(asks)
    }

    /// Notes a mistake in one of its values.
    pub(super) fn note(&self, key: &str, text: String, notes: &mut Notes) {
        notes.note(self.values.origin(key), text);
    }

    /// The transfers that it is expected to make.
    pub(super) fn transfers(&self, duration: Span) -> f64 {
        (self.count * self.connections) as f64 * expected(&self.traffic, duration)
    }

    /// How many flows it stands for in the record: every connection is one.
    pub(super) fn width(&self) -> u64 {
        self.count * self.connections
    }

    /// Its flows, the first of which is flow number `base` of the scenario. `None`: one of its values
    /// was wrong, which has been noted.
    pub(super) fn flows(&self, base: u64, net: &LinkGraph) -> Option<Vec<Flow>> {
        let v = self.values;
        let unlimited = |key| v.number(key).unwrap_or(f64::INFINITY);
        let background = v.table("role")?.shape.name == "background";
        let controller = match self.traffic {
            Traffic::Cbr { .. } => ControllerChoice::named("reno")?, // no engine asks
            _ => v.controller("controller")?,
        };
        let first = Flow {
            name: String::new(),
            group: String::new(),
            lead: None,
            role: if background { Role::Background } else { Role::Measured },
            // What reads marks can do nothing without them.
            ecn: match v.get("ecn") {
                Some(given) => matches!(given, Value::Switch(true)),
                None => controller.build().exact_echo(),
            },
            controller,
            recovery: recovery(&v.table("recovery")?)?,
            traffic: self.traffic,
            start: v.start("start")?,
            rtt: Span::ZERO,
            forward: Vec::new(),
            reverse: Vec::new(),
            packet: self.packet,
            initial_window: v.number("initial_window")?,
            initial_ssthresh: unlimited("initial_ssthresh"),
            max_window: unlimited("max_window"),
            slow_start: slow_start(&v.table("slow_start")?)?,
            max_pacing_rate: v.rate("max_pacing_rate"),
            offload: burst(v, self.packet)?,
            undo: matches!(v.get("undo")?, Value::Switch(true)),
            delayed_ack: self.hold(v.get("delayed_ack")?),
            integer_cwnd: matches!(v.get("whole_window")?, Value::Switch(true)),
            linux: v.given("profile") && v.table("profile")?.shape.name == "linux",
            rto: rto(v)?,
            sockbuf: sockbuf(v)?,
            clock: clock(v)?,
            min_rto: v.span("min_rto")?,
            send_buffer: v.size("send_buffer"),
            receive_buffer: v.size("receive_buffer"),
            overhead: v.span("overhead").unwrap_or_else(|| net.slowest(&self.route).on_wire(self.packet)),
        };
        let connections = self.rtts.iter().enumerate().flat_map(|(index, rtt)| {
            let (forward, reverse) = net.hops(&self.route, *rtt);
            let whole = indexed(&self.name, self.count, index as u64);
            let group = if v.given("group") { v.text("group").unwrap_or_default() } else { whole.clone() };
            let lead = (self.connections > 1).then(|| (base + index as u64 * self.connections) as u32);
            let whole = Flow { name: whole, group, lead, rtt: *rtt, forward, reverse, ..first.clone() };
            (0..self.connections).map(move |index| Flow {
                name: indexed(&whole.name, self.connections, index),
                ..whole.clone()
            })
        });
        Some(connections.collect())
    }
}

impl FlowSpec<'_> {
    /// How long the receiver holds an acknowledgement.
    fn hold(&self, given: &Value) -> Option<Hold> {
        match given {
            Value::Span(span) => Some(Hold::For(*span)),
            Value::Table(_) => {
                let half = self.values.size("receive_buffer").map_or(u64::MAX, |b| b.0 / (2 * self.packet.0));
                Some(Hold::Adaptive { quick: half.clamp(QUICK.0, QUICK.1) as u32 })
            }
            held => matches!(held, Value::Switch(true)).then_some(Hold::For(DELAYED_ACK)),
        }
    }
}

/// The windows of a flow fit each other.
fn window(values: &Values, notes: &mut Notes) {
    let (Some(initial), Some(most)) = (values.number("initial_window"), values.number("max_window")) else {
        return;
    };
    if initial > most {
        let text = format!("max_window: {most} packets is less than initial_window, {initial}");
        notes.note(values.origin("max_window"), text);
    }
}

/// What has congestion control says which, and what has none does not.
fn controlled(values: &Values, traffic: Option<&Traffic>, notes: &mut Notes) {
    let datagrams = matches!(traffic, Some(Traffic::Cbr { .. }));
    if datagrams && matches!(values.get("ecn"), Some(Value::Switch(true))) {
        notes.note(
            values.origin("ecn"),
            "ecn: not possible with \"cbr\" traffic, because UDP has no ECN \
                                        feedback",
        );
    }
    match (datagrams, values.given("controller")) {
        (false, false) => {
            let wanted = Accepts::Controller.wanted();
            notes.note(values.origin, format!("[[flow]] needs \"controller\": {wanted}"));
        }
        (true, true) => {
            notes.note(
                values.origin("controller"),
                "controller: not possible with \"cbr\" traffic, which has \
                                                   no congestion control",
            );
        }
        _ => {}
    }
}

/// Only one transfer can be shared: many that come and go are connections of their own.
fn shared(values: &Values, connections: u64, traffic: Option<&Traffic>, notes: &mut Notes) {
    let one = matches!(traffic, None | Some(Traffic::Bulk | Traffic::Sized(_)));
    if connections > 1 && !one {
        let text = "connections: more than one connection can carry \"bulk\" traffic or a single size such \
                    as \"1 GB\"; other traffic opens its own connections";
        notes.note(values.origin("connections"), text);
    }
}

/// A packet holds its headers and something more, and a buffer the payload of one: a smaller one would
/// stop the flow for good.
fn room(values: &Values, packet: Bytes, notes: &mut Notes) {
    let controller = values.controller("controller");
    let headers = HEADER + controller.as_ref().map_or(Bytes(0), |controller| controller.entry.header);
    if packet <= headers {
        let whose = controller.map_or("", |controller| controller.entry.name);
        let text =
            format!("packet: {packet} leaves no room for payload; the headers of {whose} take {headers}");
        return notes.note(values.origin("packet"), text);
    }
    let payload = packet - headers;
    for key in ["send_buffer", "receive_buffer"] {
        if let Some(size) = values.size(key).filter(|size| *size < payload) {
            let text = format!("{key}: {size} is less than the payload of one packet, {payload}");
            notes.note(values.origin(key), text);
        }
    }
}

/// The receiver's clock against the sender's.
fn clock(values: &Values) -> Option<ReceiverClock> {
    Some(ReceiverClock {
        offset: values.span("clock_offset")?,
        drift_ppb: libm::round(values.number("clock_drift")? * 1000.0) as i64,
        stamp: values.span("clock_stamp")?,
    })
}

/// Packets in a burst of offload; a size is rounded down.
fn burst(values: &Values, packet: Bytes) -> Option<u64> {
    match values.capacity("offload")? {
        CapacitySpec::Packets(packets) => Some(packets),
        CapacitySpec::Bytes(size) => Some(size.0 / packet.0),
        other => unreachable!("offload is {other:?}"),
    }
}

/// A burst holds a packet.
fn bursts(values: &Values, packet: Bytes, notes: &mut Notes) {
    if let Some(0) = burst(values, packet)
        && let Some(CapacitySpec::Bytes(size)) = values.capacity("offload")
    {
        notes.note(values.origin("offload"), format!("offload: {size} is less than one packet of {packet}"));
    }
}

/// A flow starts before the end.
fn in_time(start: Start, duration: Span, values: &Values, notes: &mut Notes) {
    let late = match start {
        Start::At(at) => at >= duration,
        Start::Uniform(from, to) => from >= duration || to > duration,
        Start::Exponential(mean) => mean >= duration,
    };
    if late {
        notes.note(values.origin("start"), format!("start: must be before the end of the run at {duration}"));
    }
}

/// The round-trip time of each flow; `links`: what the links need, where that is known.
fn round_trips(values: &Values, count: u64, links: Option<Span>, notes: &mut Notes) -> Option<Vec<Span>> {
    let origin = values.origin("rtt");
    if !values.given("rtt") {
        return Some(vec![links?; count as usize]);
    }
    let all = match values.round_trips("rtt")? {
        RoundTrips::One(rtt) => vec![rtt; count as usize],
        RoundTrips::Spread(from, to) => spread(from, to, count),
        RoundTrips::Each(each) if each.len() as u64 != count => {
            let (entries, flows) =
                (plural(each.len() as u64, "entry", "entries"), plural(count, "flow", "flows"));
            notes.note(origin, format!("rtt: the list has {entries} for {flows}"));
            return None;
        }
        RoundTrips::Each(each) => each,
    };
    let shortest = all.iter().min().copied().unwrap_or_default();
    match links {
        Some(links) if shortest < links => {
            notes.note(
                origin,
                format!(
                    "rtt: {shortest} is less than the two-way propagation delay of the flow's links, \
                         {links}"
                ),
            );
            None
        }
        _ => Some(all),
    }
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

/// How the timeout follows from round trips.
fn rto(values: &Values) -> Option<Rto> {
    Some(match values.table("rto")?.shape.name {
        "linux" => Rto::Linux,
        "rfc6298" => Rto::Rfc6298,
        _ => Rto::Scaled,
    })
}

/// What the send buffer counts.
fn sockbuf(values: &Values) -> Option<Sockbuf> {
    Some(if values.table("sockbuf")?.shape.name == "linux" { Sockbuf::Linux } else { Sockbuf::Payload })
}

fn recovery(word: &Values) -> Option<Recovery> {
    Some(match word.shape.name {
        "reno" => Recovery::Reno,
        "rack" => Recovery::Rack,
        "newreno" => Recovery::NewReno { impatient: word.table("variant")?.shape.name == "impatient" },
        _ if matches!(word.get("prr")?, Value::Switch(true)) => Recovery::SackPrr,
        _ => Recovery::Sack,
    })
}

fn slow_start(word: &Values) -> Option<SlowStart> {
    Some(match word.shape.name {
        "limited" => SlowStart::Limited { max_ssthresh: word.number("max_ssthresh")? },
        "hystart++" => SlowStart::HyStartPp,
        "hystart" => SlowStart::HyStart,
        "full" => SlowStart::Full,
        _ => SlowStart::Standard,
    })
}

fn traffic(values: &Values) -> Option<Traffic> {
    let word = match values.get("traffic")? {
        Value::Size(size) => return Some(Traffic::Sized(*size)),
        Value::Table(word) => word,
        other => unreachable!("traffic is {other:?}"),
    };
    Some(match word.shape.name {
        "bulk" => Traffic::Bulk,
        "sized" => Traffic::Sized(word.size("size")?),
        "short" => Traffic::Short { per_s: word.number("rate")?, size: size_law(word)? },
        "onoff" => Traffic::OnOff { rate: word.rate("rate")?, on: word.span("on")?, off: word.span("off")? },
        "cbr" => Traffic::Cbr { rate: word.rate("rate")? },
        _ => Traffic::Web(WebPages {
            sessions_per_s: word.number("sessions")?,
            pages: word.number("pages")?,
            think: word.span("think")?,
            objects: word.number("objects")?,
            size: size_law(word)?,
        }),
    })
}

fn size_law(word: &Values) -> Option<SizeLaw> {
    Some(match word.get("size")? {
        Value::Size(size) => SizeLaw::Fixed(*size),
        Value::Table(law) if law.shape.name == "pareto" => {
            SizeLaw::Pareto(law.size("mean")?, law.number("shape")?)
        }
        Value::Table(law) => SizeLaw::Exponential(law.size("mean")?),
        other => unreachable!("size is {other:?}"),
    })
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
