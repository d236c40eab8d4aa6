//! What the tests of the engine share: scenarios as text, and figures of a record.

use fairhaul_experiment::{EventRow, Record, Scenario, read};
use fairhaul_sim::{Control, run};
use fairhaul_units::Time;

/// A run and the scenario that it answers.
pub struct Run {
    pub scenario: Scenario,
    pub record: Record,
}

/// The senders of a scenario that does not name them: ideal ones, those of BBR with the TCP of Linux.
pub fn senders(text: &str) -> Vec<(String, String)> {
    let profile = if text.contains("bbr") { "linux-tcp" } else { "plain" };
    let is_named = text.contains("profile");
    (!is_named).then(|| ("profile".to_owned(), profile.to_owned())).into_iter().collect()
}

/// Runs a scenario written as TOML.
pub fn run_text(text: &str) -> Run {
    let study =
        read(text, "test.toml", &senders(text)).unwrap_or_else(|mistakes| panic!("{mistakes}\n{text}"));
    let record = run(&study.base, &Control::default()).expect("the engine keeps its invariants");
    Run { scenario: study.base, record }
}

/// One bulk flow on a path without a queue that loses data packets as `loss` says, after the slow start
/// has ended at the window `ssthresh`.
pub fn lossy(controller: &str, loss: &str, rtt_ms: u64, ssthresh: f64, duration_s: u64) -> Run {
    let (warmup, delay) = (duration_s / 5, rtt_ms / 2);
    run_text(&format!(
        r#"
        duration = "{duration_s} s"
        warmup = "{warmup} s"
        [bottleneck]
        rate = "100 Gbit/s"
        delay = "{delay} ms"
        queue = {{ kind = "droptail", capacity = "unlimited" }}
        loss = {loss}
        [[flow]]
        name = "F"
        rtt = "{rtt_ms} ms"
        controller = {controller}
        initial_ssthresh = {ssthresh:.1}
        overhead = "0 s"
        "#
    ))
}

impl Run {
    fn bins(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        let grid = self.record.grid;
        let first = grid.bin(Time::ZERO + self.scenario.warmup);
        (first..grid.len()).map(move |bin| (bin, (grid.start(bin + 1) - grid.start(bin)).as_secs()))
    }

    /// What a gauge of a flow's controller shows at the start of each bin.
    pub fn flow_gauge(&self, flow: usize, name: &str) -> Vec<f64> {
        let gauges = self.scenario.flows[flow].gauges();
        let place =
            gauges.iter().position(|gauge| gauge.name == name).expect("the controller has this gauge");
        self.record.flow_gauges[flow].iter().skip(place).step_by(gauges.len()).copied().collect()
    }

    /// Seconds in [warmup, duration].
    pub fn measured_s(&self) -> f64 {
        (self.scenario.duration - self.scenario.warmup).as_secs()
    }

    /// Mean window of a flow over time, packets.
    pub fn cwnd_mean(&self, flow: usize) -> f64 {
        let sum: f64 = self.bins().map(|(bin, s)| self.record.flows[flow][bin].cwnd_packets * s).sum();
        sum / self.measured_s()
    }

    /// Mean goodput of a flow, bits per second.
    pub fn goodput_bps(&self, flow: usize) -> f64 {
        let bytes: u64 = self.bins().map(|(bin, _)| self.record.flows[flow][bin].goodput_bytes).sum();
        bytes as f64 * 8.0 / self.measured_s()
    }

    /// Share of the time for which a link was sending.
    pub fn utilization(&self, link: usize) -> f64 {
        self.bins().map(|(bin, _)| self.record.links[link][bin].busy_s).sum::<f64>() / self.measured_s()
    }

    /// The events of a kind after the warm-up.
    pub fn events(&self, kind: &str) -> Vec<EventRow> {
        let from = self.scenario.warmup.as_secs();
        self.record.events.iter().filter(|e| e.kind == kind && e.t_s >= from).copied().collect()
    }

    /// Flow 0 in congestion avoidance alone, the rounds of recovery (in which the window stands
    /// still [RFC 6675]) left out on both sides: its mean window, and loss events per packet sent.
    pub fn avoidance(&self, rtt_s: f64) -> (f64, f64) {
        let reductions = self.events("reduction");
        let ends = self.events("recovered");
        let (mut still_s, mut still_packets_s) = (0.0, 0.0);
        for begin in &reductions {
            let end =
                ends.iter().find(|e| e.t_s > begin.t_s).map_or(self.scenario.duration.as_secs(), |e| e.t_s);
            still_s += end - begin.t_s;
            still_packets_s += begin.value * (end - begin.t_s);
        }
        let packets_s = self.cwnd_mean(0) * self.measured_s() - still_packets_s;
        (packets_s / (self.measured_s() - still_s), reductions.len() as f64 * rtt_s / packets_s)
    }
}

/// Asserts that `found` is within `share` of `wanted`.
#[track_caller]
pub fn within(share: f64, wanted: f64, found: f64, what: &str) {
    let off = found / wanted - 1.0;
    println!("{what}: {found:.5} for {wanted:.5} ({:+.2} %)", off * 100.0);
    assert!(off.abs() <= share, "{what}: {found} is {:+.2} % off {wanted}", off * 100.0);
}
