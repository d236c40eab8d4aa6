//! Controllers that measure delay, in the engine: the start of Sync-TCP as in its paper, a loaded reverse path,
//! which misleads controllers that measure round trips, and clocks that differ.

use crate::support::{Run, run_text};

/// Three links of `mbps` and 10 ms each between source and destination, with buffers of 50 packets of 1500 B, and
/// a window of at most the path: the set-up of [SYNC-TCP, Table 1] as far as it is known.
fn chain(controller: &str, mbps: u32, most: u32, seconds: u32) -> Run {
    let link = |from: &str, to: &str| {
        format!(
            "[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"{mbps} Mbit/s\"\ndelay = \"10 ms\"\n\
             queue = {{ kind = \"droptail\", capacity = \"50 packets\" }}\n"
        )
    };
    let nodes: String = ["S", "R1", "R2", "D"].map(|name| format!("[[node]]\nname = \"{name}\"\n")).concat();
    run_text(&format!(
        "duration = \"{seconds} s\"\npacket = \"1500 B\"\n{nodes}{}{}{}[[flow]]\nname = \"F\"\nfrom = \"S\"\n\
         to = \"D\"\ncontroller = {controller}\nmax_window = {most}\noverhead = \"0 s\"\n",
        link("S", "R1"),
        link("R1", "R2"),
        link("R2", "D")
    ))
}

/// When the window was at `packets` for a whole bin, seconds; infinite if it never was.
fn reached(run: &Run, packets: f64) -> f64 {
    let rows = run.record.flows[0].iter();
    let bin = rows.enumerate().find(|(_, row)| row.cwnd_packets >= packets - 0.01).map(|(bin, _)| bin);
    bin.map_or(f64::INFINITY, |bin| run.record.grid.start(bin).as_secs())
}

const ORIGINAL: &str = "{ kind = \"synctcp\", variant = \"original\" }";
const MODIFIED: &str = "\"synctcp\"";

/// [SYNC-TCP, 4]: Reno takes 0.4 s, Sync-TCP 0.85 s, the modified one what Reno takes.
#[test]
fn at_low_speed_the_modified_start_is_renos_and_the_original_takes_twice_as_long() {
    let [reno, original, modified] =
        ["\"reno\"", ORIGINAL, MODIFIED].map(|controller| reached(&chain(controller, 10, 50, 3), 50.0));
    println!("50 packets at 10 Mbit/s: Reno {reno:.3} s, original {original:.3} s, modified {modified:.3} s");
    assert!((reno - 0.4).abs() < 0.02 && modified == reno);
    assert!((original - 0.85).abs() < 0.05);
}

/// [SYNC-TCP, 4]: 8 s for the original, 4 s for the modified, and hardly within 25 s for Reno. The
/// order is what can be held, since the times follow the tie, which is a choice.
#[test]
fn at_high_speed_the_modified_is_there_before_the_original_and_both_before_reno() {
    let reno = reached(&chain("\"reno\"", 100, 500, 25), 500.0);
    for tie in ["decreasing", "increasing"] {
        let [original, modified] = ["original", "modified"].map(|variant| {
            let run = chain(&format!("{{ kind = \"synctcp\", variant = \"{variant}\", tie = \"{tie}\" }}"), 100, 500, 25);
            let there = reached(&run, 500.0);
            let losses = run.events("reduction").iter().filter(|event| event.t_s < there).count();
            println!("500 packets at 100 Mbit/s, {variant}, tie {tie}: {there:.2} s and {losses} losses for Reno's {reno:.2} s");
            there
        });
        assert!(modified <= original && original < reno / 2.0, "tie {tie}: {modified} {original} {reno}");
    }
}

/// A flow of at most 700 of the 750 packets of its path, after a slow start to 100, alone or with datagrams that
/// fill the reverse path.
fn beside(controller: &str, crowded: bool) -> Run {
    let datagrams = "[[flow]]\nname = \"back\"\nrole = \"background\"\ndirection = \"reverse\"\nrtt = \"60 ms\"\n\
                     start = \"2 s\"\ntraffic = { kind = \"cbr\", rate = \"100 Mbit/s\" }\n";
    run_text(&format!(
        "duration = \"20 s\"\nwarmup = \"4 s\"\n[bottleneck]\nrate = \"100 Mbit/s\"\ndelay = \"20 ms\"\n\
         queue = {{ kind = \"droptail\", capacity = \"80 ms\" }}\n[[flow]]\nname = \"F\"\nrtt = \"60 ms\"\n\
         controller = {controller}\ninitial_ssthresh = 100\nmax_window = 700\n{}",
        if crowded { datagrams } else { "" }
    ))
}

/// Share of the time in mode 0 after the warm-up.
fn in_mode_0(run: &Run) -> f64 {
    let end = run.scenario.duration.as_secs();
    let from = run.scenario.warmup.as_secs();
    let modes: Vec<_> = run.record.events.iter().filter(|e| e.kind == "mode" && e.flow == 0).collect();
    let ends = modes.iter().skip(1).map(|e| e.t_s).chain([end]);
    let spent = modes.iter().zip(ends).filter(|(mode, _)| mode.value == 0.0);
    spent.map(|(mode, until)| (until.max(from) - mode.t_s.max(from)).max(0.0)).sum::<f64>() / (end - from)
}

fn mean(run: &Run, of: impl Fn(&fairhaul_experiment::FlowRow) -> f64) -> f64 {
    let rows = || run.record.flows[0].iter().filter(|row| row.rtt_samples > 0);
    rows().map(|row| of(row) * row.rtt_samples as f64).sum::<f64>()
        / rows().map(|row| row.rtt_samples as f64).sum::<f64>()
}

#[test]
fn a_loaded_reverse_path_misleads_controllers_that_measure_round_trips() {
    let figures = |controller: &str| {
        [false, true].map(|crowded| {
            let run = beside(controller, crowded);
            let (rtt_ms, one_way_ms) = (1e3 * mean(&run, |row| row.rtt_s), 1e3 * mean(&run, |row| row.one_way_s));
            let (window, reno) = (run.cwnd_mean(0), in_mode_0(&run));
            println!("{controller}, crowded {crowded}: round trip {rtt_ms:.1} ms, one way {one_way_ms:.1} ms, window {window:.0}, mode 0 {reno:.2}");
            (rtt_ms, one_way_ms, window, reno)
        })
    };
    let [free, crowded] = figures("\"ghstcp\"");
    assert!(crowded.0 > free.0 + 30.0 && (crowded.1 - free.1).abs() < 0.5);
    assert!(free.3 < 0.05 && crowded.3 > 0.95 && crowded.2 < 0.6 * free.2);
    let [free, crowded] = figures(ORIGINAL);
    assert!(crowded.0 > free.0 + 30.0 && (crowded.1 - free.1).abs() < 0.5);
    assert!((crowded.2 / free.2 - 1.0).abs() < 0.02);
}

/// A flow of Sync-TCP on a queue of 50 ms, with these keys of its clock.
fn clocked(clock: &str, seconds: u32, deskew: bool) -> Run {
    run_text(&format!(
        "duration = \"{seconds} s\"\n[bottleneck]\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\n\
         queue = {{ kind = \"droptail\", capacity = \"50 ms\" }}\n[[flow]]\nname = \"F\"\nrtt = \"60 ms\"\n{clock}\n\
         controller = {{ kind = \"synctcp\", memory = 0, deskew = {deskew} }}\n"
    ))
}

#[test]
fn an_offset_of_the_clock_changes_nothing() {
    for stamp in ["0 s", "1 us", "1 ms", "10 ms"] {
        for deskew in [false, true] {
            let run = |offset| {
                let clock = format!("clock_offset = \"{offset}\"\nclock_stamp = \"{stamp}\"");
                clocked(&clock, 20, deskew).record
            };
            let windows = |record: &fairhaul_experiment::Record| -> Vec<u64> {
                record.flows[0].iter().map(|row| row.cwnd_packets.to_bits()).collect()
            };
            assert_eq!(windows(&run("0 s")), windows(&run("1234.56 s")), "stamps of {stamp}");
        }
    }
}

/// Without a queue that empties 100 ppm are 10 ms more in 100 s, which is read as congestion.
#[test]
fn a_fast_receiver_clock_starves_its_flow_unless_the_drift_is_removed() {
    let goodput = |ppm: f64, deskew: bool| {
        let run = clocked(&format!("clock_drift = {ppm:.1}"), 600, deskew);
        let rows = &run.record.flows[0];
        let later: u64 = rows[rows.len() / 2..].iter().map(|row| row.goodput_bytes).sum();
        let mbps = later as f64 * 8.0 / 300e6;
        println!("a clock that gains {ppm} ppm, deskew {deskew}: {mbps:.2} Mbit/s from 300 s on");
        mbps
    };
    let exact = goodput(0.0, false);
    assert!(goodput(50.0, false) < 0.6 * exact && goodput(100.0, false) < 0.1 * exact);
    for ppm in [-100.0, 0.0, 50.0, 100.0] {
        assert!((goodput(ppm, true) / exact - 1.0).abs() < 0.01);
    }
}

/// One flow beside two of Reno with buffers of 512 kB: [GHSTCP], scenario 1, with 23 ms each way.
fn scenario_1(controller: &str) -> Run {
    run_text(&format!(
        "duration = \"150 s\"\nwarmup = \"30 s\"\npacket = \"1500 B\"\n[bottleneck]\nrate = \"100 Mbit/s\"\n\
         delay = \"23 ms\"\nqueue = {{ kind = \"droptail\", capacity = \"200 kB\" }}\n[[flow]]\nname = \"F\"\n\
         rtt = \"46 ms\"\ncontroller = {controller}\n[[flow]]\nname = \"reno\"\ncount = 2\nrtt = \"46 ms\"\n\
         controller = \"reno\"\nreceive_buffer = \"512 kB\"\n"
    ))
}

/// [GHSTCP]: utilisation above 90 %, and fairer than HighSpeed TCP. That the refined rule switches less than
/// the original is not observed here: 1.19 ±0.20 and 1.26 ±0.18 a second in six seeds. It was, by a third, while
/// a round lacked the packet that its first acknowledgement released, so that the extra packet of a growing
/// window moved through the rounds and turned the trend that the original reads.
#[test]
fn gentle_is_fairer_than_highspeed() {
    let figures = |controller: &str| {
        let run = scenario_1(controller);
        let flows = [0, 1, 2].map(|flow| run.goodput_bps(flow) / 1e6);
        let (sum, squares): (f64, f64) = (flows.iter().sum(), flows.iter().map(|flow| flow * flow).sum());
        let (jain, used) = (sum * sum / (3.0 * squares), run.utilization(0));
        let switches = run.events("mode").len() as f64 / run.measured_s();
        println!(
            "{controller}: {flows:.1?} Mbit/s, Jain {jain:.3}, used {used:.3}, {switches:.2} switches a second"
        );
        assert!(used > 0.9);
        (jain, switches)
    };
    let refined = figures("\"ghstcp\"");
    let original = figures("{ kind = \"ghstcp\", variant = \"original\" }");
    let highspeed = figures("\"highspeed\"");
    assert!(refined.0 > highspeed.0 + 0.1 && original.0 > highspeed.0 + 0.1);
    assert!(refined.1 > 0.0 && original.1 > 0.0);
    assert_eq!(highspeed.1, 0.0);
}
