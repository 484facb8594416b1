"""The audit finds what it is there for: each kind of damage, planted in a ledger that is right."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.kills import audit
from tests.kills.audit import Said
from tests.kills.ledger_file import NAME, copied, make
from tests.kills.standing import standing
from tests.kills.story import SETTINGS, tell, write

if TYPE_CHECKING:
    from pathlib import Path

#: What was done to a ledger -> what the audit says of it.
DAMAGES = {
    "DELETE FROM events WHERE topic = 'custom:lost'": "was acknowledged",
    "UPDATE events SET payload = '{}' WHERE topic = 'custom:lost'": "was acknowledged",
    "INSERT INTO events (id, topic, payload, at, source) SELECT "
    "substr(id, 1, 28) || 'ZZ', topic, payload, at, source FROM events "
    "WHERE topic = 'custom:lost'": "was said once",
    "INSERT INTO audit (unit, what, who, seq) SELECT 0, what, who, seq FROM audit "
    "WHERE what = 'gone' LIMIT 1": "was handled 2 times",
    "UPDATE audit SET who = 'nobody' WHERE what = 'gone'": "was handled 0 times",
    "DELETE FROM audit WHERE what = 'run' AND n = (SELECT max(n) FROM audit WHERE what = 'run')": (
        "holds runs of []"
    ),
    "INSERT INTO runs (id, kind, state, started_at, finished_at, counts) SELECT "
    "substr(id, 1, 28) || 'ZZ', kind, state, started_at, finished_at, counts FROM runs LIMIT 1": (
        "holds runs of"
    ),
    "DELETE FROM audit WHERE what = 'given' AND n = (SELECT min(n) FROM audit "
    "WHERE what = 'given')": "was never given to",
    "UPDATE insights SET status = 'withdrawn'": "a file says an insight that is not live",
    "DELETE FROM vectors": "has no vector and does not wait for one",
    "DELETE FROM file_states": "a file that is forgotten says something",
    "DELETE FROM derivations": "a principle has no insight",
    "INSERT INTO audit (unit, what, who, seq) VALUES (0, 'owner', '', 1)": "epochs did not rise",
    "DELETE FROM observations": "was never observed",
    "UPDATE file_states SET sha256 = 'x'": "the ledger and the disk differ",
    "INSERT INTO file_writes (run_id, project_id, path, agent, after_sha256, aside, began_at) "
    "SELECT 'run_x', id, root || '/x', 'claude', 'x', '.x', 0 FROM projects LIMIT 1": (
        "writes of files have no end"
    ),
    "INSERT INTO resolved_bullets (path, agent, ordinal, principle_id, text, conflict) "
    "VALUES ('/x', 'claude', 0, 'pri_x', 'x', 0)": "a bullet stands in no section",
}


async def told(folder: Path, home: Path) -> list[Said]:
    """Tell the story, and return what was acknowledged."""
    make(home)
    write(folder)
    async with standing(home, **SETTINGS) as tree:
        event = await tree.cortex.publish("custom:lost", {"number": 1})
        await tell(tree, folder, home / "done")
    return [Said(event["id"], "custom:lost", {"number": 1})]


def problems(home: Path, acknowledged: list[Said], revisions: dict[str, set[str]]) -> list[str]:
    """Return everything that every audit says of a ledger at rest."""
    with copied(home) as ledger:
        found = audit.examine(ledger, acknowledged).problems
        found += audit.once(ledger, acknowledged)
        return [*found, *audit.settled(ledger, revisions)]


def damaged(home: Path, to: Path, damage: str) -> Path:
    """Return a copy of a home whose ledger was tampered with."""
    to.mkdir()
    with (
        closing(sqlite3.connect(home / NAME)) as whole,
        closing(sqlite3.connect(to / NAME)) as copy,
    ):
        whole.backup(copy)
        copy.execute(damage)
        copy.commit()
    return to


class TestAudit:
    @pytest.mark.slow
    async def test_finds(self, tmp_path: Path, tmp_home: Path) -> None:
        """An undisturbed ledger has no problem, and each damage is one that is named."""
        acknowledged = await told(tmp_path / "projects", tmp_home)
        with copied(tmp_home) as ledger:
            revisions: dict[str, set[str]] = {}
            for path, digest in ledger.query(
                "SELECT path, file_hash FROM observations "
                "JOIN insight_sources ON id = source_id UNION SELECT path, sha256 FROM file_states"
            ):
                revisions.setdefault(path, set()).add(digest)

        assert [] == problems(tmp_home, acknowledged, revisions)
        for number, (damage, said) in enumerate(DAMAGES.items()):
            home = damaged(tmp_home, tmp_path / f"damaged-{number}", damage)
            found = problems(home, acknowledged, revisions)
            assert any(said in each for each in found), (damage, found)
