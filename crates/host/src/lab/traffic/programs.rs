//! The programs of a flow: each runs in the namespace of its host and in a process namespace of its own, until it exits or
//! the run is over. A program that ends early is a failure of the run, with its name and the time.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::process::{Command, ExitStatus, Stdio};
use std::slice;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use fairhaul_units::{Span, Time};

use super::{LEAD, LabTransfer, TrafficRunner, TransferResult, Workload};
use crate::lab::namespaced_processes::{ProcessNamespace, listeners_at};
use crate::lab::program::{Program, Programs};
use crate::linux::memory_file;
use crate::namespace::Namespace;
use crate::sys::confine::confine;

/// How long a receiver may take until it listens, and how often that and the end of a program are looked for.
const LISTENS_WITHIN: Span = Span::from_s(1);
const LOOK: Span = Span::from_ms(1);
/// What a message quotes of the output of a program, bytes.
const QUOTED: u64 = 300;

/// How a program ended by itself.
struct Exit {
    at: Time,
    status: ExitStatus,
    output: String,
}

impl LabTransfer {
    /// Whether programs of the user make it.
    pub fn is_of_programs(&self) -> bool {
        matches!(self.workload, Workload::Programs(_))
    }
}

impl TrafficRunner<'_> {
    /// Waits until the end of the run, or until a program has failed.
    pub(super) fn wait_for_end(&self, end: Time, transfers: &[LabTransfer]) {
        if !transfers.iter().any(LabTransfer::is_of_programs) {
            return self.clock.sleep_until(end);
        }
        while self.clock.now() < end && !self.failed.load(Ordering::Relaxed) {
            self.clock.sleep_until(end.min(self.clock.now() + LEAD));
        }
    }

    /// Runs the programs of a flow: the receiver at once, the sender at the start of the transfer.
    pub(super) fn run_programs(
        &self,
        transfer: &LabTransfer,
        programs: &Programs,
        result: &mut TransferResult,
    ) -> io::Result<()> {
        let Programs { sender, receiver, listens } = programs;
        let (from, to) =
            (&self.running.host(transfer.from).namespace, &self.running.host(transfer.to).namespace);
        let over = AtomicBool::new(false);
        let before = to.inside(|| listeners_at(*listens))?;
        let (sent, received) = thread::scope(|scope| {
            let received = scope.spawn(|| self.run_program(receiver, to, &over));
            let listening_by = self.clock.now() + LISTENS_WITHIN;
            while to.inside(|| listeners_at(*listens)).is_ok_and(|now| now <= before)
                && self.clock.now() < listening_by
                && !over.load(Ordering::Relaxed)
            {
                self.clock.sleep_until(self.clock.now() + LOOK);
            }
            self.clock.sleep_until(transfer.start);
            result.start = Some(self.clock.now());
            let sent = scope.spawn(|| self.run_program(sender, from, &over)).join();
            (sent, received.join())
        });
        let ended =
            |joined: thread::Result<_>| joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let (sent, received): (Option<Exit>, Option<Exit>) = (ended(sent)?, ended(received)?);
        result.end = sent.as_ref().filter(|exit| exit.status.success()).map(|exit| exit.at);
        let mut failures: Vec<(&Program, &Exit)> = Vec::new();
        failures.extend(sent.as_ref().filter(|exit| !exit.status.success()).map(|exit| (sender, exit)));
        // A receiver may exit when it has all, but not while its sender goes on.
        let early = |exit: &&Exit| !exit.status.success() || sent.is_none();
        failures.extend(received.as_ref().filter(early).map(|exit| (receiver, exit)));
        failures.sort_by_key(|(_, exit)| exit.at);
        match failures.first() {
            Some((program, exit)) => Err(io::Error::other(sentence(program, exit))),
            None => Ok(()),
        }
    }

    /// Runs a program in a namespace until it exits, or until the run or the flow is over; none in these cases.
    fn run_program(
        &self,
        program: &Program,
        host: &Namespace,
        over: &AtomicBool,
    ) -> io::Result<Option<Exit>> {
        let done = self.run_in_namespaces(program, host, over);
        let failed = |exit: &Option<Exit>| exit.as_ref().is_some_and(|exit| !exit.status.success());
        if done.as_ref().map_or(true, failed) {
            over.store(true, Ordering::Relaxed);
            self.failed.store(true, Ordering::Relaxed);
        }
        done.map_err(|error| io::Error::other(format!("{} cannot be started: {error}", program.name)))
    }

    fn run_in_namespaces(
        &self,
        program: &Program,
        host: &Namespace,
        over: &AtomicBool,
    ) -> io::Result<Option<Exit>> {
        let mut output = match &program.output {
            Some(path) => File::options().read(true).write(true).create(true).truncate(true).open(path)?,
            None => memory_file("output", b"")?,
        };
        host.enter()?;
        let processes = ProcessNamespace::enter()?;
        let mut command = Command::new(&program.command[0]);
        command.args(&program.command[1..]).current_dir(&program.folder);
        command.env_clear().envs(program.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output.try_clone()?);
        confine(&mut command, program.user.map(|user| (user.uid, user.gid)));
        let mut child = command.spawn()?;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break Some(status);
            }
            if self.ended.load(Ordering::Relaxed) || over.load(Ordering::Relaxed) {
                break None;
            }
            self.clock.sleep_until(self.clock.now() + LOOK);
        };
        let at = self.clock.now();
        processes.end(slice::from_mut(&mut child))?;
        status.map(|status| Ok(Exit { at, status, output: last_words(&mut output)? })).transpose()
    }
}

/// The end of what a program has printed, in one line.
fn last_words(output: &mut File) -> io::Result<String> {
    let length = output.seek(SeekFrom::End(0))?;
    output.seek(SeekFrom::Start(length.saturating_sub(QUOTED)))?;
    let mut bytes = Vec::new();
    output.take(QUOTED).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    Ok(lines.collect::<Vec<_>>().join(" | "))
}

fn sentence(program: &Program, exit: &Exit) -> String {
    let Exit { at, status, output } = exit;
    let printed =
        if output.is_empty() { "it printed nothing".into() } else { format!("it printed: {output}") };
    format!("{} ended after {:.3} s of the run ({status}); {printed}", program.name, at.as_secs())
}
