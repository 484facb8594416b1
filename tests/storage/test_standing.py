"""Where insights stand is decided from rows alone, and merges can be taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.domain.project import Alert, AlertKind
from cortex_actors.storage import insight_records
from cortex_actors.storage.pipeline import insights
from cortex_actors.testing import EPOCH
from tests.storage.support import ATLAS, HARBOR, Store, active, findings, id_of

if TYPE_CHECKING:
    from sqlalchemy import Connection

HERE = "/projects/atlas/CLAUDE.md"
THERE = "/projects/harbor/CLAUDE.md"


async def statuses(store: Store) -> dict[str, str]:
    """Return where every text stands."""
    rows = await store.rows("SELECT content, status FROM insights")
    return {str(content): str(status) for content, status in rows}


async def counted(store: Store) -> set[tuple[object, ...]]:
    """Return what is said now, and for which text it counts."""
    query = (
        "SELECT s.content, c.content FROM insight_sources JOIN insights AS s ON s.id = said_id "
        "JOIN insights AS c ON c.id = insight_id WHERE withdrawn_at IS NULL"
    )
    return set(await store.rows(query))


async def merge(store: Store, **pairs: str | None) -> set[str]:
    """Let texts count for others, by their content."""
    wanted = {id_of(one): other and id_of(other) for one, other in pairs.items()}
    return await store.write(lambda c: insights.assign(c, wanted))


async def contradict(store: Store, one: str, other: str, **given: object) -> None:
    """Write a contradiction of two texts, and settle one of them."""
    first, second = sorted((id_of(one), id_of(other)))
    row = {"type": "direct", "status": "unresolved", "resolved_at": None, "kept_id": None} | given

    def work(connection: Connection) -> None:
        connection.exec_driver_sql(
            "INSERT INTO contradictions (id, insight_a, insight_b, type, detected_by, decided_by,"
            " reason, detected_at, status, resolved_at, kept_id)"
            " VALUES (?, ?, ?, ?, 'test', 'rules', 'because', 1, ?, ?, ?)",
            (f"con_{first}{second}", first, second, *row.values()),
        )
        insight_records.settle(connection, [id_of(one)])

    await store.write(work)


class TestStatus:
    async def test_each(self, store: Store) -> None:
        """Said is active, merged superseded, kept back pending, and unsaid withdrawn."""
        await store.says(HERE, "a", "b", "c", "d")
        await merge(store, b="a")
        await store.says(HERE, "a", "b", "c")
        sql = "UPDATE insights SET review = 'look' WHERE content = 'c'"
        await store.write(lambda c: c.exec_driver_sql(sql).rowcount)
        await store.write(lambda c: insight_records.settle(c, [id_of("c")]))

        wanted = {"a": "active", "b": "superseded", "c": "pending_review", "d": "withdrawn"}
        assert wanted == await statuses(store)

    async def test_contradicted(self, store: Store) -> None:
        """Both sides of an open contradiction are contradicted, and are still shown and found."""
        await store.says(HERE, "a", "b", "c")
        await contradict(store, "a", "b")

        assert {"a": "contradicted", "b": "contradicted", "c": "active"} == await statuses(store)
        assert 3 == await store.read(insights.count)
        found = await store.rows("SELECT count(*) FROM passages")
        assert [(3,)] == found

    async def test_other_side_gone(self, store: Store) -> None:
        """Nobody is contradicted by what no file says any more, until it is said again."""
        await store.says(HERE, "a")
        await store.says(THERE, "b", project=HARBOR)
        await contradict(store, "a", "b")
        await store.says(THERE, project=HARBOR)
        alone = await statuses(store)
        await store.says(THERE, "b", project=HARBOR)

        assert {"a": "active", "b": "withdrawn"} == alone
        assert {"a": "contradicted", "b": "contradicted"} == await statuses(store)

    @pytest.mark.parametrize("given", [{"type": "contextual"}, {"status": "dismissed"}])
    async def test_both_may_hold(self, store: Store, given: dict[str, object]) -> None:
        """What holds in different places, or was dismissed by a person, contradicts nobody."""
        at = 1 if "status" in given else None
        await store.says(HERE, "a", "b")
        await contradict(store, "a", "b", **given, resolved_at=at)

        assert {"a": "active", "b": "active"} == await statuses(store)

    @pytest.mark.parametrize("kind", ["direct", "contextual"])
    async def test_one_was_kept(self, store: Store, kind: str) -> None:
        """Where a person kept one side, the other stays contradicted while files say it."""
        await store.says(HERE, "a", "b")
        kept = {"type": kind, "status": "resolved", "resolved_at": 1, "kept_id": id_of("a")}
        await contradict(store, "a", "b", **kept)

        assert {"a": "active", "b": "contradicted"} == await statuses(store)

    async def test_of_a_group(self, store: Store) -> None:
        """A contradiction with one text of a group is one with whoever represents it."""
        await store.says(HERE, "a", "b", "c")
        await contradict(store, "b", "c")
        await merge(store, b="a")

        wanted = {"a": "contradicted", "b": "superseded", "c": "contradicted"}
        assert wanted == await statuses(store)


class TestMerging:
    async def test_taken_back(self, store: Store) -> None:
        """A merge moves what counts and no text, and nothing is left of it when it is undone."""
        await store.says(HERE, "a", "b")
        await store.says(THERE, "b", project=HARBOR)
        before = await store.read(active), await counted(store)
        changed = await merge(store, b="a")
        (one,) = await store.read(active)
        await merge(store, b=None)

        assert {id_of("a"), id_of("b")} == changed
        assert ("a", ("atlas", "harbor"), 2) == (one.content, one.projects, one.observation_count)
        assert before == (await store.read(active), await counted(store))

    async def test_new_place(self, store: Store) -> None:
        """A text that counts for another does so wherever it is read later."""
        await store.says(HERE, "a", "b")
        await merge(store, b="a")
        await store.says(THERE, "b", project=HARBOR)

        assert {("a", "a"), ("b", "a")} == await counted(store)

    async def test_representative_falls_silent(self, store: Store) -> None:
        """When nobody says the representative any more, the others stand for themselves again."""
        await store.says(HERE, "a")
        await store.says(THERE, "b", "c", project=HARBOR)
        await merge(store, b="a", c="a")
        changed = await store.says(HERE)

        assert {"a": "withdrawn", "b": "active", "c": "active"} == await statuses(store)
        assert {("b", "b"), ("c", "c")} == await counted(store)
        assert sorted([id_of("a"), id_of("b"), id_of("c")]) == changed

    async def test_follower_falls_silent(self, store: Store) -> None:
        """What nobody says any more counts for nobody, and comes back for itself."""
        await store.says(HERE, "a", "b")
        await merge(store, b="a")
        await store.says(HERE, "a")
        gone = await statuses(store)
        await store.says(HERE, "a", "b")

        assert {"a": "active", "b": "withdrawn"} == gone
        assert {"a": "active", "b": "active"} == await statuses(store)

    @pytest.mark.parametrize("other", ["gone", "kept back"])
    async def test_no_longer_the_same(self, store: Store, other: str) -> None:
        """A new text joins an insight only if that stands when the file is written down."""
        await store.says(HERE, "gone", "kept back")
        sql = "UPDATE insights SET review = 'look' WHERE content = 'kept back'"
        await store.write(lambda c: c.exec_driver_sql(sql).rowcount)
        await store.says(HERE, "kept back")
        found, same = findings(THERE, ["new"], HARBOR), {id_of("new"): id_of(other)}
        await store.says(THERE, project=HARBOR)
        await store.write(
            lambda c: insights.learn(
                c, found, project_id=HARBOR.id, path=THERE, at=EPOCH, same=same
            )
        )

        assert ("new", "new") in await counted(store)

    async def test_joins_the_representative(self, store: Store) -> None:
        """A new text that is like a merged one counts for what that one counts for."""
        await store.says(HERE, "a", "b")
        await merge(store, b="a")
        await store.says(THERE, project=HARBOR)
        found, same = findings(THERE, ["new"], HARBOR), {id_of("new"): id_of("b")}
        done = await store.write(
            lambda c: insights.learn(
                c, found, project_id=HARBOR.id, path=THERE, at=EPOCH, same=same
            )
        )

        assert ("new", "a") in await counted(store)
        assert (1, 1) == (done["new"], done["merged"])


class TestApprove:
    async def test_used(self, store: Store) -> None:
        """What a person has approved is used from then on, and alarms nobody again."""
        (found,) = findings(HERE, ["look at me"], ATLAS)
        object.__setattr__(found, "review", "it looks odd")
        alert = Alert(AlertKind.INJECTION, HERE, found.source.fragment_id, 1, 3, "it looks odd")

        def read(connection: Connection) -> None:
            insights.learn(connection, [found], project_id=ATLAS.id, path=HERE, at=EPOCH)
            insight_records.note(connection, HERE, [alert], project_id=ATLAS.id, at=EPOCH)

        await store.says(HERE)
        await store.write(read)
        before = (
            await store.read(insight_records.list_alerts),
            await store.read(insights.count_waiting),
        )
        done = [
            await store.write(lambda c: insight_records.approve(c, id_of("look at me"), at=EPOCH))
            for _ in range(2)
        ]
        await store.write(read)

        assert ([alert], 1) == before
        assert [True, False] == done
        assert {"look at me": "active"} == await statuses(store)
        assert [] == await store.read(insight_records.list_alerts)


class TestPrivate:
    async def test_only_private_files(self, store: Store) -> None:
        """What one person's own file says is private until another file says it, too."""
        await store.says("/projects/atlas/CLAUDE.local.md", "mine", "ours")
        await store.says(HERE, "ours")
        ids = [id_of("mine"), id_of("ours"), id_of("unknown")]

        assert {id_of("mine")} == await store.read(lambda c: insights.filter_private(c, ids))
