//! The two hosts of a connection: each processes its events at its own time.

use fairhaul_cc::{Builtin, Window};
use fairhaul_experiment::{
    Flow, Grain, Hop, Limit, Recovery, Rto, Scenario, Source, Traffic, Transfer, TransferRow,
};
use fairhaul_path::card::MOST_LINKS;
use fairhaul_sim::tcp::{
    BufferLimits, Card, Datagrams, Outcome, Poll, ReceiveWindow, Receiver, Segmentation, SendCard, Sender,
    SenderConfig,
};
use fairhaul_units::{Ack, Chance, Data, Ecn, HEADER, Sending, Span, Time, mix};

use super::calendar::Event;
use super::ledger::{Fact, Ledger};
use super::link::{Link, size};
use super::{DataOrAck, Packet, Place, Shared};

/// See the module.
pub struct Host {
    serial: u32,
    flow: u32,
    start: Time,
    /// Numbers of the links that data and acknowledgements take.
    forward: Vec<usize>,
    reverse: Vec<usize>,
    sender: Sender<Builtin>,
    receiver: Receiver,
    card: Option<Card>,
    /// Payload of a full packet, and of the whole transfer.
    payload: u64,
    more_headers: u64,
    size: Option<u64>,
    in_order: u64,
    /// Packets of an endless transfer that are not full, and the bytes that they lack.
    short: Vec<(u64, u64)>,
    /// The first of the flows that share the transfer, and the payload that this one has claimed.
    lead: Option<u32>,
    claimed: u64,
    source: Option<Source>,
    /// A time without endless data, and the time of a packet in it.
    limited: Option<(Time, Time, Option<Span>)>,
    is_limited: bool,
    written: u64,
    /// The receiver of datagrams, instead of TCP.
    datagrams: Option<Datagrams>,
    overhead: Span,
    stamps_before_overhead: bool,
    chance: Chance,
    took: Span,
    /// On each link.
    next_launch: [Time; MOST_LINKS],
    is_bonded: bool,
    /// From packet to packet of a burst as its card sends it.
    spacing: Span,
    /// What the pacer was last waited for.
    paced: Option<Time>,
    /// The window, and since when it has been that.
    window: Window,
    since: Time,
    /// What keeps it back, and since when.
    limit: Option<(Limit, Time)>,
    /// The last mode of its controller.
    mode: Option<u8>,
    end: Option<Time>,
}

impl Host {
    /// Starts a transfer.
    pub fn start(serial: u32, transfer: &Transfer, scenario: &Scenario, shared: &mut Shared) -> Host {
        let flow = &scenario.flows[transfer.flow as usize];
        let sender = Sender::new(config(flow, transfer), flow.controller.build())
            .with_whole_bursts(scenario.grain == Grain::Auto);
        let mut receiver = Receiver::new(flow.recovery.reports(), flow.delayed_ack, sender.exact_echo())
            .with_feedback_sum(sender.sums_feedback())
            .with_dsack(flow.recovery == Recovery::Rack)
            .with_options(flow.has_options())
            .with_window(ReceiveWindow::of(flow, mix(scenario.seed ^ mix(serial.into()))));
        let lead = flow.lead.filter(|_| transfer.size.is_some());
        if lead.is_none() {
            receiver.set_end(sender.config().packets());
        }
        let mut host = Host {
            serial,
            flow: transfer.flow,
            start: transfer.start,
            forward: link_indices(&flow.forward, &mut shared.links),
            reverse: link_indices(&flow.reverse, &mut shared.links),
            window: sender.window(),
            since: transfer.start,
            limit: None,
            mode: None,
            sender,
            receiver,
            card: None,
            payload: flow.payload().0,
            more_headers: flow.headers().0 - HEADER.0,
            size: transfer.size.map(|size| size.0),
            in_order: 0,
            short: Vec::new(),
            lead,
            claimed: 0,
            source: Source::of(scenario, transfer.flow, transfer.start)
                .filter(|_| !matches!(flow.traffic, Traffic::Limited { .. })),
            limited: match flow.traffic {
                Traffic::Limited { rate, from, until } if Time::ZERO + until > transfer.start => {
                    let every = rate.map(|rate| rate.on_wire(flow.packet));
                    Some(((Time::ZERO + from).max(transfer.start), Time::ZERO + until, every))
                }
                _ => None,
            },
            is_limited: false,
            written: 0,
            datagrams: matches!(flow.traffic, Traffic::Cbr { .. }).then(Datagrams::default),
            overhead: flow.overhead,
            stamps_before_overhead: flow.rto == Rto::Linux,
            chance: Chance::stream(scenario.seed, "overhead", serial.into()),
            took: Span::ZERO,
            next_launch: [Time::ZERO; MOST_LINKS],
            is_bonded: flow.is_bonded(),
            spacing: SendCard::of(flow).map_or(Span::ZERO, |card| card.spacing(flow.packet)),
            paced: None,
            end: None,
        };
        let spacing = host.spacing(host.forward.len(), &shared.links);
        host.card = Card::of(flow, serial, scenario.seed, spacing);
        host.begin(transfer, shared);
        host
    }

    /// Sends what is ready at the start.
    fn begin(&mut self, transfer: &Transfer, shared: &mut Shared) {
        if self.source.is_some() {
            self.sender.ready(0);
        }
        self.await_ready(shared);
        if let Some((from, ..)) = self.limited {
            self.sender.ready(if from > transfer.start { u64::MAX } else { 0 });
            shared.calendar.add(from, Event::Ready(self.serial));
        }
        if self.datagrams.is_none() {
            self.send(transfer.start, shared);
        }
    }

    pub fn flow(&self) -> u32 {
        self.flow
    }

    /// When it started, and its number.
    pub fn age(&self) -> (Time, u32) {
        (self.start, self.serial)
    }

    pub fn is_open(&self) -> bool {
        self.end.is_none() && self.datagrams.is_none()
    }

    /// What its controller holds.
    pub fn gauges(&self) -> Vec<f64> {
        let mut values = Vec::new();
        self.sender.gauges(&mut values);
        values
    }

    /// The link that a packet takes next; `None` at its end.
    pub fn hop(&self, packet: &Packet) -> Option<usize> {
        let links = if let DataOrAck::Data(_) = packet.content { &self.forward } else { &self.reverse };
        links.get(packet.hop).copied()
    }

    /// One of its packets was dropped.
    pub fn dropped(&self, packet: &Packet, now: Time, ledger: &mut Ledger) {
        if let DataOrAck::Data(Data { packets: 1.., stamped, .. }) = packet.content {
            ledger.note(now, Fact::Lost { flow: self.flow, sent: stamped });
        }
    }

    /// A link has made two of one of its packets.
    pub fn copied(&self, packet: &Packet, now: Time, ledger: &mut Ledger) {
        if let DataOrAck::Data(Data { packets: 1.., stamped, .. }) = packet.content {
            ledger.note(now, Fact::Copied { flow: self.flow, sent: stamped });
        }
    }

    /// A link sent one of its packets from `began` on, and has done so at `departs`.
    pub fn crossed(&self, packet: &Packet, link: usize, began: Time, departs: Time, ledger: &mut Ledger) {
        if let DataOrAck::Data(Data { packets: 1.., .. }) = packet.content {
            let payload = size(packet) - (HEADER.0 + self.more_headers);
            match packet.place {
                Place::Leads(burst) => {
                    ledger.crossed_by_burst(self.flow, link, (payload, burst.packets), began, departs)
                }
                Place::Follows => {}
                Place::Alone => ledger.crossed(self.flow, link, payload, began, departs),
            }
        }
    }

    fn await_ready(&mut self, shared: &mut Shared) {
        if let Some(source) = &mut self.source {
            shared.calendar.add(source.next_at(), Event::Ready(self.serial));
        }
    }

    /// An application with endless data begins or ends to limit its sender, or has one more packet ready.
    fn on_limited(&mut self, (_, until, every): (Time, Time, Option<Span>), now: Time, shared: &mut Shared) {
        if now >= until {
            self.written = u64::MAX;
        } else {
            if !self.is_limited {
                (self.is_limited, self.written) = (true, self.sender.next());
            }
            self.written += u64::from(every.is_some());
            let next = every.map_or(until, |every| until.min(now + every));
            shared.calendar.add(next, Event::Ready(self.serial));
        }
        self.sender.ready(self.written);
        self.send(now, shared);
    }

    /// The application has one more packet ready.
    pub fn on_ready(&mut self, now: Time, shared: &mut Shared) {
        if let Some(limited) = self.limited {
            return self.on_limited(limited, now, shared);
        }
        self.written += 1;
        if self.datagrams.is_some() {
            let (number, size) = (self.written - 1, (self.payload + HEADER.0) as u32);
            let (ecn, cwr, congestion) = (Ecn::NotCapable, false, None);
            self.launch(
                Data {
                    number,
                    stamped: now,
                    size,
                    packets: 1,
                    sending: Sending::First,
                    ecn,
                    cwr,
                    congestion,
                },
                now,
                shared,
            );
        } else {
            self.sender.ready(self.written);
            self.send(now, shared);
        }
        self.await_ready(shared);
    }

    /// The time from packet to packet of a burst before that hop: that of the slowest which it has passed.
    pub fn spacing(&self, hop: usize, links: &[Link]) -> Span {
        let size = self.sender.config().packet.into();
        self.forward[..hop].iter().map(|&link| links[link].on_wire(size)).fold(self.spacing, Span::max)
    }

    /// Whether packets wait in a card of the receiver.
    pub fn has_card(&self) -> bool {
        self.card.is_some()
    }

    /// A data packet reaches the receiver.
    pub fn on_data(&mut self, data: &Data, now: Time, shared: &mut Shared) {
        match &mut self.card {
            Some(card) => {
                card.arrive(*data, now);
                shared.calendar.add(card.due(), Event::Receiver(self.serial));
            }
            None => self.take(data, now, shared),
        }
    }

    /// The receiver takes a packet, or packets that were merged.
    fn take(&mut self, data: &Data, now: Time, shared: &mut Shared) {
        if let Some(datagrams) = &mut self.datagrams {
            let fresh = datagrams.receive(data.number);
            let in_order = if fresh { self.payload } else { 0 };
            self.in_order += in_order;
            let fact =
                Fact::Delivered { flow: self.flow, payload: self.payload, in_order, fresh: fresh.into() };
            return shared.ledger.note(now, fact);
        }
        if self.receiver.must_ack_before(data) {
            let delayed = self.receiver.release(now).expect("a changed echo finds a delayed acknowledgement");
            self.reply(delayed, now, shared);
        }
        let before = self.bytes_before(self.receiver.next());
        let (fresh, ack) = self.receiver.receive(data, now);
        let in_order = self.bytes_before(self.receiver.next()) - before;
        if !data.opens() {
            let payload = data.payload(self.sender.config().headers);
            shared.ledger.note(now, Fact::Delivered { flow: self.flow, payload, in_order, fresh });
            self.in_order += in_order;
        }
        match ack {
            Some(ack) => {
                self.reply(ack, now, shared);
                if self.receiver.closes() {
                    self.reply(ack, now, shared);
                }
                if ack.opens {
                    shared.calendar.add(self.receiver.deadline(), Event::Receiver(self.serial));
                }
            }
            None => shared.calendar.add(self.receiver.deadline(), Event::Receiver(self.serial)),
        }
    }

    /// The card may interrupt, or the delay of an acknowledgement may have ended.
    pub fn on_receiver(&mut self, now: Time, shared: &mut Shared) {
        if let Some(mut card) = self.card.take_if(|card| card.due() == now) {
            card.interrupt(|data, more| {
                self.receiver.set_reads_later(more);
                self.take(&data, now, shared);
            });
            if card.due() < Time::NEVER {
                shared.calendar.add(card.due(), Event::Receiver(self.serial));
            }
            self.card = Some(card);
        }
        if self.receiver.deadline() == now {
            let ack = self.receiver.release(now).expect("an acknowledgement with a deadline is delayed");
            self.reply(ack, now, shared);
            shared.calendar.add(self.receiver.deadline(), Event::Receiver(self.serial));
        }
    }

    /// An acknowledgement reaches the sender.
    pub fn on_ack(&mut self, ack: &Ack, now: Time, shared: &mut Shared) {
        if self.end.is_some() {
            return;
        }
        self.offer_unclaimed(shared);
        let outcome = self.sender.on_ack(ack, now);
        if !ack.opens {
            let (rtt, one_way) = (self.sender.round_trip(ack, now), ack.arrived.since(ack.echo));
            shared.ledger.note(now, Fact::Sampled { flow: self.flow, rtt, one_way });
        } else {
            self.receiver.is_answered();
        }
        self.note(outcome, now, &mut shared.ledger);
        self.send(now, shared);
    }

    /// The pacer may let a packet go.
    pub fn on_paced(&mut self, now: Time, shared: &mut Shared) {
        if self.paced.take_if(|until| *until == now).is_some() {
            self.send(now, shared);
        }
    }

    /// The retransmission timer may have run out.
    pub fn on_timer(&mut self, now: Time, shared: &mut Shared) {
        if self.sender.timer() == now {
            let outcome = self.sender.on_timer(now);
            self.note(outcome, now, &mut shared.ledger);
            self.send(now, shared);
        }
    }

    /// The run is over.
    pub fn close(&mut self, ledger: &mut Ledger) {
        if self.end.is_none() && self.datagrams.is_none() {
            self.record_window(ledger.end(), ledger);
            self.record_limit(None, ledger.end(), ledger);
        }
    }

    fn send(&mut self, now: Time, shared: &mut Shared) {
        if self.end.is_some() {
            return;
        }
        loop {
            self.offer_unclaimed(shared);
            match self.sender.poll(now) {
                Poll::Send(data) => {
                    self.claim(&data, shared);
                    self.note_short(&data);
                    self.launch(data, now, shared);
                }
                Poll::Hold(until) => break self.await_pacer(until, shared),
                Poll::Idle => break,
            }
        }
        if self.lead.is_some() && self.sender.is_done() {
            self.note(Outcome::Finished, now, &mut shared.ledger);
        }
        if self.end.is_none() {
            self.record_limit(self.sender.limit(), now, &mut shared.ledger);
        }
        if self.sender.timer() != Time::NEVER {
            shared.calendar.add(self.sender.timer(), Event::Timer(self.serial));
        }
    }

    /// Unclaimed payload of the shared transfer may be claimed by this connection.
    fn offer_unclaimed(&mut self, shared: &Shared) {
        if let Some(lead) = self.lead {
            let most = self.claimed + shared.unclaimed[&lead];
            self.sender.set_size(most);
            self.size = Some(most);
        }
    }

    fn note_short(&mut self, data: &Data) {
        let lacks = (self.payload + HEADER.0 + self.more_headers).saturating_sub(data.packet_size().into());
        if self.size.is_none() && !data.opens() && !data.retransmitted() && lacks > 0 {
            self.short.push((data.number, lacks));
        }
    }

    fn claim(&mut self, data: &Data, shared: &mut Shared) {
        if let (Some(lead), false) = (self.lead, data.opens() || data.retransmitted()) {
            let payload = data.payload(self.sender.config().headers);
            self.claimed += payload;
            let left = shared.unclaimed.get_mut(&lead).expect("it was there at the start");
            *left -= payload;
            if *left == 0 {
                self.receiver.set_end(data.end());
            }
        }
    }

    /// Once for each time; otherwise every acknowledgement while the pacer waits would add an entry that adds
    /// itself again.
    fn await_pacer(&mut self, until: Time, shared: &mut Shared) {
        if self.paced != Some(until) {
            self.paced = Some(until);
            shared.calendar.add(until, Event::Paced(self.serial));
        }
    }

    fn launch(&mut self, mut data: Data, now: Time, shared: &mut Shared) {
        let handed = self.sender.hand_over(&data, now, &mut shared.cards);
        let mut leaves = handed;
        if !self.overhead.is_zero() {
            if !data.sending.follows() {
                self.took = self.chance.span(self.overhead);
            }
            let next_launch = &mut self.next_launch[self.sender.link()];
            leaves = (*next_launch).max(handed + self.took);
            *next_launch = leaves + self.spacing * u64::from(data.packets);
            data.stamped = if self.stamps_before_overhead { data.stamped } else { leaves };
        }
        if !data.opens() {
            let (packets, retransmitted) = (data.packets, data.retransmitted());
            shared.ledger.note(data.stamped, Fact::Sent { flow: self.flow, packets, retransmitted });
        }
        self.sender.launched(data.packets, data.stamped);
        let serial = self.serial;
        let mut add = |data, at| {
            let packet = Packet {
                serial,
                hop: 0,
                offered: now,
                content: DataOrAck::Data(data),
                place: Place::Alone,
                spacing: Span::ZERO,
                is_doomed: false,
            };
            shared.calendar.add(at, Event::Arrival(packet));
        };
        if self.is_bonded && data.packets > 1 {
            (0..).zip(data.each()).for_each(|(place, data)| add(data, leaves + self.spacing * place));
        } else {
            add(data, leaves);
        }
    }

    fn reply(&mut self, ack: Ack, now: Time, shared: &mut Shared) {
        let (serial, content) = (self.serial, DataOrAck::Ack(ack));
        let packet = Packet {
            serial,
            hop: 0,
            offered: now,
            content,
            place: Place::Alone,
            spacing: Span::ZERO,
            is_doomed: false,
        };
        shared.calendar.add(now, Event::Arrival(packet));
    }

    fn note(&mut self, outcome: Outcome, now: Time, ledger: &mut Ledger) {
        let changed = self.sender.window() != self.window;
        if changed || outcome.finishes() {
            self.record_window(now, ledger);
        }
        let before = std::mem::replace(&mut self.mode, self.sender.mode());
        if self.mode != before {
            let value = self.mode.map_or(f64::NAN, f64::from);
            ledger.note(now, Fact::Event { flow: self.flow, kind: "mode", value });
        }
        let mut event = |kind, value| ledger.note(now, Fact::Event { flow: self.flow, kind, value });
        match outcome {
            Outcome::Quiet => {}
            Outcome::Reduced => event("reduction", self.window.cwnd),
            Outcome::Marked => event("marked", self.window.cwnd),
            Outcome::Recovered => event("recovered", self.window.cwnd),
            Outcome::ReducedAgain => {
                event("recovered", self.window.cwnd);
                event("reduction", self.window.cwnd);
            }
            Outcome::TimedOut(timeout) => event("timeout", timeout.as_secs()),
            Outcome::Undone { since, .. } => event("undone", since.as_secs()),
            Outcome::Finished => {}
        }
        if outcome.finishes() {
            self.end = Some(now);
            self.record_limit(None, now, ledger);
        }
    }

    /// Notes what has kept it back until `now`, where something else does from now on.
    fn record_limit(&mut self, limit: Option<Limit>, now: Time, ledger: &mut Ledger) {
        if let Some((before, since)) = self.limit {
            if Some(before) == limit {
                return;
            }
            ledger.note(now, Fact::Limited { flow: self.flow, limit: before, since });
        }
        self.limit = limit.map(|limit| (limit, now));
    }

    /// Notes that the window has been as it was until `now`.
    fn record_window(&mut self, now: Time, ledger: &mut Ledger) {
        ledger.note(now, Fact::Window { flow: self.flow, window: self.window, since: self.since });
        (self.window, self.since) = (self.sender.window(), now);
    }

    /// The payload of all packets before that number.
    fn bytes_before(&self, number: u64) -> u64 {
        let short = self.short.iter().filter(|short| short.0 < number);
        let bytes = number * self.payload - short.map(|short| short.1).sum::<u64>();
        self.size.map_or(bytes, |size| size.min(bytes))
    }
}

/// What the record says of a transfer.
pub fn row(transfer: &Transfer, host: Option<&Host>) -> TransferRow {
    TransferRow {
        flow: transfer.flow,
        start_s: transfer.start.as_secs(),
        end_s: host.and_then(|host| host.end).map_or(f64::NAN, Time::as_secs),
        bytes: host.map_or(0, |host| host.in_order),
    }
}

/// The links of a path: links of the scenario by their number, and new wires.
fn link_indices(hops: &[Hop], links: &mut Vec<Link>) -> Vec<usize> {
    let number = |hop: &Hop| match *hop {
        Hop::Link(link) => link as usize,
        Hop::Access { rate, delay } => {
            links.push(Link::wire(rate, delay));
            links.len() - 1
        }
    };
    hops.iter().map(number).collect()
}

fn config(flow: &Flow, transfer: &Transfer) -> SenderConfig {
    let payload = flow.payload().0;
    SenderConfig {
        recovery: flow.recovery,
        packet: flow.packet.0 as u32,
        headers: flow.headers().0 as u32,
        options: flow.has_options(),
        size: transfer.size.map(|size| size.0),
        initial_window: flow.initial_window,
        initial_ssthresh: flow.initial_ssthresh,
        max_window: flow.max_window,
        slow_start: flow.slow_start,
        startup: flow.startup,
        rate_limited_increase: flow.rate_limited_increase,
        growth: flow.growth,
        restart: flow.restart,
        on_timeout: flow.on_timeout,
        min_window: flow.min_window,
        mark_beta: flow.mark_beta,
        first_beta: flow.first_beta,
        pacing: flow.pacing,
        ecn: [Ecn::NotCapable, Ecn::Capable][usize::from(flow.ecn)],
        accecn: None,
        max_pacing_rate: flow.max_pacing_rate,
        line: flow.line(),
        // What the kernel hands over together: 64 KiB without headers, of packets with time stamps.
        offload: match flow.offload {
            Flow::BURSTS_OF_KERNEL => ((65_536 - 257) / payload.saturating_sub(12).max(1)).max(1),
            packets => packets,
        },
        segmentation: Segmentation::of(flow),
        card: SendCard::of(flow),
        undo: flow.undo,
        clock: Some(flow.clock),
        buffers: BufferLimits::of(flow, payload),
        min_rto: flow.min_rto,
        rto: flow.rto,
        integer_cwnd: flow.integer_cwnd,
    }
}
