//! BBR version 3 of `fairhaul-cc` as a controller of quinn-proto and of noq-proto: what both have in common. `crate::api` has
//! the interface of each.

use std::sync::Arc;
use std::time::Instant;

use fairhaul_cc::{Bbr3, Builtin, ControllerChoice, PacketSender};
use fairhaul_units::{Bytes, Time};

use crate::proto::congestion::{Controller, ControllerFactory};

/// Its name as a setting.
pub const NAME: &str = "fairhaul-bbr3";
/// That of RFC 9002, 7.2, for datagrams of 1200 bytes.
const INITIAL_WINDOW: u64 = 12_000;

/// Makes it, with an initial window in bytes.
pub struct OursConfig(pub Option<u64>);

impl ControllerFactory for OursConfig {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let initial_window = self.0.unwrap_or(INITIAL_WINDOW);
        let choice = ControllerChoice::named("bbr3").expect("it is in the catalogue");
        let Builtin::Bbr3(controller) = choice.build() else { unreachable!("that is its name") };
        let sender = PacketSender::new(controller, Bytes(initial_window), Bytes(current_mtu.into()));
        Box::new(Ours { sender, base: now, mtu: current_mtu.into(), initial_window })
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Ours {
    pub sender: PacketSender<Bbr3>,
    base: Instant,
    pub mtu: u64,
    pub initial_window: u64,
}

impl Ours {
    pub fn time(&self, at: Instant) -> Time {
        Time::from_ps(at.saturating_duration_since(self.base).as_nanos() as u64 * 1000)
    }

    /// The window, bytes; not below two datagrams, the least of RFC 9002, 7.2, with which a stack can go on.
    pub fn least_or_window(&self) -> u64 {
        self.sender.window().max(2 * self.mtu)
    }
}
