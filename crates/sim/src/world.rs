//! What connections share: the links, the agenda and the books.

use fairhaul_experiment::{Grid, LinkSpec, Scenario};
use fairhaul_path::impair::Loss;
use fairhaul_path::{Link, Passage};
use fairhaul_units::{Chance, Time};

use crate::agenda::Agenda;
use crate::ledger::Ledger;
use crate::trace::Trace;

/// A link and what it loses.
struct Stage {
    link: Link,
    loss: Option<Loss>,
    passed: u64,
}

/// See the module.
pub struct World {
    stages: Vec<Stage>,
    pub agenda: Agenda,
    pub ledger: Ledger,
    pub trace: Option<Trace>,
}

/// What the links of a run have seen, for the check that nothing was lost unseen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Crossings {
    pub offered: u64,
    pub refused: u64,
    pub passed: u64,
}

impl World {
    pub fn new(scenario: &Scenario, grid: Grid) -> World {
        let stage = |(index, spec): (usize, &LinkSpec)| Stage {
            link: Link::new(spec.rate, spec.delay, spec.capacity),
            loss: spec
                .loss
                .clone()
                .map(|rule| Loss::new(rule, Chance::stream(scenario.seed, "loss", index as u64))),
            passed: 0,
        };
        World {
            stages: scenario.links.iter().enumerate().map(stage).collect(),
            agenda: Agenda::default(),
            ledger: Ledger::new(grid, scenario.flows.len(), scenario.links.len()),
            trace: None,
        }
    }

    /// A packet of `size` is offered to `link` at `now`: when it is at the other end, or else when
    /// it was dropped. `may_lose`: it is a data packet of that flow, which the link may lose.
    pub fn pass(&mut self, link: u32, size: u32, may_lose: Option<u32>, now: Time) -> Result<Time, Time> {
        let stage = &mut self.stages[link as usize];
        let Passage::Passes { departs, arrives } = stage.link.offer(size, now) else {
            self.ledger.offered(link, true, now);
            return Err(now);
        };
        stage.passed += 1;
        let on_wire = stage.link.on_wire(size);
        self.ledger.offered(link, false, now);
        self.ledger.passed(link, size, now, departs, on_wire);
        if let (Some(loss), Some(flow)) = (&mut stage.loss, may_lose)
            && loss.takes(flow, departs)
        {
            self.ledger.lost_behind(link, departs);
            return Err(departs);
        }
        Ok(arrives)
    }

    /// The sum over all links.
    pub fn crossings(&self) -> Crossings {
        self.stages.iter().fold(Crossings::default(), |sum, stage| {
            let totals = stage.link.totals();
            Crossings {
                offered: sum.offered + totals.arrived,
                refused: sum.refused + totals.dropped,
                passed: sum.passed + stage.passed,
            }
        })
    }
}
