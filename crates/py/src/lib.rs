//! The module `fairhaul._core`: scenarios are read, runs are run, records become Arrow tables, controllers written in
//! Python get the measurements of their senders. Conversions only; the meaning of a number is decided in `experiment`,
//! `path` and `sim`, its use in Python.

mod agents;
mod capture;
mod count;
mod guard;
mod own;
mod own_events;
mod run;
mod simulation;
mod study;
mod table;
mod words;

use pyo3::prelude::*;

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("__engine__", env!("FAIRHAUL_ENGINE"))?;
    module.add("ScenarioError", py.get_type::<study::ScenarioError>())?;
    module.add("RunError", py.get_type::<run::RunError>())?;
    module.add("Stopped", py.get_type::<run::Stopped>())?;
    module.add_class::<capture::Capture>()?;
    module.add_class::<capture::CapturedConnection>()?;
    module.add_class::<study::Scenario>()?;
    module.add_class::<own::PythonKind>()?;
    module.add_class::<own::Driven>()?;
    module.add_class::<own_events::Window>()?;
    module.add_class::<own_events::Ack>()?;
    module.add_class::<own_events::Round>()?;
    module.add_class::<own_events::Event>()?;
    module.add_class::<run::Run>()?;
    module.add_class::<simulation::Simulation>()?;
    module.add_class::<simulation::FlowState>()?;
    module.add_class::<run::Outcome>()?;
    module.add_class::<table::Table>()?;
    module.add_function(wrap_pyfunction!(capture::is_capture, module)?)?;
    module.add_function(wrap_pyfunction!(capture::read_capture, module)?)?;
    module.add_function(wrap_pyfunction!(capture::read_content, module)?)?;
    module.add_function(wrap_pyfunction!(run::received, module)?)?;
    module.add_function(wrap_pyfunction!(agents::step_agents, module)?)?;
    module.add_function(wrap_pyfunction!(study::read, module)?)?;
    module.add_function(wrap_pyfunction!(study::restored, module)?)?;
    module.add_function(wrap_pyfunction!(study::drawn, module)?)?;
    module.add_function(wrap_pyfunction!(words::quantity, module)?)?;
    module.add_function(wrap_pyfunction!(words::range_ends, module)?)?;
    module.add_function(wrap_pyfunction!(words::number_and_unit, module)?)?;
    module.add_function(wrap_pyfunction!(words::nearest, module)?)?;
    module.add_function(wrap_pyfunction!(study::schema, module)?)?;
    module.add_function(wrap_pyfunction!(study::sources, module)?)?;
    module.add_function(wrap_pyfunction!(study::catalogue, module)?)?;
    module.add_function(wrap_pyfunction!(count::count_flows, module)?)
}
