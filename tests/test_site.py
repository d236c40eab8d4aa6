"""The site, the man pages and the completion in shells: each is made from what the program has."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import fairhaul
from fairhaul import __all__ as exported
from fairhaul.cli import fairhaul as program
from fairhaul.cli import status_of
from fairhaul.studio.lessons import lessons
from tests.conftest import Fairhaul
from tests.studio.axe import violations
from tests.studio.browser import CHROMIUM, Page
from tools import ROOT
from tools.site.build import build
from tools.site.manual import write
from tools.site.notebooks import as_markdown
from tools.site.terms import listed


def commands(context: click.Context) -> Iterator[click.Context]:
    """The context of a command, and of every command below it."""
    yield context
    if isinstance(context.command, click.Group):
        for name, command in context.command.commands.items():
            yield from commands(click.Context(command, info_name=name, parent=context))


SIDES = ("scroll", "client")
EACH = list(commands(click.Context(program, info_name="fairhaul")))


def long_options(command: click.Command) -> list[str]:
    return [name for one in command.params for name in one.opts if name.startswith("--")]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    assert build(ROOT, out) == 0, "the warnings of Sphinx are on standard error"
    return out


def test_the_site_has_every_page_and_opens_at_the_first(site: Path) -> None:
    start = (site / "index.html").read_text()
    first = re.search(r'href="([^"]+)"', start)
    assert first is not None
    assert (site / first[1]).is_file()
    sources = [
        ROOT / "README.md",
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "docs").rglob("*.ipynb"),
    ]
    for source in sources:
        assert (site / source.relative_to(ROOT).with_suffix(".html")).is_file(), source


def test_the_site_describes_each_command_and_each_export(site: Path) -> None:
    reference = (site / "docs/commands.html").read_text()
    for context in EACH:
        assert f'id="{context.command_path.replace(" ", "-")}"' in reference
        for option in long_options(context.command):
            assert f"{option}<" in reference or f"{option} " in reference, option
    reference = (site / "docs/python.html").read_text()
    for name in exported:
        module = getattr(getattr(fairhaul, name), "__name__", "")
        ids = {f'id="fairhaul.{name}"', f'id="module-{module}"'}
        assert name.startswith("_") or any(id_ in reference for id_ in ids), name


def test_a_link_has_the_title_of_its_page_and_no_name_of_a_file(site: Path) -> None:
    page = (site / "docs/transfers.html").read_text()
    assert "compare.md" in (ROOT / "docs/transfers.md").read_text()
    assert not re.search(r"<a [^>]*>(<[^>]*>)*[\w.-]+\.md(</[^>]*>)*</a>", page)
    title = (ROOT / "docs/compare.md").read_text().partition("\n")[0].removeprefix("# ")
    assert re.search(rf'href="compare.html[^>]*>(<[^>]*>)*{re.escape(title)}', page)


@pytest.mark.parametrize("width", [1400, 1024, 400])
def test_no_page_is_wider_than_the_window(site: Path, width: int) -> None:
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    page = Page(width)
    for name in ("docs/index", "README", "docs/transfers", "docs/scenario"):
        page.call("Page.navigate", url=(site / f"{name}.html").as_uri())
        page.until(
            f"location.pathname.endsWith('{name}.html') && document.readyState === 'complete'"
        )
        wide, room = (page.evaluate(f"document.documentElement.{w}Width") for w in SIDES)
        assert wide <= room, name
    page.close()


def test_a_citation_leads_to_the_list_of_sources(site: Path) -> None:
    page = (site / "docs/attack.html").read_text()
    link = r'<a class="reference internal" href="sources.html"[^>]*title="CC-Fuzz: Genetic[^"]*"'
    assert re.search(link, page), "[CC-FUZZ] on the page"


# What a reader looks for, and the page that defines it.
DEFINED = {
    **{"FHSTCP": "docs/controllers/fhstcp", "bbr": "docs/controllers/bbr"},
    **{"droptail": "docs/queues/droptail", "CoDel": "docs/queues/codel"},
    **{"RACK": "docs/profile", "tail loss probe": "docs/profile"},
    **{"warmup": "docs/scenario", "ce_threshold": "docs/scenario", "policer": "docs/scenario"},
    **{"pacing": "docs/scenario", "slow start": "docs/scenario"},
    **{"jain": "docs/figures", "Jain's index": "docs/figures", "goodput": "docs/figures"},
    **{"sweep": "docs/sweeps", "lab": "docs/lab", "compare": "docs/compare"},
    **{"confidence interval": "docs/statistics", "l4s": "docs/l4s", "install": "docs/install"},
}


def test_the_search_from_disk_shows_the_page_that_defines_a_term_first(site: Path) -> None:
    page = opened(site / "search.html", 1400)
    page.until("typeof Search !== 'undefined' && Search.hasIndex()")
    first = {
        words: page.evaluate(
            f"Search._performSearch(...Search._parseQuery({json.dumps(words)})).at(-1).slice(0, 2)"
        )
        for words in DEFINED
    }
    page.close()
    assert {words: found for words, (found, _) in first.items()} == DEFINED
    for name, title in first.values():
        source = (ROOT / name).with_suffix(".md").read_text(encoding="utf-8").partition("\n")[0]
        assert title == source.removeprefix("# ").replace("`", ""), "a result is called as its page"


def test_the_parts_that_define_terms_exist(site: Path) -> None:
    for term, place in listed().items():
        name, _, part = place.partition("#")
        page = (site / f"{name}.html").read_text(encoding="utf-8")
        assert not part or f'id="{part}"' in page, f"{term}: {place}"


def test_a_result_of_the_search_is_a_link_with_the_title_of_its_page(site: Path) -> None:
    page = opened(site / "search.html", 400, "?q=RACK")
    page.until("document.querySelector('.search li a') !== null")
    first = "document.querySelector('.search li a')"
    assert page.evaluate(f"{first}.textContent") == "Senders and receivers: profile"
    assert "docs/profile.html" in page.evaluate(f"{first}.href")
    page.close()


@pytest.mark.parametrize(("width", "dark"), [(1400, False), (400, True)])
def test_the_home_page_has_the_first_lesson_beside_the_sentence(
    site: Path, width: int, dark: bool
) -> None:
    page = opened(site / "docs/index.html", width, dark=dark)
    sentence, frame = (
        page.evaluate(f"(it => [it.left, it.top, it.right])({part}.getBoundingClientRect())")
        for part in ("document.querySelector('.front p')", "document.querySelector('iframe')")
    )
    assert frame[0] > sentence[2] if width == 1400 else frame[1] > sentence[1]
    assert page.evaluate("document.querySelector('iframe').loading") == "lazy"
    # The lesson runs, from the disk, in a page that is no wider than the frame.
    assert (
        site
        / "docs"
        / page.evaluate("document.querySelector('iframe').getAttribute('src')").partition("?")[0]
    ).is_file()
    assert page.evaluate("document.querySelector('iframe').title") == lessons()[0].title
    assert violations(page) == []
    page.close()


def test_the_home_page_is_read_without_javascript(site: Path) -> None:
    text = (site / "docs/index.html").read_text(encoding="utf-8")
    body = text.partition('<article role="main"')[2].partition("</article>")[0]
    first = (ROOT / "docs/index.md").read_text(encoding="utf-8").split("\n\n")[1]
    assert first.partition(".")[0] in body
    assert "<script" not in body
    assert re.search(r"<iframe loading='lazy'[^>]*src='\.\./studio\.html\?embed#lesson=", body)


def test_pages_of_the_site_keep_the_rules_of_wcag(site: Path) -> None:
    for name, width in (("docs/first-scenario", 400), ("search", 1400)):
        page = opened(site / f"{name}.html", width)
        assert violations(page) == [], name
        page.close()


def opened(file: Path, width: int, query: str = "", dark: bool = False) -> Page:
    """A page of the site in a browser."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    page = Page(width, dark)
    page.call("Page.navigate", url=file.as_uri() + query)
    page.until("location.protocol === 'file:' && document.readyState === 'complete'")
    return page


def test_a_broken_link_stops_the_site(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pages = tmp_path / "docs"
    pages.mkdir()
    (pages / "index.md").write_text("# Pages\n\nSee [the other](other.md).\n")
    assert build(tmp_path, tmp_path / "out") != 0
    assert "index.md:3: WARNING: 'myst' cross-reference target not found" in capsys.readouterr().err


def test_a_notebook_is_its_text_and_its_code() -> None:
    cells = '{"cells": [{"cell_type": "markdown", "source": ["# A\\n", "b"]}, %s]}'
    code = '{"cell_type": "code", "source": "c()", "outputs": [{"text": "d"}]}'
    assert as_markdown(cells % code) == "# A\nb\n\n```python\nc()\n```\n"


def test_each_command_has_a_man_page_with_its_options(tmp_path: Path) -> None:
    files = {file.stem: file.read_text() for file in write(tmp_path)}
    assert files.keys() == {context.command_path.replace(" ", "-") for context in EACH}
    for context in EACH:
        page = files[context.command_path.replace(" ", "-")].replace("\\-", "-")
        sentence = " ".join((context.command.help or "").partition("\n\n")[0].split())
        name = page.partition(".SH NAME\n")[2].partition("\n")[0]
        assert name.endswith(f" - {sentence}"), "whole sentences, not the first words"
        for option in long_options(context.command):
            assert option in page, f"{context.command_path}: {option}"
    assert sorted(tmp_path.glob("man1/.*")) == [], "no drafts are left"


def test_the_page_of_commands_lists_each() -> None:
    page = (ROOT / "docs/commands.md").read_text().partition("\n## ")[0]
    assert re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE) == list(program.commands)


def test_bash_completes_by_the_script_that_is_printed(fairhaul: Fairhaul, tmp_path: Path) -> None:
    script = fairhaul("completion", "bash")
    assert script.returncode == 0, script.stderr
    # The script calls the program by its name.
    (tmp_path / "fairhaul").write_text(f'#!/bin/sh\nexec {sys.executable} -m fairhaul "$@"\n')
    (tmp_path / "fairhaul").chmod(0o755)
    lines = "COMP_WORDS=(fairhaul rep)\nCOMP_CWORD=1\n_fairhaul_completion fairhaul\n"
    done = subprocess.run(
        ["bash", "--norc", "-c", f'{script.stdout}\n{lines}echo "${{COMPREPLY[*]}}"'],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["report", "reproduce"], done.stderr


@pytest.mark.parametrize(("shell", "word"), [("zsh", "compdef"), ("fish", "complete --no-files")])
def test_zsh_and_fish_have_scripts_that_the_program_answers(
    shell: str, word: str, fairhaul: Fairhaul
) -> None:
    script = fairhaul("completion", shell).stdout
    assert word in script
    asked = {"COMP_WORDS": "fairhaul run --se", "COMP_CWORD": "--se" if shell == "fish" else "2"}
    assert f"_FAIRHAUL_COMPLETE={shell}_complete" in script
    done = subprocess.run(
        [sys.executable, "-m", "fairhaul"],
        env={**os.environ, "_FAIRHAUL_COMPLETE": f"{shell}_complete", **asked},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "--seeds" in done.stdout
    assert "--jobs" not in done.stdout


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("compare cubic hig", {"plain,highspeed"}),
        ("list queues xc", {"plain,xcp", "plain,xcp_tcp"}),
        ("list papers fh", {"plain,fhstcp"}),
        ("list nonsense x", set()),
        ("reproduce a", {"plain,all"}),
        ("reproduce ./a", {"file,./a"}),
        ("run a/b", {"file,a/b"}),
    ],
)
def test_an_argument_is_completed_by_what_it_may_name(
    line: str, words: set[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = {"COMP_WORDS": f"fairhaul {line}", "COMP_CWORD": str(len(line.split()))}
    for name, value in {"_FAIRHAUL_COMPLETE": "bash_complete", **asked}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as ended:
        status_of([])
    assert ended.value.code == 0
    assert set(capsys.readouterr().out.split()) == words


def test_another_shell_is_refused(fairhaul: Fairhaul) -> None:
    refused = fairhaul("completion", "tcsh")
    assert refused.returncode == 2
    assert "'bash', 'zsh', 'fish'" in refused.stderr


def test_the_site_runs_each_lesson_of_the_studio(site: Path) -> None:
    text = (site / "docs" / "studio.html").read_text()
    frame = r"<iframe loading='lazy' title='([^']+)' src='\.\./studio\.html\?embed#lesson=([^']+)'"
    frames = [(html.unescape(title), name) for title, name in re.findall(frame, text)]
    assert frames == [(of.title, of.name) for of in lessons()]
    assert (site / "studio.html").is_file()
