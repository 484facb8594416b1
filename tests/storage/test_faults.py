from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from cortex_actors.errors import (
    CortexError,
    DiskFault,
    LedgerBusy,
    LedgerDown,
    StorageFull,
    StorageReadOnly,
)
from cortex_actors.storage.ledger import faults

PATH = Path("/home/me/cortex.db")


def said(name: str) -> sqlite3.OperationalError:
    """Return an error of SQLite's with that name."""
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorname = f"SQLITE_{name}"
    return error


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Give the errno with which the disk answers when it is asked; 0 until it is changed."""
    answer = {"errno": 0}
    monkeypatch.setattr(faults, "probe_disk", lambda _path: answer["errno"])
    return answer


class TestOf:
    @pytest.mark.parametrize(
        ("name", "kind"),
        [
            ("FULL", StorageFull),
            ("BUSY", LedgerBusy),
            ("BUSY_RECOVERY", LedgerBusy),
            ("LOCKED", LedgerBusy),
            ("READONLY", StorageReadOnly),
            ("READONLY_DIRECTORY", StorageReadOnly),
            ("CORRUPT", DiskFault),
            ("CORRUPT_INDEX", DiskFault),
            ("NOTADB", DiskFault),
            ("IOERR_READ", DiskFault),
            ("IOERR_SHORT_READ", DiskFault),
            ("IOERR_FSYNC", DiskFault),
            ("IOERR_WRITE", DiskFault),
            ("CANTOPEN", LedgerDown),
            ("NOMEM", LedgerDown),
        ],
    )
    def test_word(self, name: str, kind: type[CortexError], disk: dict[str, int]) -> None:
        """Each of SQLite's words has one meaning, when the disk itself has no complaint."""
        assert kind is type(faults.explain(said(name), PATH, doing="write"))

    @pytest.mark.parametrize("name", ["IOERR_WRITE", "IOERR_SHMSIZE", "IOERR_TRUNCATE", "CANTOPEN"])
    @pytest.mark.parametrize(
        ("number", "kind"),
        [
            (errno.ENOSPC, StorageFull),
            (errno.EDQUOT, StorageFull),
            (errno.EROFS, StorageReadOnly),
        ],
    )
    def test_asked(
        self, name: str, number: int, kind: type[CortexError], disk: dict[str, int]
    ) -> None:
        """Where the word does not tell, a disk without room or right is no disk that fails."""
        disk["errno"] = number

        assert kind is type(faults.explain(said(name), PATH, doing="write"))

    @pytest.mark.parametrize("name", ["IOERR_FSYNC", "IOERR_DIR_FSYNC", "IOERR_READ"])
    def test_sync(self, name: str, disk: dict[str, int]) -> None:
        """A failed fsync is a fault of the disk whatever is behind it: pages may be gone."""
        disk["errno"] = errno.ENOSPC

        assert DiskFault is type(faults.explain(said(name), PATH, doing="write"))

    def test_first_cause(self, disk: dict[str, int]) -> None:
        """What failed first counts, not what undoing it ran into."""
        undoing = OperationalError("ROLLBACK TO unit", {}, said("ERROR"))
        undoing.__context__ = OperationalError("INSERT", {}, said("FULL"))

        assert isinstance(faults.explain(undoing, PATH, doing="write"), StorageFull)
        assert faults.is_the_disk(undoing)

    @pytest.mark.parametrize("error", [said("ERROR"), said("CONSTRAINT"), KeyError("x")])
    def test_not_the_disk(self, error: Exception) -> None:
        """A statement that is wrong, or a program, is none of the disk's faults."""
        assert faults.explain(error, PATH, doing="write") is None
        assert not faults.is_the_disk(error)

    @pytest.mark.parametrize(
        ("name", "advice"),
        [
            ("FULL", "free some space"),
            ("BUSY", "fuser -v /home/me/cortex.db"),
            ("READONLY", "make the disk and the folder writable"),
            ("CORRUPT", "start again"),
            ("IOERR_FSYNC", "dmesg"),
        ],
    )
    def test_text(self, name: str, advice: str) -> None:
        """The text names the file, SQLite's word and what to do next."""
        text = str(faults.explain(said(name), PATH, doing="write"))

        assert "cannot write the ledger /home/me/cortex.db: " in text
        assert f"(SQLITE_{name})" in text
        assert advice in text

    def test_ends_daemon(self) -> None:
        """Only a disk that fails ends the daemon, with the exit code for it."""
        kinds = (StorageFull, StorageReadOnly, LedgerBusy, LedgerDown, DiskFault)

        assert [DiskFault] == [kind for kind in kinds if kind.ends_daemon]
        assert 70 == DiskFault.exit_code


class TestRefusal:
    def test_well(self, tmp_path: Path) -> None:
        """A disk that can be written says so, and keeps nothing of the question."""
        assert 0 == faults.probe_disk(tmp_path / "cortex.db")
        assert [] == list(tmp_path.iterdir())

    def test_gone(self, tmp_path: Path) -> None:
        """A folder that is not there is told by its errno."""
        assert errno.ENOENT == faults.probe_disk(tmp_path / "gone" / "cortex.db")
