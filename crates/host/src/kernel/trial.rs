//! A twin tried before anybody can choose it: under a name that nobody knows, in namespaces that vanish.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use nix::sys::socket::{setsockopt, sockopt::TcpCongestion};

use super::choice::{Choice, PREFIX};
use super::load;
use crate::error::{Context, Error, Result};
use crate::flows;
use crate::namespace::{Namespace, ip};

/// What the flow of a trial carries.
const BYTES: usize = 20_000_000;

/// Loads the twin under a name of its own, sends a flow with it, and takes it out again.
pub fn run(choice: &Choice) -> Result<()> {
    let hidden = Choice { name: hidden_name(), ..choice.clone() };
    let _loaded = load::load(&hidden)?;
    let there = Namespace::new()?;
    there.inside(|| Ok(flow(&hidden.name)))?.when(format!("the trial of {}", choice.note.name))
}

/// A name that no other process, and nothing else in this one, gives a twin.
pub fn hidden_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("{PREFIX}{:x}_{:x}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

fn flow(name: &str) -> Result<()> {
    ip("link set lo mtu 1500 up")?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut sender = TcpStream::connect(listener.local_addr()?)?;
    let (receiver, _) = listener.accept()?;
    setsockopt(&sender, TcpCongestion, &name.into()).map_err(io::Error::from)?;
    let local = sender.local_addr()?;
    let reader = thread::spawn(move || io::copy(&mut receiver.take(BYTES as u64), &mut io::sink()));
    sender.write_all(&vec![0; BYTES])?;
    let seen = flows::all()?.into_iter().find(|flow| flow.local == local);
    let arrived = reader.join().map_err(|_| Error::failed("the receiver ended early"))??;
    match seen {
        Some(flow) if flow.controller == name && arrived == BYTES as u64 => Ok(()),
        Some(flow) => {
            Err(Error::failed(format!("{arrived} of {BYTES} bytes arrived, by {}", flow.controller)))
        }
        None => Err(Error::failed("the kernel did not tell of the flow")),
    }
}
