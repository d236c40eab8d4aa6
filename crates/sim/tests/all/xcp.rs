//! XCP at work: its hosts and its routers together keep the promises of [XCP].

use crate::support::{Run, run_text, within};

/// A number of flows of each of the given round-trip times behind one XCP router.
fn share(rate: &str, duration_s: u64, flows: &[(u64, &str)], more: &str) -> Run {
    let flows: String = flows
        .iter()
        .enumerate()
        .map(|(n, (ms, start))| {
            format!(
                "[[flow]]\nname = \"F{n}\"\nrtt = \"{ms} ms\"\ncontroller = \"xcp\"\nstart = \"{start}\"\n"
            )
        })
        .collect();
    run_text(&format!(
        r#"
        duration = "{duration_s} s"
        warmup = "{} s"
        [bottleneck]
        rate = "{rate}"
        delay = "5 ms"
        queue = {{ kind = "xcp", capacity = "1 bdp" {more} }}
        {flows}
        "#,
        duration_s / 2
    ))
}

/// Mean backlog of the bottleneck over the measured half, packets.
fn backlog(run: &Run) -> f64 {
    let first = run.record.grid.bin(fairhaul_units::Time::ZERO + run.scenario.warmup);
    let rows = &run.record.links[0][first..];
    rows.iter().map(|row| row.backlog_packets).sum::<f64>() / rows.len() as f64
}

#[test]
fn one_bottleneck_is_full_its_queue_empty_and_nothing_dropped_whatever_the_round_trips() {
    let run = share("50 Mbit/s", 60, &[(20, "0 s"), (40, "1 s"), (80, "2 s"), (160, "3 s")], "");
    let rates: Vec<f64> = (0..4).map(|flow| run.goodput_bps(flow)).collect();
    println!("{rates:?} {} {}", run.utilization(0), backlog(&run));
    let dropped: u64 = run.record.links[0].iter().map(|row| row.dropped).sum();
    assert_eq!(dropped, 0);
    assert!(run.utilization(0) > 0.97);
    assert!(backlog(&run) < 8.0);
    // 940 of 1000 bytes are payload.
    for rate in rates {
        within(0.05, 50e6 / 4.0 * 0.94 * run.utilization(0), rate, "share");
    }
}

/// Payload per round trip of `rtt` seconds that `flow` delivered, from `from` seconds on, as a share of `rate`.
fn rounds(run: &Run, flow: usize, rtt: f64, from: f64, rate: f64) -> Vec<f64> {
    let grid = run.record.grid;
    let mut sums = vec![0.0; 40];
    for (bin, row) in run.record.flows[flow].iter().enumerate() {
        let at = (grid.start(bin).as_secs() - from) / rtt;
        if (0.0..40.0).contains(&at) {
            sums[at as usize] += row.goodput_bytes as f64 * 8.0 / (0.94 * rate * rtt);
        }
    }
    sums
}

#[test]
fn a_free_link_fills_in_five_round_trips() {
    // An interval assigns 0.4 of the spare capacity: 0.6^4.5 = 0.1 [XCP]. The handshake takes the first.
    let run = share("100 Mbit/s", 5, &[(100, "0 s")], "");
    let filled = rounds(&run, 0, 0.1, 0.15, 1e8);
    println!("{filled:.3?}");
    assert!(
        filled[2] < 0.6 && filled[4] > 0.9 && filled[4..].iter().all(|share| (0.9..1.11).contains(share))
    );
}

#[test]
fn unfairness_shrinks_by_a_tenth_in_a_round_trip() {
    // At full load 0.1 of the traffic is shuffled [XCP]: 0.9^n of the difference is left after n.
    let run = share("100 Mbit/s", 10, &[(100, "0 s"), (100, "5 s")], "");
    let rates = [0, 1].map(|flow| rounds(&run, flow, 0.1, 5.15, 1e8));
    let apart: Vec<f64> = rates[0].iter().zip(&rates[1]).map(|(first, second)| first - second).collect();
    println!("{apart:.3?}");
    // A rounded window makes single rounds differ by a packet in ten: the sum over 40 rounds is 10 (1 - 0.9^40),
    // and half of the difference has disappeared after ln 2 / 0.105 = 6.6.
    within(0.1, 9.85, apart.iter().sum(), "sum of differences");
    let half = apart.iter().position(|apart| *apart < 0.5).expect("it shrinks");
    assert!((5..=8).contains(&half), "{half}");
}

/// A link of 100 Mbit/s before one of 20 Mbit/s. One flow crosses the first link, the others both.
fn limited_elsewhere(both: u32) -> Run {
    let link = |from: u32, rate: u32| {
        format!(
            "[[link]]\nfrom = \"n{from}\"\nto = \"n{}\"\nrate = \"{rate} Mbit/s\"\ndelay = \"1 ms\"\n\
             queue = {{ kind = \"xcp\", capacity = \"1000 packets\" }}\n",
            from + 1
        )
    };
    let flow = |name: &str, count: u32, to: u32| {
        format!(
            "[[flow]]\nname = \"{name}\"\ncount = {count}\nfrom = \"n0\"\nto = \"n{to}\"\nrtt = \"60 ms\"\n\
             controller = \"xcp\"\nstart = \"uniform 0 s..1 s\"\n"
        )
    };
    let nodes: String = (0..3).map(|n| format!("[[node]]\nname = \"n{n}\"\n")).collect();
    let parts = [nodes, link(0, 100), link(1, 20), flow("near", 1, 1), flow("far", both, 2)].concat();
    run_text(&format!("duration = \"60 s\"\nwarmup = \"30 s\"\n{parts}"))
}

#[test]
fn a_link_whose_flows_are_limited_elsewhere_stays_under_used() {
    // N flows share what is handed out equally, but only the near one of rate x can take it; y = 20 + x
    // Mbit/s. It gains (h + F) / N and gives up h x / y, where F = 0.4 (100 - y) and h = 0.1 y - F:
    // 0.1 y / N = (0.1 y - 40 + 0.4 y) x / y. N = 21: y = 81.0; N = 6: y = 84.3; never below 80
    // [XCP-USE]: alpha / (alpha + gamma).
    for (both, expected) in [(20, 0.810), (5, 0.843)] {
        let run = limited_elsewhere(both);
        println!("{} {}", run.utilization(0), run.utilization(2));
        within(0.03, expected, run.utilization(0), "use of the first link");
        assert!(run.utilization(2) > 0.95);
    }
}

#[test]
fn it_is_stable_within_the_bounds_of_the_source_and_not_far_beyond() {
    // Stable for alpha below pi / (4 sqrt 2) = 0.555 with beta = alpha^2 sqrt 2 [XCP].
    let at = |alpha: f64| {
        let gains = format!(", alpha = {alpha}, beta = {:.4}", alpha * alpha * libm::sqrt(2.0));
        let run = share("100 Mbit/s", 30, &[(100, "0 s"), (100, "1 s")], &gains);
        let dropped: u64 = run.record.links[0].iter().map(|row| row.dropped).sum();
        println!(
            "alpha {alpha}: use {:.3}, backlog {:.1}, drops {dropped}",
            run.utilization(0),
            backlog(&run)
        );
        (run.utilization(0), dropped)
    };
    for alpha in [0.1, 0.4, 0.55] {
        let (used, dropped) = at(alpha);
        assert!(used > 0.98 && dropped == 0);
    }
    let (used, dropped) = at(1.2);
    assert!(used < 0.95 && dropped > 100);
}

#[test]
fn a_loss_halves_the_window_once_and_routers_give_it_back() {
    // 50 Mbit/s over 100 ms are 625 packets. Half of the link is free then, and 0.6 of that is left after
    // each round: 0.5 / 0.4 = 1.25 rounds of sending are gone, 0.125 s of 15.
    let run = run_text(
        r#"
        duration = "20 s"
        warmup = "5 s"
        [bottleneck]
        rate = "50 Mbit/s"
        delay = "5 ms"
        queue = { kind = "xcp", capacity = "1 bdp" }
        loss = { at = ["10 s"] }
        [[flow]]
        name = "F"
        rtt = "100 ms"
        controller = "xcp"
        "#,
    );
    let reductions = run.events("reduction");
    assert_eq!((reductions.len(), run.events("timeout").len()), (1, 0));
    within(0.03, 312.5, reductions[0].value, "half of the window");
    assert!((0.98..0.9925).contains(&run.utilization(0)), "{}", run.utilization(0));
}

/// Drops at `link` in the whole run, and the most that ever waited there as a mean of a bin, packets.
fn strain(run: &Run, link: usize) -> (u64, f64) {
    let rows = &run.record.links[link];
    let most = rows.iter().map(|row| row.backlog_packets).fold(0.0, f64::max);
    (rows.iter().map(|row| row.dropped).sum(), most)
}

/// A chain of links `(Mbit/s, ms, their other keys)`, and below it whatever else is there.
fn chain(links: &[(u32, u32, &str)], duration_s: u64, warmup_s: u64, more: &str) -> Run {
    let mut text = format!("duration = \"{duration_s} s\"\nwarmup = \"{warmup_s} s\"\n");
    for n in 0..=links.len() {
        text += &format!("[[node]]\nname = \"n{n}\"\n");
    }
    for (n, (rate, delay, keys)) in links.iter().enumerate() {
        let to = n + 1;
        text += &format!("[[link]]\nfrom = \"n{n}\"\nto = \"n{to}\"\n{keys}\n");
        text += &format!("rate = \"{rate} Mbit/s\"\ndelay = \"{delay} ms\"\n");
    }
    run_text(&(text + more))
}

/// Two flows over an XCP router of 10 Mbit/s that carries 50 from 5 s on, 10 again from 12 s on. Their
/// acknowledgements meet `back` Mbit/s of datagrams before a link of 60 Mbit/s.
fn with_full_reverse_path(variant: &str, back: u32) -> Run {
    let changes = "[{ at = \"5 s\", rate = \"50 Mbit/s\" }, { at = \"12 s\", rate = \"10 Mbit/s\" }]";
    let first = format!("queue = {{ kind = \"xcp\", capacity = \"600 packets\" }}\nschedule = {changes}");
    let links =
        [(10, 5, first.as_str()), (60, 5, "queue = { kind = \"droptail\", capacity = \"20 packets\" }")];
    let more = format!(
        r#"
        [[flow]]
        name = "F"
        count = 2
        from = "n0"
        to = "n2"
        rtt = "100 ms"
        controller = {{ kind = "xcp", variant = "{variant}" }}
        [[flow]]
        name = "back"
        from = "n2"
        to = "n1"
        start = "2 s"
        traffic = {{ kind = "cbr", rate = "{back} Mbit/s" }}
        "#
    );
    chain(&links, 18, 5, &more)
}

/// Payload that `flows` delivered from `from` to `to` seconds, bit/s.
fn delivered(run: &Run, flows: usize, from: f64, to: f64) -> f64 {
    let grid = run.record.grid;
    let within = |bin: &usize| (from..to).contains(&grid.start(*bin).as_secs());
    let bytes: u64 = (0..grid.len())
        .filter(within)
        .map(|bin| run.record.flows[..flows].iter().map(|rows| rows[bin].goodput_bytes).sum::<u64>())
        .sum();
    bytes as f64 * 8.0 / (to - from)
}

#[test]
fn lost_acknowledgements_take_answers_with_them_unless_these_are_summed() {
    let figures = [("spec", 1), ("spec", 120), ("xcp-r", 120)].map(|(variant, back)| {
        let run = with_full_reverse_path(variant, back);
        let rows = &run.record.links[3];
        let lost = rows.iter().map(|row| row.dropped).sum::<u64>() as f64
            / rows.iter().map(|row| row.arrived).sum::<u64>() as f64;
        let filled = [5.0, 6.0, 7.0].map(|from| delivered(&run, 2, from, from + 1.0) / 47e6);
        println!(
            "{variant} {back}: back lost {lost:.3}, filled {filled:.3?}, use {:.4}, strain {:?}, timeouts {}",
            run.utilization(0),
            strain(&run, 0),
            run.events("timeout").len()
        );
        (filled, strain(&run, 0))
    });
    let [(whole, _), (plain, _), (summed, _)] = figures.map(|figures| (figures.0[0], figures.1));
    // With half of the feedback lost the link fills by 0.2 instead of 0.4 of the spare capacity per round.
    assert!(whole > 0.72 && plain < 0.9 * whole);
    within(0.06, whole, summed, "filled in a second, with and without half of the acknowledgements");
    // The queue at the fall of the rate is the same with all three: what is in flight then.
    assert!(figures.iter().all(|(_, (dropped, most))| *dropped == 0 && (450.0..560.0).contains(most)));
}

/// Two flows over an XCP router of 100 Mbit/s, a drop-tail queue of 20 Mbit/s, and an XCP router of
/// 100 Mbit/s again with `second`. From 10 s on there are 10 Mbit/s of datagrams in the middle, which
/// carries 40 Mbit/s from 20 s on.
fn cloud(second: &str, room: u32, rtt: &str) -> Run {
    let router = |more: &str| format!("queue = {{ kind = \"xcp\", capacity = \"1000 packets\"{more} }}");
    let middle = format!(
        "queue = {{ kind = \"droptail\", capacity = \"{room} packets\" }}\n\
         schedule = [{{ at = \"20 s\", rate = \"40 Mbit/s\" }}]"
    );
    let links = [(100, 2, &*router("")), (20, 2, &*middle), (100, 2, &*router(second))];
    let more = format!(
        r#"
        [[flow]]
        name = "F"
        count = 2
        from = "n0"
        to = "n3"
        rtt = "{rtt}"
        controller = "xcp"
        start = "uniform 0 s..1 s"
        [[flow]]
        name = "cross"
        from = "n1"
        to = "n2"
        start = "10 s"
        traffic = {{ kind = "cbr", rate = "10 Mbit/s" }}
        "#
    );
    chain(&links, 30, 3, &more)
}

#[test]
fn a_router_answers_for_a_cloud_that_knows_nothing_of_xcp() {
    let plain = cloud("", 150, "60 ms");
    println!("plain: {:?}", strain(&plain, 2));
    assert!(strain(&plain, 2).0 > 20_000);
    for rtt in ["60 ms", "30 ms..120 ms"] {
        let run = cloud(", virtual = true", 150, rtt);
        let dropped = |from: f64, to: f64| -> u64 {
            let rows = (0..).zip(&run.record.links[2]);
            let within = |bin: usize| (from..to).contains(&run.record.grid.start(bin).as_secs());
            rows.filter(|(bin, _)| within(*bin)).map(|(_, row)| row.dropped).sum()
        };
        // 940 of 1000 bytes are payload; from 10 s on half of 20 Mbit/s is taken, from 20 s on a quarter of 40.
        let phases = [(4.0, 10.0, 20.0), (12.0, 20.0, 10.0), (23.0, 30.0, 30.0)];
        let shares = phases.map(|(from, to, rate)| delivered(&run, 2, from, to) / (0.94e6 * rate));
        let drops = [(0.0, 9.9), (9.9, 19.9), (19.9, 30.0)].map(|(from, to)| dropped(from, to));
        println!("{rtt}: {:?}, shares {shares:.3?}, drops {drops:?}", strain(&run, 2));
        assert!(strain(&run, 2).0 < 100);
        assert!(shares.iter().all(|share| (0.97..1.02).contains(share)));
        within(0.06, run.goodput_bps(0), run.goodput_bps(1), "equal shares");
    }
}
