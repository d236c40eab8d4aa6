//! Random numbers of controllers, which the instants of events give.

use fairhaul_units::Time;

/// A number in [0, 1) that the instant of an event gives, to be asked where sources say "random".
/// It needs no generator of its own, is the same in every run of a seed, and differs from flow to
/// flow as their picoseconds do. The mixing is that of SplitMix64 [XOSHIRO].
pub(crate) fn draw(now: Time) -> f64 {
    let mut mixed = now.as_ps().wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use fairhaul_units::Span;

    use super::*;

    #[test]
    fn what_is_drawn_is_spread_evenly() {
        let drawn: Vec<f64> = (0..10_000).map(|n| draw(Time::ZERO + Span::from_ms(n))).collect();
        let mean = drawn.iter().sum::<f64>() / 1e4;
        assert!((mean - 0.5).abs() < 0.01, "{mean}");
        assert!(drawn.iter().filter(|&&d| d < 0.125).count().abs_diff(1250) < 120);
    }
}
