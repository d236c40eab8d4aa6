//! Impairments of links, measured at the ends of a path: each is compared with its law.

use crate::support::{Run, run_text, within};

/// One flow of reno over 80 Mbit/s and a round trip of 20 ms, at most `window` packets of 1000 B (0.1 ms) in
/// flight, so that it never fills the queue; `link` are further keys of the link.
fn alone(link: &str, window: u32, recovery: &str) -> Run {
    run_text(&format!(
        r#"
        duration = "40 s"
        [bottleneck]
        rate = "80 Mbit/s"
        delay = "10 ms"
        queue = {{ kind = "droptail", capacity = "unlimited" }}
        {link}
        [[flow]]
        name = "F"
        controller = "reno"
        recovery = "{recovery}"
        initial_window = 1
        max_window = {window}
        overhead = "0 s"
        "#
    ))
}

fn total(run: &Run, of: impl Fn(&fairhaul_experiment::FlowRow) -> u64) -> f64 {
    run.record.flows[0].iter().map(of).sum::<u64>() as f64
}

/// Mean over all samples, seconds.
fn rtt_mean_s(run: &Run) -> f64 {
    let rows = run.record.flows[0].iter().filter(|row| row.rtt_samples > 0);
    let sum: f64 = rows.map(|row| row.rtt_s * row.rtt_samples as f64).sum();
    sum / total(run, |row| row.rtt_samples)
}

#[test]
fn burst_losses_occur_at_the_rate_of_their_markov_chain() {
    // 0.002 / (0.002 + 0.198) = 0.01.
    let run = alone("loss = { good_to_bad = 0.002, bad_to_good = 0.198 }", 20, "sack");
    let (lost, sent) = (total(&run, |row| row.lost), total(&run, |row| row.sent));
    // Neighbours correlate by r = 0.8: the variance of the share is 0.01 x 0.99 x (1 + r) / (1 - r) / n.
    let sigma = (0.01 * 0.99 * 9.0 / sent).sqrt();
    assert!(sent > 10_000.0 && (lost / sent - 0.01).abs() < 3.0 * sigma, "{lost} of {sent}");
}

#[test]
fn a_burst_of_20_ms_ends_in_20_ms_where_a_chain_of_packets_waits_for_the_next_timeouts() {
    // The link is bad for 20 ms every 2 s on average: 1 % of the time, and flows go on after each burst.
    let run = alone("loss = { good = \"2 s\", bad = \"20 ms\" }", 20, "sack");
    let longest =
        |run: &Run| run.events("timeout").iter().fold(0.0, |most: f64, event| most.max(event.value));
    assert!(total(&run, |row| row.lost) > 100.0 && longest(&run) < 1.0, "{} s", longest(&run));
    // A chain of bursts of 100 packets on average takes windows of 20, and then a step with each timeout.
    let chain = alone("loss = { good_to_bad = 0.0001, bad_to_good = 0.01 }", 20, "sack");
    assert!(longest(&chain) > 3.0, "{} s", longest(&chain));
}

#[test]
fn jitter_of_up_to_4_ms_makes_the_round_trip_2_ms_longer() {
    // A packet at a time: 0.1 ms + 10 ms, back 4 us + 10 ms, and the access of 10 times the rate on both sides
    // (2 x 10 us + 2 x 0.4 us).
    let still = rtt_mean_s(&alone("", 1, "sack"));
    assert!((still - 20.1248e-3).abs() < 1e-9, "{still}");
    let run = alone("jitter = \"uniform 0 s..4 ms\"", 1, "sack");
    // sigma of a uniform on 4 ms is 4 / sqrt(12) = 1.155 ms.
    let band = 3.0 * 1.155e-3 / total(&run, |row| row.rtt_samples).sqrt();
    let longer = rtt_mean_s(&run) - still;
    assert!((longer - 2e-3).abs() < band, "{longer}");
}

#[test]
fn a_link_that_releases_bursts_delivers_all_packets_at_the_times_of_its_releases() {
    // A packet at a time: the round trip is 20.1248 ms and the wait for a release of every 30 ms. The next packet leaves
    // when the acknowledgement is back, about 10 ms after a release, and arrives with the next one.
    let run = alone("aggregate = { every = \"30 ms\" }", 1, "sack");
    within(1e-3, 30e-3, rtt_mean_s(&run), "round trip of single packets");
    // 50 packets in a window leave within 5 ms, and arrive with one release.
    let run = alone("aggregate = { every = \"30 ms\" }", 50, "sack");
    within(0.02, 50.0 * 960.0 * 8.0 / 30e-3, run.goodput_bps(0), "goodput of 50 packets in each burst");
    assert_eq!(total(&run, |row| row.retransmitted), 0.0);
}

#[test]
fn jitter_that_keeps_the_order_retransmits_nothing_and_jitter_that_does_not_does() {
    for recovery in ["sack", "newreno", "reno"] {
        let ordered = alone("jitter = \"uniform 0 s..4 ms\"", 50, recovery);
        assert_eq!(total(&ordered, |row| row.retransmitted), 0.0);
        assert!(ordered.events("reduction").is_empty());
        let mixed = alone("jitter = { delay = \"uniform 0 s..4 ms\", keep_order = false }", 50, recovery);
        assert!(mixed.events("reduction").len() > 10 && total(&mixed, |row| row.lost) == 0.0);
    }
}

#[test]
fn a_packet_overtaken_by_two_counts_as_reordered_and_by_twenty_as_lost() {
    // Packets leave 0.1 ms apart. Held for 0.25 ms, a packet makes two duplicate acknowledgements: one too few.
    for recovery in ["sack", "newreno", "reno"] {
        let little = alone("reorder = { probability = 0.001, delay = \"0.25 ms\" }", 50, recovery);
        assert!(little.events("reduction").is_empty());
        assert_eq!(total(&little, |row| row.retransmitted), 0.0);
        let much = alone("reorder = { probability = 0.001, delay = \"2 ms\" }", 50, recovery);
        assert!(much.events("reduction").len() > 10);
    }
}

#[test]
fn lost_acknowledgements_lose_no_data_because_the_next_one_stands_for_them() {
    let run = alone("reverse_loss = 0.3", 50, "sack");
    let acks: u64 = run.record.links[1].iter().map(|row| row.arrived).sum();
    let lost: u64 = run.record.links[1].iter().map(|row| row.dropped).sum();
    let sigma = (0.3 * 0.7 * acks as f64).sqrt();
    assert!((lost as f64 - 0.3 * acks as f64).abs() < 3.0 * sigma, "{lost} of {acks}");
    // A window of 50 packets has 50 acknowledgements; at the start few are on their way.
    assert!(acks > 60_000 && total(&run, |row| row.lost) == 0.0);
    assert!(run.events("reduction").is_empty() && run.events("timeout").len() <= 2);
}

#[test]
fn data_arrive_while_all_acknowledgements_are_lost_so_what_a_timeout_retransmits_arrives_twice() {
    let all = "schedule = [{ at = \"10 s\", reverse_loss = 1 }, { at = \"12 s\", reverse_loss = 0 }]";
    let run = alone(all, 50, "sack");
    // From a minimum of 0.2 s timeouts double: at 0.2, 0.6 and 1.4 s, and the last when acknowledgements are back.
    assert_eq!((run.events("timeout").len(), total(&run, |row| row.lost)), (4, 0.0));
    let twice = total(&run, |row| row.delivered_bytes) - total(&run, |row| row.goodput_bytes);
    assert_eq!(twice / 960.0, total(&run, |row| row.retransmitted));
}

#[test]
fn jitter_on_the_way_back_makes_the_round_trip_longer_and_late_acknowledgements_retransmit_nothing() {
    let still = rtt_mean_s(&alone("", 1, "sack"));
    let run = alone("reverse_jitter = \"uniform 0 s..4 ms\"", 1, "sack");
    let band = 3.0 * 1.155e-3 / total(&run, |row| row.rtt_samples).sqrt(); // as above
    assert!((rtt_mean_s(&run) - still - 2e-3).abs() < band);
    let late = alone("reverse_reorder = { probability = 0.1, delay = \"2 ms\" }", 50, "sack");
    assert_eq!(total(&late, |row| row.retransmitted), 0.0);
    // An old acknowledgement says nothing new, so the window goes on as it was.
    within(0.02, alone("", 50, "sack").goodput_bps(0), late.goodput_bps(0), "goodput");
}

#[test]
fn a_policer_on_the_way_back_passes_at_most_its_rate_of_acknowledgements() {
    // 40 B are 320 bit: 100 acknowledgements a second and the 37 that the bucket of 1500 B holds.
    let run = alone("reverse_policer = { rate = \"32 kbit/s\", burst = \"1500 B\" }", 50, "sack");
    let rows = &run.record.links[1];
    let passed: u64 = rows.iter().map(|row| row.arrived - row.dropped).sum();
    assert!(passed <= 40 * 100 + 37 && passed > 3900, "{passed}");
    assert_eq!(total(&run, |row| row.lost), 0.0);
}

#[test]
fn a_shaper_lets_wait_what_a_policer_drops() {
    let run = alone("shaper = { rate = \"8 Mbit/s\", burst = \"50 kB\" }", 1000, "sack");
    let delivered = total(&run, |row| row.delivered_bytes) / 960.0;
    // 40 s x 1000 packets/s + 50, and the window of 1000 packets keeps the queue filled.
    assert!((39_900.0..=40_050.0).contains(&delivered), "{delivered}");
    assert_eq!((total(&run, |row| row.lost), run.events("reduction").len()), (0.0, 0));
    // A tenth of the link is used, because packets occupy it for their 0.1 ms only.
    let busy: f64 = run.record.links[0].iter().map(|row| row.busy_s).sum();
    within(0.01, 4.0, busy, "seconds in which the link sends");
    // 1000 packets at 1000 a second.
    let last = run.record.flows[0].last().expect("there are bins");
    within(0.02, 1.0, last.rtt_s, "round trip of a full window");
}

#[test]
fn of_what_a_link_doubles_the_receiver_gets_one_copy_more_and_the_goodput_stays() {
    let run = alone("duplicate = 0.1", 50, "sack");
    let (sent, payload) = (total(&run, |row| row.sent), 960.0);
    let delivered = total(&run, |row| row.delivered_bytes) / payload;
    // All packets arrive except those in flight at the end, at most 50 packets and their copies.
    let sigma = (0.1 * 0.9 * sent).sqrt();
    assert!((delivered - 1.1 * sent).abs() < 3.0 * sigma + 55.0, "{delivered} of {sent}");
    assert!((total(&run, |row| row.goodput_bytes) / payload - sent).abs() <= 50.0);
    assert!(run.events("reduction").is_empty());
}

#[test]
fn a_policer_passes_at_most_its_rate_and_its_burst() {
    let run = alone("policer = { rate = \"8 Mbit/s\", burst = \"50 kB\" }", 1000, "sack");
    let delivered = total(&run, |row| row.delivered_bytes) / 960.0;
    // 40 s x 1000 packets/s + 50.
    assert!(delivered <= 40_050.0, "{delivered}");
    assert!(delivered > 0.7 * 40_050.0, "{delivered}"); // a burst of 2.5 times the product of rate and delay
    let link: u64 = run.record.links[0].iter().map(|row| row.dropped).sum();
    assert_eq!(link as f64, total(&run, |row| row.lost));
}

/// Three links of 10 Mbit/s in a row, one flow over all of them and one over each, all with a
/// round trip of 60 ms.
fn parking_lot(short: u32) -> Run {
    let links = (0..3).map(|i| {
        format!(
            "[[link]]\nfrom = \"n{i}\"\nto = \"n{}\"\nrate = \"10 Mbit/s\"\ndelay = \"1 ms\"\n\
             queue = {{ kind = \"droptail\", capacity = \"10 packets\" }}\n",
            i + 1
        )
    });
    let nodes = (0..4).map(|i| format!("[[node]]\nname = \"n{i}\"\n"));
    let flow = |name: String, count: u32, from: u32, to: u32| {
        format!(
            "[[flow]]\nname = \"{name}\"\ncount = {count}\nfrom = \"n{from}\"\nto = \"n{to}\"\nrtt = \"60 ms\"\n\
             controller = \"reno\"\nstart = \"uniform 0 s..2 s\"\n"
        )
    };
    let flows = (0..3).map(|i| flow(format!("short{i}"), short, i, i + 1));
    let parts: String =
        nodes.chain(links).chain([flow("long".into(), 1, 0, 3)]).chain(flows).collect::<Vec<_>>().concat();
    run_text(&format!("duration = \"400 s\"\nwarmup = \"40 s\"\n{parts}"))
}

#[test]
fn in_a_parking_lot_the_long_flow_gets_between_a_third_and_1_by_root_3_of_a_short_one() {
    // It meets three times as many losses. Were each packet lost by chance of its own, rates would go
    // as 1 / sqrt(p) [MATHIS]: 1 / sqrt(3) = 0.577. Did each loss strike both flows of a link, windows
    // would go as the time between losses: 1 / 3.
    let run = parking_lot(1);
    let long = run.goodput_bps(0);
    let short = (1..4).map(|flow| run.goodput_bps(flow)).sum::<f64>() / 3.0;
    println!("long / short = {:.3}", long / short);
    assert!((0.333..0.577).contains(&(long / short)), "{}", long / short);
    for link in 0..3 {
        let both = (long + run.goodput_bps(1 + link)) / 0.96;
        within(0.01, run.utilization(2 * link) * 1e7, both, "what the two flows of a link carry");
    }
}

/// A flow over 80 Mbit/s that sends as `traffic` says; `link` are further keys of the link.
fn sending(traffic: &str, link: &str, controller: &str) -> Run {
    run_text(&format!(
        r#"
        duration = "100 s"
        [bottleneck]
        rate = "80 Mbit/s"
        delay = "10 ms"
        queue = {{ kind = "droptail", capacity = "100 packets" }}
        {link}
        [[flow]]
        name = "F"
        traffic = {traffic}
        overhead = "0 s"
        {controller}
        "#
    ))
}

const CONSTANT: &str = r#"{ kind = "cbr", rate = "16 Mbit/s" }"#;

#[test]
fn datagrams_leave_at_their_rate_whatever_is_lost() {
    // 16 Mbit/s: 2000 packets of 1000 B a second, the first at the start.
    let run = sending(CONSTANT, "loss = 0.05", "");
    let (sent, lost) = (total(&run, |row| row.sent), total(&run, |row| row.lost));
    assert_eq!(sent, 200_000.0);
    assert!((lost - 10_000.0).abs() < 293.0, "{lost}"); // 3 sigma = 3 x sqrt(200 000 x 0.05 x 0.95)
    // What left in the last 10.12 ms (10 ms, 0.1 ms and 2 x 10 us) is on its way: 21 packets, less what was lost.
    let arrived = total(&run, |row| row.goodput_bytes) / 960.0;
    assert!((0.0..=21.0).contains(&(sent - lost - arrived)), "{arrived}");
    assert_eq!(run.record.transfers[0].bytes as f64, arrived * 960.0);
    assert_eq!((total(&run, |row| row.retransmitted), total(&run, |row| row.rtt_samples)), (0.0, 0.0));
    assert!(run.record.events.is_empty() && run.record.links[1].iter().all(|row| row.arrived == 0));
}

#[test]
fn a_policer_of_half_their_rate_takes_half_of_the_datagrams() {
    // 1000 packets/s x 100 s pass, and the 10 of the full bucket.
    let run = sending(CONSTANT, "policer = { rate = \"8 Mbit/s\", burst = \"10 kB\" }", "");
    let passed = 200_000.0 - total(&run, |row| row.lost);
    assert!((passed - 100_010.0).abs() <= 1.0, "{passed}");
}

#[test]
fn copies_and_late_datagrams_are_no_loss_and_no_goodput() {
    let link = "duplicate = 0.2\njitter = { delay = \"uniform 0 s..20 ms\", keep_order = false }";
    let run = sending(CONSTANT, link, "");
    let packets = total(&run, |row| row.goodput_bytes) / 960.0;
    assert!((199_920.0..=200_000.0).contains(&packets), "{packets}"); // at most 30.12 ms are on their way
    let copies = total(&run, |row| row.delivered_bytes) / 960.0 - packets;
    assert!((copies - 40_000.0).abs() < 537.0 + 20.0, "{copies}"); // 3 sigma = 537
}

#[test]
fn an_application_on_for_a_third_of_the_time_gets_a_third_of_its_rate_through() {
    let run = sending(
        r#"{ kind = "onoff", rate = "16 Mbit/s", on = "50 ms", off = "100 ms" }"#,
        "",
        "controller = \"reno\"",
    );
    // 100 s hold 667 cycles. The time on in t has variance 2 x (50 x 100)^2 / 150^3 x t ms^2 (renewal theory):
    // sigma = 1.217 s, of 33.3 s.
    let sent = total(&run, |row| row.sent);
    assert!((sent - 66_667.0).abs() < 3.0 * 2434.0, "{sent}");
    assert_eq!(total(&run, |row| row.lost), 0.0);
    assert!((total(&run, |row| row.goodput_bytes) / 960.0 - sent).abs() < 100.0);
}

#[test]
fn an_application_limits_endless_data_to_its_rate_for_a_time() {
    let bins = |text: &str, from: f64, until: f64| {
        let run = sending(text, "", "controller = \"reno\"\nmax_window = 20");
        let at = |bin: usize| run.record.grid.start(bin).as_secs();
        let rows = run.record.flows[0].iter().enumerate();
        rows.filter(|(bin, _)| (from..until).contains(&at(*bin))).map(|(_, row)| row.sent as f64).sum::<f64>()
    };
    // Without a limit the window of 20 packets goes once per round trip.
    let free = bins("\"bulk\"", 20.0, 30.0);
    let limited = r#"{ kind = "limited", rate = "1 Mbit/s", from = "10 s", until = "20 s" }"#;
    // 1 Mbit/s are 125 packets of 1000 bytes a second.
    within(0.01, 1250.0, bins(limited, 10.0, 20.0), "packets in the limited time");
    within(0.01, free, bins(limited, 20.0, 30.0), "packets after it");
    let pause = limited.replace("1 Mbit/s", "0 bit/s");
    assert_eq!(bins(&pause, 10.0, 20.0), 0.0);
    within(0.01, free, bins(&pause, 20.0, 30.0), "packets after a pause");
}

#[test]
fn on_the_rough_path_of_the_examples_datagrams_do_not_slow_down() {
    let run = run_text(include_str!("../../../../scenarios/examples/rough.toml"));
    // 5 Mbit/s x 960 / 1000 of payload, less a loss of 1 in 3000 packets and what the queue drops.
    within(0.02, 4.8e6, run.goodput_bps(2), "goodput of the datagrams");
    // 10 Mbit/s for a third of the time: 3.2 Mbit/s of payload, three sigma of 50 s are half of it.
    within(0.5, 3.2e6, run.goodput_bps(1), "goodput of the application");
    assert!(run.goodput_bps(0) > run.goodput_bps(1));
}
