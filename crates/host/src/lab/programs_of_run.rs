//! The programs of a run: their transfers, their routes, and whether they did what a flow has to do.

use fairhaul_experiment::Scenario;

use super::address::address;
use super::host_settings;
use super::layout::{Layout, Metrics};
use super::plan::Plan;
use super::program::{AllowedPrograms, allowed};
use super::router::Lab;
use super::traffic::{LabTransfer, TransferResult, Workload};
use crate::error::{Context, Error, Result};

/// The plan with what the transfers of flows with programs start.
///
/// # Errors
/// A refusal if programs are not allowed, or one is missing.
pub fn with_programs(plan: Plan, scenario: &Scenario, given: Option<&AllowedPrograms>) -> Result<Plan> {
    let Some(given) = allowed(scenario, given)? else { return Ok(plan) };
    let Plan { layout, mut transfers } = plan;
    for transfer in &mut transfers {
        let flow = &scenario.flows[layout.connections[transfer.connection as usize] as usize];
        let Some(pair) = &flow.program else { continue };
        let addresses = [transfer.from, transfer.to].map(|host| address(host, transfer.connection));
        transfer.workload = Workload::Programs(Box::new(given.programs(&flow.name, pair, addresses)?));
    }
    Ok(Plan { layout, transfers })
}

/// The lab of a plan. The addresses of a flow are those of its programs, which choose none, and packets of flows with
/// programs are captured where that is allowed.
///
/// # Errors
/// The hosts cannot be made, or do not have what the scenario asks for.
pub fn opened(
    layout: Layout,
    scenario: &Scenario,
    transfers: &[LabTransfer],
    given: Option<&AllowedPrograms>,
) -> Result<Lab> {
    host_settings::check(&layout.hosts, &layout.links)?;
    let lab = Lab::new(layout).when("cannot create the hosts of the lab")?;
    for transfer in transfers.iter().filter(|transfer| transfer.is_of_programs()) {
        let (from, to, connection) = (transfer.from, transfer.to, transfer.connection);
        for (own, other) in [(from, to), (to, from)] {
            let done = lab.host(own).speaks(own, other, connection, Metrics::default(), None);
            done.when("cannot set the route of a program")?;
        }
    }
    let captures = given.map(|given| given.captures(scenario));
    Ok(lab.capturing(captures.unwrap_or_default()))
}

/// Fails if a program ended early, or if no data of it have arrived.
///
/// # Errors
/// A sentence with the program and the time.
pub fn programs_worked(
    transfers: &[LabTransfer],
    results: &[TransferResult],
    arrived: &[u64],
    duration_s: f64,
) -> Result<()> {
    for result in results {
        let transfer = &transfers[result.connection as usize];
        let Workload::Programs(programs) = &transfer.workload else { continue };
        if let Some(failure) = &result.failure {
            return Err(Error::failed(failure.clone()));
        }
        if arrived[result.connection as usize] == 0 {
            let until_s = result.end.map_or(duration_s, |end| end.as_secs());
            return Err(Error::failed(format!(
                "{}: no data of it had reached {} after {until_s:.3} s of the run",
                programs.sender.name, programs.listens
            )));
        }
    }
    Ok(())
}
