//! The keys of an expectation.

use super::*;

/// The bound of a number; a rate of 1 Tbit/s is 10^12.
type Bound = Number<-1_000_000_000_000, 1_000_000_000_000>;

table! {
    ExpectKeys: "[[expect]]",
        "An expectation of a run: a number, and the bounds within which it must be. It changes nothing in a run. \
         [check.md](check.md) describes how it is judged, and which figures a formula may have.";
    what: String = required, "What is expected, as a sentence.";
    number: String = required,
        "The number: a formula over the figures of a run, such as \"flows.a.goodput_bps / 1e6\".";
    at_least: Bound = in_words("no lower bound; one of the two is required"), "Smallest number that is expected.";
    at_most: Bound = in_words("no upper bound"), "Largest number that is expected.";
    relative_to: String = default("\"\""),
        "A setting as for `--set`, such as \"flow.a.controller=cubic\": the number is divided by that of the run with this setting and the same seed.";
    source: String = default("\"\""), "Source of the expectation: the key of a document and the place in it.";
    from: Time<0, RUN> = in_words("`warmup`"), "Start of the time over which the figures are measured.";
    until: Time<1, RUN> = in_words("`duration`"), "End of this time.";
}
