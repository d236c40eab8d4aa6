//! The staircase of every controller: the window in each round under one script of drops and delays.
//!
//! Every entry of the catalogue is driven through the same script, and the text is compared with
//! the snapshot of its name. A new controller needs no line here: its catalogue line brings the
//! test, and `INSTA_UPDATE=always cargo test -p fairhaul-cc` its snapshot, to be read and kept.
//!
//! The path holds 300 packets (at 140 ms, and as many packets more as it is longer); what a sender
//! has in flight beyond that waits in a queue, so that every round takes as long as its window
//! makes it. Controllers that read marks see those of a queue that marks beyond 30 packets.
//!
//! ```text
//!  cwnd      loss     loss, loss       longer path     timeout
//!   400   ____/|   __/|  _/|          ___________/
//!        /     |__/   |_/  |_________/           |   __/
//!  2 ___/                                        |__/
//! round 1      20    38  40          55 - 70     80      100
//! ```

use std::fmt::Write as _;

use fairhaul_cc::{
    AckEvent, Builtin, Cause, Congestion, Controller, ControllerChoice, Pacing, RateSample, Window, entries,
};
use fairhaul_units::{Kind, Span, Time};

const ROUNDS: u32 = 100;
const SHORT: Span = Span::from_ms(140);
const LONG: Span = Span::from_ms(250);
/// 300 packets in 140 ms.
const PACKETS_PER_S: f64 = 300.0 / 0.140;
const MARKED_BEYOND: f64 = 30.0;

/// What happens in a round besides acknowledgements.
#[derive(PartialEq)]
enum Step {
    Nothing,
    Loss,
    Timeout,
}

fn step(round: u32) -> Step {
    match round {
        20 | 38 | 40 => Step::Loss,
        80 => Step::Timeout,
        _ => Step::Nothing,
    }
}

/// The round-trip time of the idle path: longer for a while.
fn path(round: u32) -> Span {
    if (55..=70).contains(&round) { LONG } else { SHORT }
}

/// A sender without a network: what it knows of the path and the time.
struct Sender {
    controller: Builtin,
    window: Window,
    now: Time,
    rtt: Span,
    srtt: Span,
    min_rtt: Span,
    delivered: f64,
    lost: f64,
}

impl Sender {
    fn new(controller: Builtin) -> Sender {
        let window = Window { cwnd: 2.0, ssthresh: 400.0 };
        let rtt = SHORT;
        Sender {
            controller,
            window,
            now: Time::ZERO,
            rtt,
            srtt: rtt,
            min_rtt: rtt,
            delivered: 0.0,
            lost: 0.0,
        }
    }

    /// One round: a loss is recovered from in it, otherwise each whole packet is acknowledged.
    fn round(&mut self, round: u32) {
        let packets = self.sends(path(round));
        let capacity = PACKETS_PER_S * path(round).as_secs();
        self.rtt = path(round) + Span::from_secs((packets as f64 - capacity).max(0.0) / PACKETS_PER_S);
        match step(round) {
            Step::Loss => {
                self.congestion(Cause::Loss, packets);
                self.lost = 1.0;
                self.controller.on_recovered(&mut self.window, self.now + self.rtt);
            }
            Step::Timeout => {
                let event = self.event(Cause::Loss, packets);
                self.controller.on_timeout(&mut self.window, &event);
                self.lost = packets as f64;
            }
            Step::Nothing => self.deliver(packets, capacity),
        }
        self.now += self.rtt;
    }

    /// What the window and the pacer let go in a round of a path without a queue.
    fn sends(&self, rtt: Span) -> u64 {
        let paced = match self.controller.pacing(&self.window) {
            Pacing::Even(gap) => rtt / gap,
            Pacing::None | Pacing::Blocks { .. } => u64::MAX,
        };
        (self.window.cwnd as u64).min(paced).max(1)
    }

    /// Acknowledges the packets of a round, spread evenly over it.
    fn deliver(&mut self, packets: u64, capacity: f64) {
        let unmarked =
            if self.controller.needs().exact_echo { (capacity + MARKED_BEYOND) as u64 } else { u64::MAX };
        for number in 0..packets {
            if number == unmarked && !self.controller.needs().own_marks {
                self.congestion(Cause::Mark, packets);
            }
            self.acknowledge(packets, number, number >= unmarked);
        }
    }

    fn event(&self, cause: Cause, packets: u64) -> Congestion {
        Congestion { cause, now: self.now, in_flight: packets as f64, srtt: self.srtt }
    }

    fn congestion(&mut self, cause: Cause, packets: u64) {
        let event = self.event(cause, packets);
        self.controller.on_congestion(&mut self.window, &event);
    }

    /// Acknowledgement `number` of a round.
    fn acknowledge(&mut self, packets: u64, number: u64, marked: bool) {
        let rtt = self.rtt;
        self.srtt = (self.srtt * 7 + rtt) / 8;
        self.min_rtt = self.min_rtt.min(rtt);
        self.delivered += 1.0;
        let ack = AckEvent {
            now: self.now + rtt * number / packets,
            packets: 1.0,
            marked: if marked { 1.0 } else { 0.0 },
            lost: std::mem::take(&mut self.lost),
            rtt,
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            one_way: rtt - SHORT / 2,
            in_flight: packets as f64 - 1.0,
            new_round: number == 0,
            recovering: false,
            window_limited: true,
            rate: Some(self.rate(packets)),
        };
        self.controller.on_delivery(&mut self.window, &ack);
        if self.window.in_slow_start() {
            self.controller.on_slow_start(&mut self.window, &ack);
        } else {
            self.controller.on_ack(&mut self.window, &ack);
        }
    }

    /// A window in every round trip.
    fn rate(&self, packets: u64) -> RateSample {
        RateSample {
            delivered: packets as f64,
            interval: self.rtt,
            delivered_before: (self.delivered - packets as f64).max(0.0),
            delivered_total: self.delivered,
            in_flight_then: packets as f64,
            lost_since: 0.0,
            app_limited: false,
        }
    }
}

fn pacing(pacing: Pacing) -> String {
    match pacing {
        Pacing::None => "-".into(),
        Pacing::Even(gap) => format!("one in {gap}"),
        Pacing::Blocks { count, round } => format!("{count} blocks in {round}"),
    }
}

fn staircase(controller: Builtin) -> String {
    let mut sender = Sender::new(controller);
    let mut text = String::from("round   time_s       cwnd   ssthresh  pacing\n");
    for round in 1..=ROUNDS {
        sender.round(round);
        let Window { cwnd, ssthresh } = sender.window;
        let note = match step(round) {
            Step::Nothing => "",
            Step::Loss => "  (loss)",
            Step::Timeout => "  (timeout)",
        };
        let paced = pacing(sender.controller.pacing(&sender.window));
        let time_s = sender.now.as_secs();
        writeln!(text, "{round:>5} {time_s:>8.3} {cwnd:>10.3} {ssthresh:>10.3}  {paced}{note}")
            .expect("a string takes every line");
    }
    text
}

#[test]
fn every_controller_climbs_its_staircase() {
    for entry in entries() {
        let choice = ControllerChoice::named(entry.name).unwrap();
        insta::assert_snapshot!(entry.name, staircase(choice.build()));
    }
}

/// A constructor that asks for the words of another parameter panics.
#[test]
fn every_controller_is_built_with_every_word() {
    for entry in entries() {
        let mut choice = ControllerChoice::named(entry.name).unwrap();
        for parameter in entry.parameters {
            let Kind::Word(words) = parameter.kind else { continue };
            for index in 0..words.len() {
                choice.settings.set(parameter.name, index as f64);
                choice.build();
            }
            choice.settings.set(parameter.name, parameter.default);
        }
    }
}

#[test]
fn a_controller_is_small_enough_for_a_hundred_thousand_flows() {
    let size = std::mem::size_of::<Builtin>();
    assert!(size <= 64, "{size} bytes");
}
