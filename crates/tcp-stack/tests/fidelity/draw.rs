//! Draws a path, hosts and what they send.

use std::fmt::Write;

use fairhaul_units::Chance;

/// A scenario in parts: what both runs have, the keys of the flow that are not of its hosts, and those of its hosts.
pub struct Drawn {
    path: String,
    flow: String,
    hosts: String,
}

const OTHER: &str = r#"
[[flow]]
name = "other"
rtt = "30 ms"
controller = "cubic"
traffic = { kind = "onoff", rate = "3 Mbit/s", on = "1 s", off = "1 s" }
"#;

/// Controllers that ask no router, with and without pacing of their own.
const CONTROLLERS: [&str; 12] = [
    "reno",
    "reno",
    "cubic",
    "cubic",
    "bbr",
    "bbr3",
    "highspeed",
    "westwood",
    "vegas",
    "dctcp",
    "scalable",
    "compound",
];

impl Drawn {
    /// The scenario of that number.
    pub fn new(number: u64) -> Drawn {
        let mut chance = Chance::stream(number, "fidelity", 0);
        let path = path(number, &mut chance);
        let flow = flow(&mut chance);
        Drawn { path, flow, hosts: hosts(&mut chance) }
    }

    /// With the sender and the receiver of the engine.
    pub fn built_in(&self) -> String {
        format!("{}{}{}{OTHER}", self.path, self.flow, self.hosts)
    }

    /// With the same ones as a stack.
    pub fn stack(&self) -> String {
        let Drawn { path, flow, hosts } = self;
        format!("{path}{flow}[flow.stack]\nkind = \"fairhaul-tcp\"\nflow = '''{hosts}'''\n{OTHER}")
    }
}

fn one_of<'a>(words: &[&'a str], chance: &mut Chance) -> &'a str {
    words[chance.below(words.len() as u64) as usize]
}

/// A number from `from` to `to` that is evenly spread over its logarithm.
fn scale(from: f64, to: f64, chance: &mut Chance) -> f64 {
    // Without a logarithm, whose last bit differs between machines: a product of random halves.
    let mut value = from;
    while value < to && chance.hits(0.7) {
        value *= 1.0 + chance.unit();
    }
    value.min(to)
}

fn path(number: u64, chance: &mut Chance) -> String {
    let rate = scale(1.0, 40.0, chance);
    let capacity = scale(4.0, 200.0, chance) as u64;
    let queue = one_of(&["droptail", "droptail", "droptail", "codel", "fq_codel", "pie"], chance);
    let mut text = format!(
        "seed = {number}\nduration = \"{} s\"\nprofile = \"plain\"\n[bottleneck]\nrate = \"{rate:.3} Mbit/s\"\n\
         delay = \"5 ms\"\nqueue = {{ kind = \"{queue}\", capacity = \"{capacity} packets\" }}\n",
        2 + chance.below(5),
    );
    let mut sometimes = |share: f64, key: &str, value: &dyn Fn(&mut Chance) -> String| {
        if chance.hits(share) {
            let value = value(chance);
            let _ = writeln!(text, "{key} = {value}");
        }
    };
    sometimes(0.5, "loss", &|chance| format!("{:.5}", scale(0.0003, 0.05, chance)));
    sometimes(0.3, "reverse_loss", &|chance| format!("{:.5}", scale(0.001, 0.1, chance)));
    sometimes(0.3, "jitter", &|chance| {
        let (most, order) = (scale(0.1, 20.0, chance), chance.hits(0.5));
        format!("{{ delay = \"uniform 0 s..{most:.2} ms\", keep_order = {order} }}")
    });
    sometimes(0.3, "reorder", &|chance| {
        format!("{{ probability = 0.02, delay = \"{:.2} ms\" }}", scale(0.2, 80.0, chance))
    });
    sometimes(0.15, "duplicate", &|_| "0.01".to_owned());
    sometimes(0.2, "schedule", &|chance| {
        format!(
            "[{{ at = \"1 s\", rate = \"0 bit/s\" }}, {{ at = \"{:.2} s\", rate = \"{rate:.3} Mbit/s\" }}]",
            1.1 + scale(0.1, 3.0, chance)
        )
    });
    text
}

fn flow(chance: &mut Chance) -> String {
    let traffic = match chance.below(5) {
        0 => format!("\"{} kB\"", 20 + chance.below(2000)),
        1 => format!(
            "{{ kind = \"onoff\", rate = \"{:.2} Mbit/s\", on = \"0.5 s\", off = \"0.5 s\" }}",
            scale(0.3, 20.0, chance)
        ),
        2 => "{ kind = \"short\", rate = \"2 /s\", size = \"60 kB\" }".to_owned(),
        _ => "\"bulk\"".to_owned(),
    };
    let rtt = 12 + chance.below(100);
    format!(
        "[[flow]]\nname = \"compared\"\nrtt = \"{rtt} ms\"\npacket = \"1064 B\"\n\
         overhead = \"uniform 0 s..0 s\"\ntraffic = {traffic}\n"
    )
}

fn hosts(chance: &mut Chance) -> String {
    let mut text = format!("controller = \"{}\"\n", one_of(&CONTROLLERS, chance));
    let recovery = one_of(&["sack", "sack", "newreno", "reno", "rack", "rack"], chance);
    let mut key = |name: &str, value: &str| {
        let _ = writeln!(text, "{name} = {value}");
    };
    key("recovery", &format!("\"{recovery}\""));
    key("initial_window", one_of(&["2", "4", "10"], chance));
    key("delayed_ack", one_of(&["false", "false", "true", "\"5 ms\"", "\"adaptive\""], chance));
    key("rto", one_of(&["\"scaled\"", "\"rfc6298\"", "\"linux\""], chance));
    key("min_rto", one_of(&["\"0.2 s\"", "\"0.2 s\"", "\"1 s\""], chance));
    key("undo", one_of(&["true", "true", "false"], chance));
    key("growth", one_of(&["\"per packet\"", "\"per ack\""], chance));
    key("restart", one_of(&["\"none\"", "\"linux\"", "\"rfc5681\""], chance));
    key("pacing", one_of(&["\"none\"", "\"none\"", "\"fq\"", "\"quic\""], chance));
    key("slow_start", one_of(&["\"standard\"", "\"full\"", "\"hystart\"", "\"hystart++\""], chance));
    if recovery == "rack" && chance.hits(0.3) {
        key("on_timeout", "\"probe\"");
    }
    if chance.hits(0.3) {
        key("whole_window", "true");
    }
    if chance.hits(0.3) {
        key("ecn", "true");
    }
    if chance.hits(0.2) {
        key("receive_buffer", one_of(&["\"30 kB\"", "\"200 kB\""], chance));
    }
    text
}
