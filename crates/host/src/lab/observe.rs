//! What looking at senders tells: windows, round-trip times and events, in the books of their flows.
//!
//! The kernel is asked a hundred times a second, so what began and ended between two looks is not seen but by its
//! traces: a threshold that moved, a count of timeouts.

use std::collections::BTreeMap;

use fairhaul_experiment::{Grid, Ledger};
use fairhaul_units::{Span, Time};

use super::info::{Info, State};
use super::traffic::SAMPLE;

/// Books what looks tell.
pub struct Observer {
    /// The flow of each connection.
    flows: Vec<u32>,
    ledger: Ledger,
    /// The last look at each connection.
    last: BTreeMap<u32, (Time, Info)>,
    /// The shortest round trip of each flow so far.
    shortest: Vec<Option<Span>>,
}

impl Observer {
    /// Of a run in which nothing has been seen; `flows`: that of each connection.
    pub fn new(grid: Grid, flows: Vec<u32>, count: usize) -> Observer {
        Observer {
            flows,
            ledger: Ledger::new(grid, count, 0),
            last: BTreeMap::new(),
            shortest: vec![None; count],
        }
    }

    /// A look at `connection`. What is seen stood since the look before it.
    pub fn look(&mut self, now: Time, connection: u32, info: &Info) {
        let flow = self.flows[connection as usize];
        let since = Time::ZERO + now.since(Time::ZERO).saturating_sub(SAMPLE);
        let before = self.last.insert(connection, (now, *info));
        let from = before.map_or(since, |(at, _)| at);
        let ssthresh = info.ssthresh.map_or(f64::INFINITY, f64::from);
        self.ledger.stood(flow, info.cwnd.into(), ssthresh, from, now);
        if let Some(srtt) = info.srtt {
            // Of one way the packets themselves tell.
            self.ledger.sampled(flow, srtt, Span::ZERO, now);
        }
        let shortest = &mut self.shortest[flow as usize];
        *shortest = shortest.iter().copied().chain(info.min_rtt).min();
        if let Some((_, before)) = before {
            for (kind, value) in events(&before, info) {
                self.ledger.event(kind, flow, value, now);
            }
        }
    }

    /// The books, and the shortest round trip of each flow.
    pub fn close(self) -> (Ledger, Vec<Option<Span>>) {
        (self.ledger, self.shortest)
    }
}

/// What happened between two looks, as the record calls it, and its value.
fn events(before: &Info, now: &Info) -> Vec<(&'static str, f64)> {
    let recovers = |info: &Info| matches!(info.state, State::Recovery | State::Loss);
    let window = f64::from(now.cwnd);
    let timeouts = now.timeouts.wrapping_sub(before.timeouts);
    let mut events = Vec::new();
    if timeouts > 0 || (now.state == State::Loss && before.state != State::Loss) {
        events.push(("timeout", now.timeout.as_secs()));
    } else if now.state == State::Cwr && before.state != State::Cwr {
        events.push(("marked", window));
    } else if now.state == State::Recovery && !recovers(before) {
        events.push(("reduction", window));
    } else if now.ssthresh != before.ssthresh && !recovers(before) && !recovers(now) {
        events.push(("reduction", window)); // it has recovered since
    }
    if recovers(before) && !recovers(now) {
        events.push(("recovered", window));
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairhaul_experiment::grid;

    fn info(cwnd: u32, ssthresh: Option<u32>, state: State) -> Info {
        Info {
            cwnd,
            ssthresh,
            state,
            srtt: Some(Span::from_ms(20)),
            min_rtt: Some(Span::from_ms(19)),
            lost: 0,
            retransmitted: 0,
            delivered: 0,
            pacing_rate: None,
            timeout: Span::from_ms(220),
            timeouts: 0,
            mss: 1448,
        }
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    #[test]
    fn a_recovery_is_a_reduction_and_its_end_and_one_between_two_looks_is_seen_by_its_threshold() {
        let grid = grid(Span::from_s(1), Span::ZERO, 1);
        let mut observer = Observer::new(grid, vec![0], 1);
        observer.look(at(10), 0, &info(20, None, State::Open));
        observer.look(at(20), 0, &info(10, Some(10), State::Recovery));
        observer.look(at(30), 0, &info(11, Some(10), State::Open));
        observer.look(at(40), 0, &info(6, Some(5), State::Open));
        observer.look(at(50), 0, &Info { timeouts: 1, ..info(1, Some(3), State::Loss) });
        let (ledger, shortest) = observer.close();
        assert_eq!(shortest, [Some(Span::from_ms(19))]);
        let record = ledger.close("lab", Vec::new());
        let events: Vec<(f64, &str, f64)> = record.events.iter().map(|e| (e.t_s, e.kind, e.value)).collect();
        assert_eq!(
            events,
            [
                (0.02, "reduction", 10.0),
                (0.03, "recovered", 11.0),
                (0.04, "reduction", 6.0),
                (0.05, "timeout", 0.22)
            ]
        );
        // Bins of 1 ms: the window of 20 stood from the start to 10 ms, that of 10 until 20 ms.
        let cwnd: Vec<f64> = [0, 9, 10, 19, 20].map(|bin| record.flows[0][bin].cwnd_packets.round()).into();
        assert_eq!(cwnd, [20.0, 20.0, 10.0, 10.0, 11.0]);
        assert!((record.flows[0][20].rtt_s - 0.02).abs() < 1e-9);
    }
}
