//! The settings of hosts: which hosts a scenario needs, because a setting applies to everything that a host sends or
//! receives, and what sets them in a namespace. Line rate, moderation and noise are for the device of a host to carry out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use fairhaul_experiment::{AccEcnOption, Flow, HostPacing};
use fairhaul_path::LinkSpec;
use fairhaul_path::card::{Moderation, Noise, Processor};
use fairhaul_units::{Rate, hint};

use super::address::MOST_HOSTS;
use super::interface::set;
use crate::error::{Error, Result};
use crate::namespace::Namespace;
use crate::programs;

/// The folder of the kernel's settings, and that of a namespace.
const SYSCTLS: &str = "/proc/sys";
const OF_NAMESPACE: &str = "/proc/sys/net";
/// The device that every namespace has.
const LOOPBACK: &str = "lo";
/// Buffers that limit nothing may grow to this, of which the kernel gives at least half to a window: what 40 Gbit/s carry
/// in 100 ms.
const LARGEST_BUFFER: u64 = 1 << 30;

/// The settings of one host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostSettings {
    /// The longest burst that it sends, packets; [`Flow::BURSTS_OF_KERNEL`]: its kernel chooses.
    pub burst: u64,
    /// Whether it merges consecutive packets that it receives together.
    pub merges: bool,
    /// Its name, where flows share it by name. Hosts without one are shared by flows of equal settings, but those whose card
    /// does something.
    pub name: Option<String>,
    /// The flow that has it alone, for this reason.
    pub alone: Option<String>,
    /// The rate at which packets leave its card.
    pub line_rate: Option<Rate>,
    /// The number of its links, which bursts take in turn.
    pub links: u8,
    /// The least time between two interrupts of its card.
    pub moderation: Moderation,
    /// The random delay of a delivery to it; order is kept.
    pub noise: Noise,
    /// What the data that it sends cost its processor.
    pub sending: Option<Processor>,
    /// What the data that it receives cost its processor.
    pub receiving: Option<Processor>,
    /// Its queue discipline, in the words of `tc`.
    pub qdisc: Option<String>,
    /// Settings of its kernel, by name.
    pub sysctls: BTreeMap<String, String>,
    /// Whether its send buffers stay within the limits of its kernel.
    pub tunes_send_buffers: bool,
    /// The same for its receive buffers.
    pub tunes_receive_buffers: bool,
}

impl Default for HostSettings {
    /// A host that sends single packets, with large buffers.
    fn default() -> HostSettings {
        HostSettings {
            burst: 1,
            merges: false,
            name: None,
            alone: None,
            line_rate: None,
            links: 1,
            moderation: Moderation::NONE,
            noise: Noise::NONE,
            sending: None,
            receiving: None,
            qdisc: None,
            sysctls: BTreeMap::new(),
            tunes_send_buffers: false,
            tunes_receive_buffers: false,
        }
    }
}

impl HostSettings {
    /// Those of the sender of a flow.
    pub fn of_sender(flow: &Flow) -> HostSettings {
        let qdisc = paced_by_queue(flow).then(|| "fq".to_owned());
        let sysctls = of_feedback(flow);
        let sends = HostSettings { burst: flow.offload, qdisc, sysctls, ..HostSettings::default() };
        let Some(host) = flow.host.as_deref() else { return sends };
        HostSettings {
            name: host.sender.as_ref().map(|sender| sender.name.clone()),
            line_rate: host.line_rate,
            links: host.links(),
            sending: host.processor,
            qdisc: host.qdisc.clone().or(sends.qdisc),
            sysctls: with_own(sends.sysctls, &host.sysctls),
            tunes_send_buffers: host.tunes_send_buffer,
            ..sends
        }
    }

    /// Those of the receiver of a flow.
    pub fn of_receiver(flow: &Flow) -> HostSettings {
        let sysctls = of_feedback(flow);
        let Some(host) = flow.host.as_deref() else {
            return HostSettings { sysctls, ..HostSettings::default() };
        };
        HostSettings {
            merges: host.gro,
            moderation: host.moderation,
            noise: host.noise,
            receiving: host.processor,
            sysctls: with_own(sysctls, &host.sysctls),
            tunes_receive_buffers: host.tunes_receive_buffer,
            ..HostSettings::default()
        }
    }

    /// Whether its card or its processor delays packets, those of one flow for those of another.
    fn has_card(&self) -> bool {
        let works = self.sending.is_some() || self.receiving.is_some();
        works || self.line_rate.is_some() || self.moderation != Moderation::NONE || !self.noise.is_none()
    }

    /// Sets what belongs to the namespace of this thread. What the scenario sets comes last.
    pub fn set_namespace(&self) -> io::Result<()> {
        if !self.tunes_receive_buffers {
            set("ipv4/tcp_rmem", &format!("4096 131072 {LARGEST_BUFFER}"))?;
        }
        if !self.tunes_send_buffers {
            set("ipv4/tcp_wmem", &format!("4096 65536 {LARGEST_BUFFER}"))?;
        }
        self.sysctls.iter().try_for_each(|(name, value)| set_sysctl(name, value))
    }

    /// Sets what belongs to a device of the namespace of this thread.
    pub fn set_device(&self, device: &str) -> io::Result<()> {
        self.qdisc.as_deref().map_or(Ok(()), |qdisc| set_qdisc(device, qdisc))
    }
}

/// The settings of both hosts of a flow with accurate feedback on marks: what they request and accept, and when the option is
/// sent.
fn of_feedback(flow: &Flow) -> BTreeMap<String, String> {
    let Some(option) = flow.accecn else { return BTreeMap::new() };
    let option = match option {
        AccEcnOption::Never => "0",
        AccEcnOption::Minimum => "1",
        AccEcnOption::Always => "2",
    };
    let settings = [("net.ipv4.tcp_ecn", "3"), ("net.ipv4.tcp_ecn_option", option)];
    settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

/// Settings with those of the scenario, which come last.
fn with_own(settings: BTreeMap<String, String>, own: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    settings.into_iter().chain(own.clone()).collect()
}

/// Whether the queue of its host paces a flow; a bound of the rate alone makes its socket do that.
pub fn paced_by_queue(flow: &Flow) -> bool {
    flow.pacing == HostPacing::Linux && flow.max_pacing_rate.is_none()
}

/// The hosts of flows: receivers first, then senders. Flows of equal settings share a host, but each has its own whose card
/// does something, as in the simulator, unless that were more hosts than there can be.
#[derive(Clone, Debug)]
pub struct Hosts {
    receivers: Vec<HostSettings>,
    senders: Vec<HostSettings>,
    are_apart: bool,
}

impl Hosts {
    /// The hosts that these flows need.
    pub fn of(flows: &[Flow]) -> Hosts {
        let apart = Hosts::are(true, flows);
        if apart.count() <= usize::from(MOST_HOSTS) { apart } else { Hosts::are(false, flows) }
    }

    fn are(apart: bool, flows: &[Flow]) -> Hosts {
        let each = |settings: fn(&Flow) -> HostSettings| {
            let each = flows.iter().map(|flow| own(flow, settings, apart));
            each.collect::<BTreeSet<_>>().into_iter().collect()
        };
        let (receivers, senders) = (each(HostSettings::of_receiver), each(HostSettings::of_sender));
        Hosts { receivers, senders, are_apart: apart }
    }

    /// Their number.
    pub fn count(&self) -> usize {
        self.receivers.len() + self.senders.len()
    }

    /// Their settings, by their numbers.
    pub fn settings(&self) -> Vec<HostSettings> {
        self.receivers.iter().chain(&self.senders).cloned().collect()
    }

    /// The number of the host that sends the data of a flow.
    pub fn sender(&self, flow: &Flow) -> u8 {
        self.receivers.len() as u8 + place(&self.senders, &own(flow, HostSettings::of_sender, self.are_apart))
    }

    /// The number of the host that receives them.
    pub fn receiver(&self, flow: &Flow) -> u8 {
        place(&self.receivers, &own(flow, HostSettings::of_receiver, self.are_apart))
    }
}

/// The settings of a host of a flow, which it has alone if `apart` and its card does something.
fn own(flow: &Flow, settings: fn(&Flow) -> HostSettings, apart: bool) -> HostSettings {
    let settings = settings(flow);
    let alone = (apart && settings.name.is_none() && settings.has_card()).then(|| flow.name.clone());
    HostSettings { alone, ..settings }
}

fn place(hosts: &[HostSettings], wanted: &HostSettings) -> u8 {
    let index = hosts.iter().position(|settings| settings == wanted);
    index.expect("every flow has its hosts") as u8
}

/// Gives a device of the namespace of this thread a queue discipline, in the words of `tc`.
pub fn set_qdisc(device: &str, qdisc: &str) -> io::Result<()> {
    let mut tc = programs::command("tc", "iproute2")?;
    tc.args(["qdisc", "replace", "dev", device, "root"]).args(qdisc.split_whitespace());
    let done = tc.stdin(Stdio::null()).output()?;
    if done.status.success() {
        return Ok(());
    }
    let reported = String::from_utf8_lossy(&done.stderr);
    Err(io::Error::other(format!(
        "tc reports: {}",
        reported.split_whitespace().collect::<Vec<_>>().join(" ")
    )))
}

fn set_sysctl(name: &str, value: &str) -> io::Result<()> {
    fs::write(file(name), value).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            let known = sysctls(Path::new(OF_NAMESPACE));
            let nearest = hint(name, near(name, &known));
            io::Error::other(format!("the kernel has no setting \"{name}\"; {nearest}"))
        }
        io::ErrorKind::PermissionDenied => io::Error::other(format!(
            "\"{name}\" is a setting of the whole machine, which no host can change"
        )),
        kind => io::Error::new(kind, format!("the kernel does not accept \"{name}\" = \"{value}\": {error}")),
    })
}

/// The file of a setting, whose name is its path with dots.
fn file(name: &str) -> PathBuf {
    Path::new(SYSCTLS).join(name.replace('.', "/"))
}

/// The names of the settings in a folder; names that cannot be listed are omitted.
fn sysctls(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.strip_prefix(SYSCTLS) {
            _ if path.is_dir() => names.extend(sysctls(&path)),
            Ok(name) => names.push(name.to_string_lossy().replace('/', ".")),
            Err(_) => {}
        }
    }
    names.sort();
    names
}

/// The names in the same folder, if there are any: a namespace has hundreds of settings.
fn near<'a>(name: &str, known: &'a [String]) -> Vec<&'a str> {
    let folder = |name: &str| name.rsplit_once('.').map(|(folder, _)| folder.to_owned());
    let same = known.iter().filter(|other| folder(other) == folder(name)).map(String::as_str);
    let same: Vec<&str> = same.collect();
    if same.is_empty() { known.iter().map(String::as_str).collect() } else { same }
}

/// Refuses settings and queue disciplines of these hosts and links that the kernel does not have, before hosts are made:
/// they are tried in a namespace of their own.
///
/// # Errors
/// A refusal with a sentence for each of them.
pub fn check(hosts: &[HostSettings], links: &[LinkSpec]) -> Result<()> {
    let sysctls: BTreeSet<(&String, &String)> = hosts.iter().flat_map(|host| &host.sysctls).collect();
    let of_hosts = hosts.iter().filter_map(|host| host.qdisc.as_deref()).map(|qdisc| ("host.qdisc", qdisc));
    let of_links =
        links.iter().filter_map(|link| link.queue.qdisc.as_deref()).map(|qdisc| ("queue.qdisc", qdisc));
    let qdiscs: BTreeSet<(&str, &str)> = of_hosts.chain(of_links).collect();
    if sysctls.is_empty() && qdiscs.is_empty() {
        return Ok(());
    }
    let tried = Namespace::new()?.inside(|| {
        let of_kernel = sysctls.iter().filter_map(|(name, value)| {
            set_sysctl(name, value).err().map(|error| format!("host.sysctl: {error}"))
        });
        let of_queues = qdiscs.iter().filter_map(|(key, qdisc)| {
            set_qdisc(LOOPBACK, qdisc)
                .err()
                .map(|error| format!("{key} = \"{qdisc}\": the kernel does not accept it; {error}"))
        });
        Ok(of_kernel.chain(of_queues).collect::<Vec<String>>())
    })?;
    match tried.is_empty() {
        true => Ok(()),
        false => Err(Error::refused(tried.join("\n"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairhaul_experiment::read;
    use fairhaul_units::Span;

    fn flows(flows: &[&str]) -> Vec<Flow> {
        let flow = |(number, more): (usize, &&str)| {
            format!("[[flow]]\nname = \"F{number}\"\ncontroller = \"reno\"\n{more}\n")
        };
        let text = format!(
            "profile = \"plain\"\nduration = \"1 s\"\n[bottleneck]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\
             queue = {{ kind = \"droptail\", capacity = \"20 ms\" }}\n{}",
            flows.iter().enumerate().map(flow).collect::<String>()
        );
        read(&text, "test", &[]).expect("it is a scenario").base.flows
    }

    /// What a host requests applies to all its connections, so other flows have other hosts.
    #[test]
    fn accurate_feedback_is_a_setting_of_both_hosts_that_the_scenario_may_change() {
        let own = "host = { sysctl = { \"net.ipv4.tcp_ecn_option\" = 3 } }";
        let accurate = "ecn = true\naccecn = true\naccecn_option = \"minimum\"";
        let flows = flows(&["ecn = true", accurate, &format!("{accurate}\n{own}")]);
        assert_eq!(Hosts::of(&flows).count(), 6);
        let settings = [HostSettings::of_sender, HostSettings::of_receiver].map(|of| {
            [0, 1, 2].map(|flow| of(&flows[flow]).sysctls.into_values().collect::<Vec<_>>().join(" "))
        });
        assert_eq!(settings, [["", "3 1", "3 3"]; 2]);
    }

    #[test]
    fn flows_without_settings_share_a_receiver_and_a_sender() {
        let flows = flows(&["", "count = 3"]);
        let hosts = Hosts::of(&flows);
        assert_eq!(hosts.settings(), [HostSettings::default(), HostSettings::default()]);
        assert!(flows.iter().all(|flow| (hosts.receiver(flow), hosts.sender(flow)) == (0, 1)));
    }

    /// Their interrupts would come together otherwise, which they do not in the simulator.
    #[test]
    fn each_flow_has_a_receiver_of_its_own_whose_card_interrupts_while_there_are_hosts_enough() {
        let hosts = |count: u8| {
            let of = flows(&[&format!("count = {count}\nhost = {{ moderation = \"50 us\" }}")]);
            let hosts = Hosts::of(&of);
            let receivers = of.iter().map(|flow| hosts.receiver(flow)).collect::<BTreeSet<_>>().len();
            (of.len(), receivers, hosts.count())
        };
        assert_eq!([hosts(1), hosts(3), hosts(15)], [(1, 1, 2), (3, 3, 4), (15, 15, 16)]);
        assert_eq!(hosts(16), (16, 1, 2));
        let named = flows(&["count = 2\nhost = { sender = \"server\", line_rate = \"10 Gbit/s\" }"]);
        let hosts = Hosts::of(&named);
        assert_eq!(hosts.sender(&named[0]), hosts.sender(&named[1]));
    }

    #[test]
    fn a_setting_makes_a_host_at_the_end_that_it_is_for() {
        let flows = flows(&[
            "",
            "host = { moderation = \"50 us\" }",
            "offload = \"auto\"\nhost = { qdisc = \"fq\", line_rate = \"10 Gbit/s\" }",
            "send_buffer = \"auto\"\nreceive_buffer = \"auto\"",
            "host = { sysctl = { \"net.ipv4.tcp_ecn\" = 1 } }",
        ]);
        let hosts = Hosts::of(&flows);
        let settings = hosts.settings();
        let of = |flow: usize| {
            let flow = &flows[flow];
            let [receiver, sender] = [hosts.receiver(flow), hosts.sender(flow)];
            (receiver, sender, &settings[usize::from(receiver)], &settings[usize::from(sender)])
        };
        // Receivers: plain, with moderation, tuned, with a setting. Senders: plain, the kernel's, tuned, with a setting.
        assert_eq!(hosts.count(), 8);
        let (plain_receiver, plain_sender, ..) = of(0);
        let (receiver, sender, receives, _) = of(1);
        assert!(receiver != plain_receiver && sender == plain_sender);
        assert!(
            receives.merges
                && receives.moderation == Moderation::Every(Span::from_us(50))
                && receives.line_rate.is_none()
        );
        let (receiver, sender, _, sends) = of(2);
        assert!(receiver == plain_receiver && sender != plain_sender);
        assert_eq!((sends.burst, sends.qdisc.as_deref()), (Flow::BURSTS_OF_KERNEL, Some("fq")));
        assert_eq!(sends.line_rate, Rate::from_bps(10_000_000_000));
        let (_, _, receives, sends) = of(3);
        assert!(receives.tunes_receive_buffers && !receives.tunes_send_buffers);
        assert!(sends.tunes_send_buffers && !sends.tunes_receive_buffers);
        let (_, _, receives, sends) = of(4);
        assert!(receives.sysctls == sends.sysctls && sends.sysctls["net.ipv4.tcp_ecn"] == "1");
    }

    #[test]
    fn a_setting_is_a_file_and_its_nearest_names_are_those_of_its_folder() {
        assert_eq!(file("net.ipv4.tcp_rmem"), Path::new("/proc/sys/net/ipv4/tcp_rmem"));
        let known = ["net.core.rmem_max", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"].map(String::from);
        assert_eq!(near("net.ipv4.tcp_rmen", &known), ["net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"]);
        assert_eq!(near("net.ipv5.tcp_rmem", &known).len(), 3);
        assert!(sysctls(Path::new(OF_NAMESPACE)).contains(&"net.ipv4.tcp_rmem".to_owned()));
    }
}
