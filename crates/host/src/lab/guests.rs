//! Programs of the user in the hosts of a lab.
//!
//! Their processes are in a namespace of their own, and its first process reads from a pipe that only this
//! process holds. However this one ends, the pipe closes, the first process ends, and the kernel ends all others.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

use crate::namespace::Namespace;
use crate::sys;

/// How long programs at the receiver have until they listen; those that never do are not waited for longer.
const SETTLES: Duration = Duration::from_secs(1);
const LOOKS: Duration = Duration::from_millis(10);

/// What runs where.
#[derive(Debug)]
pub struct Guests<'a> {
    /// Where the program runs.
    pub sender: &'a Namespace,
    /// Where the first process and `receivers` run.
    pub receiver: &'a Namespace,
    /// The program and its words.
    pub command: &'a [String],
    /// Lines for `sh`.
    pub receivers: &'a [String],
    /// What the environment tells them.
    pub environment: &'a [(&'a str, String)],
}

impl Guests<'_> {
    /// Runs the program to its end, with these as its input and output, and ends all others.
    pub fn run(&self, input: OwnedFd, output: OwnedFd) -> io::Result<ExitStatus> {
        // Once it has entered namespaces, a thread can do nothing else.
        thread::scope(|scope| {
            let thread = scope.spawn(|| self.run_there(input, output));
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn run_there(&self, input: OwnedFd, output: OwnedFd) -> io::Result<ExitStatus> {
        self.receiver.enter()?;
        unshare(CloneFlags::CLONE_NEWPID)?;
        let mut first = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
        let receivers = self.receivers.iter().map(|line| self.receive(line));
        let mut receivers = receivers.collect::<io::Result<Vec<Child>>>()?;
        wait_for_listeners(receivers.len())?;
        show_own_processes()?;
        self.sender.enter()?;
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).stdin(input).stdout(output);
        let ended = self.start(&mut command).and_then(|mut program| program.wait());
        drop(first.stdin.take());
        // The first process is gone when its namespace is empty, which takes that nobody has left its children unread.
        receivers.iter_mut().chain([&mut first]).try_for_each(|child| child.wait().map(drop))?;
        ended
    }

    /// Starts a program at the receiver; what it prints goes where errors go, not between what the other one prints.
    fn receive(&self, line: &str) -> io::Result<Child> {
        let mut command = Command::new("sh");
        self.start(command.args(["-c", line]).stdin(Stdio::null()).stdout(io::stderr()))
    }

    fn start(&self, command: &mut Command) -> io::Result<Child> {
        sys::let_signals_through(command);
        command.envs(self.environment.iter().map(|(name, value)| (name, value))).spawn()
    }
}

/// Waits until something listens for each program at the receiver, in whose namespace this thread is.
fn wait_for_listeners(programs: usize) -> io::Result<()> {
    let begun = Instant::now();
    while listeners()? < programs && begun.elapsed() < SETTLES {
        thread::sleep(LOOKS);
    }
    Ok(())
}

fn listeners() -> io::Result<usize> {
    let table = |name: &str| match fs::read_to_string(format!("/proc/thread-self/net/{name}")) {
        // A kernel without IPv6 has no tables of it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        read => read,
    };
    let mut count = 0;
    for (streams, datagrams) in [("tcp", "udp"), ("tcp6", "udp6")] {
        count += listening(&table(streams)?) + table(datagrams)?.lines().skip(1).count();
    }
    Ok(count)
}

/// The sockets of a table of the kernel's that listen, which is state 10.
fn listening(table: &str) -> usize {
    table.lines().filter(|line| line.split_whitespace().nth(3) == Some("0A")).count()
}

/// Has `/proc` show the processes of the namespace and no others to what this thread starts from now on: whoever
/// looks for a process by its name must not find one of the machine's.
fn show_own_processes() -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_SLAVE, None::<&str>)?;
    // Only a process of the namespace can do it.
    let done = Command::new("mount").args(["-t", "proc", "proc", "/proc"]).status()?;
    if done.success() { Ok(()) } else { Err(io::Error::other("cannot mount /proc")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_that_listens_is_told_from_one_that_is_connected() {
        let table = "  sl  local_address rem_address   st tx_queue\n   \
                     0: 00000000:1451 00000000:0000 0A 00000000\n   \
                     1: 0100007F:1451 0100007F:8000 01 00000000\n";
        assert_eq!(listening(table), 1);
    }
}
