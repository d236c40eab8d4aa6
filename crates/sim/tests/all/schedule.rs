//! Links that change while a run lasts: what the record shows of rates, outages, delays and losses.

use crate::support::{Run, run_text, senders};
use fairhaul_experiment::{FlowRow, read};

/// Datagrams of 1000 B at `rate` over 8 Mbit/s (1 ms a packet) and 10 ms, in a queue without limit; the
/// access takes 1 Gbit/s. `link` are further keys of the link.
fn datagrams(rate: &str, seconds: u32, link: &str) -> Run {
    run_text(&format!(
        r#"
        duration = "{seconds} s"
        [bottleneck]
        rate = "8 Mbit/s"
        delay = "10 ms"
        access_rate = "1 Gbit/s"
        queue = {{ kind = "droptail", capacity = "unlimited" }}
        {link}
        [[flow]]
        name = "F"
        traffic = {{ kind = "cbr", rate = "{rate}" }}
        overhead = "0 s"
        "#
    ))
}

/// A Reno flow that keeps `window` packets in flight, over 8 Mbit/s and 10 ms.
fn window(window: u32, seconds: u32, link: &str) -> Run {
    run_text(&format!(
        r#"
        duration = "{seconds} s"
        [bottleneck]
        rate = "8 Mbit/s"
        delay = "10 ms"
        access_rate = "1 Gbit/s"
        queue = {{ kind = "droptail", capacity = "unlimited" }}
        {link}
        [[flow]]
        name = "F"
        controller = "reno"
        initial_window = {window}
        max_window = {window}
        overhead = "0 s"
        "#
    ))
}

fn total(run: &Run, from_s: f64, to_s: f64, of: impl Fn(&FlowRow) -> f64) -> f64 {
    let grid = run.record.grid;
    let inside = |bin: &usize| (from_s..to_s).contains(&grid.start(*bin).as_secs());
    (0..grid.len()).filter(inside).map(|bin| of(&run.record.flows[0][bin])).sum()
}

/// Mean of the round trips sampled between these seconds.
fn rtt_s(run: &Run, from_s: f64, to_s: f64) -> f64 {
    let samples = |row: &FlowRow| row.rtt_samples as f64;
    let sum =
        total(run, from_s, to_s, |row| if row.rtt_samples > 0 { row.rtt_s * samples(row) } else { 0.0 });
    sum / total(run, from_s, to_s, samples)
}

/// Bytes that the link has sent between these seconds.
fn sent(run: &Run, from_s: f64, to_s: f64) -> f64 {
    let grid = run.record.grid;
    let inside = |bin: &usize| (from_s..to_s).contains(&grid.start(*bin).as_secs());
    (0..grid.len()).filter(inside).map(|bin| run.record.links[0][bin].sent_bytes).sum()
}

#[test]
fn half_the_rate_doubles_the_delay_of_a_full_window() {
    // 100 packets in flight: at 1 ms a packet a round trip of 100 ms, at 2 ms one of 200 ms.
    let run = window(100, 20, "schedule = [{ at = \"10 s\", rate = \"4 Mbit/s\" }]");
    assert!((rtt_s(&run, 5.0, 9.9) - 0.1).abs() < 1e-6, "{}", rtt_s(&run, 5.0, 9.9));
    assert!((rtt_s(&run, 12.0, 19.9) - 0.2).abs() < 1e-6, "{}", rtt_s(&run, 12.0, 19.9));
    assert!((sent(&run, 5.0, 9.98) - 4.98e6).abs() <= 1000.0);
    assert!((sent(&run, 12.0, 19.98) - 3.99e6).abs() <= 1000.0);
}

#[test]
fn what_waits_through_an_outage_of_2_s_all_arrives_behind_it() {
    // 500 packets/s, 2 s of them wait: 1000 packets, which drain at 1000 - 500 packets/s in 2 s.
    let outage = "schedule = [{ at = \"5 s\", rate = \"0 bit/s\" }, { at = \"7 s\", rate = \"8 Mbit/s\" }]";
    let run = datagrams("4 Mbit/s", 10, outage);
    let arrived = |from, to| total(&run, from, to, |row| row.delivered_bytes as f64) / 960.0;
    assert_eq!(sent(&run, 5.0, 7.0), 0.0);
    assert_eq!(arrived(5.1, 7.0), 0.0);
    assert!((sent(&run, 7.0, 9.0) - 2e6).abs() <= 1000.0);
    assert!((sent(&run, 9.1, 9.9) - 0.4e6).abs() <= 1000.0);
    assert_eq!(total(&run, 0.0, 10.0, |row| row.lost as f64), 0.0);
    // From 5 s to 9 s something waits all the time; before and after half of the time.
    let busy: f64 = run.record.links[0].iter().map(|row| row.busy_s).sum();
    assert!((busy - (4.0 + 6.0 / 2.0)).abs() < 0.003, "{busy}");
}

#[test]
fn behind_an_outage_to_the_end_the_run_ends_and_what_waits_is_nowhere_lost() {
    for traffic in [datagrams("4 Mbit/s", 4, OFF), window(50, 4, OFF)] {
        let arrived = total(&traffic, 2.1, 4.0, |row| row.delivered_bytes as f64);
        let lost = total(&traffic, 0.0, 4.0, |row| row.lost as f64);
        assert_eq!((arrived, lost), (0.0, 0.0));
        assert!(traffic.record.links[0].last().expect("a bin").backlog_packets >= 50.0 - 20.0);
    }
}

const OFF: &str = "schedule = [{ at = \"2 s\", rate = \"0 bit/s\" }]";

#[test]
fn a_longer_delay_is_in_the_round_trip_twice_and_a_shorter_one_lets_packets_overtake() {
    // One packet at a time; 10 ms become 25 ms both ways, then 5 ms.
    let steps = "schedule = [{ at = \"4 s\", delay = \"25 ms\" }, { at = \"8 s\", delay = \"5 ms\" }]";
    let run = window(1, 12, steps);
    let first = rtt_s(&run, 1.0, 3.9);
    assert!((rtt_s(&run, 4.2, 7.9) - first - 0.03).abs() < 1e-9);
    assert!((first - rtt_s(&run, 8.2, 11.9) - 0.01).abs() < 1e-9);
    // 20 packets in flight, 1 ms apart: packets on the shorter path overtake up to 20 on the longer one.
    let many = window(40, 12, steps);
    assert!(total(&many, 8.0, 8.2, |row| row.retransmitted as f64) > 0.0);
    assert_eq!(total(&many, 0.0, 8.0, |row| row.retransmitted as f64), 0.0);
}

#[test]
fn loss_begins_and_ends_as_scheduled() {
    let run = datagrams(
        "4 Mbit/s",
        12,
        "schedule = [{ at = \"4 s\", loss = { every = 10 } }, { at = \"8 s\", loss = 0 }]",
    );
    // 500 packets/s: 2000 of them in 4 s, one in ten.
    let lost = |from, to| total(&run, from, to, |row| row.lost as f64);
    assert_eq!((lost(0.0, 4.0), lost(4.0, 8.0), lost(8.0, 12.0)), (0.0, 200.0, 0.0));
}

/// A run over the trace `text`, which is put beside its scenario, with more to send than it carries.
fn traced(name: &str, text: &str, keys: &str) -> Run {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("schedule-{name}"));
    std::fs::create_dir_all(&folder).expect("there is room");
    std::fs::write(folder.join("trace"), text).expect("there is room");
    let scenario = format!(
        "duration = \"10 s\"\n[bottleneck]\nrate = {{ trace = \"trace\"{keys} }}\ndelay = \"1 ms\"\n\
         access_rate = \"1 Gbit/s\"\nqueue = {{ kind = \"droptail\", capacity = \"unlimited\" }}\n\
         [[flow]]\nname = \"F\"\ntraffic = {{ kind = \"cbr\", rate = \"100 Mbit/s\" }}\noverhead = \"0 s\"\n"
    );
    let file = folder.join("traced.toml").display().to_string();
    let study = read(&scenario, &file, &senders(&scenario)).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let record = fairhaul_sim::run(&study.base, &fairhaul_sim::Control::default()).expect("the run ends");
    Run { scenario: study.base, record }
}

#[test]
fn a_backlogged_link_sends_the_integral_of_its_trace() {
    // 1 s at 8, 2 s at 20, as long at 0 Mbit/s: 6 MB in 5 s; 10 s are two laps.
    let run = traced("csv", "s,bps\n0,8e6\n1,20e6\n3,0\n", "");
    assert_eq!(run.scenario.links[0].rate.as_bps(), 9_600_000);
    let whole = sent(&run, 0.0, 10.0);
    assert!((whole - 12e6).abs() <= 1000.0, "{whole}");
    // Without repetition the link is out from 3 s on.
    let once = sent(&traced("once", "s,bps\n0,8e6\n1,20e6\n3,0\n", ", repeat = false"), 0.0, 10.0);
    assert!((once - 6e6).abs() <= 1000.0, "{once}");
}

#[test]
fn opportunities_repeat_at_their_end() {
    // 4 x 1504 B in 5 ms, 2000 laps in 10 s: 12.032 MB. Three once are 4512 B, less what the link could have
    // sent in the 8 us until the first packet is there, 12.032 B: four packets, and half of a fifth.
    let whole = sent(&traced("laps", "1\n1\n4\n5\n", ""), 0.0, 10.0);
    assert!((whole - 4.0 * 1504.0 * 2000.0).abs() <= 1000.0, "{whole}");
    let once = sent(&traced("lap", "1\n4\n5\n", ", repeat = false"), 0.0, 10.0);
    assert!((once - (4512.0 - 12.032)).abs() < 1e-6, "{once}");
}
