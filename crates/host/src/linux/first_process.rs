//! The first process in the program: mounts what the kernel shows in files, carries out the request as `fairhaul-host` does
//! anywhere, and switches the program off.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::process;

use nix::mount::{MsFlags, mount};
use nix::sys::sysinfo::sysinfo;
use nix::sys::termios::{OutputFlags, SetArg, tcgetattr, tcsetattr};
use nix::unistd::{dup2_stdin, dup2_stdout, setsid};

use crate::lab::simulated_path::{DEVICE, REQUEST};
use crate::request::respond_to;
use crate::sys::{Inherited, simulated};
use crate::variables::TERMINAL;

/// The console, if it is a terminal, and else the device that passes input and output on.
const CONSOLE: &str = "/dev/tty0";
const STREAMS: &str = "/dev/fairhaul-terminal";

/// The pages that all sockets of TCP may have, from where the kernel saves memory to where it refuses more: half of all, because
/// both ends of all connections are in one kernel here. A host gives its own ends an eleventh.
const TCP_MEMORY: &str = "/proc/sys/net/ipv4/tcp_mem";
const PARTS_OF_MEMORY: u64 = 2;
const PAGE: u64 = 4096;

/// Whether this process is the first one of the program.
pub fn is_first_process() -> bool {
    process::id() == 1
}

/// Carries out the request of the program, and ends the program.
pub fn first_process(mut inherited: Inherited) -> ! {
    match prepare(&mut inherited).and_then(|()| fs::read_to_string(REQUEST)) {
        Ok(request) => drop(respond_to(&request, inherited)),
        Err(error) => eprintln!("fairhaul: the first process of the program cannot work: {error}"),
    }
    let error = File::options().write(true).open(DEVICE).map_or_else(|error| error, simulated::power_off);
    panic!("the program does not end: {error}")
}

/// Mounts the file systems of the kernel, and makes the device the standard output.
fn prepare(inherited: &mut Inherited) -> io::Result<()> {
    let file_system = |kind: &str, at: &str| {
        mount(Some(kind), at, Some(kind), MsFlags::empty(), None::<&str>)
            .map_err(|error| io::Error::other(format!("cannot mount {at}: {error}")))
    };
    file_system("proc", "/proc")?;
    file_system("sysfs", "/sys")?;
    file_system("devtmpfs", "/dev")?;
    file_system("tmpfs", "/run")?;
    fs::write("/proc/sys/kernel/hostname", "fairhaul")?;
    let pages = sysinfo()?.ram_total() / PAGE / PARTS_OF_MEMORY;
    fs::write(TCP_MEMORY, format!("{pages} {pages} {pages}"))?;
    let nothing = File::open("/dev/null")?;
    dup2_stdin(&nothing)?;
    let answers = File::options().write(true).open(DEVICE)?;
    dup2_stdout(&answers)?;
    // The terminal becomes that of this session, so that its keys are signals.
    setsid()?;
    let has_keyboard = has_keyboard()?;
    if !has_keyboard {
        let mut settings = tcgetattr(io::stderr())?;
        // Standard error is no terminal outside, where the kernel's console would end lines with two characters.
        settings.output_flags.remove(OutputFlags::OPOST);
        tcsetattr(io::stderr(), SetArg::TCSANOW, &settings)?;
    }
    let terminal = if has_keyboard { CONSOLE } else { STREAMS };
    for number in [TERMINAL.0, TERMINAL.1] {
        let opened = OwnedFd::from(File::options().read(true).write(true).open(terminal)?);
        inherited.add(opened, number)?;
    }
    Ok(())
}

/// Whether the console is a terminal of the user, which the kernel then has as its first one.
fn has_keyboard() -> io::Result<bool> {
    Ok(fs::read_to_string("/proc/cmdline")?.contains("con0=fd:"))
}
