//! The first process in the program: mounts what the kernel shows in files, carries out the request as `fairhaul-host` does
//! anywhere, and switches the program off.

use std::fs::{self, File};
use std::io;
use std::process;

use nix::mount::{MsFlags, mount};
use nix::unistd::{dup2_stdin, dup2_stdout};

use crate::lab::simulated_path::REQUEST;
use crate::request::respond_to;
use crate::sys::{Inherited, simulated};

/// Whether this process is the first one of the program.
pub fn is_first_process() -> bool {
    process::id() == 1
}

/// Carries out the request of the program, and ends the program.
pub fn first_process(inherited: Inherited) -> ! {
    match prepare().and_then(|()| fs::read_to_string(REQUEST)) {
        Ok(request) => drop(respond_to(&request, inherited)),
        Err(error) => eprintln!("fairhaul: the first process of the program cannot work: {error}"),
    }
    let error = simulated::power_off();
    panic!("the program does not end: {error}")
}

/// Mounts the file systems of the kernel, and makes the device the standard output.
fn prepare() -> io::Result<()> {
    let file_system = |kind: &str, at: &str| {
        mount(Some(kind), at, Some(kind), MsFlags::empty(), None::<&str>)
            .map_err(|error| io::Error::other(format!("cannot mount {at}: {error}")))
    };
    file_system("proc", "/proc")?;
    file_system("sysfs", "/sys")?;
    file_system("devtmpfs", "/dev")?;
    file_system("tmpfs", "/run")?;
    file_system("tmpfs", "/tmp")?;
    let nothing = File::open("/dev/null")?;
    dup2_stdin(&nothing)?;
    let answers = File::options().write(true).open("/dev/fairhaul")?;
    dup2_stdout(&answers)?;
    Ok(())
}
