"""The pages of docs/ that are made from the code."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cortex_actors.cli.command_line import TABLE
from cortex_actors.text.sections import DIALECTS

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parent.parent

#: Pages of docs/ at most: a new subject joins the page of the question that it answers.
MOST = 25

#: Every page that people read.
READ = sorted(str(p.relative_to(ROOT)) for p in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def _generator() -> ModuleType:
    """Return docs/generate.py, which is a script and no package."""
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class TestGenerated:
    @pytest.mark.parametrize(
        "page",
        [
            *("agents.md", "configuration.md", "python.md", "supervision.md", "topics.md"),
            str(TABLE),
            *("../cortex_actors/api/operations.json", "../cortex_actors/client/cortex.pyi"),
        ],
    )
    def test_is_current(self, page: str) -> None:
        """A page that is made from the code says what the code says; `make docs` writes it."""
        made: str = _generator().PAGES[page]()

        assert made == (ROOT / "docs" / page).read_text(encoding="utf-8")


class TestCommandLine:
    def test_names_instruction_files(self) -> None:
        """docs/cli.md lists every file that is read, because an error sends people there."""
        page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")

        assert [] == [each.where for each in DIALECTS if f"`{each.where}`" not in page]


class TestLinks:
    @pytest.mark.parametrize("page", READ)
    def test_lead_somewhere(self, page: str) -> None:
        """A link from one page to a file of this repository finds it."""
        text = (ROOT / page).read_text(encoding="utf-8")
        targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", text)

        assert [] == [each for each in targets if not ((ROOT / page).parent / each).exists()]

    @pytest.mark.parametrize("page", READ)
    def test_find_their_heading(self, page: str) -> None:
        """A link to a part of a page finds the heading that it names."""
        text = (ROOT / page).read_text(encoding="utf-8")
        targets = re.findall(r"\]\((?!https?:)([^)#]*)#([^)]+)\)", text)
        wrong = [
            (name, part)
            for name, part in targets
            if part not in _headings(((ROOT / page).parent / name) if name else ROOT / page)
        ]

        assert [] == wrong

    def test_headings_of_a_page(self, tmp_path: Path) -> None:
        """A heading is found as GitHub names it, a second one with a number, none in a fence."""
        page = tmp_path / "a.md"
        page.write_text("# `cortex a`: b\n## Who may\n```\n# no\n```\n## Who may\n", "utf-8")

        assert ["cortex-a-b", "who-may", "who-may-1"] == _headings(page)


class TestNumber:
    def test_is_bounded(self) -> None:
        """A reader chooses among at most 25 pages, and the first of them names each."""
        pages = {path.name for path in (ROOT / "docs").glob("*.md")}
        first = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")

        assert len(pages) <= MOST
        assert {"README.md"} == {name for name in pages if f"({name})" not in first}


def _headings(page: Path) -> list[str]:
    """Return the names by which links find the headings of a page, as GitHub makes them."""
    outside = re.sub(
        r"^ *(```|~~~).*?^ *\1", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    found: list[str] = []
    seen: dict[str, int] = {}
    for title in re.findall(r"^#+ (.+)$", outside, re.MULTILINE):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title).lower()
        name = re.sub(r"[^\w\- ]", "", words).strip().replace(" ", "-")
        found.append(f"{name}-{seen[name]}" if name in seen else name)
        seen[name] = seen.get(name, 0) + 1
    return found
