//! The window and the smoothed round-trip time of a sender after each acknowledgement, for the packet trace of its flow.
//! The packets are those of the emulated network, the windows those of the kernel, so that they meet only here.
//!
//! A sample is taken as a packet arrives, before the kernel processes it: it has the window that the packet before it has
//! left. A poll has both values, after all packets before it; a round-trip time that no poll has read is not known.

use fairhaul_experiment::{PacketRow, PacketTrace, PacketWhat};
use fairhaul_units::{Span, Time};

use super::clock::Clock;
use super::tcp_info::Info;
use super::tcp_probe::ProbeSample;

/// The time within which a packet that is due reaches the kernel, whose clock has whole nanoseconds.
const SAME_S: f64 = 1.5e-9;
/// Samples kept at most: an acknowledgement has one row as it is sent and one as it arrives, and a trace 10^6 rows.
const MOST_SAMPLES: usize = 1_000_000;

/// What is known of the senders of a flow.
#[derive(Clone, Debug)]
pub struct TracedWindows {
    /// Its flow; without one, nothing is kept.
    flow: Option<u32>,
    /// The flow of each connection.
    flows: Vec<u32>,
    /// By time, as the kernel samples them: the connection and the window.
    samples: Vec<(f64, u32, f64)>,
    /// By time: the connection, the window and the smoothed round-trip time.
    polls: Vec<(f64, u32, f64, f64)>,
}

impl TracedWindows {
    /// Nothing is known yet of the senders of `flow`, if one is traced; `flows`: the flow of each connection.
    pub fn new(flow: Option<u32>, flows: Vec<u32>) -> TracedWindows {
        TracedWindows { flow, flows, samples: Vec::new(), polls: Vec::new() }
    }

    /// A packet arrives at a sender.
    pub fn on_sample(&mut self, clock: Clock, sample: &ProbeSample) {
        let ProbeSample { at_ns, connection, state, .. } = sample;
        if self.traces(*connection) && self.samples.len() < MOST_SAMPLES {
            self.samples.push((clock.at(*at_ns).as_secs(), *connection, state.cwnd.into()));
        }
    }

    /// The sender of a connection is polled.
    pub fn on_poll(&mut self, now: Time, connection: u32, info: &Info) {
        if self.traces(connection) && self.polls.len() < MOST_SAMPLES {
            let srtt_s = info.srtt.map_or(f64::NAN, Span::as_secs);
            self.polls.push((now.as_secs(), connection, info.cwnd.into(), srtt_s));
        }
    }

    /// Writes what is known into the rows of the acknowledgements that senders have taken.
    pub fn complete(&mut self, trace: &mut PacketTrace) {
        self.samples.sort_by(|a, b| a.1.cmp(&b.1).then(a.0.total_cmp(&b.0)));
        self.polls.sort_by(|a, b| a.1.cmp(&b.1).then(a.0.total_cmp(&b.0)));
        let mut taken: Vec<&mut PacketRow> =
            trace.rows.iter_mut().filter(|row| row.what == PacketWhat::AckReceived).collect();
        taken.sort_by_key(|row| row.connection);
        for rows in taken.chunk_by_mut(|a, b| a.connection == b.connection) {
            let connection = rows[0].connection;
            let samples = of(&self.samples, connection, |sample| sample.1);
            windows_of_samples(rows, samples);
            windows_of_polls(rows, of(&self.polls, connection, |poll| poll.1));
        }
    }

    /// Whether a connection belongs to the flow.
    fn traces(&self, connection: u32) -> bool {
        self.flow.is_some_and(|flow| self.flows[connection as usize] == flow)
    }
}

/// The part of a list that belongs to a connection.
fn of<T>(list: &[T], connection: u32, number: impl Fn(&T) -> u32) -> &[T] {
    let first = list.partition_point(|entry| number(entry) < connection);
    let after = list.partition_point(|entry| number(entry) <= connection);
    &list[first..after]
}

/// The window after an acknowledgement is that of the sample that follows its own.
fn windows_of_samples(rows: &mut [&mut PacketRow], samples: &[(f64, u32, f64)]) {
    let mut next = 0;
    for row in rows.iter_mut() {
        if !row.opens {
            // The kernel samples no packet that ends the connection, and a sample of its timers is not of a packet.
            next += samples[next..].partition_point(|sample| sample.0 < row.t_s);
            match samples.get(next) {
                Some(own) if own.0 - row.t_s < SAME_S => next += 1,
                _ => continue,
            }
        }
        row.cwnd_packets = samples.get(next).map_or(f64::NAN, |sample| sample.2);
    }
}

/// A poll says what the last acknowledgement before it has left.
fn windows_of_polls(rows: &mut [&mut PacketRow], polls: &[(f64, u32, f64, f64)]) {
    for (now, _, cwnd, srtt_s) in polls {
        let before = rows.partition_point(|row| row.t_s <= *now);
        if let Some(row) = before.checked_sub(1).map(|last| &mut *rows[last])
            && now - row.t_s >= SAME_S
        {
            if row.srtt_s.is_nan() {
                row.srtt_s = *srtt_s;
            }
            if row.cwnd_packets.is_nan() {
                row.cwnd_packets = *cwnd;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairhaul_experiment::Outlet;
    use fairhaul_units::Ecn;

    fn row(what: PacketWhat, connection: u32, ms: u64) -> PacketRow {
        PacketRow {
            t_s: ms as f64 / 1000.0,
            what,
            connection,
            number: 0,
            size: 52,
            opens: false,
            retransmitted: false,
            ecn: Ecn::NotCapable,
            cwr: false,
            ece: false,
            ace: None,
            counters: None,
            blocks: Vec::new(),
            cwnd_packets: f64::NAN,
            srtt_s: f64::NAN,
        }
    }

    /// What is known after each acknowledgement: the window and the smoothed round-trip time in milliseconds, or zero.
    fn completed(mut windows: TracedWindows, rows: Vec<PacketRow>) -> Vec<(u32, u32)> {
        let mut trace = PacketTrace { rows, full: false, outlet: Outlet::default() };
        windows.complete(&mut trace);
        let known = |value: f64| if value.is_nan() { 0 } else { value.round() as u32 };
        trace.rows.iter().map(|row| (known(row.cwnd_packets), known(row.srtt_s * 1000.0))).collect()
    }

    fn windows(samples: &[(u64, u32, u32)], polls: &[(u64, u32, u32)]) -> TracedWindows {
        let s = |ms: u64| ms as f64 / 1000.0;
        let samples = samples.iter().map(|(ms, connection, cwnd)| (s(*ms), *connection, f64::from(*cwnd)));
        let polls = polls.iter().map(|(ms, connection, cwnd)| (s(*ms), *connection, f64::from(*cwnd), 0.04));
        let (samples, polls) = (samples.collect(), polls.collect());
        TracedWindows { flow: Some(0), flows: vec![0; 2], samples, polls }
    }

    #[test]
    fn the_window_after_an_acknowledgement_is_that_of_the_next_packet_of_its_connection() {
        use PacketWhat::{AckReceived, AckSent, Received};
        let opening = PacketRow { opens: true, ..row(AckReceived, 0, 5) };
        let rows = vec![
            opening,
            row(AckSent, 0, 8),
            row(AckReceived, 0, 10),
            row(AckReceived, 1, 10),
            row(AckReceived, 0, 11),
            row(AckReceived, 0, 11), // At the same time.
            row(Received, 0, 12),
            row(AckReceived, 0, 20),
        ];
        let samples =
            [(10, 0, 10), (10, 1, 30), (11, 0, 11), (11, 0, 12), (12, 1, 31), (15, 0, 13), (20, 0, 5)];
        // The sample at 15 ms is of a timer: the window until then is that after the packet before it.
        let known = [10, 0, 11, 31, 12, 13, 0, 0].map(|cwnd| (cwnd, 0));
        assert_eq!(completed(windows(&samples, &[]), rows), known);
    }

    #[test]
    fn a_poll_says_what_the_last_acknowledgement_before_it_has_left() {
        use PacketWhat::AckReceived;
        let rows = [9, 12, 20].map(|ms| row(AckReceived, 0, ms)).into();
        // The poll at 20 ms may be before or after the packet of that time.
        let polls = [(10, 0, 7), (11, 0, 8), (15, 1, 9), (20, 0, 9)];
        assert_eq!(completed(windows(&[], &polls), rows), [(7, 40), (0, 0), (0, 0)]);
        let rows = [9, 12].map(|ms| row(AckReceived, 0, ms)).into();
        let samples = [(9, 0, 5), (12, 0, 6)];
        assert_eq!(completed(windows(&samples, &[(13, 0, 7)]), rows), [(6, 0), (7, 40)]);
    }
}
