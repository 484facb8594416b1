"""The commands for knowledge, export and import, as somebody types them, against a daemon."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from cortex_actors.cli import command_line
from cortex_actors.cli.declare import find_moved
from cortex_actors.errors import BadInput, CortexError, NotFound

if TYPE_CHECKING:
    from pathlib import Path

    from tests.process.commands import Commands

LONG = "A paragraph that says enough to stand alone, because it has more than eighty characters."


def said(commands: Commands, *words: str) -> str:
    """Return what a command prints; raises the error that it ends with."""
    words = (*find_moved(words)[2], "--home", str(commands.home))
    done = CliRunner().invoke(command_line.load_front(), [*words])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.stdout


class TestKnowledge:
    def test_life(self, commands: Commands, tmp_path: Path) -> None:
        """Documents are read, searched, listed, taken out and brought back."""
        (tmp_path / "ports").mkdir()
        (tmp_path / "ports" / "tests.md").write_text(f"# Tests\n\n## Ports\n\n{LONG} 5433.")

        assert f"added 1 in {tmp_path}\n" == said(commands, "knowledge", "ingest", str(tmp_path))
        assert "Ports" in said(commands, "knowledge", "search", "5433", "--topic", "ports")
        assert "│ ports" in said(commands, "knowledge", "topics")
        assert "took out 1 document\n" in said(commands, "knowledge", "remove", "--topic", "ports")
        assert "0 found" in said(commands, "knowledge", "search", "5433", "--topic", "ports")
        assert "brought back 1" in said(commands, "knowledge", "restore", "--topic", "ports")
        with pytest.raises(NotFound):
            said(commands, "knowledge", "remove", "--source", "nothing")


class TestCarried:
    def test_there_and_back(self, commands: Commands, tmp_path: Path) -> None:
        """What is exported comes in again, and adds nothing where it is."""
        said(commands, "remember", "The harbour is in Genoa.", "--agent", "azoth")
        path = str(tmp_path / "x.json")
        assert "exported" in said(commands, "export", "-o", path)
        assert "added 0 of" in said(commands, "import", path)
        found = json.loads(said(commands, "export"))

        assert "1.0" == found["format_version"]
        assert "The harbour is in Genoa." in {
            each["content"] for each in found["collections"]["cortex_private"]
        }

    def test_wrong(self, commands: Commands, tmp_path: Path) -> None:
        """One wrong record is named with its place, and nothing of its file is taken in."""
        path = tmp_path / "x.json"
        record = {"content": "Nobody said this.", "agent_id": "A", "created_at": "2026-01-01"}
        wrong = {**record, "visibility": "secret"}
        records = {"cortex_private": [record, wrong]}
        path.write_text(json.dumps({"format_version": "1.0", "collections": records}))

        with pytest.raises(BadInput, match=r"cortex_private\[1\]: there is no visibility"):
            said(commands, "import", str(path))
        assert "Nobody said this." not in said(commands, "export")

    @pytest.mark.parametrize("text", ["", "hello", "{}", '{"format_version": "2"}', "\udcff"])
    def test_no_such_file(self, commands: Commands, tmp_path: Path, text: str) -> None:
        """What is no export is refused as what it is."""
        path = tmp_path / "x.json"
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        with pytest.raises(CortexError, match="cannot import"):
            said(commands, "import", str(path))
