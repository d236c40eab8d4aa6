//! Processes of the user in the hosts of a lab, which end with the lab.
//!
//! They run in a PID namespace of their own, whose first process (PID 1) reads from a pipe that only this process
//! holds. However this process ends, the pipe closes, PID 1 exits, and the kernel kills all other processes of the namespace.

use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

use crate::namespace::Namespace;
use crate::programs;
use crate::sys;

/// The longest wait for programs at the receiver to open a listening socket; a program may never open one.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(1);
const LISTEN_POLL: Duration = Duration::from_millis(10);

/// Programs of the user, and the network namespaces in which they run.
#[derive(Debug)]
pub struct NamespacedProcesses<'a> {
    /// Where the program runs.
    pub sender: &'a Namespace,
    /// Where the first process and `receivers` run.
    pub receiver: &'a Namespace,
    /// The program and its arguments.
    pub command: &'a [String],
    /// Lines for `sh`.
    pub receivers: &'a [String],
    /// Variables that are added to the environment of the programs.
    pub environment: &'a [(String, String)],
}

impl NamespacedProcesses<'_> {
    /// Runs the program at the sender until it exits, with this standard input and output, then ends all others.
    pub fn run(&self, input: OwnedFd, output: OwnedFd) -> io::Result<ExitStatus> {
        // The thread that has entered the namespaces is used for nothing else.
        thread::scope(|scope| {
            let thread = scope.spawn(|| self.run_in_namespaces(input, output));
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn run_in_namespaces(&self, input: OwnedFd, output: OwnedFd) -> io::Result<ExitStatus> {
        self.receiver.enter()?;
        let first = ProcessNamespace::begin()?;
        let receivers = self.receivers.iter().map(|line| self.start_receiver(line));
        let mut receivers = receivers.collect::<io::Result<Vec<Child>>>()?;
        wait_for_listeners(receivers.len())?;
        show_own_processes()?;
        self.sender.enter()?;
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).stdin(input).stdout(output);
        let ended = self.start(&mut command).and_then(|mut program| program.wait());
        first.end(&mut receivers)?;
        ended
    }

    /// Starts a program at the receiver; its output goes to standard error, apart from the output of the sender's program.
    fn start_receiver(&self, line: &str) -> io::Result<Child> {
        let mut command = Command::new(programs::path_of("sh", "dash")?);
        self.start(command.args(["-c", line]).stdin(Stdio::null()).stdout(io::stderr()))
    }

    fn start(&self, command: &mut Command) -> io::Result<Child> {
        sys::let_signals_through(command);
        command.envs(self.environment.iter().map(|(name, value)| (name, value))).spawn()
    }
}

/// A process namespace for what a thread starts from now on, held by its first process.
#[derive(Debug)]
pub struct ProcessNamespace(Child);

impl ProcessNamespace {
    fn begin() -> io::Result<ProcessNamespace> {
        unshare(CloneFlags::CLONE_NEWPID)?;
        let first =
            programs::command("cat", "coreutils")?.stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
        Ok(ProcessNamespace(first))
    }

    /// Moves what this thread starts from now on into a new namespace, whose `/proc` shows nothing else.
    pub fn enter() -> io::Result<ProcessNamespace> {
        let begun = ProcessNamespace::begin()?;
        show_own_processes()?;
        Ok(begun)
    }

    /// Ends all processes in it, of which these are children of this thread.
    pub fn end(mut self, children: &mut [Child]) -> io::Result<()> {
        drop(self.0.stdin.take());
        // PID 1 exits only when its namespace is empty, so every child must have been waited for.
        children.iter_mut().chain([&mut self.0]).try_for_each(|child| child.wait().map(drop))
    }
}

/// Waits until there is a listening socket for each program at the receiver, whose namespace this thread is in.
fn wait_for_listeners(programs: usize) -> io::Result<()> {
    let begun = Instant::now();
    while listeners(|_| true)? < programs && begun.elapsed() < LISTEN_TIMEOUT {
        thread::sleep(LISTEN_POLL);
    }
    Ok(())
}

/// The number of sockets that wait at this address or at all addresses, in the namespace of this thread.
pub fn listeners_at(address: Ipv4Addr) -> io::Result<usize> {
    let own = format!("{:08X}", u32::from_ne_bytes(address.octets()));
    listeners(|place| place.bytes().all(|digit| digit == b'0') || place.ends_with(&own))
}

/// The number of sockets that wait at an address that is `wanted`, as the kernel's tables write it.
fn listeners(wanted: impl Fn(&str) -> bool) -> io::Result<usize> {
    let table = |name: &str| match fs::read_to_string(format!("/proc/thread-self/net/{name}")) {
        // A kernel without IPv6 does not have the tables of IPv6.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        read => read,
    };
    let mut count = 0;
    for (streams, datagrams) in [("tcp", "udp"), ("tcp6", "udp6")] {
        let (streams, datagrams) = (table(streams)?, table(datagrams)?);
        let waiting = listening(&streams).chain(datagrams.lines().skip(1));
        count += waiting.filter(|line| wanted(place(line))).count();
    }
    Ok(count)
}

/// The listening sockets (state 10) in a table of the kernel.
fn listening(table: &str) -> impl Iterator<Item = &str> {
    table.lines().filter(|line| line.split_whitespace().nth(3) == Some("0A"))
}

/// The own address of a socket, without its port.
fn place(line: &str) -> &str {
    line.split_whitespace().nth(1).and_then(|own| own.split(':').next()).unwrap_or_default()
}

/// Mounts a `/proc` with only the processes of the namespace, for what this thread starts from now on: a program that
/// searches for a process by its name must not find a process of the machine.
fn show_own_processes() -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_SLAVE, None::<&str>)?;
    // Only a process inside the namespace can mount it.
    let done = programs::command("mount", "mount")?.args(["-t", "proc", "proc", "/proc"]).status()?;
    if done.success() { Ok(()) } else { Err(io::Error::other("cannot mount /proc")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listening_socket_is_distinguished_from_a_connected_one() {
        let table = "  sl  local_address rem_address   st tx_queue\n   \
                     0: 00000000:1451 00000000:0000 0A 00000000\n   \
                     1: 0100007F:1451 0100007F:8000 01 00000000\n";
        assert_eq!(listening(table).map(place).collect::<Vec<_>>(), ["00000000"]);
    }
}
