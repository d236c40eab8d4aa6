//! The requests of `fairhaul-host` and its answers.

use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;

use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::kernel::install_store::{FOLDER, InstallStore};
use crate::kernel::{self, Flows, Install, Remove, Set, Verify, Watch};
use crate::lab::{self, Clean, Ready, RunRequest, Shell};
use crate::steps::say;
use crate::sys::Inherited;

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
    Ready(Ready),
    Lab(RunRequest),
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
pub fn respond(mut input: impl Read, carry_out: impl FnOnce(&str) -> Result<Value>) -> ExitCode {
    let _ = set_pdeathsig(Signal::SIGTERM);
    let mut text = String::new();
    let read = input.read_to_string(&mut text).map_err(Error::from);
    match read.and_then(|_| carry_out(&text)) {
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

fn carry_out(text: &str, inherited: &mut Inherited) -> Result<Value> {
    let envelope: Envelope =
        serde_json::from_str(text).map_err(|error| Error::refused(format!("invalid request: {error}")))?;
    let store = InstallStore::new(&envelope.place);
    match envelope.request {
        HostRequest::List => Ok(kernel::list()),
        HostRequest::Status => kernel::status(&store),
        HostRequest::Flows(flows) => kernel::host_flows(&flows),
        HostRequest::Install(install) => kernel::install(&store, &install),
        HostRequest::Set(set) => kernel::set(&store, &set),
        HostRequest::Remove(remove) => kernel::remove(&store, &remove),
        HostRequest::Verify(verify) => kernel::verify(verify),
        HostRequest::Watch(watch) => kernel::watch(&store, &watch),
        HostRequest::Ready(question) => lab::ready(&question),
        HostRequest::Lab(question) => lab::answer(&question),
        HostRequest::Shell(request) => lab::shell(&request, inherited),
        HostRequest::Clean(request) => lab::clean(&request),
    }
}
