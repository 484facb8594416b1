"""Alerts last as long as their text, and hold no secret."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cortex_actors.domain.project import Alert, AlertKind
from cortex_actors.storage import insight_records
from cortex_actors.testing import EPOCH
from tests.storage.support import ATLAS, Store

if TYPE_CHECKING:
    from collections.abc import Sequence

HERE = "/projects/atlas/CLAUDE.md"

SECRET = Alert(AlertKind.SECRET, HERE, "f1", 3, 3, "github-token", value="ghp_abc")
HIDDEN = Alert(AlertKind.HIDDEN_UNICODE, HERE, "f2", 5, 5, "1 hidden: U+200B")


async def note(store: Store, *found: Alert, path: str = HERE, at: int = EPOCH) -> None:
    """Let a file have those alerts."""
    await store.says("/projects/atlas/AGENTS.md")
    await store.write(lambda c: insight_records.note(c, path, found, project_id=ATLAS.id, at=at))


async def rows(store: Store) -> Sequence[tuple[object, ...]]:
    """Return every alert there ever was."""
    return await store.rows("SELECT kind, detail, fingerprint, ended_at FROM alerts ORDER BY kind")


class TestNote:
    async def test_kept_once(self, store: Store) -> None:
        """What is met again in the same fragment is the alert it was."""
        for _ in range(3):
            await note(store, HIDDEN, HIDDEN)

        assert [HIDDEN] == await store.read(insight_records.list_alerts)
        left = await store.read(insight_records.list_alerts)
        assert [AlertKind.HIDDEN_UNICODE] == [each.kind for each in left]

    async def test_ends(self, store: Store) -> None:
        """An alert ends when its file no longer says it, stays in the ledger, and may come back."""
        await note(store, HIDDEN)
        await note(store, at=EPOCH + 1)
        ended = await rows(store)
        await note(store, HIDDEN)

        assert [("hidden_unicode", HIDDEN.detail, None, EPOCH + 1)] == ended
        assert [HIDDEN] == await store.read(insight_records.list_alerts)

    async def test_of_another_file(self, store: Store) -> None:
        """One file's alerts do not end another's."""
        await note(store, HIDDEN)
        await note(store, path="/projects/atlas/GEMINI.md")

        assert [HIDDEN] == await store.read(insight_records.list_alerts)

    async def test_moved(self, store: Store) -> None:
        """What moved within its file is the same alert on another line."""
        await note(store, HIDDEN)
        await note(store, replace(HIDDEN, line_start=9, line_end=9))

        assert [9] == [each.line_start for each in await store.read(insight_records.list_alerts)]


class TestSecrets:
    async def test_fingerprint(self, store: Store) -> None:
        """Two places of one secret have one fingerprint, another one another; none is kept."""
        there = replace(SECRET, fragment_id="f9")
        other = replace(SECRET, value="ghp_xyz")
        await note(store, SECRET, there, other)
        found = [(row[1], row[2]) for row in await rows(store)]
        whole = await store.rows("SELECT * FROM alerts")

        assert 3 == len(found)
        assert 2 == len({fingerprint for _, fingerprint in found})
        assert all(str(fingerprint) in str(detail) for detail, fingerprint in found)
        assert "ghp_" not in repr(whole)
        assert "ghp_" not in repr(SECRET)

    async def test_key(self, store: Store) -> None:
        """The key of the fingerprints is made once and is the home's own."""
        await note(store, SECRET)
        await note(store, replace(SECRET, value="ghp_xyz"))
        (row,) = await store.rows("SELECT name, length(value) FROM meta")

        assert (insight_records.KEY, insight_records.KEY_BYTES) == row
