"""A disk that cannot be read is no damaged ledger: no older copy takes the place of a good one."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortex_actors.storage.ledger import backups
from cortex_actors.testing import EPOCH
from tests.power.strace import need_strace, traced
from tests.storage.ledgers import Filed, unclosed

#: What is run.
SCRIPT = Path(__file__).with_name("unread.py")


@pytest.mark.slow
class TestReads:
    @pytest.mark.parametrize(
        ("number", "said"), [("1", "DiskFault"), ("3", "good"), ("12", "good"), ("2+", "DiskFault")]
    )
    def test_failed(self, tmp_path: Path, number: str, said: str) -> None:
        """Whichever read of the ledger fails, once or from then on, it stays in its place."""
        need_strace()
        filed = Filed(tmp_path, events=300)
        backups.take(filed.path, filed.home.backups, at=EPOCH)
        unclosed(filed, lambda opened: opened.execute("UPDATE projects SET name = 'newer'"))
        ended = traced(
            SCRIPT,
            str(tmp_path),
            options=[
                *("-o", str(tmp_path / "calls"), "-P", str(filed.path)),
                *("-e", "trace=pread64,read", "-e", f"inject=pread64,read:error=EIO:when={number}"),
            ],
        )

        assert "INJECTED" in (tmp_path / "calls").read_text()
        assert said == ended.stdout.split(":")[0]
        assert [] == filed.names("*corrupt*")
        assert [("newer",)] == filed.ask("SELECT name FROM projects")
