//! What draws random cases: the same ones in each call of the tests, and others in `make soak`.

use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// Draws `count` cases from `seed`, four times as many with the feature `slow`, or `PROPTEST_CASES` if that is more. Where
/// `FAIRHAUL_SOAK_SEED` is a number, that chooses others, `PROPTEST_CASES` or by default 256 of them.
pub fn runner(count: u32, seed: u8) -> TestRunner {
    let number = |name| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("a whole number"));
    let (soak, wanted) = (number("FAIRHAUL_SOAK_SEED"), number("PROPTEST_CASES").map(|count| count as u32));
    let count = if cfg!(feature = "slow") { 4 * count } else { count };
    let mut bytes = [seed; 32];
    if let Some(soak) = soak {
        bytes[..8].copy_from_slice(&soak.to_le_bytes());
    }
    let cases = if soak.is_some() { wanted.unwrap_or(256) } else { count.max(wanted.unwrap_or(0)) };
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 400, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}
