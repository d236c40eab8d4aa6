//! Every file in `scenarios/` reads, and the numbers that its comments claim are so.

use std::path::{Path, PathBuf};

use fairhaul_experiment::{Study, plan, read};
use fairhaul_path::queue::Capacity;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder is in the repository") {
        let path = entry.expect("it can be listed").path();
        match path.extension() {
            _ if path.is_dir() => files(&path, found),
            Some(extension) if extension == "toml" => found.push(path),
            _ => {}
        }
    }
}

fn study(path: &Path) -> Study {
    let text = std::fs::read_to_string(path).expect("it is a text");
    read(&text, &path.display().to_string(), &[]).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

#[test]
fn every_example_reads_and_gives_a_plan() {
    let mut found = Vec::new();
    files(&folder().join("examples"), &mut found);
    assert!(found.len() >= 3);
    for file in found {
        assert!(!plan(&study(&file).base).is_empty());
    }
}

#[test]
fn every_scenario_reads_and_gives_a_plan() {
    let mut found = Vec::new();
    files(&folder(), &mut found);
    assert!(found.len() >= 4);
    for file in found {
        assert!(!plan(&study(&file).base).is_empty());
    }
}

#[test]
fn table_1_sweeps_c_of_all_three_flows_together() {
    let study = study(&folder().join("papers/fhstcp/table1.toml"));
    let c = |run: usize, flow: usize| study.sweep[run].scenario.flows[flow].controller.settings.number("c");
    assert_eq!(study.sweep.len(), 3);
    for (run, wanted) in [5.0, 10.0, 20.0].into_iter().enumerate() {
        assert_eq!([c(run, 0), c(run, 1), c(run, 2)], [wanted; 3]);
    }
}

#[test]
fn table_1_has_a_queue_of_2500_packets_and_a_modest_background() {
    let text = std::fs::read_to_string(folder().join("papers/fhstcp/table1.toml")).unwrap();
    // The same with the controller of the background, so that only the rest of the file is tested.
    let text = text
        .replace("{ kind = \"fhstcp\", c = 10, eta_floor = false }", "\"reno\"")
        .replace("controller.c\"", "initial_window\"");
    let study = read(&text, "table1.toml", &[]).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    assert_eq!(study.base.links[0].capacity, Capacity::Packets(2500));
    assert_eq!(study.base.flows.len(), 9);
    assert_eq!(study.sweep.iter().map(|run| run.scenario.flows[2].initial_window).sum::<f64>(), 35.0);
    let transfers = plan(&study.base);
    let bits = |flow: u32| -> f64 {
        let sizes = transfers.iter().filter(|t| t.flow == flow).filter_map(|t| t.size);
        sizes.map(|size| size.0 as f64 * 8.0).sum::<f64>() / 600.0
    };
    // Pareto of shape 1.2 has no variance: its sum over 18 000 objects is rough, mostly low.
    assert!((1.0e6..8.0e6).contains(&bits(7)), "{}", bits(7));
    assert!((2.2e6..2.6e6).contains(&bits(8)), "{}", bits(8));
}
