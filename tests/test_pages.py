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
            *("actors.md", "agents.md", "configuration.md", "python.md", "topics.md"),
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
    @pytest.mark.parametrize(
        "page",
        sorted(str(p.relative_to(ROOT)) for p in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]),
    )
    def test_lead_somewhere(self, page: str) -> None:
        """A link from one page to a file of this repository finds it."""
        text = (ROOT / page).read_text(encoding="utf-8")
        targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", text)

        assert [] == [each for each in targets if not ((ROOT / page).parent / each).exists()]
