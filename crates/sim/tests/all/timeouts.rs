//! What a sender does when nothing is acknowledged: it starts over as TCP does, or probes as QUIC does and starts over only
//! for persistent congestion [RFC 9002, 6.2, 7.6]; and the least window.

use crate::support::{Run, run_text};
use crate::wire::{Pipe, at, config};
use fairhaul_experiment::{Recovery, Rto};
use fairhaul_sim::tcp::SenderConfig;
use fairhaul_units::{Data, Span, Time};

/// A flow over 20 Mbit/s and 40 ms whose packets are all lost for a time from 15 s on, with a margin of 25 ms in its
/// timeout, about that of QUIC.
fn all_lost_for(lost_s: f64, flow: &str) -> Run {
    let until = 15.0 + lost_s;
    run_text(&format!(
        "duration = \"25 s\"\nwarmup = \"10 s\"\npacket = \"1500 B\"\n[bottleneck]\nrate = \"20 Mbit/s\"\n\
         delay = \"10 ms\"\nqueue = {{ kind = \"droptail\", capacity = \"67 packets\" }}\n\
         schedule = [{{ at = \"15 s\", loss = 1 }}, {{ at = \"{until} s\", loss = 0 }}]\n[[flow]]\nname = \"F\"\n\
         rtt = \"40 ms\"\ncontroller = \"reno\"\nrecovery = \"rack\"\nslow_start = \"full\"\nmin_rto = \"25 ms\"\n{flow}\n"
    ))
}

const PROBES: &str = "on_timeout = \"probe\"\nmin_window = 2";

/// The window in the bin of a time, packets.
fn window_at(run: &Run, t_s: f64) -> f64 {
    run.record.flows[0][run.record.grid.bin(Time::ZERO + Span::from_secs(t_s))].cwnd_packets
}

/// Packets that were sent from 0.3 s to 2 s after all began to be lost.
fn sent_in_silence(run: &Run) -> u64 {
    let bin = |t_s| run.record.grid.bin(Time::ZERO + Span::from_secs(t_s));
    run.record.flows[0][bin(15.3)..bin(17.0)].iter().map(|row| row.sent).sum()
}

/// A quarter of a second is less than three timeouts of some 0.1 s: half of the window is left, where TCP starts over.
#[test]
fn a_short_silence_is_one_loss_event_for_quic_and_a_timeout_for_tcp() {
    let (quic, tcp) = (all_lost_for(0.25, PROBES), all_lost_for(0.25, ""));
    assert!(!tcp.events("timeout").is_empty());
    assert!(quic.events("timeout").is_empty(), "{:?}", quic.events("timeout"));
    let before = window_at(&quic, 14.9);
    let recovered: Vec<_> = quic.events("recovered").into_iter().filter(|event| event.t_s > 15.0).collect();
    // It has grown by a packet since.
    assert!((recovered[0].value - before / 2.0 - 1.0).abs() < 1.0, "{before} {recovered:?}");
}

/// Over 3 s the probes leave after 0.06, 0.14, 0.30, 0.61, 1.24 and 2.50 s: persistent congestion, from two packets on.
#[test]
fn a_long_silence_is_persistent_congestion() {
    let run = all_lost_for(3.0, PROBES);
    let timeouts: Vec<f64> = run.events("timeout").iter().map(|event| event.t_s).collect();
    assert_eq!(timeouts.len(), 1, "{timeouts:?}");
    assert!((18.0..20.5).contains(&timeouts[0]), "{timeouts:?}");
    let bin = run.record.grid.bin(Time::ZERO + Span::from_secs(timeouts[0]));
    let least = run.record.flows[0][bin..bin + 3].iter().map(|row| row.cwnd_packets).fold(f64::MAX, f64::min);
    assert!(least < 20.0, "{least}");
    assert_eq!(sent_in_silence(&run), 2);
    // It is back at the full rate.
    assert!(window_at(&run, 24.9) > 60.0, "{}", window_at(&run, 24.9));
}

/// A window of eight, of which one packet is lost: four are left, or the least window. With all of them lost the window is
/// one packet after the timeout, or the least one.
#[test]
fn no_reduction_leaves_less_than_the_least_window() {
    let left = |min_window, all: bool| {
        let config =
            SenderConfig { initial_window: 8.0, initial_ssthresh: 8.0, min_window, ..config(Recovery::Rack) };
        let mut pipe = Pipe::new(config, Span::from_ms(100), Span::from_ms(1), move |data: &Data, times| {
            !data.opens() && (all || data.number == 12 && times == 1)
        });
        pipe.run(at(900));
        pipe.sender.window()
    };
    assert!(left(None, false).ssthresh < 5.0 && left(Some(6.0), false).ssthresh == 6.0);
    assert_eq!((left(None, true).cwnd, left(Some(6.0), true).cwnd), (1.0, 6.0));
}

/// The request to open is lost once, and leaves again after 1 s; the first packet of data leaves at 1.1 s, and is lost, too.
/// By the letter it leaves again 3 s later, and by default after the timeout of the sample of 100 ms, which is 100 ms and a
/// margin of 200 ms. Without a lost request both have that of the sample, by the letter at least 1 s.
// Requirement: rfc6298-5-d
#[test]
fn by_the_letter_a_lost_request_makes_the_first_timeout_three_seconds() {
    let again_after = |rto, min_rto, lost_requests| {
        let config = SenderConfig { initial_window: 1.0, rto, min_rto, ..config(Recovery::Sack) };
        let mut pipe = Pipe::new(config, Span::from_ms(100), Span::ZERO, move |data: &Data, times| {
            times <= if data.opens() { lost_requests } else { u32::from(data.number == 0) }
        });
        pipe.run(at(8000));
        let first = |again: bool| {
            let is_it = |data: &Data| !data.opens() && data.number == 0 && data.retransmitted() == again;
            pipe.sent.iter().find(|(_, data)| is_it(data)).expect("it was sent").0
        };
        first(true) - first(false)
    };
    let letter = [1, 0].map(|lost| again_after(Rto::Rfc6298, Span::from_s(1), lost));
    assert_eq!(letter, [Span::from_s(3), Span::from_s(1)]);
    let default = [1, 0].map(|lost| again_after(Rto::Scaled, Span::from_ms(200), lost));
    assert_eq!(default, [Span::from_ms(300); 2]);
}

#[test]
fn a_probe_needs_rack_and_a_least_window_fits_the_largest() {
    let reason = |flow: &str| {
        let text = format!(
            "profile = \"plain\"\nduration = \"1 s\"\n[bottleneck]\nrate = \"20 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"droptail\"\n[[flow]]\nname = \"F\"\n\
             rtt = \"40 ms\"\ncontroller = \"reno\"\n{flow}\n"
        );
        fairhaul_experiment::read(&text, "test", &[]).expect_err("it does not fit").to_string()
    };
    assert!(reason("on_timeout = \"probe\"").contains("needs recovery = \"rack\""));
    assert!(reason("min_window = 6\nmax_window = 4").contains("more than max_window"));
}
