//! One name everywhere: a controller or a queue is complete, or the place that lacks it is named.

use crate::Tree;
use crate::rust::layers;

const CATALOGUE: &str = "crates/cc/src/catalogue.rs";
const SNAPSHOTS: &str = "crates/cc/tests/snapshots";
const COUNTERS_PAGE: &str = "docs/queues/counting.md";

/// Each controller of the catalogue has its file, page, index line, staircase and scenario; each
/// file of a controller and each page has its line in the catalogue.
pub fn controllers(tree: &Tree) -> Vec<String> {
    let Some(catalogue) = tree.text(CATALOGUE) else { return vec![format!("{CATALOGUE} is missing")] };
    let names = catalogued(catalogue);
    if names.is_empty() {
        return vec![format!("{CATALOGUE}: no line such as `Reno = \"reno\",` in `catalogue! {{ }}`")];
    }
    let mut complaints = Vec::new();
    for name in &names {
        let file = format!("crates/cc/src/{name}.rs");
        if !tree.has(&file) {
            complaints.push(format!("the controller `{name}` has no file: add {file}"));
        }
        if !tree.below(SNAPSHOTS, ".snap").any(|(path, _)| path.contains("staircase") && segments(path, name))
        {
            complaints.push(format!(
                "the controller `{name}` has no staircase: add its test; the snapshot is {SNAPSHOTS}/…staircase…{name}.snap"
            ));
        }
        papers_and_use(tree, "controller", name, &mut complaints);
    }
    for (path, text) in tree.below("crates/cc/src", ".rs").filter(|(path, _)| *path != CATALOGUE) {
        let name = stem(path);
        if layers(text).code.contains("impl Controller for ")
            && !names.iter().any(|known| known == name)
            && !path.contains("/tests")
        {
            complaints.push(format!("{path}: the controller `{name}` is not in {CATALOGUE}: add its line"));
        }
    }
    strays(tree, "controller", &names, &mut complaints);
    complaints
}

/// Each queue (a file of `path/queue` with a `TITLE`) has its page, index line and scenario.
pub fn queues(tree: &Tree) -> Vec<String> {
    let files = tree.below("crates/path/src/queue", ".rs").filter(|(_, text)| text.contains("const TITLE: "));
    let mut names: Vec<String> = files.map(|(path, _)| stem(path).to_string()).collect();
    if names.is_empty() {
        return vec![
            "crates/path/src/queue has no file with a `TITLE`: a queue says in one line what it is".into(),
        ];
    }
    let mut complaints = Vec::new();
    for name in &names {
        papers_and_use(tree, "queue", name, &mut complaints);
    }
    if counters(tree, &mut complaints) > 0 {
        names.push(stem(COUNTERS_PAGE).to_string());
    }
    strays(tree, "queue", &names, &mut complaints);
    complaints
}

/// Each flow counter (a file of `path/count` with a `TITLE`) has its section on the page of all; how many
/// there are.
fn counters(tree: &Tree, complaints: &mut Vec<String>) -> usize {
    let page = tree.text(COUNTERS_PAGE).unwrap_or_default();
    let files = tree.below("crates/path/src/count", ".rs").filter(|(_, text)| text.contains("const TITLE: "));
    let names: Vec<&str> = files.map(|(path, _)| stem(path)).collect();
    for name in names.iter().filter(|name| !page.contains(&format!("\n## {name}\n"))) {
        complaints
            .push(format!("the flow counter `{name}` has no section: add `## {name}` to {COUNTERS_PAGE}"));
    }
    names.len()
}

/// The places that controllers and queues share: page, index, scenario.
fn papers_and_use(tree: &Tree, what: &str, name: &str, complaints: &mut Vec<String>) {
    let page = format!("docs/{what}s/{name}.md");
    if !tree.has(&page) {
        complaints.push(format!("the {what} `{name}` has no page: add {page}"));
    }
    let index = format!("docs/{what}s/index.md");
    if !tree.text(&index).is_some_and(|text| text.contains(&format!("{name}.md"))) {
        complaints.push(format!("the {what} `{name}` is not in the index: link {name}.md in {index}"));
    }
    let quoted = format!("\"{name}\"");
    let used =
        |text: &str| text.lines().any(|line| line.split('#').next().unwrap_or_default().contains(&quoted));
    if !tree.below("scenarios", ".toml").any(|(_, text)| used(text)) {
        complaints.push(format!("the {what} `{name}` is in no scenario: use it in a file under scenarios/"));
    }
}

/// Pages of something that does not exist.
fn strays(tree: &Tree, what: &str, names: &[String], complaints: &mut Vec<String>) {
    for (path, _) in tree.below(&format!("docs/{what}s"), ".md") {
        let name = stem(path);
        if name != "index" && !names.iter().any(|known| known == name) {
            complaints.push(format!("{path}: there is no {what} `{name}`: rename the page or remove it"));
        }
    }
}

/// The words in the last `catalogue! { Kind = "word", }`.
fn catalogued(catalogue: &str) -> Vec<String> {
    let Some((_, lines)) = catalogue.rsplit_once("catalogue! {") else { return Vec::new() };
    let entries = lines.lines().take_while(|line| !line.starts_with('}'));
    let entries = entries.filter(|line| !line.trim_start().starts_with("//"));
    entries.filter_map(|line| line.split('"').nth(1)).map(str::to_string).collect()
}

/// The file's name without its end.
fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.split('.').next().unwrap_or(name)
}

/// Whether `name` is one of the words of the file's name: `bic` is not in `staircase__cubic.snap`.
fn segments(path: &str, name: &str) -> bool {
    let file = path.rsplit('/').next().unwrap_or(path);
    file.split(|c: char| !c.is_alphanumeric()).any(|word| word == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMPLETE: [(&str, &str); 11] = [
        (CATALOGUE, "impl Controller for Builtin {}\ncatalogue! {\n    Reno = \"reno\",\n}\n"),
        ("crates/cc/src/reno.rs", "impl Controller for Reno {}"),
        ("crates/cc/tests/snapshots/staircase__reno.snap", ""),
        ("docs/controllers/reno.md", ""),
        ("docs/controllers/index.md", "[reno](reno.md)"),
        ("scenarios/examples/a.toml", "controller = \"reno\"\nqueue = { kind = \"droptail\" }"),
        ("crates/path/src/queue/droptail.rs", "pub const TITLE: &'static str = \"x\";"),
        ("docs/queues/droptail.md", ""),
        ("docs/queues/index.md", "[droptail](droptail.md)"),
        ("docs/queues/counting.md", "# Counting\n\n## exact\n"),
        ("crates/path/src/count/exact.rs", "pub const TITLE: &'static str = \"x\";"),
    ];

    fn judged(files: &[(&str, &str)]) -> usize {
        let tree = Tree::of(files);
        controllers(&tree).len() + queues(&tree).len()
    }

    #[test]
    fn a_complete_name_passes() {
        assert_eq!(judged(&COMPLETE), 0);
    }

    #[test]
    fn each_place_that_lacks_the_name_is_found() {
        for missing in 0..COMPLETE.len() {
            let mut files = COMPLETE.to_vec();
            let (path, _) = files.remove(missing);
            assert!(judged(&files) >= 1, "without {path}");
        }
    }

    #[test]
    fn a_word_in_a_remark_is_no_use_of_it_and_a_longer_name_is_another() {
        let mut files = COMPLETE.to_vec();
        files[5].1 = "# \"reno\"\nqueue = \"droptail\"";
        assert_eq!(judged(&files), 1);
        let mut files = COMPLETE.to_vec();
        files[2].0 = "crates/cc/tests/snapshots/staircase__newreno.snap";
        assert_eq!(judged(&files), 1);
    }

    #[test]
    fn a_controller_outside_the_catalogue_and_a_page_of_nothing_are_found() {
        let mut files = COMPLETE.to_vec();
        files.push(("crates/cc/src/vegas.rs", "impl Controller for Vegas {}"));
        files.push(("docs/controllers/vegas.md", ""));
        files.push(("docs/queues/red.md", ""));
        assert_eq!(judged(&files), 3);
    }
}
