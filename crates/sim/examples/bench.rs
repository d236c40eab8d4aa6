//! tmp
use fairhaul_experiment::*;
use fairhaul_path::queue::Capacity;
use fairhaul_units::*;
fn flow(name: &str, cc: &str, rtt_ms: u64, rate: u64, delay_ms: u64, dur: u64, ss: f64) -> Flow {
    let a = Rate::from_bps(rate * 10).unwrap();
    let d = Span::from_ms(rtt_ms) / 4 - Span::from_ms(delay_ms) / 2;
    let _ = dur;
    Flow {
        name: name.into(),
        group: name.into(),
        role: Role::Measured,
        controller: fairhaul_cc::Choice::named(cc).unwrap(),
        recovery: Recovery::Sack,
        traffic: Traffic::Bulk,
        start: Start::Uniform(Span::ZERO, Span::from_s(1)),
        rtt: Span::from_ms(rtt_ms),
        forward: vec![Hop::Access { rate: a, delay: d }, Hop::Link(0), Hop::Access { rate: a, delay: d }],
        reverse: vec![Hop::Access { rate: a, delay: d }, Hop::Link(1), Hop::Access { rate: a, delay: d }],
        packet: Bytes(1000),
        initial_window: 2.0,
        initial_ssthresh: ss,
        max_window: f64::INFINITY,
        delayed_ack: None,
        min_rto: Span::from_ms(200),
        send_buffer: None,
        receive_buffer: None,
        overhead: Span::from_ps(8000 * 1000 * 1000_000_000 / (rate / 1000)) / 1000,
    }
}
fn scen(flows: Vec<Flow>, rate: u64, delay_ms: u64, cap: u64, dur: u64) -> Scenario {
    let l = |n: &str| LinkSpec {
        name: n.into(),
        rate: Rate::from_bps(rate).unwrap(),
        delay: Span::from_ms(delay_ms),
        capacity: Capacity::Packets(cap),
        loss: None,
    };
    Scenario {
        title: "b".into(),
        source: "".into(),
        seed: 1,
        duration: Span::from_s(dur),
        warmup: Span::ZERO,
        links: vec![l("f"), l("r")],
        flows,
    }
}
fn main() {
    let g = 1_000_000_000u64;
    let which = std::env::args().nth(1);
    let w1 = || scen(vec![flow("a", "highspeed", 100, g, 20, 60, 12500.0)], g, 20, 12500, 60);
    let w2 = || {
        let mut v = vec![];
        for (i, r) in [80, 140, 200].iter().enumerate() {
            v.push(flow(&format!("h{i}"), "highspeed", *r, g, 20, 100, 17500.0 / 8.0))
        }
        for i in 0..5 {
            v.push(flow(&format!("r{i}"), "reno", 140, g, 20, 100, 17500.0 / 8.0))
        }
        scen(v, g, 20, 17500, 100)
    };
    let w3 = || {
        let v = (0..100).map(|i| flow(&format!("r{i}"), "highspeed", 50, 10 * g, 10, 10, 625.0)).collect();
        scen(v, 10 * g, 10, 62500, 10)
    };
    let w4 = || {
        let v =
            (0..1000).map(|i| flow(&format!("r{i}"), "reno", 20 + (i % 10) * 20, g, 5, 20, 13.75)).collect();
        scen(v, g, 5, 13750, 20)
    };
    let all: Vec<(&str, Box<dyn Fn() -> Scenario>)> =
        vec![("w1", Box::new(w1)), ("w2", Box::new(w2)), ("w3", Box::new(w3)), ("w4", Box::new(w4))];
    for (n, f) in all {
        if let Some(w) = &which {
            if w != n {
                continue;
            }
        }
        let s = f();
        let t = std::time::Instant::now();
        let r = fairhaul_sim::run(&s, &Default::default()).unwrap();
        let e = t.elapsed().as_secs_f64();
        let red = r.events.iter().filter(|e| e.kind == "reduction").count();
        let to = r.events.iter().filter(|e| e.kind == "timeout").count();
        let lost: u64 = r.flows.iter().flatten().map(|x| x.lost).sum();
        let sent: u64 = r.flows.iter().flatten().map(|x| x.sent).sum();
        let util: f64 = r.links[0].iter().map(|x| x.busy_s).sum::<f64>() / s.duration.as_secs();
        println!(
            "{n}: {} packets {:.2} M/s, {:.2}s wall, util {util:.3} sent {sent} lost {lost} reductions {red} timeouts {to}",
            r.packets,
            r.packets as f64 / e / 1e6,
            e
        );
        if s.flows.len() < 10 {
            for (i, f) in s.flows.iter().enumerate() {
                let gp: u64 = r.flows[i].iter().map(|x| x.goodput_bytes).sum();
                println!(
                    "   {} {} {:.2} Mbit/s",
                    f.name,
                    f.controller.entry.name,
                    gp as f64 * 8.0 / s.duration.as_secs() / 1e6
                )
            }
        }
    }
}
