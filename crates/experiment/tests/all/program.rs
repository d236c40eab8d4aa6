//! Flows whose ends are programs: their command lines, what they replace, and that only kernels run them.

use fairhaul_experiment::{Mistakes, ProgramPair, Scenario, describe, read};

const PROGRAMS: &str = r#"
duration = "10 s"
[bottleneck]
rate = "1 Gbit/s"
delay = "20 ms"
queue = { kind = "droptail", capacity = "1 bdp" }
[[flow]]
name = "F1"
program = { sender = "./client  -n 3", receiver = ["./server", "a b"] }
"#;

fn scenario(changes: &[(&str, &str)]) -> Result<Scenario, Mistakes> {
    let changes: Vec<_> = changes.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    read(PROGRAMS, "test.toml", &changes).map(|study| study.base)
}

fn mistakes(key: &str, value: &str) -> String {
    scenario(&[(key, value)]).expect_err("this is wrong").to_string()
}

#[test]
fn a_text_is_split_at_white_space_and_a_list_is_taken_as_it_is() {
    let flow = &scenario(&[]).expect("it is a scenario").flows[0];
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let pair = ProgramPair { sender: words(&["./client", "-n", "3"]), receiver: words(&["./server", "a b"]) };
    assert_eq!(flow.program, Some(pair));
    assert!(!flow.has_controller() && flow.gauges().is_empty());
    for wrong in ["\"\"", "\" \"", "[]", "[\"\"]", "[1]", "3", "\"a\\u0000b\""] {
        let found = mistakes("flow.F1.program.sender", wrong);
        assert!(
            found.contains("sender: ") && found.contains("wanted a program and its arguments"),
            "{found}"
        );
    }
    let found = mistakes("flow.F1.program", "{ sender = \"x\" }");
    assert!(found.contains("needs \"receiver\": a program and its arguments"), "{found}");
}

#[test]
fn programs_replace_sender_receiver_and_traffic_but_not_their_hosts() {
    for (key, value) in [("recovery", "sack"), ("traffic", "\"1 MB\""), ("ecn", "true")] {
        let found = mistakes(&format!("flow.F1.{key}"), value);
        assert!(found.contains(&format!("{key}: not possible with a \"program\"")), "{found}");
    }
    let tuned = scenario(&[("flow.F1.host.line_rate", "1 Gbit/s"), ("flow.F1.start", "2 s")]);
    assert!(tuned.is_ok_and(|scenario| scenario.flows[0].host.is_some()));
    // A value of `--set` takes the place of what it excludes.
    let set = |key| scenario(&[(key, "cubic")]).expect("it is a scenario").flows[0].program.clone();
    assert_eq!(set("flow.F1.controller"), None);
    let back = [("flow.F1.controller", "cubic"), ("flow.F1.program", "{ sender = \"a\", receiver = \"b\" }")];
    assert!(scenario(&back).is_ok_and(|scenario| scenario.flows[0].program.is_some()));
}

#[test]
fn the_simulator_says_which_engines_run_programs() {
    let scenario = scenario(&[]).expect("it is a scenario");
    assert_eq!(
        scenario.kernel_requests(),
        [
            "flow \"F1\": program: programs run on a kernel, not in the simulator; this runs with --engine linux, in \
          simulated time, or --engine lab"
        ]
    );
    let described = describe(&scenario);
    for part in [r#""program":{""#, r#""sender":["./client","-n","3"]"#, r#""receiver":["./server","a b"]"#] {
        assert!(described.contains(part), "{described}");
    }
    assert!(described.contains(r#""controller":"none""#), "{described}");
}
