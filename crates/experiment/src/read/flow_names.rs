//! The names of the flows that one `[[flow]]` makes.

/// The names of the flows that stand for `count` times `connections` connections, in their order.
pub(super) fn flow_names(name: &str, count: u64, connections: u64) -> impl Iterator<Item = String> {
    let flows = (0..count).map(move |index| indexed(name, count, index));
    flows.flat_map(move |flow| (0..connections).map(move |index| indexed(&flow, connections, index)))
}

/// The name of the `index`-th of `count`.
pub(super) fn indexed(name: &str, count: u64, index: u64) -> String {
    if count == 1 { name.to_owned() } else { format!("{name}[{index}]") }
}
