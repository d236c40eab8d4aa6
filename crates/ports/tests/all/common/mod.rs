//! An eBPF port and the Rust controller of the same name with one script of acknowledgements and losses.
//!
//! The Rust window determines the number of packets of a round, and both get the same acknowledgements. The
//! socket of the eBPF port is updated as by the kernel: `pkts_acked` and then `cong_avoid` with each
//! acknowledgement; `ssthresh`, the state and the window that recovery leaves at a loss.
#![allow(clippy::unwrap_used, reason = "this is a test, though no function of it is marked as one")]

mod skip;

use fairhaul_cc::{AckEvent, Builtin, Cause, Congestion, Controller, ControllerChoice, Pacing, Window};
use fairhaul_ports::{MISSING, Object, Sample, Socket, object, objects};
use fairhaul_units::{Settings, Span, Time};
use proptest::test_runner::{Config, RngSeed};

pub const MSS: u32 = 1448;
const RECOVERY: u8 = 3;
const LOSS: u8 = 4;
const OPEN: u8 = 0;

/// As many random cases, the same in every run.
pub fn seeded(cases: u32) -> Config {
    Config { cases, failure_persistence: None, rng_seed: RngSeed::Fixed(7), ..Config::default() }
}

/// The objects; none, with a printed reason, if clang was missing. If tests run as root, the scripts install
/// clang, so it must not be missing.
pub fn ports() -> Vec<Object> {
    if let Some(reason) = MISSING {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let is_root = status.lines().any(|line| line.starts_with("Uid:\t0\t"));
        assert!(!is_root, "{reason}");
        skip::skipped(reason);
    }
    objects()
}

/// Those whose window grows by `cong_avoid`; BBR moves its window itself, and XCP follows routers.
pub fn growing() -> Vec<Object> {
    let grows =
        |object: &Object| object.note.name != "xcp" && !Socket::new(object.elf).unwrap().has_control();
    ports().into_iter().filter(grows).collect()
}

/// Whether this build has eBPF ports; if not, prints the reason.
pub fn ports_are_built() -> bool {
    !ports().is_empty()
}

/// The events of a round other than acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    Nothing,
    Loss,
    Timeout,
}

/// A path and what it does to a flow.
#[derive(Clone)]
pub struct Script {
    pub rounds: u32,
    /// The round-trip time of the idle path in a round.
    pub path: fn(u32) -> Span,
    pub packets_per_s: f64,
    pub step: fn(u32) -> Step,
    pub start: Window,
    /// Packets that an acknowledgement delivers.
    pub batch: u32,
    /// What is added to the round-trip time of acknowledgement `number` of a round.
    pub wave: fn(u32, u64) -> Span,
}

fn level(_: u32, _: u64) -> Span {
    Span::ZERO
}

/// 0 to 399 us without a pattern, the same in every run.
pub fn noise(round: u32, number: u64) -> Span {
    let mixed = (u64::from(round) << 32 | number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Span::from_us((mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) % Span::from_us(400)
}

/// The script of `crates/cc/tests/staircase.rs`: 300 packets in 140 ms.
pub const STAIRCASE: Script = Script {
    rounds: 100,
    path: |round| Span::from_ms(if (55..=70).contains(&round) { 250 } else { 140 }),
    packets_per_s: 300.0 / 0.140,
    step: |round| match round {
        20 | 38 | 40 => Step::Loss,
        80 => Step::Timeout,
        _ => Step::Nothing,
    },
    start: Window { cwnd: 2.0, ssthresh: 400.0 },
    batch: 1,
    wave: level,
};

/// Both at work.
pub struct Pair {
    pub port: Socket,
    pub controller: Builtin,
    pub window: Window,
    pub now: Time,
    srtt: Span,
    min_rtt: Span,
    /// The idle path's share of every one-way time.
    offset: Span,
}

impl Pair {
    /// The eBPF port `name` and its controller with `settings`.
    pub fn new(name: &str, settings: &[(&'static str, f64)], start: Window, rtt: Span) -> Pair {
        let choice = ControllerChoice::named(name).unwrap();
        let values = Settings::defaults(choice.entry.parameters);
        let values = settings.iter().fold(values, |values, (key, value)| values.with(key, *value));
        let controller = ControllerChoice { settings: values, ..choice }.build();
        let mut port = Socket::new(object(name).unwrap().elf).unwrap();
        for (field, value) in [
            ("snd_cwnd", start.cwnd as u64),
            ("snd_ssthresh", start.ssthresh.min(2e9) as u64),
            ("snd_cwnd_clamp", u32::MAX.into()),
            ("mss_cache", MSS.into()),
            ("sk_max_pacing_rate", u64::MAX),
            ("saw_tstamp", 1),
            ("tcp_usec_ts", 1),
            ("is_cwnd_limited", 1),
        ] {
            port.set(field, value);
        }
        let now = Time::ZERO + Span::from_ms(1000);
        Pair {
            port,
            controller,
            window: start,
            now,
            srtt: rtt,
            min_rtt: Span::from_ms(1_000_000),
            offset: rtt / 2,
        }
    }

    pub fn srtt(&self) -> Span {
        self.srtt
    }

    pub fn cwnd(&self) -> u32 {
        self.port.get("snd_cwnd") as u32
    }

    fn event(&self) -> Congestion {
        Congestion { cause: Cause::Loss, now: self.now, in_flight: self.window.cwnd, srtt: self.srtt }
    }

    /// The kernel enters recovery or loss: the threshold, the state.
    fn reduce(&mut self, state: u8) {
        self.port.set("tcp_mstamp", micros(self.now));
        let before = self.port.get("snd_cwnd");
        self.port.set("prior_cwnd", before);
        let threshold = self.port.ssthresh().unwrap();
        self.port.set("snd_ssthresh", threshold.into());
        self.port.set_state(state).unwrap();
        let left = if state == LOSS { 1 } else { threshold };
        self.port.set("snd_cwnd", left.into());
        self.port.set_state(OPEN).unwrap();
    }

    /// A loss event, recovered from at once.
    pub fn lose(&mut self) {
        let event = self.event();
        self.controller.on_congestion(&mut self.window, &event);
        self.controller.on_recovered(&mut self.window, self.now);
        self.reduce(RECOVERY);
    }

    pub fn time_out(&mut self) {
        let event = self.event();
        self.controller.on_timeout(&mut self.window, &event);
        self.reduce(LOSS);
    }

    /// One round of acknowledgements, each with the round-trip time that `rtt` gives for its number.
    /// They are whole microseconds for both, as the kernel's clock has them.
    pub fn round(&mut self, packets: u64, batch: u32, rtt: impl Fn(u64) -> Span) {
        let rtt = |number| Span::from_us(span_us(rtt(number)));
        let begin = self.now;
        for number in 0..packets.div_ceil(batch.into()) {
            let sent = number * u64::from(batch);
            self.now = begin + rtt(0) * sent / packets;
            let acked = u64::from(batch).min(packets - sent);
            self.acknowledge(packets, acked as u32, rtt(number), number == 0);
        }
        self.now = begin + rtt(0);
    }

    fn acknowledge(&mut self, packets: u64, acked: u32, rtt: Span, new_round: bool) {
        self.srtt = (self.srtt * 7 + rtt) / 8;
        self.min_rtt = self.min_rtt.min(rtt);
        let ack = AckEvent {
            now: self.now,
            packets: acked.into(),
            marked: 0.0,
            lost: 0.0,
            rtt,
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            one_way: rtt - self.offset,
            in_flight: (packets - u64::from(acked)) as f64,
            new_round,
            recovering: false,
            window_limited: true,
            rate: None,
        };
        self.controller.on_delivery(&mut self.window, &ack);
        if self.window.in_slow_start() {
            self.controller.on_slow_start(&mut self.window, &ack);
        } else {
            self.controller.on_ack(&mut self.window, &ack);
        }
        self.sample_port(&ack, packets, acked);
    }

    fn sample_port(&mut self, ack: &AckEvent, packets: u64, acked: u32) {
        let una = (self.port.get("snd_una") as u32).wrapping_add(acked * MSS);
        let in_flight = packets as u32 - acked;
        let sent_us = micros(self.now).wrapping_sub(span_us(ack.rtt));
        for (field, value) in [
            ("tcp_mstamp", micros(self.now)),
            ("snd_una", una.into()),
            ("snd_nxt", una.wrapping_add(in_flight * MSS).into()),
            ("max_packets_out", packets),
            ("srtt_us", ack.srtt.as_ps() / 125_000),
            ("rcv_tsecr", u64::from(sent_us as u32)),
            ("rcv_tsval", u64::from(sent_us.wrapping_add(span_us(ack.one_way)) as u32)),
        ] {
            self.port.set(field, value);
        }
        let rtt_us = span_us(ack.rtt) as i32;
        self.port.pkts_acked(Sample { packets: acked, rtt_us, in_flight: packets as u32 }).unwrap();
        self.port.cong_avoid(acked).unwrap();
    }

    /// The blocks of a round: what the Rust controller asks for, and the packets that the eBPF port has the
    /// kernel send at once.
    pub fn blocks(&mut self) -> (Option<u32>, Option<u32>) {
        let wanted = match self.controller.pacing(&self.window) {
            Pacing::Blocks { count, .. } => Some(count),
            _ => None,
        };
        (wanted, self.port.min_tso_segs().unwrap())
    }

    /// Runs a script: the largest difference after a round as a share of what is allowed, the larger
    /// of a packet and a hundredth of the window, and the round that it came in.
    pub fn climb(&mut self, script: &Script) -> (f64, u32) {
        let mut worst = (0.0, 0);
        for round in 1..=script.rounds {
            self.one(script, round);
            let share = self.difference() / (self.window.cwnd / 100.0).max(1.0);
            if share > worst.0 {
                worst = (share, round);
            }
        }
        worst
    }

    /// Whole packets between the two windows.
    pub fn difference(&self) -> f64 {
        (f64::from(self.cwnd()) - self.window.cwnd.floor()).abs()
    }

    /// One round of a script.
    pub fn one(&mut self, script: &Script, round: u32) {
        let idle = (script.path)(round);
        let packets = (self.window.cwnd as u64).max(1);
        let capacity = script.packets_per_s * idle.as_secs();
        let queue = Span::from_secs((packets as f64 - capacity).max(0.0) / script.packets_per_s);
        match (script.step)(round) {
            Step::Loss => self.lose(),
            Step::Timeout => self.time_out(),
            Step::Nothing => {
                return self
                    .round(packets, script.batch, |number| idle + queue + (script.wave)(round, number));
            }
        }
        self.now += idle + queue;
    }
}

pub fn micros(time: Time) -> u64 {
    span_us(time.since(Time::ZERO))
}

pub fn span_us(span: Span) -> u64 {
    span.as_ps() / 1_000_000
}
