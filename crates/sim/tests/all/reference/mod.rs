//! A plain engine, with which the fast one is compared.
//!
//! One heap, one event for each packet at each hop and one for each departure, nothing ahead of the clock: slow,
//! and simple enough to check by reading. A burst is one object on wires; at a link its packets wait and leave one by one, and the
//! first takes the others with it. It shares with the fast engine only what these tests do not cover:
//! TCP's two ends (which have no clock), the rules of loss and of impairments, the random streams, the plan of
//! transfers and the bins. It has its own links, hosts, timers and ledger.

mod aqm;
mod calendar;
pub mod chain;
pub mod compare;
mod departure_queue;
pub mod draw;
mod host;
mod ledger;
mod link;
mod xcp;
mod xcp_fairness;

use std::collections::BTreeMap;

use fairhaul_experiment::{Record, Scenario, Transfer, plan};
use fairhaul_path::card::SendCard;
use fairhaul_units::{Span, Time};

use calendar::{Calendar, Event};
use host::Host;
use ledger::{Fact, Ledger};
use link::Link;

/// The content of a packet.
#[derive(Clone, Copy, Debug)]
pub enum DataOrAck {
    Data(fairhaul_units::Data),
    Ack(fairhaul_units::Ack),
}

/// A packet in flight: whose it is, and the hop that it takes next.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    pub serial: u32,
    pub hop: usize,
    /// When it was last offered to a link.
    pub offered: Time,
    pub content: DataOrAck,
    pub place: Place,
    /// Of a burst: the time from packet to packet where it is.
    pub spacing: Span,
    /// Whether the link at which it waits will lose it, where that is known when it comes.
    pub is_doomed: bool,
}

/// The place of a packet in a burst while it waits at a link.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    Alone,
    /// It goes on as that burst, of which it is the first.
    Leads(fairhaul_units::Data),
    /// It goes on with the first.
    Follows,
}

/// What all parts of a run share.
pub struct Shared {
    pub calendar: Calendar,
    pub ledger: Ledger,
    /// The links of the scenario, then the wires of the connections.
    pub links: Vec<Link>,
    /// Unclaimed payload of transfers that several flows share, by the first of them.
    pub unclaimed: BTreeMap<u32, u64>,
    /// Cards of senders that flows share.
    pub cards: Vec<SendCard>,
}

/// Runs `scenario` the plain way.
pub fn run(scenario: &Scenario) -> Record {
    let transfers = plan(scenario);
    let links = (0..scenario.links.len()).map(|index| Link::of_scenario(scenario, index)).collect();
    let unclaimed = transfers.iter().filter_map(|t| Some((scenario.flows[t.flow as usize].lead?, t.size?.0)));
    let mut shared = Shared {
        calendar: Calendar::default(),
        ledger: Ledger::new(scenario),
        links,
        unclaimed: unclaimed.collect(),
        cards: scenario.shared_cards(),
    };
    for (serial, transfer) in transfers.iter().enumerate() {
        shared.calendar.add(transfer.start, Event::Start(serial as u32));
    }
    for (index, link) in shared.links.iter_mut().enumerate() {
        link.update_queue(Time::ZERO, index, &mut shared.calendar);
    }
    let mut hosts: Vec<Option<Host>> = transfers.iter().map(|_| None).collect();
    while let Some((now, event)) = shared.calendar.next() {
        shared.ledger.read_gauges(&shared.links, &hosts, now);
        if now >= shared.ledger.end() {
            break;
        }
        process(event, now, scenario, &transfers, &mut hosts, &mut shared);
    }
    close(&transfers, hosts, shared)
}

fn process(
    event: Event,
    now: Time,
    scenario: &Scenario,
    transfers: &[Transfer],
    hosts: &mut [Option<Host>],
    shared: &mut Shared,
) {
    match event {
        Event::Start(serial) => {
            let host = Host::start(serial, &transfers[serial as usize], scenario, shared);
            hosts[serial as usize] = Some(host);
        }
        Event::Departure(link) => depart(link, now, hosts, shared),
        Event::QueueUpdate(link) => shared.links[link].update_queue(now, link, &mut shared.calendar),
        Event::Arrival(packet) => arrive(packet, now, hosts, shared),
        Event::Ready(serial) => host(hosts, serial).on_ready(now, shared),
        Event::Receiver(serial) => host(hosts, serial).on_receiver(now, shared),
        Event::Paced(serial) => host(hosts, serial).on_paced(now, shared),
        Event::Timer(serial) => host(hosts, serial).on_timer(now, shared),
    }
}

fn host(hosts: &mut [Option<Host>], serial: u32) -> &mut Host {
    hosts[serial as usize].as_mut().expect("it has started")
}

/// A packet is at its next hop, or at its end.
fn arrive(mut packet: Packet, now: Time, hosts: &mut [Option<Host>], shared: &mut Shared) {
    let host = host(hosts, packet.serial);
    let next = host.hop(&packet);
    if let DataOrAck::Data(data) = packet.content
        && data.packets > 1
    {
        let spacing = host.spacing(packet.hop, &shared.links);
        packet.spacing = spacing;
        let Shared { calendar, ledger, links, .. } = shared;
        match next {
            Some(link) if !links[link].recorded => {}
            Some(link) if links[link].carries_bursts(&data, spacing) && links[link].takes_whole(&data) => {
                return links[link].offer_burst(&packet, &data, now, link, calendar, ledger);
            }
            None if host.has_card() => {}
            _ => {
                let single = |data| Packet { content: DataOrAck::Data(data), ..packet };
                if spacing.is_zero() {
                    return data.each().for_each(|data| arrive(single(data), now, hosts, shared));
                }
                for (place, data) in (0..).zip(data.each()) {
                    calendar.add(now + spacing * place, Event::Arrival(single(data)));
                }
                return;
            }
        }
    }
    let Some(link) = next else {
        return match packet.content {
            DataOrAck::Data(data) => host.on_data(&data, now, shared),
            DataOrAck::Ack(ack) => host.on_ack(&ack, now, shared),
        };
    };
    let Shared { calendar, ledger, links, .. } = shared;
    let dropped = links[link].offer(packet, now, link, calendar, ledger);
    drop_all(&dropped, now, hosts, ledger);
}

fn drop_all(dropped: &[Packet], now: Time, hosts: &mut [Option<Host>], ledger: &mut Ledger) {
    dropped.iter().for_each(|packet| host(hosts, packet.serial).dropped(packet, now, ledger));
}

/// The last bit of the packet at the head of a link leaves it.
fn depart(link: usize, now: Time, hosts: &mut [Option<Host>], shared: &mut Shared) {
    let Shared { calendar, ledger, links, .. } = shared;
    let began = links[link].began;
    ledger.note(now, Fact::Occupied { link, began });
    if !links[link].recorded && links[link].is_burst() {
        return links[link].depart_from_wire(now, link, calendar); // it is at the next hop already
    }
    let (mut packet, dropped) = links[link].depart(now, link, calendar, ledger);
    if links[link].recorded {
        ledger.note(now, Fact::Left { link, delay: now - packet.offered });
    }
    drop_all(&dropped, now, hosts, ledger);
    let host = host(hosts, packet.serial);
    host.crossed(&packet, link, began, now, ledger);
    match packet.place {
        Place::Alone => {}
        Place::Follows => return,
        Place::Leads(burst) => packet.content = DataOrAck::Data(burst),
    }
    packet.place = Place::Alone;
    if links[link].loses(&packet, host.flow(), now) {
        ledger.note(now, Fact::DroppedAfterQueue { link, offered: packet.offered });
        return host.dropped(&packet, now, ledger);
    }
    packet.hop += 1;
    let (arrives, copies) = links[link].propagate(now);
    if copies == 2 {
        host.copied(&packet, arrives, ledger);
    }
    for _ in 0..copies {
        calendar.add(arrives, Event::Arrival(packet));
    }
}

fn close(transfers: &[Transfer], mut hosts: Vec<Option<Host>>, mut shared: Shared) -> Record {
    let end = shared.ledger.end();
    for (index, link) in shared.links.iter_mut().enumerate() {
        link.record_rest(end, index, &mut shared.ledger);
        if let Some((packet, departs)) = link.sending() {
            let host = hosts[packet.serial as usize].as_ref().expect("it has started");
            host.crossed(&packet, index, link.began, departs, &mut shared.ledger);
            shared.ledger.note(departs.min(end), Fact::Occupied { link: index, began: link.began });
        }
    }
    shared.ledger.read_gauges(&shared.links, &hosts, shared.ledger.end());
    for host in hosts.iter_mut().flatten() {
        host.close(&mut shared.ledger);
    }
    let rows = transfers.iter().zip(&hosts).map(|(transfer, host)| host::row(transfer, host.as_ref()));
    shared.ledger.close(rows.collect())
}
