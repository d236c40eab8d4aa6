//! Requests, and what answers them.

use std::sync::Arc;

use fairhaul_experiment::{
    CostEstimate, PacketRow, Scenario, Variant, catalogue, describe, packet_table, printable, read, schema,
    tables,
};
use fairhaul_sim::{Control, FlowState, RunError, Simulation, run, run_traced};
use fairhaul_units::{Span, Time};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Answer;
use crate::edit::{self, Edit};

/// Outstanding work may take half of the memory that 32-bit addresses reach.
const MOST_MEMORY: u64 = 2 << 30;

/// A scenario as a page has it.
#[derive(Deserialize)]
pub struct Input {
    /// TOML.
    text: String,
    /// The name of the text in messages.
    file: String,
    /// Pairs of key and value, as for `--set`.
    #[serde(default)]
    settings: Vec<(String, String)>,
    /// Which of the scenarios that `[sweep]` makes.
    #[serde(default)]
    variant: usize,
    /// Another seed.
    seed: Option<u64>,
}

/// What a page asks for.
#[derive(Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum Request {
    /// The controllers, queues, recoveries and traffic models with their keys, and the schema of scenarios.
    Catalogue,
    /// All mistakes of a scenario, or its description, what its run needs, and the variants of its sweep.
    Check(Input),
    /// The text of a scenario with some values changed, and its values as JSON.
    Edit {
        /// TOML.
        text: String,
        /// In this order.
        edits: Vec<Edit>,
    },
    /// The record of a whole run.
    Run(Input),
    /// What happens to each packet of some flows in a part of a run.
    Trace {
        /// The scenario.
        #[serde(flatten)]
        input: Input,
        /// Indices of flows.
        flows: Vec<u32>,
        /// Start of the part, seconds.
        from_s: f64,
        /// Its end, seconds.
        until_s: f64,
    },
    /// Begins a run in steps, and ends the one before.
    Begin(Input),
    /// Goes on with it until a time, and looks at it there.
    Advance {
        /// The time, seconds.
        until_s: f64,
    },
    /// Runs it to its end; the record.
    Finish,
}

/// What lasts from one request to the next: the run in steps, if one is under way.
#[derive(Default)]
pub struct Session(Option<Simulation>);

impl Session {
    /// The answer to a request, which is JSON.
    pub fn answer(&mut self, request: &[u8]) -> Answer {
        let done = match serde_json::from_slice(request) {
            Err(error) => Err(Answer::failure(&format!("the request is not valid: {error}"))),
            Ok(Request::Catalogue) => Ok(Answer::of(listed())),
            Ok(Request::Check(input)) => check(&input),
            Ok(Request::Edit { text, edits }) => edited(&text, &edits),
            Ok(Request::Run(input)) => whole_run(&input),
            Ok(Request::Trace { input, flows, from_s, until_s }) => trace(&input, &flows, from_s, until_s),
            Ok(Request::Begin(input)) => self.begin(&input),
            Ok(Request::Advance { until_s }) => self.advance(until_s),
            Ok(Request::Finish) => self.finish(),
        };
        done.unwrap_or_else(|refused| refused)
    }

    fn begin(&mut self, input: &Input) -> Result<Answer, Answer> {
        let scenario = Arc::new(chosen(input)?);
        let simulation =
            Simulation::new(Arc::clone(&scenario), control()).map_err(|why| failed(&scenario, &why))?;
        self.0 = Some(simulation);
        Ok(Answer::of(json!({ "now_s": 0.0 })))
    }

    fn advance(&mut self, until_s: f64) -> Result<Answer, Answer> {
        let simulation = self.0.as_mut().ok_or_else(nothing_under_way)?;
        let scenario = Arc::clone(simulation.scenario());
        let until = Time::ZERO + Span::from_secs(until_s.max(0.0));
        simulation.run_until(until).map_err(|why| failed(&scenario, &why))?;
        let flows: Vec<Value> =
            (0..scenario.flows.len()).map(|flow| state(&simulation.flow(flow as u32))).collect();
        let queued: Vec<u64> = (0..scenario.links.len()).map(|link| simulation.queued(link as u32)).collect();
        Ok(Answer::of(json!({ "now_s": simulation.now().as_secs(), "flows": flows, "queued": queued })))
    }

    fn finish(&mut self) -> Result<Answer, Answer> {
        let simulation = self.0.take().ok_or_else(nothing_under_way)?;
        let scenario = Arc::clone(simulation.scenario());
        let record = simulation.finish().map_err(|why| failed(&scenario, &why))?;
        Ok(Answer::of(json!({ "packets": record.packets })).with_tables(tables(&scenario, &record)))
    }
}

fn nothing_under_way() -> Answer {
    Answer::failure("no run is under way; `begin` starts one")
}

fn control() -> Control {
    let control = Control::default();
    control.limit_memory(MOST_MEMORY);
    control
}

fn failed(scenario: &Scenario, why: &RunError) -> Answer {
    Answer::failure(&format!("{}, seed {}, {why}", printable(&scenario.title), scenario.seed))
}

/// The scenarios of a text: one, or one for each variant of its sweep.
fn all(input: &Input) -> Result<Vec<Variant>, Answer> {
    let study = read(&input.text, &input.file, &input.settings).map_err(|mistakes| {
        Answer::mistakes(&mistakes.0.iter().map(ToString::to_string).collect::<Vec<_>>())
    })?;
    if study.sweep.is_empty() {
        return Ok(vec![Variant { settings: Vec::new(), scenario: study.base }]);
    }
    Ok(study.sweep)
}

fn chosen(input: &Input) -> Result<Scenario, Answer> {
    let mut scenarios = all(input)?;
    let last = scenarios.len() - 1;
    if input.variant > last {
        let line = format!("{}: there is no variant {}; the last is {last}", input.file, input.variant);
        return Err(Answer::mistakes(&[line]));
    }
    let scenario = scenarios.swap_remove(input.variant).scenario;
    Ok(Scenario { seed: input.seed.unwrap_or(scenario.seed), ..scenario })
}

fn edited(text: &str, edits: &[Edit]) -> Result<Answer, Answer> {
    let (text, values) = edit::edited(text, edits).map_err(|mistake| Answer::mistakes(&[mistake]))?;
    Ok(Answer::of(json!({ "text": text, "values": values })))
}

fn check(input: &Input) -> Result<Answer, Answer> {
    let variants: Vec<Value> = all(input)?.iter().map(|variant| json!(variant.settings)).collect();
    let scenario = chosen(input)?;
    let needs = CostEstimate::of(&scenario);
    let description: Value = serde_json::from_str(&describe(&scenario)).expect("a description is JSON");
    Ok(Answer::of(json!({
        "scenario": description,
        "estimate": { "packets": needs.packets, "seconds": needs.seconds, "bytes": needs.bytes },
        "variants": variants,
    })))
}

fn whole_run(input: &Input) -> Result<Answer, Answer> {
    let scenario = chosen(input)?;
    let record = run(&scenario, &control()).map_err(|why| failed(&scenario, &why))?;
    Ok(Answer::of(json!({ "packets": record.packets })).with_tables(tables(&scenario, &record)))
}

/// Each flow is followed in a run of its own; all these runs are the same.
fn trace(input: &Input, flows: &[u32], from_s: f64, until_s: f64) -> Result<Answer, Answer> {
    let scenario = chosen(input)?;
    if let Some(flow) = flows.iter().find(|&&flow| flow as usize >= scenario.flows.len()) {
        return Err(Answer::failure(&format!("no flow has the index {flow}")));
    }
    let (mut traced, mut is_full) = (Vec::new(), false);
    for &flow in flows {
        let (_, trace) = run_traced(&scenario, flow, &control()).map_err(|why| failed(&scenario, &why))?;
        is_full |= trace.full;
        let rows: Vec<PacketRow> =
            trace.rows.into_iter().filter(|row| (from_s..until_s).contains(&row.t_s)).collect();
        traced.push(packet_table(&rows));
    }
    Ok(Answer::of(json!({ "flows": flows, "is_full": is_full })).with_tables(traced.into_iter()))
}

fn state(flow: &FlowState) -> Value {
    json!({
        "cwnd_packets": flow.cwnd,
        "ssthresh_packets": flow.ssthresh.is_finite().then_some(flow.ssthresh),
        "in_flight_packets": flow.in_flight,
        "acknowledged_packets": flow.acknowledged,
        "srtt_s": flow.srtt.as_secs(),
        "is_recovering": flow.recovering,
    })
}

fn listed() -> Value {
    let schema: Value = serde_json::from_str(&schema()).expect("the schema is JSON");
    json!({ "words": catalogue(), "schema": schema })
}
