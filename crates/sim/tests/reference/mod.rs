//! A plain engine, with which the fast one is compared.
//!
//! One heap, one event for each packet at each hop and one for each departure, nothing ahead of the clock: slow,
//! and simple enough to check by reading. It shares with the fast engine only what these tests do not cover:
//! TCP's two ends (which have no clock), the rules of loss and of impairments, the random streams, the plan of
//! transfers and the bins. It has its own links, hosts, timers and ledger.

mod aqm;
mod calendar;
pub mod compare;
pub mod draw;
mod fair;
mod host;
mod late;
mod ledger;
mod link;
pub mod recipe;
mod xcp;

use std::collections::BTreeMap;

use fairhaul_experiment::{Record, Scenario, Transfer, plan};
use fairhaul_units::Time;

use calendar::{Calendar, What};
use host::Host;
use ledger::{Fact, Ledger};
use link::Link;

/// A packet in flight.
#[derive(Clone, Copy, Debug)]
pub enum Load {
    Data(fairhaul_units::Data),
    Ack(fairhaul_units::Ack),
}

/// A packet on its way: whose it is, and the hop that it takes next.
#[derive(Clone, Copy, Debug)]
pub struct Parcel {
    pub serial: u32,
    pub hop: usize,
    /// When it was last offered to a link.
    pub offered: Time,
    pub load: Load,
}

/// What all parts of a run share.
pub struct Shared {
    pub calendar: Calendar,
    pub ledger: Ledger,
    /// The links of the scenario, then the wires of the connections.
    pub links: Vec<Link>,
    /// Unclaimed payload of transfers that several flows share, by the first of them.
    pub untaken: BTreeMap<u32, u64>,
}

/// Runs `scenario` the plain way.
pub fn run(scenario: &Scenario) -> Record {
    let transfers = plan(scenario);
    let links = (0..scenario.links.len()).map(|index| Link::of_scenario(scenario, index)).collect();
    let untaken = transfers.iter().filter_map(|t| Some((scenario.flows[t.flow as usize].lead?, t.size?.0)));
    let mut shared = Shared {
        calendar: Calendar::default(),
        ledger: Ledger::new(scenario),
        links,
        untaken: untaken.collect(),
    };
    for (serial, transfer) in transfers.iter().enumerate() {
        shared.calendar.add(transfer.start, What::Start(serial as u32));
    }
    for (index, link) in shared.links.iter_mut().enumerate() {
        link.look(Time::ZERO, index, &mut shared.calendar);
    }
    let mut hosts: Vec<Option<Host>> = transfers.iter().map(|_| None).collect();
    while let Some((now, what)) = shared.calendar.next() {
        shared.ledger.look_at(&shared.links, now);
        if now >= shared.ledger.end() {
            break;
        }
        happen(what, now, scenario, &transfers, &mut hosts, &mut shared);
    }
    close(&transfers, hosts, shared)
}

fn happen(
    what: What,
    now: Time,
    scenario: &Scenario,
    transfers: &[Transfer],
    hosts: &mut [Option<Host>],
    shared: &mut Shared,
) {
    match what {
        What::Start(serial) => {
            let begun = Host::begin(serial, &transfers[serial as usize], scenario, shared);
            hosts[serial as usize] = Some(begun);
        }
        What::Departure(link) => depart(link, now, hosts, shared),
        What::Look(link) => shared.links[link].look(now, link, &mut shared.calendar),
        What::Arrival(parcel) => arrive(parcel, now, hosts, shared),
        What::Ready(serial) => host(hosts, serial).on_ready(now, shared),
        What::Held(serial) => host(hosts, serial).on_held(now, shared),
        What::Paced(serial) => host(hosts, serial).on_paced(now, shared),
        What::Timer(serial) => host(hosts, serial).on_timer(now, shared),
    }
}

fn host(hosts: &mut [Option<Host>], serial: u32) -> &mut Host {
    hosts[serial as usize].as_mut().expect("it has started")
}

/// A packet is at its next hop, or at its end.
fn arrive(parcel: Parcel, now: Time, hosts: &mut [Option<Host>], shared: &mut Shared) {
    let host = host(hosts, parcel.serial);
    let Some(link) = host.hop(&parcel) else {
        return match parcel.load {
            Load::Data(data) => host.on_data(&data, now, shared),
            Load::Ack(ack) => host.on_ack(&ack, now, shared),
        };
    };
    let Shared { calendar, ledger, links, .. } = shared;
    let gone = links[link].offer(parcel, now, link, calendar, ledger);
    drop_all(&gone, now, hosts, ledger);
}

fn drop_all(gone: &[Parcel], now: Time, hosts: &mut [Option<Host>], ledger: &mut Ledger) {
    gone.iter().for_each(|parcel| host(hosts, parcel.serial).dropped(parcel, now, ledger));
}

/// The last bit of the packet at the head of a link leaves it.
fn depart(link: usize, now: Time, hosts: &mut [Option<Host>], shared: &mut Shared) {
    let Shared { calendar, ledger, links, .. } = shared;
    let began = links[link].began;
    let (mut parcel, gone) = links[link].depart(now, link, calendar, ledger);
    drop_all(&gone, now, hosts, ledger);
    let host = host(hosts, parcel.serial);
    host.crossed(&parcel, link, began, now, ledger);
    if links[link].loses(&parcel, host.flow(), now) {
        ledger.note(now, Fact::LostBehind { link, offered: parcel.offered });
        return host.dropped(&parcel, now, ledger);
    }
    parcel.hop += 1;
    let (arrives, copies) = links[link].way(now);
    if copies == 2 {
        host.copied(&parcel, arrives, ledger);
    }
    for _ in 0..copies {
        calendar.add(arrives, What::Arrival(parcel));
    }
}

fn close(transfers: &[Transfer], mut hosts: Vec<Option<Host>>, mut shared: Shared) -> Record {
    let end = shared.ledger.end();
    for (index, link) in shared.links.iter_mut().enumerate() {
        link.stand(end, index, &mut shared.ledger);
        if let Some((parcel, departs)) = link.sending() {
            let host = hosts[parcel.serial as usize].as_ref().expect("it has started");
            host.crossed(&parcel, index, link.began, departs, &mut shared.ledger);
        }
    }
    shared.ledger.look_at(&shared.links, shared.ledger.end());
    for host in hosts.iter_mut().flatten() {
        host.close(&mut shared.ledger);
    }
    let rows = transfers.iter().zip(&hosts).map(|(transfer, host)| host::row(transfer, host.as_ref()));
    shared.ledger.close(rows.collect())
}
