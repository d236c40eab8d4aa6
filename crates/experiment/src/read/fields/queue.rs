//! The keys of a queue: its capacity, and the parameters that its discipline describes.

use fairhaul_path::queue::{Codel, DropTail, FqCodel, Pie, Red, Sred, Xcp, XcpTcp};
use fairhaul_units::Parameter;

use super::field;
use crate::read::field::Accepts::{self, *};
use crate::read::field::{Fallback, Field, Shape, Words};

use Fallback::{Required, Said};

pub(crate) const QUEUE: Accepts =
    Words(&Words { tag: "kind", cases: &[DROPTAIL, RED, PIE, SRED, CODEL, FQ_CODEL, XCP, XCP_TCP] });

const CAPACITY: Field = field(
    "capacity",
    Capacity,
    Required,
    "Limit of the queue: a time (multiplied by the rate, in largest packets, rounded up), a size on the \
     wire, packets, a multiple of the bandwidth-delay product, or no limit.",
);

const DROPTAIL: Shape = Shape {
    name: "droptail",
    help: DropTail::TITLE,
    fields: &[
        CAPACITY,
        field(
            "mark",
            Capacity,
            Said("none"),
            "Marking threshold: a data packet of a flow with `ecn` that finds this much in the queue is \
             marked (RFC 3168). It takes the same forms as `capacity` and must be below it.",
        ),
    ],
};

const RED: Shape = Shape {
    name: "red",
    help: Red::TITLE,
    fields: &described::<{ Red::PARAMETERS.len() + 1 }>(Red::PARAMETERS),
};

const PIE: Shape = Shape {
    name: "pie",
    help: Pie::TITLE,
    fields: &described::<{ Pie::PARAMETERS.len() + 1 }>(Pie::PARAMETERS),
};

const SRED: Shape = Shape {
    name: "sred",
    help: Sred::TITLE,
    fields: &described::<{ Sred::PARAMETERS.len() + 1 }>(Sred::PARAMETERS),
};

const CODEL: Shape = Shape {
    name: "codel",
    help: Codel::TITLE,
    fields: &described::<{ Codel::PARAMETERS.len() + 1 }>(Codel::PARAMETERS),
};

const FQ_CODEL: Shape = Shape {
    name: "fq_codel",
    help: FqCodel::TITLE,
    fields: &described::<{ FqCodel::PARAMETERS.len() + 1 }>(FqCodel::PARAMETERS),
};

const XCP: Shape = Shape {
    name: "xcp",
    help: Xcp::TITLE,
    fields: &described::<{ Xcp::PARAMETERS.len() + 1 }>(Xcp::PARAMETERS),
};

const XCP_TCP: Shape = Shape {
    name: "xcp_tcp",
    help: XcpTcp::TITLE,
    fields: &described::<{ XcpTcp::PARAMETERS.len() + 1 }>(XcpTcp::PARAMETERS),
};

/// The capacity, and a key for each of these parameters.
const fn described<const N: usize>(parameters: &'static [Parameter]) -> [Field; N] {
    assert!(parameters.len() + 1 == N, "there is a field for every parameter");
    let mut fields = [const { CAPACITY }; N];
    let mut at = 1;
    while at < N {
        let parameter = &parameters[at - 1];
        fields[at] = Field {
            name: parameter.name,
            accepts: Described(parameter),
            fallback: Fallback::Described,
            help: parameter.help,
        };
        at += 1;
    }
    fields
}
