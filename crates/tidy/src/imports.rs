//! Dependencies between crates: the tables of `ARCHITECTURE.md` list what each manifest may import.
//!
//! The tables are written only there. A row is `` | `crate` | `import`, `import` | ... | ``; a crate that does
//! not exist yet has "(later)" after its name. Crates have the names of their folders.

use std::collections::{BTreeMap, BTreeSet};

use crate::Tree;

const PAGE: &str = "ARCHITECTURE.md";

/// The headings of the two tables, and the sections that they apply to.
const TABLES: [(&str, DependencyKind); 2] =
    [("### Allowed imports", DependencyKind::Normal), ("### Allowed in tests only", DependencyKind::Tests)];

#[derive(Clone, Copy, Debug, PartialEq)]
enum DependencyKind {
    Normal,
    Tests,
}

/// One row: whether its crate does not exist yet, and what it may import.
#[derive(Debug, Default)]
struct ImportRow {
    later: bool,
    imports: BTreeSet<String>,
}

type ImportTable = BTreeMap<String, ImportRow>;

/// Every manifest imports only what its row allows, and every crate has a row.
pub fn imports(tree: &Tree) -> Vec<String> {
    let Some(page) = tree.text(PAGE) else {
        return vec![format!("{PAGE} is missing: write the tables of the crates")];
    };
    let mut complaints = Vec::new();
    let crates = crates(tree);
    for (heading, section) in TABLES {
        let table = table(page, heading);
        if table.is_empty() {
            complaints.push(format!("{PAGE}: no table under \"{heading}\": every crate needs a row there"));
            continue;
        }
        compare(&crates, &table, section, heading, &mut complaints);
    }
    complaints
}

fn compare(
    crates: &BTreeMap<&str, &str>,
    table: &ImportTable,
    section: DependencyKind,
    heading: &str,
    complaints: &mut Vec<String>,
) {
    for (name, manifest) in crates {
        let Some(row) = table.get(*name) else {
            complaints.push(format!("{PAGE}: the crate `{name}` has no row under \"{heading}\": add one"));
            continue;
        };
        if row.later {
            complaints.push(format!("{PAGE}: the crate `{name}` exists: remove \"(later)\" from its row"));
        }
        for import in imported(manifest, section).difference(&row.imports) {
            complaints.push(format!(
                "crates/{name}/Cargo.toml imports `{import}`, which its row under \"{heading}\" in {PAGE} does not \
                 allow: do without it, or change the row in the same commit and say there why"
            ));
        }
    }
    for (name, row) in table {
        if !row.later && !crates.contains_key(name.as_str()) {
            complaints.push(format!(
                "{PAGE}: the row `{name}` has no crates/{name}: mark it \"(later)\" or remove it"
            ));
        }
    }
}

/// The manifests by crate.
fn crates(tree: &Tree) -> BTreeMap<&str, &str> {
    let top_level = |path: &'_ str| path.split('/').count() == 3;
    let manifests = tree.below("crates", "/Cargo.toml").filter(|(path, _)| top_level(path));
    manifests.filter_map(|(path, text)| Some((path.split('/').nth(1)?, text))).collect()
}

/// The imports of a manifest in sections of that kind, for all targets.
fn imported(manifest: &str, section: DependencyKind) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut inside = false;
    for line in manifest.lines().map(|line| line.split('#').next().unwrap_or_default().trim()) {
        if let Some(header) = line.strip_prefix('[') {
            let header = header.trim_end_matches(']');
            // [dependencies.name] is a header of its own.
            let (start, name) = match header.rsplit_once("dependencies.") {
                Some((before, name)) => (format!("{before}dependencies"), Some(name)),
                None => (header.to_string(), None),
            };
            inside = kind(&start) == Some(section);
            found.extend(name.filter(|_| inside).map(folder));
            inside &= name.is_none();
        } else if inside && let Some((key, value)) = line.split_once('=') {
            let name = value.split_once("package = \"").and_then(|(_, rest)| rest.split('"').next());
            found.insert(folder(name.unwrap_or(key)));
        }
    }
    found
}

fn kind(header: &str) -> Option<DependencyKind> {
    match header.rsplit('.').next().unwrap_or(header) {
        "dependencies" | "build-dependencies" => Some(DependencyKind::Normal),
        "dev-dependencies" => Some(DependencyKind::Tests),
        _ => None,
    }
}

/// The name that the tables use: the folder of a crate, or the name of a library.
fn folder(key: &str) -> String {
    let name = key.trim().split('.').next().unwrap_or(key).trim_matches(['"', ' ']);
    name.strip_prefix("fairhaul-").unwrap_or(name).to_string()
}

/// The rows of the first table after `heading`.
fn table(page: &str, heading: &str) -> ImportTable {
    let after = page.lines().skip_while(|line| line.trim() != heading).skip(1);
    let rows = after.skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    rows.filter_map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
        let name = words(cells.first()?).into_iter().next()?;
        let imports = cells.iter().skip(1).take(2).flat_map(|cell| words(cell)).collect();
        Some((name, ImportRow { later: cells[0].contains("(later)"), imports }))
    })
    .collect()
}

/// The words between backquotes.
fn words(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "### Allowed imports\n\n| crate | crates | libraries |\n|---|---|---|\n| `a` | – | `libm` |\n\
        | `b` | `a` | – | why `c` |\n| `c` (later) | – | – |\n\n### Allowed in tests only\n\n| crate | crates | libraries |\n|---|---|---|\n\
        | `a` | – | – |\n| `b` | – | `insta` |\n";

    fn complaints(page: &str, b: &str) -> Vec<String> {
        let a = "[package]\nname = \"fairhaul-a\"\n[dependencies]\nlibm.workspace = true\n";
        imports(&Tree::of(&[(PAGE, page), ("crates/a/Cargo.toml", a), ("crates/b/Cargo.toml", b)]))
    }

    #[test]
    fn what_the_tables_allow_passes() {
        let b = "[dependencies]\nfairhaul-a.workspace = true\n[dev-dependencies]\ninsta = \"1\"\n";
        assert_eq!(complaints(GOOD, b), [""; 0]);
    }

    #[test]
    fn an_import_that_is_not_in_the_table_is_found_however_it_is_written() {
        let ways = [
            "[dependencies]\nfairhaul-c.workspace = true",
            "[dependencies]\nfairhaul-c = { path = \"../c\" }",
            "[dependencies]\nshort = { package = \"fairhaul-c\", path = \"../c\" }",
            "[dependencies.fairhaul-c]\npath = \"../c\"",
            "[target.'cfg(unix)'.dependencies]\nfairhaul-c = \"1\"",
            "[build-dependencies]\nfairhaul-c = \"1\"",
            "[dev-dependencies]\nfairhaul-c = \"1\"",
            "[dependencies]\ninsta = \"1\"",
        ];
        for way in ways {
            let found = complaints(GOOD, way);
            assert_eq!(found.len(), 1, "{way}: {found:?}");
            assert!(found[0].starts_with("crates/b/Cargo.toml imports `"), "{found:?}");
        }
    }

    #[test]
    fn crates_without_a_row_and_rows_without_a_crate_are_found() {
        let without_b = GOOD.replace("| `b` | `a` | – | why `c` |\n", "");
        assert!(complaints(&without_b, "")[0].contains("has no row"));
        let c_exists = GOOD.replace(" (later)", "");
        assert!(complaints(&c_exists, "")[0].contains("has no crates/c"));
        let b_later = GOOD.replace("| `b` | `a`", "| `b` (later) | `a`");
        assert!(complaints(&b_later, "")[0].contains("exists"));
        assert_eq!(complaints("nothing", "").len(), 2);
        assert_eq!(imports(&Tree::default()).len(), 1);
    }
}
