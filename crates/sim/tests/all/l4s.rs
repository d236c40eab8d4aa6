//! L4S from end to end: accurate feedback [RFC 9768], Prague and the dual queue [RFC 9332].

use crate::support::{Run, run_text};
use crate::wire::{Pipe, at, config};
use fairhaul_cc::ControllerChoice;
use fairhaul_experiment::{AccEcnOption, Middlebox, Recovery};
use fairhaul_sim::tcp::{Outcome, Sender, SenderConfig};
use fairhaul_units::{Data, Ecn, Span};

/// Reno with accurate feedback, a window of 10 in rounds of 100 ms, of which a queue marks these packets.
fn accurate(marked: &'static [u64], middlebox: Middlebox) -> Pipe<fairhaul_cc::Builtin> {
    let config = SenderConfig {
        ecn: Ecn::Capable,
        accecn: Some((AccEcnOption::Always, middlebox)),
        initial_window: 10.0,
        initial_ssthresh: 10.0,
        ..config(Recovery::Sack)
    };
    let controller = ControllerChoice::named("reno").expect("it is in the catalogue").build();
    let sender = Sender::new(config, controller);
    let mut pipe = Pipe::of(sender, config, Span::from_ms(100), Span::from_ms(1), |_: &Data, _| false);
    pipe.marks = Box::new(move |data| marked.contains(&data.number));
    pipe.run(at(1000));
    pipe
}

/// Marks on 3 and on 9 are counted by the three bits, from 5 on; one window gives one reduction, and no packet says CWR.
// Requirement: rfc9768-3.1.5-h, rfc9768-3.1.5-i, rfc9768-3.2-b
#[test]
fn the_receiver_counts_marks_and_one_window_of_them_reduces_once() {
    let pipe = accurate(&[3, 9], Middlebox::None);
    let ace: Vec<_> = pipe.acked.iter().map(|ack| ack.1.accurate.ace()).collect();
    assert_eq!(ace[1..12], [5, 5, 5, 6, 6, 6, 6, 6, 6, 7, 7].map(Some));
    assert!(pipe.acked.iter().all(|ack| !ack.1.ece) && pipe.sent.iter().all(|sent| !sent.1.cwr));
    let reductions = pipe.outcomes.iter().filter(|(_, outcome)| *outcome == Outcome::Marked);
    assert_eq!(reductions.count(), 1);
    // Where it is acknowledged that what followed the reduction was not marked, the window grows again at once.
    let window = |next: u64| pipe.acked.iter().find(|ack| ack.1.next == next).expect("it is acknowledged").2;
    assert!((window(4) - 5.15).abs() < 0.01 && window(5) > window(4), "{} {}", window(4), window(5));
}

#[test]
fn a_middlebox_that_clears_the_bits_of_acknowledgements_ends_ect() {
    let sent = |middlebox| {
        let pipe = accurate(&[], middlebox);
        let capable = pipe.sent.iter().filter(|sent| sent.1.ecn == Ecn::Capable).count();
        (capable, pipe.sent.len() - capable)
    };
    let ((with, without), (cleared, rest)) = (sent(Middlebox::None), sent(Middlebox::ClearsAce));
    assert!(with > 50 && without == 1, "{with} {without}"); // the request is Not-ECT
    assert!(cleared == 10 && rest > 50, "{cleared} {rest}"); // the first window left before
}

fn dual(queue: &str, controllers: [&str; 2], keys: &str) -> Run {
    dual_of(queue, &format!("controller = \"{}\"", controllers[0]), controllers[1], keys)
}

fn dual_of(queue: &str, controller: &str, second: &str, keys: &str) -> Run {
    run_text(&format!(
        r#"
        duration = "30 s"
        warmup = "10 s"
        profile = "linux-tcp"
        packet = "1500 B"
        [bottleneck]
        rate = "40 Mbit/s"
        delay = "5 ms"
        queue = {{ {queue} }}
        [[flow]]
        name = "first"
        rtt = "20 ms"
        {controller}
        {keys}
        [[flow]]
        name = "second"
        rtt = "20 ms"
        controller = "{second}"
        "#
    ))
}

/// k = 2 makes windows about equal, so rates are as the round-trip times: 20 ms and 20 + 15 to 20 ms. Both variants share 1.2
/// to 2.4 to 1 between Prague and CUBIC, and L4S packets wait for about a millisecond.
#[test]
fn prague_and_cubic_share_a_dual_queue_by_their_round_trips() {
    for variant in ["rfc", "linux"] {
        let queue = format!(r#"kind = "dualpi2", capacity = "10000 packets", variant = "{variant}""#);
        let run = dual(&queue, ["prague", "cubic"], "");
        let [prague, cubic] = [0, 1].map(|flow| run.goodput_bps(flow) / 1e6);
        println!("{variant}: {prague:.1} and {cubic:.1} Mbit/s");
        assert!((1.2..2.4).contains(&(prague / cubic)), "{variant}: {prague} {cubic}");
        assert!(prague + cubic > 36.0);
    }
}

/// Without accurate feedback Prague is Reno: it does not send ECT(1), and is in the other queue.
#[test]
fn prague_falls_back_to_reno_where_a_middlebox_clears_the_request() {
    let queue = r#"kind = "dualpi2", capacity = "10000 packets""#;
    let of = |middlebox: &str| dual(queue, ["prague", "reno"], &format!("middlebox = \"{middlebox}\""));
    let run = of("clears request");
    assert_eq!(in_l4s_queue(&run), 0.0);
    let [prague, reno] = [0, 1].map(|flow| run.goodput_bps(flow) / 1e6);
    assert!((0.7..1.4).contains(&(prague / reno)), "{prague} {reno}");
}

/// In one queue that marks for both, Prague with alpha takes nearly all. With the fall-back a mark takes 0.3125 of its window, so
/// that it has sqrt((2 - b) / (2 b p)) = 1.64 / sqrt(p) packets beside the 1.68 / sqrt(p) of CUBIC. In a dual queue the score
/// stays on the side of L4S, and nothing changes.
#[test]
fn prague_falls_back_in_a_classic_queue_and_not_in_a_dual_queue() {
    let ratio = |queue: &str, word: &str| {
        let controller = format!("controller = {{ kind = \"prague\", classic_ecn_fallback = \"{word}\" }}");
        let run = dual_of(queue, &controller, "cubic", "");
        let [prague, cubic] = [0, 1].map(|flow| run.goodput_bps(flow) / 1e6);
        println!("{queue}, {word}: {prague:.2} and {cubic:.2} Mbit/s");
        prague / cubic
    };
    for queue in ["codel", "pie", "red"].map(|kind| format!(r#"kind = "{kind}", capacity = "200 ms""#)) {
        assert!(ratio(&queue, "none") > 5.0, "{queue}");
        assert!((0.5..2.0).contains(&ratio(&queue, "fallback")), "{queue}");
    }
    for variant in ["rfc", "linux"] {
        let queue = format!(r#"kind = "dualpi2", capacity = "10000 packets", variant = "{variant}""#);
        assert_eq!(ratio(&queue, "none"), ratio(&queue, "fallback"), "{variant}");
    }
}

/// How many packets of the run were in the queue for L4S, summed over the looks at it.
fn in_l4s_queue(run: &Run) -> f64 {
    let gauges = run.scenario.links[0].queue.entry.gauges.len();
    run.record.gauges[0].chunks_exact(gauges).map(|shown| shown[3]).sum()
}

/// As extensions `dctcp` and `bbr3` send ECT(1) and are taken by the L4S queue; without it both are in the other one.
#[test]
fn dctcp_and_bbr3_are_in_the_l4s_queue_as_extensions() {
    let queue = r#"kind = "dualpi2", capacity = "10000 packets""#;
    for (keys, extension) in [
        ("controller = \"dctcp\"", "ect1 = true"),
        ("controller = { kind = \"bbr3\" }", ""),
        ("controller = { kind = \"bbr3\", proportional = true }", ""),
    ] {
        let is_l4s = !extension.is_empty() || keys.contains("proportional");
        let run = dual_of(queue, keys, "cubic", extension);
        let [first, cubic] = [0, 1].map(|flow| run.goodput_bps(flow) / 1e6);
        println!("{keys}: {first:.1} beside {cubic:.1} Mbit/s");
        assert_eq!(in_l4s_queue(&run) > 0.0, is_l4s, "{keys}");
        assert!(first + cubic > 34.0, "{keys}: {first} {cubic}");
        assert!(!is_l4s || first > 4.0 && cubic > 4.0, "{keys}: {first} {cubic}");
    }
    assert_eq!(in_l4s_queue(&dual_of(queue, "controller = \"dctcp\"", "cubic", "")), 0.0);
}
