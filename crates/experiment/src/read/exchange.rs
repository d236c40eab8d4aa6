//! Traffic from connection vectors: reads the file of the flow that plays the initiators, and finds the flow that plays
//! the acceptors.

use std::sync::Arc;

use super::capacity_trace::Traces;
use super::fields::FlowKeys;
use super::mistake::{Notes, way_out};
use crate::{Flow, Side, Traffic};

/// The traffic of a flow, with the connections of its file.
pub(super) fn with_file(keys: &FlowKeys, traces: &Traces, notes: &mut Notes) -> Option<Traffic> {
    let Traffic::Vectors { file, .. } = &keys.traffic.value else { return Some(keys.traffic.value.clone()) };
    match traces.vectors(file) {
        Ok(vectors) => Some(Traffic::Vectors { file: file.clone(), vectors }),
        Err(text) => {
            keys.traffic.key.note(text, notes);
            None
        }
    }
}

/// Finds for each flow of answers the flow that it answers; `flows` are those of `tables`, of which each is one.
pub(super) fn pair(tables: &[FlowKeys], flows: &mut [Vec<Flow>], notes: &mut Notes) {
    let names: Vec<&str> = tables.iter().map(|keys| keys.name.value.as_deref().unwrap_or_default()).collect();
    let asks = |table: usize| matches!(tables[table].traffic.value, Traffic::Vectors { .. });
    let mut answered = vec![false; tables.len()];
    let mut all_found = true;
    for (table, keys) in tables.iter().enumerate() {
        let Traffic::Answers { to, .. } = &keys.traffic.value else { continue };
        let Some(other) = names.iter().position(|name| name == to).filter(|other| asks(*other)) else {
            let known: Vec<&str> = (0..tables.len()).filter(|t| asks(*t)).map(|t| names[t]).collect();
            let text = format!("no flow \"{to}\" has \"vectors\" traffic{}", way_out(to, &known));
            keys.traffic.key.note(text, notes);
            all_found = false;
            continue;
        };
        if std::mem::replace(&mut answered[other], true) {
            keys.traffic.key.note(format!("another flow answers \"{to}\" already"), notes);
        }
        if keys.start.key.given {
            keys.start.key.note(format!("the flow starts with \"{to}\", which it answers"), notes);
        }
        let asking = flows[..other].iter().map(Vec::len).sum::<usize>() as u32;
        for flow in &mut flows[table] {
            flow.traffic = Traffic::Answers { to: to.clone(), flow: asking };
        }
    }
    for (table, keys) in tables.iter().enumerate() {
        let is_either = asks(table) || matches!(keys.traffic.value, Traffic::Answers { .. });
        if is_either && keys.count.value > 1 {
            keys.count.key.note("one flow plays the connections of a file; remove \"count\"", notes);
        }
        let has_answers = flows[table].first().is_some_and(|flow| match &flow.traffic {
            Traffic::Vectors { vectors, .. } => vectors.has(Side::Acceptor),
            _ => false,
        });
        if all_found && has_answers && !answered[table] {
            let text = format!(
                "the acceptors of the file write, too; add a [[flow]] of the other direction with traffic = \
                 {{ kind = \"answers\", to = \"{}\" }}",
                names[table]
            );
            keys.traffic.key.note(text, notes);
        }
    }
}

/// A file name, shared by the flows of a scenario.
pub(super) fn unread(file: String) -> Traffic {
    Traffic::Vectors { file, vectors: Arc::default() }
}
