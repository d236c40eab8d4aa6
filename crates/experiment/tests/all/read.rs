//! The meaning of scenarios, worked out by hand, and the messages for invalid ones.

use fairhaul_cc::words::{BicVariant, CubicVariant};
use fairhaul_experiment::{
    Flow, Hold, Hop, KernelRelease, Profile, Recovery, Rto, Scenario, SizeLaw, SlowStart, Start, Study,
    Traffic, Variant, describe, drawn, plan, read,
};
use fairhaul_path::BucketRule;
use fairhaul_path::card::{DimDriver, Moderation, Noise, Processor};
use fairhaul_path::impair::{
    AggregateRule, Bursts, Impairments, JitterRule, LossRule, ReorderRule, TimedBursts,
};
use fairhaul_path::queue::Capacity;
use fairhaul_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;

const DUMBBELL: &str = r#"profile = "plain"
duration = "10 s"
[bottleneck]
rate = "1 Gbit/s"
delay = "20 ms"
queue = { kind = "droptail", capacity = "1 bdp" }
[[flow]]
name = "F1"
rtt = "80 ms"
controller = "reno"
[[flow]]
name = "F2"
count = 2
rtt = ["140 ms", "200 ms"]
controller = { kind = "reno" }
"#;

const GRAPH: &str = r#"profile = "plain"
duration = "10 s"
[[node]]
name = "a"
[[node]]
name = "b"
[[node]]
name = "c"
[[link]]
from = "a"
to = "c"
rate = "10 Mbit/s"
delay = "20 ms"
queue = { kind = "droptail", capacity = "10 packets" }
[[link]]
from = "a"
to = "b"
rate = "20 Mbit/s"
delay = "10 ms"
queue = { kind = "droptail", capacity = "10 packets" }
[[link]]
name = "second"
from = "c"
to = "b"
rate = "5 Mbit/s"
delay = "9 ms"
queue = { kind = "droptail", capacity = "unlimited" }
loss = 0.5
[[flow]]
name = "f"
from = "a"
to = "c"
controller = "reno"
"#;

fn study(text: &str, overrides: &[(&str, &str)]) -> Study {
    let overrides: Vec<_> = overrides.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    read(text, "test.toml", &overrides).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

fn base(text: &str, overrides: &[(&str, &str)]) -> Scenario {
    study(text, overrides).base
}

fn mistakes(text: &str, overrides: &[(&str, &str)]) -> String {
    let overrides: Vec<_> = overrides.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    read(text, "test.toml", &overrides).expect_err("this is wrong").to_string()
}

/// The hops as text: `0` a link, `10000M+10ms` an access hop.
fn way(hops: &[Hop]) -> String {
    let hop = |hop: &Hop| match hop {
        Hop::Link(link) => link.to_string(),
        Hop::Access { rate, delay } => format!("{rate}+{delay}"),
    };
    hops.iter().map(hop).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_round_trip_of_80_ms_over_a_link_of_20_leaves_10_ms_for_each_access_hop() {
    let scenario = base(DUMBBELL, &[]);
    assert_eq!(way(&scenario.flows[0].forward), "10 Gbit/s+10 ms 0 10 Gbit/s+10 ms");
    assert_eq!(way(&scenario.flows[0].reverse), "10 Gbit/s+10 ms 1 10 Gbit/s+10 ms");
    assert_eq!(scenario.links[1].name, "bottleneck (reverse)");
    assert_eq!(scenario.title, "test");
}

#[test]
fn bdp_weighs_every_flow_alike_and_takes_the_largest_packet() {
    // (80 + 140 + 200) / 3 = 140 ms: 17 500 packets of 1000 B, 8750 of 2000 B.
    assert_eq!(base(DUMBBELL, &[]).links[0].capacity, Capacity::Packets(17_500));
    let scenario = base(DUMBBELL, &[("flow.F1.packet", "2000 B")]);
    assert_eq!(scenario.links[1].capacity, Capacity::Packets(8_750));
    // Only F1 is bulk: 80 ms are 10 000 packets.
    let scenario = base(DUMBBELL, &[("flow.F2.traffic", "1 MB")]);
    assert_eq!(scenario.links[0].capacity, Capacity::Packets(10_000));
    // There is none, so flows of a fixed size are used instead.
    let scenario = base(DUMBBELL, &[("flow.F*.traffic", "1 MB")]);
    assert_eq!(scenario.links[0].capacity, Capacity::Packets(17_500));
}

#[test]
fn a_mark_has_the_forms_of_a_capacity_and_holds_for_both_directions() {
    let links = |text| {
        let marked = DUMBBELL.replace("\"1 bdp\" }", &format!("\"1 bdp\", mark = \"{text}\" }}"));
        base(&marked, &[]).links
    };
    // Of the 17 500 packets of the bandwidth-delay product; a quarter of it are 4375.
    assert_eq!(links("50 packets")[0].mark, Capacity::Packets(50));
    assert_eq!(links("0.25 bdp")[1].mark, Capacity::Packets(4375));
    assert_eq!(links("20 ms")[0].mark, Capacity::Packets(2500));
    assert_eq!(links("64 kB")[0].mark, Capacity::Bytes(Bytes(64_000)));
    assert_eq!(links("50 packets")[0].capacity, Capacity::Packets(17_500));
    assert_eq!(base(DUMBBELL, &[]).links[0].mark, Capacity::Unlimited);
}

#[test]
fn a_queue_marks_before_it_drops_and_only_what_has_an_echo() {
    let told = |capacity: &str, mark: &str| {
        let queue = format!("capacity = \"{capacity}\", mark = \"{mark}\"");
        mistakes(&DUMBBELL.replace("capacity = \"1 bdp\"", &queue), &[])
    };
    let text = told("50 packets", "50 packets");
    assert_eq!(text, "test.toml:6: mark: 50 packets must be below the capacity, 50 packets");
    // 64 packets of 1000 B are as much as 64 kB.
    assert!(told("64 kB", "64 packets").ends_with("mark: 64 packets must be below the capacity, 64 kB"));
    assert!(told("9 packets", "9 kB").contains("mark: 9 kB must be below"));
    assert!(told("1 bdp", "2 bdp").contains("mark: 35000 packets must be below the capacity, 17500 packets"));
    assert!(told("unlimited", "unlimited").contains("remove the key"));
    assert!(told("1 bdp", "0 packets").contains("mark: 0 packets is too small; at least \"1 packet\""));
    let cbr = "controller = \"reno\"\n[[flow]]\nname = \"D\"\necn = true\n\
               traffic = { kind = \"cbr\", rate = \"1 Mbit/s\" }\n";
    let text = mistakes(&DUMBBELL.replacen("controller = \"reno\"\n", cbr, 1), &[]);
    assert!(
        text.contains("ecn: not possible with \"cbr\" traffic, because UDP has no ECN feedback"),
        "{text}"
    );
}

#[test]
fn parameters_of_red_that_do_not_fit_are_refused_where_they_stand() {
    let told = |parameters: &str| {
        let queue = format!("{{\nkind = \"red\", capacity = \"200 packets\",\n{parameters} }}");
        mistakes(&DUMBBELL.replace("{ kind = \"droptail\", capacity = \"1 bdp\" }", &queue), &[])
    };
    let text = told("min_threshold = 30,\nmax_threshold = 20");
    assert_eq!(
        text,
        "test.toml:9: max_threshold: 20 packets must be above the lower threshold of 30 packets"
    );
    // One that is automatic: 1 Gbit/s carries 125 packets of 1000 B in a ms, and half of 5 ms are 312.5.
    let text = told("max_threshold = 300");
    assert_eq!(
        text,
        "test.toml:8: max_threshold: 300 packets must be above the lower threshold of 312.5 packets"
    );
    let text = told("threshold_unit = \"capacity\",\nmin_threshold = 0.5, max_threshold = 2");
    assert_eq!(text, "test.toml:9: max_threshold: 2 exceeds the whole capacity, 1");
    let text = told("threshold_unit = \"capacity\", min_threshold = 0.5, max_threshold = 0.25");
    assert!(text.ends_with("50 packets must be above the lower threshold of 100 packets"), "{text}");
    assert!(
        told("q_weight = -1.5")
            .contains("q_weight: wanted a weight of at least 0, or one of the codes -1 and -2")
    );
    assert!(told("mean_packet = 0.5").contains("mean_packet: 0.5 B is less than one byte"));
    assert!(told("min_threshold = -1").contains("min_threshold"));
    assert!(told("min_treshold = 5").contains("did you mean \"min_threshold\"?"));
    let endless = DUMBBELL.replace(
        "kind = \"droptail\", capacity = \"1 bdp\"",
        "kind = \"red\", capacity = \"unlimited\", threshold_unit = \"capacity\", min_threshold = 0.5",
    );
    assert!(
        mistakes(&endless, &[])
            .contains("threshold_unit: fractions of the capacity need a queue with a limit")
    );
}

#[test]
fn a_flow_is_ecn_capable_by_its_key_or_by_a_controller_that_reads_marks() {
    let ecn = |overrides: &[(&str, &str)]| -> Vec<bool> {
        base(DUMBBELL, overrides).flows.iter().map(|flow| flow.ecn).collect()
    };
    assert_eq!(ecn(&[]), [false; 3]);
    assert_eq!(ecn(&[("flow.F1.controller", "dctcp")]), [true, false, false]);
    assert_eq!(ecn(&[("flow.F1.controller", "dctcp"), ("flow.F1.ecn", "false")]), [false; 3]);
    assert_eq!(ecn(&[("flow.F2.ecn", "true")]), [false, true, true]);
}

#[test]
fn a_capacity_in_time_is_packets_and_in_bytes_stays_bytes() {
    let capacity = |text| base(DUMBBELL, &[("bottleneck.queue.capacity", text)]).links[0].capacity;
    assert_eq!(capacity("20 ms"), Capacity::Packets(2500));
    assert_eq!(capacity("20001 us"), Capacity::Packets(2501)); // 2500.125
    assert_eq!(capacity("64 kB"), Capacity::Bytes(Bytes(64_000)));
    assert_eq!(capacity("unlimited"), Capacity::Unlimited);
}

#[test]
fn what_is_left_out_has_its_default() {
    let flow = &base(DUMBBELL, &[]).flows[2];
    assert_eq!((flow.name.as_str(), flow.group.as_str()), ("F2[1]", "F2[1]"));
    assert_eq!(
        (flow.recovery, flow.traffic.clone(), flow.start),
        (Recovery::Sack, Traffic::Bulk, Start::At(Span::ZERO))
    );
    assert_eq!((flow.initial_window, flow.initial_ssthresh), (2.0, f64::INFINITY));
    assert_eq!((flow.delayed_ack, flow.min_rto), (None, Span::from_ms(200)));
    assert_eq!(flow.overhead, Span::from_us(8)); // 1000 B at 1 Gbit/s
    assert_eq!((flow.packet, flow.send_buffer), (Bytes(1000), None));
    assert_eq!((flow.offload, flow.undo), (1, true));
}

#[test]
fn a_profile_gives_what_a_flow_leaves_out_and_nothing_else() {
    let set = [
        ("profile", "linux"),
        ("flow.F1.controller", "cubic"),
        ("flow.F1.initial_window", "3"),
        ("flow.F1.receive_buffer", "20 kB"),
        ("flow.F2.profile", "plain"),
    ];
    let flows = base(DUMBBELL, &set).flows;
    let (linux, plain) = (&flows[0], &flows[2]);
    assert_eq!((linux.initial_window, linux.recovery), (3.0, Recovery::Rack));
    // Half of 20 packets of 1000 B.
    assert_eq!(linux.delayed_ack, Some(Hold::Adaptive { quick: 10 }));
    assert_eq!((linux.integer_cwnd, linux.rto, linux.slow_start), (true, Rto::Linux, SlowStart::HyStart));
    assert_eq!((linux.undo, linux.ecn, linux.min_rto), (true, false, Span::from_ms(200)));
    assert_eq!(linux.controller.settings.number("variant"), CubicVariant::Linux.value());
    assert_eq!((plain.initial_window, plain.recovery, plain.delayed_ack), (2.0, Recovery::Sack, None));
    assert_eq!((plain.integer_cwnd, plain.rto, plain.slow_start), (false, Rto::Scaled, SlowStart::Standard));
}

#[test]
fn flows_without_a_profile_are_those_of_hosts_with_linux() {
    let text = DUMBBELL.strip_prefix("profile = \"plain\"").expect("it begins with it");
    let flow = |set: &[(&str, &str)]| base(text, set).flows[0].clone();
    let default = flow(&[]);
    assert_eq!(
        (default.profile, default.recovery, default.initial_window),
        (Profile::Linux, Recovery::Rack, 10.0)
    );
    assert_eq!(default.offload, Flow::BURSTS_OF_KERNEL);
    let host = default.host.as_deref().expect("it has one");
    assert!(host.gro && host.tunes_send_buffer && host.tunes_receive_buffer);
    assert_eq!(host.moderation, Moderation::Adaptive { shortest: Span::from_us(10) });

    let tuned = flow(&[("profile", "linux-tuned")]);
    let host = tuned.host.as_deref().expect("it has one");
    assert!(host.gro && !host.tunes_send_buffer && !host.tunes_receive_buffer);
    assert_eq!((tuned.profile, tuned.offload), (Profile::LinuxTuned, Flow::BURSTS_OF_KERNEL));

    let ideal = flow(&[("profile", "linux-tcp")]);
    assert_eq!((ideal.profile, ideal.recovery, ideal.offload), (Profile::LinuxTcp, Recovery::Rack, 1));
    assert!(ideal.host.is_none());

    // What a flow names has priority, key by key.
    let own = flow(&[("flow.F1.host.moderation", "50 us"), ("flow.F1.send_buffer", "1 MB")]);
    let host = own.host.as_deref().expect("it has one");
    assert_eq!(
        (host.moderation, own.send_buffer),
        (Moderation::Every(Span::from_us(50)), Some(Bytes(1_000_000)))
    );
    assert!(host.gro && !host.tunes_send_buffer && host.tunes_receive_buffer);
    // Merged packets are acknowledged by the rule of Linux alone.
    let each = flow(&[("flow.F1.delayed_ack", "false")]);
    assert!(!each.host.as_deref().expect("it has one").gro);
    for plain in ["profile", "flow.F1.profile"] {
        let said = flow(&[(plain, "plain"), ("flow.F1.controller", "bbr")]);
        assert_eq!((said.profile, said.recovery, said.initial_window), (Profile::Plain, Recovery::Sack, 2.0));
    }
}

#[test]
fn a_profile_leaves_a_controller_its_parameters_and_gives_hystart_to_cubic_alone() {
    let flow = |controller| {
        let set = [("flow.F1.profile", "{ kind = \"linux\" }"), ("flow.F1.controller", controller)];
        base(DUMBBELL, &set).flows[0].clone()
    };
    let given = flow("{ kind = \"cubic\", variant = \"2005\", c = 0.5 }");
    assert_eq!(given.controller.settings.number("variant"), CubicVariant::Of2005.value());
    assert_eq!((given.controller.settings.number("c"), given.slow_start), (0.5, SlowStart::HyStart));
    assert_eq!(flow("bic").controller.settings.number("variant"), BicVariant::Linux.value());
    assert_eq!((flow("reno").slow_start, flow("reno").initial_window), (SlowStart::Full, 10.0));
    let told = mistakes(DUMBBELL, &[("flow.F1.profile", "linus")]);
    assert!(told.contains("unknown profile \"linus\"; did you mean \"linux\"?"), "{told}");
}

#[test]
fn a_burst_is_so_many_packets_and_a_size_is_those_that_it_holds() {
    let of = |offload, packet| {
        let set = [("flow.F1.offload", offload), ("flow.F1.packet", packet), ("flow.F1.undo", "false")];
        let flow = &base(DUMBBELL, &set).flows[0];
        assert!(!flow.undo);
        flow.offload
    };
    assert_eq!(of("16 packets", "1500 B"), 16);
    assert_eq!((of("64 kB", "1500 B"), of("64 kB", "9000 B")), (42, 7)); // 42.7 and 7.1
    let told = |text| mistakes(DUMBBELL, &[("flow.F1.offload", text)]);
    assert!(told("500 B").contains("offload: 500 B is less than one packet of 1 kB"), "{}", told("500 B"));
    assert!(told("0 packets").contains("at least \"1 packet\""));
    assert!(
        told("20 ms").contains("wanted \"16 packets\", a size such as \"64 kB\", or \"auto\""),
        "{}",
        told("20 ms")
    );
    assert!(told("16").contains("has no unit; wanted \"16 packets\""), "{}", told("16"));
}

const KERNEL: &str = r#"profile = "plain"
duration = "1 s"
[bottleneck]
rate = "1 Gbit/s"
delay = "20 ms"
queue = { kind = "kernel", qdisc = "cake  bandwidth 50mbit" }
[[flow]]
name = "F1"
controller = "cdg"
offload = "auto"
send_buffer = "auto"
receive_buffer = "auto"
[flow.host]
line_rate = "10 Gbit/s"
moderation = "50 us"
noise = "uniform 0 s..20 us"
qdisc = "fq"
sysctl = { "net.ipv4.tcp_rmem" = "4096 131072 6291456" }
[[flow]]
name = "F2"
controller = "reno"
count = 2
host = { gro = false, moderation = "0 s" }
"#;

#[test]
fn hosts_have_a_driver_a_law_of_delays_a_processor_and_a_kernel() {
    let set = [
        ("flow.F2.host.moderation", "ixgbe"),
        ("flow.F2.host.noise", "{ median = \"5 us\", p99 = \"50 us\" }"),
        ("flow.F2.host.processor", "{ per_burst = \"2 us\" }"),
        ("flow.F2.host.kernel", "\"6.1\""),
    ];
    let scenario = base(KERNEL, &set);
    let host = scenario.flows[1].host.as_deref().expect("it is set");
    assert_eq!(host.moderation, Moderation::Adaptive { shortest: Span::from_us(10) });
    assert_eq!(host.noise, Noise::LogNormal { median: Span::from_us(5), p99: Span::from_us(50) });
    let ns = |ns: u64| Span::from_us(ns) / 1000;
    assert_eq!(host.processor, Some(Processor { burst: ns(2000), kilobyte: ns(200), packet: ns(300) }));
    assert_eq!(host.kernel, Some(KernelRelease::Linux6));
    // The card of a driver merges unless it says otherwise, and another kernel has other limits.
    assert!(!host.gro && host.rmem().1 == 6 << 20 && host.tso_rtt_log() == 9);
    let older = base(KERNEL, &[("flow.F2.host.kernel", "\"5.15\"")]);
    assert_eq!(older.flows[1].host.as_deref().map(|host| host.tso_rtt_log()), Some(0));
    let wrong = mistakes(KERNEL, &[("flow.F2.host.noise", "{ median = \"5 us\", p99 = \"4 us\" }")]);
    assert!(wrong.contains("p99, 4 us, is less than the median, 5 us"), "{wrong}");
    let dim = base(KERNEL, &[("flow.F2.host.moderation", "mlx5")]);
    let moderation = dim.flows[1].host.as_deref().map(|host| host.moderation);
    assert_eq!(moderation, Some(Moderation::Dim(DimDriver::Mlx5)));
}

#[test]
fn a_sender_has_as_many_links_as_its_host_says_each_with_a_rate() {
    let links = |number| ("flow.F1.host.links", number);
    let bonded = base(KERNEL, &[links("2")]);
    assert!(bonded.flows[0].is_bonded() && !bonded.flows[1].is_bonded());
    assert!(!base(KERNEL, &[links("1")]).flows[0].is_bonded());
    let wrong = mistakes(KERNEL, &[("flow.F2.host.links", "2")]);
    assert!(wrong.contains("bonded links need a `line_rate`, which each of them has"), "{wrong}");
}

#[test]
fn flows_that_name_the_same_sender_share_its_card_and_need_its_settings() {
    let set = |second: &'static str| {
        [
            ("flow.F1.host", "{ sender = \"a\", line_rate = \"1 Gbit/s\" }"),
            ("flow.F2.host", second),
            ("flow.*.offload", "16 packets"),
            ("flow.*.send_buffer", "\"1 MB\""),
        ]
    };
    let numbers = |second| {
        let flows = base(KERNEL, &set(second)).flows;
        let sender = |flow: &Flow| flow.host.as_deref()?.sender.as_ref().map(|sender| sender.number);
        flows.iter().map(sender).collect::<Vec<_>>()
    };
    let (same, other) = ("{ sender = \"a\", line_rate = \"1 Gbit/s\" }", "{ sender = \"b\", gro = true }");
    assert_eq!((numbers(same), numbers(other)), (vec![Some(0); 3], vec![Some(0), Some(1), Some(1)]));
    let wrong = mistakes(KERNEL, &set("{ sender = \"a\", line_rate = \"2 Gbit/s\" }"));
    assert!(wrong.contains("another flow has \"a\" with other settings of its sender"), "{wrong}");
}

#[test]
fn a_drop_tail_queue_drops_on_arrival_or_at_departure() {
    let drop = |when: &str, more: &str| {
        let queue = format!("{{ kind = \"droptail\", capacity = \"50 packets\", drop = \"{when}\"{more} }}");
        ("bottleneck.queue", queue)
    };
    let (late, marks) = (drop("departure", ""), drop("departure", ", mark = \"20 packets\""));
    let at_departure = |(key, queue): &(&'static str, String)| {
        base(KERNEL, &[(*key, queue)]).links[0].queue.entry.at_departure
    };
    assert!(at_departure(&late) && !at_departure(&drop("arrival", "")));
    let wrong = mistakes(KERNEL, &[(marks.0, &marks.1)]);
    assert!(wrong.contains("a queue that drops at departure does not mark"), "{wrong}");
}

#[test]
fn keys_that_only_kernels_carry_out_arrive() {
    let scenario = base(KERNEL, &[("flow.F1.host.sysctl.net.ipv4.tcp_ecn", "1")]);
    let (flow, link) = (&scenario.flows[0], &scenario.links[1]);
    let host = flow.host.as_deref().expect("it is set");
    assert_eq!((flow.controller.name(), flow.offload, flow.ecn), ("cdg", Flow::BURSTS_OF_KERNEL, false));
    assert_eq!((flow.send_buffer, host.tunes_send_buffer, host.tunes_receive_buffer), (None, true, true));
    // What waits for an interrupt is merged.
    assert!(host.gro);
    assert_eq!(
        (host.moderation, host.noise),
        (Moderation::Every(Span::from_us(50)), Noise::Uniform(Span::from_us(20)))
    );
    assert_eq!((host.line_rate, host.qdisc.as_deref()), (Rate::from_bps(10_000_000_000), Some("fq")));
    let sysctls: Vec<(&str, &str)> = host.sysctls.iter().map(|(name, value)| (&**name, &**value)).collect();
    assert_eq!(sysctls, [("net.ipv4.tcp_ecn", "1"), ("net.ipv4.tcp_rmem", "4096 131072 6291456")]);
    assert_eq!(
        (link.queue.qdisc.as_deref(), link.capacity),
        (Some("cake bandwidth 50mbit"), Capacity::Unlimited)
    );
    // Defaults in full are no request.
    assert!(scenario.flows[1].host.is_none());
    let described = describe(&scenario);
    assert!(
        described.contains(r#""queue":{"kind":"kernel","qdisc":"cake bandwidth 50mbit"}"#),
        "{described}"
    );
    assert!(
        described.contains(r#""moderation_s":0.00005"#) || described.contains(r#""moderation_s":5e-5"#),
        "{described}"
    );
}

#[test]
fn what_only_kernels_can_do_is_listed_with_the_engine_that_does_it() {
    let changes = [
        ("flow.F1.host.qdisc", "cake"),
        ("flow.F1.host.sysctl.net.ipv4.tcp_ecn", "1"),
        ("flow.F1.host.sysctl.net.ipv4.tcp_rmem", "4096"),
    ];
    let requests = base(KERNEL, &changes).kernel_requests();
    assert_eq!(
        requests,
        [
            "flow \"F1\": host.gro: in the simulator a receiver that merges packets needs delayed_ack = \"adaptive\"",
            "flow \"F1\": host.qdisc: the simulator's hosts have fq (horizon, horizon_cap, horizon_drop), fq_codel, pfifo_fast; this runs with --engine linux",
            "flow \"F1\": host.sysctl: net.ipv4.tcp_rmem must be three numbers of bytes, such as \"4096 131072 6291456\"",
            "flow \"F1\": host.sysctl: the simulator knows net.ipv4.tcp_rmem, net.ipv4.tcp_tso_rtt_log, \
             net.ipv4.tcp_wmem, not net.ipv4.tcp_ecn; this runs with --engine linux",
            "link \"bottleneck\": queue = \"cake bandwidth 50mbit\": only kernels have this queue; it runs with --engine linux",
            "link \"bottleneck (reverse)\": queue = \"cake bandwidth 50mbit\": only kernels have this queue; it runs with --engine linux",
        ]
    );
    assert_eq!(base(DUMBBELL, &[]).kernel_requests(), [""; 0]);
}

#[test]
fn mistakes_in_keys_that_only_kernels_carry_out_are_reported() {
    let told = |key, value| mistakes(KERNEL, &[(key, value)]);
    let found = told("flow.F1.host.sysctl", "{ \"vm.swappiness\" = 1 }");
    assert!(found.contains("sysctl: \"vm.swappiness\" is not a setting of a host"), "{found}");
    let found = told("flow.F1.host.qdisc", "fq; reboot");
    assert!(found.contains("qdisc: \"fq; reboot\" is not a queue discipline; wanted"), "{found}");
    let found = told("bottleneck.queue", "{ kind = \"kernel\", capacity = \"1 bdp\" }");
    assert!(
        found.contains("\"capacity\" is not a key of \"kernel\"") && found.contains("needs \"qdisc\""),
        "{found}"
    );
    let found = told("flow.F1.send_buffer", "audo");
    assert!(found.contains("unknown send_buffer \"audo\"; did you mean \"auto\"?"), "{found}");
    let found = told("flow.F1.controller", "yaeh");
    assert!(found.contains("did you mean \"yeah\"?"), "{found}");
    let found = told("flow.F1.host.tso", "true");
    assert!(found.contains("\"tso\" is not a key of [flow.host]"), "{found}");
}

#[test]
fn every_key_of_a_flow_arrives() {
    let flow = &base(
        DUMBBELL,
        &[
            ("flow.F1.group", "party"),
            ("flow.F1.role", "background"),
            ("flow.F1.recovery", "{ kind = \"newreno\", variant = \"slow-but-steady\" }"),
            ("flow.F1.traffic", "{ kind = \"web\", sessions = \"2 /s\", size = \"1 kB\" }"),
            ("flow.F1.start", "uniform 0 s..2 s"),
            ("flow.F1.delayed_ack", "true"),
            ("flow.F1.receive_buffer", "64 kB"),
            ("flow.F1.overhead", "uniform 0 s..1 ms"),
            ("flow.F1.max_window", "100"),
            ("flow.F1.direction", "reverse"),
            ("bottleneck.access_rate", "1 Tbit/s"),
        ],
    )
    .flows[0];
    assert_eq!(flow.group, "party");
    assert_eq!(flow.recovery, Recovery::NewReno { impatient: false });
    let Traffic::Web(web) = flow.traffic else { panic!("{:?}", flow.traffic) };
    assert_eq!((web.sessions_per_s, web.pages, web.objects, web.think), (2.0, 5.0, 3.0, Span::from_s(15)));
    assert_eq!(web.size, SizeLaw::Fixed(Bytes(1000)));
    assert_eq!(flow.start, Start::Uniform(Span::ZERO, Span::from_s(2)));
    assert_eq!(
        (flow.delayed_ack, flow.receive_buffer),
        (Some(Hold::of_second(Span::from_ms(40))), Some(Bytes(64_000)))
    );
    assert_eq!((flow.overhead, flow.max_window), (Span::from_ms(1), 100.0));
    assert_eq!(way(&flow.forward), "1 Tbit/s+10 ms 1 1 Tbit/s+10 ms");
    assert_eq!(way(&flow.reverse), "1 Tbit/s+10 ms 0 1 Tbit/s+10 ms");
}

#[test]
fn shortest_paths_are_by_delay_and_acknowledgements_return_over_the_same_links() {
    let scenario = base(GRAPH, &[]);
    // a-b-c takes 10 + 9 ms, a-c 20 ms; "second" is crossed against its direction.
    assert_eq!(way(&scenario.flows[0].forward), "2 5");
    assert_eq!(way(&scenario.flows[0].reverse), "4 3");
    assert_eq!(scenario.flows[0].rtt, Span::from_ms(38));
    assert_eq!(scenario.flows[0].overhead, Span::from_us(1600)); // 1000 B at 5 Mbit/s
    let names: Vec<&str> = scenario.links.iter().map(|l| l.name.as_str()).collect();
    assert_eq!(names, ["a-c", "a-c (reverse)", "a-b", "a-b (reverse)", "second", "second (reverse)"]);
    assert_eq!(
        (&scenario.links[4].loss, &scenario.links[5].loss),
        (&Some(LossRule::Probability(0.5)), &None)
    );
}

#[test]
fn among_equal_delays_fewer_hops_win() {
    let scenario = base(GRAPH, &[("link.second.delay", "10 ms")]);
    assert_eq!(way(&scenario.flows[0].forward), "0");
}

#[test]
fn in_a_graph_a_round_trip_time_adds_access_hops() {
    let flow = &base(GRAPH, &[("flow.f.rtt", "50 ms")]).flows[0];
    // 50 - 38 = 12 ms over four hops, at ten times the slowest link.
    assert_eq!(way(&flow.forward), "50 Mbit/s+3 ms 2 5 50 Mbit/s+3 ms");
    assert_eq!(way(&flow.reverse), "50 Mbit/s+3 ms 4 3 50 Mbit/s+3 ms");
}

#[test]
fn instants_of_loss_strike_flows_by_name() {
    let loss = |text| base(DUMBBELL, &[("bottleneck.loss", text)]).links[0].loss.clone();
    let at = |flows: &[u32]| {
        Some(LossRule::At { times: vec![Time::ZERO + Span::from_s(1)], flows: flows.to_vec() })
    };
    assert_eq!(loss("{ at = [\"1 s\"], flows = [\"F2\"] }"), at(&[1, 2]));
    assert_eq!(loss("{ at = [\"1 s\"], flows = [\"F2[1]\", \"F1\"] }"), at(&[0, 2]));
    assert_eq!(loss("{ at = [\"1 s\"] }"), at(&[0, 1, 2]));
    assert_eq!(loss("{ every = 100 }"), Some(LossRule::Every(100)));
    assert_eq!(loss("{ offloaded_bursts = 0.01 }"), Some(LossRule::Offloaded(0.01)));
    assert_eq!(loss("{ offloaded_bursts = 0 }"), None);
    assert_eq!(loss("0"), None);
    let bursts = Bursts { good_to_bad: 0.01, bad_to_good: 0.25, loss_good: 0.0, loss_bad: 1.0 };
    assert_eq!(loss("{ good_to_bad = 0.01, bad_to_good = 0.25 }"), Some(LossRule::Bursts(bursts)));
}

#[test]
fn an_override_replaces_the_value_in_the_file() {
    let scenario = base(DUMBBELL, &[("bottleneck.rate", "622 Mbit/s"), ("seed", "3"), ("duration", "60 s")]);
    assert_eq!(scenario.links[0].rate, Rate::from_bps(622_000_000).unwrap());
    assert_eq!((scenario.seed, scenario.duration), (3, Span::from_s(60)));
    // A parameter behind a word makes it a table.
    let scenario = base(
        DUMBBELL,
        &[("flow.{F1,F2}.recovery", "newreno"), ("flow.F1.recovery.variant", "slow-but-steady")],
    );
    assert_eq!(scenario.flows[0].recovery, Recovery::NewReno { impatient: false });
    assert_eq!(scenario.flows[1].recovery, Recovery::NewReno { impatient: true });
    let scenario =
        base(DUMBBELL, &[("flow.F1.slow_start", "limited"), ("flow.F1.slow_start.max_ssthresh", "64")]);
    assert_eq!(scenario.flows[0].slow_start, SlowStart::Limited { max_ssthresh: 64.0 });
}

#[test]
fn a_sweep_is_every_combination_and_an_override_takes_its_key_out() {
    let text = format!("{DUMBBELL}\n[sweep]\nseed = [1, 2]\n\"flow.F*.initial_window\" = [2, 10]\n");
    let labels = |study: &Study| study.sweep.iter().map(|run| run.label()).collect::<Vec<_>>();
    let all = study(&text, &[]);
    assert_eq!(
        labels(&all),
        [
            "seed = 1, flow.F*.initial_window = 2",
            "seed = 1, flow.F*.initial_window = 10",
            "seed = 2, flow.F*.initial_window = 2",
            "seed = 2, flow.F*.initial_window = 10",
        ]
    );
    assert_eq!(all.sweep[3].scenario.seed, 2);
    assert!(all.sweep[3].scenario.flows.iter().all(|flow| flow.initial_window == 10.0));
    let fixed = study(&text, &[("flow.{F1,F2}.initial_window", "4")]);
    assert_eq!(labels(&fixed), ["seed = 1", "seed = 2"]);
    assert_eq!(fixed.sweep[0].scenario.flows[2].initial_window, 4.0);
    let partly = mistakes(&text, &[("flow.F1.initial_window", "4")]);
    assert!(
        partly.contains("--set flow.F1.initial_window=4: [sweep] varies \"flow.F*.initial_window\""),
        "{partly}"
    );
}

#[test]
fn ranges_are_lists_and_drawn_keys_vary_together() {
    let text = format!(
        "{DUMBBELL}[sweep]\npoints = 3\nflow.F1.rtt = {{ from = \"80 ms\", to = \"200 ms\", scale = \"log\" }}\n\
         seed = {{ from = 1, to = 3, points = 2 }}\n\"flow.F*.initial_window\" = {{ any = [2, 10] }}\n"
    );
    let all = study(&text, &[]);
    let labels: Vec<_> = all.sweep.iter().map(|run| run.label()).collect();
    assert_eq!(labels.len(), 6, "three drawn settings, and two seeds");
    insta::assert_snapshot!(labels.join("\n"));
    // A key that is fixed leaves what is drawn for the others as it is.
    let fixed = study(&text, &[("flow.F*.initial_window", "4")]);
    let of = |study: &Study, key: &str| {
        let value = |run: &Variant| run.settings.iter().find(|(path, _)| path == key).unwrap().1.clone();
        study.sweep.iter().map(value).collect::<Vec<_>>()
    };
    assert_eq!(of(&fixed, "flow.F1.rtt"), of(&all, "flow.F1.rtt"));
    assert_eq!(study(&text, &[("flow.F1.rtt", "90 ms"), ("flow.F*.initial_window", "4")]).sweep.len(), 2);
}

#[test]
fn settings_are_drawn_without_a_scenario() {
    let text = "points = 2\na.b = { from = \"1 ms\", to = \"9 ms\" }\nc = [1, 2]\n";
    let settings = drawn(text, "open").unwrap();
    let keys: Vec<_> = settings[0].iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!((settings.len(), keys), (4, vec!["a.b", "c"]));
    assert_eq!([&settings[0][0], &settings[2][0]], [&settings[1][0], &settings[3][0]]);
    assert_eq!([&settings[0][1].1, &settings[1][1].1], ["1", "2"]);
    let told = drawn("a = { from = 1, to = 2 }", "open").unwrap_err().to_string();
    assert!(told.starts_with("open:1: \"a\": the range has no number of points"), "{told}");
}

#[test]
fn mistakes_in_a_design_have_their_lines() {
    let text = format!(
        "{DUMBBELL}[sweep]\nflow.F1.rtt = {{ from = \"80 ms\", to = \"200 ms\" }}\n\
         flow.F2.rtt = {{ from = \"80 ms\", to = \"2 bdp\" }}\nflow.F3.rtt = {{ any = 3 }}\n"
    );
    insta::assert_snapshot!(mistakes(&text, &[]));
    let text = format!("{DUMBBELL}[sweep]\npoints = 3\ndesign = \"latn\"\nseed = [1, 2]\n");
    insta::assert_snapshot!(mistakes(&text, &[]));
}

#[test]
fn swept_values_are_checked_where_they_stand() {
    let text = format!(
        "{DUMBBELL}[sweep]\nflow.F1.rtt = [\n\"80 ms\",\n\"30 ms\"]\nflow.F9.rtt = [\"80 ms\"]\nseed = 3\n"
    );
    insta::assert_snapshot!(mistakes(&text, &[]));
}

#[test]
fn two_keys_of_a_sweep_that_set_the_same_are_refused() {
    let text =
        format!("{DUMBBELL}[sweep]\n\"flow.F1.initial_window\" = [2]\n\"flow.F*.initial_window\" = [4]\n");
    let told = mistakes(&text, &[]);
    assert_eq!(
        told,
        "test.toml:18: \"flow.F*.initial_window\" sets a value that another key of the sweep also sets"
    );
}

#[test]
fn a_sweep_has_a_bound() {
    let many = vec!["1"; 101].join(", ");
    let text = format!("{DUMBBELL}[sweep]\nseed = [{many}]\n\"flow.F1.initial_window\" = [{many}]\n");
    assert!(mistakes(&text, &[]).contains("too many runs; at most 10000"));
}

#[test]
fn a_path_reaches_into_a_law_of_size() {
    let short = (
        "flow.F1.traffic",
        "{ kind = \"short\", rate = \"2 /s\", size = { law = \"pareto\", mean = \"12 kB\" } }",
    );
    let scenario = base(DUMBBELL, &[short, ("flow.F1.traffic.size.mean", "24 kB")]);
    let size = SizeLaw::Pareto(Bytes(24_000), 1.2);
    assert_eq!(scenario.flows[0].traffic, Traffic::Short { per_s: 2.0, size });
}

#[test]
fn a_link_is_impaired_in_the_direction_of_its_loss_only() {
    let keys = [
        ("bottleneck.policer", "{ rate = \"8 Mbit/s\", burst = \"64 kB\" }"),
        ("bottleneck.jitter", "uniform 0 s..1 ms"),
        ("bottleneck.aggregate", "{ every = \"20 ms\", from = \"1 s\" }"),
        ("bottleneck.reorder", "{ probability = 0.01, delay = \"5 ms\" }"),
        ("bottleneck.duplicate", "0.5"),
    ];
    let scenario = base(DUMBBELL, &keys);
    let wanted = Impairments {
        mtu: Vec::new(),
        policer: Some(BucketRule { rate: Rate::from_bps(8_000_000).unwrap(), burst: Bytes(64_000) }),
        aggregate: Some(AggregateRule { every: Span::from_ms(20), from: Time::ZERO + Span::from_s(1) }),
        jitter: Some(JitterRule { most: Span::from_ms(1), keeps_order: true }),
        reorder: Some(ReorderRule { probability: 0.01, delay: Span::from_ms(5) }),
        duplicate: 0.5,
    };
    assert_eq!(scenario.links[0].impair, wanted);
    assert!(scenario.links[1].impair.is_none());
    let jitter = |text| base(DUMBBELL, &[("bottleneck.jitter", text)]).links[0].impair.jitter;
    let mixed = JitterRule { most: Span::from_us(8), keeps_order: false };
    assert_eq!(jitter("{ delay = \"uniform 0 s..8 us\", keep_order = false }"), Some(mixed));
    assert_eq!(jitter("0 s"), None);
}

#[test]
fn the_mtu_of_a_link_holds_in_both_directions_and_follows_the_schedule() {
    let at = |s| Time::ZERO + Span::from_s(s);
    let mtu = |keys: &[(&str, &str)]| {
        let scenario = base(DUMBBELL, keys);
        assert_eq!(scenario.links[0].impair.mtu, scenario.links[1].impair.mtu);
        scenario.links[0].impair.mtu.clone()
    };
    assert_eq!(mtu(&[]), []);
    let falls = ("bottleneck.schedule", "[{ at = \"1 s\", mtu = \"1000 B\" }]");
    let repeats = ("bottleneck.schedule_repeat", "2 s");
    let link = ("bottleneck.mtu", "1500 B");
    let short = ("duration", "3 s");
    assert_eq!(mtu(&[link]), [(at(0), 1500)]);
    assert_eq!(mtu(&[falls]), [(at(1), 1000)]);
    assert_eq!(mtu(&[link, falls]), [(at(0), 1500), (at(1), 1000)]);
    let lap = [(at(0), 1500), (at(1), 1000), (at(2), 1500), (at(3), 1000)];
    assert_eq!(mtu(&[short, link, falls, repeats]), lap);
    assert_eq!(mtu(&[short, falls, repeats])[2], (at(2), u32::MAX));
    let wrong = mistakes(DUMBBELL, &[link, ("bottleneck.schedule", "[{ at = \"1 s\", mtu = \"999 B\" }]")]);
    assert!(wrong.contains("have 1 kB and do not pass") && !wrong.contains("1500"), "{wrong}");
}

#[test]
fn the_way_back_has_losses_and_impairments_of_its_own() {
    let keys = [
        ("bottleneck.reverse_loss", "{ every = 3 }"),
        ("bottleneck.reverse_policer", "{ rate = \"8 Mbit/s\", burst = \"64 kB\" }"),
        ("bottleneck.reverse_jitter", "uniform 0 s..1 ms"),
        ("bottleneck.reverse_reorder", "{ probability = 0.01, delay = \"5 ms\" }"),
        ("bottleneck.schedule", "[{ at = \"1 s\", reverse_loss = 0.5 }, { at = \"2 s\", loss = 0.1 }]"),
    ];
    let scenario = base(DUMBBELL, &keys);
    let [there, back] = &scenario.links[..] else { panic!("a dumbbell has two directions") };
    let wanted = Impairments {
        policer: Some(BucketRule { rate: Rate::from_bps(8_000_000).unwrap(), burst: Bytes(64_000) }),
        jitter: Some(JitterRule { most: Span::from_ms(1), keeps_order: true }),
        reorder: Some(ReorderRule { probability: 0.01, delay: Span::from_ms(5) }),
        ..Impairments::default()
    };
    assert_eq!((&back.impair, &back.loss, back.loses_acks), (&wanted, &Some(LossRule::Every(3)), true));
    let change = |s, p| vec![(Time::ZERO + Span::from_s(s), LossRule::Probability(p))];
    assert_eq!(back.schedule.losses, change(1, 0.5));
    assert_eq!(there.schedule.losses, change(2, 0.1));
    assert!(there.impair.is_none() && !there.loses_acks);
    let wrong = mistakes(DUMBBELL, &[("bottleneck.reverse_loss", "{ good_to_bad = 0.1 }")]);
    assert!(wrong.contains("reverse_loss: wanted a probability"), "{wrong}");
}

#[test]
fn a_shaper_is_what_the_queue_drains_at() {
    let keys = [
        ("bottleneck.shaper", "{ rate = \"8 Mbit/s\", burst = \"64 kB\" }"),
        ("bottleneck.queue.capacity", "20 ms"),
    ];
    let links = base(DUMBBELL, &keys).links;
    let rule = BucketRule { rate: Rate::from_bps(8_000_000).unwrap(), burst: Bytes(64_000) };
    assert_eq!((links[0].shaper, links[1].shaper), (Some(rule), None));
    // 20 ms at 8 Mbit/s are 20 packets of 1000 B, and at the rate of the other direction more.
    assert_eq!(links[0].capacity, Capacity::Packets(20));
    assert_ne!(links[0].capacity, links[1].capacity);
    let small = mistakes(DUMBBELL, &[("bottleneck.shaper", "{ rate = \"8 Mbit/s\", burst = \"500 B\" }")]);
    assert!(small.contains("burst: 500 B is less than one packet of"), "{small}");
}

#[test]
fn datagrams_have_no_controller_and_everything_else_has_one() {
    let flow = |keys: &str| {
        let head = "duration = \"9 s\"\n[bottleneck]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\
                    queue = { kind = \"droptail\", capacity = \"9 packets\" }\n[[flow]]\nname = \"a\"\n";
        format!("{head}{keys}\n")
    };
    let cbr = "traffic = { kind = \"cbr\", rate = \"8 kbit/s\" }";
    let scenario = base(&flow(cbr), &[]);
    assert_eq!(
        scenario.flows[0].traffic,
        Traffic::Cbr { rate: Rate::from_bps(8000).unwrap(), until: Span::from_s(100 * 86_400) }
    );
    assert!(fairhaul_experiment::describe(&scenario).contains("\"controller\":\"none\""));
    let both = mistakes(&flow(&format!("{cbr}\ncontroller = \"reno\"")), &[]);
    assert!(both.contains("controller: not possible with \"cbr\" traffic"), "{both}");
    let neither = mistakes(&flow("traffic = \"bulk\""), &[]);
    assert!(neither.contains("[[flow]] needs \"controller\""), "{neither}");
    let onoff = "{ kind = \"onoff\", rate = \"8 kbit/s\", on = \"1 s\", off = \"2 s\" }";
    let wanted =
        Traffic::OnOff { rate: Rate::from_bps(8000).unwrap(), on: Span::from_s(1), off: Span::from_s(2) };
    assert_eq!(base(DUMBBELL, &[("flow.F1.traffic", onoff)]).flows[0].traffic, wanted);
    let limited = "{ kind = \"limited\", rate = \"0 bit/s\", from = \"2 s\", until = \"3 s\" }";
    let wanted = Traffic::Limited { rate: None, from: Span::from_s(2), until: Span::from_s(3) };
    assert_eq!(base(DUMBBELL, &[("flow.F1.traffic", limited)]).flows[0].traffic, wanted);
    let late = mistakes(DUMBBELL, &[("flow.F1.traffic", &limited.replace("2 s", "4 s"))]);
    assert!(late.contains("traffic: until, 3 s, must be after from, 4 s"), "{late}");
}

#[test]
fn a_bucket_that_holds_no_packet_and_half_a_chain_of_losses_are_mistakes() {
    let told = |key, text| mistakes(DUMBBELL, &[(key, text)]);
    let bucket = told("bottleneck.policer", "{ rate = \"8 Mbit/s\", burst = \"500 B\" }");
    assert!(bucket.contains("burst: 500 B is less than one packet of"), "{bucket}");
    assert!(told("bottleneck.loss", "{ good_to_bad = 0.1 }").contains("bad_to_good = P"));
    assert!(told("bottleneck.loss", "{ good = \"2 s\" }").contains("bad = TIME"));
    assert!(
        told("bottleneck.loss", "{ good = \"2 s\", bad = \"1 ms\", bad_to_good = 1 }")
            .contains("loss: wanted")
    );
    let loss =
        base(DUMBBELL, &[("bottleneck.loss", "{ good = \"2 s\", bad = \"20 ms\" }")]).links[0].loss.clone();
    let (good, bad) = (Span::from_s(2), Span::from_ms(20));
    assert_eq!(loss, Some(LossRule::TimedBursts(TimedBursts { good, bad, loss_good: 0.0, loss_bad: 1.0 })));
    let stray = told("bottleneck.loss", "{ every = 3, loss_bad = 0.5 }");
    assert!(stray.contains("loss_bad: not allowed here"), "{stray}");
    assert!(told("bottleneck.reorder", "{ probability = 2, delay = \"1 ms\" }").contains("from 0 to 1"));
}

#[test]
fn all_mistakes_of_a_file_are_reported_at_once() {
    let text = r#"schema = 2
titel = "x"
duration = 10
warmup = "10 s"
packet = "40 B"
seed = -1
[bottleneck]
rate = "0 Mbit/s"
delay = "-20 ms"
queue = { kind = "tail-drop", capacity = "20 ms" }
loss = 1.5
[[flow]]
name = "F1"
rtt = "80"
controller = "renno"
recovery = { kind = "newreno", variant = "steady" }
traffic = { kind = "short", rate = 20, size = { law = "paretto", mean = "12 kB" } }
[[flow]]
name = "F1"
count = 0
initial_window = 0.5
start = "soon"
delayed_ack = "1 s"
controller = { kind = "reno", c = 10 }
max_windw = 3
send_buffer = "10 B"
[[flow]]
name = "a.b"
min_rto = "0 s"
overhead = "8 us"
traffic = "web"
max_window = inf
from = "x"
"#;
    insta::assert_snapshot!(mistakes(
        text,
        &[("flow.F7.rtt", "80 ms"), ("bottleneck.rat", "1 Gbit/s"), ("..", "1")]
    ));
}

#[test]
fn contradictions_between_values_are_reported() {
    let text = r#"duration = "10 s"
warmup = "10 s"
[bottleneck]
rate = "1 Gbit/s"
delay = "20 ms"
queue = { kind = "droptail", capacity = "500 B" }
loss = { at = ["2 s", "1 s"], flows = ["F9"] }
[[flow]]
name = "F1"
rtt = ["80 ms"]
count = 2
controller = "reno"
[[flow]]
name = "F2"
rtt = "39 ms..80 ms"
count = 3
controller = "reno"
[[flow]]
name = "F3"
controller = "reno"
initial_window = 10
max_window = 5
receive_buffer = "947 B"
start = "uniform 0 s..11 s"
traffic = { kind = "short", rate = "1000000 /s", size = "12 kB" }
"#;
    insta::assert_snapshot!("between_flows_unread", mistakes(text, &[]));
    // With valid flows, mistakes that depend on all of them are reported.
    let mended = text.replace("count = 2\n", "").replace("39 ms", "40 ms");
    insta::assert_snapshot!("between_flows_read", mistakes(&mended, &[]));
}

#[test]
fn mistakes_in_a_graph() {
    let text = r#"
duration = "10 s"
node = [{ name = "a" }, { name = "b" }, { name = "b" }, { name = "island" }]
[[link]]
from = "a"
to = "b"
rate = "10 Mbit/s"
delay = "20 ms"
queue = { kind = "droptail", capacity = "10" }
[[link]]
from = "a"
to = "bb"
rate = "10 Mbit/s"
delay = "20 ms"
queue = "droptail"
[[flow]]
name = "f"
from = "a"
to = "island"
controller = "reno"
[[flow]]
name = "g"
from = "nowhere"
controller = "reno"
"#;
    insta::assert_snapshot!("graph_unread", mistakes(text, &[]));
    let mended = text
        .replace("\"10\"", "\"10 packets\"")
        .replace("\"bb\"", "\"b\"")
        .replace("\"droptail\"\n", "{ kind = \"droptail\", capacity = \"1 bdp\" }\n");
    insta::assert_snapshot!("graph_read", mistakes(&mended, &[]));
}

/// Time stamps are an option of TCP.
#[test]
fn a_packet_of_linux_holds_more_than_52_bytes_and_a_datagram_more_than_40() {
    let small = [("flow.F1.profile", "linux"), ("flow.F1.packet", "45 B")];
    let told = mistakes(DUMBBELL, &small);
    assert!(told.contains("45 B leaves no room for payload; the headers of reno take 52 B"), "{told}");
    let sends = "traffic = { kind = \"cbr\", rate = \"1 Mbit/s\" }";
    let datagrams = base(&DUMBBELL.replacen("controller = \"reno\"", sends, 1), &small).flows[0].clone();
    assert_eq!((datagrams.headers(), datagrams.payload()), (Bytes(40), Bytes(5)));
}

#[test]
fn a_packet_of_xcp_holds_more_than_60_bytes_and_a_buffer_what_is_left() {
    // 20 of IP, 20 of TCP, 20 of XCP.
    let routed = DUMBBELL.replacen("droptail", "xcp", 1);
    let asks = |more: &str| mistakes(&routed.replacen("= \"reno\"", &format!("= \"xcp\"\n{more}"), 1), &[]);
    let told = asks("packet = \"60 B\"");
    assert!(told.contains("packet: 60 B leaves no room for payload; the headers of xcp take 60 B"), "{told}");
    let told = asks("send_buffer = \"939 B\"");
    assert!(told.contains("send_buffer: 939 B is less than the payload of one packet, 940 B"), "{told}");
    let fine = routed.replacen("= \"reno\"", "= \"xcp\"\nsend_buffer = \"940 B\"", 1);
    assert_eq!(base(&fine, &[]).flows[0].headers(), Bytes(60));
}

/// Without an XCP router nothing limits the window of an XCP sender.
#[test]
fn a_controller_with_router_feedback_needs_such_a_router_on_its_path() {
    let asks = DUMBBELL.replacen("= \"reno\"", "= \"xcp\"", 1);
    let told = mistakes(&asks, &[]);
    let wanted = "controller: \"xcp\" needs routers that assign its rate, and no link on the path of its data \
                  (\"bottleneck\") has such a queue; set queue.kind = \"xcp\" or \"xcp_tcp\" for one of them, or choose another \
                  controller";
    assert!(told.starts_with("test.toml:10: ") && told.ends_with(wanted), "{told}");
    for queue in ["xcp", "xcp_tcp"] {
        base(&asks.replacen("droptail", queue, 1), &[]);
    }
    // One XCP router of several is enough: it controls the other links, or their losses do.
    let graph = |first: &str, second: &str| {
        let link = |from, to, queue| {
            format!(
                "[[link]]\nname = \"{from}{to}\"\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"1 Gbit/s\"\ndelay = \"1 ms\"\nqueue = {{ kind = \"{queue}\", capacity = \"9 packets\" }}\n"
            )
        };
        let nodes = "duration = \"1 s\"\nnode = [{ name = \"a\" }, { name = \"b\" }, { name = \"c\" }]\n";
        let flow = "[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"c\"\ncontroller = \"xcp\"\n";
        [nodes, &link("a", "b", first), &link("b", "c", second), flow].concat()
    };
    base(&graph("droptail", "xcp"), &[]);
    let told = mistakes(&graph("droptail", "red"), &[]);
    assert!(told.contains("(\"ab\", \"bc\")"), "{told}");
}

#[test]
fn parameters_of_xcp_and_its_counters_that_make_no_sense_are_refused_where_they_stand() {
    let told = |queue: &str| {
        let base = "kind = \"droptail\", capacity = \"1 bdp\"";
        let text = DUMBBELL.replacen(base, &format!("kind = \"xcp_tcp\", capacity = \"1 bdp\",\n{queue}"), 1);
        mistakes(&text, &[])
    };
    // Negative gains, a gate above 1, tables of size 0, and bounds the wrong way round.
    for (queue, wanted) in [
        ("alpha = -0.4", "alpha: wanted a number from 0 to 10"),
        ("gamma = -0.1", "gamma: wanted a number from 0 to 1"),
        ("gate = 1.2", "gate: wanted a number from 0 to 1"),
        ("inspect = 0", "inspect: wanted a number from 0.001 to 1"),
        ("entries = 0", "entries: wanted a whole number from 1"),
        ("weight = 2", "weight: wanted a number from"),
        ("up = 0.5", "up: wanted a number from 1"),
        ("rule = \"adaptiv\"", "rule: wanted one of literal, adaptive, not \"adaptiv\""),
        ("min_p = 0.2", "min_p: 0.2 exceeds max_p, 0.1"),
        ("min_interval = 2000", "min_interval: 2000 ms exceed max_interval, 1000 ms"),
    ] {
        let text = told(queue);
        assert!(text.starts_with("test.toml:7: ") && text.contains(wanted), "{queue}: {text}");
    }
}

#[test]
fn a_header_distinguishes_254_xcp_routers() {
    // Each link has a router in each direction.
    let chain = |links: usize| {
        let mut text = "duration = \"1 s\"\nnode = [{ name = \"n0\" }".to_owned();
        (1..=links).for_each(|n| text += &format!(", {{ name = \"n{n}\" }}"));
        text += "]\n";
        for n in 0..links {
            text += &format!(
                "[[link]]\nfrom = \"n{n}\"\nto = \"n{}\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\
                 queue = {{ kind = \"xcp\", capacity = \"9 packets\" }}\n",
                n + 1
            );
        }
        text + "[[flow]]\nname = \"f\"\nfrom = \"n0\"\nto = \"n1\"\ncontroller = \"xcp\"\n"
    };
    let last = base(&chain(127), &[]);
    assert_eq!((last.router(0).get(), last.router(253).get()), (1, 254));
    let told = mistakes(&chain(128), &[]);
    assert!(told.contains("128 links with the queue \"xcp\" are too many; at most 127"), "{told}");
}

#[test]
fn invalid_toml_is_reported_with_its_lines() {
    insta::assert_snapshot!(mistakes(
        "duration = 10 s\n[bottleneck\nrate = \"1 Gbit/s\"\nrate = 3\n[[flow]]\nname = \"\n",
        &[]
    ));
    insta::assert_snapshot!("an_empty_file", mistakes("", &[]));
}

#[test]
fn short_transfers_are_poisson_from_the_start_of_their_flow() {
    let scenario = base(
        DUMBBELL,
        &[
            ("duration", "1000 s"),
            ("flow.F1.start", "100 s"),
            (
                "flow.F1.traffic",
                "{ kind = \"short\", rate = \"20 /s\", size = { law = \"exponential\", mean = \"12 kB\" } }",
            ),
        ],
    );
    let plan = plan(&scenario);
    let short: Vec<_> = plan.iter().filter(|t| t.flow == 0).collect();
    // 20 x 900 = 18 000 arrivals, standard deviation 134; mean size 12 000 +- 89.
    assert!((17_600..18_400).contains(&short.len()), "{}", short.len());
    let mean = short.iter().map(|t| t.size.unwrap().0 as f64).sum::<f64>() / short.len() as f64;
    assert!((11_700.0..12_300.0).contains(&mean), "{mean}");
    // Gaps of a Poisson process: as many shorter than the mean as 1 - 1/e, 63.2 % +- 0.4.
    let gaps: Vec<f64> = short.windows(2).map(|w| (w[1].start - w[0].start).as_secs()).collect();
    let below = gaps.iter().filter(|gap| **gap < 0.05).count() as f64 / gaps.len() as f64;
    assert!((0.62..0.645).contains(&below), "{below}");
    assert!(short[0].start >= Time::ZERO + Span::from_s(100));
    assert!(short.iter().all(|t| t.start < Time::ZERO + Span::from_s(1000)));
    assert_eq!(plan.iter().filter(|t| t.flow > 0 && t.size.is_none()).count(), 2);
}

#[test]
fn connections_are_flows_of_one_group_that_start_together() {
    let scenario = base(
        DUMBBELL,
        &[
            ("flow.F2.connections", "2"),
            ("flow.F2.traffic", "1 GB"),
            ("flow.*.start", "uniform 0 s..5 s"),
            ("bottleneck.loss", "{ at = [\"1 s\"], flows = [\"F2[1][0]\"] }"),
        ],
    );
    let told = |f: &fairhaul_experiment::Flow| (f.name.clone(), f.group.clone(), f.lead, f.rtt);
    let flow = |name: &str, group: &str, lead, ms| (name.into(), group.into(), lead, Span::from_ms(ms));
    let wanted = [
        flow("F1", "F1", None, 80),
        flow("F2[0][0]", "F2[0]", Some(1), 140),
        flow("F2[0][1]", "F2[0]", Some(1), 140),
        flow("F2[1][0]", "F2[1]", Some(3), 200),
        flow("F2[1][1]", "F2[1]", Some(3), 200),
    ];
    assert_eq!(scenario.flows.iter().map(told).collect::<Vec<_>>(), wanted);
    assert!(matches!(&scenario.links[0].loss, Some(LossRule::At { flows, .. }) if flows == &[3]));
    let starts: Vec<Time> = plan(&scenario).iter().map(|transfer| transfer.start).collect();
    assert!(starts[1] == starts[2] && starts[3] == starts[4] && starts[1] != starts[3]);
    // The first flow draws what it did alone.
    let alone = base(DUMBBELL, &[("flow.*.start", "uniform 0 s..5 s")]);
    assert_eq!(plan(&alone)[0].start, starts[0]);
    // One of them, and a group that was named.
    let named = base(DUMBBELL, &[("flow.F1.connections", "2"), ("flow.F1.group", "all")]);
    assert_eq!(told(&named.flows[1]), flow("F1[1]", "all", Some(0), 80));
    assert!(describe(&named).contains(r#""lead":0"#) && !describe(&alone).contains("lead"));
}

#[test]
fn only_one_transfer_is_carried_by_several_connections() {
    let web = [("flow.F1.traffic", "{ kind = \"web\", sessions = \"1 /s\" }"), ("flow.F1.connections", "4")];
    let told = mistakes(DUMBBELL, &web);
    assert!(told.contains("connections: more than one connection can carry \"bulk\" traffic"), "{told}");
    let many = mistakes(DUMBBELL, &[("flow.F1.count", "2000"), ("flow.F1.connections", "1000")]);
    assert!(many.contains("2000002 flows are too many"), "{many}");
}

#[test]
fn web_sessions_ask_for_pages_of_objects() {
    let scenario = base(
        DUMBBELL,
        &[
            ("duration", "10000 s"),
            (
                "flow.F1.traffic",
                "{ kind = \"web\", sessions = \"1 /s\", pages = 5, think = \"1 s\", objects = 3, size = \"10 kB\" }",
            ),
        ],
    );
    let starts: Vec<Time> = plan(&scenario).iter().filter(|t| t.flow == 0).map(|t| t.start).collect();
    // 10 000 sessions of 5 pages of 3 objects: 150 000, standard deviation about 2200.
    assert!((143_000..157_000).contains(&starts.len()), "{}", starts.len());
    assert!(starts.is_sorted());
    let mut pages = starts.clone();
    pages.dedup();
    let objects = starts.len() as f64 / pages.len() as f64;
    assert!((2.9..3.1).contains(&objects), "{objects}");
}

#[test]
fn what_one_flow_sends_does_not_depend_on_the_others() {
    let short = ("flow.F2.traffic", "{ kind = \"short\", rate = \"20 /s\", size = \"12 kB\" }");
    let of_f2 = |overrides: &[_]| {
        plan(&base(DUMBBELL, overrides)).into_iter().filter(|t| t.flow == 2).collect::<Vec<_>>()
    };
    assert_eq!(
        of_f2(&[short]),
        of_f2(&[short, ("flow.F1.traffic", "1 MB"), ("flow.F1.start", "exponential 1 s")])
    );
    assert_ne!(of_f2(&[short]), of_f2(&[short, ("seed", "2")]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn the_delays_of_a_path_sum_to_its_round_trip_time_exactly(rtt_ps in 40_000_000_000u64..1_000_000_000_000) {
        let text = format!("{rtt_ps} ps");
        let scenario = base(DUMBBELL, &[("flow.F1.rtt", text.as_str())]);
        let flow = &scenario.flows[0];
        let hops = flow.forward.iter().chain(&flow.reverse);
        let sum = hops.fold(Span::ZERO, |sum, hop| sum + match hop {
            Hop::Link(link) => scenario.links[*link as usize].delay,
            Hop::Access { delay, .. } => *delay,
        });
        prop_assert_eq!(sum, Span::from_ps(rtt_ps));
        prop_assert_eq!(flow.rtt, sum);
    }

    #[test]
    fn whatever_comes_in_nothing_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let text = String::from_utf8_lossy(&bytes);
        prop_assert!(read(&text, "x", &[]).is_err());
    }

    #[test]
    fn a_file_with_a_piece_cut_out_or_put_in_never_panics(
        from in 0usize..600, length in 0usize..40, piece in "\\PC{0,12}|[\\[\\]{}\"=.0-9 \\n]{0,12}", graph in any::<bool>(),
    ) {
        let text: Vec<char> = if graph { GRAPH } else { DUMBBELL }.chars().collect();
        let from = from.min(text.len());
        let to = (from + length).min(text.len());
        let text: String = text[..from].iter().copied().chain(piece.chars()).chain(text[to..].iter().copied()).collect();
        if let Err(mistakes) = read(&text, "x", &[]) {
            let lines = text.lines().count() + 1;
            for mistake in &mistakes.0 {
                let line: usize = mistake.place.strip_prefix("x:").unwrap().parse().unwrap();
                prop_assert!((1..=lines).contains(&line), "{mistake}");
            }
        }
    }

    #[test]
    fn whatever_is_set_nothing_panics(
        key in "\\PC{0,20}|(flow|node|link|bottleneck|sweep)(\\.(F1|F\\*|\\{F1,F2\\}|queue|controller|loss|at|rtt|size|traffic|kind)){0,9}",
        value in "\\PC{0,20}|[0-9]{1,25} ?(ms|Gbit/s|B|bdp|packets)?|\\[1, \"a\"\\]|\\{ kind = \"web\", sessions = \"1 /s\" \\}",
    ) {
        let _ = read(DUMBBELL, "x", &[(key, value)]);
    }
}

/// A folder with the file `cell.csv`, as if a scenario were in it.
fn beside(name: &str, trace: &str) -> String {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("read-{name}"));
    std::fs::create_dir_all(&folder).expect("there is room");
    std::fs::write(folder.join("cell.csv"), trace).expect("there is room");
    folder.join("x.toml").display().to_string()
}

#[test]
fn a_schedule_changes_rate_and_delay_both_ways_and_loss_in_its_own() {
    let schedule = "[{ at = \"1 s\", rate = \"0 bit/s\" }, { at = \"2 s\", rate = \"2 Gbit/s\", delay = \"30 ms\", loss = 0.1 }, \
                    { at = \"3 s\", loss = 0 }]";
    let scenario = base(DUMBBELL, &[("bottleneck.schedule", schedule)]);
    let [forward, reverse] = &scenario.links[..] else { panic!("a dumbbell has two links") };
    let steps: Vec<(Span, u64)> = forward.schedule.rates.as_ref().unwrap().steps().collect();
    let s = Span::from_s;
    assert_eq!(steps, [(s(0), 1_000_000_000), (s(1), 0), (s(2), 2_000_000_000)]);
    assert_eq!(forward.schedule.delays, [(Time::ZERO + s(2), Span::from_ms(30))]);
    assert_eq!(
        forward.schedule.losses,
        [(Time::ZERO + s(2), LossRule::Probability(0.1)), (Time::ZERO + s(3), LossRule::Probability(0.0))]
    );
    assert_eq!(
        (&reverse.schedule.rates, &reverse.schedule.delays),
        (&forward.schedule.rates, &forward.schedule.delays)
    );
    assert!(reverse.schedule.losses.is_empty());
    // Ten times the fastest.
    assert!(
        matches!(scenario.flows[0].forward[0], Hop::Access { rate, .. } if rate.as_bps() == 20_000_000_000)
    );
}

#[test]
fn a_schedule_that_repeats_begins_each_period_as_the_run_did() {
    let set = [
        ("duration", "50 s"),
        ("bottleneck.loss", "0.2"),
        (
            "bottleneck.schedule",
            "[{ at = \"1 s\", rate = \"2 Gbit/s\", delay = \"30 ms\" }, { at = \"5 s\", loss = 0 }]",
        ),
        ("bottleneck.schedule_repeat", "20 s"),
    ];
    let scenario = base(DUMBBELL, &set);
    let link = &scenario.links[0];
    let at = |s| Time::ZERO + Span::from_s(s);
    let (own, other) = (link.delay, Span::from_ms(30));
    let delays =
        [(at(0), own), (at(1), other), (at(20), own), (at(21), other), (at(40), own), (at(41), other)];
    assert_eq!(link.schedule.delays, delays);
    let times: Vec<Time> = link.schedule.losses.iter().map(|change| change.0).collect();
    assert_eq!(times, [0, 5, 20, 25, 40, 45].map(at));
    assert_eq!(link.schedule.losses[2].1, LossRule::Probability(0.2));
    assert_eq!(link.schedule.rates.as_ref().unwrap().lap(), Some(Span::from_s(20)));
    assert!(scenario.links[1].schedule.losses.is_empty());
    let wrong = |key, value| mistakes(DUMBBELL, &[set[0], set[2], (key, value)]);
    let short = wrong("bottleneck.schedule_repeat", "5 s");
    assert!(short.contains("schedule_repeat: 5 s is not longer than the 5 s of the last entry"), "{short}");
    let many =
        mistakes(DUMBBELL, &[set[2], set[3], ("duration", "100 h"), ("bottleneck.schedule_repeat", "6 s")]);
    assert!(many.contains("schedule_repeat: more than 10000 changes"), "{many}");
    let alone = mistakes(DUMBBELL, &[("bottleneck.schedule_repeat", "5 s")]);
    assert!(alone.contains("there is no schedule to repeat"), "{alone}");
}

#[test]
fn a_trace_with_delays_and_losses_takes_the_place_of_these_keys_of_the_schedule() {
    let file = beside("columns", "time,rate,delay_ms,loss\n0,8,20,0\n2,4,50,0.1\n");
    let rate = ("bottleneck.rate".to_owned(), "{ trace = \"cell.csv\", unit = \"Mbit/s\" }".to_owned());
    let set =
        [rate.clone(), ("duration".to_owned(), "6 s".to_owned()), ("warmup".to_owned(), "0 s".to_owned())];
    let scenario = read(DUMBBELL, &file, &set).unwrap_or_else(|mistakes| panic!("{mistakes}")).base;
    let at = |s| Time::ZERO + Span::from_s(s);
    let ms = Span::from_ms;
    let [there, back] = &scenario.links[..] else { panic!("a dumbbell has two directions") };
    assert_eq!(there.rate, Rate::from_bps(6_000_000).unwrap());
    assert_eq!(there.schedule.delays, [(at(0), ms(20)), (at(2), ms(50)), (at(4), ms(20)), (at(6), ms(50))]);
    let lost: Vec<_> = there.schedule.losses.iter().map(|change| change.1.clone()).collect();
    assert_eq!(lost, [0.0, 0.1, 0.0, 0.1].map(LossRule::Probability));
    assert!(back.schedule.losses.is_empty() && back.schedule.delays == there.schedule.delays);
    let loss = ("bottleneck.loss".to_owned(), "0.1".to_owned());
    let told = read(DUMBBELL, &file, &[rate, loss]).unwrap_err().0[0].text.clone();
    assert_eq!(told, "loss: not allowed here, because the loss follows a trace");
}

#[test]
fn a_trace_is_read_beside_its_scenario_and_counts_by_its_mean() {
    let file = beside("trace", "0,8e6\n1,4e6\n");
    let set = [("bottleneck.rate".to_owned(), "{ trace = \"cell.csv\" }".to_owned())];
    let scenario = read(DUMBBELL, &file, &set).unwrap_or_else(|mistakes| panic!("{mistakes}")).base;
    assert_eq!(scenario.links[1].rate, Rate::from_bps(6_000_000).unwrap());
    let told: String = describe(&scenario);
    assert!(
        told.contains("\"bps\":[[0.0,8000000],[1.0,4000000]]") && told.contains("\"repeats_after_s\":2.0"),
        "{told}"
    );
}

#[test]
fn mistakes_in_a_schedule_or_a_trace_are_reported_with_their_lines() {
    let file = beside("wrong", "0,8e6\n1,fast\n");
    let told = |key: &str, value: &str| {
        read(DUMBBELL, &file, &[(key.to_owned(), value.to_owned())]).unwrap_err().0[0].text.clone()
    };
    assert_eq!(
        told("bottleneck.rate", "{ trace = \"cell.csv\" }"),
        "trace: cell.csv:2: \"fast\" is not a rate, at most 1000 Tbit/s"
    );
    assert_eq!(told("bottleneck.rate", "{ trace = \"sell.csv\" }"), "trace: sell.csv: file not found");
    assert_eq!(told("bottleneck.rate", "{ trace = \".\" }"), "trace: .: not a regular file");
    let schedule = |value: &str| told("bottleneck.schedule", value);
    assert_eq!(
        schedule("[{ at = \"2 s\", loss = 0.1 }, { at = \"1 s\", loss = 0 }]"),
        "at: 1 s is not later than the 2 s of the previous entry"
    );
    assert_eq!(
        schedule("[{ at = \"2 s\" }]"),
        "schedule: this entry changes nothing; set \"rate\", \"delay\", \"loss\", \"reverse_loss\" or \"mtu\""
    );
    assert_eq!(schedule("[{ at = \"0 s\", loss = 0 }]"), "at: must be above zero");
    assert!(schedule("[{ at = \"2 s\", dleay = \"1 ms\" }]").contains("did you mean \"delay\"?"));
    assert!(
        schedule("\"later\"").starts_with("schedule: wanted a list in which each entry is a table { at = …")
    );
}

/// A scenario beside a file of connection vectors in which both sides write; `more` follows its flow `requests`.
fn with_vectors(more: &str) -> Result<Study, String> {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("vectors");
    std::fs::create_dir_all(&folder).expect("a folder of the test");
    std::fs::write(folder.join("site.cvec"), "SEQ 0\n> 5\n< 7\n").expect("a file of the test");
    let text = format!(
        "{DUMBBELL}\n[[flow]]\nname = \"requests\"\ncontroller = \"reno\"\n\
         traffic = {{ kind = \"vectors\", file = \"site.cvec\" }}\n{more}"
    );
    read(&text, folder.join("site.toml").to_str().expect("a path in UTF-8"), &[])
        .map_err(|mistakes| mistakes.0[0].text.clone())
}

#[test]
fn connection_vectors_need_a_flow_that_answers() {
    let answer = |more: &str| {
        let text = "[[flow]]\nname = \"responses\"\ncontroller = \"reno\"\ndirection = \"reverse\"\n";
        format!("{text}traffic = {{ kind = \"answers\", to = \"requests\" }}\n{more}\n")
    };
    let study = with_vectors(&answer("")).unwrap();
    assert_eq!(study.base.flows[4].traffic, Traffic::Answers { to: "requests".into(), flow: 3 });
    let transfers = plan(&study.base);
    assert_eq!((transfers[3].next.map(|next| next.transfer), transfers[4].start), (Some(4), Time::NEVER));
    let why = |more: &str| with_vectors(more).unwrap_err();
    assert!(
        why("").starts_with("traffic: the acceptors of the file write, too; add a [[flow]]"),
        "{}",
        why("")
    );
    assert_eq!(why(&answer("start = \"1 s\"")), "start: the flow starts with \"requests\", which it answers");
    assert_eq!(
        why(&answer("count = 2")),
        "count: one flow plays the connections of a file; remove \"count\""
    );
    let other = answer("").replace("to = \"requests\"", "to = \"request\"");
    assert_eq!(
        why(&other),
        "traffic: no flow \"request\" has \"vectors\" traffic; did you mean \"requests\"?"
    );
    let missing =
        "[[flow]]\nname = \"x\"\ncontroller = \"reno\"\ntraffic = { kind = \"vectors\", file = \"y\" }";
    assert_eq!(why(missing), "traffic: y: file not found");
}

#[test]
fn the_reverse_direction_may_have_a_rate_and_a_queue_of_its_own() {
    let text = DUMBBELL.replace(
        "queue = { kind = \"droptail\", capacity = \"1 bdp\" }",
        "queue = { kind = \"droptail\", capacity = \"1 bdp\" }\nreverse_rate = \"100 Mbit/s\"\n\
         reverse_queue = { kind = \"codel\", capacity = \"12 ms\" }\n\
         schedule = [{ at = \"1 s\", rate = \"2 Gbit/s\", delay = \"30 ms\" }]",
    );
    let links = read(&text, "asymmetric.toml", &[]).unwrap().base.links;
    assert_eq!(links[1].rate, Rate::from_bps(100_000_000).unwrap());
    assert_eq!(links[1].queue.entry.name, "codel");
    // 12 ms x 100 Mbit/s = 150 packets of 1000 B.
    assert_eq!(links[1].capacity, Capacity::Packets(150));
    assert!(links[0].schedule.rates.is_some() && links[1].schedule.rates.is_none());
    assert_eq!(links[0].schedule.delays, links[1].schedule.delays);
}
