//! A run ends on request, whatever it is doing, and when outstanding packets exceed the memory limit.

use std::time::{Duration, Instant};

use crate::support::senders;
use cpu_time::ThreadTime;
use fairhaul_experiment::{Scenario, read};
use fairhaul_sim::{Control, RunError, run};

fn scenario(text: &str) -> Scenario {
    read(text, "test", &senders(text)).expect("it is a scenario").base
}

fn dumbbell(duration: &str, bottleneck: &str, flows: &str) -> Scenario {
    scenario(&format!("duration = \"{duration}\"\n[bottleneck]\n{bottleneck}\n{flows}"))
}

/// A run stops when it is asked to at `begun`: the time that it then still takes from a processor, however busy the
/// machine is, is less than 3 s.
fn stops(scenario: &Scenario, begun: Duration) {
    let control = Control::default();
    let start = Instant::now();
    let (ended, worked, asked) = std::thread::scope(|scope| {
        let running = scope.spawn(|| (run(scenario, &control), cpu_s()));
        std::thread::sleep(begun);
        control.stop();
        let asked = start.elapsed().as_secs_f64();
        let (ended, worked) = running.join().expect("it does not panic");
        (ended.err(), worked, asked)
    });
    assert_eq!(ended, Some(RunError::Stopped), "it had not ended by itself");
    // Up to the request it worked at most all the time.
    assert!(worked < asked + 3.0, "{worked} s, asked after {asked} s");
}

/// Processor time of this thread, in seconds: other programs are busy, too.
fn cpu_s() -> f64 {
    ThreadTime::now().as_duration().as_secs_f64()
}

const FAST: &str =
    "rate = \"100 Gbit/s\"\ndelay = \"10 ms\"\nqueue = { kind = \"droptail\", capacity = \"unlimited\" }";

/// A window of 10^9 packets leaves in one event.
#[test]
fn a_run_stops_within_a_burst() {
    let flow = "[[flow]]\nname = \"f\"\ncontroller = \"reno\"\ninitial_window = 1000000\ncount = 50";
    stops(&dumbbell("10 s", FAST, flow), Duration::from_millis(300));
}

#[test]
fn a_run_of_many_flows_stops_while_it_is_built() {
    let flow = "[[flow]]\nname = \"f\"\ncontroller = \"reno\"\ncount = 300000\nrtt = \"30 ms..300 ms\"";
    for begun in [0, 50, 200] {
        stops(&dumbbell("100 s", FAST, flow), Duration::from_millis(begun));
    }
}

#[test]
fn a_run_of_many_transfers_stops_while_they_are_drawn() {
    let flow = "[[flow]]\nname = \"f\"\ncontroller = \"reno\"\ntraffic = { kind = \"short\", rate = \"90000 /s\", size = \"1 kB\" }";
    stops(&dumbbell("100 s", FAST, flow), Duration::from_millis(20));
}

/// 32,000 connections open in an outage, and 40,000 bins: 1.2 billion additions, one by one, take 8 s.
#[test]
fn connections_that_stay_open_cost_nothing_at_the_end() {
    let link = "rate = \"10 kbit/s\"\ndelay = \"10 ms\"\nqueue = { kind = \"droptail\", capacity = \"100 packets\" }\nschedule = [{ at = \"100 s\", rate = \"0 bit/s\" }]";
    let flow = "[[flow]]\nname = \"f\"\ncontroller = \"reno\"\ntraffic = { kind = \"short\", rate = \"8 /s\", size = \"10 B\" }";
    let begun = cpu_s();
    let record = run(&dumbbell("4000 s", link, flow), &Control::default()).expect("the run ends");
    assert!(cpu_s() - begun < 4.0, "{}", cpu_s() - begun);
    // All are open at the end, with a window of a packet after a timeout, or of two.
    let last = record.flows[0].last().expect("there are bins").cwnd_packets;
    assert!(last > 28_000.0 && last < 68_000.0, "{last}");
}

/// Bursts of 8 connections in one ring, 30,000 packets each: 900 million moves, one by one.
#[test]
fn bursts_of_several_connections_cost_the_logarithm_of_their_size() {
    let link =
        "rate = \"1 Gbit/s\"\ndelay = \"10 ms\"\nqueue = { kind = \"droptail\", capacity = \"1 bdp\" }";
    let flow =
        "[[flow]]\nname = \"f\"\ncontroller = \"reno\"\ncount = 8\nrtt = \"100 ms\"\ninitial_window = 30000";
    let begun = cpu_s();
    run(&dumbbell("1 s", link, flow), &Control::default()).expect("the run ends");
    assert!(cpu_s() - begun < 2.0, "{}", cpu_s() - begun);
}

#[test]
fn a_run_that_outgrows_its_memory_ends_with_what_fills_it() {
    let link = "rate = \"1 Mbit/s\"\ndelay = \"10 ms\"\nqueue = { kind = \"codel\", capacity = \"unlimited\", target = 10000 }";
    let bulk = "[[flow]]\nname = \"bulk\"\ncontroller = \"reno\"\n";
    let flood = "[[flow]]\nname = \"flood\"\ntraffic = { kind = \"cbr\", rate = \"1 Tbit/s\" }";
    let burst = "[[flow]]\nname = \"burst\"\ncontroller = \"reno\"\ninitial_window = 1000000\ncount = 4";
    for (flows, named) in [([bulk, flood], "flow \"flood\""), ([bulk, burst], "flow \"burst")] {
        let control = Control::default();
        control.limit_memory(50_000_000);
        match run(&dumbbell("100 s", link, &flows.concat()), &control) {
            Err(RunError::Full { what, .. }) => {
                assert!(what.contains("MB of memory") && what.contains(named), "{what}");
            }
            other => panic!("{named}: {:?}", other.map(|record| record.packets)),
        }
    }
}

/// What it may take decides nothing but whether it ends.
#[test]
fn a_limit_of_memory_leaves_no_trace_in_the_record() {
    let link =
        "rate = \"1 Gbit/s\"\ndelay = \"10 ms\"\nqueue = { kind = \"droptail\", capacity = \"1 bdp\" }";
    let flow = "[[flow]]\nname = \"f\"\ncontroller = \"cubic\"\ncount = 3";
    let scenario = dumbbell("3 s", link, flow);
    let (free, bound) = (Control::default(), Control::default());
    bound.limit_memory(60_000_000);
    assert_eq!(
        run(&scenario, &free).expect("the run ends").to_json(),
        run(&scenario, &bound).expect("the run ends").to_json()
    );
}

#[test]
fn what_only_kernels_can_do_is_refused_before_anything_happens() {
    let text = r#"
        duration = "1 s"
        [bottleneck]
        rate = "1 Mbit/s"
        delay = "1 ms"
        queue = { kind = "kernel", qdisc = "fq_codel" }
        [[flow]]
        name = "F"
        controller = "reno"
        host = { qdisc = "cake" }
    "#;
    let scenario = read(text, "test", &senders(text)).expect("it is a scenario").base;
    let Err(RunError::Refused(requests)) = run(&scenario, &Control::default()) else { panic!("it runs") };
    assert_eq!(requests.len(), 3, "{requests:?}"); // host, both directions of the link
    assert!(requests.iter().all(|request| request.ends_with("runs with --engine linux")), "{requests:?}");
}
