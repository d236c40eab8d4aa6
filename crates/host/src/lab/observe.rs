//! Records the windows, round-trip times and events of senders in the ledger of their flows.
//!
//! The kernel is polled a hundred times a second. If a [probe](super::tcp_probe) samples every packet that
//! arrives, a poll counts only while no packet arrives. A sample or poll at the end of the run or after it does not
//! count, because the sockets are being closed. Without a probe, a recovery that began and ended between
//! two polls is detected only by its effects: a changed threshold, or a higher count of timeouts.

use std::collections::BTreeMap;

use fairhaul_experiment::{Flow, Grid, Ledger, Scenario, Traffic};
use fairhaul_units::{Span, Time};

use super::tcp_info::{CaState, Info, SenderLimits, TcpState};
use super::traffic::POLL_INTERVAL;

/// Records samples and polls.
pub struct Observer {
    /// The flow of each connection.
    flows: Vec<u32>,
    ledger: Ledger,
    /// By connection.
    senders: BTreeMap<u32, SenderState>,
    /// Of each flow, whether its application always has more to send.
    endless: Vec<bool>,
    /// When each connection was last polled in the measured time, and what had kept it back by then.
    limits: BTreeMap<u32, (Time, SenderLimits)>,
    /// The shortest round-trip time of each flow so far.
    shortest: Vec<Option<Span>>,
}

/// The sender of a connection, as last recorded.
#[derive(Clone, Copy, Debug)]
struct SenderState {
    /// Its last state, and when that was.
    last: (Time, TcpState),
    /// When the probe last sampled it.
    sampled_at: Option<Time>,
    /// Its retransmission timeout.
    timeout: Span,
    /// When its last recovery began.
    recovering_since: Time,
}

impl Observer {
    /// For a run of `scenario` that is about to start; `flows`: the flow of each connection.
    pub fn of(scenario: &Scenario, flows: Vec<u32>) -> Observer {
        let has_more = |flow: &Flow| matches!(flow.traffic, Traffic::Bulk | Traffic::Sized(_));
        Observer::new(scenario.grid(), flows, scenario.flows.iter().map(has_more).collect())
    }

    /// `endless`: of each flow, whether its application always has more to send.
    fn new(grid: Grid, flows: Vec<u32>, endless: Vec<bool>) -> Observer {
        let count = endless.len();
        Observer {
            flows,
            ledger: Ledger::new(grid, count, 0),
            senders: BTreeMap::new(),
            endless,
            limits: BTreeMap::new(),
            shortest: vec![None; count],
        }
    }

    /// Records a sample of the probe: the state of the sender of `connection` when a packet arrived, which it has
    /// had since the sample before.
    pub fn on_sample(&mut self, now: Time, connection: u32, state: &TcpState) {
        if now >= self.ledger.end() {
            return;
        }
        self.record(now, connection, state, true);
        if let Some(sender) = self.senders.get_mut(&connection) {
            sender.sampled_at = Some(now);
        }
    }

    /// Records a poll of `connection`: a state that the sender has had since the poll before, unless samples say
    /// more.
    pub fn on_poll(&mut self, now: Time, connection: u32, info: &Info) {
        if now >= self.ledger.end() {
            return;
        }
        let shortest = &mut self.shortest[self.flows[connection as usize] as usize];
        *shortest = shortest.iter().copied().chain(info.min_rtt).min();
        self.record_limits(now, connection, info.limits);
        let sampled_at = self.senders.get(&connection).and_then(|sender| sender.sampled_at);
        // A poll may be older than a sample taken since.
        if sampled_at.is_none_or(|sampled_at| sampled_at + POLL_INTERVAL < now) {
            let rtt = info.srtt.filter(|_| sampled_at.is_none() || info.closes);
            let state = TcpState { rtt, ..info.tcp_state() };
            let state = match self.senders.get(&connection).map(|sender| sender.last.1) {
                Some(last) => {
                    let is_same = (last.ca_state, last.ssthresh) == (state.ca_state, state.ssthresh);
                    let recovery_end = last.recovery_end.filter(|_| is_same);
                    TcpState { mode: last.mode, recovery_end, ..state }
                }
                None => state,
            };
            self.record(now, connection, &state, sampled_at.is_some());
        }
        if let Some(sender) = self.senders.get_mut(&connection) {
            sender.timeout = info.timeout;
        }
    }

    /// Ends the observation: the ledger, and the shortest round-trip time of each flow. A sender that has been sampled or
    /// polled just before the end keeps its last window until then.
    pub fn close(mut self) -> (Ledger, Vec<Option<Span>>) {
        let end = self.ledger.end();
        for (connection, SenderState { last: (since, state), .. }) in &self.senders {
            if *since + POLL_INTERVAL * 2 > end {
                integrate(&mut self.ledger, self.flows[*connection as usize], state, *since, end);
            }
        }
        (self.ledger, self.shortest)
    }

    /// What has kept `connection` back since the last poll.
    fn record_limits(&mut self, now: Time, connection: u32, limits: SenderLimits) {
        if now < self.ledger.measured() {
            return;
        }
        let Some((since, before)) = self.limits.insert(connection, (now, limits)) else { return };
        let flow = self.flows[connection as usize];
        for (limit, span) in limits.since(before, now.since(since), self.endless[flow as usize]) {
            self.ledger.limited_for(flow, limit, span);
        }
    }

    /// `sampled`: whether the probe samples every packet of this connection.
    fn record(&mut self, now: Time, connection: u32, state: &TcpState, sampled: bool) {
        let flow = self.flows[connection as usize];
        let since = Time::ZERO + now.since(Time::ZERO).saturating_sub(POLL_INTERVAL);
        let first = SenderState {
            last: (since, TcpState { mode: None, ..*state }),
            sampled_at: None,
            timeout: Span::ZERO,
            recovering_since: now,
        };
        let sender = self.senders.entry(connection).or_insert(first);
        let (from, before) = std::mem::replace(&mut sender.last, (now, *state));
        integrate(&mut self.ledger, flow, state, from.min(now), now);
        if let Some(rtt) = state.rtt {
            // The one-way delay is measured on the packets themselves.
            self.ledger.sampled(flow, rtt, Span::ZERO, now);
        }
        if state.ca_state.is_recovering() && !before.ca_state.is_recovering() {
            sender.recovering_since = now;
        }
        if state.mode != before.mode {
            self.ledger.event("mode", flow, state.mode.map_or(f64::NAN, f64::from), now);
        }
        for kind in events_between(&before, state, sampled) {
            let value = match kind {
                "timeout" => sender.timeout.as_secs(),
                "undone" => sender.recovering_since.as_secs(),
                _ => state.cwnd.into(),
            };
            self.ledger.event(kind, flow, value, now);
        }
    }
}

/// A sender of `flow` has had a state from one time to another.
fn integrate(ledger: &mut Ledger, flow: u32, state: &TcpState, from: Time, to: Time) {
    let ssthresh = state.ssthresh.map_or(f64::INFINITY, f64::from);
    ledger.integrate_window(flow, state.cwnd.into(), ssthresh, from, to);
}

/// Whether the timer has expired in between, as far as the kernel reports it.
fn more_timeouts(now: &TcpState, before: &TcpState) -> bool {
    matches!((now.timeouts, before.timeouts), (Some(now), Some(before)) if now != before)
}

/// The events between two states, by their names in the record; `sampled`: whether no packet arrived between the two.
fn events_between(before: &TcpState, now: &TcpState, sampled: bool) -> Vec<&'static str> {
    let mut events = Vec::new();
    let entered = |state: CaState| now.ca_state == state && before.ca_state != state;
    let rises = now.ssthresh.unwrap_or(u32::MAX) > before.ssthresh.unwrap_or(u32::MAX);
    let outside = !before.ca_state.is_recovering() && !now.ca_state.is_recovering();
    let recovered = before.ca_state.is_recovering() && !now.ca_state.is_recovering();
    // One recovery ends and the next begins with the same packet. A controller may leave its threshold as it is.
    // After a poll, which does not know the end of a recovery, the next sample says only what it is.
    let ends_differ = before.recovery_end.is_some() && now.recovery_end != before.recovery_end;
    let again = sampled
        && [before.ca_state, now.ca_state] == [CaState::Recovery; 2]
        && (now.ssthresh != before.ssthresh || ends_differ);
    if again {
        events.extend(["recovered", "reduction"]);
    } else if more_timeouts(now, before) || entered(CaState::Loss) {
        events.push("timeout");
    } else if entered(CaState::Cwr) {
        events.push("marked");
    } else if entered(CaState::Recovery) && !before.ca_state.is_recovering() {
        events.push("reduction");
    } else if sampled && outside && rises && now.cwnd > before.cwnd {
        events.push("undone"); // after its end
    } else if !sampled && outside && now.ssthresh != before.ssthresh {
        events.push("reduction"); // it has recovered since
    }
    if recovered {
        // Nothing else raises a threshold.
        events.push(if sampled && rises { "undone" } else { "recovered" });
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
            ca_state: state,
            srtt: Some(Span::from_ms(20)),
            min_rtt: Some(Span::from_ms(19)),
            lost: 0,
            retransmitted: 0,
            delivered: Some(0),
            pacing_rate: None,
            timeout: Span::from_ms(220),
            timeouts: Some(0),
            mss: 1448,
            limits: SenderLimits::default(),
            closes: false,
        }
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    #[test]
    fn a_recovery_is_a_reduction_and_its_end_and_one_between_two_polls_shows_in_its_threshold() {
        let grid = grid(Span::from_s(1), Span::ZERO, 1, 1);
        let mut observer = Observer::new(grid, vec![0], vec![false]);
        observer.on_poll(at(10), 0, &info(20, None, CaState::Open));
        observer.on_poll(at(20), 0, &info(10, Some(10), CaState::Recovery));
        observer.on_poll(at(30), 0, &info(11, Some(10), CaState::Open));
        observer.on_poll(at(40), 0, &info(6, Some(5), CaState::Open));
        observer.on_poll(at(50), 0, &Info { timeouts: Some(1), ..info(1, Some(3), CaState::Loss) });
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
        // Bins of 1 ms: the window was 20 packets from the start to 10 ms, then 10 until 20 ms.
        let cwnd: Vec<f64> = [0, 9, 10, 19, 20].map(|bin| record.flows[0][bin].cwnd_packets.round()).into();
        assert_eq!(cwnd, [20.0, 20.0, 10.0, 10.0, 11.0]);
        assert!((record.flows[0][20].rtt_s - 0.02).abs() < 1e-9);
    }

    /// From 100 ms on: in 100 ms of each, half the time idle; half in the receive window; capped; without data.
    #[test]
    fn what_keeps_a_sender_back_is_counted_from_poll_to_poll() {
        let grid = grid(Span::from_ms(500), Span::from_ms(100), 1, 1);
        let mut observer = Observer::new(grid, vec![0], vec![false]);
        let polls = [(50, 0, 0, false, false), (100, 0, 0, false, false), (200, 50, 0, false, false)];
        let others = [(300, 150, 50, false, false), (400, 250, 50, false, true), (499, 349, 50, true, false)];
        for (ms, busy, receive_window, starved, pacing_cap) in polls.into_iter().chain(others) {
            let limits = SenderLimits {
                busy: Span::from_ms(busy),
                receive_window: Span::from_ms(receive_window),
                starved,
                pacing_cap,
                ..SenderLimits::default()
            };
            observer.on_poll(at(ms), 0, &Info { limits, ..info(20, None, CaState::Open) });
        }
        let record = observer.close().0.close("lab", Vec::new());
        assert_eq!(record.limits[0].map(|s| (s * 1e3).round()), [100.0, 100.0, 50.0, 0.0, 149.0]);
    }

    /// The probe samples the modes; a poll, which does not know them, changes nothing.
    #[test]
    fn a_mode_that_differs_from_the_one_before_is_an_event() {
        let mut observer = Observer::new(grid(Span::from_s(1), Span::ZERO, 1, 1), vec![0], vec![false]);
        let open = info(20, None, CaState::Open);
        for (ms, mode) in [(10, Some(0)), (20, Some(0)), (30, Some(1)), (60, Some(3))] {
            observer.on_sample(at(ms), 0, &TcpState { mode, ..open.tcp_state() });
            observer.on_poll(at(ms + 20), 0, &open);
        }
        let record = observer.close().0.close("lab", Vec::new());
        let events: Vec<(f64, &str, f64)> = record.events.iter().map(|e| (e.t_s, e.kind, e.value)).collect();
        assert_eq!(events, [(0.01, "mode", 0.0), (0.03, "mode", 1.0), (0.06, "mode", 3.0)]);
    }

    /// A recovery begins and ends within 10 ms.
    #[test]
    fn a_threshold_that_falls_within_a_recovery_is_the_end_of_one_and_the_beginning_of_the_next() {
        let events = |steps: [TcpState; 4]| {
            let mut observer = Observer::new(grid(Span::from_s(1), Span::ZERO, 1, 1), vec![0], vec![false]);
            for (ms, state) in (10..).step_by(10).zip(steps) {
                observer.on_sample(at(ms), 0, &state);
            }
            let record = observer.close().0.close("lab", Vec::new());
            record.events.iter().map(|e| (e.t_s, e.kind)).collect::<Vec<_>>()
        };
        let state = |ssthresh, state, end| {
            let state = info(20, Some(ssthresh), state).tcp_state();
            TcpState { recovery_end: Some(end), ..state }
        };
        let [open, recovery] = [CaState::Open, CaState::Recovery];
        let expected = [(0.02, "reduction"), (0.03, "recovered"), (0.03, "reduction")];
        let falls =
            [state(20, open, 7), state(20, recovery, 7), state(10, recovery, 7), state(10, recovery, 7)];
        assert_eq!(events(falls), expected);
        // A controller that leaves its threshold as it is: only the end of the recovery differs.
        let stays =
            [state(20, open, 7), state(20, recovery, 7), state(20, recovery, 9), state(20, recovery, 9)];
        assert_eq!(events(stays), expected);
    }

    /// Duplicates of all retransmissions come after the end of the recovery, which gives window and threshold back. A restart
    /// after a pause raises the threshold alone, and HyStart sets it while the window grows.
    #[test]
    fn a_recovery_that_is_undone_after_its_end_is_undone() {
        let mut observer = Observer::new(grid(Span::from_s(1), Span::ZERO, 1, 1), vec![0], vec![false]);
        let states = [
            (5, 18, 0, CaState::Open),
            (10, 20, 15, CaState::Open),
            (20, 20, 10, CaState::Recovery),
            (30, 10, 10, CaState::Open),
            (40, 20, 15, CaState::Open),
            (50, 15, 18, CaState::Open),
        ];
        for (ms, cwnd, ssthresh, state) in states {
            let ssthresh = Some(ssthresh).filter(|_| ms > 5);
            observer.on_sample(at(ms), 0, &info(cwnd, ssthresh, state).tcp_state());
        }
        let record = observer.close().0.close("lab", Vec::new());
        let events: Vec<(f64, &str, f64)> = record.events.iter().map(|e| (e.t_s, e.kind, e.value)).collect();
        assert_eq!(events, [(0.02, "reduction", 20.0), (0.03, "recovered", 10.0), (0.04, "undone", 0.02)]);
    }

    /// No packet arrives for 10 ms after the one that begins a recovery.
    #[test]
    fn a_recovery_that_a_poll_detects_first_is_one() {
        let mut observer = Observer::new(grid(Span::from_s(1), Span::ZERO, 1, 1), vec![0], vec![false]);
        let state = |ssthresh, state, end| {
            let state = info(20, Some(ssthresh), state);
            (TcpState { recovery_end: Some(end), ..state.tcp_state() }, state)
        };
        observer.on_sample(at(10), 0, &state(20, CaState::Open, 7).0);
        observer.on_poll(at(30), 0, &state(10, CaState::Recovery, 9).1);
        observer.on_sample(at(32), 0, &state(10, CaState::Recovery, 9).0);
        observer.on_sample(at(34), 0, &state(10, CaState::Open, 9).0);
        let record = observer.close().0.close("lab", Vec::new());
        let events: Vec<(f64, &str)> = record.events.iter().map(|e| (e.t_s, e.kind)).collect();
        assert_eq!(events, [(0.03, "reduction"), (0.034, "recovered")]);
    }

    /// Whether a poll comes before or after the end, if both are due at once, changes nothing.
    #[test]
    fn the_last_window_lasts_until_the_end_and_what_comes_then_does_not_count() {
        let record = |polls_at_end: bool| {
            let mut observer =
                Observer::new(grid(Span::from_s(1), Span::ZERO, 1, 1), vec![0, 0], vec![false]);
            let [open, lost] = [CaState::Open, CaState::Recovery].map(|state| info(20, Some(9), state));
            // One of two connections has ended long before.
            observer.on_poll(at(500), 1, &open);
            observer.on_sample(at(995), 0, &open.tcp_state());
            if polls_at_end {
                observer.on_sample(at(1000), 0, &lost.tcp_state());
                observer.on_poll(at(1010), 0, &lost);
            }
            observer.close().0.close("lab", Vec::new())
        };
        let [without, with] = [false, true].map(record);
        // Bins without a sample have no round-trip time, which equals nothing.
        assert_eq!(format!("{without:?}"), format!("{with:?}"));
        assert!(without.events.is_empty());
        let cwnd: Vec<f64> = [499, 500, 994, 999].map(|bin| with.flows[0][bin].cwnd_packets.round()).into();
        assert_eq!(cwnd, [20.0, 0.0, 20.0, 20.0]);
    }

    #[test]
    fn every_packet_is_sampled_and_polls_count_only_while_none_arrives() {
        let mut observer = Observer::new(grid(Span::from_s(1), Span::ZERO, 1, 1), vec![0], vec![false]);
        let open = |cwnd, ssthresh| info(cwnd, ssthresh, CaState::Open);
        let mut sample = |ms, info: &Info| observer.on_sample(at(ms), 0, &info.tcp_state());
        sample(10, &open(20, None));
        sample(11, &info(19, Some(10), CaState::Recovery));
        sample(12, &open(10, Some(10)));
        sample(13, &open(9, Some(9)));
        sample(14, &info(8, Some(4), CaState::Recovery));
        sample(15, &open(9, Some(9)));
        // The first poll is older than the last packet; the second follows a silence in which the timer expired.
        observer.on_poll(at(16), 0, &info(8, Some(4), CaState::Recovery));
        observer.on_poll(at(30), 0, &Info { timeouts: Some(1), ..info(1, Some(4), CaState::Loss) });
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
