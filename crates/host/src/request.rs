//! The requests of `fairhaul-host` and its answers.

use std::io::{self, Read};
use std::path::PathBuf;
use std::process::ExitCode;

use nix::sys::prctl::{set_no_new_privs, set_pdeathsig};
use nix::sys::signal::Signal;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::{Context, Error, Result};
use crate::kernel::install_store::{FOLDER, InstallStore};
use crate::kernel::{self, Flows, Install, Remove, Set, Trial, Verify, Watch};
use crate::lab::{self, Clean, PortParameters, Ready, RunRequest, Shell};
use crate::linux::{self, LinuxCalls, LinuxReady, LinuxRun, LinuxShell, compare_calls, launch, launch_shell};
use crate::memory_limit::MemoryLimit;
use crate::steps::say;
use crate::sys::{self, Inherited};
use fairhaul_experiment::Scenario;

/// The longest request that is read, bytes; a scenario has some kilobytes.
const LONGEST: u64 = 64 << 20;

/// A request: a command with its fields.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
enum HostRequest {
    List,
    Status,
    Flows(Flows),
    Install(Install),
    Set(Set),
    Remove(Remove),
    Verify(Verify),
    Watch(Watch),
    Trial(Trial),
    PortParameters(PortParameters),
    Ready(Ready),
    Lab(RunRequest),
    Linux(LinuxRun),
    LinuxShell(LinuxShell),
    LinuxReady(LinuxReady),
    LinuxCalls(LinuxCalls),
    Shell(Shell),
    Clean(Clean),
}

/// A request, and the folder of installed eBPF ports.
#[derive(Debug, Deserialize)]
struct Envelope {
    request: HostRequest,
    #[serde(default = "default_folder")]
    place: PathBuf,
}

fn default_folder() -> PathBuf {
    FOLDER.into()
}

/// Reads one request, carries it out, and writes the result.
pub fn answer(input: impl Read, mut inherited: Inherited) -> ExitCode {
    respond(input, |text| carry_out(text, &mut inherited))
}

/// Reads one request, has `carry_out` do it, and writes the result. If the process that sent the request ends, this
/// one ends, too, as soon as the change that it is making is complete.
pub fn respond(input: impl Read, carry_out: impl FnOnce(&str) -> Result<Value>) -> ExitCode {
    let _ = set_pdeathsig(Signal::SIGTERM);
    finish(read(input).and_then(|text| carry_out(&text)))
}

/// Writes the result as the last line.
fn finish(done: Result<Value>) -> ExitCode {
    match done {
        Ok(result) => {
            say(&json!({ "result": result }));
            ExitCode::SUCCESS
        }
        Err(error) => {
            let refused = matches!(error, Error::Refused(_));
            say(&json!({ "error": error.sentence(), "refused": refused }));
            ExitCode::from(if refused { 2 } else { 1 })
        }
    }
}

/// Carries out a request that has been read already.
pub fn respond_to(text: &str, mut inherited: Inherited) -> ExitCode {
    finish(carry_out(text, &mut inherited))
}

/// A request of the engine `linux`, as far as its network goes.
pub enum LinuxRequest {
    /// A question, which has no network.
    Ready,
    /// A run of a scenario.
    Run(Box<SimulatedRun>),
    /// A program at the sender of the flow with this number.
    Shell(Scenario, u32),
}

/// A run in the engine `linux`, as far as its network goes.
pub struct SimulatedRun {
    /// What is run.
    pub scenario: Scenario,
    /// The number of a flow whose packets are traced.
    pub traced: Option<u32>,
    /// Flows whose packets are captured, each with a folder.
    pub captures: Vec<(u32, PathBuf)>,
}

/// Reads the scenario of a request.
///
/// # Errors
/// It has no network, or its scenario has mistakes.
pub fn linux_request(text: &str) -> Result<LinuxRequest> {
    match parsed(text)?.request {
        HostRequest::Lab(run) => {
            let scenario = run.scenario.read()?;
            let captures = run.programs.map(|programs| programs.captures(&scenario));
            let captures = captures.unwrap_or_default();
            Ok(LinuxRequest::Run(Box::new(SimulatedRun { scenario, traced: run.trace, captures })))
        }
        HostRequest::Shell(shell) => {
            let scenario = shell.scenario.read()?;
            let number = lab::shell::number(&scenario, &shell.host)?;
            Ok(LinuxRequest::Shell(scenario, number))
        }
        HostRequest::Ready(_) => Ok(LinuxRequest::Ready),
        _ => Err(Error::refused("this request has no network")),
    }
}

fn parsed(text: &str) -> Result<Envelope> {
    serde_json::from_str(text).map_err(|error| Error::refused(format!("invalid request: {error}")))
}

fn read(input: impl Read) -> Result<String> {
    let mut text = String::new();
    match input.take(LONGEST + 1).read_to_string(&mut text) {
        Ok(_) if text.len() as u64 <= LONGEST => Ok(text),
        Ok(_) => Err(Error::refused(format!("the request has more than {} MB", LONGEST >> 20))),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err(Error::refused("the request is not UTF-8 text"))
        }
        Err(error) => Err(error.into()),
    }
}

fn carry_out(text: &str, inherited: &mut Inherited) -> Result<Value> {
    if sys::is_elevated() {
        return Err(Error::refused(
            "fairhaul-host has the bit setuid or setgid, or file capabilities, so every user of this host could \
             change its kernel. Remove them (chmod ug-s, setcap -r), and let sudo or systemd give the rights",
        ));
    }
    let envelope = parsed(text)?;
    let store = InstallStore::new(&envelope.place);
    // Programs that this one starts, such as `ip`, get no more capabilities than this one has kept. In a shell the
    // user's own programs may be such that need more.
    if !matches!(envelope.request, HostRequest::Shell(_)) {
        set_no_new_privs().when("privileges")?;
    }
    // Commands of the kernel read an object and what others recorded; the others end the limit after they have read.
    let of_kernel = matches!(
        envelope.request,
        HostRequest::List
            | HostRequest::Status
            | HostRequest::Flows(_)
            | HostRequest::Install(_)
            | HostRequest::Set(_)
            | HostRequest::Remove(_)
            | HostRequest::Verify(_)
            | HostRequest::Watch(_)
            | HostRequest::Trial(_)
    );
    let _limit = of_kernel.then(MemoryLimit::begin);
    match envelope.request {
        HostRequest::List => Ok(kernel::list()),
        HostRequest::Status => kernel::status(&store),
        HostRequest::Flows(flows) => kernel::host_flows(&flows),
        HostRequest::Install(install) => kernel::install(&store, &install),
        HostRequest::Set(set) => kernel::set(&store, &set),
        HostRequest::Remove(remove) => kernel::remove(&store, &remove),
        HostRequest::Verify(verify) => kernel::verify(verify),
        HostRequest::Watch(watch) => kernel::watch(&store, &watch),
        HostRequest::Trial(trial) => kernel::trial(&trial),
        HostRequest::PortParameters(question) => lab::port_parameters(&question),
        HostRequest::Ready(question) => lab::ready(&question),
        HostRequest::Lab(question) => lab::answer(&question),
        HostRequest::Linux(run) => launch(&run),
        HostRequest::LinuxReady(question) => linux::ready(&question),
        HostRequest::LinuxCalls(question) => compare_calls(&question),
        HostRequest::LinuxShell(shell) => launch_shell(shell, inherited),
        HostRequest::Shell(request) => lab::shell(&request, inherited),
        HostRequest::Clean(request) => lab::clean(&request),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_does_not_end_or_is_no_text_is_refused() {
        assert_eq!(read(io::repeat(b' ')), Err(Error::refused("the request has more than 64 MB")));
        assert_eq!(read(&[0xff][..]), Err(Error::refused("the request is not UTF-8 text")));
        assert_eq!(read(&b"{}"[..]), Ok("{}".to_string()));
    }
}
