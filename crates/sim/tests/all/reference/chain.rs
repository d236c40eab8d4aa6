//! Scenarios of a chain of links, made from few small numbers: written by hand in a test, or drawn by proptest.

use fairhaul_cc::ControllerChoice;
use fairhaul_experiment::{
    Flow, Grain, Growth, Hold, Hop, HostPacing, HostSettings, Middlebox, OnTimeout, Profile, ReceiverClock,
    Recovery, Restart, Role, Rto, Scenario, SlowStart, Sockbuf, Start, Startup, Traffic,
};
use fairhaul_path::impair::{Impairments, LossRule};
use fairhaul_path::queue::{self, Capacity, Site};
use fairhaul_path::{BucketRule, LinkSpec, Schedule};
use fairhaul_units::{Bytes, Rate, Span};

/// A chain of links, each with its other direction, and flows over parts of it.
#[derive(Clone, Debug)]
pub struct Chain {
    pub seed: u64,
    pub duration: Span,
    pub warmup: Span,
    pub grain: Grain,
    pub links: Vec<ChainLink>,
    pub flows: Vec<ChainFlow>,
}

/// A link of the chain, the same both ways but for losses and impairments: the reverse direction loses
/// acknowledgements, too.
#[derive(Clone, Debug)]
pub struct ChainLink {
    pub kbps: u64,
    pub delay: Span,
    pub capacity: Capacity,
    pub back_capacity: Capacity,
    /// Of both queues.
    pub mark: Capacity,
    /// Both queues, with automatic parameters.
    pub queue: queue::QueueChoice,
    pub loss: Option<LossRule>,
    pub back_loss: Option<LossRule>,
    pub impair: Impairments,
    pub back_impair: Impairments,
    pub shaper: Option<BucketRule>,
    pub schedule: Schedule,
}

/// A flow over the links `from..to` of the chain.
#[derive(Clone, Debug)]
pub struct ChainFlow {
    pub from: usize,
    pub to: usize,
    /// Its data go the other way of the chain.
    pub backwards: bool,
    /// Wires before and behind the chain; none: the hosts are at its nodes.
    pub access: Option<(u64, Span)>,
    /// Acknowledgements come back over the chain, or else over wires alone.
    pub acks_over_chain: bool,
    pub controller: &'static str,
    pub recovery: Recovery,
    pub traffic: Traffic,
    /// Of bulk traffic or one size: the connections that carry it.
    pub connections: u32,
    pub start: Start,
    pub packet: u64,
    pub initial_window: f64,
    pub initial_ssthresh: f64,
    pub max_window: f64,
    pub slow_start: SlowStart,
    pub startup: Startup,
    pub rate_limited_increase: bool,
    pub growth: Growth,
    pub restart: Restart,
    pub probes: bool,
    pub min_window: Option<f64>,
    pub betas: [Option<f64>; 2],
    pub pacing: HostPacing,
    pub ecn: bool,
    pub pacing_kbps: Option<u64>,
    pub offload: u64,
    pub undo: bool,
    pub host: Option<HostSettings>,
    pub delayed_ack: Option<Hold>,
    pub integer_cwnd: bool,
    pub rto: Rto,
    pub sockbuf: Sockbuf,
    pub clock: ReceiverClock,
    pub min_rto: Span,
    pub send_buffer: Option<Bytes>,
    pub receive_buffer: Option<Bytes>,
    pub overhead: Span,
}

impl Chain {
    /// `flows` over one link.
    pub fn dumbbell(link: ChainLink, flows: Vec<ChainFlow>, seconds: u64) -> Chain {
        Chain {
            seed: 1,
            duration: Span::from_s(seconds),
            warmup: Span::ZERO,
            grain: Grain::Packet,
            links: vec![link],
            flows,
        }
    }

    /// The scenario.
    pub fn scenario(&self) -> Scenario {
        let largest = Bytes(self.flows.iter().map(|flow| flow.packet).max().unwrap_or(1000));
        let link = |name: String, s: &ChainLink, capacity, loss, loses_acks, impair, schedule| LinkSpec {
            name,
            rate: kbps(s.kbps),
            delay: s.delay,
            capacity,
            mark: s.mark,
            queue: s.queue_with(capacity, largest),
            loss,
            loses_acks,
            impair,
            shaper: None,
            schedule,
        };
        let forward = |(i, s): (usize, &ChainLink)| {
            let shaper = s.shaper;
            let spec = link(
                format!("L{i}"),
                s,
                s.capacity,
                s.loss.clone(),
                false,
                s.impair.clone(),
                s.schedule.clone(),
            );
            LinkSpec { shaper, ..spec }
        };
        let reverse = |(i, s): (usize, &ChainLink)| {
            let schedule = Schedule { losses: Vec::new(), ..s.schedule.clone() };
            let (loss, impair) = (s.back_loss.clone(), s.back_impair.clone());
            link(format!("L{i} (reverse)"), s, s.back_capacity, loss, true, impair, schedule)
        };
        let links =
            self.links.iter().enumerate().map(forward).chain(self.links.iter().enumerate().map(reverse));
        Scenario {
            title: "drawn".into(),
            source: String::new(),
            seed: self.seed,
            duration: self.duration,
            warmup: self.warmup,
            grain: self.grain,
            links: links.collect(),
            flows: self.flows(),
            expectations: Vec::new(),
        }
    }
}

impl Chain {
    /// A flow of the scenario for each connection of each flow.
    fn flows(&self) -> Vec<Flow> {
        let mut flows = Vec::new();
        for flow in &self.flows {
            let is_single = matches!(flow.traffic, Traffic::Bulk | Traffic::Sized(_));
            let lead = (is_single && flow.connections > 1).then_some(flows.len() as u32);
            for _ in 0..lead.map_or(1, |_| flow.connections) {
                flows.push(Flow { lead, ..flow.flow(&self.links) });
            }
        }
        flows
    }
}

impl ChainLink {
    /// A link with the same queue both ways and no loss.
    pub fn new(kbps: u64, delay: Span, capacity: Capacity) -> ChainLink {
        ChainLink {
            kbps,
            delay,
            capacity,
            back_capacity: capacity,
            mark: Capacity::Unlimited,
            queue: queue::QueueChoice::named("droptail").expect("a name of the catalogue"),
            loss: None,
            back_loss: None,
            impair: Impairments::default(),
            back_impair: Impairments::default(),
            shaper: None,
            schedule: Schedule::default(),
        }
    }

    /// Its queue in one direction.
    fn queue_with(&self, capacity: Capacity, largest: Bytes) -> queue::QueueChoice {
        let rate = self.shaper.map_or(kbps(self.kbps), |shaper| shaper.rate.min(kbps(self.kbps)));
        let site = Site { rate, delay: self.delay, capacity, mark: self.mark };
        self.queue.clone().resolved(&site, largest).expect("what is drawn fits")
    }
}

impl ChainFlow {
    /// An endless Reno flow with SACK over the first link, with an access of 10 ms at 1 Gbit/s at
    /// each end, packets of 1000 B and nothing that is out of the ordinary.
    pub fn plain() -> ChainFlow {
        ChainFlow {
            from: 0,
            to: 1,
            backwards: false,
            access: Some((1_000_000, Span::from_ms(10))),
            acks_over_chain: true,
            controller: "reno",
            recovery: Recovery::Sack,
            traffic: Traffic::Bulk,
            connections: 1,
            start: Start::At(Span::ZERO),
            packet: 1000,
            initial_window: 2.0,
            initial_ssthresh: f64::INFINITY,
            max_window: f64::INFINITY,
            slow_start: SlowStart::Standard,
            startup: Startup::None,
            rate_limited_increase: false,
            growth: Growth::PerPacket,
            restart: Restart::None,
            probes: false,
            min_window: None,
            betas: [None; 2],
            pacing: HostPacing::None,
            ecn: false,
            pacing_kbps: None,
            offload: 1,
            undo: true,
            host: None,
            delayed_ack: None,
            integer_cwnd: false,
            rto: Rto::Scaled,
            sockbuf: Sockbuf::Payload,
            clock: ReceiverClock::default(),
            min_rto: Span::from_ms(200),
            send_buffer: None,
            receive_buffer: None,
            overhead: Span::ZERO,
        }
    }

    /// The hops of its data, and of its acknowledgements.
    fn route(&self, links: &[ChainLink]) -> (Vec<Hop>, Vec<Hop>) {
        let n = links.len() as u32;
        let (from, to) = (self.from.min(links.len()) as u32, self.to.min(links.len()) as u32);
        let forward: Vec<Hop> = (from..to).map(Hop::Link).collect();
        let reverse: Vec<Hop> = (from..to).rev().map(|link| Hop::Link(n + link)).collect();
        let (data, acks) = if self.backwards { (reverse, forward) } else { (forward, reverse) };
        let wire = self.access.map(|(rate, delay)| Hop::Access { rate: kbps(rate), delay });
        let between = |hops: Vec<Hop>| wire.iter().cloned().chain(hops).chain(wire.clone()).collect();
        (between(data), if self.acks_over_chain { between(acks) } else { wire.iter().cloned().collect() })
    }

    fn flow(&self, links: &[ChainLink]) -> Flow {
        let (forward, reverse) = self.route(links);
        let datagrams = matches!(self.traffic, Traffic::Cbr { .. });
        Flow {
            name: "drawn".into(),
            group: "drawn".into(),
            class: "drawn".into(),
            lead: None,
            role: Role::Measured,
            program: None,
            // Datagrams have none, as the reader has it.
            controller: ControllerChoice::named(if datagrams { "reno" } else { self.controller })
                .expect("a name of the catalogue"),
            ect1: false,
            accecn: None,
            middlebox: Middlebox::None,
            between: [None, None],
            dscp: 0,
            recovery: self.recovery,
            traffic: self.traffic.clone(),
            start: self.start,
            rtt: Span::ZERO, // no engine asks
            forward,
            reverse,
            packet: Bytes(self.packet),
            initial_window: self.initial_window,
            initial_ssthresh: self.initial_ssthresh,
            // Without an XCP router only its window limits an XCP sender, and nothing else limits Jumpstart.
            max_window: match (self.controller, self.startup) {
                ("xcp", _) | (_, Startup::Jumpstart) => self.max_window.min(300.0),
                _ => self.max_window,
            },
            slow_start: self.slow_start,
            startup: self.startup,
            rate_limited_increase: self.rate_limited_increase,
            growth: self.growth,
            restart: self.restart,
            on_timeout: match (self.probes, self.recovery) {
                (true, Recovery::Rack) => OnTimeout::Probe,
                _ => OnTimeout::StartOver,
            },
            min_window: self.min_window,
            mark_beta: self.betas[0],
            first_beta: self.betas[1],
            pacing: self.pacing,
            ecn: self.ecn,
            max_pacing_rate: self.pacing_kbps.map(kbps),
            offload: self.offload,
            undo: self.undo,
            delayed_ack: self.delayed_ack,
            integer_cwnd: self.integer_cwnd,
            profile: Profile::Plain,
            rto: self.rto,
            sockbuf: self.sockbuf,
            clock: self.clock,
            min_rto: self.min_rto,
            send_buffer: self.send_buffer,
            receive_buffer: self.receive_buffer,
            overhead: self.overhead,
            host: self.host().map(Into::into),
        }
    }

    /// Its hosts; a receiver merges packets only where it acknowledges as the kernel does.
    fn host(&self) -> Option<HostSettings> {
        let merges = matches!(self.delayed_ack, Some(Hold::Adaptive { .. }));
        self.host.clone().map(|host| HostSettings { gro: host.gro && merges, ..host })
    }
}

/// That many kbit/s.
pub fn kbps(kbps: u64) -> Rate {
    Rate::from_bps(kbps * 1000).expect("not zero")
}
