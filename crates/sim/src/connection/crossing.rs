//! How packets of a connection get over a link, or do not.

use fairhaul_experiment::PacketWhat;
use fairhaul_units::{Ack, Data, Ecn, Time};

use super::Connection;
use crate::parcel::{Fate, Load, Parcel};
use crate::route::Route;
use crate::world::{Crossing, World};

impl Connection {
    /// A packet waits at `link`, which is step `at` of its way.
    #[inline(never)]
    pub(super) fn hold(&mut self, link: u32, at: usize, load: Load, now: Time, world: &mut World) {
        let parcel = Parcel { serial: self.serial, flow: self.flow, step: at as u8, load };
        world.hold(link, parcel, now);
    }

    /// What became of a packet that has waited.
    pub fn settle(&mut self, fate: Fate, route: &Route, world: &mut World) {
        let Parcel { step, load, .. } = fate.parcel;
        let at = usize::from(step);
        match (load, fate.passage) {
            (Load::Data(mut data), Ok(crossing)) => {
                if crossing.marked {
                    data.ecn = Ecn::Marked;
                }
                self.data_crosses(at, data, crossing, route, world);
            }
            (Load::Data(data), Err(when)) => self.data_dropped(&data, when, world),
            (Load::Ack(ack), Ok(crossing)) => self.ack_crosses(at, ack, crossing, route, world),
            (Load::Ack(ack), Err(when)) => self.ack_dropped(&ack, when, world),
        }
    }

    /// A data packet gets over the link of step `at`.
    #[inline(always)]
    pub(super) fn data_crosses(
        &mut self,
        at: usize,
        data: Data,
        crossing: Crossing,
        route: &Route,
        world: &mut World,
    ) {
        let copies = if crossing.twice { 2 } else { 1 };
        self.data.launched += copies - 1;
        for _ in 0..copies {
            self.carry_data(at + 1, data, crossing.arrives, route, world);
        }
    }

    /// A data packet is gone.
    pub(super) fn data_dropped(&mut self, data: &Data, when: Time, world: &mut World) {
        self.data.dropped += 1;
        self.see_data(PacketWhat::Dropped, data, when, world);
        if !data.opens {
            world.ledger.lost(self.flow, when);
        }
    }

    /// An acknowledgement gets over the link of step `at`.
    #[inline(always)]
    pub(super) fn ack_crosses(
        &mut self,
        at: usize,
        ack: Ack,
        crossing: Crossing,
        route: &Route,
        world: &mut World,
    ) {
        let copies = if crossing.twice { 2 } else { 1 };
        self.acks.launched += copies - 1;
        for _ in 0..copies {
            self.carry_ack(at + 1, ack, crossing.arrives, route, world);
        }
    }

    /// An acknowledgement is gone.
    pub(super) fn ack_dropped(&mut self, ack: &Ack, when: Time, world: &mut World) {
        self.acks.dropped += 1;
        self.see_ack(PacketWhat::AckDropped, ack, when, world);
    }
}
