//! What draws random cases: the same ones in each call of the tests, and others in `make soak`.

use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// Draws `count` cases, or `PROPTEST_CASES` if that is more, from `seed`. Where `FAIRHAUL_SOAK_SEED` is a number, that chooses
/// others, `PROPTEST_CASES` or by default 256 of them.
pub fn runner(count: u32, seed: u8) -> TestRunner {
    let soak =
        std::env::var("FAIRHAUL_SOAK_SEED").ok().map(|text| text.parse::<u64>().expect("a whole number"));
    let (mut bytes, wanted) = ([seed; 32], Config::default().cases);
    if let Some(soak) = soak {
        bytes[..8].copy_from_slice(&soak.to_le_bytes());
    }
    let cases = if soak.is_some() { wanted } else { count.max(wanted) };
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 400, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}
