//! The controller of a flow, as the kernel knows it.

use std::collections::BTreeMap;

use fairhaul_experiment::Flow;

/// The names in the kernel of the eBPF programs that were loaded for this run, by the [`identity`] of the controllers
/// of flows. Their parameters are set when they are loaded; the kernel's own controllers keep theirs.
pub type KernelNames = BTreeMap<String, String>;

/// A text that is the same for flows whose controllers are alike, parameters included.
pub fn identity(flow: &Flow) -> String {
    let controller = &flow.controller;
    match &controller.own {
        Some(own) => format!("{:?}", own.maker),
        None => format!("{} {:?}", controller.name(), controller.settings),
    }
}

/// The name in the kernel of the controller of a flow.
pub fn kernel_name<'a>(flow: &'a Flow, kernel_names: &'a KernelNames) -> &'a str {
    kernel_names.get(&identity(flow)).map_or(flow.controller.name(), String::as_str)
}

/// Whether a flow is without a controller that this project knows: datagrams, and what programs of the user send.
pub fn datagrams(flow: &Flow) -> bool {
    !flow.has_controller()
}
