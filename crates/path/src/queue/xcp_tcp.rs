//! The queue `xcp_tcp` of the catalogue [XCP-TCP]: an XCP router that limits TCP to its share. The mechanism is in
//! `xcp/fairness.rs`.

use fairhaul_units::{Bytes, Kind, Parameter, Settings, Word};

use super::xcp::{DropLaw, FlowCounter};
use super::{Gauge, Refusal, Site, xcp};
use crate::count::{ENTRIES, FILL, OVERWRITE, START, WEIGHT};

const PARAMETERS: [Parameter; 18] = [
    Parameter {
        name: "rule",
        kind: Kind::Word(DropLaw::WORDS),
        default: DropLaw::Literal.value(),
        help: "literal: the drop probability changes by fixed factors; adaptive: it follows the current and accumulated excess of the TCP rate [XCP-TCP]",
    },
    Parameter {
        name: "counter",
        kind: Kind::Word(FlowCounter::WORDS),
        default: FlowCounter::Sred.value(),
        help: "flow counter [XCP-TCP]",
    },
    Parameter {
        name: "gate",
        kind: Kind::Number { least: 0.0, most: 1.0, unit: "" },
        default: 0.95,
        help: "smallest utilisation of the link at which it acts [XCP-TCP]",
    },
    Parameter {
        name: "tolerance",
        kind: Kind::Number { least: 0.0, most: 0.5, unit: "" },
        default: 0.02,
        help: "difference between a rate and its share that counts as equal, as a fraction of the link's rate",
    },
    Parameter {
        name: "period",
        kind: Kind::Number { least: 0.0, most: 10_000.0, unit: "ms" },
        default: 0.0,
        help: "time between updates, at least 0.001 ms; 0: the control interval of XCP",
    },
    Parameter {
        name: "min_p",
        kind: Kind::Number { least: 1e-9, most: 1.0, unit: "" },
        default: 1e-4,
        help: "literal: lower bound and initial value of the drop probability [XCP-TCP]",
    },
    Parameter {
        name: "max_p",
        kind: Kind::Number { least: 1e-6, most: 1.0, unit: "" },
        default: 0.1,
        help: "upper bound of the drop probability; higher values turn losses into timeouts",
    },
    Parameter {
        name: "up",
        kind: Kind::Number { least: 1.0, most: 10.0, unit: "" },
        default: 1.01,
        help: "literal: factor of the drop probability while the TCP rate is above its share and does not fall [XCP-TCP]",
    },
    Parameter {
        name: "down",
        kind: Kind::Number { least: 0.1, most: 1.0, unit: "" },
        default: 0.99,
        help: "literal: factor of the drop probability while the TCP rate is below its share [XCP-TCP]",
    },
    Parameter {
        name: "at_floor",
        kind: Kind::Switch,
        default: 0.0,
        help: "literal: also drop while the TCP rate is not above its share, with the current probability",
    },
    Parameter {
        name: "horizon",
        kind: Kind::Number { least: 1.0, most: 10_000.0, unit: "" },
        default: 10.0,
        help: "adaptive: number of round trips over which an accumulated excess or deficit is compensated",
    },
    Parameter {
        name: "inspect",
        kind: Kind::Number { least: 0.001, most: 1.0, unit: "" },
        default: 1.0,
        help: "fraction of packets that the counters inspect [XCP-TCP]",
    },
    Parameter {
        name: "stale",
        kind: Kind::Number { least: 0.0, most: 1000.0, unit: "s" },
        default: 1.0,
        help: "sred: time without a packet of a class after which its number of flows is 0; 0: never",
    },
    ENTRIES,
    OVERWRITE,
    WEIGHT,
    FILL,
    START,
];

const GAUGES: [Gauge; 4] = [
    Gauge { name: "flows_asking", unit: "", help: "number of XCP flows reported by the counter" },
    Gauge { name: "flows_plain", unit: "", help: "number of other flows reported by the counter" },
    Gauge { name: "plain_share", unit: "", help: "target share of the link for the other flows" },
    Gauge {
        name: "drop_p",
        unit: "",
        help: "probability with which packets of the other flows are dropped, while drops are active",
    },
];

/// The router of XCP that limits those who do not ask.
#[derive(Debug)]
pub struct XcpTcp;

impl XcpTcp {
    /// One line of what it is.
    pub const TITLE: &'static str =
        "XCP's router beside TCP: drops packets of other flows so that XCP gets its share";
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

/// The shortest period, ms: 1250 B at 10 Gbit/s. No rate can be measured in a time in which no packet leaves.
const SHORTEST_PERIOD: f64 = 1e-3;

pub(super) fn resolve(settings: &mut Settings, site: &Site, largest: Bytes) -> Result<(), Refusal> {
    let period = settings.number("period");
    if period != 0.0 && period < SHORTEST_PERIOD {
        let text = format!(
            "{period} ms is too short to measure a rate; wanted at least {SHORTEST_PERIOD} ms, or 0 for the \
             control interval of XCP"
        );
        return Err(Refusal::new("period", text));
    }
    let (least, most) = (settings.number("min_p"), settings.number("max_p"));
    if least > most {
        return Err(Refusal::new("min_p", format!("{least} exceeds max_p, {most}")));
    }
    xcp::resolve(settings, site, largest)
}
