//! What connections share: the links, the agenda and the books.

use fairhaul_experiment::{Grid, LinkSpec, Scenario};
use fairhaul_path::impair::{Duplicate, Impairments, Jitter, Loss, LossRule, Policer, Reorder};
use fairhaul_path::{Link, Passage};
use fairhaul_units::{Bytes, Chance, Ecn, Time};

use crate::agenda::Agenda;
use crate::ledger::Ledger;
use crate::trace::Trace;

/// A link and what it does to packets beside carrying them.
struct Stage {
    link: Link,
    loss: Option<Loss>,
    /// Apart, since most links have none.
    impaired: Option<Box<Impaired>>,
    passed: u64,
    policed: u64,
}

/// The impairments of a link at work.
struct Impaired {
    policer: Option<Policer>,
    jitter: Option<Jitter>,
    reorder: Option<Reorder>,
    duplicate: Duplicate,
}

impl Impaired {
    fn new(rules: &Impairments, stream: impl Fn(&str) -> Chance) -> Impaired {
        Impaired {
            policer: rules.policer.map(Policer::new),
            jitter: rules.jitter.map(|rule| Jitter::new(rule, stream("jitter"))),
            reorder: rules.reorder.map(|rule| Reorder::new(rule, stream("reorder"))),
            duplicate: Duplicate::new(rules.duplicate, stream("duplicate")),
        }
    }

    fn admits(&mut self, size: u32, now: Time) -> bool {
        self.policer.as_mut().is_none_or(|policer| policer.admits(Bytes(size.into()), now))
    }

    fn cross(&mut self, arrives: Time, marked: bool) -> Crossing {
        let jittered = self.jitter.as_mut().map_or(arrives, |jitter| jitter.delays(arrives));
        let arrives = self.reorder.as_mut().map_or(jittered, |reorder| jittered + reorder.holds());
        Crossing { arrives, marked, twice: self.duplicate.doubles() }
    }
}

/// What `spec` loses now or later.
fn loss(spec: &LinkSpec, chance: Chance) -> Option<Loss> {
    let changes = &spec.schedule.losses;
    let rule = spec.loss.clone().or_else(|| (!changes.is_empty()).then_some(LossRule::Probability(0.0)));
    rule.map(|rule| Loss::new(rule, chance).then(changes))
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

/// See the module.
pub struct World {
    stages: Vec<Stage>,
    /// Whether the books hold what links have sent.
    counts_bytes: bool,
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
            link: Link::new(
                spec.rate,
                spec.delay,
                spec.discipline(Chance::stream(scenario.seed, "queue", index as u64)),
            )
            .following(&spec.schedule),
            loss: loss(spec, Chance::stream(scenario.seed, "loss", index as u64)),
            impaired: (!spec.impair.is_none()).then(|| {
                let stream = |purpose: &str| Chance::stream(scenario.seed, purpose, index as u64);
                Box::new(Impaired::new(&spec.impair, stream))
            }),
            passed: 0,
            policed: 0,
        };
        World {
            stages: scenario.links.iter().enumerate().map(stage).collect(),
            counts_bytes: scenario.counts_bytes(),
            agenda: Agenda::default(),
            ledger: Ledger::new(grid, scenario.flows.len(), scenario.links.len()),
            trace: None,
        }
    }

    /// A packet of `size` is offered to `link` at `now`: how it gets to the other end, or else when
    /// it was dropped. `may_lose`: it is a data packet of that flow, which the link may lose.
    pub fn pass(
        &mut self,
        link: u32,
        size: u32,
        ecn: Ecn,
        may_lose: Option<u32>,
        now: Time,
    ) -> Result<Crossing, Time> {
        let stage = &mut self.stages[link as usize];
        if let (Some(impaired), Some(_)) = (&mut stage.impaired, may_lose)
            && !impaired.admits(size, now)
        {
            stage.policed += 1;
            self.ledger.offered(link, true, now);
            return Err(now);
        }
        let Passage::Passes { departs, arrives, marked } = stage.link.offer(size, ecn, now) else {
            self.ledger.offered(link, true, now);
            return Err(now);
        };
        stage.passed += 1;
        let on_wire = stage.link.on_wire(size);
        self.ledger.offered(link, false, now);
        if marked {
            self.ledger.marked(link, now);
        }
        self.ledger.passed(link, size, now, departs, on_wire);
        if self.counts_bytes {
            self.ledger.left(link, size, departs);
        }
        if let (Some(loss), Some(flow)) = (&mut stage.loss, may_lose)
            && loss.takes(flow, departs)
        {
            self.ledger.lost_behind(link, departs);
            return Err(departs);
        }
        match &mut stage.impaired {
            Some(impaired) => Ok(impaired.cross(arrives, marked)),
            None => Ok(Crossing { arrives, marked, twice: false }),
        }
    }

    /// The sum over all links.
    pub fn crossings(&self) -> Crossings {
        self.stages.iter().fold(Crossings::default(), |sum, stage| {
            let totals = stage.link.totals();
            Crossings {
                offered: sum.offered + totals.arrived + stage.policed,
                refused: sum.refused + totals.dropped + stage.policed,
                passed: sum.passed + stage.passed,
            }
        })
    }
}
