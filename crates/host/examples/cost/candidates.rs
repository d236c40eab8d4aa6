//! The controllers that are measured: the kernel's own, and all ports, which are loaded.

use fairhaul_host::error::Result;
use fairhaul_host::ports::install_spec::InstallSpec;
use fairhaul_host::ports::load::{Loaded, hidden_name, load};
use fairhaul_ports::{Socket, objects};

/// The controller that all others are compared with.
pub const BASE: &str = "cubic";
/// The kernel's own controllers that are measured as the ports are. The first shows the noise.
const KERNELS: [&str; 2] = [BASE, "reno"];

/// A controller that is measured.
#[derive(Debug)]
pub struct Candidate {
    /// Its name for users.
    pub name: String,
    /// Its name in the kernel.
    pub kernel_name: String,
    /// Keeps it in the kernel, where it is a port.
    pub loaded: Option<Loaded>,
    /// Whether it moves the window itself, so that a route cannot lock it.
    pub has_control: bool,
}

/// The kernel's own controllers and all ports, loaded anew.
pub fn load_candidates() -> Result<Vec<Candidate>> {
    let own = KERNELS.map(|name| Candidate {
        name: name.into(),
        kernel_name: name.into(),
        loaded: None,
        has_control: false,
    });
    let ports = objects().into_iter().map(|object| {
        let name = object.note.name;
        let spec = InstallSpec { port: name.clone(), name: Some(hidden_name()), set: Default::default() };
        let install = spec.resolve()?;
        let has_control = Socket::new(object.elf).is_ok_and(|socket| socket.has_control());
        Ok(Candidate { name, loaded: Some(load(&install)?), kernel_name: install.name, has_control })
    });
    own.into_iter().map(Ok).chain(ports).collect()
}
