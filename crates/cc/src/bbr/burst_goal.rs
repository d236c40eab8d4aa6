//! How many packets Linux aims to send in one burst of segmentation offload [LINUX, bbr_tso_segs_goal].

use fairhaul_units::Bytes;

/// Bursts for each second: one has what is paced in a 1024th of it.
const BURSTS_PER_S: f64 = 1024.0;
/// The largest burst has 64 kB, headers included.
const LARGEST: f64 = 65_535.0 - 320.0;
/// From this pacing rate on, in bytes/s, a burst has at least two packets: 1.2 Mbit/s.
const LEAST_RATE_OF_TWO: f64 = 150_000.0;

/// The number of packets in a burst at a pacing rate in packets/s, when a packet carries `payload`.
//
// Differs from [LINUX]: the bursts that leave have the size that `offload` gives, which the goal does not know. In
// Linux the goal does not depend on the largest burst of the interface, either.
pub(super) fn burst_goal(pacing_rate: f64, payload: Bytes) -> f64 {
    let payload = payload.0 as f64;
    let bytes_per_s = pacing_rate * payload;
    let least = if bytes_per_s < LEAST_RATE_OF_TWO { 1.0 } else { 2.0 };
    ((bytes_per_s / BURSTS_PER_S).min(LARGEST) / payload).floor().max(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At 1000 bytes: 150 packets/s are 1.2 Mbit/s. 10,000 packets/s are 9.77 in a 1024th of a second, and a million 976,
    /// of which 65 fit into 64 kB.
    #[test]
    fn a_burst_is_a_millisecond_of_the_rate_and_at_most_64_kilobytes() {
        let goals = [149.0, 150.0, 3000.0, 10_000.0, 1e6].map(|rate| burst_goal(rate, Bytes(1000)));
        assert_eq!(goals, [1.0, 2.0, 2.0, 9.0, 65.0]);
    }
}
