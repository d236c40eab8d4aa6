//! Packets of many flows in random order, by default with the shares of Zipf's law: what flow counters are tested on.

use fairhaul_units::{Chance, Span, Time};

use super::{Counter, entry};

/// Packets at an even pace, each of a random flow of 0, 1, ….
#[derive(Clone, Debug)]
pub struct ZipfTraffic {
    /// For each flow the sum of the shares up to its own; the last is one.
    up_to: Vec<f64>,
    gap: Span,
    now: Time,
    chance: Chance,
}

impl ZipfTraffic {
    /// Flows of these weights, at least one of them above zero, and a packet every `gap`.
    pub fn new(weights: &[f64], gap: Span, chance: Chance) -> ZipfTraffic {
        let whole: f64 = weights.iter().sum();
        assert!(whole > 0.0, "at least one flow sends");
        let mut sum = 0.0;
        let up_to = weights.iter().map(|weight| {
            sum += weight;
            sum / whole
        });
        ZipfTraffic { up_to: up_to.collect(), gap, now: Time::ZERO, chance }
    }

    /// Weights of `flows` flows, number k as 1/k to the power of `exponent`: 0 makes all equal, 1 is Zipf's
    /// law.
    pub fn weights(flows: usize, exponent: f64) -> Vec<f64> {
        (1..=flows).map(|rank| libm::pow(rank as f64, -exponent)).collect()
    }

    /// The flow of the next packet, and when it comes.
    #[inline]
    pub fn packet(&mut self) -> (u64, Time) {
        self.now += self.gap;
        let drawn = self.chance.unit();
        let flow = self.up_to.partition_point(|up_to| *up_to <= drawn);
        (flow.min(self.up_to.len() - 1) as u64, self.now)
    }

    /// Shows `packets` packets to `counter`; when the last one came.
    pub fn send(&mut self, packets: u64, counter: &mut Counter) -> Time {
        for _ in 0..packets {
            let (flow, now) = self.packet();
            counter.count_packet(flow, now);
        }
        self.now
    }
}

/// How many flows the counter `name` estimates after `packets` packets, one every `gap_s` seconds, of flows of
/// these weights; the same for the same seed.
///
/// # Errors
/// A counter or a parameter that does not exist, or values with which no traffic can be sent.
pub fn estimated_flows(
    name: &str,
    values: &[(String, String)],
    weights: &[f64],
    packets: u64,
    gap_s: f64,
    seed: u64,
) -> Result<f64, String> {
    let stream = |purpose| Chance::stream(seed, purpose, 0);
    let mut counter = entry(name)?.build(values, stream("count"))?;
    if !weights.iter().all(|weight| weight.is_finite() && *weight >= 0.0) {
        return Err("rates: wanted numbers of at least 0".into());
    }
    if packets > 0 && weights.iter().sum::<f64>() <= 0.0 {
        return Err("rates: wanted at least one rate above 0, because packets were requested".into());
    }
    // Picoseconds count up to 213 days.
    if !(1e-9..=1.0).contains(&gap_s) || packets as f64 * gap_s > 1e7 {
        return Err("gap_s: wanted 1e-9 to 1 s between packets, and at most 1e7 s in total".into());
    }
    if packets == 0 {
        return Ok(counter.flows(Time::ZERO));
    }
    let now = ZipfTraffic::new(weights, Span::from_secs(gap_s), stream("crowd")).send(packets, &mut counter);
    Ok(counter.flows(now))
}
