//! `list`: the eBPF ports that this build carries. It needs no root, and no Linux.

use fairhaul_ports::{MISSING, Object, objects};
use serde_json::{Value, json};

/// All eBPF ports with their parameters, or the reason why this build carries none.
pub fn list() -> Value {
    json!({ "ports": objects().iter().map(port).collect::<Vec<_>>(), "missing": MISSING })
}

fn port(object: &Object) -> Value {
    let note = &object.note;
    json!({
        "name": note.name,
        "kernel_name": note.kernel_name(),
        "version": note.version,
        "title": note.title,
        "parameters": note.parameters,
    })
}
