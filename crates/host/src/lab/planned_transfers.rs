//! The transfers of a plan: who sends what to whom, and by which sockets.

use fairhaul_experiment::{Scenario, Source};
use fairhaul_units::{HEADER, Rate};

use super::flow_controller::{KernelNames, datagrams, kernel_name};
use super::host_settings::paced_by_queue;
use super::layout::{FlowPath, Layout};
use super::socket::SocketOptions;
use super::traffic::{LabTransfer, Workload};

/// A bound of the rate of a socket that no link of the lab reaches.
const BEYOND_LINKS: Rate = Rate::from_bps(100_000_000_000).expect("not zero");

/// The transfers of `scenario` in the order of their connections, which take these `routes`.
pub(super) fn transfers(
    scenario: &Scenario,
    planned: &[fairhaul_experiment::Transfer],
    kernel_names: &KernelNames,
    routes: &[FlowPath],
) -> Vec<LabTransfer> {
    // Connections that share a transfer start together.
    let first = |flow: u32| planned.partition_point(|transfer| transfer.flow < flow) as u32;
    let transfer = |(connection, transfer): (u32, &fairhaul_experiment::Transfer)| {
        let flow = &scenario.flows[transfer.flow as usize];
        LabTransfer {
            connection,
            from: routes[transfer.flow as usize].from,
            to: routes[transfer.flow as usize].to,
            start: transfer.start,
            workload: workload(scenario, transfer, flow.lead.map(first)),
            options: SocketOptions {
                controller: kernel_name(flow, kernel_names).into(),
                segment: flow.packet - HEADER,
                send_buffer: flow.send_buffer,
                receive_buffer: flow.receive_buffer,
                max_pacing_rate: flow.max_pacing_rate,
            },
        }
    };
    (0..).zip(planned).map(transfer).collect()
}

/// The data of a transfer; `lead`: the first of the connections that share it, if any do.
fn workload(scenario: &Scenario, transfer: &fairhaul_experiment::Transfer, lead: Option<u32>) -> Workload {
    let flow = &scenario.flows[transfer.flow as usize];
    let source = Source::of(scenario, transfer.flow, transfer.start);
    match (source, transfer.size) {
        (Some(source), _) if datagrams(flow) => Workload::Datagrams(source),
        (Some(source), _) => Workload::AppLimited(source),
        (None, Some(size)) => Workload::Size { size, lead },
        (None, None) => Workload::Endless,
    }
}

/// Lets sockets pace where the queue of their host would: a bound of the rate makes the kernel do so, and one that no
/// link reaches limits nothing.
pub(super) fn pace_by_sockets(scenario: &Scenario, layout: &mut Layout, transfers: &mut [LabTransfer]) {
    layout.hosts.iter_mut().for_each(|host| host.qdisc = None);
    for transfer in transfers {
        let flow = &scenario.flows[layout.connections[transfer.connection as usize] as usize];
        if paced_by_queue(flow) {
            transfer.options.max_pacing_rate = Some(BEYOND_LINKS);
        }
    }
}
