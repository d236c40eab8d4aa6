//! What a flow of Linux does where something is unusual: late packets, timeouts that were none, pauses; and how a sender
//! can be told to grow, restart, pace and reduce. Figures of the kernel are those of `--engine linux` (6.12).

use crate::support::{Run, run_text, within};
use crate::wire::{Pipe, at, config};
use fairhaul_cc::ControllerChoice;
use fairhaul_experiment::{Growth, HostPacing, Recovery, Restart, Rto, SlowStart};
use fairhaul_sim::tcp::{Outcome, Sender, SenderConfig};
use fairhaul_units::{Data, Ecn, Span, Time};

/// A flow of the profile of Linux over 20 Mbit/s and 40 ms, with keys of the bottleneck and of the flow.
fn unusual(controller: &str, seconds: u64, bottleneck: &str, flow: &str) -> Run {
    unusual_with(1, controller, seconds, bottleneck, flow)
}

/// The same with a seed.
fn unusual_with(seed: u64, controller: &str, seconds: u64, bottleneck: &str, flow: &str) -> Run {
    let queue = if bottleneck.contains("queue") {
        ""
    } else {
        "queue = { kind = \"droptail\", capacity = \"67 packets\" }\n"
    };
    run_text(&format!(
        "seed = {seed}\nduration = \"{seconds} s\"\nwarmup = \"10 s\"\nprofile = \"linux\"\npacket = \"1500 B\"\n[bottleneck]\n\
         rate = \"20 Mbit/s\"\ndelay = \"10 ms\"\n{queue}{bottleneck}\n[[flow]]\nname = \"F\"\nrtt = \"40 ms\"\n\
         controller = \"{controller}\"\n{flow}\n"
    ))
}

/// The window of a run at a time, packets.
fn window_at(run: &Run, t_s: f64) -> f64 {
    run.record.flows[0][run.record.grid.bin(Time::ZERO + Span::from_secs(t_s))].cwnd_packets
}

/// Packets that were retransmitted after the first ten seconds.
fn retransmitted(run: &Run) -> u64 {
    let first = run.record.grid.bin(Time::ZERO + run.scenario.warmup);
    run.record.flows[0][first..].iter().map(|row| row.retransmitted).sum()
}

/// One packet in a hundred is late by half a round trip. Each of the first is retransmitted and its recovery undone, which
/// shows the reordering; then the window for it grows with each duplicate until no packet is late (kernel: 23). Single runs
/// use 95 to 100 % of the link, in the kernel, too.
#[test]
fn a_sender_learns_how_late_packets_are_although_all_were_retransmitted() {
    const SEEDS: u64 = 6;
    for controller in ["reno", "cubic"] {
        let reorder = "reorder = { probability = 0.01, delay = \"20 ms\" }";
        let used = (1..=SEEDS).map(|seed| {
            let run = unusual_with(seed, controller, 40, reorder, "");
            assert!(retransmitted(&run) < 60, "{controller}: {}", retransmitted(&run));
            run.utilization(0)
        });
        let used = used.sum::<f64>() / SEEDS as f64;
        assert!(used > 0.97, "{controller}: {used}");
    }
}

/// The network copies one packet in fifty, which the receiver reports as retransmissions that were needless. There are more of
/// these reports than retransmissions, so they are no sign that a recovery was needless.
#[test]
fn copies_that_the_network_makes_undo_no_recovery() {
    let run = unusual("reno", 40, "duplicate = 0.02", "");
    let (reductions, undone) = (run.events("reduction"), run.events("undone"));
    assert!(reductions.len() > 3 && undone.is_empty(), "{reductions:?} {undone:?}");
}

/// The link stands still for 0.8 s. The timeout is undone: the window is what it was, and as CUBIC has forgotten its
/// plateau, it then grows by 5 % a round trip up to the next loss; by its old curve it would stand still for a second.
#[test]
fn after_an_undone_timeout_cubic_of_linux_has_its_window_and_no_plateau() {
    let bottleneck = "loss = { at = [\"14 s\"] }\n\
                      schedule = [{ at = \"15 s\", rate = \"0 bit/s\" }, { at = \"15.8 s\", rate = \"20 Mbit/s\" }]";
    let run = unusual("cubic", 20, bottleneck, "");
    let (timeouts, undone) = (run.events("timeout"), run.events("undone"));
    assert_eq!((timeouts.len(), undone.len()), (1, 1), "{timeouts:?} {undone:?}");
    let (before, after) = (window_at(&run, 14.9), window_at(&run, undone[0].t_s + 0.05));
    within(0.1, before, after, "the window");
    // Some seven round trips later.
    let grown = window_at(&run, undone[0].t_s + 0.45) / after;
    assert!((1.2..1.5).contains(&grown), "{grown}");
}

/// Every second packet is acknowledged, and the window grows by each acknowledgement [RFC 5681, L = 1]: 0.87 / sqrt(p)
/// packets in a round trip [MATHIS], and the formula with b = 2 [PFTK] whose timeout is 0.2 s here. By packets the window
/// grows as if each were acknowledged [RFC 3465].
#[test]
fn growth_by_acknowledgements_has_the_throughput_of_the_formulas_for_delayed_ones() {
    let per_round = |p: f64, growth: &str| {
        let run = run_text(&format!(
            "duration = \"1000 s\"\nwarmup = \"50 s\"\npacket = \"1040 B\"\n[bottleneck]\nrate = \"10 Gbit/s\"\n\
             delay = \"10 ms\"\nqueue = {{ kind = \"droptail\", capacity = \"unlimited\" }}\nloss = {p}\n\
             [[flow]]\nname = \"F\"\nrtt = \"100 ms\"\ncontroller = \"reno\"\noverhead = \"0 s\"\n\
             delayed_ack = \"100 ms\"\ngrowth = \"{growth}\"\n"
        ));
        run.goodput_bps(0) / 8000.0 * 0.1
    };
    let pftk = |p: f64, b: f64| {
        let timeouts = 0.2 * (3.0 * (3.0 * b * p / 8.0).sqrt()).min(1.0) * p * (1.0 + 32.0 * p * p);
        0.1 / (0.1 * (2.0 * b * p / 3.0).sqrt() + timeouts)
    };
    for p in [1e-3, 3e-3, 1e-2] {
        within(0.07, pftk(p, 2.0), per_round(p, "per ack"), &format!("per ack, {p}"));
        within(0.07, pftk(p, 1.0), per_round(p, "per packet"), &format!("per packet, {p}"));
    }
    within(0.07, 0.87 / 1e-3f64.sqrt(), per_round(1e-3, "per ack"), "the square-root law");
}

fn silent(seconds: f64, more: &str) -> String {
    let until = 15.0 + seconds;
    format!(
        "{more}\ntraffic = {{ kind = \"limited\", rate = \"0 bit/s\", from = \"15 s\", until = \"{until} s\" }}"
    )
}

/// The window before a silence, and that in the second round trip after it, when it has doubled if it is in slow start.
fn around_silence(controller: &str, seconds: f64, more: &str) -> (f64, f64) {
    let run = unusual(controller, 40, "", &silent(seconds, more));
    (window_at(&run, 14.9), window_at(&run, 15.0 + seconds + 0.045))
}

/// The timeout is a smoothed round trip of some 70 ms and a margin of 200: a silence of 1 s is three of it and a part, and
/// the window is halved three times, but not below ten (kernel: 103 and 12 packets). One of 20 s leaves ten.
#[test]
fn in_linux_a_silence_halves_the_window_for_each_timeout() {
    let (before, after) = around_silence("reno", 1.0, "");
    within(0.1, 2.0 * (before / 8.0), after, "1 s");
    let (_, after) = around_silence("reno", 20.0, "");
    within(0.1, 20.0, after, "20 s");
    // Less than a timeout, or a controller that sets the window itself: nothing is taken.
    let (before, after) = around_silence("reno", 0.15, "");
    within(0.05, before, after, "0.15 s");
    let (before, after) = around_silence("bbr3", 1.0, "");
    assert!(after > 0.5 * before, "{before} {after}");
}

// Requirement: rfc5681-4.1-a
#[test]
fn a_restart_can_be_that_of_the_rfcs() {
    let (_, left) = around_silence("reno", 1.0, "restart = \"rfc5681\"");
    within(0.1, 20.0, left, "rfc5681");
    for restart in ["none", "rfc7661"] {
        let (before, kept) = around_silence("reno", 1.0, &format!("restart = \"{restart}\""));
        within(0.05, before, kept, restart);
    }
}

/// At 2 Mbit/s some seven packets are in flight, of a window of about a hundred; the loss at 20 s leaves half of the seven
/// by RFC 7661, and of the hundred without it.
#[test]
fn by_rfc_7661_a_loss_leaves_half_of_what_was_used() {
    let left = |restart: &str| {
        let flow = format!(
            "restart = \"{restart}\"\n\
             traffic = {{ kind = \"limited\", rate = \"2 Mbit/s\", from = \"15 s\", until = \"30 s\" }}"
        );
        let run = unusual("reno", 25, "loss = { at = [\"5 s\", \"20 s\"] }", &flow);
        window_at(&run, 20.3)
    };
    assert!(left("none") > 25.0, "{}", left("none"));
    assert!((2.0..12.0).contains(&left("rfc7661")), "{}", left("rfc7661"));
}

/// The silence does not count in CUBIC's curve: two round trips after it the window is what it was (kernel: 823 and 819).
#[test]
fn a_silence_does_not_count_in_the_curve_of_cubic() {
    for variant in ["linux", "rfc9438"] {
        let run = run_text(&format!(
            "duration = \"40 s\"\nprofile = \"linux\"\npacket = \"1500 B\"\n[bottleneck]\nrate = \"50 Mbit/s\"\n\
             delay = \"10 ms\"\nqueue = {{ kind = \"droptail\", capacity = \"1000 packets\" }}\n\
             loss = {{ at = [\"3 s\"] }}\n[[flow]]\nname = \"F\"\nrtt = \"40 ms\"\nrestart = \"none\"\n\
             controller = {{ kind = \"cubic\", variant = \"{variant}\" }}\n\
             traffic = {{ kind = \"limited\", rate = \"0 bit/s\", from = \"10 s\", until = \"30 s\" }}\n"
        ));
        within(0.03, window_at(&run, 9.9), window_at(&run, 30.3), variant);
        assert_eq!(run.events("reduction").len(), 1);
    }
}

/// Acknowledgements of two packets: by packets the window doubles, by acknowledgements it grows by half [RFC 5681, 3.1].
#[test]
fn growth_counts_packets_or_acknowledgements() {
    let windows = |growth| {
        let config = SenderConfig { initial_window: 20.0, growth, ..config(Recovery::Sack) };
        let mut pipe = Pipe::new(config, Span::from_ms(100), Span::ZERO, |_, _| false);
        *pipe.by_twos(20).last().expect("acknowledgements")
    };
    assert_eq!((windows(Growth::PerPacket), windows(Growth::PerAck)), (40.0, 30.0));
}

/// A window of 100 in a round trip of 100 ms. Linux sends the first ten at once, and 1.2 windows in a round trip: a packet
/// every 0.83 ms. QUIC sends ten at once and then one every 0.8 ms.
// Requirement: rfc9937-6.4-a
#[test]
fn a_host_paces_by_its_window() {
    for (pacing, burst, gap_us) in [(HostPacing::Linux, 11, 833.0), (HostPacing::Quic, 10, 800.0)] {
        let config = SenderConfig {
            initial_window: 100.0,
            initial_ssthresh: 100.0,
            pacing,
            rto: Rto::Linux,
            slow_start: SlowStart::Full,
            ..config(Recovery::Rack)
        };
        let mut pipe = Pipe::new(config, Span::from_ms(100), Span::ZERO, |_, _| false);
        pipe.run(at(190));
        let left: Vec<f64> = pipe
            .sent
            .iter()
            .filter(|(_, data)| !data.opens())
            .map(|(time, _)| time.as_secs() * 1e6)
            .collect();
        let at_once = left.iter().filter(|&&us| us == left[0]).count();
        assert_eq!(at_once, burst, "{pacing:?}");
        within(0.01, gap_us, left[50] - left[49], "gap");
    }
}

/// A bound of the rate, however high, makes a flow of Linux pace (SO_MAX_PACING_RATE), as `fq` does. A policer with a
/// bucket of twenty packets then drops little of what it drops of bursts (kernel: 18.9 and 42.7 Mbit/s).
#[test]
fn in_linux_a_bound_of_the_rate_switches_pacing_on() {
    let goodput = |flow: &str| {
        let run = run_text(&format!(
            "duration = \"30 s\"\nwarmup = \"8 s\"\nprofile = \"linux\"\npacket = \"1500 B\"\n[bottleneck]\n\
             rate = \"200 Mbit/s\"\ndelay = \"10 ms\"\nqueue = {{ kind = \"droptail\", capacity = \"2 MB\" }}\n\
             policer = {{ rate = \"50 Mbit/s\", burst = \"30 kB\" }}\n[[flow]]\nname = \"F\"\nrtt = \"40 ms\"\n\
             controller = \"cubic\"\n{flow}\n"
        ));
        run.goodput_bps(0) / 1e6
    };
    let (bursts, bounded, fq) =
        (goodput(""), goodput("max_pacing_rate = \"5 Gbit/s\""), goodput("pacing = \"fq\""));
    assert!(bounded > 1.5 * bursts, "{bursts} {bounded}");
    within(0.02, bounded, fq, "fq");
}

/// The share of the window that a mark leaves, and that the first reduction leaves.
// Requirement: rfc8511-3-a
#[test]
fn marks_and_the_end_of_slow_start_can_have_factors_of_their_own() {
    let config = SenderConfig {
        ecn: Ecn::Capable,
        mark_beta: Some(0.8),
        first_beta: Some(0.9),
        restart: Restart::None,
        ..config(Recovery::Sack)
    };
    let mut pipe = Pipe::new(config, Span::from_ms(100), Span::from_ms(1), |_, _| false);
    pipe.marks = Box::new(|data: &Data| data.number == 100 || data.number == 600);
    let mut thresholds = Vec::new();
    for ms in (0..3000).step_by(5) {
        pipe.run(at(ms));
        let ssthresh = pipe.sender.window().ssthresh;
        if ssthresh.is_finite() && thresholds.last() != Some(&ssthresh) {
            thresholds.push(ssthresh);
        }
    }
    let marked = pipe.outcomes.iter().filter(|(_, outcome)| *outcome == Outcome::Marked).count();
    assert_eq!((marked, thresholds.len()), (2, 2), "{thresholds:?}");
    // 100 packets were acknowledged when the first mark came, in slow start from two: a window of 102.
    within(0.02, 0.9 * 102.0, thresholds[0], "the first");
    assert!(thresholds[1] > 0.75 * thresholds[0], "{thresholds:?}");
}

/// A mark in the first slow start, and one in a later one, leave 0.8 of the window: not half, as `reno` would.
// Requirement: rfc8511-3-a
#[test]
fn a_mark_in_slow_start_has_the_factor_of_marks() {
    for initial_ssthresh in [f64::INFINITY, 500.0] {
        let config = SenderConfig {
            ecn: Ecn::Capable,
            mark_beta: Some(0.8),
            initial_ssthresh,
            restart: Restart::None,
            ..config(Recovery::Sack)
        };
        let mut pipe = Pipe::new(config, Span::from_ms(100), Span::from_ms(1), |_, _| false);
        pipe.marks = Box::new(|data: &Data| data.number == 100);
        let mut ms = 0;
        while pipe.sender.window().ssthresh == initial_ssthresh && ms < 2000 {
            ms += 5;
            pipe.run(at(ms));
        }
        within(0.02, 0.8 * 102.0, pipe.sender.window().ssthresh, "the threshold");
    }
}

/// [RFC 8511] for CUBIC: a mark leaves 0.85 of the window, where a loss leaves 0.7.
#[test]
fn a_mark_leaves_cubic_0_85_of_its_window() {
    let config = SenderConfig {
        ecn: Ecn::Capable,
        mark_beta: Some(0.85),
        initial_window: 100.0,
        initial_ssthresh: 100.0,
        restart: Restart::None,
        ..config(Recovery::Sack)
    };
    let cubic = ControllerChoice::named("cubic").expect("in the catalogue").build();
    let (rtt, gap) = (Span::from_ms(100), Span::from_ms(1));
    let mut pipe = Pipe::of(Sender::new(config, cubic), config, rtt, gap, |_, _| false);
    pipe.marks = Box::new(|data: &Data| data.number == 150);
    let (mut before, mut ms) = (100.0, 0);
    while pipe.sender.window().ssthresh == 100.0 && ms < 2000 {
        before = pipe.sender.window().cwnd;
        ms += 1;
        pipe.run(at(ms));
    }
    within(0.02, 0.85 * before, pipe.sender.window().ssthresh, "the threshold");
}

/// A formula that takes one packet a round trip ends at two packets, and never begins a slow start.
#[test]
fn a_controller_that_only_lowers_its_window_ends_at_two_packets() {
    let run = run_text(
        "duration = \"40 s\"\n[bottleneck]\nrate = \"20 Mbit/s\"\ndelay = \"10 ms\"\nqueue = { kind = \"droptail\", capacity = \"67 packets\" }\n\
         [[flow]]\nname = \"F\"\nrtt = \"40 ms\"\ninitial_ssthresh = 50\n\
         controller = { kind = \"law\", increase = \"-1\", decrease = \"0.5\" }\n",
    );
    within(0.01, 2.0, window_at(&run, 39.0), "the window");
    assert!(run.record.flows[0].iter().all(|row| row.cwnd_packets < 55.0));
}
