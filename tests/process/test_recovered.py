"""A start that finds its ledger damaged says what it did about it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cortex_actors.home import Home
from tests.process.commands import Commands

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow


@pytest.fixture
def cortex(tmp_home: Path) -> Iterator[Commands]:
    """Give the command line of a home whose ledger is damaged."""
    commands = Commands(tmp_home)
    damage(commands)
    yield commands
    commands.clean_up()


def damage(cortex: Commands) -> None:
    """Put something else in the ledger's place."""
    Home(cortex.home).ledger.write_bytes(b"# notes\n" * 9_999)


class TestStart:
    def test_told(self, cortex: Commands) -> None:
        """It names the report, to a person and to a program, and only when it recovered."""
        started = cortex("start")
        first, second = started.stdout.splitlines()
        (report,) = Home(cortex.home).backups.glob("recovery-*.json")
        cortex("stop")
        report.unlink()
        damage(cortex)
        again = json.loads(cortex("start", "--json").stdout)
        quiet = json.loads(cortex("restart", "--json").stdout)

        assert first.startswith("started, pid ")
        assert second.startswith("recovered 2")
        assert second.endswith(f"; see {report}")
        assert Path(again["recovered"]).is_file()
        assert "recovered" not in quiet

    def test_gone(self, tmp_home: Path) -> None:
        """A ledger that was deleted comes back from its backup; start and status say so."""
        cortex, home = Commands(tmp_home), Home(tmp_home)
        try:
            cortex("start")
            said = cortex("publish", "custom:kept", "version=1.4").stdout
            cortex("backup")
            cortex("stop")
            home.ledger.unlink()
            offline = cortex("publish", "custom:late")
            before = home.ledger.exists()
            started = cortex("start").stdout.splitlines()
            shown = cortex("status").stdout
            events = cortex("events", "--topic", "custom:kept").stdout
        finally:
            cortex.clean_up()
            cortex("stop")

        assert said.startswith("published custom:kept")
        assert (69, False) == (offline.returncode, before)
        assert re.match(r"recovered \S+ from the backup of ", started[1])
        assert "recovery" in shown
        assert "custom:kept" in events
