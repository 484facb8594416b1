"""What the doctor sees of instruction files, and that it only ever reads them."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cortex_actors.domain.hit import Diagnosis
    from tests.checkup.support import Case


def of_files(case: Case, **circumstances: object) -> list[Diagnosis]:
    """Return what is found of files that is not well."""
    found = case.look(**circumstances).diagnoses
    return [each for each in found if each.check == "files" and each.severity != "ok"]


class TestLeftOut:
    def test_counted(self, case: Case) -> None:
        """Lines that another tool keeps up to date are a note that names their file."""
        case.run(
            "INSERT INTO runs (id, kind, path, state, started_at, finished_at, counts) VALUES"
            " ('run_z', 'accumulator', ?, 'completed', 9e15, 9e15, '{\"left_out\": 14}')",
            str(case.file),
        )
        (found,) = of_files(case)

        assert "note" == found.severity
        assert f"14 lines are written by programs, and not learned: {case.file}" in (found.found)


class TestChanged:
    def test_down(self, case: Case) -> None:
        """A file that changed while no daemon ran is named, with what reads it."""
        case.file.write_text("# Atlas\n\n## New\nThis is new.\n")
        (found,) = of_files(case)

        assert "warning" == found.severity
        assert (True, True) == (str(case.file) in found.found, "cortex start" in found.mend)

    def test_same_look(self, case: Case) -> None:
        """A file whose size and time are as before is read all the same."""
        before = case.file.stat()
        text = case.file.read_text()
        case.file.write_text(text.replace("a", "b"))
        os.utime(case.file, ns=(before.st_atime_ns, before.st_mtime_ns))

        assert "1 have changed" in of_files(case)[0].found

    def test_just_now(self, case: Case) -> None:
        """What a running daemon is about to read anyway is a note."""
        case.file.write_text("# Atlas\n\n## New\nThis is new.\n")

        assert ["note"] == [each.severity for each in of_files(case, online=True)]

    def test_waits(self, case: Case) -> None:
        """What waits to be read already is a note."""
        case.file.write_text("# Atlas\n\n## New\nThis is new.\n")
        case.run(
            "INSERT INTO events (seq, id, topic, payload, at, source) VALUES "
            "(99999, 'evt_01M806R9PZAY78CBPJFYBR0AVQ', 'file:changed', '{}', 1, 'x')"
        )
        case.run(
            "INSERT INTO deliveries (consumer, seq, key) VALUES ('accumulator', 99999, ?)",
            str(case.file),
        )

        assert ["note"] == [each.severity for each in of_files(case)]


class TestComeAndGone:
    def test_never_read(self, case: Case) -> None:
        """A file that was never read is named."""
        (case.projects / "atlas-api" / "GEMINI.md").write_text("## One\nSomething.\n")

        assert "1 were never read" in of_files(case)[0].found

    def test_revoked(self, case: Case) -> None:
        """A file that was taken back is not missed: nobody reads it on purpose."""
        path = case.projects / "atlas-api" / "GEMINI.md"
        path.write_text("## One\nSomething.\n")
        case.run("INSERT INTO revocations (kind, key, at) VALUES ('path', ?, 1)", str(path))

        assert [] == of_files(case)

    def test_gone(self, case: Case) -> None:
        """A file that is gone while what it said is known is named."""
        case.file.unlink()

        assert "1 are gone" in of_files(case)[0].found

    def test_forgotten(self, case: Case) -> None:
        """So is one that only the sources of insights know."""
        case.file.unlink()
        case.run("DELETE FROM file_states WHERE path = ?", str(case.file))

        assert "1 are gone" in of_files(case)[0].found

    def test_no_project(self, case: Case) -> None:
        """A project whose folder is gone is named, and its files are not called gone."""
        shutil.rmtree(case.projects / "harbor-web")
        (found,) = of_files(case)

        assert "is not there" in found.found
        assert "cortex projects remove" in found.mend

    def test_unreadable(self, case: Case) -> None:
        """A file that could not be read is told with its reason."""
        case.run(
            "UPDATE file_states SET error = 'cannot read it: no text' WHERE path = ?",
            str(case.file),
        )
        state = case.file.stat()
        case.run(
            "UPDATE file_states SET size = ?, mtime_ns = ?, ctime_ns = ?, inode = ? WHERE path = ?",
            state.st_size,
            state.st_mtime_ns,
            state.st_ctime_ns,
            state.st_ino,
            str(case.file),
        )

        assert ["cannot read it: no text"] == [each.found for each in of_files(case)]
