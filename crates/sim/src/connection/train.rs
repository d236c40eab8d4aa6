//! Trains of packets: where they pass as a whole, and where each packet is on its own.

use fairhaul_experiment::LONGEST_TRAIN;
use fairhaul_path::LinkPacket;
use fairhaul_units::{Ack, Data, Span, Time};

use super::Connection;
use crate::network::Network;
use crate::route::Route;

impl Connection {
    /// Whether it sends trains from now on.
    pub fn allow_trains(&mut self, allowed: bool) {
        self.sender.set_longest_train(if allowed { LONGEST_TRAIN } else { 1 });
    }

    /// Its window, packets, and its smoothed round-trip time, while it is open.
    pub fn load(&self) -> Option<(f64, Span)> {
        self.end.is_none().then(|| (self.sender.window().cwnd, self.sender.srtt()))
    }

    /// Whether a train passes `link` as a whole. The state of the sender is not that of this time, so only what was
    /// decided at the last boundary counts.
    #[inline(never)]
    pub(super) fn passes_whole(
        &self,
        link: u32,
        train: LinkPacket,
        now: Time,
        network: &mut Network,
    ) -> bool {
        self.sender.may_send_trains() && network.takes_whole(link, &train, now)
    }

    /// The packets of a train that waited at the end of a leg go on one by one.
    #[cold]
    pub(super) fn split_data(
        &mut self,
        leg: usize,
        train: &Data,
        now: Time,
        route: &Route,
        network: &mut Network,
    ) {
        self.data.launched += u64::from(train.packets) - 1;
        train.each().for_each(|data| self.process_data(leg, data, now, route, network));
    }

    /// The same of acknowledgements.
    #[cold]
    pub(super) fn split_ack(
        &mut self,
        leg: usize,
        train: Ack,
        now: Time,
        route: &Route,
        network: &mut Network,
    ) {
        self.acks.launched += u64::from(train.packets) - 1;
        train.each().for_each(|ack| self.process_ack(leg, ack, now, route, network));
    }

    /// The packets of a train arrive one by one.
    #[cold]
    pub(super) fn receive_each(&mut self, train: &Data, now: Time, route: &Route, network: &mut Network) {
        self.data.launched += u64::from(train.packets) - 1;
        train.each().for_each(|data| self.arrive(&data, now, route, network));
    }
}
