//! The queue `xcp_tcp` of the catalogue [XCP-TCP]: an XCP router that limits TCP to its share. The mechanism is in
//! `xcp/fairness.rs`.

use fairhaul_units::{Bytes, Gauge, Parameter, Settings};

use super::{Refusal, Site, XcpTcpParameters, xcp};

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
    pub(super) const SOURCE: &'static str = "XCP-TCP";
    /// Its parameters.
    pub const PARAMETERS: &'static [Parameter] = XcpTcpParameters::LIST;
    pub(super) const GAUGES: [Gauge; 8] = {
        let ([a, b, c, d], [e, f, g, h]) = (xcp::GAUGES, GAUGES);
        [a, b, c, d, e, f, g, h]
    };
}

/// The shortest period, ms: 1250 B at 10 Gbit/s. No rate can be measured in a time in which no packet leaves.
const SHORTEST_PERIOD: f64 = 1e-3;

pub(super) fn resolve(settings: &mut Settings, _: &Site, _: Bytes) -> Result<(), Refusal> {
    let XcpTcpParameters { xcp, period, min_p, max_p, .. } = (&*settings).into();
    if period != 0.0 && period < SHORTEST_PERIOD {
        let text = format!(
            "{period} ms is too short to measure a rate; wanted at least {SHORTEST_PERIOD} ms, or 0 for the \
             control interval of XCP"
        );
        return Err(Refusal::new("period", text));
    }
    if min_p > max_p {
        return Err(Refusal::new("min_p", format!("{min_p} exceeds max_p, {max_p}")));
    }
    xcp.check()
}
