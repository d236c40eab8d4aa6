//! Draws a whole scenario: its magnitudes, links and flows, and removes what the reader does not accept.

use fairhaul_experiment::table::{Accepts, SCENARIO, Shape};
use fairhaul_experiment::{Mistakes, read};
use fairhaul_units::{Chance, Span};

use crate::doc::{Item, KeyPath, Keys};
use crate::value::{self, Draw, Magnitudes};

/// How often the key of a mistake is removed before another scenario is drawn.
const MOST_REPAIRS: usize = 40;
/// The file name of a scenario; traces are beside it.
pub const FILE: &str = "fuzz.toml";

/// Scenario number `number` of `seed`, which the reader accepts; `beside` is the folder of its traces.
pub fn accepted(seed: u64, number: u64, beside: &std::path::Path) -> Keys {
    let file = beside.join(FILE);
    let file = file.to_string_lossy();
    let mut tries = 0..;
    loop {
        let attempt = tries.next().unwrap_or(0);
        let chance = Chance::stream(seed, "scenario", number).split(&format!("attempt {attempt}"));
        let drawn = if number % 8 == 7 { healing(chance) } else { any(chance) };
        if let Some(keys) = repaired(drawn, &file) {
            return keys;
        }
    }
}

/// Any scenario, valid or nearly so.
pub fn any(chance: Chance) -> Keys {
    let mut draw = drawer(chance);
    let mut keys = draw
        .table(&SCENARIO, &["duration", "warmup", "bottleneck", "node", "link", "flow", "expect", "sweep"]);
    let duration = draw.scale.duration.as_ps() as f64;
    keys.set("duration", Item::text(&value::span(duration)));
    if draw.chance.hits(0.5) {
        let warmup = duration * draw.chance.unit();
        keys.set("warmup", Item::text(&value::span(warmup)));
    }
    let nodes = if draw.chance.hits(0.35) { 2 + draw.chance.below(4) } else { 0 };
    links(&mut draw, nodes, &mut keys);
    flows(&mut draw, nodes, &mut keys);
    keys
}

/// Transfers of a fixed size over a path that fails for a while and is then intact for long: all must complete.
fn healing(chance: Chance) -> Keys {
    let mut draw = drawer(chance);
    let seconds = draw.scale.duration.as_secs().min(200.0);
    let mut keys = draw.table(
        &SCENARIO,
        &["duration", "warmup", "packet", "bottleneck", "node", "link", "flow", "expect", "sweep"],
    );
    keys.set("duration", Item::text(&value::span((seconds + 100_000.0) * 1e12)));
    draw.scale.bps = draw.scale.bps.max(20_000.0);
    draw.scale.packets = draw.scale.packets.min(3000.0);
    let at = |share: f64| Item::text(&value::span((seconds * share * 1e12).max(1.0)));
    let (down, up) = (draw.chance.unit() * 0.5, 0.5 + draw.chance.unit());
    let rate = Item::text(&value::rate(draw.scale.bps));
    let change = |at, rate| Item::Table(Keys(vec![("at".into(), at), ("rate".into(), rate)]));
    let schedule = vec![change(at(down), Item::text("0 bit/s")), change(at(up), rate.clone())];
    let skipped = ["schedule", "queue", "access_rate", "loss", "policer", "shaper", "jitter"];
    let of_acks = ["reverse_loss", "reverse_policer", "reverse_jitter"];
    let mut link = draw.table(shape("bottleneck"), &[&skipped[..], &of_acks].concat());
    let queue = [
        ("kind", Item::text(draw.one(&["droptail", "droptail", "codel", "fq_codel", "pie"]))),
        ("capacity", Item::text(&format!("{} packets", draw.spread(20.0, 2000.0) as u64))),
    ];
    link.set("rate", rate);
    link.set("queue", Item::Table(Keys(queue.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())));
    link.set("schedule", Item::List(schedule));
    link.take("duplicate");
    keys.set("bottleneck", Item::Table(link));
    flows(&mut draw, 0, &mut keys);
    let bytes = draw.scale.packet * draw.scale.packets / 20.0;
    if let Some(Item::List(flows)) =
        keys.0.iter_mut().find(|entry| entry.0 == "flow").map(|entry| &mut entry.1)
    {
        for flow in flows {
            let Item::Table(flow) = flow else { continue };
            let size = Item::text(&format!("{} B", draw.spread(1.0, bytes.max(2.0)) as u64));
            flow.set("traffic", size);
            flow.take("start");
            flow.take("count");
            flow.take("max_pacing_rate");
            if flow.get("controller").is_none() {
                flow.set("controller", Item::text("reno"));
            }
        }
    }
    keys
}

/// Draws the magnitudes of a scenario.
fn drawer(chance: Chance) -> Draw {
    let still = Magnitudes {
        duration: Span::from_s(1),
        rtt: Span::from_ms(10),
        bps: 1e6,
        packet: 1000.0,
        packets: 100.0,
    };
    let mut draw = Draw { chance, scale: still, density: 0.0, odd: 0.0 };
    draw.density = draw.one(&[0.03, 0.15, 0.5]);
    draw.odd = draw.one(&[0.0, 0.02, 0.15]);
    let bps = if draw.chance.hits(0.1) { draw.spread(1.0, 1e15) } else { draw.spread(1e4, 1e10) };
    let packet = draw.one(&[1000.0, 1000.0, 1500.0, 64.0, 576.0, 64_000.0]);
    let packets = draw.spread(5.0, 12_000.0);
    let seconds = (packets * packet * 8.0 / bps).clamp(1e-9, 8_000_000.0);
    let rtts = draw.spread(0.5, 3000.0);
    draw.scale = Magnitudes {
        duration: Span::from_secs(seconds),
        rtt: Span::from_secs((seconds / rtts).clamp(1e-9, 10_000.0)),
        bps,
        packet,
        packets,
    };
    draw
}

/// The table under a key of the file.
fn shape(key: &str) -> &'static Shape {
    let field = SCENARIO.fields.iter().find(|field| field.name == key);
    match field.map(|field| &field.accepts) {
        Some(Accepts::Table(shape) | Accepts::Tables(shape)) => shape,
        _ => unreachable!("\"{key}\" is a table of a scenario"),
    }
}

fn links(draw: &mut Draw, nodes: u64, keys: &mut Keys) {
    if nodes == 0 {
        let mut link = draw.table(shape("bottleneck"), &[]);
        ascend(&mut link);
        keys.set("bottleneck", Item::Table(link));
        return;
    }
    let name = |n: u64| Item::text(&format!("n{n}"));
    let node = |n| {
        let mut keys = Keys::default();
        keys.set("name", name(n));
        Item::Table(keys)
    };
    keys.set("node", Item::List((0..nodes).map(node).collect()));
    // A chain, so that any two nodes are connected, and some additional links.
    let across = draw.chance.below(3);
    let ends: Vec<(u64, u64)> = (1..nodes).map(|n| (n - 1, n)).collect();
    let more = (0..across).map(|_| (draw.chance.below(nodes), draw.chance.below(nodes))).collect::<Vec<_>>();
    let ends = ends.into_iter().chain(more.into_iter().filter(|(a, b)| a != b));
    let mut links = Vec::new();
    for (number, (from, to)) in ends.enumerate() {
        let mut link = draw.table(shape("link"), &[]);
        link.set("name", Item::text(&format!("l{number}")));
        let swap = draw.chance.hits(0.3);
        link.set("from", name(if swap { to } else { from }));
        link.set("to", name(if swap { from } else { to }));
        ascend(&mut link);
        links.push(Item::Table(link));
    }
    keys.set("link", Item::List(links));
}

fn flows(draw: &mut Draw, nodes: u64, keys: &mut Keys) {
    let count = 1 + draw.chance.below(4);
    let mut flows = Vec::new();
    for number in 0..count {
        let mut flow = draw.table(shape("flow"), &["from", "to", "controller", "host"]);
        flow.set("name", Item::text(&format!("f{number}")));
        let traffic = flow.get("traffic").map(|item| match item {
            Item::Table(keys) => keys.get("kind").and_then(Item::as_text).unwrap_or_default().to_owned(),
            item => item.as_text().unwrap_or_default().to_owned(),
        });
        if let Some(host) = shape("flow").fields.iter().find(|field| field.name == "host")
            && draw.needs_kernel()
        {
            let host = draw.field(host);
            flow.set("host", host);
        }
        if traffic.as_deref() != Some("cbr") {
            let controller = draw.accepted(&Accepts::Controller);
            flow.set("controller", controller);
        }
        if nodes > 0 {
            let from = draw.chance.below(nodes);
            let to = (from + 1 + draw.chance.below(nodes - 1)) % nodes;
            flow.set("from", Item::text(&format!("n{from}")));
            flow.set("to", Item::text(&format!("n{to}")));
        } else if flow.get("rtt").is_none() && draw.chance.hits(0.6) {
            let rtt = draw.accepted(&Accepts::RoundTrips);
            flow.set("rtt", rtt);
        }
        let answer = (traffic.as_deref() == Some("vectors")).then(|| answers(&flow, number));
        flow.take("count")
            .filter(|_| answer.is_none())
            .into_iter()
            .for_each(|count| flow.set("count", count));
        flows.extend([Some(flow), answer].into_iter().flatten().map(Item::Table));
    }
    keys.set("flow", Item::List(flows));
}

/// The flow of the acceptors that answers the initiators of `flow`.
fn answers(flow: &Keys, number: u64) -> Keys {
    let mut answer = Keys::default();
    for key in ["from", "to", "controller", "rtt"] {
        flow.get(key).into_iter().for_each(|value| answer.set(key, value.clone()));
    }
    answer.set("name", Item::text(&format!("f{number}a")));
    answer.set("direction", Item::text("reverse"));
    let to = Item::text(&format!("f{number}"));
    let traffic = vec![("kind".into(), Item::text("answers")), ("to".into(), to)];
    answer.set("traffic", Item::Table(Keys(traffic)));
    answer
}

/// Puts the changes of a schedule in the order of their times, each once.
fn ascend(link: &mut Keys) {
    let at = |item: &Item| match item {
        Item::Table(keys) => {
            keys.get("at").and_then(Item::as_text).and_then(|text| text.parse::<Span>().ok())
        }
        _ => None,
    };
    if let Some(Item::List(mut changes)) = link.take("schedule") {
        changes.sort_by_key(at);
        changes.dedup_by_key(|item| at(item));
        link.set("schedule", Item::List(changes));
    }
}

/// `keys` without the keys that the reader rejects; `None` if nothing is left.
fn repaired(mut keys: Keys, file: &str) -> Option<Keys> {
    for _ in 0..MOST_REPAIRS {
        let (text, paths) = keys.long();
        match read(&text, file, &[]) {
            Ok(_) => return Some(keys),
            Err(mistakes) => {
                let wrong = last(&mistakes, &paths)?.clone();
                keys.cut(&wrong)?;
            }
        }
    }
    None
}

/// The path of the last mistake.
fn last<'a>(mistakes: &Mistakes, paths: &'a [KeyPath]) -> Option<&'a KeyPath> {
    let lines =
        mistakes.0.iter().filter_map(|mistake| mistake.place.rsplit(':').next()?.parse::<usize>().ok());
    paths.get(lines.max()?.checked_sub(1)?)
}
