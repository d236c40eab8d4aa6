//! Translates a scenario into a layout and transfers, or into the list of requests that real hosts cannot fulfil.
//!
//! All data go to host 0, and come from one further host for each length of bursts, because that length applies
//! to everything that a host sends ([`Hosts`]); other settings of hosts make further ones. All other differences between
//! paths are in the network, where the router distinguishes packets by their addresses. So a dumbbell and any graph
//! mostly need two hosts.

use std::collections::BTreeMap;

use fairhaul_experiment::{
    Flow, Growth, Hold, Hop, HostPacing, OnTimeout, RUNS_WITH, Restart, Scenario, SlowStart, Startup, Traffic,
};
use fairhaul_path::LinkSpec;
use fairhaul_units::{Bytes, HEADER, Span};

use super::address::{MOST_CONNECTIONS, MOST_HOSTS};
use super::flow_controller::KernelNames;
use super::host_settings::Hosts;
use super::kernel_limits::KernelLimits;
use super::kernel_queue::MOST_QUEUES;
use super::layout::{FlowPath, Layout, MarksOnPath, Metrics, Mode};
use super::planned_transfers::{pace_by_sockets, transfers};
use super::processors;
use super::simulated_path::SimulatedPath;
use super::traffic::LabTransfer;
use crate::error::{Context, Error, Result};

/// The bounds of `TCP_MAXSEG`, from `linux/tcp.h`.
const LEAST_SEGMENT: u64 = 88;
const MOST_SEGMENT: u64 = 32_767;
/// The shortest delay of an acknowledgement in Linux, `TCP_DELACK_MIN`.
const DELAYED_ACK: Span = Span::from_ms(40);
/// The default margin of the retransmission timeout in Linux, `TCP_RTO_MIN`.
const MIN_RTO: Span = Span::from_ms(200);

/// What the lab carries packet by packet, at most.
#[derive(Clone, Copy, Debug)]
struct ExactLimits {
    /// Data packets of all flows, per second.
    packets: u64,
    /// Their bits per second, because copying long packets takes time as well.
    bps: u64,
}

/// As measured on two processors (docs/lab-reference.md): 1 Gbit/s of packets of 1500 B.
const EXACT_MOST: ExactLimits = ExactLimits { packets: 1_000_000_000 / (8 * 1500), bps: 3_000_000_000 };
/// The same if the router also does the work of hosts: 250 Mbit/s of packets of 1000 B.
const EXACT_MOST_ALONE: ExactLimits = ExactLimits { packets: 250_000_000 / (8 * 1000), bps: 250_000_000 };

/// The plan of the lab for a scenario.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Hosts, links and ways.
    pub layout: Layout,
    /// Transfers in the order of their connections, which is that of the record.
    pub transfers: Vec<LabTransfer>,
}

/// The plan for `scenario`.
///
/// # Errors
/// A sentence for each thing that real hosts cannot do.
pub fn plan(scenario: &Scenario, kernel_names: &KernelNames) -> Result<Plan> {
    plan_within(&KernelLimits::here()?, scenario, kernel_names)
}

/// The layout for `scenario` in the engine `linux`, without asking what the kernel can do.
pub fn simulated_layout(scenario: &Scenario) -> Layout {
    let planned = fairhaul_experiment::plan(scenario);
    let connections = planned.iter().map(|transfer| transfer.flow).collect();
    let mut layout = layout(scenario, connections, Mode::Exact);
    for (route, flow) in layout.routes.iter_mut().zip(&scenario.flows) {
        route.overhead = flow.overhead;
    }
    layout
}

fn plan_within(limits: &KernelLimits, scenario: &Scenario, kernel_names: &KernelNames) -> Result<Plan> {
    let mut refusals = Refusals::default();
    scenario.flows.iter().for_each(|flow| refusals.of_flow(flow, kernel_names, limits));
    scenario.links.iter().for_each(|link| refusals.of_link(link, limits));
    let queues = scenario.links.iter().filter(|link| link.queue.qdisc.is_some()).count();
    if queues > MOST_QUEUES {
        let reason = format!(
            "{queues} queues of the kernel, one for each direction of a link, are too many; at most {MOST_QUEUES}"
        );
        refusals.add("scenario", &scenario.title, reason);
    }
    let hosts = Hosts::of(&scenario.flows);
    if hosts.count() > usize::from(MOST_HOSTS) {
        let reason = format!(
            "the different settings of hosts, offload included, need {} hosts; at most {MOST_HOSTS} are possible",
            hosts.count()
        );
        refusals.add("scenario", &scenario.title, reason);
    }
    let planned = fairhaul_experiment::plan(scenario);
    if planned.len() > MOST_CONNECTIONS as usize {
        let reason = format!("{} connections are too many; at most {MOST_CONNECTIONS}", planned.len());
        refusals.add("scenario", &scenario.title, reason);
    }
    refusals.none(limits)?;
    let connections = planned.iter().map(|transfer| transfer.flow).collect();
    let mut layout = layout(scenario, connections, mode(scenario)?);
    let mut transfers = transfers(scenario, &planned, kernel_names, &layout.routes);
    if !limits.sets_hosts {
        pace_by_sockets(scenario, &mut layout, &mut transfers);
    }
    Ok(Plan { layout, transfers })
}

fn layout(scenario: &Scenario, connections: Vec<u32>, mode: Mode) -> Layout {
    let hosts = Hosts::of(&scenario.flows);
    Layout {
        hosts: hosts.settings(),
        links: scenario.links.clone(),
        routes: scenario.flows.iter().map(|flow| route(flow, &hosts)).collect(),
        bottlenecks: scenario.bottlenecks(),
        connections,
        seed: scenario.seed,
        mtu: scenario.flows.iter().map(|flow| flow.packet).max().unwrap_or(HEADER),
        mode,
    }
}

/// The layout for programs that use the path of one flow, the only connection: its sender is host 1.
///
/// # Errors
/// A sentence for each thing that real hosts cannot do for this flow; other flows are ignored.
pub fn around(scenario: &Scenario, number: u32, kernel_names: &KernelNames) -> Result<Layout> {
    let flow = &scenario.flows[number as usize];
    let mut refusals = Refusals::default();
    let limits = KernelLimits::here()?;
    refusals.of_flow(flow, kernel_names, &limits);
    scenario.links.iter().for_each(|link| refusals.of_link(link, &limits));
    refusals.none(&limits)?;
    Ok(layout_around(scenario, number, mode(scenario)?))
}

/// The same in the engine `linux`, without asking what the kernel can do.
pub fn simulated_layout_around(scenario: &Scenario, number: u32) -> Layout {
    let mut layout = layout_around(scenario, number, Mode::Exact);
    layout.routes.iter_mut().for_each(|route| route.overhead = scenario.flows[number as usize].overhead);
    layout
}

/// The pairs of addresses that a program in a host can use, each as the address of the sender and of the receiver plus the
/// same number: programs that distinguish peers see this many of them.
const SHELL_CONNECTIONS: usize = 256;

fn layout_around(scenario: &Scenario, number: u32, mode: Mode) -> Layout {
    let flow = &scenario.flows[number as usize];
    let hosts = Hosts::of(std::slice::from_ref(flow));
    // Links may treat flows by their numbers, so all of them have a path.
    Layout {
        hosts: hosts.settings(),
        links: scenario.links.clone(),
        routes: vec![route(flow, &hosts); scenario.flows.len()],
        bottlenecks: scenario.bottlenecks(),
        connections: vec![number; SHELL_CONNECTIONS],
        seed: scenario.seed,
        mtu: flow.packet,
        mode,
    }
}

fn route(flow: &Flow, hosts: &Hosts) -> FlowPath {
    FlowPath {
        from: hosts.sender(flow),
        to: hosts.receiver(flow),
        overhead: Span::ZERO,
        forward: flow.forward.clone(),
        reverse: flow.reverse.clone(),
        metrics: if flow.program.is_some() {
            Metrics::default()
        } else {
            Metrics {
                initial_window: Some(flow.initial_window as u32),
                min_rto: (flow.min_rto != MIN_RTO).then_some(flow.min_rto),
                ecn: flow.ecn,
                acknowledges_at_once: flow.delayed_ack.is_none(),
            }
        },
        writes_ahead: flow.program.is_none() && matches!(flow.traffic, Traffic::Bulk | Traffic::Sized(_)),
        is_opaque: flow.program.is_some(),
        marks: MarksOnPath { ect1: flow.ect1, accurate: flow.accecn.is_some(), middlebox: flow.middlebox },
    }
}

/// The requests of a flow that the hosts of the lab cannot fulfil.
fn unsupported_requests(flow: &Flow) -> Vec<String> {
    let mut reasons = Vec::new();
    let mut refuse = |refused: bool, reason: &str| {
        if refused {
            reasons.push(reason.to_string());
        }
    };
    let segment = (flow.packet - HEADER).0;
    refuse(
        !(LEAST_SEGMENT..=MOST_SEGMENT).contains(&segment),
        &format!(
            "packet = \"{}\": the kernel sends packets of {} to {}",
            flow.packet,
            Bytes(LEAST_SEGMENT) + HEADER,
            Bytes(MOST_SEGMENT) + HEADER
        ),
    );
    refuse(
        matches!(flow.traffic, Traffic::Vectors { .. } | Traffic::Answers { .. }),
        "traffic: the lab does not play connection vectors",
    );
    refuse(!flow.recovery.reports(), "recovery: the kernel uses selective acknowledgements; use \"sack\"");
    refuse(
        matches!(
            flow.slow_start,
            SlowStart::Limited { .. } | SlowStart::HyStartPp | SlowStart::Search { .. }
        ),
        "slow_start: the kernel's controller has its own; remove the key",
    );
    for (refused, reason) in rules_of_ours(flow) {
        refuse(refused, reason);
    }
    let window = flow.initial_window;
    refuse(
        window.fract() != 0.0 || window < 1.0,
        "initial_window: the kernel takes a whole number of packets, at least 1",
    );
    refuse(
        flow.initial_ssthresh.is_finite(),
        "initial_ssthresh: the kernel starts without a limit; remove the key",
    );
    refuse(
        flow.max_window.is_finite(),
        "max_window: the kernel has no limit of the window; use \
                                         receive_buffer",
    );
    refuse(!flow.undo, "undo: the kernel always undoes reductions for packets that were only late");
    refuse(
        flow.clock != fairhaul_experiment::ReceiverClock::default(),
        "clock_offset, clock_drift and clock_stamp: the hosts of the lab share one clock; remove these keys",
    );
    refuse(
        !(flow.min_rto % Span::from_ms(1)).is_zero() || flow.min_rto.is_zero(),
        "min_rto: the kernel takes whole milliseconds, at least 1 ms",
    );
    reasons
}

/// Of each rule that only our senders and receivers follow, whether a flow asks for it, and what to do.
fn rules_of_ours(flow: &Flow) -> [(bool, &'static str); 10] {
    [
        (
            matches!(flow.delayed_ack, Some(Hold::For { most, .. }) if most != DELAYED_ACK),
            "delayed_ack: the kernel supports \"adaptive\", true and false",
        ),
        (
            matches!(flow.delayed_ack, Some(Hold::For { packets, .. }) if packets != 2),
            "ack_every: the kernel acknowledges every second packet; remove the key",
        ),
        (flow.startup != Startup::None, "startup: the kernel begins with slow start; remove the key"),
        (flow.rate_limited_increase, "rate_limited_increase: the kernel has its own rule; remove the key"),
        (flow.growth == Growth::PerAck, "growth: the kernel counts packets; remove the key"),
        (
            matches!(flow.restart, Restart::Rfc5681 | Restart::Rfc7661),
            "restart: the kernel has its own rule; use \"linux\"",
        ),
        (
            flow.mark_beta.is_some() || flow.first_beta.is_some(),
            "mark_beta and first_beta: the kernel's controller has one factor for all reductions; remove these keys",
        ),
        (flow.on_timeout == OnTimeout::Probe, "on_timeout: the kernel starts over; remove the key"),
        (flow.min_window.is_some(), "min_window: the kernel's controller has its own; remove the key"),
        (flow.pacing == HostPacing::Quic, "pacing: the kernel has no pacing of QUIC; use \"fq\""),
    ]
}

/// What the lab carries packet by packet here. It is not measured at the start of a run, because the mode of a scenario
/// must not change from run to run.
fn exact_most() -> Result<ExactLimits> {
    let steers = processors::can_steer().when("cannot read the processors of this process")?;
    Ok(if steers { EXACT_MOST } else { EXACT_MOST_ALONE })
}

/// How hosts hand packets over. Where time is simulated, no rate is too high to carry each packet individually.
fn mode(scenario: &Scenario) -> Result<Mode> {
    if SimulatedPath::is_here() {
        return Ok(Mode::Exact);
    }
    exact_most().map(|most| mode_within(scenario, most))
}

/// How hosts of the lab do: individually, unless their kernel chooses, or links admit more data than that.
fn mode_within(scenario: &Scenario, most: ExactLimits) -> Mode {
    if scenario.flows.iter().any(Flow::has_bursts_of_kernel) {
        return Mode::Fast;
    }
    // The smallest packet of the flows that a link limits.
    let mut slowest = BTreeMap::new();
    for flow in &scenario.flows {
        let links = flow.forward.iter().filter_map(|hop| match hop {
            Hop::Link(link) => Some(*link),
            Hop::Access { .. } => None,
        });
        if let Some(link) = links.min_by_key(|link| scenario.links[*link as usize].rate.as_bps()) {
            let smallest = slowest.entry(link).or_insert(flow.packet);
            *smallest = flow.packet.min(*smallest);
        }
    }
    let offered = slowest.iter().fold((0, 0), |(packets, bps), (link, packet)| {
        let rate = scenario.links[*link as usize].rate.as_bps();
        (packets + rate / (8 * packet.0), bps + rate)
    });
    if offered.0 > most.packets || offered.1 > most.bps { Mode::Fast } else { Mode::Exact }
}

/// Requests that cannot be fulfilled, with the flow that makes them.
#[derive(Debug, Default)]
struct Refusals(Vec<(String, &'static str, Vec<String>)>);

impl Refusals {
    fn of_flow(&mut self, flow: &Flow, kernel_names: &KernelNames, limits: &KernelLimits) {
        let keys = flow.beyond_lab();
        let hosts = (!keys.is_empty() && !limits.sets_hosts).then(|| {
            format!("{}: the hosts of the lab have no such settings; this {RUNS_WITH}", keys.join(", "))
        });
        let reasons =
            unsupported_requests(flow).into_iter().chain(hosts).chain(limits.refusals(flow, kernel_names));
        reasons.for_each(|reason| self.add("flow", &flow.name, reason));
    }

    /// A queue of the kernel has a device whose packets leave at one rate, and nothing before it.
    fn of_link(&mut self, link: &LinkSpec, limits: &KernelLimits) {
        if link
            .queue
            .settings
            .pairs()
            .any(|(parameter, value)| parameter.name == "virtual" && value.number() == Some(1.0))
        {
            let reason =
                "virtual: requests between kernels have no room for what routers need to know of others";
            self.add("link", &link.name, reason.into());
        }
        let Some(qdisc) = link.queue.qdisc.as_deref() else { return };
        let mut refuse =
            |reason: &str| self.add("link", &link.name, format!("queue = \"{qdisc}\": {reason}"));
        if !limits.sets_hosts {
            refuse(&format!("the lab has no queues of the kernel; this {RUNS_WITH}"));
        }
        if qdisc.starts_with("netem") {
            refuse("netem is no queue; use the delay, loss, jitter, reorder and duplicate of the link");
        }
        if qdisc.split_whitespace().any(|word| word.starts_with("ack-filter")) {
            refuse("the kernel does not report the packets that ack-filter removes; use cake without it");
        }
        if link.schedule.rates.is_some() {
            refuse("the rate of a link with a queue of the kernel cannot change");
        }
        if link.impair.policer.is_some() {
            refuse("a link with a queue of the kernel cannot have a policer");
        }
        if !link.impair.mtu.is_empty() {
            refuse("a link with a queue of the kernel cannot have an MTU");
        }
        if link.shaper.is_some() {
            refuse("a link with a queue of the kernel cannot have a shaper; use the discipline tbf");
        }
    }

    fn add(&mut self, kind: &'static str, name: &str, reason: String) {
        match self.0.iter_mut().find(|known| known.0 == reason && known.1 == kind) {
            Some(known) => known.2.push(name.into()),
            None => self.0.push((reason, kind, vec![name.into()])),
        }
    }

    fn none(self, limits: &KernelLimits) -> Result<()> {
        let sentence = |(reason, kind, names): (String, &str, Vec<String>)| {
            let others = match names.len() - 1 {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("{kind} \"{}\"{others}: {reason}", names[0])
        };
        let sentences: Vec<String> = self.0.into_iter().map(sentence).collect();
        if sentences.is_empty() {
            return Ok(());
        }
        let engine = if limits.sets_hosts { "the engine linux" } else { "the lab" };
        Err(Error::refused(format!("{engine} cannot run this scenario:\n{}", sentences.join("\n"))))
    }
}

#[cfg(test)]
mod tests {
    use super::super::flow_controller::identity;
    use super::super::host_settings::HostSettings;
    use super::super::traffic::Workload;
    use super::*;
    use fairhaul_experiment::read;
    use fairhaul_path::BucketRule;
    use fairhaul_path::queue::QueueChoice;
    use fairhaul_units::Time;

    fn scenario(flows: &str) -> Scenario {
        // A flow that asks routers needs one.
        let queue = if flows.contains("\"xcp\"") { "xcp" } else { "droptail" };
        let text = format!(
            "profile = \"plain\"\nduration = \"10 s\"\npacket = \"1500 B\"\n[bottleneck]\nrate = \"100 Mbit/s\"\ndelay = \"10 ms\"\n\
             queue = {{ kind = \"{queue}\", capacity = \"20 ms\" }}\n{flows}"
        );
        read(&text, "test", &[]).expect("it is a scenario").base
    }

    /// The plan where ports can be loaded.
    fn plan(scenario: &Scenario, kernel_names: &KernelNames) -> Result<Plan> {
        let controllers = vec!["reno".into(), "cubic".into()];
        let limits = KernelLimits {
            controllers,
            loads_programs: true,
            buffers: None,
            sets_hosts: false,
            has_accurate_ecn: false,
        };
        plan_within(&limits, scenario, kernel_names)
    }

    fn flow(more: &str) -> String {
        format!("[[flow]]\nname = \"F\"\nrtt = \"40 ms\"\n{more}\n")
    }

    fn refused(more: &str, kernel_names: &KernelNames) -> String {
        match plan(&scenario(&flow(more)), kernel_names) {
            Err(Error::Refused(sentence)) => sentence,
            other => panic!("it is not refused: {other:?}"),
        }
    }

    #[test]
    fn a_dumbbell_becomes_two_hosts_and_a_connection_for_each_transfer() {
        let port = scenario(&flow("controller = \"fhstcp\"")).flows[0].clone();
        let kernel_names = KernelNames::from([(identity(&port), "reno".into())]);
        let text = flow("count = 2\ncontroller = \"reno\"\nstart = \"1 s\"\ninitial_window = 10")
            + &flow("controller = \"fhstcp\"\ntraffic = \"3 MB\"\nconnections = 3").replace("\"F\"", "\"G\"");
        let Plan { layout, transfers } = plan(&scenario(&text), &kernel_names).expect("real hosts can do it");
        assert_eq!((layout.hosts, layout.mtu), (vec![HostSettings::default(); 2], Bytes(1500)));
        assert_eq!(layout.connections, [0, 1, 2, 3, 4]);
        let metrics = layout.routes[0].metrics;
        assert_eq!((metrics.initial_window, metrics.min_rto), (Some(10), None));
        assert!(metrics.acknowledges_at_once && !metrics.ecn);
        // 10 ms of access, the link, 10 ms of access.
        assert_eq!(layout.routes[0].forward.len(), 3);
        assert_eq!(transfers[1].start, Time::ZERO + Span::from_s(1));
        assert!(matches!(transfers[1].workload, Workload::Endless));
        assert_eq!(transfers[1].options.segment, Bytes(1460));
        // Three carry 3 MB together.
        assert!(
            transfers[2..]
                .iter()
                .all(|t| matches!(t.workload, Workload::Size { size: Bytes(3_000_000), lead: Some(2) }))
        );
        assert_eq!(transfers[4].options.controller, "reno");
    }

    #[test]
    fn what_real_hosts_cannot_do_is_refused_in_a_sentence_each() {
        let none = KernelNames::new();
        let refusal = refused("controller = \"fhstcp\"\nrecovery = \"newreno\"\nundo = false", &none);
        assert!(
            refusal.starts_with("the lab cannot run this scenario:\nflow \"F\": recovery: the kernel"),
            "{refusal}"
        );
        assert!(
            refusal.contains("undo:") && refusal.contains("the kernel has no controller \"fhstcp\"; "),
            "{refusal}"
        );
        let refusal = refused("controller = \"reno\"\npacket = \"100 B\"", &none);
        assert!(
            refusal.contains("packet = \"100 B\": the kernel sends packets of 128 B to 32.807 kB"),
            "{refusal}"
        );
        let refusal = refused("controller = { kind = \"cubic\", beta = 0.5 }", &none);
        assert!(refusal.contains("no parameter \"beta\""), "{refusal}");
    }

    #[test]
    fn a_router_of_xcp_cannot_know_of_others() {
        let mut scenario = scenario(&flow("controller = \"xcp\""));
        let asking = scenario.flows[0].clone();
        let kernel_names = KernelNames::from([(identity(&asking), "reno".into())]);
        plan(&scenario, &kernel_names).expect("its port is there");
        scenario.links[0].queue.settings.set("virtual", 1.0);
        let refusal = plan(&scenario, &kernel_names).expect_err("it is refused").to_string();
        assert!(refusal.contains("virtual: requests"), "{refusal}");
    }

    #[test]
    fn each_length_of_bursts_has_a_host_and_datagrams_need_no_controller() {
        let text = flow("controller = \"reno\"\noffload = \"8 packets\"")
            + &flow("traffic = { kind = \"cbr\", rate = \"1 Mbit/s\" }").replace("\"F\"", "\"G\"");
        let Plan { layout, transfers } =
            plan(&scenario(&text), &KernelNames::new()).expect("real hosts can do it");
        assert_eq!(layout.hosts.iter().map(|host| host.burst).collect::<Vec<_>>(), [1, 1, 8]);
        assert_eq!(transfers.iter().map(|transfer| transfer.from).collect::<Vec<_>>(), [2, 1]);
        assert!(matches!(transfers[1].workload, Workload::Datagrams(_)));
    }

    #[test]
    fn settings_of_hosts_and_queues_of_the_kernel_are_refused_in_the_lab_and_planned_where_hosts_have_them() {
        let text = flow(
            "controller = \"reno\"\noffload = \"auto\"\npacket = \"9000 B\"\n\
             host = { gro = true, qdisc = \"fq\", line_rate = \"1 Gbit/s\" }",
        );
        let mut scenario = scenario(&text);
        let planned = |scenario: &Scenario, sets_hosts| {
            let controllers = vec!["reno".into()];
            let limits = KernelLimits {
                controllers,
                loads_programs: true,
                buffers: None,
                sets_hosts,
                has_accurate_ecn: false,
            };
            plan_within(&limits, scenario, &KernelNames::new())
        };
        scenario.links[0].queue = QueueChoice::of_kernel("fq_codel limit 100");
        let refusal = planned(&scenario, false).expect_err("it is the lab").to_string();
        assert_eq!(
            refusal,
            "the lab cannot run this scenario:\n\
             flow \"F\": host.line_rate: the hosts of the lab have no such settings; this runs with --engine linux\n\
             link \"bottleneck\": queue = \"fq_codel limit 100\": the lab has no queues of the kernel; this runs with \
             --engine linux"
        );
        let Plan { layout, transfers } = planned(&scenario, true).expect("its hosts have settings");
        let [receiver, sender] = &layout.hosts[..] else { panic!("{:?}", layout.hosts) };
        assert!(receiver.merges && sender.qdisc.as_deref() == Some("fq"));
        assert_eq!((transfers[0].from, transfers[0].to), (1, 0));
        assert_eq!((layout.mtu, transfers[0].options.segment), (Bytes(9000), Bytes(8960)));
        scenario.links[0].impair.policer =
            Some(BucketRule { rate: scenario.links[0].rate, burst: Bytes(100_000) });
        let refusal = planned(&scenario, true).expect_err("nothing may precede the queue").to_string();
        assert!(refusal.ends_with("a link with a queue of the kernel cannot have a policer"), "{refusal}");
        scenario.links[0].impair.mtu = vec![(Time::ZERO, 1500)];
        let refusal = planned(&scenario, true).expect_err("nothing may precede the queue").to_string();
        assert!(refusal.ends_with("a link with a queue of the kernel cannot have an MTU"), "{refusal}");
    }

    #[test]
    fn a_controller_of_linux_runs_where_the_kernel_has_it() {
        let refusal = refused("controller = \"cdg\"", &KernelNames::new());
        assert!(refusal.contains("the kernel has no controller \"cdg\""), "{refusal}");
        let limits = KernelLimits {
            controllers: vec!["cdg".into()],
            loads_programs: false,
            buffers: None,
            sets_hosts: false,
            has_accurate_ecn: false,
        };
        let planned = plan_within(&limits, &scenario(&flow("controller = \"cdg\"")), &KernelNames::new());
        assert_eq!(planned.expect("the kernel has it").transfers[0].options.controller, "cdg");
    }

    #[test]
    fn the_packets_that_all_links_admit_decide_the_mode() {
        let mode_of = |rate: &str, more: &str| {
            let text = flow(&format!("controller = \"reno\"\n{more}"));
            let mut scenario = scenario(&text);
            scenario.links.iter_mut().for_each(|link| link.rate = rate.parse().expect("a rate"));
            mode_within(&scenario, EXACT_MOST)
        };
        // Packets of 1500 B: 83333 per second.
        assert_eq!(mode_of("1 Gbit/s", ""), Mode::Exact);
        assert_eq!(mode_of("1.01 Gbit/s", ""), Mode::Fast);
        assert_eq!(mode_of("4 Gbit/s", "packet = \"9000 B\""), Mode::Fast); // 55556 packets
        // 125000 of 1000 B, and 13889 of 9000 B.
        assert_eq!(mode_of("1 Gbit/s", "packet = \"1000 B\""), Mode::Fast);
        assert_eq!(mode_of("1 Gbit/s", "packet = \"9000 B\""), Mode::Exact);
    }

    #[test]
    fn the_same_refusal_for_many_flows_is_reported_once() {
        let refusal = refused("count = 7\ncontroller = \"reno\"\nmax_window = 10", &KernelNames::new());
        assert_eq!(
            refusal,
            "the lab cannot run this scenario:\nflow \"F[0]\" and 6 more: max_window: the kernel has no limit of the window; use receive_buffer"
        );
    }

    #[test]
    fn flows_with_other_parameters_have_a_port_of_their_own() {
        let one = flow("controller = { kind = \"fhstcp\", c = 10 }");
        let two = flow("controller = { kind = \"fhstcp\", c = 20 }").replace("\"F\"", "\"G\"");
        let both = scenario(&(one + &two));
        let [first, second] = &both.flows[..] else { panic!("there are two") };
        let kernel_names =
            KernelNames::from([(identity(first), "reno".into()), (identity(second), "cubic".into())]);
        let Plan { transfers, .. } = plan(&both, &kernel_names).expect("real hosts can do it");
        let names: Vec<&str> = transfers.iter().map(|one| one.options.controller.as_str()).collect();
        assert_eq!(names, ["reno", "cubic"]);
    }
}
