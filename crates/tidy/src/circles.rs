//! Import circles: modules of a crate that import each other, directly or through others.
//!
//! What counts is `use crate::…` and `use super::…` at the top level of a module, outside tests. A name that a module
//! only re-exports belongs to the module that it comes from. A parent that uses its children draws no circle: that is
//! what a parent is for.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::Tree;
use crate::rust::{layers, test_items, without};
use crate::size::is_test;

/// Circles that are still there, by crate, to be removed one by one. None may be added, and no module to one.
const KNOWN: [(&str, &[&str]); 2] = [
    ("fuzz", &["keys", "value"]),
    (
        "path",
        &[
            "queue/catalogue",
            "queue/codel",
            "queue/fq_codel",
            "queue/pie",
            "queue/red",
            "queue/sred",
            "queue/xcp",
            "queue/xcp_tcp",
        ],
    ),
];

/// The most re-exports that a name is followed through.
const MOST_STEPS: usize = 8;

/// The parts of a path: of a module, or of what is imported.
type ModulePath = Vec<String>;

/// The modules of a crate, and what each imports.
type Modules = BTreeMap<ModulePath, Vec<Import>>;

/// The modules that each module imports.
type Graph = BTreeMap<ModulePath, BTreeSet<ModulePath>>;

/// One name that a module imports.
#[derive(Debug, PartialEq)]
struct Import {
    public: bool,
    path: ModulePath,
    /// Its name in the importing module.
    name: String,
}

/// No modules import each other in a circle, except for the known ones; and those are all still there.
pub fn circles(tree: &Tree) -> Vec<String> {
    judge(tree, &KNOWN)
}

fn judge(tree: &Tree, known: &[(&str, &[&str])]) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut unused: BTreeSet<usize> = (0..known.len()).collect();
    for (name, modules) in crates(tree) {
        let graph = graph(&modules);
        for circle in components(&graph) {
            let members: Vec<String> = circle.iter().map(label).collect();
            let covers = |(of, allowed): &(&str, &[&str])| {
                *of == name && members.iter().all(|member| allowed.contains(&member.as_str()))
            };
            match known.iter().position(covers) {
                Some(index) => drop(unused.remove(&index)),
                None => complaints.push(format!(
                    "crates/{name}/src: modules import each other in a circle: {}: move what they share to a module \
                     that imports none of them (all in the circle: {})",
                    chain(&graph, &circle),
                    members.join(", ")
                )),
            }
        }
    }
    for index in unused {
        let (name, modules) = known[index];
        complaints.push(format!(
            "crates/tidy/src/circles.rs: the circle of {} in crates/{name} is gone: take it out of KNOWN",
            modules.join(", ")
        ));
    }
    complaints
}

/// The modules by crate.
fn crates(tree: &Tree) -> BTreeMap<String, Modules> {
    let mut found: BTreeMap<String, Modules> = BTreeMap::new();
    for (path, text) in tree.below("crates", ".rs").filter(|(path, _)| !is_test(path)) {
        let mut parts = path.trim_end_matches(".rs").split('/').skip(1);
        let (Some(name), Some("src")) = (parts.next(), parts.next()) else { continue };
        let mut module: ModulePath = parts.map(str::to_string).collect();
        let has_library = tree.has(&format!("crates/{name}/src/lib.rs"));
        match module.last().map(String::as_str) {
            Some("mod") => drop(module.pop()),
            Some("lib") if module.len() == 1 => module.clear(),
            Some("main") if module.len() == 1 && !has_library => module.clear(),
            _ => {}
        }
        found.entry(name.to_string()).or_default().insert(module, imports(text));
    }
    found
}

/// What a module imports at its top level, outside tests.
fn imports(text: &str) -> Vec<Import> {
    let code = layers(text).code;
    let code = without(&code, &test_items(&code));
    let mut found = Vec::new();
    let mut rest = code.as_str();
    while let Some((line, after)) = rest.split_once('\n') {
        let public = line.starts_with("pub");
        let start =
            if public { line.find(" use ").map(|at| at + 5) } else { line.strip_prefix("use ").map(|_| 4) };
        let declares = start.is_some_and(|at| !public || !line[..at - 4].contains('{'));
        match (start, rest.find(';')) {
            (Some(at), Some(end)) if declares => {
                collect(&rest[at..end], &[], public, &mut found);
                rest = &rest[end + 1..];
            }
            _ => rest = after,
        }
    }
    found
}

/// The names in a tree of `use`, such as `a::{b, c::{d, e as f}}`.
fn collect(tree: &str, before: &[String], public: bool, found: &mut Vec<Import>) {
    let (head, group) = match tree.split_once('{') {
        Some((head, group)) => (head, Some(group.rsplit_once('}').map_or(group, |(inside, _)| inside))),
        None => (tree, None),
    };
    let (head, alias) = head.split_once(" as ").unwrap_or((head, ""));
    let mut path = before.to_vec();
    path.extend(head.split("::").map(str::trim).filter(|part| !part.is_empty()).map(str::to_string));
    if let Some(group) = group {
        return members(group).for_each(|member| collect(member, &path, public, found));
    }
    let Some(last) = path.last() else { return };
    // `a::{self}` imports `a`.
    if last == "self" && path.len() > 1 {
        path.pop();
    }
    let name = if alias.is_empty() { path.last().cloned().unwrap_or_default() } else { alias.trim().into() };
    found.push(Import { public, path, name });
}

/// The members of a group: between its own commas, not those of groups inside it.
fn members(group: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    group
        .split(move |c: char| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            c == ',' && depth == 0
        })
        .map(str::trim)
        .filter(|member| !member.is_empty())
}

fn graph(modules: &Modules) -> Graph {
    let edges = |(module, imports): (&ModulePath, &Vec<Import>)| {
        let upward = imports.iter().filter(|import| ["crate", "super"].contains(&import.path[0].as_str()));
        let targets =
            upward.filter_map(|import| resolve(modules, &absolute(modules, module, &import.path)?, 0));
        (module.clone(), targets.filter(|target| target != module).collect())
    };
    modules.iter().map(edges).collect()
}

/// A path from the root of the crate; `None` for one that leads out of the crate.
fn absolute(modules: &Modules, module: &ModulePath, path: &[String]) -> Option<ModulePath> {
    let mut base = module.clone();
    let mut rest = path;
    match path.first()?.as_str() {
        "crate" => (base, rest) = (Vec::new(), &path[1..]),
        "self" => rest = &path[1..],
        "super" => {
            while rest.first().is_some_and(|part| part == "super") {
                base.pop()?;
                rest = &rest[1..];
            }
        }
        child => {
            let inside: ModulePath = base.iter().cloned().chain([child.to_string()]).collect();
            modules.get(&inside)?;
        }
    }
    base.extend_from_slice(rest);
    Some(base)
}

/// The module that a path leads to, through re-exports.
fn resolve(modules: &Modules, path: &[String], steps: usize) -> Option<ModulePath> {
    let length = (0..=path.len()).rev().find(|length| modules.contains_key(&path[..*length]))?;
    let (module, rest) = path.split_at(length);
    let module = module.to_vec();
    let exported = rest
        .first()
        .and_then(|name| modules[&module].iter().find(|import| import.public && import.name == *name));
    let target = exported.and_then(|import| absolute(modules, &module, &import.path));
    match target {
        Some(target) if steps < MOST_STEPS && target != path => resolve(modules, &target, steps + 1),
        _ => Some(module),
    }
}

/// The sets of modules of which each reaches each other one.
fn components(graph: &Graph) -> Vec<BTreeSet<ModulePath>> {
    let reach: BTreeMap<&ModulePath, BTreeSet<&ModulePath>> =
        graph.keys().map(|module| (module, reached(graph, module))).collect();
    let mut found: Vec<BTreeSet<ModulePath>> = Vec::new();
    for module in graph.keys() {
        if !reach[module].contains(module) || found.iter().any(|circle| circle.contains(module)) {
            continue;
        }
        let others = reach[module].iter().filter(|other| reach[*other].contains(module));
        found.push(others.map(|other| (*other).clone()).collect());
    }
    found
}

/// All modules that a module imports, directly or through others.
fn reached<'a>(graph: &'a Graph, module: &ModulePath) -> BTreeSet<&'a ModulePath> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&ModulePath> = graph[module].iter().collect();
    while let Some(next) = open.pop() {
        if found.insert(next) {
            open.extend(&graph[next]);
        }
    }
    found
}

/// The shortest circle through the first of these modules: `a -> b -> a`.
fn chain(graph: &Graph, circle: &BTreeSet<ModulePath>) -> String {
    let start = circle.first().expect("a circle has members");
    let mut open: VecDeque<Vec<&ModulePath>> = VecDeque::from([vec![start]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = open.pop_front() {
        let last = way.last().expect("a way has a start");
        for next in graph[*last].iter().filter(|next| circle.contains(*next)) {
            let longer = way.iter().copied().chain([next]);
            if next == start {
                return longer.map(label).collect::<Vec<_>>().join(" -> ");
            }
            if seen.insert(next) {
                open.push_back(longer.collect());
            }
        }
    }
    unreachable!("every member of a circle reaches itself")
}

fn label(module: &ModulePath) -> String {
    if module.is_empty() { "lib".into() } else { module.join("/") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)], known: &[(&str, &[&str])]) -> Vec<String> {
        judge(&Tree::of(files), known)
    }

    const A: (&str, &str) = ("crates/x/src/a.rs", "use crate::b::{B, C};\n");
    const B: (&str, &str) = ("crates/x/src/b.rs", "//! B.\nuse super::c::D as E;\n");
    const C: (&str, &str) = ("crates/x/src/c/mod.rs", "pub(crate) use crate::a::{self};\n");

    #[test]
    fn a_circle_is_named_module_by_module() {
        let complaints = found(&[A, B, C], &[]);
        assert_eq!(complaints.len(), 1);
        assert!(complaints[0].starts_with("crates/x/src: modules import"), "{complaints:?}");
        assert!(complaints[0].contains("a -> b -> c -> a: move"), "{complaints:?}");
    }

    #[test]
    fn a_known_circle_passes_and_so_does_one_within_it() {
        assert_eq!(found(&[A, B, C], &[("x", &["a", "b", "c", "d"])]), [""; 0]);
        assert_eq!(found(&[A, B, C], &[("x", &["a", "b"])]).len(), 2); // the circle, and one that is gone
        assert_eq!(found(&[A, B, C], &[("y", &["a", "b", "c"])]).len(), 2);
    }

    #[test]
    fn a_listed_circle_that_no_longer_exists_is_reported() {
        let complaints = found(&[A, B], &[("x", &["a", "b"])]);
        assert_eq!(complaints.len(), 1);
        assert!(complaints[0].contains("the circle of a, b in crates/x is gone"), "{complaints:?}");
    }

    #[test]
    fn tests_comments_strings_and_children_draw_none() {
        let others = [
            "#[cfg(test)]\nmod tests {\nuse crate::a::A;\n}\n",
            "// use crate::a::A;\n",
            "const T: &str = \"\nuse crate::a::A;\n\";\n",
            "fn f() {\n    use crate::a::A;\n}\n",
            "use std::a::A;\n",
        ];
        for other in others {
            assert_eq!(
                found(&[("crates/x/src/a.rs", "use crate::b::B;\n"), ("crates/x/src/b.rs", other)], &[]),
                [""; 0]
            );
        }
        let parent = ("crates/x/src/lib.rs", "mod a;\npub use a::A;\n");
        assert_eq!(found(&[parent, ("crates/x/src/a.rs", "use super::B;\n")], &[]), [""; 0]);
    }

    #[test]
    fn a_re_exported_name_belongs_to_the_module_that_it_comes_from() {
        let root = ("crates/x/src/lib.rs", "mod a;\nmod b;\npub use b::B;\n");
        let b = ("crates/x/src/b.rs", "use crate::a::A;\n");
        let complaints = found(&[root, ("crates/x/src/a.rs", "use crate::B;\n"), b], &[]);
        assert!(complaints[0].contains("a -> b -> a"), "{complaints:?}");
    }
}
