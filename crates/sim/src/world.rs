//! What connections share: the links, the agenda and the books.

use fairhaul_experiment::{Flow, Grid, Ledger, Scenario, Traffic};
use fairhaul_path::queue::Held;
use fairhaul_path::{Carrier, Departure, Passage};
use fairhaul_units::{Ecn, Time};

use crate::agenda::{Agenda, Player};

use crate::parcel::Parcel;
use crate::rings::Rings;
use crate::route::Routes;
use crate::stage::Stage;
use crate::trace::Trace;
use crate::turn::Order;

/// Payload of the transfer that starts with `flow` for several connections.
fn to_share(flow: &Flow) -> u64 {
    match flow.traffic {
        Traffic::Sized(size) => size.0,
        _ => 0,
    }
}

/// A packet that gets over a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// When it is at the other end.
    pub arrives: Time,
    /// Whether the queue has marked it.
    pub marked: bool,
    /// Whether a copy of it is right behind it.
    pub twice: bool,
}

/// What becomes of a packet at a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passing {
    /// It gets over.
    Crosses(Crossing),
    /// It was dropped, then.
    Dropped(Time),
    /// It is to wait there, see [`World::hold`].
    Waits,
}

/// Who plays for the departures of a link whose queue decides then.
fn departures(link: u32) -> Player {
    Player { node: link, number: 0 }
}

/// A packet that has begun to leave a link, and how it gets to the other end, or when it is dropped.
pub type Served = (Parcel, Result<Crossing, Time>);

/// See the module.
pub struct World {
    stages: Vec<Stage>,
    /// Those that a queue has just dropped, of which nobody has heard.
    pub victims: Vec<Held<Parcel>>,
    /// Whether the books hold what links have sent.
    counts_bytes: bool,
    /// Payload that is left of each transfer that several connections carry, bytes, by the first of
    /// their flows; empty where there is none.
    pub left: Vec<u64>,
    pub agenda: Agenda,
    /// Their heads are in the agenda.
    pub rings: Rings,
    pub ledger: Ledger,
    pub trace: Option<Trace>,
}

/// What the links of a run have seen, for the check that nothing was lost unseen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Crossings {
    pub offered: u64,
    pub refused: u64,
    /// Or still there.
    pub passed: u64,
}

impl World {
    pub fn new(scenario: &Scenario, routes: &Routes, grid: Grid) -> World {
        let rings = Rings::new(&routes.data_rings, &routes.ack_rings);
        let stage = |index| Stage::new(scenario, index);
        let stages: Vec<Stage> = (0..scenario.links.len()).map(stage).collect();
        World {
            victims: Vec::new(),
            counts_bytes: scenario.counts_bytes(),
            left: if scenario.flows.iter().any(|flow| flow.lead.is_some()) {
                scenario.flows.iter().map(to_share).collect()
            } else {
                Vec::new()
            },
            agenda: Agenda::new(&routes.players),
            rings,
            stages,
            ledger: Ledger::new(grid, scenario.flows.len(), scenario.links.len()),
            trace: None,
        }
    }

    /// A packet of `size` of connection `serial` is offered to `link` at `now`. `may_lose`: it is a data
    /// packet of that flow, which the link may lose.
    #[inline(always)]
    pub fn pass(
        &mut self,
        link: u32,
        serial: u32,
        size: u32,
        ecn: Ecn,
        may_lose: Option<u32>,
        now: Time,
    ) -> Passing {
        self.gauge(link, now);
        let stage = &mut self.stages[link as usize];
        if stage.does_more && may_lose.is_some() && !stage.admits(size, now) {
            self.ledger.refused(link, now);
            return Passing::Dropped(now);
        }
        let Carrier::OnArrival(carrier) = &mut stage.carrier else {
            return Passing::Waits;
        };
        let passage = carrier.offer(size, ecn, serial, now);
        let Passage::Passes { departs, arrives, on_wire, marked } = passage else {
            self.ledger.refused(link, now);
            return Passing::Dropped(now);
        };
        self.ledger.taken(link, size, now);
        if marked {
            self.ledger.marked(link, now);
        }
        self.ledger.passed(link, size, departs, on_wire);
        stage.passed += 1;
        let crossing = Crossing { arrives, marked, twice: false };
        if !stage.does_more {
            return Passing::Crosses(crossing);
        }
        match self.cross(link, size, may_lose, departs, crossing) {
            Ok(crossing) => Passing::Crosses(crossing),
            Err(when) => Passing::Dropped(when),
        }
    }

    /// A packet leaves `link`, which may lose it yet, or hold it up on its way.
    #[inline(never)]
    fn cross(
        &mut self,
        link: u32,
        size: u32,
        may_lose: Option<u32>,
        departs: Time,
        crossing: Crossing,
    ) -> Result<Crossing, Time> {
        let stage = &mut self.stages[link as usize];
        if self.counts_bytes {
            self.ledger.sends(link, size, departs);
        }
        if let (Some(loss), Some(flow)) = (&mut stage.loss, may_lose)
            && loss.takes(flow, departs)
        {
            self.ledger.lost_behind(link, departs);
            return Err(departs);
        }
        match &mut stage.impaired {
            Some(impaired) => {
                let (arrives, twice) = impaired.cross(crossing.arrives);
                Ok(Crossing { arrives, twice, ..crossing })
            }
            None => Ok(crossing),
        }
    }

    /// A packet begins to wait before `link` at `now`; or where the link is idle it leaves at once: then
    /// what [`serve`](World::serve) tells of it.
    #[inline(always)]
    pub fn hold(&mut self, link: u32, parcel: &Parcel, now: Time) -> Option<Served> {
        let Carrier::AtDeparture(holding) = &mut self.stages[link as usize].carrier else {
            unreachable!("a queue that decides on arrival holds nothing")
        };
        let size = parcel.size();
        let held = Held { size, ecn: parcel.ecn(), arrived: now, packet: *parcel };
        self.ledger.taken(link, size, now);
        if holding.is_idle(now) {
            let departure = holding.pass(held, parcel.serial, &mut self.victims)?;
            return Some(self.depart(link, departure, now));
        }
        holding.offer(held, parcel.serial, &mut self.victims);
        if holding.waiting() == 1 {
            self.agenda.leads(departures(link), Some((holding.departs(), Order::of_link(link))));
        }
        None
    }

    /// It is the turn of `link`: it begins with the next packet, which is told with how it gets to the other
    /// end, or when it is dropped. It has another turn where others wait then.
    pub fn serve(&mut self, link: u32, now: Time) -> Option<Served> {
        self.gauge(link, now);
        let Carrier::AtDeparture(holding) = &mut self.stages[link as usize].carrier else {
            unreachable!("only a queue that decides at departure is served")
        };
        let departure = holding.begin(now, &mut self.victims);
        let next = (holding.waiting() > 0).then(|| (holding.departs(), Order::of_link(link)));
        self.agenda.leads(departures(link), next);
        Some(self.depart(link, departure?, now))
    }

    /// A packet begins to leave `link`.
    #[inline(always)]
    fn depart(&mut self, link: u32, departure: Departure<Parcel>, now: Time) -> Served {
        let Departure { packet, size, departs, arrives, on_wire, marked, .. } = departure;
        let stage = &mut self.stages[link as usize];
        stage.passed += 1;
        if marked {
            self.ledger.marked(link, now);
        }
        self.ledger.passed(link, size, departs, on_wire);
        let crossing = Crossing { arrives, marked, twice: false };
        let passage = if stage.does_more {
            self.cross(link, size, packet.may_lose(), departs, crossing)
        } else {
            Ok(crossing)
        };
        (packet, passage)
    }

    /// Books what the gauges of the queue of `link` showed at the starts of bins up to `now`, before
    /// something happens to it then. A queue is as it was left, so it need not be looked at in between.
    #[inline(always)]
    fn gauge(&mut self, link: u32, now: Time) {
        if self.stages[link as usize].due <= now {
            self.read_gauges(link, now);
        }
    }

    #[inline(never)]
    fn read_gauges(&mut self, link: u32, now: Time) {
        let stage = &mut self.stages[link as usize];
        // In an outage without an end a packet comes at no time at all.
        while stage.due <= now.min(self.ledger.end()) {
            let (shown, next) = self.ledger.gauges(link, stage.due);
            stage.gauges(next, shown);
        }
    }

    /// Calls `each` with the connection of every packet that waits for its turn, in a ring or before a link.
    pub fn each_serial(&self, mut each: impl FnMut(u32)) {
        self.rings.each_serial(&mut each);
        for stage in &self.stages {
            if let Carrier::AtDeparture(holding) = &stage.carrier {
                holding.each_waiting(|held| each(held.packet.serial));
            }
        }
    }

    /// Reads the gauges of all links up to the end.
    pub fn close(&mut self) {
        let end = self.ledger.end();
        (0..self.stages.len()).for_each(|link| self.gauge(link as u32, end));
    }

    /// The sum over all links.
    pub fn crossings(&self) -> Crossings {
        self.stages.iter().fold(Crossings::default(), |sum, stage| {
            let totals = stage.carrier.totals();
            Crossings {
                offered: sum.offered + totals.arrived + stage.policed,
                refused: sum.refused + totals.dropped + stage.policed,
                passed: sum.passed + stage.passed + stage.carrier.waiting() as u64,
            }
        })
    }
}
