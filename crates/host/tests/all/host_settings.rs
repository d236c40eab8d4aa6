//! Settings of hosts in a real kernel: what sets them, and what the kernel does not accept.

use crate::common;
use std::collections::BTreeMap;
use std::fs;

use fairhaul_host::lab::host_settings::{HostSettings, check};
use fairhaul_host::lab::layout::Layout;
use fairhaul_host::lab::{Dumbbell, Lab};
use fairhaul_host::namespace::ip;
use fairhaul_path::queue::{Capacity, QueueChoice};
use fairhaul_units::{Rate, Span};

fn layout(receiver: HostSettings) -> Layout {
    let dumbbell = Dumbbell {
        rate: Rate::from_bps(10_000_000).expect("not zero"),
        rtt: Span::from_ms(10),
        capacity: Capacity::Packets(100),
        loss: None,
        connections: 1,
    };
    let mut layout = dumbbell.layout();
    layout.hosts[1] = receiver;
    layout
}

fn sysctls(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
}

#[test]
fn a_host_has_the_settings_and_the_queue_discipline_of_its_scenario() {
    if !common::is_root() {
        return;
    }
    let _alone = common::alone();
    let settings = HostSettings {
        qdisc: Some("pfifo limit 77".into()),
        sysctls: sysctls(&[("net.ipv4.tcp_rmem", "4096 131072 6291456"), ("net.ipv4.tcp_ecn", "1")]),
        tunes_send_buffers: true,
        ..HostSettings::default()
    };
    let layout = layout(settings);
    check(&layout.hosts, &layout.links).expect("the kernel has all of it");
    let lab = Lab::new(layout).expect("root can make it");
    let inside = |host: u8, name: &'static str| {
        let read = || fs::read_to_string(format!("/proc/sys/net/ipv4/{name}"));
        let text = lab.host(host).namespace.inside(read).expect("every kernel has it");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(inside(1, "tcp_rmem"), "4096 131072 6291456");
    assert_eq!(inside(1, "tcp_ecn"), "1");
    // The other host has large buffers, and this one the send buffer of its kernel.
    assert_eq!(inside(0, "tcp_rmem"), "4096 131072 1073741824");
    assert_ne!(inside(1, "tcp_wmem"), inside(0, "tcp_wmem"));
    let link = lab.host(1).namespace.inside(|| ip("link show lab0")).expect("it has the device");
    assert!(link.contains("qdisc pfifo "), "{link}");
}

#[test]
fn what_the_kernel_does_not_accept_is_refused_before_hosts_are_made() {
    if !common::is_root() {
        return;
    }
    let _alone = common::alone();
    let mut layout = layout(HostSettings {
        qdisc: Some("fqq".into()),
        sysctls: sysctls(&[("net.ipv4.tcp_rmen", "1 2 3"), ("net.ipv4.tcp_ecn", "many")]),
        ..HostSettings::default()
    });
    layout.links[0].queue = QueueChoice::of_kernel("pfifo limi 7");
    let refusal = check(&layout.hosts, &layout.links).expect_err("there are four mistakes").to_string();
    let lines: Vec<&str> = refusal.lines().collect();
    assert!(
        lines[0].starts_with("host.sysctl: the kernel does not accept \"net.ipv4.tcp_ecn\" = \"many\": "),
        "{refusal}"
    );
    assert_eq!(
        lines[1],
        "host.sysctl: the kernel has no setting \"net.ipv4.tcp_rmen\"; did you mean \"net.ipv4.tcp_rmem\"?"
    );
    assert!(
        lines[2].starts_with("host.qdisc = \"fqq\": the kernel does not accept it; tc reports: "),
        "{refusal}"
    );
    assert!(lines[3].contains("queue.qdisc = \"pfifo limi 7\"") && lines[3].contains("limi"), "{refusal}");
}
