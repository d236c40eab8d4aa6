//! The types of a scenario that was read, checked and resolved: what an engine needs.
//!
//! A dumbbell has become two links and an access hop at each end of every flow; `count` flows have
//! become that many; a capacity in time or in bdp has become packets.

pub(crate) mod accecn;
pub(crate) mod estimate;
pub(crate) mod expectation;
pub(crate) mod fq_horizon;
pub(crate) mod grain;
pub(crate) mod host;
pub(crate) mod kernel_only;
pub(crate) mod kernel_release;
pub(crate) mod plan;
pub(crate) mod program_pair;
pub(crate) mod receiver_clock;
pub(crate) mod sender;
mod shared_senders;
pub(crate) mod source;
pub(crate) mod traffic;
pub(crate) mod vectors;

use std::num::NonZeroU8;
use std::sync::Arc;

use fairhaul_cc::ControllerChoice;
use fairhaul_path::LinkSpec;
use fairhaul_units::{Bytes, Gauge, HEADER, Rate, SENDER, Span, TIME_STAMPS, Time};

use crate::{
    AccEcnOption, Expectation, FqHorizon, Grid, Growth, Hold, HostPacing, HostSettings, Middlebox, OnTimeout,
    Profile, ProgramPair, ReceiverClock, Recovery, Restart, Rto, SlowStart, Sockbuf, Startup, Traffic, grid,
};

/// One question, ready for an engine.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What a person calls it.
    pub title: String,
    /// The key and place of its source, empty for none.
    pub source: String,
    /// Every random number of a run follows from it.
    pub seed: u64,
    /// How long a run lasts.
    pub duration: Span,
    /// The time that is excluded from the figures; shorter than `duration`.
    pub warmup: Span,
    /// What is simulated as one.
    pub grain: Grain,
    /// The links by name, one entry per direction.
    pub links: Vec<LinkSpec>,
    /// The flows, `count` of each `[[flow]]`, in the order of the file.
    pub flows: Vec<Flow>,
    /// What is expected of its figures; nothing for an engine.
    pub expectations: Vec<Expectation>,
}

impl Scenario {
    /// The bins of the record of its run.
    pub fn grid(&self) -> Grid {
        grid(self.duration, self.warmup, self.flows.len(), self.links.len())
    }

    /// Whether the rate of any link changes, so that what links have sent is counted in bytes.
    pub fn counts_bytes(&self) -> bool {
        self.links.iter().any(|link| link.schedule.rates.is_some())
    }

    /// The slowest link on the path of the data of each flow, by what it can send after the warm-up; of equals the first.
    /// `None` where there is none.
    pub fn bottlenecks(&self) -> Vec<Option<u32>> {
        let (from, to) = (Time::ZERO + self.warmup, Time::ZERO + self.duration);
        let offers: Vec<f64> = self.links.iter().map(|link| link.passes(from, to)).collect();
        let slowest = |flow: &Flow| {
            let links = flow.forward.iter().filter_map(Hop::link);
            links.min_by(|a, b| offers[*a as usize].total_cmp(&offers[*b as usize]))
        };
        self.flows.iter().map(slowest).collect()
    }

    /// The number of `link` among the XCP routers, from 1.
    pub fn router(&self, link: usize) -> NonZeroU8 {
        let before = self.links[..link].iter().filter(|link| link.queue.entry.answers).count();
        u8::try_from(before).ok().and_then(|before| NonZeroU8::MIN.checked_add(before)).unwrap_or(SENDER)
    }
}

/// One step of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hop {
    /// Over the link of that index in [`Scenario::links`].
    Link(u32),
    /// Over a link without limit of its own, which every connection of the flow has for its own.
    Access {
        /// What it can carry.
        rate: Rate,
        /// Propagation, one way.
        delay: Span,
    },
}

impl Hop {
    /// The index of the link that it crosses; `None`: it is a link of the connection's own.
    pub fn link(&self) -> Option<u32> {
        if let Hop::Link(link) = self { Some(*link) } else { None }
    }
}

/// Whether fairness is taken over a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Fairness is taken over it.
    Measured,
    /// It is there to disturb.
    Background,
}

/// What a run simulates as one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grain {
    /// What a host hands over together, as long as nothing decides about each packet.
    #[default]
    Auto,
    /// Each packet.
    Packet,
}

/// When a flow starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Start {
    /// At that time.
    At(Span),
    /// Uniform between two times.
    Uniform(Span, Span),
    /// Exponential with that mean.
    Exponential(Span),
}

/// One sender and its receiver, or a source of short transfers between two hosts.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Its name, `name[i]` where the file asks for several.
    pub name: String,
    /// The party of fairness that it belongs to.
    pub group: String,
    /// What it has in common with the other flows of its `[[flow]]`: its `group`, or the name there.
    pub class: String,
    /// The first of the connections that carry one transfer together, as an index into
    /// [`Scenario::flows`]; `None`: it carries its transfers alone.
    pub lead: Option<u32>,
    /// Whether fairness is taken over it.
    pub role: Role,
    /// Its controller and the controller's values.
    pub controller: ControllerChoice,
    /// Its programs, which replace its sender, its receiver and its controller.
    pub program: Option<ProgramPair>,
    /// How it recovers.
    pub recovery: Recovery,
    /// What it sends.
    pub traffic: Traffic,
    /// When it starts.
    pub start: Start,
    /// Two-way propagation of its whole path.
    pub rtt: Span,
    /// The way of its data.
    pub forward: Vec<Hop>,
    /// The way of its acknowledgements.
    pub reverse: Vec<Hop>,
    /// Data packet on the wire, headers included.
    pub packet: Bytes,
    /// Window after the handshake, packets.
    pub initial_window: f64,
    /// Slow-start threshold at the start, packets; infinite unless said.
    pub initial_ssthresh: f64,
    /// Bound of the congestion window, packets; infinite unless said.
    pub max_window: f64,
    /// How the window grows in slow start.
    pub slow_start: SlowStart,
    /// What the first round trips do beyond that.
    pub startup: Startup,
    /// Whether a window that is not used grows as far as what was in flight allows [RATE-LIMITED].
    pub rate_limited_increase: bool,
    /// By what the window grows.
    pub growth: Growth,
    /// What a pause leaves of the window.
    pub restart: Restart,
    /// How its host spreads what the window lets go.
    pub pacing: HostPacing,
    /// What its sender does when the retransmission timer runs out.
    pub on_timeout: OnTimeout,
    /// No reduction leaves a smaller window, packets.
    pub min_window: Option<f64>,
    /// The share of the window that an echoed mark leaves, where it is not that of a loss [RFC 8511].
    pub mark_beta: Option<f64>,
    /// The share that the first reduction leaves, if it ends the first slow start.
    pub first_beta: Option<f64>,
    /// Whether queues may mark its new data instead of dropping them [RFC 3168].
    pub ecn: bool,
    /// Whether they say that its sender reduces in proportion to marks (ECT(1)) [RFC 9331].
    pub ect1: bool,
    /// Accurate feedback on marks [RFC 9768], if its ends ask for it: when the option with counters is sent.
    pub accecn: Option<AccEcnOption>,
    /// What a middlebox does to marks and their feedback.
    pub middlebox: Middlebox,
    /// The fastest that its packets leave, headers included.
    pub max_pacing_rate: Option<Rate>,
    /// Packets that its sender hands over in one burst; 1: it does not wait for more;
    /// [`Flow::BURSTS_OF_KERNEL`]: its kernel chooses.
    pub offload: u64,
    /// Whether its sender takes back a reduction for packets that were merely late.
    pub undo: bool,
    /// How long the receiver may hold an acknowledgement; `None`: it never does.
    pub delayed_ack: Option<Hold>,
    /// Whether the window counts whole packets.
    pub integer_cwnd: bool,
    /// Whose values the keys have that it leaves out.
    pub profile: Profile,
    /// How the retransmission timeout follows from round trips.
    pub rto: Rto,
    /// What the send buffer counts.
    pub sockbuf: Sockbuf,
    /// By what the receiver stamps arrivals.
    pub clock: ReceiverClock,
    /// Least margin of the retransmission timer above the smoothed round-trip time, or its least timeout.
    pub min_rto: Span,
    /// Payload that the sender may keep unacknowledged.
    pub send_buffer: Option<Bytes>,
    /// Payload that the receiver may hold.
    pub receive_buffer: Option<Bytes>,
    /// Largest processing time at the sender; each packet draws one, order is kept.
    pub overhead: Span,
    /// The names of the hosts of its sender and its receiver, if it shares them with other flows.
    pub between: [Option<String>; 2],
    /// The class of its packets.
    pub dscp: u8,
    /// Settings of its hosts, if it has any.
    pub host: Option<Arc<HostSettings>>,
}

/// What a host without an access link can send: more than any router answers.
const FASTEST: Rate = Rate::from_bps(100_000_000_000).expect("not zero");

impl Flow {
    /// The value of `offload` with which the kernel of the sender chooses the size of each burst.
    pub const BURSTS_OF_KERNEL: u64 = u64::MAX;

    /// The horizon of the sender's `fq`, where bursts wait in it for their departure. A bound of the rate alone makes TCP pace
    /// by itself (SO_MAX_PACING_RATE).
    //
    // Differs from [LINUX]: so does a sender that flows share. A burst is made when it is due, so that the card takes the
    // bursts of all its flows in the order in which they are due, as it does where they wait in `fq` until then.
    pub fn fq(&self) -> Option<FqHorizon> {
        let host = self.host.as_deref();
        let is_bound_by_fq = self.max_pacing_rate.is_none() || host.is_some_and(HostSettings::has_fq);
        let is_shared = host.is_some_and(|host| host.sender.is_some());
        let waits = self.pacing == HostPacing::Linux && is_bound_by_fq && !is_shared;
        waits.then(|| host.map(HostSettings::horizon).unwrap_or_default())
    }

    /// The links on its path, of its data first and then of its acknowledgements.
    pub fn links(&self) -> impl Iterator<Item = u32> {
        self.forward.iter().chain(&self.reverse).filter_map(Hop::link)
    }

    /// The fastest that its host can send, packets/s: by its access, or without one by the pacer alone.
    pub fn line(&self) -> f64 {
        let access = match self.forward.first() {
            Some(Hop::Access { rate, .. }) => *rate,
            _ => FASTEST,
        };
        let rate = self.max_pacing_rate.map_or(access, |most| most.min(access));
        rate.as_bps() as f64 / (self.packet.0 * 8) as f64
    }

    /// Whether its bursts leave on several links, so that packets of two of them may overtake each other.
    pub fn is_bonded(&self) -> bool {
        self.host.as_deref().is_some_and(|host| host.links() > 1)
    }

    /// Whether Fairhaul knows its congestion control: a source of datagrams has none, and that of programs is theirs.
    pub fn has_controller(&self) -> bool {
        self.program.is_none() && !matches!(self.traffic, Traffic::Cbr { .. })
    }

    /// The gauges of its controller; none if it sends without one.
    pub fn gauges(&self) -> &'static [Gauge] {
        if self.has_controller() { self.controller.entry.gauges } else { &[] }
    }

    /// Payload of a full packet.
    pub fn payload(&self) -> Bytes {
        self.packet - self.headers()
    }

    /// Headers of its data packets.
    pub fn headers(&self) -> Bytes {
        let stamps = if self.has_options() { TIME_STAMPS } else { Bytes(0) };
        HEADER + stamps + self.controller.entry.header
    }

    /// Whether its packets have the options of a host of Linux.
    pub fn has_options(&self) -> bool {
        self.profile.is_linux() && self.has_controller()
    }
}
