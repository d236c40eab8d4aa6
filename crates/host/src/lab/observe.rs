//! What senders tell: windows, round-trip times and events, in the books of their flows.
//!
//! The kernel is asked a hundred times a second. Where a [probe](super::tcp_probe) samples every packet that arrives,
//! a poll counts only while no packet arrives; without one, what began and ended between two looks is seen only by its traces: a
//! threshold that moved, a count of timeouts.

use std::collections::BTreeMap;

use fairhaul_experiment::{Grid, Ledger};
use fairhaul_units::{Span, Time};

use super::info::{CaState, Info, TcpState};
use super::traffic::SAMPLE;

/// Books what is told.
pub struct Observer {
    /// The flow of each connection.
    flows: Vec<u32>,
    ledger: Ledger,
    known: BTreeMap<u32, Known>,
    /// The shortest round trip of each flow so far.
    shortest: Vec<Option<Span>>,
}

/// What is known of a connection.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// When that was, and what it was.
    last: (Time, TcpState),
    /// When a packet last told.
    told: Option<Time>,
    /// How long its retransmission timer runs.
    timeout: Span,
    /// When it began to recover.
    recovers_since: Time,
}

impl Observer {
    /// Of a run in which nothing has been seen; `flows`: that of each connection.
    pub fn new(grid: Grid, flows: Vec<u32>, count: usize) -> Observer {
        Observer {
            flows,
            ledger: Ledger::new(grid, count, 0),
            known: BTreeMap::new(),
            shortest: vec![None; count],
        }
    }

    /// What the sender of `connection` knew when a packet came to it. It stood since it was last told.
    pub fn told(&mut self, now: Time, connection: u32, tcp_state: &TcpState) {
        self.book(now, connection, tcp_state, true);
        if let Some(known) = self.known.get_mut(&connection) {
            known.told = Some(now);
        }
    }

    /// A look at `connection`. What is seen stood since the look before it, unless packets tell more.
    pub fn look(&mut self, now: Time, connection: u32, info: &Info) {
        let shortest = &mut self.shortest[self.flows[connection as usize] as usize];
        *shortest = shortest.iter().copied().chain(info.min_rtt).min();
        let told = self.known.get(&connection).and_then(|known| known.told);
        // The look itself may be older than what a packet has told since.
        if told.is_none_or(|told| told + SAMPLE < now) {
            let rtt = info.srtt.filter(|_| told.is_none());
            self.book(now, connection, &TcpState { rtt, ..info.tcp_state() }, told.is_some());
        }
        if let Some(known) = self.known.get_mut(&connection) {
            known.timeout = info.timeout;
        }
    }

    /// The books, and the shortest round trip of each flow.
    pub fn close(self) -> (Ledger, Vec<Option<Span>>) {
        (self.ledger, self.shortest)
    }

    fn book(&mut self, now: Time, connection: u32, tcp_state: &TcpState, every: bool) {
        let flow = self.flows[connection as usize];
        let since = Time::ZERO + now.since(Time::ZERO).saturating_sub(SAMPLE);
        let first = Known { last: (since, *tcp_state), told: None, timeout: Span::ZERO, recovers_since: now };
        let known = self.known.entry(connection).or_insert(first);
        let (from, before) = std::mem::replace(&mut known.last, (now, *tcp_state));
        let ssthresh = tcp_state.ssthresh.map_or(f64::INFINITY, f64::from);
        self.ledger.stood(flow, tcp_state.cwnd.into(), ssthresh, from.min(now), now);
        if let Some(rtt) = tcp_state.rtt {
            // Of one way the packets themselves tell.
            self.ledger.sampled(flow, rtt, Span::ZERO, now);
        }
        if tcp_state.state.recovers() && !before.state.recovers() {
            known.recovers_since = now;
        }
        for kind in events(&before, tcp_state, every) {
            let value = match kind {
                "timeout" => known.timeout.as_secs(),
                "undone" => known.recovers_since.as_secs(),
                _ => tcp_state.cwnd.into(),
            };
            self.ledger.event(kind, flow, value, now);
        }
    }
}

/// What happened between two states, as the record calls it; whether there are none between them.
fn events(before: &TcpState, now: &TcpState, every: bool) -> Vec<&'static str> {
    let mut events = Vec::new();
    let entered = |state: CaState| now.state == state && before.state != state;
    let recovered = before.state.recovers() && !now.state.recovers();
    // One recovery ends and the next begins with the same packet.
    let again =
        every && [before.state, now.state] == [CaState::Recovery; 2] && now.ssthresh != before.ssthresh;
    if again {
        events.extend(["recovered", "reduction"]);
    } else if now.timeouts != before.timeouts || entered(CaState::Loss) {
        events.push("timeout");
    } else if entered(CaState::Cwr) {
        events.push("marked");
    } else if entered(CaState::Recovery) && !before.state.recovers() {
        events.push("reduction");
    } else if !every && now.ssthresh != before.ssthresh && !before.state.recovers() && !now.state.recovers() {
        events.push("reduction"); // it has recovered since
    }
    if recovered {
        // Nothing else raises a threshold.
        let undone = every && now.ssthresh.unwrap_or(u32::MAX) > before.ssthresh.unwrap_or(u32::MAX);
        events.push(if undone { "undone" } else { "recovered" });
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairhaul_experiment::grid;

    fn info(cwnd: u32, ssthresh: Option<u32>, state: CaState) -> Info {
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
        let grid = grid(Span::from_s(1), Span::ZERO, 1, 1);
        let mut observer = Observer::new(grid, vec![0], 1);
        observer.look(at(10), 0, &info(20, None, CaState::Open));
        observer.look(at(20), 0, &info(10, Some(10), CaState::Recovery));
        observer.look(at(30), 0, &info(11, Some(10), CaState::Open));
        observer.look(at(40), 0, &info(6, Some(5), CaState::Open));
        observer.look(at(50), 0, &Info { timeouts: 1, ..info(1, Some(3), CaState::Loss) });
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
    /// A recovery within 10 ms, a reduction that is none of loss, and one that is taken back.
    #[test]
    fn a_threshold_that_falls_within_a_recovery_is_the_end_of_one_and_the_beginning_of_the_next() {
        let mut observer = Observer::new(grid(Span::from_s(1), Span::ZERO, 1, 1), vec![0], 1);
        let steps =
            [(20, CaState::Open), (20, CaState::Recovery), (10, CaState::Recovery), (10, CaState::Recovery)];
        for (ms, (ssthresh, state)) in (10..).step_by(10).zip(steps) {
            observer.told(at(ms), 0, &info(20, Some(ssthresh), state).tcp_state());
        }
        let record = observer.close().0.close("lab", Vec::new());
        let events: Vec<(f64, &str)> = record.events.iter().map(|e| (e.t_s, e.kind)).collect();
        assert_eq!(events, [(0.02, "reduction"), (0.03, "recovered"), (0.03, "reduction")]);
    }

    #[test]
    fn every_packet_tells_and_looks_tell_only_while_none_comes() {
        let mut observer = Observer::new(grid(Span::from_s(1), Span::ZERO, 1, 1), vec![0], 1);
        let open = |cwnd, ssthresh| info(cwnd, ssthresh, CaState::Open);
        let mut told = |ms, info: &Info| observer.told(at(ms), 0, &info.tcp_state());
        told(10, &open(20, None));
        told(11, &info(19, Some(10), CaState::Recovery));
        told(12, &open(10, Some(10)));
        told(13, &open(9, Some(9)));
        told(14, &info(8, Some(4), CaState::Recovery));
        told(15, &open(9, Some(9)));
        // Of before the last packet, and then of a silence in which the timer ran out.
        observer.look(at(16), 0, &info(8, Some(4), CaState::Recovery));
        observer.look(at(30), 0, &Info { timeouts: 1, ..info(1, Some(4), CaState::Loss) });
        let record = observer.close().0.close("lab", Vec::new());
        let events: Vec<(f64, &str, f64)> = record.events.iter().map(|e| (e.t_s, e.kind, e.value)).collect();
        assert_eq!(
            events,
            [
                (0.011, "reduction", 19.0),
                (0.012, "recovered", 10.0),
                (0.014, "reduction", 8.0),
                (0.015, "undone", 0.014),
                (0.03, "timeout", 0.22)
            ]
        );
        let cwnd: Vec<f64> = [9, 10, 11, 12, 29].map(|bin| record.flows[0][bin].cwnd_packets.round()).into();
        assert_eq!(cwnd, [20.0, 19.0, 10.0, 9.0, 1.0]);
    }
}
