//! The page `docs/scenario.md`, written from the tables of keys.

use std::fmt::Write;

use super::{Word, default, recoveries, traffics};
use crate::read::{Accepts, Field, QueueKeys, SCENARIO, Shape, SizeWords};
use crate::{SlowStart, Startup};

const HEAD: &str = r#"# Scenarios

<!-- Written by `cargo run -p fairhaul-experiment --example scenario-page`; edit crates/experiment/src/read/fields.rs. -->

This page is the reference of all keys of a scenario; [first-scenario.md](first-scenario.md) is an introduction. A scenario describes one
experiment in TOML. The same file runs on every engine. What an engine cannot do, it refuses with a sentence for each key: the keys that say
"only with `--engine linux`" need the code of the Linux kernel.

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

Quantities are strings with a unit: a time such as `"80 ms"` in `ps`, `ns`, `us`, `ms`, `s`, `min`, `h`; a rate such as `"1 Gbit/s"` in
`bit/s`, `kbit/s`, `Mbit/s`, `Gbit/s`, `Tbit/s`; a size such as `"64 kB"` in `B`, `kB`, `MB`, `GB`, `TB` (powers of 1000) or `KiB`, `MiB`, `GiB`;
a frequency such as `"20 /s"`. A time, a rate and a size may have an exponent, as programs print it: `"1.58e+03 s"`. A bare number is rejected where a unit is required. A range such as `0 to 1` stands for a bare number, and a name has
letters, digits, `-` and `_`. All errors of a file are reported at once, each with its line and the nearest valid word.
"#;

/// What the tables do not repeat, because the head of the page says it once.
const SAID_ONCE: [(&str, &str); 7] = [
    (" such as \"80 ms\"", ""),
    (" such as \"1 Gbit/s\"", ""),
    (" such as \"1000 B\" or \"64 kB\"", ""),
    (" such as \"20 /s\"", ""),
    (" of letters, digits, \"-\" and \"_\"", ""),
    ("a list in which each entry is a time", "a list of times"),
    ("a number from ", ""),
];

/// No list of them: adding a controller does not touch this page.
const CONTROLLERS: &str = r#"
## Controllers

`fairhaul list controllers` lists them, and `fairhaul list controllers fhstcp` lists the parameters of one; each has a page in
`controllers/`. A controller is given by its name alone, `controller = "reno"`, or with parameters, `controller = { kind = "fhstcp", c = 10 }`.
"#;

const VECTORS: &str = r#"
## Connection vectors

A file records what the two ends of many connections wrote, in the original format of Tmix [TMIX]:

```text
SEQ 6851 1 21217 555382
> 245
t 51257
< 1213
CONC 1429381 2 2 26876 793318
c> 222
c< 726
t> 62436
c> 10
```

`SEQ` begins a conversation, with its start in microseconds: the initiator writes 245 B, and 51.257 ms after they have arrived the acceptor answers with 1213 B.
`CONC` begins a connection in which each side writes at its own times; a time is that since the last line of its side. Lines `w`, `r`, `l` and `m` (windows, round-trip
times, loss, segment sizes) are skipped, because the scenario gives these, and so are sizes of zero. A line that begins with `#` is a comment.

This command converts a file `alternate.cvec` in the alternate format of Tmix, whose connections begin with `S` and `C` and whose units are lines `I` and `A`:

```sh
awk '/^S/ {$1 = "SEQ"; c = ""} /^C/ {$1 = "CONC"; c = "c"}
     /^I|^A/ {d = /^I/ ? ">" : "<"; $0 = "t" (c ? d : "") " " $2 + $3 "\n" c d " " $4} 1' alternate.cvec > site.cvec
```

Two flows of opposite directions play a file. Each unit, which is what one side writes at once, has a connection of its own, as the transfers of `short` and `web` do:

```toml
[[flow]]
name       = "requests"
controller = "cubic"
traffic    = { kind = "vectors", file = "site.cvec" }

[[flow]]
name       = "responses"
direction  = "reverse"
controller = "cubic"
traffic    = { kind = "answers", to = "requests" }
```

The lab does not play connection vectors.
"#;

const RULES: &str = r#"
## Derived quantities

- **Propagation.** The part of a flow's `rtt` that the links do not account for is split evenly over four access hops, one at each end of each
  direction; the sums are exact to the picosecond.
- **bdp** is the rate x the mean two-way propagation delay of the bulk flows that cross the link (each of `count` flows has the same weight), in
  packets of the largest `packet` of the scenario, rounded up. If no bulk flow crosses the link, flows with a transfer of fixed size are used instead.
- **A link with a schedule** is represented by its `rate` and its `delay` wherever a single number is needed (bdp, a capacity in time, the
  round-trip time, routes, overhead); a link that follows a trace is represented by the mean of the trace.
- **A capacity in time** is the rate x the time, in packets of the largest `packet`, rounded up.
- **Routes** in a graph are shortest paths by delay; among equal ones the path with fewer hops is taken, then the first in the file. ACKs take the same path back.
- **Access hops** in a graph exist for flows with `rtt`; their rate is 10 x the (highest) rate of the slowest link on the path.

## Paths of keys

`--set` and `[sweep]` name a key by its path: `seed`, `bottleneck.rate`, `flow.F1.controller.c`, `link.west-east.queue.capacity`.
The second part of a path into `flow`, `node` or `link` is a name, or a pattern that matches several names: `flow.F*.rtt`, `flow.{F1,F2}.rtt`.
A path may set a parameter of a name that stands alone in the file: `flow.F1.controller.c` turns `controller = "fhstcp"` into `{ kind = "fhstcp", c = … }`.

`--set key=value` replaces the value in the file. A value that is valid TOML is read as TOML, any other as a string: `--set duration=60s`.
A swept key that is set with `--set` is removed from the sweep.

```toml
[sweep]
"flow.F*.controller.c" = [5, 10, 20]
seed = [1, 2]
```

A sweep runs every combination of its values; the last key varies fastest. Instead of a list a key may have a range, whose ends are numbers or quantities of one kind:

```toml
[sweep]
"bottleneck.queue.capacity" = { from = "0.1 bdp", to = "4 bdp", points = 7, scale = "log" }
"flow.F1.controller" = ["cubic", "bbr3"]
```

This makes 14 runs. With `scale = "log"` neighbouring values have equal ratios, otherwise (`"linear"`) equal differences. Values between the ends are rounded to four significant digits, or to whole numbers if both ends are.

Keys whose ranges have no `points` of their own are drawn together, `points` times in all. `{ any = […] }` draws from a list:

```toml
[sweep]
points = 200
"bottleneck.rate" = { from = "10 Mbit/s", to = "10 Gbit/s", scale = "log" }
"bottleneck.queue.kind" = { any = ["droptail", "red"] }
"flow.F1.controller" = ["cubic", "bbr3"]
```

This makes 400 runs: each of 200 drawn settings with each of two controllers. By default the settings form a Latin hypercube: the range of each key is divided into 200 equal parts, and each part is used once. With `design = "random"` each value is drawn by itself. `design_seed` (1 by default) is the seed of these random numbers.
"#;

/// The page as Markdown.
pub fn page() -> String {
    let mut page = HEAD.to_owned();
    section(&mut page, "Top level", &SCENARIO, &[]);
    let mut of_bottleneck: &[Field] = &[];
    for field in SCENARIO.fields {
        if let Accepts::Table(shape) | Accepts::Tables(shape) = field.accepts {
            section(&mut page, shape.name, shape, if field.name == "link" { of_bottleneck } else { &[] });
            if field.name == "bottleneck" {
                of_bottleneck = shape.fields;
            }
        }
    }
    tables_of(&mut page, "bottleneck", &OF_LINK);
    tables_of(&mut page, "flow", &OF_FLOW);
    page.push_str(CONTROLLERS);
    words(&mut page, "Queues", "queue", "kind", &super::words::<QueueKeys>());
    words(&mut page, "Recovery", "recovery", "kind", &recoveries());
    words(&mut page, "Slow start", "slow_start", "kind", &super::words::<SlowStart>());
    words(&mut page, "Startup", "startup", "kind", &super::words::<Startup>());
    words(&mut page, "Traffic", "traffic", "kind", &traffics());
    page.push_str(VECTORS);
    words(&mut page, "Size distributions", "size", "law", &super::words::<SizeWords>());
    page.push_str(RULES);
    page
}

/// A section of keys; a sentence names the keys that `before` has as well, with the same meaning.
fn section(page: &mut String, title: &str, shape: &Shape, before: &[Field]) {
    let title = if title.starts_with('[') { format!("`{title}`") } else { title.to_owned() };
    let _ = write!(page, "\n## {title}\n\n{}\n\n", shape.help);
    let again = |f: &&Field| before.iter().any(|b| b.name == f.name && b.help == f.help);
    let (known, own): (Vec<_>, Vec<_>) = shape.fields.iter().partition(again);
    let row = |f: &&Field| [f.name.to_owned(), wanted(f), default(f), f.help.to_owned()];
    rows(page, own.iter().map(row));
    if !known.is_empty() {
        let _ = write!(page, "\nFor {} see `[bottleneck]`.\n", listed(known.iter().map(|f| f.name)));
    }
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// What a key accepts, or the section that says it.
fn wanted(field: &Field) -> String {
    match field.accepts {
        Accepts::List(_) if field.name == "schedule" => "a list, see [Schedule](#schedule)".into(),
        Accepts::Either(_) if field.name == "rate" => {
            "a rate such as \"1 Gbit/s\", or see [Trace](#trace)".into()
        }
        Accepts::Table(_) if field.name.ends_with("policer") => "see [Token bucket](#token-bucket)".into(),
        Accepts::Table(_) if field.name == "shaper" => "see [Token bucket](#token-bucket)".into(),
        Accepts::Table(_) if field.name == "aggregate" => "see [Aggregation](#aggregation)".into(),
        Accepts::Table(_) if field.name.ends_with("reorder") => "see [Reordering](#reordering)".into(),
        Accepts::Table(_) if field.name == "host" => "see [Host](#host)".into(),
        Accepts::Table(_) if field.name == "program" => "see [Program](#program)".into(),
        Accepts::Controller => "see [Controllers](#controllers)".into(),
        Accepts::Stack => "see [Transport stacks](stacks.md)".into(),
        Accepts::Tables(_) | Accepts::Table(_) => "see below".into(),
        Accepts::Sweep => "see [Paths of keys](#paths-of-keys)".into(),
        _ => match field.name {
            "queue" | "reverse_queue" => "see [Queues](#queues)".into(),
            "loss" | "reverse_loss" => "a probability, or see [Loss](#loss)".into(),
            "jitter" | "reverse_jitter" => "\"uniform 0 s..1 ms\", or see [Jitter](#jitter)".into(),
            "recovery" => "see [Recovery](#recovery)".into(),
            "slow_start" => "see [Slow start](#slow-start)".into(),
            "startup" => "see [Startup](#startup)".into(),
            "traffic" => "a size such as \"100 MB\", or see [Traffic](#traffic)".into(),
            _ => field.accepts.wanted(),
        },
    }
}

/// The keys of a link that have tables of their own, and the titles of their sections.
const OF_LINK: [(&str, &str); 7] = [
    ("loss", "Loss"),
    ("policer", "Token bucket"),
    ("jitter", "Jitter"),
    ("aggregate", "Aggregation"),
    ("reorder", "Reordering"),
    ("schedule", "Schedule"),
    ("rate", "Trace"),
];

/// The same of a flow.
const OF_FLOW: [(&str, &str); 2] = [("host", "Host"), ("program", "Program")];

/// The sections of `keys` of the table under `above`.
fn tables_of(page: &mut String, above: &str, keys: &[(&str, &str)]) {
    let field = |key: &str| {
        let table = SCENARIO.fields.iter().find(|field| field.name == above)?;
        match table.accepts {
            Accepts::Table(shape) | Accepts::Tables(shape) => shape.fields.iter().find(|f| f.name == key),
            _ => None,
        }
    };
    for (key, title) in keys {
        let forms = match field(key) {
            Some(Field { accepts: Accepts::Either(all), .. }) => *all,
            Some(Field { accepts: Accepts::List(each), .. }) => std::slice::from_ref(*each),
            Some(Field { accepts, .. }) => std::slice::from_ref(accepts),
            None => continue,
        };
        for accepts in forms {
            if let Accepts::Table(shape) = accepts {
                section(page, title, shape, &[]);
            }
        }
    }
}

fn words(page: &mut String, title: &str, key: &str, tag: &str, words: &[Word]) {
    let _ = write!(page, "\n## {title}\n\n");
    for word in words {
        let _ = writeln!(page, "- `{}`: {}", word.name, word.title);
    }
    for (at, word) in words.iter().enumerate().filter(|(_, word)| !word.keys.is_empty()) {
        let _ = write!(page, "\n`{key} = {{ {tag} = \"{}\", … }}`\n\n", word.name);
        let first = |key: &super::Key| words[..at].iter().position(|before| before.keys.contains(key));
        let own = word.keys.iter().filter(|key| first(key).is_none()).collect::<Vec<_>>();
        if !own.is_empty() {
            let row =
                |k: &&super::Key| [k.name.to_owned(), k.wanted.clone(), k.default.clone(), k.help.to_owned()];
            rows(page, own.iter().map(row));
        }
        let again = |before: usize| {
            let names = word.keys.iter().filter(|key| first(key) == Some(before)).map(|key| key.name);
            let names = listed(names);
            (!names.is_empty()).then(|| format!("For {names} see `{}`.", words[before].name))
        };
        let again = (0..at).filter_map(again).collect::<Vec<_>>().join(" ");
        if !again.is_empty() {
            let _ = writeln!(page, "{}{again}", if own.is_empty() { "" } else { "\n" });
        }
    }
}

/// A table of keys; an empty default is a required key.
fn rows(page: &mut String, rows: impl Iterator<Item = [String; 4]>) {
    page.push_str("| key | value | default | meaning |\n|---|---|---|---|\n");
    for [name, wanted, default, help] in rows {
        let default = if default.is_empty() { "required".into() } else { default };
        let wanted = SAID_ONCE.iter().fold(wanted, |text, (long, short)| text.replace(long, short));
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
