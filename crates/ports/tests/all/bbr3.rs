//! The eBPF port of BBR, version 3, moves its window and its pacing rate as the Rust controller does.
//!
//! A flow on a path with a queue gets the window and the rate of the Rust controller, and both controllers get the
//! same acknowledgements. The kernel does not say exactly what was in flight when a packet left, and 2 % of 400
//! packets are 8 while 2 % of 399 are less: a probe may end a few packets earlier or later, and a bound differs
//! until the next probe. So after each acknowledgement the windows and rates are compared: nine of ten must agree
//! within two packets or 2 %, and the mean windows within 2 %.

use std::collections::VecDeque;

use crate::common::{MSS, micros, ports_are_built, span_us};
use fairhaul_cc::{
    AckEvent, Builtin, Cause, Congestion, Controller, ControllerChoice, Pacing, RateSample, Window,
};
use fairhaul_ports::{Control, Delivery, Socket, object};
use fairhaul_units::{Settings, Span, Time};

const RECOVERY: u8 = 3;
const OPEN: u8 = 0;
/// The state in which BBR probes for the round-trip time.
const PROBE_RTT: u8 = 5;
/// Where a port reports its mode, from `bpf/fields.bpf.h`.
const MODE_WORD: usize = 12;
const MODE_MARK: u64 = u64::from_be_bytes(*b"fairhau\0");
const BEGIN: Time = Time::from_ps(1_000_000_000_000);

/// A path: packets a second, the round-trip time without a queue, and the packets that the queue holds. One of
/// `lossy` packets is lost at random; 0 for none.
#[derive(Clone, Copy, Debug)]
struct Path {
    packets_per_s: f64,
    rtt: Span,
    room: f64,
    lossy: u64,
}

/// A packet that was sent, with what was delivered, lost and in flight then.
struct Sent {
    at: Time,
    delivered: u64,
    delivered_at: Time,
    lost: u64,
    in_flight: u64,
    app_limited: bool,
    /// When its acknowledgement comes; `None` if it was lost.
    comes: Option<Time>,
}

/// The two controllers, and the flow that the one in Rust sends.
struct Flow {
    path: Path,
    rust: Builtin,
    window: Window,
    port: Socket,
    now: Time,
    next_send: Time,
    link_is_free: Time,
    sent: VecDeque<Sent>,
    in_flight: u64,
    /// Whether the application has just paused.
    app_limited: bool,
    delivered: u64,
    delivered_at: Time,
    lost: u64,
    packets: u64,
    srtt: Span,
    min_rtt: Span,
    /// The recovery lasts until as much is delivered.
    recovers_at: Option<u64>,
    compared: u64,
    differ: u64,
    /// Acknowledgements after which the states differ.
    states_differ: u64,
    /// The states of the port so far, one bit for each.
    states: u8,
    /// The sums of the windows of the port and of the Rust controller.
    windows: (f64, f64),
}

/// Times in whole microseconds, as the kernel's clock has them.
fn whole(time: Time) -> Time {
    Time::from_ps(time.as_ps().div_ceil(1_000_000) * 1_000_000)
}

impl Flow {
    fn new(path: Path) -> Flow {
        let choice = ControllerChoice::named("bbr3").expect("it is in the catalogue");
        let settings = Settings::defaults(choice.entry.parameters);
        let mut port = Socket::new(object("bbr3").expect("it is built").elf).expect("our own object");
        let fields = [
            ("snd_cwnd", 10),
            ("snd_ssthresh", 0x7fff_ffff),
            ("snd_cwnd_clamp", u64::from(u32::MAX)),
            ("mss_cache", MSS.into()),
            ("sk_max_pacing_rate", u64::MAX),
        ];
        fields.into_iter().for_each(|(field, value)| port.set(field, value));
        Flow {
            path,
            rust: ControllerChoice { settings, ..choice }.build(),
            window: Window { cwnd: 10.0, ssthresh: f64::INFINITY },
            port,
            now: BEGIN,
            next_send: BEGIN,
            link_is_free: BEGIN,
            sent: VecDeque::new(),
            in_flight: 0,
            app_limited: false,
            delivered: 0,
            delivered_at: BEGIN,
            lost: 0,
            packets: 0,
            srtt: path.rtt,
            min_rtt: Span::from_s(1000),
            recovers_at: None,
            compared: 0,
            differ: 0,
            states_differ: 0,
            states: 0,
            windows: (0.0, 0.0),
        }
    }

    fn run(&mut self, duration: Span) {
        let end = BEGIN + duration;
        while self.now < end {
            let comes = self.sent.iter().find_map(|packet| packet.comes);
            let sends = (self.in_flight + 1) as f64 <= self.window.cwnd.max(1.0);
            match comes {
                Some(comes) if !sends || comes <= self.next_send => {
                    self.now = comes;
                    self.acknowledge();
                }
                _ => {
                    self.now = self.now.max(self.next_send);
                    self.send();
                }
            }
        }
    }

    /// All that is in flight arrives, and then nothing is sent for this time.
    fn pause(&mut self, duration: Span) {
        while let Some(comes) = self.sent.iter().find_map(|packet| packet.comes) {
            self.now = comes;
            self.acknowledge();
        }
        self.next_send = self.now + duration;
        self.app_limited = true;
    }

    fn send(&mut self) {
        if self.in_flight == 0 {
            self.delivered_at = self.now;
        }
        self.packets += 1;
        self.in_flight += 1;
        let each = Span::from_secs(1.0 / self.path.packets_per_s);
        let begins = self.link_is_free.max(self.now);
        let queued = begins.since(self.now).as_secs() * self.path.packets_per_s;
        let mixed = self.packets.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
        let dropped =
            queued > self.path.room || (self.path.lossy > 0 && mixed.is_multiple_of(self.path.lossy));
        let comes = (!dropped).then(|| whole(begins + each + self.path.rtt));
        if !dropped {
            self.link_is_free = begins + each;
        }
        self.sent.push_back(Sent {
            at: self.now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            lost: self.lost,
            in_flight: self.in_flight,
            app_limited: self.app_limited,
            comes,
        });
        if let Pacing::Even(spacing) = self.rust.pacing(&self.window) {
            self.next_send = whole(self.now + spacing);
        }
    }

    /// The acknowledgement of the first packet that was not lost, which reveals the losses before it.
    fn acknowledge(&mut self) {
        let mut lost = 0;
        let packet = loop {
            let packet = self.sent.pop_front().expect("an acknowledgement comes");
            self.in_flight -= 1;
            match packet.comes {
                Some(_) => break packet,
                None => lost += 1,
            }
        };
        self.lost += lost;
        self.delivered += 1;
        let rtt = self.now.since(packet.at);
        self.srtt = (self.srtt * 7 + rtt) / 8;
        self.min_rtt = self.min_rtt.min(rtt);
        self.recover(lost);
        let interval = self.now.since(packet.delivered_at).max(packet.at.since(packet.delivered_at));
        self.delivered_at = self.now;
        let rate = RateSample {
            delivered: (self.delivered - packet.delivered) as f64,
            interval,
            delivered_before: packet.delivered as f64,
            delivered_total: self.delivered as f64,
            in_flight_then: packet.in_flight as f64,
            lost_since: (self.lost - packet.lost) as f64,
            app_limited: packet.app_limited,
        };
        self.app_limited = false;
        let ack = AckEvent {
            now: self.now,
            packets: 1.0,
            marked: 0.0,
            lost: lost as f64,
            rtt,
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            one_way: rtt / 2,
            in_flight: self.in_flight as f64,
            new_round: false,
            recovering: self.recovers_at.is_some(),
            window_limited: false,
            rate: Some(rate),
        }
        .by_flight(self.window.cwnd);
        self.rust.on_delivery(&mut self.window, &ack);
        self.tell_port(&ack, &rate);
        self.compare();
    }

    /// What the kernel does before it calls `cong_control`.
    fn recover(&mut self, lost: u64) {
        self.port.set("tcp_mstamp", micros(self.now));
        if self.recovers_at.is_some_and(|end| self.delivered + self.lost >= end) {
            self.recovers_at = None;
            self.rust.on_recovered(&mut self.window, self.now);
            self.port.set_state(OPEN).expect("the port runs");
        }
        if lost > 0 && self.recovers_at.is_none() {
            self.recovers_at = Some(self.packets);
            let in_flight = self.in_flight as f64;
            let event = Congestion { cause: Cause::Loss, now: self.now, in_flight, srtt: self.srtt };
            self.rust.on_congestion(&mut self.window, &event);
            let threshold = self.port.ssthresh().expect("the port runs");
            self.port.set("snd_ssthresh", threshold.into());
            self.port.set_state(RECOVERY).expect("the port runs");
        }
    }

    fn tell_port(&mut self, ack: &AckEvent, rate: &RateSample) {
        for (field, value) in [
            ("srtt_us", 8 * span_us(self.srtt)),
            ("packets_out", self.in_flight),
            ("delivered", self.delivered),
            ("lost", self.lost),
            ("is_cwnd_limited", ack.window_limited.into()),
        ] {
            self.port.set(field, value);
        }
        let delivery = Delivery {
            before: rate.delivered_before as u32,
            packets: rate.delivered as u32,
            interval_us: span_us(rate.interval),
            is_app_limited: rate.app_limited,
        };
        let control = Control {
            flags: 1,
            acked: 1,
            lost: ack.lost as u32,
            in_flight: (self.in_flight + 1) as u32,
            rtt_us: span_us(ack.rtt),
            rate: Some(delivery),
        };
        self.port.cong_control(&control).expect("the port runs");
    }

    fn compare(&mut self) {
        let cwnd = self.port.get("snd_cwnd") as f64;
        let Pacing::Even(spacing) = self.rust.pacing(&self.window) else { return };
        let rate = f64::from(MSS) / spacing.as_secs();
        let rate_off = (self.port.get("sk_pacing_rate") as f64 / rate - 1.0).abs();
        let is_off = (cwnd - self.window.cwnd).abs() > (self.window.cwnd / 50.0).max(2.0);
        let mode = self.port.own_word(MODE_WORD);
        assert_eq!(mode & !0xff, MODE_MARK, "the port reports its state to the probe of the lab");
        self.states |= 1 << (mode & 0xff);
        self.states_differ += u64::from(self.rust.mode() != Some(mode as u8));
        self.windows = (self.windows.0 + cwnd, self.windows.1 + self.window.cwnd);
        self.compared += 1;
        self.differ += u64::from(is_off || rate_off > 0.02);
    }
}

#[test]
fn the_port_follows_the_rule_on_many_paths() {
    if !ports_are_built() {
        return;
    }
    let paths = [
        (8000.0, 40, 320.0, 0, 15),
        (8000.0, 40, 60.0, 0, 15),
        (8000.0, 40, 1600.0, 0, 15),
        (8000.0, 40, 320.0, 1000, 15),
        (8000.0, 40, 320.0, 50, 15),
        (80_000.0, 10, 200.0, 0, 8),
        (80_000.0, 100, 8000.0, 0, 30),
        (100.0, 200, 20.0, 0, 30),
    ];
    for (packets_per_s, rtt_ms, room, lossy, seconds) in paths {
        let path = Path { packets_per_s, rtt: Span::from_ms(rtt_ms), room, lossy };
        let mut flow = Flow::new(path);
        flow.run(Span::from_s(seconds));
        let (differ, compared) = (flow.differ, flow.compared);
        let ratio = flow.windows.0 / flow.windows.1;
        println!("{path:?}: {differ} of {compared} differ; mean windows {ratio:.4}; {} lost", flow.lost);
        assert!(compared > 2000 && 50 * differ < compared, "{path:?}: {differ} of {compared} differ");
        println!("the states differ at {} of {compared}", flow.states_differ);
        assert!(50 * flow.states_differ < compared, "{path:?}: {} of {compared} states", flow.states_differ);
        assert_eq!(flow.states, 0b111_1111, "{path:?}: all seven states occur");
        assert!((0.98..1.02).contains(&ratio), "{path:?}: the mean window is {ratio} of the rule's");
    }
}

/// The shortest round-trip time is older than 5 s then, but a pause shows it as well as a probe would.
#[test]
fn a_flow_does_not_probe_for_the_round_trip_time_after_a_pause() {
    if !ports_are_built() {
        return;
    }
    let mut flow = Flow::new(Path { packets_per_s: 8000.0, rtt: Span::from_ms(40), room: 320.0, lossy: 0 });
    flow.run(Span::from_s(3));
    flow.pause(Span::from_s(8));
    flow.run(flow.next_send.since(BEGIN) + Span::from_ms(300));
    let state = flow.port.own_word(MODE_WORD) & 0xff;
    assert_ne!(state, PROBE_RTT.into(), "the port probes");
    assert_eq!((flow.rust.mode(), flow.states & 1 << PROBE_RTT), (Some(state as u8), 0));
}

/// The comparison detects another threshold of loss.
#[test]
fn a_port_with_another_parameter_differs() {
    if !ports_are_built() {
        return;
    }
    let path = Path { packets_per_s: 8000.0, rtt: Span::from_ms(40), room: 60.0, lossy: 0 };
    let mut flow = Flow::new(path);
    flow.port.set_variable("loss_threshold", 200_000).expect("the port has it");
    flow.run(Span::from_s(30));
    assert!(10 * flow.differ > flow.compared, "{} of {} differ only", flow.differ, flow.compared);
}
