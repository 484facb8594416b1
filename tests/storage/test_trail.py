"""From the lines that say something to the files it was resolved into."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from cortex_actors.api.pipeline import history
from cortex_actors.clock import DAY
from cortex_actors.domain.principle import Ending, GivenBullet
from cortex_actors.domain.project import Decision, Review, SourceKind
from cortex_actors.errors import BadInput, NotFound
from cortex_actors.rules import clustering
from cortex_actors.storage.pipeline import (
    contradictions,
    insight_lists,
    insights,
    resolutions,
    reviews,
)
from cortex_actors.storage.pipeline.contradictions import Contradiction
from cortex_actors.storage.pipeline.resolutions import Resolution
from cortex_actors.testing import EPOCH
from tests.storage.distilled import distilled, principle
from tests.storage.support import ATLAS, HARBOR, id_of

if TYPE_CHECKING:
    from cortex_actors.domain.principle import Principle
    from tests.storage.support import Store

CLAUDE = "/projects/atlas/CLAUDE.md"
AGENTS = "/projects/harbor/AGENTS.md"

#: What every test of a whole chain begins with.
TABS, SAME, OTHER = "Use tabs", "Indent with tabs", "Use spaces"


async def _history(store: Store, name: str) -> dict[str, Any]:
    """Return the chain that an id is a link of."""
    return await store.read(lambda c: history.load_history(c, history.find_start(c, name)))


async def _chain(store: Store) -> Principle:
    """Let a rule be said twice, merged, opposed, grouped, approved, distilled and resolved."""
    await store.says(CLAUDE, TABS, OTHER)
    await store.says(CLAUDE, TABS, OTHER, "more", at=EPOCH + DAY)
    await store.says(AGENTS, SAME, project=HARBOR, at=EPOCH + 2 * DAY)
    await store.write(lambda c: insights.assign(c, {id_of(SAME): id_of(TABS)}))
    made = principle(TABS, rank=0.6, created_at=EPOCH + 5 * DAY)

    def work(connection: Any) -> None:
        contradictions.replace(connection, found=[_against()], ended=())
        contradictions.replace_clusters(
            connection, [], [_group()], model="test/3", at=EPOCH + 3 * DAY
        )
        said = Review(id_of(TABS), Decision.APPROVED, EPOCH + 4 * DAY, "so be it")
        reviews.decide(connection, said)
        distilled(connection, made, id_of(TABS), id_of(SAME))
        bullets = [GivenBullet("pri_x", "other"), GivenBullet(made.id, TABS, "it says spaces")]
        resolutions.keep(connection, _stands(), bullets)

    await store.write(work)
    return made


def _against() -> Contradiction:
    """Return what was found between two of the texts."""
    one, other = sorted([id_of(TABS), id_of(OTHER)])
    return Contradiction(
        contradictions.make_id(one, other),
        one,
        other,
        "direct",
        0.6,
        detected_by="reconciler",
        decided_by="rules",
        reason="indent",
        detected_at=EPOCH + 1,
    )


def _group() -> clustering.Cluster:
    """Return a cluster of two of the texts."""
    return clustering.Cluster(
        members=(id_of(TABS), id_of(OTHER)),
        medoid=id_of(TABS),
        centroid=np.array([1.0, 0.0], np.float32),
        coherence=0.9,
    )


def _stands() -> Resolution:
    """Return how a file was resolved."""
    return Resolution(
        path="/c/CLAUDE.md",
        agent="claude",
        project_id=ATLAS.id,
        run_id="run_1",
        revision="r",
        inputs="i",
        section="s",
        ending=Ending.WRITTEN,
        reason=None,
        resolved_at=EPOCH + 6 * DAY,
    )


#: What is compared of a place.
NAMES = ("path", "line_start", "revisions", "first_at", "last_at")


class TestLines:
    async def test_revisions(self, store: Store) -> None:
        """Of each file it is told where it says a text, since when, and in how many revisions."""
        await store.says(CLAUDE, TABS)
        await store.says(CLAUDE, "before", TABS, at=EPOCH + DAY)
        await store.says(AGENTS, TABS, project=HARBOR, at=EPOCH + 2 * DAY)
        found = await store.read(lambda c: insight_lists.load_lines(c, [id_of(TABS)]))

        assert [
            (CLAUDE, 4, 2, EPOCH, EPOCH + DAY),
            (AGENTS, 1, 1, EPOCH + 2 * DAY, EPOCH + 2 * DAY),
        ] == [tuple(e[name] for name in NAMES) for e in found]
        assert ["atlas", "harbor"] == [each["project"] for each in found]
        assert {None} == {each["withdrawn_at"] for each in found}

    async def test_gone(self, store: Store) -> None:
        """Of what a file says no more only the last place is told, and since when."""
        await store.says(CLAUDE, TABS, at=EPOCH)
        await store.says(CLAUDE, "before", TABS, at=EPOCH + DAY)
        await store.says(CLAUDE, "before", at=EPOCH + 2 * DAY)
        (found,) = await store.read(lambda c: insight_lists.load_lines(c, [id_of(TABS)]))

        assert (4, 2, EPOCH + 2 * DAY) == (
            found["line_start"],
            found["revisions"],
            found["withdrawn_at"],
        )

    async def test_at_line(self, store: Store) -> None:
        """A line is found by every line of the text that stands there now, and by no other."""
        await store.says(CLAUDE, "gone")
        await store.says(CLAUDE, "a", "b")
        for line, said in ((1, ["a"]), (3, ["a"]), (4, ["b"]), (7, [])):
            found = await store.read(partial(insight_lists.find_at_line, path=CLAUDE, line=line))
            assert [id_of(each) for each in said] == found, line


class TestHistory:
    async def test_every_link(self, store: Store) -> None:
        """Lines, merges, cluster, contradiction, review, principle and file are one chain."""
        made = await _chain(store)
        found = await _history(store, id_of(TABS))
        first, second = found["insights"]

        assert (id_of(TABS), None, id_of(SAME), id_of(TABS)) == (
            first["id"],
            first["counts_for"],
            second["id"],
            second["counts_for"],
        )
        assert [CLAUDE, AGENTS] == [each["lines"][0]["path"] for each in found["insights"]]
        assert [2] == [each["members"] for each in found["clusters"]]
        (against,) = found["contradictions"]
        assert OTHER == against["said"][id_of(OTHER)]
        assert ["so be it"] == [each["note"] for each in found["reviews"]]
        (distilled_,) = found["principles"]
        assert [(id_of(each), 0.5, each) for each in sorted((TABS, SAME), key=id_of)] == [
            (each["id"], each["weight"], each["content"]) for each in distilled_["made_of"]
        ]
        (stands,) = found["files"]
        assert (made.id, "/c/CLAUDE.md", 1, True, "atlas") == tuple(
            stands[key] for key in ("principle_id", "path", "ordinal", "is_conflict", "project")
        )

    async def test_from_any_link(self, store: Store) -> None:
        """The same chain comes of the principle, of the text that was merged and of a line."""
        made = await _chain(store)
        whole = await _history(store, id_of(TABS))
        for name in (made.id, id_of(SAME), made.id[:12], id_of(SAME)[4:]):
            found = await _history(store, name)
            assert whole["principles"] == found["principles"], name
            assert whole["files"] == found["files"], name

        start = await history.find_line_start(store.records, AGENTS, 2)
        line = await store.read(lambda c: history.load_history(c, start))
        assert whole["files"] == line["files"]
        assert {"kind": "line", "id": f"{AGENTS}:2"} == line["asked"]
        assert id_of(SAME) == line["insights"][0]["id"]

    async def test_cluster(self, store: Store) -> None:
        """A cluster's chain is that of all its members."""
        await _chain(store)
        found = await _history(store, contradictions.cluster_id([id_of(TABS), id_of(OTHER)]))

        assert {id_of(TABS), id_of(SAME), id_of(OTHER)} == {
            each["id"] for each in found["insights"]
        }

    async def test_taken_back(self, store: Store) -> None:
        """What a person took back is told, also of a folder above, and that it counts again."""
        made = await _chain(store)

        def work(connection: Any) -> None:
            reviews.begin(connection, SourceKind.PATH, "/projects/harbor", at=EPOCH + 7 * DAY)
            reviews.begin(connection, SourceKind.PRINCIPLE, made.id, at=EPOCH + 8 * DAY, note="no")
            reviews.end(connection, SourceKind.PRINCIPLE, made.id, at=EPOCH + 9 * DAY)
            reviews.begin(connection, SourceKind.PATH, "/projects/har", at=EPOCH)

        await store.write(work)
        found = await _history(store, id_of(TABS))

        assert [("/projects/harbor", None, None), (made.id, "no", EPOCH + 9 * DAY)] == [
            (each["key"], each["note"], each["ended_at"]) for each in found["revocations"]
        ]

    async def test_alone(self, store: Store) -> None:
        """What nothing came of has lines, and nothing else."""
        await store.says(CLAUDE, TABS)
        found = await _history(store, id_of(TABS))

        assert [CLAUDE] == [each["path"] for each in found["insights"][0]["lines"]]
        empty = ("clusters", "contradictions", "reviews", "revocations", "principles", "files")
        assert [] == [each for each in empty if found[each]]

    async def test_unknown(self, store: Store) -> None:
        """What names nothing is not found, and what may be asked is said."""
        said = [str(number) for number in range(40)]
        await store.says(CLAUDE, *said)
        starts = [id_of(each)[4] for each in said]
        shared = next(each for each in starts if starts.count(each) > 1)
        for name, text in (
            ("nobody", "cortex principles list them"),
            ("", "cortex insights"),
            ("pri_zz", "cortex principles --status all"),
            ("clu_zz", "cortex insights --explain"),
            ("con_zz", "FILE:LINE"),
        ):
            with pytest.raises(NotFound, match=text):
                await _history(store, name)
        with pytest.raises(BadInput, match="give more of the id"):
            await _history(store, shared)
        with pytest.raises(NotFound, match="cortex insights --in FILE"):
            await history.find_line_start(store.records, CLAUDE, 999)
