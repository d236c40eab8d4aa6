//! Bursts of segmentation offload, and packets of 9000 bytes: what changes with them, and what does not.

use std::collections::BTreeSet;

use crate::support::{run_text, senders, within};
use crate::wire::{Pipe, at, config};
use fairhaul_experiment::{FlowRow, PacketWhat, Recovery, read};
use fairhaul_sim::tcp::SenderConfig;
use fairhaul_sim::{Control, run_traced};
use fairhaul_units::{Data, Rate, Span, Time};

/// A flow at 16 of 20 Mbit/s, from an access of 1 Gbit/s.
fn paced(more: &str) -> String {
    format!(
        "duration = \"10 s\"\nwarmup = \"5 s\"\n[bottleneck]\nrate = \"20 Mbit/s\"\ndelay = \"10 ms\"\n\
         access_rate = \"1 Gbit/s\"\nqueue = {{ kind = \"droptail\", capacity = \"unlimited\" }}\n[[flow]]\n\
         name = \"F\"\nrtt = \"40 ms\"\ncontroller = \"reno\"\noverhead = \"0 s\"\nmax_pacing_rate = \"16 Mbit/s\"\n{more}"
    )
}

/// The longest queue of the bottleneck after 5 s in packets, the one that is sent included: from the
/// one-way times, of which one packet takes 0.4 ms there.
fn peak(more: &str) -> f64 {
    let scenario = read(&paced(more), "test.toml", &senders(&paced(more)))
        .unwrap_or_else(|mistakes| panic!("{mistakes}"))
        .base;
    let (_, evidence) = run_traced(&scenario, 0, &Control::default()).expect("it runs");
    let sent: std::collections::HashMap<u64, f64> = evidence
        .rows
        .iter()
        .filter(|row| row.what == PacketWhat::Sent)
        .map(|row| (row.number, row.t_s))
        .collect();
    let received = evidence.rows.iter().filter(|row| row.what == PacketWhat::Received && row.t_s > 5.0);
    let one_way: Vec<f64> = received.map(|row| row.t_s - sent[&row.number]).collect();
    let (least, most) = one_way.iter().fold((f64::MAX, 0.0f64), |(a, b), &t| (a.min(t), b.max(t)));
    1.0 + (most - least) / 0.4e-3
}

#[test]
fn the_queue_of_a_paced_flow_is_as_long_as_its_bursts() {
    // The last of a burst of n leaves its access 8 us a packet after the first, and finds
    // n - (n - 1) 8/400 packets: for 16, 15.7; for 40, 39.2. A window of 16 Mbit/s x 40 ms / 8000 bit = 80
    // packets has a third of 27, but this flow's window is larger, since the pacer holds it.
    for (offload, packets) in [("1 packet", 1.0), ("4 packets", 4.0), ("16 packets", 16.0), ("16 kB", 16.0)] {
        let peak = peak(&format!("offload = \"{offload}\""));
        assert!(peak <= packets + 0.01 && peak >= 0.95 * packets - 0.01, "{offload}: {peak}");
    }
    let mean = |offload: u32| run_text(&paced(&format!("offload = \"{offload} packets\""))).goodput_bps(0);
    // 960 of 1000 bytes are payload.
    for offload in [1, 4, 16] {
        within(0.005, 0.96 * 16e6, mean(offload), "goodput");
    }
}

#[test]
fn a_burst_is_at_most_a_third_of_the_window_and_at_most_the_configured_size() {
    for (window, offload, burst) in [(60.0, 16, 16), (30.0, 16, 10), (6.0, 16, 2), (5.0, 16, 1), (2.0, 16, 1)]
    {
        let config = SenderConfig {
            initial_window: window,
            initial_ssthresh: window,
            max_window: window,
            offload,
            ..config(Recovery::Sack)
        };
        let mut pipe = Pipe::new(config, Span::from_ms(100), Span::from_ms(1), |_, _| false);
        pipe.run(at(3000));
        let of_one_time = |a: &(Time, Data), b: &(Time, Data)| a.0 == b.0;
        for burst in pipe.sent.chunk_by(of_one_time).filter(|burst| burst[0].0 > at(1000)) {
            let follows = |(_, data): &(Time, Data)| data.sending.follows();
            assert!(!follows(&burst[0]) && burst[1..].iter().all(follows), "{burst:?}");
        }
        // After the first round, acknowledgements come 1 ms apart.
        let times: Vec<Time> = pipe.sent.iter().map(|sent| sent.0).filter(|time| *time > at(1000)).collect();
        let bursts: Vec<usize> = times.chunk_by(|a, b| a == b).map(<[Time]>::len).collect();
        assert!(bursts[1..bursts.len() - 1].iter().all(|&n| n == burst), "{window}: {bursts:?}");
    }
}

#[test]
fn the_last_packets_do_not_wait_for_more() {
    // 24 packets: a window of 16, then 5 when 5 are acknowledged (16 / 3), and the last 3 as soon as
    // they fit. The connection is open at 101 ms, and acknowledgements come from 202 ms on, 1 ms apart.
    let config = SenderConfig {
        size: Some(24 * 960),
        initial_window: 16.0,
        initial_ssthresh: 16.0,
        offload: 16,
        ..config(Recovery::Sack)
    };
    let mut pipe = Pipe::new(config, Span::from_ms(100), Span::from_ms(1), |_, _| false);
    pipe.run(at(5000));
    let later: Vec<Time> = pipe.sent[17..].iter().map(|sent| sent.0).collect();
    assert_eq!(later, [[at(206); 5].as_slice(), &[at(209); 3]].concat());
    assert_eq!(pipe.timeouts(), 0);
}

#[test]
fn bursts_are_lost_as_a_whole() {
    let text = paced("offload = \"8 packets\"\n");
    let mut changes = senders(&text);
    changes.push(("bottleneck.loss".to_owned(), "{ offloaded_bursts = 0.02 }".to_owned()));
    let scenario = read(&text, "test.toml", &changes).unwrap_or_else(|mistakes| panic!("{mistakes}")).base;
    let (_, evidence) = run_traced(&scenario, 0, &Control::default()).expect("it runs");
    let numbers = |what| {
        let rows = evidence.rows.iter().filter(move |row| row.what == what && !row.retransmitted);
        rows.map(|row| (row.t_s, row.number)).collect::<Vec<_>>()
    };
    let lost: BTreeSet<u64> = numbers(PacketWhat::Dropped).iter().map(|row| row.1).collect();
    let sent = numbers(PacketWhat::Sent);
    let bursts: Vec<&[(f64, u64)]> = sent.chunk_by(|a, b| a.0 == b.0).collect();
    let of = |burst: &&[(f64, u64)]| burst.iter().filter(|row| lost.contains(&row.1)).count();
    assert!(bursts.iter().all(|burst| [0, burst.len()].contains(&of(burst))));
    assert!(bursts.iter().filter(|burst| burst.len() > 1 && of(burst) > 1).count() >= 5, "{}", lost.len());
}

#[test]
fn a_fastest_rate_holds_for_bursts_together() {
    // 10 packets of 1000 B at 4 Mbit/s: a burst each 20 ms.
    let config = SenderConfig {
        max_pacing_rate: Rate::from_bps(4_000_000),
        initial_window: 100.0,
        initial_ssthresh: 100.0,
        offload: 10,
        ..config(Recovery::Sack)
    };
    let mut pipe = Pipe::new(config, Span::from_ms(100), Span::ZERO, |_, _| false);
    pipe.run(at(2000));
    let times: Vec<Time> = pipe.sent.iter().map(|sent| sent.0).filter(|time| *time >= at(1000)).collect();
    let bursts: Vec<(Time, usize)> = times.chunk_by(|a, b| a == b).map(|b| (b[0], b.len())).collect();
    assert!(bursts.iter().all(|burst| burst.1 == 10), "{bursts:?}");
    assert!(bursts.windows(2).all(|pair| pair[1].0 - pair[0].0 == Span::from_ms(20)), "{bursts:?}");
}

#[test]
fn bursts_wait_for_no_timer_whatever_is_lost() {
    for recovery in [Recovery::Sack, Recovery::SackPrr, Recovery::NewReno { impatient: false }] {
        let timeouts = |offload| {
            let config = SenderConfig { offload, ..config(recovery) };
            let fate = |data: &fairhaul_units::Data, tries: u32| {
                !data.opens() && tries == 1 && data.number.is_multiple_of(401)
            };
            let mut pipe = Pipe::new(config, Span::from_ms(100), Span::from_ms(1), fate);
            pipe.run(at(30_000));
            assert!(pipe.reductions() > 10 && pipe.retransmissions() > 10 && pipe.lost > 10);
            (pipe.timeouts(), pipe.received.len() as f64)
        };
        let (plain, bursts) = (timeouts(1), timeouts(16));
        println!("{recovery:?} {plain:?} {bursts:?}");
        assert!(bursts.0 <= plain.0, "{recovery:?}");
        assert!(bursts.1 > 0.85 * plain.1, "{recovery:?} {plain:?} {bursts:?}");
    }
}

/// Goodput in bit/s of flows over 50 Mbit/s and 40 ms, a packet size for each, and the utilization.
fn shared(capacity: &str, packets: &[u64]) -> (Vec<f64>, f64) {
    let flow = |(i, packet): (usize, &u64)| {
        format!(
            "[[flow]]\nname = \"F{i}\"\nrtt = \"40 ms\"\ncontroller = \"reno\"\npacket = \"{packet} B\"\n"
        )
    };
    let flows: String = packets.iter().enumerate().map(flow).collect();
    let run = run_text(&format!(
        "duration = \"60 s\"\nwarmup = \"10 s\"\n[bottleneck]\nrate = \"50 Mbit/s\"\ndelay = \"10 ms\"\n\
         queue = {{ kind = \"droptail\", capacity = \"{capacity}\" }}\n{flows}"
    ));
    ((0..packets.len()).map(|flow| run.goodput_bps(flow)).collect(), run.utilization(0))
}

#[test]
fn jumbo_packets_fill_a_link_and_carry_less_header() {
    // 50 Mbit/s x 40 ms = 250 kB: 28 packets of 9000 B. 8960 of 9000 bytes are payload.
    let (flows, utilization) = shared("250 kB", &[9000]);
    assert!(utilization > 0.97, "{utilization}");
    within(1e-3, 8960.0 / 9000.0 * 50e6 * utilization, flows[0], "goodput");
}

#[test]
fn a_jumbo_flow_has_the_same_window_at_the_same_loss_and_nine_times_the_throughput() {
    let of = |packet: u64| {
        let text = format!(
            "duration = \"300 s\"\nwarmup = \"20 s\"\npacket = \"{packet} B\"\n[bottleneck]\nrate = \"100 Gbit/s\"\n\
             delay = \"20 ms\"\nqueue = {{ kind = \"droptail\", capacity = \"unlimited\" }}\nloss = {{ every = 1000 }}\n\
             [[flow]]\nname = \"F\"\nrtt = \"40 ms\"\ncontroller = \"reno\"\ninitial_ssthresh = 40.0\noverhead = \"0 s\""
        );
        let run = run_text(&text);
        (run.cwnd_mean(0), run.goodput_bps(0))
    };
    let (small, large) = (of(1000), of(9000));
    within(0.01, small.0, large.0, "window in packets");
    // sqrt(3/2) / sqrt(0.001) = 38.7 [MATHIS].
    within(0.05, 38.7, large.0, "window by the square-root law");
    within(0.01, 8960.0 / 960.0, large.1 / small.1, "throughput");
}

#[test]
fn a_queue_in_packets_loses_sizes_alike_and_one_in_bytes_the_large() {
    let losses = |capacity: &str| {
        let flow = |name: &str, packet: u32, rate: &str| {
            format!(
                "[[flow]]\nname = \"{name}\"\nrole = \"background\"\npacket = \"{packet} B\"\n\
                 overhead = \"uniform 0 s..5 ms\"\ntraffic = {{ kind = \"cbr\", rate = \"{rate}\" }}\n"
            )
        };
        let run = run_text(&format!(
            "duration = \"60 s\"\n[bottleneck]\nrate = \"50 Mbit/s\"\ndelay = \"10 ms\"\n\
             access_rate = \"10 Gbit/s\"\n\
             queue = {{ kind = \"droptail\", capacity = \"{capacity}\" }}\n{}{}",
            flow("small", 1000, "5 Mbit/s"),
            flow("large", 9000, "57.5 Mbit/s")
        ));
        [0, 1].map(|flow| {
            let rows: &[FlowRow] = &run.record.flows[flow];
            let (sent, lost) = rows.iter().fold((0, 0), |(s, l), row| (s + row.sent, l + row.lost));
            lost as f64 / sent as f64
        })
    };
    // 62.5 Mbit/s into 50: where packets are counted both lose 12.5 / 62.5; where bytes are, a
    // packet of 1000 B nearly always finds room, and the large lose 12.5 / 57.5.
    let [small, large] = losses("60 packets");
    within(0.1, 0.2, small, "small, in packets");
    within(0.1, 0.2, large, "large, in packets");
    let [small, large] = losses("250 kB");
    assert!(small < 0.02, "{small}");
    within(0.05, 12.5 / 57.5, large, "large, in bytes");
}

#[test]
fn reno_with_both_sizes_fills_the_link() {
    for capacity in ["60 packets", "250 kB"] {
        let (_, utilization) = shared(capacity, &[1000, 9000, 1000, 9000]);
        assert!(utilization > 0.95, "{capacity}: {utilization}");
    }
}

/// The bursts of a flow of Linux at 50 of 100 Mbit/s, in packets of 1000 B: when they left, and how many packets they had.
fn bursts_of_linux(qdisc: &str) -> Vec<(f64, usize)> {
    let text = format!(
        "duration = \"4 s\"\nprofile = \"linux\"\n[bottleneck]\nrate = \"100 Mbit/s\"\ndelay = \"10 ms\"\n\
         queue = {{ kind = \"droptail\", capacity = \"2 bdp\" }}\n[[flow]]\nname = \"F\"\nrtt = \"40 ms\"\n\
         controller = \"reno\"\noverhead = \"0 s\"\noffload = \"auto\"\nmax_pacing_rate = \"50 Mbit/s\"\n\
         host = {{ qdisc = \"{qdisc}\" }}"
    );
    let scenario =
        read(&text, "test.toml", &senders(&text)).unwrap_or_else(|mistakes| panic!("{mistakes}")).base;
    let (_, evidence) = run_traced(&scenario, 0, &Control::default()).expect("it runs");
    let rows = evidence.rows.iter().filter(|row| row.what == PacketWhat::Sent);
    let times: Vec<f64> = rows.map(|row| row.t_s).collect();
    times.chunk_by(|a, b| a == b).map(|burst| (burst[0], burst.len())).collect()
}

/// At 50 Mbit/s a 1024th of a second has 6 packets, 960 us. The first two acknowledged packets are replaced at once, at 80 ms;
/// the next burst has to wait for its turn, and with `fq` 10 us more, for the timer, whichever burst comes after it.
#[test]
fn fq_lets_bursts_go_one_after_the_other_and_ten_microseconds_late() {
    let [by_fq, by_itself] = ["fq", "pfifo_fast"].map(bursts_of_linux);
    let late =
        |bursts: &[(f64, usize)]| bursts.iter().filter(|burst| burst.0 > 2.0).copied().collect::<Vec<_>>();
    for bursts in [late(&by_fq), late(&by_itself)] {
        assert!(bursts.len() > 2000 && bursts.iter().all(|burst| burst.1 == 6));
        assert!(bursts.windows(2).all(|pair| (pair[1].0 - pair[0].0 - 960e-6).abs() < 1e-9));
    }
    let of_second_round = |bursts: &[(f64, usize)]| {
        let mut times = bursts.iter().map(|burst| burst.0).filter(|time| *time > 0.08);
        [(); 2].map(|()| times.next().expect("it sends"))
    };
    let (late, in_time) = (of_second_round(&by_fq), of_second_round(&by_itself));
    assert_eq!(late[0], in_time[0]);
    within(1e-3, 10e-6, late[1] - in_time[1], "timer");
}

/// Three flows of a host of 30 Mbit/s, whose card is a link with `fq`: they take turns by bytes, whatever their windows and
/// rates are. One whose pacing is bounded to 4 Mbit/s is sent when it is due, and the others share what it leaves.
#[test]
fn flows_of_a_host_take_turns_and_one_that_is_paced_leaves_its_turns() {
    let shares = |bound: &str| {
        let flow = |name: &str, controller: &str, keys: &str| {
            format!(
                "[[flow]]\nname = \"{name}\"\nfrom = \"host\"\nto = \"far\"\nrtt = \"40 ms\"\ncontroller = \"{controller}\"\n\
                 host = {{ qdisc = \"fq\" }}\n{keys}\n"
            )
        };
        let link = |from: &str, to: &str, rate: &str, queue: &str| {
            format!(
                "[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"{rate}\"\ndelay = \"5 ms\"\nqueue = {queue}\n"
            )
        };
        let nodes: String =
            ["host", "card", "far"].iter().map(|name| format!("[[node]]\nname = \"{name}\"\n")).collect();
        let run = run_text(&format!(
            "duration = \"20 s\"\nwarmup = \"5 s\"\nprofile = \"linux\"\n{nodes}{}{}{}{}{}",
            link("host", "card", "30 Mbit/s", "{ kind = \"fq\", capacity = \"10000 packets\" }"),
            link("card", "far", "100 Mbit/s", "{ kind = \"droptail\", capacity = \"1 bdp\" }"),
            flow("a", "cubic", bound),
            flow("b", "reno", ""),
            flow("c", "bbr", ""),
        ));
        [0, 1, 2].map(|flow| run.goodput_bps(flow) / 1e6)
    };
    let equal = shares("");
    println!("{equal:?}");
    assert!(equal.iter().all(|share| (share / 9.6 - 1.0).abs() < 0.06), "{equal:?}");
    let [paced, b, c] = shares("max_pacing_rate = \"4 Mbit/s\"");
    println!("{paced} {b} {c}");
    assert!((3.6..4.0).contains(&paced), "{paced}");
    assert!((b / 12.5 - 1.0).abs() < 0.08 && (c / 12.5 - 1.0).abs() < 0.08, "{b} {c}");
}

/// At 8 kbit/s a packet of 1000 B takes a second. The initial window leaves at 40 ms, and the burst of two that follows is due two
/// seconds later. With a cap of half a second it departs that long after it is made, at 80 ms; without one it is dropped until it
/// is due within the horizon, and departs when it is due.
#[test]
fn with_a_cap_a_burst_departs_at_the_horizon_and_not_when_it_is_due() {
    let twelfth = |qdisc: &str| {
        let text = format!(
            "duration = \"4 s\"\nprofile = \"linux\"\n[bottleneck]\nrate = \"100 Mbit/s\"\ndelay = \"10 ms\"\n\
             queue = {{ kind = \"droptail\", capacity = \"2 bdp\" }}\n[[flow]]\nname = \"F\"\nrtt = \"40 ms\"\n\
             controller = \"reno\"\noverhead = \"0 s\"\noffload = \"auto\"\nmax_pacing_rate = \"8 kbit/s\"\n\
             host = {{ qdisc = \"{qdisc}\" }}"
        );
        let scenario =
            read(&text, "test.toml", &senders(&text)).unwrap_or_else(|mistakes| panic!("{mistakes}")).base;
        let (_, evidence) = run_traced(&scenario, 0, &Control::default()).expect("it runs");
        let mut rows = evidence.rows.iter().filter(|row| row.what == PacketWhat::Sent);
        rows.nth(11).expect("it sends").t_s
    };
    within(1e-4, 2.04, twelfth("fq"), "horizon of 10 s");
    within(1e-4, 2.04, twelfth("fq horizon 500ms"), "horizon of 0.5 s");
    within(1e-3, 0.58, twelfth("fq horizon 500ms horizon_cap"), "cap");
}
