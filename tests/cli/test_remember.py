"""`cortex remember`: what the daemon is asked, and what a person is told."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.cli import entry
from tests.cli.answering import answering

if TYPE_CHECKING:
    from collections.abc import Callable

FOUND: dict[str, Any] = {
    "id": "mem_9",
    "state": "merged",
    "merged": ["mem_1"],
    "pending": True,
    "conflicts": [{"id": "mem_2", "reason": "3 against 2"}],
    "layer": "sensory",
    "realm": "private",
    "agent": "CLAUDE",
    "project": "atlas",
    "superseded": ["mem_3"],
    "message": "Saved as #mem_9.",
}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    """Give what the daemon is asked."""
    return answering(monkeypatch, {"remember": FOUND})


@pytest.fixture
def piped(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    """Pipe bytes in."""

    def pipe(data: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return pipe


class TestRemember:
    def test_told(self, asked: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
        """A person is told the id, what became one with it, what waits, goes, contradicts."""
        assert 0 == entry.main(["remember", "a b", "--tag", "x", "--layer", "working"])

        said = capsys.readouterr().out
        for each in (
            "Saved as #mem_9.",
            "#mem_1",
            "replaced #mem_3",
            "memory split mem_9",
            "not compared",
            "3 against",
        ):
            assert each in said
        ((method, params),) = asked
        assert ("remember", "a b", ["x"], "working") == (
            method,
            params["content"],
            params["tags"],
            params["layer"],
        )

    def test_json(self, asked: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
        """A program is told what the daemon said."""
        assert 0 == entry.main(["remember", "a b", "--json"])

        assert json.loads(capsys.readouterr().out) == FOUND
        assert 1 == len(asked)

    def test_projects(self, asked: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
        """A person is told to which project it belongs; with --global it is to be of none."""
        assert 0 == entry.main(["remember", "a b", "--global"])

        assert "belongs to the project atlas" in capsys.readouterr().out
        assert ("", str(Path.cwd())) == (asked[0][1]["project"], asked[0][1]["here"])

    def test_stdin(self, asked: list[Any], piped: Callable[[bytes], None]) -> None:
        """A dash reads what is piped in."""
        piped("zwölf\nSätze".encode())

        assert 0 == entry.main(["remember", "-"])
        assert "zwölf\nSätze" == asked[0][1]["content"]

    @pytest.mark.parametrize("text", ["x" * 70_000, "x" * 65_536 + "é and more", " " * 65_538])
    def test_much(
        self,
        asked: list[Any],
        piped: Callable[[bytes], None],
        capsys: pytest.CaptureFixture[str],
        text: str,
    ) -> None:
        """More than is kept is refused without a size that nobody knows, and no part of it sent."""
        piped(text.encode())

        assert 65 == entry.main(["remember", "-"])
        assert "has more than 65,536 bytes" in capsys.readouterr().err
        assert [] == asked

    def test_most(self, asked: list[Any], piped: Callable[[bytes], None]) -> None:
        """As much as is kept may be piped in, with the end of its last line."""
        piped(b"x" * 65_536 + b"\n")

        assert 0 == entry.main(["remember", "-"])
        assert "x" * 65_536 + "\n" == asked[0][1]["content"]

    def test_bytes(
        self,
        asked: list[Any],
        piped: Callable[[bytes], None],
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """Bytes that are no text are refused, and never sent."""
        piped(b"a\xff")

        assert 65 == entry.main(["remember", "-"])
        assert "byte 2" in capsys.readouterr().err
        assert [] == asked
