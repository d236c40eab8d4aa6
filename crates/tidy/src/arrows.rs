//! Arrows between rooms: what a manifest imports stands in the tables of `ARCHITECTURE.md`.
//!
//! The document is the only place where the tables are written. A row is
//! `` | `room` | `import`, `import` | ... | ``; a room that does not exist yet has "(later)" behind
//! its name. Rooms stand under their folder's name, libraries under their own.

use std::collections::{BTreeMap, BTreeSet};

use crate::Tree;

const MAP: &str = "ARCHITECTURE.md";

/// The headings over the two tables, and what each rules.
const TABLES: [(&str, Section); 2] =
    [("### Allowed imports", Section::Normal), ("### Allowed in tests only", Section::Tests)];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Section {
    Normal,
    Tests,
}

/// One row: whether its room exists, and what it may import.
#[derive(Debug, Default)]
struct Row {
    later: bool,
    imports: BTreeSet<String>,
}

type Table = BTreeMap<String, Row>;

/// Every manifest imports what its row allows, and every room has a row.
pub fn arrows(tree: &Tree) -> Vec<String> {
    let Some(map) = tree.text(MAP) else {
        return vec![format!("{MAP} is missing: write the map of the rooms")];
    };
    let mut complaints = Vec::new();
    let rooms = rooms(tree);
    for (heading, section) in TABLES {
        let table = table(map, heading);
        if table.is_empty() {
            complaints.push(format!("{MAP}: no table under \"{heading}\": every room needs a row there"));
            continue;
        }
        compare(&rooms, &table, section, heading, &mut complaints);
    }
    complaints
}

fn compare(
    rooms: &BTreeMap<&str, &str>,
    table: &Table,
    section: Section,
    heading: &str,
    complaints: &mut Vec<String>,
) {
    for (room, manifest) in rooms {
        let Some(row) = table.get(*room) else {
            complaints.push(format!("{MAP}: the room `{room}` has no row under \"{heading}\": add one"));
            continue;
        };
        if row.later {
            complaints.push(format!("{MAP}: the room `{room}` exists: take \"(later)\" out of its row"));
        }
        for import in imports(manifest, section).difference(&row.imports) {
            complaints.push(format!(
                "crates/{room}/Cargo.toml imports `{import}`, which its row under \"{heading}\" in {MAP} does not \
                 allow: do without it, or change the row in the same commit and say there why"
            ));
        }
    }
    for (room, row) in table {
        if !row.later && !rooms.contains_key(room.as_str()) {
            complaints.push(format!(
                "{MAP}: the row `{room}` has no crates/{room}: mark it \"(later)\" or remove it"
            ));
        }
    }
}

/// The manifests by room.
fn rooms(tree: &Tree) -> BTreeMap<&str, &str> {
    let room = |path: &'_ str| path.split('/').count() == 3;
    let manifests = tree.below("crates", "/Cargo.toml").filter(|(path, _)| room(path));
    manifests.filter_map(|(path, text)| Some((path.split('/').nth(1)?, text))).collect()
}

/// What a manifest imports in sections of that kind, whatever the target.
fn imports(manifest: &str, section: Section) -> BTreeSet<String> {
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

fn kind(header: &str) -> Option<Section> {
    match header.rsplit('.').next().unwrap_or(header) {
        "dependencies" | "build-dependencies" => Some(Section::Normal),
        "dev-dependencies" => Some(Section::Tests),
        _ => None,
    }
}

/// The name that the tables use: a room's folder, a library's name.
fn folder(key: &str) -> String {
    let name = key.trim().split('.').next().unwrap_or(key).trim_matches(['"', ' ']);
    name.strip_prefix("fairhaul-").unwrap_or(name).to_string()
}

/// The rows of the first table after `heading`.
fn table(map: &str, heading: &str) -> Table {
    let after = map.lines().skip_while(|line| line.trim() != heading).skip(1);
    let rows = after.skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    rows.filter_map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
        let room = words(cells.first()?).into_iter().next()?;
        let imports = cells.iter().skip(1).take(2).flat_map(|cell| words(cell)).collect();
        Some((room, Row { later: cells[0].contains("(later)"), imports }))
    })
    .collect()
}

/// What stands between backquotes.
fn words(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "### Allowed imports\n\n| room | rooms | libraries |\n|---|---|---|\n| `a` | – | `libm` |\n\
        | `b` | `a` | – | why `c` |\n| `c` (later) | – | – |\n\n### Allowed in tests only\n\n| room | rooms | libraries |\n|---|---|---|\n\
        | `a` | – | – |\n| `b` | – | `insta` |\n";

    fn house(map: &str, b: &str) -> Vec<String> {
        let a = "[package]\nname = \"fairhaul-a\"\n[dependencies]\nlibm.workspace = true\n";
        arrows(&Tree::of(&[(MAP, map), ("crates/a/Cargo.toml", a), ("crates/b/Cargo.toml", b)]))
    }

    #[test]
    fn what_the_tables_allow_passes() {
        let b = "[dependencies]\nfairhaul-a.workspace = true\n[dev-dependencies]\ninsta = \"1\"\n";
        assert_eq!(house(GOOD, b), [""; 0]);
    }

    #[test]
    fn an_arrow_that_is_not_in_the_table_is_found_however_it_is_written() {
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
            let found = house(GOOD, way);
            assert_eq!(found.len(), 1, "{way}: {found:?}");
            assert!(found[0].starts_with("crates/b/Cargo.toml imports `"), "{found:?}");
        }
    }

    #[test]
    fn rooms_and_rows_that_lack_each_other_are_found() {
        let without_b = GOOD.replace("| `b` | `a` | – | why `c` |\n", "");
        assert!(house(&without_b, "")[0].contains("has no row"));
        let c_exists = GOOD.replace(" (later)", "");
        assert!(house(&c_exists, "")[0].contains("has no crates/c"));
        let b_later = GOOD.replace("| `b` | `a`", "| `b` (later) | `a`");
        assert!(house(&b_later, "")[0].contains("exists"));
        assert_eq!(house("nothing", "").len(), 2);
        assert_eq!(arrows(&Tree::default()).len(), 1);
    }
}
