"""The rules of style and structure: each can fail, and the repository follows them."""

from __future__ import annotations

import fnmatch
from pathlib import Path

import pytest

from tools import ROOT
from tools.tidy import (
    RULES,
    Rule,
    choices,
    circles,
    cited_tests,
    imports,
    links,
    lints,
    modules,
    names,
    outside,
    required_files,
    requirements,
    size,
    sources,
    unused,
    wording,
)
from tools.tidy.layers import layer, untested
from tools.tidy.tree import Tree, read


@pytest.fixture(scope="module")
def repository() -> Tree:
    return read(ROOT)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_repository_follows(rule: Rule, repository: Tree) -> None:
    if complaints := list(rule(repository)):
        pytest.fail("\n" + "\n".join(complaints), pytrace=False)


SOURCES = "# Sources\n\n| `RFC 3649` | S. Floyd |\n- **FHSTCP** Su\n## [STCP]\n"
A, PY = "crates/cc/src/a.rs", "python/fairhaul/a.py"
LONG, TEST = "// a\n" * 401, "#[cfg(test)]\nmod tests {\n%s}\n"
CLOCK = "fn a() { let now = std::time::Instant::now(); }"
FOLDER = "/".join(["", "work", ""])


CASES: dict[Rule, list[tuple[str, str, list[int]]]] = {
    size.openings: [(A, "use c;", [1]), (A, "//! B.", []), ("crates/a/tests/d.rs", "use c;", [])],
    size.lengths: [
        (A, LONG, [1]),
        (A, LONG[5:] + TEST % LONG, []),
        ("crates/a/tests/b.rs", LONG, []),
        (PY, "a\n" * 401, [1]),
        (PY, "a\n" * 400, []),
    ],
    size.results: [(A, "x" * 300_000, []), (A, "x" * 300_001, [1])],
    size.functions: [
        ("tools/a.py", "\ndef a():\n" + "    b()\n" * 60, [2]),
        (PY, "class A:\n  async def a(\n    b):\n" + "    b()\n" * 59, [2]),
        (PY, "def a():\n" + "    b()\n" * 59, []),
    ],
    sources.keys: [
        (A, "//! HighSpeed TCP [RFC 3649, Table 6], [FHSTCP, §2], [RFC 3649, STCP].\n", []),
        (A, "//! By\n//! [RFC 364].", [2]),
        (A, "// Differs from [gHSTCP, 2]: x", [1]),
        (A, "// [RFC 3649, RFC 1]", [1]),
        (A, 'const SOURCE: &\'static str = "RFC 5681";', [1]),
        (A, "//! [RFC 3649, Dup], [`W`], [a, b], w[MSS], [0, 1), [x](y).\n#[cfg(A)] [CC]", []),
        (PY, "a = 1  # [CUBIC-fairness]", [1]),
        ("docs/controllers/a.md", "see [XCP]\n\n[FHSTCP 2005]", [1, 3]),
        ("scenarios/a.toml", "[CC]\nc = 1 # as in [XCP, 4]", [2]),
    ],
    outside.pure: [(A, CLOCK, [1]), (A, TEST % CLOCK, []), ("crates/host/src/a.rs", CLOCK, [])],
    unused.unused: [
        (PY, "def f():\n    pass\n\n\nclass G:\n    pass\n", [1, 5]),
        (PY, "def f():\n    pass\n\n\nf()\n", []),
        (PY, "class A:\n    def __len__(self):\n        return 0\n\n\nA()\n", []),
        ("tools/a.py", "def f():\n    pass\n", []),
    ],
    outside.machine_paths: [("docs/a.md", f"docs{FOLDER}b\nsee `{FOLDER}b`", [2])],
    modules.modules: [
        ("crates/a/tests/all/b.rs", "", [1]),
        ("crates/a/src/b/mod.rs", "mod c;", [1]),
        ("crates/a/src/b.rs", "", [1]),
        ("crates/a/src/lib.rs", "", []),
        ("crates/a/tests/b.rs", "", []),
        ("crates/a/examples/b/main.rs", "", []),
        ("crates/a/build.rs", "", []),
    ],
    required_files.executables: [("scripts/a", "#!/bin/sh", [1]), (A, "#![allow(a)]", [])],
    wording.wording: [
        ("docs/a.md", "Sent\nagain. `sent again`\n\n```\nsent again\n```\ntold", [1, 7]),
        ("docs/a.md", "Mannerheim. He sent. Again, it is told-like.", []),
        (A, '//! B.\nfn a() {\n  b("was sent \\\n  again")\n}\n', [3]),
        (A, '//! B.\nfn a() { b("sent", "again") }\n' + TEST % 'b("told")', []),
        (A, "//! It was sent\n//! again.\nfn a() { b() /* told */ } // Seen\n", [1, 3, 3]),
        (A, "//! `told` so\nfn a() {} // many\n" + TEST % "// told", []),
        (A, "/// ```\n/// told\n/// ```\n", []),
        (A, 'fn a() {\n b("{told} of {seen:?} was told") }\n', [2]),
        ("crates/host/tests/a.rs", 'b("told")', []),
        (PY, '# told\n"""Tell nobody."""\nb("was sent "\n  f"again")\n', [2, 3]),
        (PY, 'c("sent", "again")\n', []),
        ("scenarios/a.toml", '# Packets are sent\n# again, told.\na = "told"', [1, 2]),
        ("python/fairhaul/studies/papers/a.toml", 'note = "told"', [1]),
    ],
    links.links: [
        (
            "docs/a.md",
            "see [b](b.md) and\n![c](../c.png)\n\n| d |\n|---|\n| [d](d.md) |",
            [1, 2, 6],
        ),
        ("docs/a.md", "## A `b`, c_d\n[1](#a-b-c_d) [2](a.md#a-b) [3](../docs)", [2, 2]),
        ("docs/a.md", "# A\n# A\n[1](#a-1) [2](#a-2)\n\n```\n[3](b.md)\n```\n`[4](b.md)`", [3]),
        (
            "a.md",
            "[1](docs/sources.md#stcp) [2](https://a.b/c.md) <a@b.c> [3][3]\n\n[3]: b.md",
            [1],
        ),
        (PY, "[a](b.md)", []),
    ],
    lints.examples_in_comments: [
        (A, "/// ```\n/// a();\n/// ```\n//! ```text\n//! b\n//! ```\n    /// ```rust\n", [1, 7]),
    ],
    cited_tests.cited_tests: [
        ("docs/a.md", "a\nshown by tests `a_b` and `c`, tested by `d`", [2, 2]),
        ("docs/threat-model.md", "| a | shown by |\n|---|---|\n| b | yes |\n\n| c | d |", [3]),
    ],
}


def test_a_module_is_declared_in_the_file_above_it() -> None:
    files = {
        "crates/a/src/lib.rs": "mod b;\npub(crate) mod c;\n",
        "crates/a/src/b.rs": '#[path = "../e/f.rs"]\nmod f;\n    mod d;\n',
        "crates/a/src/b/d.rs": "",
        "crates/a/src/c/mod.rs": "",
        "crates/a/e/f.rs": "",
        "crates/a/examples/g.rs": "mod h;\n",
        "crates/a/examples/h/mod.rs": "",
    }
    assert list(modules.modules(Tree(files))) == []


def test_a_test_that_exists_may_be_cited() -> None:
    page = {"docs/a.md": "(tests `a_b`, `test_c`)"}
    code = {A: "    fn a_b() {\n", "tests/test_a.py": "def test_c(\n"}
    assert list(cited_tests.cited_tests(Tree({**page, **code}))) == []


@pytest.mark.parametrize(
    ("rule", "path", "text", "lines"),
    [(rule, *case) for rule, cases in CASES.items() for case in cases],
)
def test_a_violation_is_found_on_its_line(
    rule: Rule, path: str, text: str, lines: list[int]
) -> None:
    complaints = list(rule(Tree({path: text, "docs/sources.md": SOURCES})))
    assert len(complaints) == len(lines), complaints
    for line, complaint in zip(lines, complaints, strict=True):
        assert complaint.startswith(f"{path}:{line}: ")


def test_a_replacement_holds_no_banned_phrase() -> None:
    instead = wording.INSTEAD.values()
    assert not [text for text in instead if wording.BANNED.search(text.lower())]


def test_every_covered_path_exists(repository: Tree) -> None:
    for pattern in wording.COVERED:
        assert fnmatch.filter(repository, pattern), pattern


TABLE = "\n\n| crate | crates | libraries |\n|---|---|---|\n"
ARCHITECTURE = (
    f"### Allowed imports{TABLE}| `a` | - | `libm` |\n| `b` | `a` | - | why `c` |\n"
    f"\n### Allowed in tests only{TABLE}| `a` | - | - |\n"
    "| `b` | - | `insta` |\n"
)


def imported(architecture: str, b: str) -> list[str]:
    manifests = {"a": "[dependencies]\nlibm.workspace = true\n", "b": b}
    files = {f"crates/{name}/Cargo.toml": text for name, text in manifests.items()}
    return list(imports.imports(Tree({"ARCHITECTURE.md": architecture, **files})))


@pytest.mark.parametrize(
    ("b", "line"),
    [
        ('[dependencies]\na.workspace = true\n[dev-dependencies]\ninsta = "1"\n', None),
        ("[dependencies]\nfairhaul-c.workspace = true", 2),
        ('[dependencies]\nshort = { package = "fairhaul-c", path = "../c" }', 2),
        ('[dependencies.fairhaul-c]\npath = "../c"', 1),
        ("[target.'cfg(unix)'.dependencies]\nfairhaul-c = \"1\"", 2),
        ('[build-dependencies]\nfairhaul-c = "1"', 2),
        ('[dev-dependencies]\nfairhaul-c = "1"', 2),
        ('[dependencies]\ninsta = "1"', 2),
    ],
)
def test_only_what_the_tables_list_is_imported_however_it_is_written(
    b: str, line: int | None
) -> None:
    complaints = imported(ARCHITECTURE, b)
    assert len(complaints) == (line is not None)
    assert all(text.startswith(f"crates/b/Cargo.toml:{line}: `") for text in complaints)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("| `b` | `a` | - | why `c` |\n", "", "1: the crate `b` has no row"),
        ("| `b` |", "| `c` | - | - |\n| `b` |", "6: there is no crates/c"),
        ("### Allowed imports", "### Imports", "1: the crate `a` has no row"),
    ],
)
def test_a_crate_needs_a_row_and_a_row_a_crate(old: str, new: str, complaint: str) -> None:
    assert imported(ARCHITECTURE.replace(old, new), "")[0].startswith(
        f"ARCHITECTURE.md:{complaint}"
    )


A_TO_B = {"a": "use crate::b::{B, C};\n"}


@pytest.mark.parametrize(
    ("modules", "circle"),
    [
        ({**A_TO_B, "b": "use super::c::{D as E, self};\n", "c/mod": "use crate::a;\n"}, "abc"),
        # A re-exported name belongs to the module that it comes from.
        ({"a": "use crate::B;\n", "b": "use crate::a::A;\n", "lib": "pub use b::B;\n"}, "ab"),
        ({"a": "use super::B;\n", "lib": "mod a;\npub use a::A;\n"}, ""),
        ({**A_TO_B, "b": "#[cfg(test)]\nmod tests {\nuse crate::a::A;\n}\n"}, ""),
        ({**A_TO_B, "b": "/*\nuse crate::a::A;\n*/\n"}, ""),
        ({**A_TO_B, "b": 'const T: &str = "\nuse crate::a::A;\n";\n'}, ""),
        ({**A_TO_B, "b": "fn f() {\n    use crate::a::A;\n}\n"}, ""),
        ({**A_TO_B, "b": "use std::a::A;\n"}, ""),
    ],
)
def test_a_circle_is_named_module_by_module(modules: dict[str, str], circle: str) -> None:
    tree = Tree({f"crates/x/src/{name}.rs": text for name, text in modules.items()})
    complaints = list(circles.circles(tree))
    assert len(complaints) == bool(circle)
    for complaint in complaints:
        place, named = complaint.split(": modules import each other in a circle: ")
        modules_in_turn = named.split(": ")[0].split(" -> ")
        assert modules_in_turn[0] == modules_in_turn[-1]
        assert set(modules_in_turn) == set(circle)
        assert place.startswith("crates/x/src/")
        assert place.endswith(".rs:1")


CATALOGUE = "crates/cc/src/catalogue.rs"
COMPLETE = {
    CATALOGUE: 'impl Controller for Builtin {}\ncatalogue! {\n    Reno = "reno",\n}\n',
    "crates/cc/src/reno.rs": "impl Controller for Reno {}",
    "crates/cc/tests/snapshots/staircase__reno.snap": "",
    "docs/controllers/reno.md": "",
    "docs/controllers/index.md": "[reno](reno.md)",
    "scenarios/a.toml": 'controller = "reno"\nqueue = { kind = "droptail" }',
    "crates/path/src/queue/droptail.rs": 'const TITLE: &\'static str = "x";',
    "docs/queues/droptail.md": "",
    "docs/queues/index.md": "[droptail](droptail.md)",
    "docs/queues/counting.md": "# Counting\n\n## exact\n",
    "crates/path/src/count/exact.rs": 'const TITLE: &\'static str = "x";',
}


def incomplete(files: dict[str, str]) -> list[str]:
    return [*names.controllers(Tree(files)), *names.queues(Tree(files))]


def test_a_complete_name_passes() -> None:
    assert incomplete(COMPLETE) == []


@pytest.mark.parametrize("missing", COMPLETE)
def test_each_file_that_lacks_the_name_is_found(missing: str) -> None:
    assert incomplete({path: text for path, text in COMPLETE.items() if path != missing})


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"scenarios/a.toml": '# "reno"\nqueue = "droptail"'}, f"{CATALOGUE}:3: "),
        ({"crates/cc/src/vegas.rs": "impl Controller for Vegas {}"}, "crates/cc/src/vegas.rs:1: "),
        ({"docs/controllers/vegas.md": ""}, "docs/controllers/vegas.md:1: "),
        ({"docs/queues/red.md": ""}, "docs/queues/red.md:1: "),
    ],
)
def test_what_has_a_name_alone_is_found(change: dict[str, str], complaint: str) -> None:
    [found] = incomplete(COMPLETE | change)
    assert found.startswith(complaint)


def test_a_longer_name_is_another_one() -> None:
    files = {path.replace("__reno", "__newreno"): text for path, text in COMPLETE.items()}
    [found] = incomplete(files)
    assert "has no staircase" in found


def test_a_choice_may_span_lines_and_an_outdated_page_is_reported() -> None:
    code = (
        "fn f() {\n    // Unclear in [RFC 1, 2]: whether\n    // or not.\n    x(); // y\n}\nz();\n"
    )
    page = choices.page(Tree({A: code}))
    assert f"\n## RFC 1\n\n- Unclear (2): whether or not. y ([{A}](../{A}))\n" in page
    assert next(choices.choices(Tree({A: code}))).startswith("docs/choices.md:1: ")
    assert list(choices.choices(Tree({A: code, "docs/choices.md": page}))) == []


DOCUMENT = """
key = "RFC 1"
prefix = "rfc1"
about = "A."
counted = "B."
[[section]]
number = "2"
about = "a thing"
must = 2
should = 1
[[section.requirement]]
id = "rfc1-2-a"
level = "MUST NOT"
words = 2
says = "It stops."
verdict = "followed"
[[section.requirement]]
id = "rfc1-2-b"
level = "SHOULD"
says = "It waits."
verdict = "differs"
why = "It is fast."
"""
SHOWN = "#[cfg(test)]\nmod tests {\n    // Requirement: %s\n    #[test]\n    fn it_stops() {}\n}\n"


def required(document: str, code: str, path: str = A) -> list[str]:
    files = {"tests/requirements/rfc1.toml": document, path: code}
    page = {requirements.PAGE: requirements.page(Tree(files))}
    return list(requirements.requirements(Tree(files | page)))


def test_a_requirement_that_a_test_shows_is_on_the_page() -> None:
    files = {"tests/requirements/rfc1.toml": DOCUMENT, A: SHOWN % "rfc1-2-a"}
    page = requirements.page(Tree(files))
    assert "| [RFC 1](#rfc-1) | 2 | 1 | 0 | 2 | 1 | 1 | 0 |\n" in page
    row = f"| It stops. | **followed.** [`it_stops`](../{A}). |"
    assert f"| `rfc1-2-a` | MUST NOT (2 words) {row}\n" in page
    assert required(DOCUMENT, SHOWN % "rfc1-2-a") == []
    assert next(requirements.requirements(Tree(files))).startswith("docs/requirements.md:1: ")


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("must = 2", "must = 3", "section 2: 3 MUST in the text, 2 in the statements"),
        ("should = 1", "should = 0", "section 2: 0 SHOULD in the text, 1 in the statements"),
        ("MUST NOT", "MAY", "rfc1-2-a: the level MAY is not one"),
        ("followed", "kept", "rfc1-2-a: the verdict has to be one"),
        ("rfc1-2-b", "rfc1-3-b", "rfc1-3-b: its name has to begin with rfc1-2-"),
        ("rfc1-2-b", "rfc1-2-a", "rfc1-2-a: another requirement"),
        ('why = "It is fast."', "", "rfc1-2-b: write the reason"),
        ('verdict = "differs"', 'verdict = "followed"', "rfc1-2-b: no test shows it"),
        ("should = 1", 'should = 1\noutside = "x"', "section 2: it is outside"),
    ],
)
def test_a_statement_that_does_not_fit_is_reported(old: str, new: str, complaint: str) -> None:
    found = required(DOCUMENT.replace(old, new, 1), SHOWN % "rfc1-2-a")
    assert any(text.startswith(f"tests/requirements/rfc1.toml: {complaint}") for text in found)


PYTHON = "# Requirement: rfc1-2-a\n@mark(\n    1,\n)\ndef test_a() -> None:\n    pass\n"


@pytest.mark.parametrize(
    ("path", "code", "complaints"),
    [
        (A, SHOWN % "rfc1-2-a, rfc1-2-b", 0),
        (A, SHOWN % "rfc1-2-a, rfc1-9-z", 1),
        (A, (SHOWN % "rfc1-2-a").replace("    #[test]\n", ""), 2),
        (A, (SHOWN % "rfc1-2-a").replace("#[test]\n", "#[test]\n    // why\n"), 0),
        (A, (SHOWN % "rfc1-2-a").replace("    #[test]\n", "\n    #[test]\n"), 2),
        ("tests/test_a.py", PYTHON, 0),
        ("tests/test_a.py", PYTHON.replace("test_a", "helper"), 2),
        ("python/fairhaul/a.py", PYTHON, 1),
    ],
)
def test_a_tag_stands_on_a_test_and_names_a_requirement(
    path: str, code: str, complaints: int
) -> None:
    assert len(required(DOCUMENT, code, path)) == complaints


def test_what_is_not_applicable_has_no_test() -> None:
    document = DOCUMENT.replace('"differs"', '"not applicable"')
    [complaint] = required(document, SHOWN % "rfc1-2-a, rfc1-2-b")
    assert complaint == f"{A}:3: rfc1-2-b is not applicable, so no test shows it"


def test_an_empty_project_lacks_everything() -> None:
    found = list(required_files.required_files(Tree({})))
    assert len(found) == len(required_files.TARGETS) + 1 + len(required_files.FILES.split())
    assert len(list(lints.functions_of_f64(Tree({})))) == len(lints.FUNCTIONS.split())
    found = list(lints.workspace_lints(Tree({"crates/a/Cargo.toml": ""})))
    assert len(found) == len(lints.DENIED.split()) + 1


@pytest.mark.parametrize(
    ("mark", "ci", "complaints"), [("##", "test", 0), ("#", "test", 8), ("##", "check", 1)]
)
def test_a_target_needs_help_and_the_ci_tests(mark: str, ci: str, complaints: int) -> None:
    targets = "".join(f"{target}: {mark} does it\n" for target in required_files.TARGETS)
    files = dict.fromkeys(required_files.FILES.split(), "")
    files |= {"Makefile": f".DEFAULT_GOAL := help\n{targets}", ".ci/run": f"make {ci}"}
    assert len(list(required_files.required_files(Tree(files)))) == complaints


def test_quoted_text_and_comments_are_not_code() -> None:
    text = r"""let a = "// {"; // one {
let b = r#"} " }"#; /* two /* three */ } */ let c = '{'; let d = '\''; fn e<'a>(f: &'a u8) {}"""
    code, comments = layer(A, text, "code"), layer(A, text, "comment")
    assert len(code) == len(comments) == len(text)
    expected = "let a = ; let b = ; let c = ; let d = ; fn e<'a>(f: &'a u8) {}"
    assert code.split() == expected.split()
    assert comments.split() == ["//", "one", "{", "/*", "two", "/*", "three", "*/", "}", "*/"]


def test_an_item_ends_with_its_braces_or_its_semicolon() -> None:
    code = "a\n#[cfg(test)]\nmod tests;\nb\n#[cfg(test)]\nmod more { fn f([u8; 2]) {} }\nc"
    assert untested(A, code).split() == ["a", "b", "c"]


def test_what_was_built_is_not_read(tmp_path: Path) -> None:
    for path in ("src/a.rs", ".ci/run", "target/b", ".git/c", ".hidden", "venv/pyvenv.cfg"):
        file = tmp_path / path
        file.parent.mkdir(exist_ok=True)
        file.write_text("")
    (tmp_path / ".ci" / "run").chmod(0o755)
    (tmp_path / "image.png").write_bytes(b"\xff")
    tree = read(tmp_path)
    assert list(tree) == [".ci/run", "src/a.rs"]
    assert tree.executable == {".ci/run"}
