//! Expectations in a scenario: their values, and the messages for invalid ones.

use fairhaul_experiment::{Study, describe, read};
use fairhaul_units::Span;

const SCENARIO: &str = r#"
duration = "10 s"
warmup = "2 s"
[bottleneck]
rate = "10 Mbit/s"
delay = "10 ms"
queue = { kind = "droptail", capacity = "20 packets" }
[[flow]]
name = "a"
controller = "reno"
"#;

fn study(expect: &str) -> Result<Study, String> {
    read(&format!("{SCENARIO}{expect}"), "a.toml", &[]).map_err(|mistakes| mistakes.to_string())
}

fn mistake(expect: &str) -> String {
    study(expect).expect_err("a mistake is in it")
}

#[test]
fn an_expectation_has_the_measured_time_unless_it_gives_its_own() {
    let text = "[[expect]]\nwhat = \"it uses the link\"\nnumber = \"links.bottleneck.utilization\"\nat_least = 0.9\n\
                [[expect]]\nwhat = \"later, too\"\nnumber = \"1\"\nat_most = 2\nfrom = \"4 s\"\nuntil = \"6 s\"\nsource = \"RFC 1\"\n";
    let [first, second] = &study(text).unwrap().base.expectations[..] else { panic!("there are two") };
    assert_eq!((first.what.as_str(), first.at_least, first.at_most), ("it uses the link", Some(0.9), None));
    assert_eq!((first.from, first.until), (Span::from_s(2), Span::from_s(10)));
    assert_eq!((second.from, second.until), (Span::from_s(4), Span::from_s(6)));
    assert_eq!(second.source, "RFC 1");
}

#[test]
fn a_record_does_not_say_what_was_expected() {
    let expect = "[[expect]]\nwhat = \"one\"\nnumber = \"1\"\nat_least = 1\n";
    let [with, without] = [expect, ""].map(|expect| describe(&study(expect).unwrap().base));
    assert_eq!(with, without);
}

#[test]
fn what_is_missing_or_cannot_be_is_named_with_its_line() {
    let head = "[[expect]]\nwhat = \"one\"\nnumber = \"1\"\n";
    let cases = [
        ("", "a.toml:11: [[expect]] needs \"at_least\" or \"at_most\": the bound of the number"),
        (
            "at_leats = 1\nat_most = 2\n",
            "a.toml:14: \"at_leats\" is not a key of [[expect]]; did you mean \"at_least\"?",
        ),
        ("at_least = 3\nat_most = 2\n", "a.toml:14: at_least: 3 is above at_most, 2"),
        ("at_least = 1\nfrom = \"11 s\"\n", "a.toml:15: from: the time from 11 s to 10 s is empty"),
        ("at_least = 1\nuntil = \"1 s\"\n", "a.toml:15: until: the time from 2 s to 1 s is empty"),
        ("at_least = 1\nuntil = \"11 s\"\n", "a.toml:15: until: 11 s is after the end of the run of 10 s"),
    ];
    for (rest, expected) in cases {
        assert_eq!(mistake(&format!("{head}{rest}")), expected);
    }
    assert_eq!(
        mistake("[[expect]]\nnumber = \" \"\nat_least = 1\n"),
        "a.toml:11: [[expect]] needs \"what\": a string\na.toml:12: number: is empty"
    );
}
