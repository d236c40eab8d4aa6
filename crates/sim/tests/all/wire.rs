//! A sender, a receiver, and between them a pipe that a test can see through.

use std::collections::{HashMap, VecDeque};

use fairhaul_cc::{Builtin, Controller, ControllerChoice};
use fairhaul_experiment::{Growth, HostPacing, OnTimeout, Recovery, Restart, Rto, SlowStart, Startup};
use fairhaul_sim::tcp::{BufferLimits, Outcome, Poll, Receiver, Sender, SenderConfig};
use fairhaul_units::{Ack, Data, Ecn, Span, Time};

/// A profile of packets of 1000 B without end, an initial window of 2 and a margin of 200 ms.
pub fn config(recovery: Recovery) -> SenderConfig {
    SenderConfig {
        recovery,
        packet: 1000,
        headers: 40,
        options: false,
        size: None,
        initial_window: 2.0,
        initial_ssthresh: f64::INFINITY,
        max_window: f64::INFINITY,
        slow_start: SlowStart::Standard,
        startup: Startup::None,
        rate_limited_increase: false,
        growth: Growth::PerPacket,
        restart: Restart::None,
        on_timeout: OnTimeout::StartOver,
        min_window: None,
        mark_beta: None,
        first_beta: None,
        pacing: HostPacing::None,
        ecn: Ecn::NotCapable,
        accecn: None,
        max_pacing_rate: None,
        line: 1e6,
        offload: 1,
        segmentation: None,
        card: None,
        undo: true,
        clock: None,
        buffers: BufferLimits::for_packets(u64::MAX),
        min_rto: Span::from_ms(200),
        rto: Rto::Scaled,
        integer_cwnd: false,
    }
}

/// A Reno sender of that profile.
pub fn sender(config: SenderConfig) -> Sender<Builtin> {
    Sender::new(config, ControllerChoice::named("reno").expect("in the catalogue").build())
}

pub fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

/// Says whether a packet that is sent for the n-th time (from 1) is lost.
type Fate = Box<dyn FnMut(&Data, u32) -> bool>;

/// Packets leave the pipe `gap` apart, and their acknowledgements are back `rtt` after that.
pub struct Pipe<C = Builtin> {
    pub sender: Sender<C>,
    receiver: Receiver,
    rtt: Span,
    gap: Span,
    free: Time,
    fate: Fate,
    /// Says whether a queue marks a packet that can be marked.
    pub marks: Box<dyn FnMut(&Data) -> bool>,
    /// When the pacer lets the next packet go.
    held: Time,
    acks: VecDeque<(Time, Ack)>,
    tries: HashMap<(u64, bool), u32>,
    /// Everything that left the sender.
    pub sent: Vec<(Time, Data)>,
    /// Every outcome but the quiet ones.
    pub outcomes: Vec<(Time, Outcome)>,
    pub lost: u64,
    pub received: Vec<Data>,
    /// What the sender got, and its window after it.
    pub acked: Vec<(Time, Ack, f64)>,
}

impl Pipe {
    /// Of a Reno sender.
    pub fn new(
        config: SenderConfig,
        rtt: Span,
        gap: Span,
        fate: impl FnMut(&Data, u32) -> bool + 'static,
    ) -> Pipe {
        Pipe::of(sender(config), config, rtt, gap, fate)
    }
}

impl<C: Controller + Clone> Pipe<C> {
    /// Of a sender of any controller.
    pub fn of(
        sender: Sender<C>,
        config: SenderConfig,
        rtt: Span,
        gap: Span,
        fate: impl FnMut(&Data, u32) -> bool + 'static,
    ) -> Pipe<C> {
        let mut pipe = Pipe {
            receiver: Receiver::new(
                config.recovery.reports(),
                None,
                sender.exact_echo() && config.accecn.is_none(),
            )
            .with_accurate_ecn(sender.accurate_feedback())
            .with_dsack(config.recovery == Recovery::Rack),
            sender,
            rtt,
            gap,
            free: Time::ZERO,
            fate: Box::new(fate),
            marks: Box::new(|_| false),
            held: Time::NEVER,
            acks: VecDeque::new(),
            tries: HashMap::new(),
            sent: Vec::new(),
            outcomes: Vec::new(),
            lost: 0,
            received: Vec::new(),
            acked: Vec::new(),
        };
        pipe.pump(Time::ZERO);
        pipe
    }

    /// Runs up to `end`, not including it.
    pub fn run(&mut self, end: Time) {
        loop {
            let ack = self.acks.front().map_or(Time::NEVER, |ack| ack.0);
            let now = ack.min(self.sender.timer()).min(self.held);
            if now >= end {
                return;
            }
            if now == self.held {
                self.held = Time::NEVER;
                self.pump(now);
                continue;
            }
            let due = if ack == now { self.acks.pop_front() } else { None };
            let outcome = match due {
                Some((_, ack)) => self.sender.on_ack(&ack, now),
                None => self.sender.on_timer(now),
            };
            self.acked.extend(due.map(|(_, ack)| (now, ack, self.sender.window().cwnd)));
            if outcome != Outcome::Quiet {
                self.outcomes.push((now, outcome));
            }
            if outcome == Outcome::Finished {
                return;
            }
            self.pump(now);
        }
    }

    /// The application has that many packets ready, the sent included.
    pub fn offer(&mut self, packets: u64, now: Time) {
        self.sender.ready(packets);
        self.pump(now);
    }

    /// Sends the first packets of a transfer, and acknowledges each two of them together: the window
    /// after each acknowledgement.
    pub fn by_twos(&mut self, packets: u64) -> Vec<f64> {
        self.sender.ready(packets);
        let (_, opened) = self.acks.pop_front().expect("the answer to the request");
        self.sender.on_ack(&opened, Time::ZERO + self.rtt);
        self.pump(Time::ZERO + self.rtt);
        let acks: Vec<(Time, Ack)> = self.acks.drain(..).collect();
        let last = acks.len() - 1;
        let second = acks.into_iter().enumerate().filter(|(n, _)| n % 2 == 1 || *n == last);
        let after = |(_, (now, ack))| {
            self.sender.on_ack(&ack, now);
            self.sender.window().cwnd
        };
        second.map(after).collect()
    }

    pub fn reductions(&self) -> usize {
        self.outcomes
            .iter()
            .filter(|(_, outcome)| matches!(outcome, Outcome::Reduced | Outcome::ReducedAgain))
            .count()
    }

    pub fn timeouts(&self) -> usize {
        self.outcomes.iter().filter(|(_, outcome)| matches!(outcome, Outcome::TimedOut(_))).count()
    }

    pub fn retransmissions(&self) -> u64 {
        self.sent.iter().filter(|(_, data)| data.retransmitted()).count() as u64
    }

    fn pump(&mut self, now: Time) {
        loop {
            let mut data = match self.sender.poll(now) {
                Poll::Send(data) => data,
                Poll::Hold(until) => break self.held = until,
                Poll::Idle => break,
            };
            self.sender.launched(data.packets, data.stamped);
            self.sent.push((now, data));
            let tries = self.tries.entry((data.number, data.opens())).or_default();
            *tries += 1;
            self.free = self.free.max(now) + self.gap;
            if (self.fate)(&data, *tries) {
                self.lost += 1;
                continue;
            }
            if data.ecn.is_unmarked() && (self.marks)(&data) {
                data.ecn = Ecn::Marked;
            }
            self.received.push(data);
            let ack = self.receiver.receive(&data, self.free).1.expect("no acknowledgement is held");
            self.acks.push_back((self.free + self.rtt, ack));
        }
    }
}
