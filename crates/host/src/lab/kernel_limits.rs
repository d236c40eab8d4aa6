//! What the running kernel, and the rights of this process, let the hosts of a lab use: controllers and buffers.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use fairhaul_experiment::{Flow, KernelRelease, RUNS_WITH};
use fairhaul_units::{Bytes, Parameter, Value, hint};

use super::flow_controller::{KernelNames, datagrams, identity, kernel_name};
use super::simulated_path::SimulatedPath;
use crate::ports::{capabilities, congestion, probe};

/// See the module.
#[derive(Clone, Debug)]
pub struct KernelLimits {
    /// The kernel's controllers, loaded eBPF ports included.
    pub controllers: Vec<String>,
    /// Whether eBPF programs can be loaded, which needs root.
    pub loads_programs: bool,
    /// The largest buffers that a process without root can request, if this process has no root: of senders and of
    /// receivers.
    pub buffers: Option<(Bytes, Bytes)>,
    /// Whether hosts have the settings that only the engine `linux` carries out.
    pub sets_hosts: bool,
    /// Whether the kernel has accurate feedback on marks.
    pub has_accurate_ecn: bool,
}

/// The setting that kernels with accurate feedback have.
const ACCURATE: &str = "/proc/sys/net/ipv4/tcp_ecn_option";

impl KernelLimits {
    /// Those of this process.
    pub fn here() -> io::Result<KernelLimits> {
        let root = capabilities::lacking().is_empty();
        let buffers = if root { None } else { Some((limit("wmem_max")?, limit("rmem_max")?)) };
        Ok(KernelLimits {
            controllers: congestion::available()?,
            loads_programs: root,
            buffers,
            sets_hosts: SimulatedPath::is_here(),
            has_accurate_ecn: Path::new(ACCURATE).exists(),
        })
    }

    /// The requests of a flow that they do not allow.
    pub fn refusals(&self, flow: &Flow, kernel_names: &KernelNames) -> Vec<String> {
        let of_controller = self.controller(flow, kernel_names).err();
        let of_host = self.buffers(flow).into_iter().chain(self.marks(flow)).chain(other_kernel(flow));
        of_controller.into_iter().chain(of_host).collect()
    }

    /// Why the codepoint of a flow, or its feedback on marks, is not possible.
    fn marks(&self, flow: &Flow) -> Option<String> {
        let is_asked = flow.ect1 || flow.accecn.is_some();
        if is_asked && !self.sets_hosts {
            return Some(format!(
                "ect1 and accecn: a flow of the lab has the kernel's feedback, which says only that there were marks; remove \
                 these keys. This {RUNS_WITH}, of 6.18 or later for accecn"
            ));
        }
        (flow.accecn.is_some() && !self.has_accurate_ecn).then(|| {
            format!(
                "accecn: Linux {} has no accurate feedback on marks, which is there from 6.18 on; build such a kernel (fairhaul \
                 linux build SOURCE) and choose it with --kernel, or remove the key",
                probe::release()
            )
        })
    }

    fn buffers(&self, flow: &Flow) -> Vec<String> {
        let Some((send, receive)) = self.buffers else { return Vec::new() };
        let refuse = |key: &str, asked: Option<Bytes>, most: Bytes, limit: &str| {
            asked.filter(|asked| *asked > most).map(|asked| {
                format!(
                    "{key} = \"{asked}\": without root the kernel grants at most {most}. Run the command as root, \
                     or have an administrator raise the limit: sysctl -w net.core.{limit}={}",
                    asked.0
                )
            })
        };
        [
            refuse("send_buffer", flow.send_buffer, send, "wmem_max"),
            refuse("receive_buffer", flow.receive_buffer, receive, "rmem_max"),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Whether the kernel has the controller of a flow.
    fn controller(&self, flow: &Flow, kernel_names: &KernelNames) -> Result<(), String> {
        if datagrams(flow) {
            return Ok(()); // it has none
        }
        let (name, kernel) = (flow.controller.name(), kernel_name(flow, kernel_names));
        let object = flow.controller.own.is_some() && !kernel_names.contains_key(&identity(flow));
        if object || !self.controllers.iter().any(|known| known == kernel) {
            return Err(self.missing(name, kernel, object));
        }
        let linux = flow.controller.entry.linux;
        let differs = |(parameter, value): &(&Parameter, &Value)| {
            **value != Value::default_of(parameter)
                && value.number().is_none_or(|value| linux != Some((parameter.name, value)))
        };
        match flow.controller.settings.pairs().find(differs) {
            Some((parameter, _)) if !kernel_names.contains_key(&identity(flow)) => Err(format!(
                "controller \"{name}\": the kernel's own controller has no parameter \"{}\"; remove the key",
                parameter.name
            )),
            _ => Ok(()),
        }
    }

    /// The kernel's controllers without loaded eBPF ports, which may be gone at any time.
    fn own_controllers(&self) -> Vec<&str> {
        let names = self.controllers.iter().map(String::as_str);
        names.filter(|name| !name.starts_with(fairhaul_ports::PREFIX)).collect()
    }

    /// Why the controller `name`, which would be `kernel` there, is not in the kernel.
    fn missing(&self, name: &str, kernel: &str, object: bool) -> String {
        let ports: BTreeSet<String> =
            fairhaul_ports::objects().into_iter().map(|object| object.note.name).collect();
        if !self.loads_programs && (object || ports.contains(name)) {
            return format!(
                "controller \"{name}\": it is an eBPF program, which only root can load into the kernel. Run the \
                 command as root, or choose a controller of this kernel: {}",
                self.own_controllers().join(", ")
            );
        }
        let known: BTreeSet<String> = ports.into_iter().chain(self.controllers.iter().cloned()).collect();
        format!(
            "controller \"{name}\": the kernel has no controller \"{kernel}\"; {}",
            hint(name, known.iter().map(String::as_str))
        )
    }
}

/// A limit of `net.core`. A kernel that hides it in containers grants what is asked or fails the connection.
fn limit(name: &str) -> io::Result<Bytes> {
    match fs::read_to_string(format!("/proc/sys/net/core/{name}")) {
        Ok(text) => text.trim().parse().map(Bytes).map_err(io::Error::other),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Bytes(u64::MAX)),
        Err(error) => Err(error),
    }
}

/// Says that a flow has hosts of another kernel than the one that runs.
fn other_kernel(flow: &Flow) -> Option<String> {
    let wanted = flow.host.as_deref()?.kernel?;
    let version = probe::release();
    let runs = KernelRelease::of_version(&version).is_some_and(|runs| runs == wanted);
    let name = wanted.name();
    (!runs).then(|| {
        format!(
            "host.kernel = \"{name}\": Linux {version} runs here; the engine linux has others with --kernel {name}"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairhaul_experiment::read;

    fn flow(more: &str) -> Flow {
        let text = format!(
            "profile = \"plain\"\nduration = \"1 s\"\n[bottleneck]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\
             queue = {{ kind = \"droptail\", capacity = \"20 ms\" }}\n[[flow]]\nname = \"F\"\n{more}\n"
        );
        read(&text, "test", &[]).expect("it is a scenario").base.flows[0].clone()
    }

    fn refusals(more: &str) -> Vec<String> {
        limits().refusals(&flow(more), &KernelNames::new())
    }

    fn limits() -> KernelLimits {
        KernelLimits {
            controllers: vec!["reno".into(), "fh_1_0".into(), "highspeed".into()],
            loads_programs: false,
            buffers: Some((Bytes(200_000), Bytes(100_000))),
            sets_hosts: false,
            has_accurate_ecn: false,
        }
    }

    #[test]
    fn accurate_feedback_needs_the_engine_linux_and_a_kernel_that_has_it() {
        let asks = flow("controller = \"reno\"\necn = true\naccecn = true");
        let of = |limits: KernelLimits| limits.refusals(&asks, &KernelNames::new());
        let in_lab = of(limits());
        assert!(in_lab.len() == 1 && in_lab[0].contains("only that there were marks"), "{in_lab:?}");
        let old = of(KernelLimits { sets_hosts: true, ..limits() });
        assert!(old.len() == 1 && old[0].contains("from 6.18 on") && old[0].contains("--kernel"), "{old:?}");
        assert_eq!(of(KernelLimits { sets_hosts: true, has_accurate_ecn: true, ..limits() }), [""; 0]);
    }

    #[test]
    fn without_root_a_controller_of_the_kernel_is_used_even_if_it_has_a_port() {
        assert_eq!(refusals("controller = \"highspeed\""), [""; 0]);
    }

    #[test]
    fn without_root_a_port_is_refused_with_what_the_kernel_has() {
        let refusals = refusals("controller = \"fhstcp\"");
        let [refusal] = &refusals[..] else { panic!("{refusals:?}") };
        assert!(refusal.contains("only root can load") && refusal.ends_with("reno, highspeed"), "{refusal}");
    }

    #[test]
    fn without_root_buffers_are_limited() {
        let refusals =
            refusals("controller = \"reno\"\nsend_buffer = \"200 kB\"\nreceive_buffer = \"150 kB\"");
        let [refusal] = &refusals[..] else { panic!("{refusals:?}") };
        assert!(
            refusal.starts_with("receive_buffer = \"150 kB\"") && refusal.contains("rmem_max=150000"),
            "{refusal}"
        );
    }
}
