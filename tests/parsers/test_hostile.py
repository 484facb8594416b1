"""Hostile files: what was made to cost a parser its time costs what its length says."""

from __future__ import annotations

import time

import pytest

from cortex_actors.text.sections import split_fragments
from cortex_actors.text.statements import find_statements
from tests.formatters.hostile import SLOW, attacks, breakers

#: A quarter of the hostile texts, each in a section of its own.
TOGETHER = "".join(
    f"## {each.word}\n\n- {each.text}\n\n" for each in [*attacks(), *breakers()][::4]
).encode("utf-8", "surrogatepass")


def took(data: bytes) -> float:
    """Return the seconds of this process that reading a file takes, statements included."""
    began = time.process_time()
    for fragment in split_fragments(data, path="CLAUDE.md", project="p"):
        find_statements(fragment)
    return time.process_time() - began


def repeated(piece: bytes, size: int) -> bytes:
    """Return a piece as often as it fits into so many bytes."""
    return piece * (size // len(piece) + 1)


class TestCost:
    @pytest.mark.parametrize(
        "piece",
        [*(each[:200].encode() for each in SLOW), *(f"{each[:200]}\n".encode() for each in SLOW)],
    )
    def test_linear(self, piece: bytes) -> None:
        """Of one line or of many, four times the file takes about four times the time."""
        few = min(took(repeated(piece, 2_048)) for _ in range(3))
        assert min(took(repeated(piece, 8_192)) for _ in range(2)) < 10 * few + 0.02

    def test_together(self) -> None:
        """A file of hostile texts costs four times as much when it stands there four times."""
        few = min(took(TOGETHER) for _ in range(2))
        assert took(TOGETHER * 4) < 10 * few + 0.05
