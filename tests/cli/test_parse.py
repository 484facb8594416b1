"""`cortex debug parse`: what it prints of a file, and that it keeps nothing of it."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.cli import entry

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """---
globs: "*.ts"
---
# Web

@AGENTS.md

## Style

- Use tabs
- Never use `any`

<!-- nx configuration start -->
- Run nx
<!-- nx configuration end -->
"""


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """Give a rule file of Cursor's."""
    file = tmp_path / ".cursor" / "rules" / "web.mdc"
    file.parent.mkdir(parents=True)
    file.write_text(TEXT, "utf-8")
    return file


def parsed(capsys: pytest.CaptureFixture[str], file: Path) -> dict[str, Any]:
    """Return what the command prints for a program."""
    assert 0 == entry.main(["parse", str(file), "--json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


class TestPrinted:
    def test_for_a_person(self, rules: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A person sees each section and its statements with their lines."""
        assert 0 == entry.main(["parse", str(rules)])
        lines = capsys.readouterr().out.splitlines()

        assert f"{rules}: {len(TEXT)} bytes, fragments: 2, statements: 2" == lines[0]
        assert "  10       rule     Use tabs" in lines
        assert "          imports: AGENTS.md" in lines
        assert any("(written by another tool)" in line for line in lines)

    def test_for_a_program(self, rules: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A program gets every section with its role, ranges, globs and statements."""
        found = parsed(capsys, rules)
        parts = found["sections"]

        assert ("cursor", len(TEXT)) == (found["dialect"], found["bytes"])
        assert ["front_matter", "text", "text", "managed"] == [part["role"] for part in parts]
        assert ["Web"] == parts[2]["above"]
        assert ["*.ts"] == parts[2]["applies_to"]
        first = parts[2]["statements"][0]
        assert ("rule", "Use tabs", ["Web", "Style"]) == (
            first["kind"],
            first["text"],
            first["headings"],
        )
        assert "- Use tabs\n" == TEXT[first["byte_start"] : first["byte_end"]]

    def test_every_byte(self, rules: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """The sections that are printed cover the file."""
        parts = parsed(capsys, rules)["sections"]

        assert [0, *(part["byte_end"] for part in parts[:-1])] == [p["byte_start"] for p in parts]
        assert len(TEXT) == parts[-1]["byte_end"]

    def test_other_name(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A file of another name is read as Markdown, and the command says so."""
        file = tmp_path / "notes.md"
        file.write_bytes(b"Use t\xc3\xa4bs.\x1b[2J\n")
        assert 0 == entry.main(["parse", str(file)])
        out = capsys.readouterr().out

        assert "not that of an instruction file" in out
        assert "\x1b" not in out

    def test_nothing_kept(
        self, rules: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """No home is made, none is looked for, and the file is left as it was."""
        monkeypatch.setenv("CORTEX_HOME", str(tmp_path / "home"))
        before = rules.stat().st_mtime_ns
        assert 0 == entry.main(["parse", str(rules)])

        assert not (tmp_path / "home").exists()
        assert before == rules.stat().st_mtime_ns


class TestRefused:
    def test_another_encoding(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A file that is no UTF-8 is refused with the line, as the daemon does."""
        file = tmp_path / "CLAUDE.md"
        file.write_bytes(b"Use t\xe4bs.\n")

        assert 65 == entry.main(["parse", str(file)])
        assert "line 1 is not UTF-8" in capsys.readouterr().err

    def test_missing(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A file that is not there is an unknown path."""
        assert 66 == entry.main(["parse", str(tmp_path / "CLAUDE.md")])
        assert "there is no such file" in capsys.readouterr().err

    @pytest.mark.parametrize(("data", "reason"), [(b"a\0", "NUL"), (b" " * 1_048_577, "1,048,576")])
    def test_no_text(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], data: bytes, reason: str
    ) -> None:
        """What is no text, or too much of it, is refused by its name."""
        file = tmp_path / "CLAUDE.md"
        file.write_bytes(data)

        assert 65 == entry.main(["parse", str(file)])
        assert reason in capsys.readouterr().err

    def test_no_file(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A folder and a pipe are no instruction files, and nobody waits for the pipe."""
        pipe = tmp_path / "CLAUDE.md"
        os.mkfifo(pipe)

        assert [65, 65] == [entry.main(["parse", str(each)]) for each in (tmp_path, pipe)]
        assert 2 == capsys.readouterr().err.count("no regular file")
