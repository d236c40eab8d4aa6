//! What controllers hold, in the record: read at the start of every bin, before anything happens then. That the plain
//! engine records the same is among the checks of `same_record`.

use std::sync::Arc;

use crate::support::{Run, run_text, senders, within};
use fairhaul_experiment::{Record, Scenario, read};
use fairhaul_sim::{Control, Simulation};
use fairhaul_units::{Span, Time};

/// 20 Mbit/s in packets of 1000 bytes, of which 960 are payload, and 40 ms.
fn path(duration_s: u64, queue: &str, flows: &str) -> String {
    format!(
        "profile = \"plain\"\nduration = \"{duration_s} s\"\n[bottleneck]\nrate = \"20 Mbit/s\"\ndelay = \"5 ms\"\n\
         queue = {{ kind = \"droptail\", capacity = \"200 packets\"{queue} }}\n{flows}"
    )
}

fn flow(controller: &str, more: &str) -> String {
    format!("[[flow]]\nname = \"{controller}\"\nrtt = \"40 ms\"\ncontroller = \"{controller}\"\n{more}")
}

fn scenario(text: &str) -> Arc<Scenario> {
    Arc::new(read(text, "test.toml", &senders(text)).expect("it is a scenario").base)
}

/// The first value at or after `from_s`.
fn at(run: &Run, values: &[f64], from_s: f64) -> f64 {
    values[run.record.grid.bin(Time::ZERO + Span::from_secs(from_s)) + 1]
}

/// Marks from 20 packets on: the window stays near 2 / alpha with a path of 100 packets and some 20 in the queue
/// [DCTCP, 3.3: alpha is about sqrt(2 / W*) = sqrt(2 / 121) = 0.13].
#[test]
fn the_alpha_of_dctcp_falls_from_one_to_the_share_of_its_marks() {
    let run = run_text(&path(20, ", mark = \"20 packets\"", &flow("dctcp", "")));
    let alpha = run.flow_gauge(0, "alpha");
    assert_eq!(alpha.len(), run.record.grid.len());
    assert!(alpha[0].is_nan(), "no connection is open before the first event");
    assert_eq!(alpha[1], 1.0);
    let late = &alpha[alpha.len() / 2..];
    within(0.3, 0.13, late.iter().sum::<f64>() / late.len() as f64, "alpha");
}

/// 20 Mbit/s carry 19.2 Mbit/s of payload, and a packet takes 40 ms and its own transmission.
#[test]
fn bbr_shows_the_rate_and_the_round_trip_of_the_path() {
    for name in ["bbr", "bbr3"] {
        let run = run_text(&path(20, "", &flow(name, "")));
        within(0.02, 19.2e6, at(&run, &run.flow_gauge(0, "rate_bps"), 10.0), name);
        within(0.02, 0.0405, at(&run, &run.flow_gauge(0, "min_rtt_s"), 10.0), name);
    }
}

/// The first loss of CUBIC sets its plateau to the window at that time, and no later one raises it above the 300 packets of path
/// and queue by more than a few.
#[test]
fn the_plateau_of_cubic_is_the_window_of_its_losses() {
    let run = run_text(&path(20, "", &flow("cubic", "")));
    let plateau = run.flow_gauge(0, "plateau_packets");
    let first = run.events("reduction")[0].t_s;
    assert!(
        plateau[..=run.record.grid.bin(Time::ZERO + Span::from_secs(first))]
            .iter()
            .all(|value| value.is_nan())
    );
    let last = at(&run, &plateau, 19.0);
    assert!((250.0..=310.0).contains(&last), "{last}");
}

/// Transfers of 20 packets, each of which takes some 0.2 s, far apart; and a flow of datagrams, which has no controller.
#[test]
fn bins_without_a_connection_have_no_value() {
    let short = flow("dctcp", "traffic = { kind = \"short\", rate = \"0.5 /s\", size = \"20 kB\" }\n");
    let cbr = "[[flow]]\nname = \"cbr\"\ntraffic = { kind = \"cbr\", rate = \"1 Mbit/s\" }\n";
    let run = run_text(&path(20, "", &format!("{short}{}{cbr}", flow("reno", ""))));
    let alpha = run.flow_gauge(0, "alpha");
    let open = |start: Time| {
        let start_s = start.as_secs();
        run.record
            .transfers
            .iter()
            .any(|t| t.flow == 0 && t.start_s < start_s && (t.end_s.is_nan() || t.end_s >= start_s))
    };
    let opens = (0..run.record.grid.len()).map(|bin| open(run.record.grid.start(bin)));
    assert!(alpha.iter().map(|value| !value.is_nan()).eq(opens));
    assert!(alpha.iter().any(|value| value.is_nan()) && alpha.contains(&1.0));
    assert!(run.record.flow_gauges[1].is_empty() && run.record.flow_gauges[2].is_empty());
}

fn values(record: &Record) -> String {
    format!("{:?}", record.flow_gauges)
}

/// At 2 s, the start of a bin, the window is cut by hand: the values of that bin are those before.
#[test]
fn a_run_that_is_paused_or_gets_other_controllers_keeps_its_gauges() {
    let cubic = path(4, "", &flow("cubic", ""));
    let whole = run_text(&cubic);
    let mut paused = Simulation::new(scenario(&cubic), Control::default()).expect("it begins");
    paused.run_until(Time::ZERO + Span::from_s(2)).expect("it goes on");
    let copy = paused.copied(Control::default());
    assert_eq!(values(&copy.finish().expect("it ends")), values(&whole.record));

    let bins = whole.record.grid.bin(Time::ZERO + Span::from_s(2)) + 1;
    let other = cubic.replace("controller = \"cubic\"", "controller = \"htcp\"");
    paused.take_controllers(scenario(&other)).expect("it may be exchanged");
    paused.run_until(Time::ZERO + Span::from_s(3)).expect("it goes on");
    let back = paused.copied(Control::default());
    let htcp = Run { scenario: (*scenario(&other)).clone(), record: paused.finish().expect("it ends") };
    let kept = htcp.flow_gauge(0, "kept");
    assert_eq!(kept.len(), htcp.record.grid.len());
    assert!(
        kept[..bins].iter().all(|value| value.is_nan()) && kept[bins..].iter().all(|value| *value >= 0.5)
    );

    // A controller without gauges drops the column; one that has it again finds no earlier values.
    let mut back = back;
    back.take_controllers(scenario(&cubic.replace("controller = \"cubic\"", "controller = \"reno\"")))
        .expect("it may");
    back.take_controllers(scenario(&cubic)).expect("it may");
    let again = Run { scenario: (*scenario(&cubic)).clone(), record: back.finish().expect("it ends") };
    assert_eq!(again.flow_gauge(0, "plateau_packets").len(), again.record.grid.len());
}
