//! The parameters of RED, and the numbers that ns-2 gives to those that are automatic [NS-2].

use fairhaul_units::{Bytes, Kind, Parameter, Rate, Settings, Span, Word, words};

use crate::queue::{Capacity, Refusal, Site};

words! {
    /// The unit of given thresholds.
    pub(super) enum ThresholdUnit {
        Packets = "packets",
        Capacity = "capacity",
    }
}

const SHARE: Kind = Kind::Number { least: 0.0, most: 1.0, unit: "" };
const LENGTH: Kind =
    Kind::Number { least: 0.0, most: 1e9, unit: "mean packets, or fractions of the capacity" };

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "min_threshold",
        kind: LENGTH,
        default: 0.0,
        help: "lower threshold: average queue at which drops begin; 0: the larger of 5 packets and half of the packets that `target_delay` holds [NS-2]",
    },
    Parameter {
        name: "max_threshold",
        kind: LENGTH,
        default: 0.0,
        help: "upper threshold: average queue at which the drop probability is `max_p`; 0: three times the lower one [NS-2]",
    },
    Parameter {
        name: "threshold_unit",
        kind: Kind::Word(ThresholdUnit::WORDS),
        default: ThresholdUnit::Packets.value(),
        help: "unit of given thresholds: packets of `mean_packet`, or fractions of the capacity; automatic thresholds are not affected",
    },
    Parameter {
        name: "target_delay",
        kind: Kind::Number { least: 0.0, most: 1000.0, unit: "ms" },
        default: 5.0,
        help: "delay from which the automatic lower threshold is computed [NS-2]",
    },
    Parameter {
        name: "max_p",
        kind: Kind::Number { least: 1e-6, most: 1.0, unit: "" },
        default: 0.1,
        help: "drop probability at the upper threshold, before drops are spaced out [NS-2]",
    },
    Parameter {
        name: "q_weight",
        kind: Kind::Number { least: -2.0, most: 1.0, unit: "" },
        default: -1.0,
        help: "weight of an arrival in the average; -1: from ten round trips of the link; 0: one second of packets has weight one; -2: ten times that [NS-2]",
    },
    Parameter {
        name: "mean_packet",
        kind: Kind::Number { least: 0.0, most: 64_000.0, unit: "B" },
        default: 0.0,
        help: "mean packet size for bytes, rates and automatic values; 0: the largest packet of the scenario (500 in ns-2) [NS-2]",
    },
    Parameter {
        name: "queue_in_bytes",
        kind: Kind::Switch,
        default: 1.0,
        help: "whether the queue is measured in bytes, as in ns-2 since 2004 [NS-2]",
    },
    Parameter {
        name: "drop_in_bytes",
        kind: Kind::Switch,
        default: 1.0,
        help: "whether small packets are dropped less, in proportion, as in ns-2 since 2004 [NS-2]",
    },
    Parameter {
        name: "gentle",
        kind: Kind::Switch,
        default: 1.0,
        help: "gentle mode: above the upper threshold the probability rises to 1 at twice the threshold; false: it jumps to 1 [NS-2]",
    },
    Parameter {
        name: "wait",
        kind: Kind::Switch,
        default: 1.0,
        help: "wait 1 / p packets between drops, so that gaps are uniform from 1 / p to 2 / p; false: from 1 to 1 / p [NS-2]",
    },
    Parameter {
        name: "mark_p",
        kind: SHARE,
        default: 0.1,
        help: "packets of flows with `ecn` are marked below this drop probability and dropped above it; 1: always marked up to the end of the curve [NS-2]",
    },
    Parameter {
        name: "adaptive",
        kind: Kind::Switch,
        default: 0.0,
        help: "Adaptive RED: adjust `max_p` so that the average stays halfway between the thresholds [ARED]",
    },
    Parameter {
        name: "interval",
        kind: Kind::Number { least: 0.001, most: 1000.0, unit: "s" },
        default: 0.5,
        help: "adaptive: shortest time between two adjustments [ARED]",
    },
    Parameter {
        name: "alpha",
        kind: SHARE,
        default: 0.01,
        help: "adaptive: step by which `max_p` rises, at most a quarter of `max_p` [ARED]",
    },
    Parameter {
        name: "beta",
        kind: SHARE,
        default: 0.9,
        help: "adaptive: factor by which `max_p` falls [ARED]",
    },
    Parameter {
        name: "bottom",
        kind: SHARE,
        default: 0.0,
        help: "adaptive: lower bound of `max_p`; 0: 0.01, or that of a window of 1000 B packets over 100 ms if that is smaller [NS-2]",
    },
    Parameter { name: "top", kind: SHARE, default: 0.5, help: "adaptive: upper bound of `max_p` [ARED]" },
];

/// Puts numbers in the place of automatic values, and checks what they are to each other.
pub(crate) fn resolve(settings: &mut Settings, site: &Site, largest: Bytes) -> Result<(), Refusal> {
    if settings.number("mean_packet") == 0.0 {
        settings.set("mean_packet", largest.0 as f64);
    }
    let mean_packet = settings.number("mean_packet");
    if mean_packet < 1.0 {
        return Err(Refusal::new("mean_packet", format!("{mean_packet} B is less than one byte")));
    }
    let rate = packets_per_s(site.rate, mean_packet);
    settings.set("q_weight", weight(settings.number("q_weight"), rate, site.delay)?);
    thresholds(settings, rate, mean_packet, site.capacity)?;
    if settings.number("bottom") == 0.0 {
        settings.set("bottom", (80_000.0 / site.rate.as_bps() as f64).min(0.01));
    }
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
fn thresholds(
    settings: &mut Settings,
    rate: f64,
    mean_packet: f64,
    capacity: Capacity,
) -> Result<(), Refusal> {
    let asked = ["min_threshold", "max_threshold"].map(|name| settings.number(name));
    let scale = match settings.word("threshold_unit") {
        ThresholdUnit::Capacity if asked != [0.0, 0.0] => {
            let whole = match capacity {
                Capacity::Unlimited => {
                    return Err(Refusal::new(
                        "threshold_unit",
                        "fractions of the capacity need a queue with a limit".into(),
                    ));
                }
                // So many of the packets that the average counts.
                Capacity::Packets(packets) => packets as f64,
                Capacity::Bytes(bytes) => bytes.0 as f64 / mean_packet,
            };
            if let Some(above) = asked.iter().position(|share| *share > 1.0) {
                let name = ["min_threshold", "max_threshold"][above];
                return Err(Refusal::new(name, format!("{} exceeds the whole capacity, 1", asked[above])));
            }
            whole
        }
        ThresholdUnit::Capacity | ThresholdUnit::Packets => 1.0,
    };
    let target = settings.number("target_delay") * 1e-3 * rate;
    let min = if asked[0] == 0.0 { (target / 2.0).max(5.0) } else { asked[0] * scale };
    let max = if asked[1] == 0.0 { 3.0 * min } else { asked[1] * scale };
    if max <= min {
        return Err(Refusal::new(
            "max_threshold",
            format!("{max} packets must be above the lower threshold of {min} packets"),
        ));
    }
    settings.set("min_threshold", min);
    settings.set("max_threshold", max);
    settings.set("threshold_unit", ThresholdUnit::Packets.value());
    Ok(())
}
