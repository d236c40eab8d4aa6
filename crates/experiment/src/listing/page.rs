//! The page `docs/scenario.md`, written from the tables of keys.

use std::fmt::Write;

use super::{Word, default, queues, recoveries, traffics};
use crate::read::{Accepts, Field, SCENARIO, SIZE_WORDS, SLOW_START, Shape};

const HEAD: &str = r#"# Scenarios

<!-- Written by `cargo run -p fairhaul-experiment --example scenario-page`; edit crates/experiment/src/read/fields.rs. -->

A scenario is one question, as TOML. The same file runs on every engine; nothing in it names one.

```toml
title    = "Two flows, two round trips"
duration = "20 s"
warmup   = "5 s"

[bottleneck]
rate  = "20 Mbit/s"
delay = "10 ms"
queue = { kind = "droptail", capacity = "1 bdp" }

[[flow]]
name       = "near"
rtt        = "40 ms"
controller = "reno"

[[flow]]
name       = "far"
rtt        = "80 ms"
controller = "reno"
```

Quantities are texts with a unit: times in `ps`, `ns`, `us`, `ms`, `s`, `min`, `h`; rates in `bit/s`, `kbit/s`, `Mbit/s`,
`Gbit/s`, `Tbit/s`; sizes in `B`, `kB`, `MB`, `GB`, `TB` (powers of 1000) or `KiB`, `MiB`, `GiB`; frequencies in `/s`. A bare number
is refused where a unit is due. All mistakes of a file are reported at once, each with its line and the nearest right word.
"#;

/// No list of them: adding a controller does not touch this page.
const CONTROLLERS: &str = r#"
## Controllers

`fairhaul list controllers` names them, and `fairhaul list controllers fhstcp` the parameters of one; each has a page in
`controllers/`. A controller stands alone, `controller = "reno"`, or with its parameters, `controller = { kind = "fhstcp", c = 10 }`.
"#;

const RULES: &str = r#"
## What follows from the keys

- **Propagation.** The `rtt` of a flow is two-way propagation over its whole path. What the links leave of it is split
  evenly over four access hops, one at each end of each direction; the sums are exact in picoseconds. Without `rtt` a
  flow has the propagation of its links alone.
- **bdp** is rate x mean two-way propagation of the bulk flows that cross the link (each of `count` flows weighs the same), in
  packets of the largest `packet` of the scenario, rounded up. Where no bulk flow crosses the link, transfers of a fixed size stand in.
- **A link that changes** counts by its `rate` and its `delay` wherever one number is wanted (bdp, a capacity in time, the
  round trip, routes, overhead), and one that follows a trace by the mean of the trace.
- **A capacity in time** is rate x time in packets of the largest `packet`, rounded up.
- **Routes** in a graph are shortest paths by delay; among equals that of fewer hops, then the first in the file. ACKs take the same way back.
- **Access hops** in a graph exist for flows with `rtt`, at 10 x the rate of the slowest link on their way (of one that changes, its
  fastest).

## Paths of keys

`--set` and `[sweep]` name a key by its path: `seed`, `bottleneck.rate`, `flow.F1.controller.c`, `link.west-east.queue.capacity`.
The second part of a path into `flow`, `node` or `link` is a name, and may stand for several: `flow.F*.rtt`, `flow.{F1,F2}.rtt`.
A parameter may be set behind a word: `flow.F1.controller.c` turns `controller = "fhstcp"` into `{ kind = "fhstcp", c = … }`.

`--set key=value` replaces what the file says. The value is TOML where it is TOML, else a text: `--set duration=60s`.
A swept key that is set is taken out of the sweep.

```toml
[sweep]
"flow.F*.controller.c" = [5, 10, 20]
seed = [1, 2]
```

A sweep is every combination of its values, the last key varying fastest.
"#;

/// The page as Markdown.
pub fn page() -> String {
    let mut page = HEAD.to_owned();
    section(&mut page, "Top level", &SCENARIO);
    for field in SCENARIO.fields {
        if let Accepts::Table(shape) | Accepts::Tables(shape) = field.accepts {
            section(&mut page, shape.name, shape);
        }
    }
    tables_of_link(&mut page);
    page.push_str(CONTROLLERS);
    words(&mut page, "Queues", "queue", "kind", &queues());
    words(&mut page, "Recovery", "recovery", "kind", &recoveries());
    words(&mut page, "Slow start", "slow_start", "kind", &super::words(&SLOW_START));
    words(&mut page, "Traffic", "traffic", "kind", &traffics());
    words(&mut page, "Laws of size", "size", "law", &super::words(&SIZE_WORDS));
    page.push_str(RULES);
    page
}

fn section(page: &mut String, title: &str, shape: &Shape) {
    let title = if title.starts_with('[') { format!("`{title}`") } else { title.to_owned() };
    let _ = write!(page, "\n## {title}\n\n{}\n\n", shape.help);
    rows(page, shape.fields.iter().map(|f| [f.name.to_owned(), wanted(f), default(f), f.help.to_owned()]));
}

/// What a key accepts, or the section that says it.
fn wanted(field: &Field) -> String {
    match field.accepts {
        Accepts::List(_) if field.name == "schedule" => "a list, see [Schedule](#schedule)".into(),
        Accepts::Either(_) if field.name == "rate" => {
            "a rate such as \"1 Gbit/s\", or see [Trace](#trace)".into()
        }
        Accepts::Table(_) if field.name == "policer" => "see [Policer](#policer)".into(),
        Accepts::Table(_) if field.name == "reorder" => "see [Reordering](#reordering)".into(),
        Accepts::Controller => "see [Controllers](#controllers)".into(),
        Accepts::Tables(_) | Accepts::Table(_) => "see below".into(),
        Accepts::Sweep => "see [Paths of keys](#paths-of-keys)".into(),
        _ => match field.name {
            "queue" => "see [Queues](#queues)".into(),
            "loss" => "a probability, or see [Loss](#loss)".into(),
            "jitter" => "\"uniform 0 s..1 ms\", or see [Jitter](#jitter)".into(),
            "recovery" => "see [Recovery](#recovery)".into(),
            "slow_start" => "see [Slow start](#slow-start)".into(),
            "traffic" => "a size such as \"100 MB\", or see [Traffic](#traffic)".into(),
            _ => field.accepts.wanted(),
        },
    }
}

/// The keys of a link that have tables of their own, and the titles of their sections.
const OF_LINK: [(&str, &str); 6] = [
    ("loss", "Loss"),
    ("policer", "Policer"),
    ("jitter", "Jitter"),
    ("reorder", "Reordering"),
    ("schedule", "Schedule"),
    ("rate", "Trace"),
];

fn tables_of_link(page: &mut String) {
    let of_link = |key: &str| {
        SCENARIO.fields.iter().find_map(|field| match field.accepts {
            Accepts::Table(shape) => shape.fields.iter().find(|f| f.name == key),
            _ => None,
        })
    };
    for (key, title) in OF_LINK {
        let forms = match of_link(key) {
            Some(Field { accepts: Accepts::Either(all), .. }) => *all,
            Some(Field { accepts: Accepts::List(each), .. }) => std::slice::from_ref(*each),
            Some(Field { accepts, .. }) => std::slice::from_ref(accepts),
            None => continue,
        };
        for accepts in forms {
            if let Accepts::Table(shape) = accepts {
                section(page, title, shape);
            }
        }
    }
}

fn words(page: &mut String, title: &str, key: &str, tag: &str, words: &[Word]) {
    let _ = write!(page, "\n## {title}\n\n");
    for word in words {
        let _ = writeln!(page, "- `{}`: {}", word.name, word.title);
    }
    for word in words.iter().filter(|word| !word.keys.is_empty()) {
        let _ = write!(page, "\n`{key} = {{ {tag} = \"{}\", … }}`\n\n", word.name);
        let row =
            |k: &super::Key| [k.name.to_owned(), k.wanted.clone(), k.default.clone(), k.help.to_owned()];
        rows(page, word.keys.iter().map(row));
    }
}

/// A table of keys; an empty default is a required key.
fn rows(page: &mut String, rows: impl Iterator<Item = [String; 4]>) {
    page.push_str("| key | takes | default | |\n|---|---|---|---|\n");
    for [name, wanted, default, help] in rows {
        let default = if default.is_empty() { "required".into() } else { default };
        let cells = [wanted, default, help].map(|cell| cell.replace('|', "\\|"));
        let _ = writeln!(page, "| `{name}` | {} | {} | {} |", cells[0], cells[1], cells[2]);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_page_in_docs_is_the_one_that_the_tables_give() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scenario.md");
        let stands = std::fs::read_to_string(path).unwrap_or_default();
        let again = "run: cargo run -p fairhaul-experiment --example scenario-page";
        assert!(stands == super::page(), "docs/scenario.md is out of date; {again}");
    }
}
