"""The adapters over the real SerenMemory and SerenLoci: what only these two promise."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.clock import SystemClock
from cortex_actors.endpoint.connection import StoreConnection
from cortex_actors.errors import StoreDown, StoreTimeout, StoreUnusable
from cortex_actors.federation.adapters.seren import SerenMemory
from cortex_actors.federation.answers import OutgoingQuestion
from cortex_actors.federation.binding import ADAPTERS
from cortex_actors.federation.store import ByTopic, StoreSpec
from tests.federation import seren

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence
    from pathlib import Path

    from cortex_actors.domain.hit import RankedHit
    from cortex_actors.federation.remote import Adapter

pytestmark = pytest.mark.slow

#: Seconds that a store is given.
LONG = 20.0

TOKEN = "hush-hush-token"


@dataclass(frozen=True, slots=True)
class Mind:
    """A SerenMemory, and the ids of what it knows."""

    server: seren.Server
    short: str
    near: str
    old: str
    satellite: str
    core: str


@pytest.fixture(scope="module")
def mind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mind]:
    """Give a SerenMemory that has thought about backups."""
    with seren.memory(tmp_path_factory.mktemp("mind"), token=TOKEN) as server:
        intent = {
            "intent": "ask whether the backup ran",
            "topic": "backup",
            "trigger_type": "event",
        }
        near = server.post("/near", {**intent, "trigger_value": "morning"})["id"]
        old = seren.conclude(server, "new_core", "Backups run at night on the big disk", "backup")
        satellite = seren.conclude(
            server, "attach", "On Tuesday it filled the big disk", "backup", target_core_id=old
        )
        core = seren.conclude(
            server,
            "supersede",
            "Backups run at noon on the new disk",
            "backup,disks",
            target_core_id=old,
            contradicts="Backups run at night",
        )
        short = seren.remember(server, "The backup disk is called Otto", "backup")
        yield Mind(server, short, near, old, satellite, core)


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[seren.Server]:
    """Give a SerenLoci with facts of a project and of everywhere."""
    with seren.loci(tmp_path_factory.mktemp("facts")) as server:
        seren.state(server, "atlas", "test.port", "5433", why="5432 is taken")
        seren.state(server, "atlas", "test.port", "5434", why="it is free", why_changed="CI moved")
        seren.state(server, "borea", "test.port", "6000")
        seren.state(server, "*", "port.rule", "ports above 5000")
        yield server


@asynccontextmanager
async def opened(
    server: seren.Server, kind: str, *, token: str | None = None, **options: Any
) -> AsyncIterator[Adapter]:
    """Give an adapter on a line to a server, with the server's token unless another is given."""
    spec = StoreSpec("other", kind, server.url, options=options)
    line = StoreConnection(
        server.url, SystemClock(), token=server.token if token is None else token
    )
    adapter = ADAPTERS[kind](spec, line)
    try:
        yield adapter
    finally:
        await adapter.close()


async def found(
    server: seren.Server, kind: str, text: str, **options: Any
) -> tuple[RankedHit, ...]:
    """Return what a server knows of a text."""
    async with opened(server, kind, **options) as adapter:
        return (await adapter.search(OutgoingQuestion(text, 20, LONG))).hits


def ids(hits: Sequence[RankedHit]) -> set[str]:
    """Return the ids of hits."""
    return {hit.id for hit in hits}


class TestSerenMemory:
    async def test_relevance(self, mind: Mind) -> None:
        """The relevance is that of the server's distance, and its rank is not its relevance's."""
        hits = await found(mind.server, "seren_memory", "backups run at noon on the new disk")

        assert mind.core == hits[0].id
        for hit in hits:
            assert hit.raw_distance is not None
            assert pytest.approx(1 / (1 + hit.raw_distance)) == hit.base_relevance
        scores = [hit.native_score or 0 for hit in hits]
        assert sorted(scores, reverse=True) == scores

    async def test_tiers(self, mind: Mind) -> None:
        """Each tier is searched unless an option leaves it out; what is history is left out."""
        everything = await found(mind.server, "seren_memory", "backup disk")
        no_long = await found(mind.server, "seren_memory", "backup disk", include_long=False)
        long = await found(
            mind.server, "seren_memory", "backup disk", include_short=False, include_near=False
        )
        history = await found(mind.server, "seren_memory", "backup", include_superseded=True)

        assert {mind.short, mind.near, mind.core} == ids(everything)
        assert ({mind.short, mind.near}, {mind.core}) == (ids(no_long), ids(long))
        assert mind.satellite not in ids(history)

    async def test_satellites(self, mind: Mind) -> None:
        """A conclusion comes with its satellites and with what it took the place of."""
        hits = await found(mind.server, "seren_memory", "on tuesday it filled the big disk")
        (core,) = (hit for hit in hits if hit.id == mind.core)

        around, metadata = core.extra["surroundings"], core.extra["metadata"]
        assert isinstance(around, list)
        assert isinstance(metadata, dict)
        assert [("satellite", mind.satellite), ("supersedes", mind.old)] == [
            (each["edge"], each["id"]) for each in around
        ]
        assert "Backups run at night on the big disk" == around[1]["text"]
        assert mind.satellite == metadata["matched_via"]["id"]
        assert (2, mind.old) == (
            metadata["surroundings"]["satellites"],
            metadata["surroundings"]["supersedes"],
        )

    async def test_without_satellites(self, mind: Mind) -> None:
        """Satellites are not sent when nobody wants them, and are hits when somebody does."""
        bare = await found(mind.server, "seren_memory", "backup", with_surroundings=False)
        hits = await found(mind.server, "seren_memory", "big disk", include_satellites=True)

        assert all("surroundings" not in hit.extra for hit in bare)
        assert mind.satellite in ids(hits)

    async def test_by_topic(self, mind: Mind) -> None:
        """Tags are found one by one, in any case; the more of them, the sooner."""
        async with opened(mind.server, "seren_memory") as adapter:
            assert isinstance(adapter, SerenMemory)
            answer = await adapter.find_by_topic(
                ByTopic(["DISKS", "backup"], limit=9, exclude_ids=[mind.short], seconds=LONG)
            )

        assert mind.core == answer.hits[0].id
        assert {mind.core, mind.near} == ids(answer.hits)
        assert 2.0 == answer.hits[0].native_score

    async def test_cap(self, mind: Mind) -> None:
        """The server refuses a request for more than 50, which is why none is ever made."""
        with pytest.raises(AssertionError, match="422"):
            mind.server.post("/search", {"query": "backup", "n_results": 51})
        async with opened(mind.server, "seren_memory") as adapter:
            answer = await adapter.search(OutgoingQuestion("backup", 60, LONG))

        assert 3 == len(answer.hits)

    @pytest.mark.parametrize("token", ["", "another-token"])
    async def test_token(self, mind: Mind, token: str) -> None:
        """Without its token nothing is answered, a ping neither; the error says what is wanted."""
        async with opened(mind.server, "seren_memory", token=token) as adapter:
            for ask in (adapter.search(OutgoingQuestion("backup", 5, LONG)), adapter.ping(LONG)):
                with pytest.raises(StoreUnusable, match="401: it wants a token") as failure:
                    await ask
                assert "another-token" not in str(failure.value)

    async def test_ping(self, mind: Mind) -> None:
        """A ping says who it is and how much it holds."""
        async with opened(mind.server, "seren_memory") as adapter:
            said = await adapter.ping(LONG)

        assert ("SerenMemory", "5.4.0", 1) == (
            said["service"],
            said["version"],
            said["tiers"]["short"],
        )

    async def test_paused(self, mind: Mind) -> None:
        """A server that hangs is given up in time, and asked again when it is back."""
        async with opened(mind.server, "seren_memory") as adapter:
            await adapter.search(OutgoingQuestion("backup", 5, LONG))
            mind.server.pause()
            try:
                with pytest.raises(StoreTimeout):
                    await adapter.search(OutgoingQuestion("backup", 5, 0.2))
            finally:
                mind.server.resume()
            answer = await adapter.search(OutgoingQuestion("backup", 5, LONG))

        assert 3 == len(answer.hits)

    async def test_safe_mode(self, tmp_path: Path) -> None:
        """A server that may not search, because its model was changed, is down and no more."""
        kept = tmp_path / "chroma"
        kept.mkdir()
        stamp = {"embedding_model": "", "stamped_at": 1, "schema_version": 1}
        (kept / ".seren_store_meta.json").write_text(json.dumps(stamp))
        with seren.memory(tmp_path, embedding_model="another-model") as server:
            async with opened(server, "seren_memory") as adapter:
                with pytest.raises(StoreDown, match="answered 503") as failure:
                    await adapter.search(OutgoingQuestion("backup", 5, LONG))

        assert not isinstance(failure.value, StoreUnusable)


class TestSerenLoci:
    async def test_exact(self, facts: seren.Server) -> None:
        """A key leads with a relevance of 1; what shares words comes below."""
        hits = await found(facts, "seren_loci", "test.port")

        assert {1.0} == {hit.base_relevance for hit in hits[:2]}
        assert "test.port = 5434 because it is free" in {hit.text for hit in hits}
        (rule,) = await found(facts, "seren_loci", "ports above")
        assert 0 < rule.base_relevance < 1
        assert "port.rule = ports above 5000" == rule.text

    async def test_project(self, facts: seren.Server) -> None:
        """A store may be one project, with what holds everywhere or without."""
        hits = await found(facts, "seren_loci", "port ports test", project="atlas")
        alone = await found(
            facts, "seren_loci", "test.port", project="borea", include_fundamentals=False
        )

        projects = {_told(hit)["project"] for hit in hits}
        assert projects <= {"atlas", "*"}
        assert ["test.port = 6000"] == [hit.text for hit in alone]

    async def test_history(self, facts: seren.Server) -> None:
        """What held once is found when an option asks for it, and says that it holds no more."""
        hits = await found(
            facts, "seren_loci", "test.port", project="atlas", include_superseded=True
        )

        told = [_told(hit) for hit in hits]
        (former,) = (each for each in told if not each.get("live", True))
        assert "CI moved" == former["why_changed"]

    async def test_other(self, facts: seren.Server) -> None:
        """A SerenLoci that is set up as a SerenMemory gives no hits, and a ping tells why."""
        async with opened(facts, "seren_memory") as adapter:
            with pytest.raises(StoreDown, match="not a SerenMemory's answer"):
                await adapter.search(OutgoingQuestion("test.port", 5, LONG))
            with pytest.raises(StoreUnusable, match="give it the type seren_loci"):
                await adapter.ping(LONG)

    async def test_ping(self, facts: seren.Server) -> None:
        """A ping says who it is, how it finds and how much it holds."""
        async with opened(facts, "seren_loci") as adapter:
            said = await adapter.ping(LONG)

        assert ("SerenLoci", "5.5.0", "lexical") == (
            said["service"],
            said["version"],
            said["finder"],
        )
        assert (3, 1) == (said["counts"]["live"], said["counts"]["history"])


def _told(hit: RankedHit) -> dict[str, Any]:
    """Return what a store says of a hit."""
    metadata = hit.extra["metadata"]
    assert isinstance(metadata, dict)
    return metadata
