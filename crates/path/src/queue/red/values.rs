//! The parameters of RED, and the numbers that ns-2 gives to automatic parameters [NS-2].

use fairhaul_units::{Bytes, Rate, Settings, Span, parameters, real, words};

use crate::queue::{Capacity, Refusal, Site};

words! {
    /// The unit of given thresholds.
    pub enum ThresholdUnit {
        /// Of the mean size.
        Packets = "packets",
        /// What the queue holds.
        Capacity = "capacity",
    }
}

parameters! {
    /// The parameters of RED.
    pub struct RedParameters {
        min_threshold: Number(0.0..=1e9, "mean packets, or fractions of the capacity") = 0.0,
            "lower threshold: average queue at which drops begin; 0: the larger of 5 packets and half of the packets that `target_delay` holds [NS-2]";
        max_threshold: Number(0.0..=1e9, "mean packets, or fractions of the capacity") = 0.0,
            "upper threshold: average queue at which the drop probability is `max_p`; 0: three times the lower one [NS-2]";
        threshold_unit: Word(ThresholdUnit) = ThresholdUnit::Packets,
            "unit of given thresholds: packets of `mean_packet`, or fractions of the capacity; automatic thresholds are not affected";
        target_delay: Number(0.0..=1000.0, "ms") = 5.0,
            "delay from which the automatic lower threshold is computed [NS-2]";
        max_p: Number(1e-6..=1.0) = 0.1,
            "drop probability at the upper threshold, before drops are spaced out [NS-2]";
        q_weight: Number(-2.0..=1.0) = -1.0,
            "weight of an arrival in the average; -1: from ten round trips of the link; 0: one second of packets has weight one; -2: ten times that [NS-2]";
        mean_packet: Number(0.0..=64_000.0, "B") = 0.0,
            "mean packet size for bytes, rates and automatic values; 0: the largest packet of the scenario (500 in ns-2) [NS-2]";
        queue_in_bytes: Switch = true, "whether the queue is measured in bytes, as in ns-2 since 2004 [NS-2]";
        drop_in_bytes: Switch = true,
            "whether small packets are dropped less, in proportion, as in ns-2 since 2004 [NS-2]";
        gentle: Switch = true,
            "gentle mode: above the upper threshold the probability rises to 1 at twice the threshold; false: it jumps to 1 [NS-2]";
        wait: Switch = true,
            "wait 1 / p packets between drops, so that gaps are uniform from 1 / p to 2 / p; false: from 1 to 1 / p [NS-2]";
        mark_p: Number(0.0..=1.0) = 0.1,
            "packets of flows with `ecn` are marked below this drop probability and dropped above it; 1: always marked up to the end of the curve [NS-2]";
        adaptive: Switch = false,
            "Adaptive RED: adjust `max_p` so that the average stays halfway between the thresholds [ARED]";
        interval: Seconds(0.001..=1000.0) = 0.5, "adaptive: shortest time between two adjustments [ARED]";
        alpha: Number(0.0..=1.0) = 0.01,
            "adaptive: step by which `max_p` rises, at most a quarter of `max_p` [ARED]";
        beta: Number(0.0..=1.0) = 0.9, "adaptive: factor by which `max_p` falls [ARED]";
        bottom: Number(0.0..=1.0) = 0.0,
            "adaptive: lower bound of `max_p`; 0: 0.01, or that of a window of 1000 B packets over 100 ms if that is smaller [NS-2]";
        top: Number(0.0..=1.0) = 0.5, "adaptive: upper bound of `max_p` [ARED]";
    }
}

/// Replaces automatic values by numbers, and checks how they relate to each other.
pub(crate) fn resolve(settings: &mut Settings, site: &Site, largest: Bytes) -> Result<(), Refusal> {
    settings.set_automatic("mean_packet", real(largest.0));
    settings.set_automatic("bottom", (80_000.0 / site.rate.as_bps() as f64).min(0.01));
    let given = RedParameters::from(&*settings);
    if given.mean_packet < 1.0 {
        return Err(Refusal::new("mean_packet", format!("{} B is less than one byte", given.mean_packet)));
    }
    let rate = packets_per_s(site.rate, given.mean_packet);
    settings.set("q_weight", weight(given.q_weight, rate, site.delay)?);
    let [min, max] = thresholds(&given, rate, site.capacity)?;
    settings.set("min_threshold", min);
    settings.set("max_threshold", max);
    settings.set("threshold_unit", ThresholdUnit::Packets.value());
    Ok(())
}

pub(super) fn packets_per_s(rate: Rate, packet: f64) -> f64 {
    rate.as_bps() as f64 / (8.0 * packet)
}

/// The weight of one arrival, by ns-2's code where it is not given.
fn weight(asked: f64, packets_per_s: f64, delay: Span) -> Result<f64, Refusal> {
    let over = |packets: f64| 1.0 - libm::exp(-1.0 / packets);
    let round_trip = (3.0 * (delay.as_secs() + 1.0 / packets_per_s)).max(0.1);
    match asked {
        -1.0 => Ok(over(10.0 * round_trip * packets_per_s)),
        0.0 => Ok(over(packets_per_s)),
        -2.0 => Ok(over(packets_per_s / 10.0)),
        weight if weight > 0.0 => Ok(weight),
        _ => Err(Refusal::new(
            "q_weight",
            "wanted a weight of at least 0, or one of the codes -1 and -2".into(),
        )),
    }
}

/// The thresholds in mean packets.
fn thresholds(given: &RedParameters, rate: f64, capacity: Capacity) -> Result<[f64; 2], Refusal> {
    let asked = [given.min_threshold, given.max_threshold];
    let scale = match given.threshold_unit {
        ThresholdUnit::Capacity if asked != [0.0, 0.0] => {
            let whole = match capacity {
                Capacity::Unlimited => {
                    return Err(Refusal::new(
                        "threshold_unit",
                        "fractions of the capacity need a queue with a limit".into(),
                    ));
                }
                // In the packets that the average counts.
                Capacity::Packets(packets) => packets as f64,
                Capacity::Bytes(bytes) => bytes.0 as f64 / given.mean_packet,
            };
            if let Some(above) = asked.iter().position(|share| *share > 1.0) {
                let name = ["min_threshold", "max_threshold"][above];
                return Err(Refusal::new(name, format!("{} exceeds the whole capacity, 1", asked[above])));
            }
            whole
        }
        ThresholdUnit::Capacity | ThresholdUnit::Packets => 1.0,
    };
    let target = given.target_delay * 1e-3 * rate;
    let min = if asked[0] == 0.0 { (target / 2.0).max(5.0) } else { asked[0] * scale };
    let max = if asked[1] == 0.0 { 3.0 * min } else { asked[1] * scale };
    if max <= min {
        return Err(Refusal::new(
            "max_threshold",
            format!("{max} packets must be above the lower threshold of {min} packets"),
        ));
    }
    Ok([min, max])
}
