//! The staircase of every controller: the window in each round under one script of losses.
//!
//! Every entry of the catalogue is driven through the same script, and the text is compared with
//! the snapshot of its name. A new controller needs no line here: its catalogue line brings the
//! test, and `INSTA_UPDATE=always cargo test -p fairhaul-cc` its snapshot, to be read and kept.
//!
//! ```text
//!  cwnd      loss     loss, loss       longer path     timeout
//!   400   ____/|   __/|  _/|          ___________/
//!        /     |__/   |_/  |_________/           |   __/
//!  2 ___/                                        |__/
//! round 1      20    38  40          55 - 70     80      100
//! ```

use std::fmt::Write as _;

use fairhaul_cc::{AckEvent, Builtin, Choice, Congestion, Controller, Pacing, Window, entries};
use fairhaul_units::{Span, Time};

const ROUNDS: u32 = 100;
const SHORT: Span = Span::from_ms(140);
const LONG: Span = Span::from_ms(250);

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

/// The round-trip time of a round: longer for a while.
fn path(round: u32) -> Span {
    if (55..=70).contains(&round) { LONG } else { SHORT }
}

/// A sender without a network: what it knows of the path and the time.
struct Sender {
    controller: Builtin,
    window: Window,
    now: Time,
    srtt: Span,
    min_rtt: Span,
}

impl Sender {
    fn new(controller: Builtin) -> Sender {
        let window = Window { cwnd: 2.0, ssthresh: 400.0 };
        Sender { controller, window, now: Time::ZERO, srtt: SHORT, min_rtt: SHORT }
    }

    /// One round: a loss is recovered from in it, otherwise each whole packet is acknowledged.
    fn round(&mut self, round: u32) {
        let rtt = path(round);
        let packets = self.window.cwnd as u64;
        let event = Congestion { now: self.now, in_flight: packets as f64, srtt: self.srtt };
        match step(round) {
            Step::Loss => self.controller.on_congestion(&mut self.window, &event),
            Step::Timeout => self.controller.on_timeout(&mut self.window, &event),
            Step::Nothing => (0..packets).for_each(|number| self.acknowledge(rtt, packets, number)),
        }
        self.now += rtt;
    }

    /// Acknowledgement `number` of a round that spreads them evenly.
    fn acknowledge(&mut self, rtt: Span, packets: u64, number: u64) {
        self.srtt = (self.srtt * 7 + rtt) / 8;
        self.min_rtt = self.min_rtt.min(rtt);
        let ack = AckEvent {
            now: self.now + rtt * number / packets,
            packets: 1.0,
            rtt,
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            one_way: rtt / 2,
            in_flight: packets as f64 - 1.0,
        };
        if self.window.in_slow_start() {
            self.controller.on_slow_start(&mut self.window, &ack);
        } else {
            self.controller.on_ack(&mut self.window, &ack);
        }
    }
}

fn pacing(pacing: Pacing) -> String {
    match pacing {
        Pacing::None => "-".into(),
        Pacing::Even(rate) => rate.to_string(),
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
        let choice = Choice::named(entry.name).unwrap();
        insta::assert_snapshot!(entry.name, staircase(choice.build()));
    }
}

#[test]
fn a_controller_is_small_enough_for_a_hundred_thousand_flows() {
    let size = std::mem::size_of::<Builtin>();
    assert!(size <= 64, "{size} bytes");
}
