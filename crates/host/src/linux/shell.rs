//! Starts the program for a program of the user along a flow's path.

use std::env;
use std::fs::File;
use std::io::IsTerminal;
use std::os::fd::RawFd;
use std::path::PathBuf;

use nix::sys::termios::{SetArg, tcgetattr, tcsetattr};
use serde::Deserialize;
use serde_json::{Value, json};

use super::program::Program;
use crate::error::{Context, Result};
use crate::lab::Shell;
use crate::lab::run_request::RequestedScenario;
use crate::lab::shell::terminal;
use crate::signals;
use crate::sys::Inherited;
use crate::variables::{self, TERMINAL};

/// The request: that of the lab, and the program.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinuxShell {
    /// The program.
    program: PathBuf,
    /// The memory of the kernel in it, MB.
    memory_mb: u64,
    scenario: RequestedScenario,
    host: String,
    command: Vec<String>,
    receivers: Vec<String>,
    terminal: (RawFd, RawFd),
}

/// Runs a program of the user at the sender of a flow; returns its exit status and the counts of packets.
///
/// # Errors
/// As in the lab; and a failure if the program that is Linux ends early.
pub fn launch_shell(asked: LinuxShell, inherited: &mut Inherited) -> Result<Value> {
    let (input, output) = terminal(asked.terminal, inherited)?;
    let (input, output) = (File::from(input), File::from(output));
    let seed = asked.scenario.read_in_bounds()?.seed;
    let folder = env::current_dir().when("the folder of this process")?;
    // Variables that are not text cannot be passed on.
    let environment = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let shell = Shell {
        scenario: asked.scenario,
        host: asked.host,
        command: asked.command,
        receivers: asked.receivers,
        terminal: TERMINAL,
        environment: Some(environment.collect()),
        folder: Some(folder),
    };
    let mut request = json!({ "do": "shell" });
    let fields = serde_json::to_value(&shell).when("the request")?;
    request.as_object_mut().into_iter().zip(fields.as_object()).for_each(|(to, from)| {
        to.extend(from.iter().map(|(name, value)| (name.clone(), value.clone())));
    });
    let is_terminal = input.is_terminal() && output.is_terminal();
    if is_terminal {
        // What its keys mean is for the programs in the host. Without a terminal they cannot get it.
        signals::block_keyboard()?;
    }
    let before = tcgetattr(&input).ok();
    let kept = input.try_clone().when("the terminal")?;
    let (files, console) = if is_terminal {
        let keyboard = input.try_clone().when("the terminal")?;
        (vec![(variables::KEYBOARD, keyboard)], Some((input, output)))
    } else {
        (vec![(variables::INPUT, input), (variables::OUTPUT, output)], None)
    };
    let program =
        Program { path: &asked.program, memory_mb: asked.memory_mb, seed, files, writes: true, console };
    let result = program.run(&json!({ "request": request }), None);
    if let Some(before) = before {
        let _ = tcsetattr(&kept, SetArg::TCSADRAIN, &before);
    }
    result
}
