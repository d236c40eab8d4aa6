//! The eBPF port of Prague moves its window, alpha and its pacing rate as the Rust controller does.
//!
//! Both get the same acknowledgements, marks, losses and timeouts, drawn at random. Times are whole microseconds, and smoothed
//! round-trip times whole eighths of them, as the kernel's clock has them.

use crate::common::{MSS, micros, ports_are_built, seeded, span_us};
use crate::ranges;
use fairhaul_cc::{AckEvent, Builtin, Cause, Congestion, Controller, ControllerChoice, Pacing, Window};
use fairhaul_ports::{Control, Socket, object};
use fairhaul_units::{Settings, Span, Time};
use proptest::prelude::*;

const OPEN: u8 = 0;
const REDUCED: u8 = 2;
const RECOVERY: u8 = 3;
const LOSS: u8 = 4;
/// Of `ecn_flags`: classic and accurate feedback.
const CLASSIC: u64 = 1;
const ACCURATE: u64 = 16;
/// Codepoints.
const ECT_1: u64 = 1;
const ECT_0: u64 = 2;
/// The unit of the exact window.
const ONE_Q32: f64 = 4_294_967_296.0;
/// Above this window a loss ends slow start.
const MOST: f64 = 3000.0;

/// The next event on a path: acknowledgements of `batch` packets, of which one in `mark_each` is marked (0: none).
#[derive(Clone, Debug)]
enum Event {
    Acks { count: u32, rtt_us: u64, batch: u64, mark_each: u64 },
    Loss,
    Timeout,
}

/// Both at work, and what the connection has delivered and sent, in packets.
struct Flow {
    port: Socket,
    rust: Builtin,
    window: Window,
    now: Time,
    srtt: Span,
    una: u64,
    nxt: u64,
    round_end: u64,
    marks: u64,
    is_accurate: bool,
    worst: f64,
}

impl Flow {
    fn new(cwnd: u64, settings: &[(&'static str, f64)], variables: &[(&str, u64)], feedback: u64) -> Flow {
        let choice = ControllerChoice::named("prague").expect("it is in the catalogue");
        let values = Settings::defaults(choice.entry.parameters);
        let values = settings.iter().fold(values, |values, (key, value)| values.with(key, *value));
        let mut rust = ControllerChoice { settings: values, ..choice }.build();
        let is_accurate = feedback == ACCURATE;
        rust.on_ecn_feedback(is_accurate);
        let mut port = Socket::new(object("prague").expect("it is built").elf).expect("our own object");
        variables.iter().for_each(|(name, value)| port.set_variable(name, *value).expect("the port has it"));
        let now = Time::ZERO + Span::from_ms(1000);
        for (field, value) in [
            ("snd_cwnd", cwnd),
            ("snd_ssthresh", 0x7fff_ffff),
            ("snd_cwnd_clamp", u32::MAX.into()),
            ("mss_cache", MSS.into()),
            ("sk_max_pacing_rate", u64::MAX),
            ("is_cwnd_limited", 1),
            ("tcp_mstamp", micros(now)),
            ("ecn_flags", feedback),
            ("tos", if is_accurate { ECT_1 } else { ECT_0 }),
        ] {
            port.set(field, value);
        }
        port.init().expect("the port runs");
        let window = Window { cwnd: cwnd as f64, ssthresh: f64::INFINITY };
        let (srtt, nxt) = (Span::ZERO, cwnd);
        let (una, round_end, marks, worst) = (0, 0, 0, 0.0);
        Flow { port, rust, window, now, srtt, una, nxt, round_end, marks, is_accurate, worst }
    }

    fn act(&mut self, event: &Event) {
        ranges::hold("prague", &self.port);
        match *event {
            Event::Loss => self.lose(),
            Event::Timeout => self.time_out(),
            Event::Acks { count, rtt_us, batch, mark_each } => {
                for number in 1..=u64::from(count) {
                    // Slow start takes two packets of an acknowledgement at most in the simulator, and all in the kernel.
                    let packets =
                        if self.window.in_slow_start() { 1 } else { batch }.min(self.nxt - self.una);
                    let marked =
                        if mark_each > 0 && number % mark_each == 0 { packets.div_ceil(2) } else { 0 };
                    self.acknowledge(packets, marked, rtt_us);
                    self.compare();
                    if self.window.cwnd > MOST {
                        self.lose();
                    }
                }
            }
        }
    }

    /// An acknowledgement; then the sender fills its window.
    fn acknowledge(&mut self, packets: u64, marked: u64, rtt_us: u64) {
        let rtt = Span::from_us(rtt_us);
        self.now += Span::from_us(rtt_us * packets / (self.nxt - self.una));
        self.una += packets;
        self.marks += marked;
        let eighth = Span::from_ps(125_000);
        let srtt = if self.srtt.is_zero() { rtt } else { (self.srtt * 7 + rtt) / 8 };
        self.srtt = eighth * (srtt.as_ps() / eighth.as_ps());
        let in_flight = self.nxt - self.una;
        let new_round = self.una > self.round_end;
        if new_round {
            self.round_end = self.nxt;
        }
        if marked > 0 && !self.is_accurate {
            self.reduce_as_classic();
        }
        let ack = AckEvent {
            now: self.now,
            packets: packets as f64,
            marked: marked as f64,
            lost: 0.0,
            rtt,
            srtt: self.srtt,
            min_rtt: rtt,
            one_way: rtt / 2,
            in_flight: in_flight as f64,
            new_round,
            recovering: false,
            window_limited: true,
            rate: None,
        };
        self.rust.on_delivery(&mut self.window, &ack);
        if self.window.in_slow_start() {
            self.rust.on_slow_start(&mut self.window, &ack);
        } else {
            self.rust.on_ack(&mut self.window, &ack);
        }
        self.tell_port(&ack, marked, in_flight);
        self.nxt = self.nxt.max(self.una + (self.window.cwnd as u64).max(1));
    }

    /// What the kernel does with an acknowledgement: a mark that is reported accurately begins a reduction, too.
    fn tell_port(&mut self, ack: &AckEvent, marked: u64, in_flight: u64) {
        let bytes = |packets: u64| u64::from((packets as u32).wrapping_mul(MSS));
        for (field, value) in [
            ("tcp_mstamp", micros(self.now)),
            ("snd_una", bytes(self.una)),
            ("snd_nxt", bytes(self.nxt)),
            ("max_packets_out", self.nxt - self.una),
            ("packets_out", in_flight),
            ("srtt_us", self.srtt.as_ps() / 125_000),
            ("delivered", self.una),
            ("delivered_ce", self.marks),
        ] {
            self.port.set(field, value);
        }
        if ack.new_round && self.port.get("icsk_ca_state") == REDUCED.into() {
            self.port.set_state(OPEN).expect("the port runs");
        }
        if marked > 0 && self.is_accurate && self.port.get("icsk_ca_state") == OPEN.into() {
            self.enter(REDUCED);
        }
        let control = Control {
            flags: 1,
            acked: ack.packets as u32,
            lost: 0,
            in_flight: in_flight as u32,
            rtt_us: span_us(ack.rtt),
            rate: None,
        };
        self.port.cong_control(&control).expect("the port runs");
    }

    /// The kernel requests a threshold, and says what for.
    fn enter(&mut self, state: u8) {
        let before = self.port.get("snd_cwnd");
        self.port.set("prior_cwnd", before);
        let threshold = self.port.ssthresh().expect("the port runs");
        self.port.set("snd_ssthresh", threshold.into());
        if state == LOSS {
            self.port.set("snd_cwnd", 1);
        }
        self.port.set_state(state).expect("the port runs");
    }

    fn congestion(&self, cause: Cause) -> Congestion {
        Congestion { cause, now: self.now, in_flight: self.window.cwnd, srtt: self.srtt }
    }

    fn reduce_as_classic(&mut self) {
        let event = self.congestion(Cause::Mark);
        self.rust.on_congestion(&mut self.window, &event);
        self.enter(REDUCED);
        self.port.set_state(OPEN).expect("the port runs");
    }

    /// A loss, recovered from at once.
    fn lose(&mut self) {
        let event = self.congestion(Cause::Loss);
        self.rust.on_congestion(&mut self.window, &event);
        self.rust.on_recovered(&mut self.window, self.now);
        if self.port.get("icsk_ca_state") == REDUCED.into() {
            // The kernel asks for no other threshold then.
            self.port.set_state(RECOVERY).expect("the port runs");
        } else {
            self.enter(RECOVERY);
        }
        self.port.set_state(OPEN).expect("the port runs");
    }

    fn time_out(&mut self) {
        let event = self.congestion(Cause::Loss);
        self.rust.on_timeout(&mut self.window, &event);
        self.enter(LOSS);
        self.port.set_state(OPEN).expect("the port runs");
    }

    /// The window of the port with its fraction, and its alpha.
    fn own(&self) -> (f64, f64) {
        let exact = self.port.own_word(0) as f64 / ONE_Q32;
        (exact, (self.port.own_word(3) >> 32) as f64 / (ONE_Q32 / 2.0))
    }

    /// The largest difference of windows so far, as a share of the larger of two packets and 2 %.
    fn compare(&mut self) {
        let cwnd = self.port.get("snd_cwnd") as f64;
        let allowed = (self.window.cwnd / 50.0).max(2.0);
        self.worst = self.worst.max((cwnd - self.window.cwnd.floor()).abs() / allowed);
        let mut gauges = Vec::new();
        self.rust.gauges(&self.window, &mut gauges);
        let (exact, alpha) = self.own();
        if self.is_accurate {
            assert!((alpha - gauges[0]).abs() < 1e-6, "alpha is {alpha}, not {}", gauges[0]);
            assert!((exact - gauges[1]).abs() <= allowed, "the window is {exact}, not {}", gauges[1]);
        }
        let Pacing::Even(gap) = self.rust.pacing(&self.window) else { return };
        let rate = self.port.get("sk_pacing_rate") as f64;
        let share = rate * gap.as_secs() / f64::from(MSS);
        // A packet of two more or less, the rate of a small window, and 40 bytes of headers at the lowest rate.
        let allowed = 0.07 + 2.0 / self.window.cwnd.max(gauges[1]).max(1.0);
        assert!(exact < 8.0 || (share - 1.0).abs() <= allowed, "{share} of the rate at {exact} packets");
    }
}

fn event() -> impl Strategy<Value = Event> {
    let acks = (1..150u32, 500..200_000u64, 1..5u64, prop_oneof![Just(0u64), 1..4u64, 4..200u64])
        .prop_map(|(count, rtt_us, batch, mark_each)| Event::Acks { count, rtt_us, batch, mark_each });
    prop_oneof![12 => acks, 2 => Just(Event::Loss), 1 => Just(Event::Timeout)]
}

/// Parameters of the Rust controller, and the same of the port.
type Values = (&'static [(&'static str, f64)], &'static [(&'static str, u64)]);
const VALUES: [Values; 4] = [
    (&[], &[]),
    (&[("rtt_independent", 0.0)], &[("rtt_independent", 0)]),
    (
        &[("target_rtt", 60.0), ("transition", 0.0), ("gain", 0.25)],
        &[("target_rtt", 60_000), ("transition", 0), ("gain", 250_000)],
    ),
    (&[("gain", 0.001)], &[("gain", 1000)]),
];

proptest! {
    #![proptest_config(seeded(100))]

    #[test]
    fn the_port_agrees_with_its_controller(
        start in 2..500u64,
        which in 0..4usize,
        feedback in prop_oneof![3 => Just(ACCURATE), 1 => Just(CLASSIC)],
        events in proptest::collection::vec(event(), 1..30),
    ) {
        if ports_are_built() {
            let (settings, variables) = VALUES[which];
            let mut flow = Flow::new(start, settings, variables, feedback);
            events.iter().for_each(|event| flow.act(event));
            prop_assert!(flow.worst <= 1.0, "{} of what is allowed off", flow.worst);
        }
    }
}

/// A flow of 100 packets in congestion avoidance over 30 ms.
fn avoiding(feedback: u64, codepoint: u64, ect0: u64) -> Flow {
    let mut flow = Flow::new(100, &[], &[("ect0", ect0)], feedback);
    flow.port.set("snd_ssthresh", 50);
    flow.window.ssthresh = 50.0;
    flow.port.set("tos", codepoint);
    flow.acknowledge(1, 0, 30_000);
    flow
}

/// The window after a mark that the kernel reports accurately while its packets carry this codepoint: in proportion it
/// comes down with the next acknowledgements, one packet each (the first mark halves it), and as Reno at once.
fn after_a_mark(feedback: u64, codepoint: u64, ect0: u64) -> (u64, u64) {
    let mut flow = avoiding(feedback, codepoint, ect0);
    flow.is_accurate = true;
    flow.acknowledge(1, 1, 30_000);
    flow.port.set_state(OPEN).expect("the port runs");
    (flow.port.get("snd_cwnd"), flow.port.get("snd_ssthresh"))
}

#[test]
fn only_accurate_feedback_and_ect_1_are_answered_in_proportion() {
    if !ports_are_built() {
        return;
    }
    let prague = after_a_mark(ACCURATE, ECT_1, 0);
    assert!(prague.0 >= 98 && prague.1 == 50, "{prague:?}");
    for (feedback, codepoint, ect0) in [
        (ACCURATE, ECT_0, 0),
        (CLASSIC, ECT_1, 0),
        (CLASSIC, ECT_0, 1),
        (ACCURATE | CLASSIC, ECT_1, 0),
        (ACCURATE, 0, 1),
    ] {
        let reno = after_a_mark(feedback, codepoint, ect0);
        assert_eq!(reno, (50, 50), "{feedback} {codepoint} {ect0}");
    }
    assert_eq!(after_a_mark(ACCURATE, ECT_0, 1), prague);
}

/// From 100 to 50: one packet leaves for each two that are delivered, and the first one at once. 96 are in flight.
#[test]
fn a_recovery_spreads_its_reduction() {
    if !ports_are_built() {
        return;
    }
    let mut flow = avoiding(ACCURATE, ECT_1, 0);
    flow.enter(RECOVERY);
    let mut windows = Vec::new();
    for in_flight in [96, 96, 95, 95, 94] {
        flow.port.set("packets_out", in_flight);
        let control = Control { flags: 1, acked: 1, lost: 0, in_flight: 96, rtt_us: 30_000, rate: None };
        flow.port.cong_control(&control).expect("the port runs");
        windows.push(flow.port.get("snd_cwnd") - in_flight);
    }
    assert_eq!(windows, [1, 0, 1, 0, 1]);
    flow.port.set_state(OPEN).expect("the port runs");
    assert_eq!((flow.port.get("snd_cwnd"), flow.port.get("snd_ssthresh")), (50, 50));
}

/// The kernel gives the window back before it says that the recovery is over.
#[test]
fn a_recovery_that_was_wrong_is_undone() {
    if !ports_are_built() {
        return;
    }
    let mut flow = avoiding(ACCURATE, ECT_1, 0);
    let before = flow.port.get("snd_cwnd");
    flow.enter(RECOVERY);
    flow.port.set("packets_out", 60);
    let control = Control { flags: 1, acked: 1, lost: 0, in_flight: 60, rtt_us: 30_000, rate: None };
    flow.port.cong_control(&control).expect("the port runs");
    let cwnd = flow.port.undo_cwnd().expect("the port runs");
    flow.port.set("snd_cwnd", cwnd.into());
    flow.port.set_state(OPEN).expect("the port runs");
    flow.port.cong_control(&control).expect("the port runs");
    assert!(flow.port.get("snd_cwnd") >= before, "{} of {before}", flow.port.get("snd_cwnd"));
}

/// A full queue of its own host, after marks that have made alpha 1/2: a quarter less. Without a mark it was no router.
#[test]
fn a_full_queue_of_the_host_reduces_by_half_of_alpha() {
    if !ports_are_built() {
        return;
    }
    let mut flow = Flow::new(100, &[], &[("alpha", 500_000)], ACCURATE);
    flow.port.init().expect("the port runs");
    flow.port.set("snd_ssthresh", 50);
    flow.acknowledge(1, 0, 30_000);
    flow.enter(REDUCED);
    assert_eq!(flow.own().0.round(), 75.0);
    assert_eq!(flow.port.get("snd_ssthresh"), 75);
}

/// The comparison detects another weight of samples.
#[test]
#[should_panic(expected = "alpha is")]
fn a_port_with_another_parameter_differs() {
    assert!(ports_are_built(), "alpha is not compared without the port");
    let mut flow = Flow::new(100, &[], &[("gain", 70_000)], ACCURATE);
    flow.act(&Event::Acks { count: 2000, rtt_us: 30_000, batch: 1, mark_each: 20 });
}
