//! The router that drops as much of TCP as leaves XCP its share.
mod support;
use support::{Run, run_text};

fn paper(queue: &str, rate: u32, rtt: u32, xcp: &[&str], tcp: &[&str], who: &str, duration: u32) -> Run {
    let flows = |name: &str, starts: &[&str], controller: &str| -> String {
        starts.iter().enumerate().map(|(n, start)| format!(
            "[[flow]]\nname = \"{name}{n}\"\nrtt = \"{rtt} ms\"\ncontroller = \"{controller}\"\nstart = \"{start}\"\nrecovery = \"newreno\"\n")).collect()
    };
    run_text(&format!(r#"
duration = "{duration} s"
warmup = "{} s"
[bottleneck]
rate = "{rate} Mbit/s"
delay = "{} ms"
queue = {{ {queue}, capacity = "1 bdp" }}
{}{}"#, duration / 2, rtt / 4, flows("X", xcp, "xcp"), flows("T", tcp, who)))
}

#[test]
fn explore() {
    for rtt in [20, 100] {
        for (xcp, tcp) in [(&["0 s"][..], &["10 s", "10.1 s"][..]), (&["10 s", "30 s", "50 s"], &["0 s", "0.1 s", "0.2 s", "0.3 s", "0.4 s", "0.5 s", "0.6 s", "0.7 s", "0.8 s", "0.9 s"])] {
            for queue in ["kind = \"xcp\"", "kind = \"xcp_tcp\"", "kind = \"xcp_tcp\", rule = \"adaptive\"", "kind = \"xcp_tcp\", rule = \"adaptive\", counter = \"exact\""] {
                for who in ["reno", "highspeed", "cubic", "bbr"] {
                    if who != "reno" && queue == "kind = \"xcp\"" { continue; }
                let run = paper(queue, 100, rtt, xcp, tcp, who, 200);
                let n = xcp.len();
                let x: f64 = (0..n).map(|flow| run.goodput_bps(flow)).sum::<f64>() / 0.94e6;
                let t: f64 = (n..n + tcp.len()).map(|flow| run.goodput_bps(flow)).sum::<f64>() / 0.96e6;
                println!("{rtt} ms {n} XCP {} {who:9} {queue:50}: XCP {x:.1} TCP {t:.1}; fair XCP {:.1}", tcp.len(), 100.0 * n as f64 / (n + tcp.len()) as f64);
                let grid = run.record.grid;
                for g in 4..8 {
                    let row: Vec<f64> = run.record.gauges[0].iter().skip(g).step_by(8).step_by(grid.len() / 10).copied().collect();
                    if queue.contains("tcp") && who == "reno" { println!("   gauge {g}: {row:.2?}"); }
                }
                }
            }
        }
    }
}
