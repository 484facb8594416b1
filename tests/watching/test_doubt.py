"""Doubt: the bytes have the last word on what looks as it did."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cortex_actors.domain.project import hash_file
from cortex_actors.watching.sweep import sweep
from cortex_actors.watching.watcher import MOST, Doubts

if TYPE_CHECKING:
    from pathlib import Path

    from cortex_actors.storage.projects import FileState

#: Microseconds: long after every file of a test was written.
LATER = 1 << 53


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Give an instruction file."""
    path = tmp_path / "CLAUDE.md"
    path.write_text("Use tabs.\n")
    return path


def known(file: Path) -> dict[str, FileState]:
    """Return what is known of a file that was just read."""
    swept = sweep(str(file.parent), "p", max_depth=0)
    digest = hash_file(file.read_bytes())
    return {path: replace(state, sha256=digest) for path, state in swept.files.items()}


def unseen(file: Path, before: dict[str, FileState], text: str) -> dict[str, FileState]:
    """Change a file within the time of its last change; return what is known of it, as it looks."""
    old = before[str(file)].mtime_ns
    file.write_text(text)
    os.utime(file, ns=(old, old))
    there = sweep(str(file.parent), "p", max_depth=0).files[str(file)]
    return {str(file): replace(there, sha256=before[str(file)].sha256)}


class TestDoubts:
    def test_same_look(self, file: Path) -> None:
        """A file that was changed unseen is told of until somebody says that it was said."""
        states = unseen(file, known(file), "Use eels.\n")
        doubts = Doubts()
        assert [str(file)] == doubts.find_changed(states, states, LATER)
        assert [str(file)] == doubts.find_changed(states, states, LATER)
        doubts.note_settled([str(file)], states)

        assert [] == doubts.find_changed(states, states, LATER)

    def test_once(self, file: Path) -> None:
        """What says what was read is hashed once for each reading."""
        states = known(file)
        doubts = Doubts()
        assert [] == doubts.find_changed(states, states, LATER)
        changed = unseen(file, states, "Use eels.\n")
        states_again = {str(file): replace(changed[str(file)], ctime_ns=states[str(file)].ctime_ns)}
        assert [] == doubts.find_changed(states_again, states_again, LATER)

        assert [str(file)] == doubts.find_changed(changed, changed, LATER)

    def test_too_soon(self, file: Path) -> None:
        """A file is left alone as long as another change could hide."""
        states = unseen(file, known(file), "Use eels.\n")
        changed = max(states[str(file)].mtime_ns, states[str(file)].ctime_ns) // 1_000
        doubts = Doubts()
        assert [] == doubts.find_changed(states, states, changed + 1_900_000)

        assert [str(file)] == doubts.find_changed(states, states, changed + 2_100_000)

    def test_not_in_doubt(self, file: Path) -> None:
        """What looks different, is gone, or could not be read is for others."""
        states = unseen(file, known(file), "Use eels.\n")
        (state,) = states.values()
        doubts = Doubts()
        assert [] == doubts.find_changed(states, {}, LATER)
        assert [] == doubts.find_changed(states, {str(file): replace(state, size=1)}, LATER)
        assert [] == doubts.find_changed({str(file): replace(state, sha256="")}, states, LATER)
        assert [] == doubts.find_changed({str(file): replace(state, error="x")}, states, LATER)

    def test_unreadable(self, file: Path) -> None:
        """What cannot be read now, is no file, or too large, is not in doubt."""
        states = known(file)
        doubts = Doubts()
        file.unlink()
        assert [] == doubts.find_changed(states, states, LATER)
        os.mkfifo(file)
        assert [] == Doubts().find_changed(states, states, LATER)
        file.unlink()
        file.write_bytes(b"x" * (MOST + 1))
        assert [] == Doubts().find_changed(states, states, LATER)
