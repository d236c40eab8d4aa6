//! Shows packets to a flow counter, for its cost to be told by a tool that counts instructions.
//!
//! `counting COUNTER SIZE FLOWS PACKETS`: a counter of that size (its first parameter), or `none`, sees SIZE
//! packets of equal flows, which fill it, and then PACKETS more. Two runs that differ in PACKETS alone differ
//! in instructions by what these packets cost.

use std::hint::black_box;

use fairhaul_path::count::{Counter, ZipfTraffic, entry};
use fairhaul_units::{Chance, Span};

const USAGE: &str = "usage: counting COUNTER|none SIZE FLOWS PACKETS";

fn main() -> Result<(), String> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let [name, size, flows, packets] = given.as_slice() else { return Err(USAGE.into()) };
    let number = |text: &String| text.parse::<u64>().map_err(|why| format!("{text}: {why}; {USAGE}"));
    let (fill, flows, packets) = (number(size)?, number(flows)?, number(packets)?);
    let weights = ZipfTraffic::weights(flows as usize, 0.0);
    let mut traffic = ZipfTraffic::new(&weights, Span::from_us(1), Chance::stream(1, "crowd", 0));
    if name == "none" {
        (0..fill + packets).for_each(|_| {
            black_box(traffic.packet());
        });
        return Ok(());
    }
    let entry = entry(name)?;
    let values = [(entry.parameters[0].name.to_owned(), size.clone())];
    let mut counter: Counter = entry.build(&values, Chance::stream(1, "count", 0))?;
    let now = traffic.send(fill + packets, &mut counter);
    println!("{}", black_box(counter.flows(now)));
    Ok(())
}
