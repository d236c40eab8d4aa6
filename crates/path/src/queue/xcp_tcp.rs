//! The queue `xcp_tcp` of the catalogue [XCP-TCP]: an XCP router that limits TCP to its share. The mechanism is in
//! `xcp/fairness.rs`.

use fairhaul_units::{Bytes, Kind, Parameter, Settings};

use super::{Gauge, Refusal, Site, xcp};
use crate::count::{ENTRIES, FILL, OVERWRITE, START, WEIGHT};

const PARAMETERS: [Parameter; 18] = [
    Parameter {
        name: "rule",
        kind: Kind::Word(&["literal", "adaptive"]),
        default: 0.0,
        help: "the probability moves by fixed factors, or follows how much too fast the others are, and have been [XCP-TCP]",
    },
    Parameter {
        name: "counter",
        kind: Kind::Word(&["sred", "exact", "nred"]),
        default: 0.0,
        help: "what tells the numbers of flows [XCP-TCP]",
    },
    Parameter {
        name: "gate",
        kind: Kind::Number { least: 0.0, most: 1.0, unit: "" },
        default: 0.95,
        help: "it acts while so much of the link is in use, or more [XCP-TCP]",
    },
    Parameter {
        name: "tolerance",
        kind: Kind::Number { least: 0.0, most: 0.5, unit: "" },
        default: 0.02,
        help: "a rate that is so near to its share, of the link's rate, matches it",
    },
    Parameter {
        name: "period",
        kind: Kind::Number { least: 0.0, most: 10_000.0, unit: "ms" },
        default: 0.0,
        help: "time between updates, at least 0.001; 0: the control interval of XCP",
    },
    Parameter {
        name: "min_p",
        kind: Kind::Number { least: 1e-9, most: 1.0, unit: "" },
        default: 1e-4,
        help: "literal: the least probability, and the first [XCP-TCP]",
    },
    Parameter {
        name: "max_p",
        kind: Kind::Number { least: 1e-6, most: 1.0, unit: "" },
        default: 0.1,
        help: "the largest probability; more makes timeouts of losses",
    },
    Parameter {
        name: "up",
        kind: Kind::Number { least: 1.0, most: 10.0, unit: "" },
        default: 1.01,
        help: "literal: factor of the probability while the rate is above its share and does not fall [XCP-TCP]",
    },
    Parameter {
        name: "down",
        kind: Kind::Number { least: 0.1, most: 1.0, unit: "" },
        default: 0.99,
        help: "literal: factor of the probability while the rate is below its share [XCP-TCP]",
    },
    Parameter {
        name: "at_floor",
        kind: Kind::Switch,
        default: 0.0,
        help: "literal: drop also while the rate is not above its share, with the probability as it is then",
    },
    Parameter {
        name: "horizon",
        kind: Kind::Number { least: 1.0, most: 10_000.0, unit: "" },
        default: 10.0,
        help: "adaptive: over so many round trips what was sent too much or too little is made up for",
    },
    Parameter {
        name: "inspect",
        kind: Kind::Number { least: 0.001, most: 1.0, unit: "" },
        default: 1.0,
        help: "the share of packets that the counters see [XCP-TCP]",
    },
    Parameter {
        name: "stale",
        kind: Kind::Number { least: 0.0, most: 1000.0, unit: "s" },
        default: 1.0,
        help: "sred: the number of a class is 0 after so long without a packet of it; 0: never",
    },
    ENTRIES,
    OVERWRITE,
    WEIGHT,
    FILL,
    START,
];

const GAUGES: [Gauge; 4] = [
    Gauge { name: "flows_asking", unit: "", help: "how many flows of XCP the counter tells of" },
    Gauge { name: "flows_plain", unit: "", help: "how many other flows the counter tells of" },
    Gauge { name: "plain_share", unit: "", help: "the share of the link that the others are to have" },
    Gauge {
        name: "drop_p",
        unit: "",
        help: "the probability with which packets of the others are dropped, while they are",
    },
];

/// The router of XCP that limits those who do not ask.
#[derive(Debug)]
pub struct XcpTcp;

impl XcpTcp {
    /// One line of what it is.
    pub const TITLE: &'static str =
        "XCP's router beside TCP: drops as much of other flows as leaves XCP its share";
    /// The key of its source.
    pub const SOURCE: &'static str = "XCP-TCP";
    /// Its parameters.
    pub const PARAMETERS: &'static [Parameter] = &joined::<{ xcp::PARAMETERS.len() + PARAMETERS.len() }>();
    /// What it tells of itself.
    pub const GAUGES: [Gauge; 8] = {
        let ([a, b, c, d], [e, f, g, h]) = (xcp::GAUGES, GAUGES);
        [a, b, c, d, e, f, g, h]
    };
}

/// The parameters of XCP, then those of the mechanism.
const fn joined<const N: usize>() -> [Parameter; N] {
    let mut all = [PARAMETERS[0]; N];
    let (mut at, own) = (0, xcp::PARAMETERS.len());
    while at < N {
        all[at] = if at < own { xcp::PARAMETERS[at] } else { PARAMETERS[at - own] };
        at += 1;
    }
    all
}

/// The shortest period, ms: 1250 B at 10 Gbit/s. No rate can be told from a time in which no packet leaves.
const SHORTEST_PERIOD: f64 = 1e-3;

pub(super) fn resolve(settings: &mut Settings, site: &Site, largest: Bytes) -> Result<(), Refusal> {
    let period = settings.number("period");
    if period != 0.0 && period < SHORTEST_PERIOD {
        let text = format!(
            "{period} ms is too short to tell a rate; at least {SHORTEST_PERIOD} ms, or 0 for the control interval of XCP"
        );
        return Err(Refusal::new("period", text));
    }
    let (least, most) = (settings.number("min_p"), settings.number("max_p"));
    if least > most {
        return Err(Refusal::new("min_p", format!("{least} is more than max_p, {most}")));
    }
    xcp::resolve(settings, site, largest)
}
