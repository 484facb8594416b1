"""What the schedule counts and lets fade: the digest, and principles nobody observes any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_actors.clock import SECOND, make_ulid
from cortex_actors.domain.event import Custom, Event
from cortex_actors.domain.insight import InsightStatus
from cortex_actors.domain.principle import Derivation
from cortex_actors.schedule.scheduler import SOURCE, JobPreparer
from cortex_actors.sections import MemorySettings
from cortex_actors.storage import projects
from cortex_actors.storage.events import Publisher
from cortex_actors.storage.events import store as store_events
from cortex_actors.storage.ledger.backups import BELIEVED
from cortex_actors.storage.memory.memory_attention import Tending
from cortex_actors.storage.pipeline import insights, principle_decay, principles
from cortex_actors.testing import EPOCH
from cortex_actors.topics import ORGANISATION_REQUESTED
from tests.schedule.support import DAY, Watched, scheduled
from tests.storage.promoted import make_principle

if TYPE_CHECKING:
    from pathlib import Path

    from cortex_actors.domain.event import Payload
    from cortex_actors.storage.ledger.actor import Connection
    from cortex_actors.storage.projects import PipelineRun

#: A file of the project that the storage tests share.
FILE = "/projects/atlas/CLAUDE.md"

#: Seconds of a hundred days.
LONG = 100 * DAY


async def digests(watched: Watched) -> list[PipelineRun]:
    """Return the digests that were kept, newest first."""
    return await watched.store.read(lambda c: projects.list_latest(c, projects.KIND))


def made(watched: Watched) -> JobPreparer:
    """Return what prepares the runs of a scheduler."""
    publisher, clock = Publisher(watched.bus, watched.store.records, SOURCE), watched.clock
    tending = Tending(publisher, clock, MemorySettings(), SOURCE)
    return JobPreparer(publisher, clock, tending, principle_decay.DEFAULTS)


async def promoted(watched: Watched, text: str, confidence: float = 0.5) -> None:
    """Let a file say a text that is a principle at once."""
    (said,) = await watched.store.says(FILE, text, at=watched.clock.now())

    def work(connection: Connection) -> None:
        insights.weigh(connection, [(said, confidence)])
        made = make_principle(insights.load_live(connection, [said])[said], watched.clock.now())
        principles.add(connection, [made])
        principles.derive(connection, [Derivation(made.id, said, 1.0)])

    await watched.store.write(work)


async def standing(watched: Watched) -> tuple[str, float]:
    """Return status and rank of the one principle."""
    ((status, rank),) = await watched.store.rows("SELECT status, round(rank, 3) FROM principles")
    return str(status), float(str(rank))


async def heard(watched: Watched, at: int) -> None:
    """Let so many events be said that their time is believed."""
    said: list[Event[Payload]] = [
        Event(f"evt_{make_ulid(at)}", "custom:tick", Custom({}), at, "test")
        for _ in range(BELIEVED)
    ]
    await watched.store.write(lambda c: len(store_events(c, said)))


class TestDigest:
    async def test_since_the_last(self, tmp_path: Path) -> None:
        """A digest counts what came since the one before, and is kept as a run."""
        async with scheduled(tmp_path) as watched:
            await watched.store.says(FILE, "One.", "Two.")
            await watched.turn(1)
            first = await watched.ask("digest")
            await watched.store.says(FILE, "One.", "Two.", "Three.", at=watched.clock.now())
            await watched.turn(1)
            second = await watched.ask("digest")
            kept = await digests(watched)

        assert first.said.startswith("2 new insights; 0 contradictions")
        assert second.said.startswith("1 new insights since 2026-01-01T00:00:01Z; ")
        assert [1, 2] == [run.counts["insights"] for run in kept]

    async def test_nothing_new(self, tmp_path: Path) -> None:
        """A time in which nothing was learned has no digest, and its next one counts from there."""
        async with scheduled(tmp_path) as watched:
            done = await watched.ask("digest")

            assert ("", []) == (done.said, await digests(watched))

    async def test_all_of_it(self, tmp_path: Path) -> None:
        """Contradictions, alerts, principles, failures and what waits are counted, too."""
        async with scheduled(tmp_path) as watched:
            ids = sorted(await watched.store.says(FILE, "Use tabs.", "Never use tabs."))
            await watched.store.write(lambda c: _events_of_a_day(c, ids))
            found = await watched.store.read(lambda c: projects.count_new(c, EPOCH, EPOCH + 1))

        assert (2, 1, 1, 1, 1, 3) == (
            found["insights"],
            found["contradictions"],
            found["open"],
            found["alerts"],
            found["failures"],
            found["candidates"],
        )

    async def test_clock_was_ahead(self, tmp_path: Path) -> None:
        """After a digest of a time that lies ahead, the next one counts what is new of a day."""
        async with scheduled(tmp_path) as watched:
            watched.clock.jump(LONG)
            await watched.store.says(FILE, "One.", at=watched.clock.now())
            await watched.turn(1)
            await watched.ask("digest")
            watched.clock.jump(-LONG)
            await watched.store.says(FILE, "One.", "Two.", at=watched.clock.now())
            await watched.turn(1)
            await watched.ask("digest")

            assert 2 == len(await digests(watched))


class TestDecay:
    async def test_rank(self, tmp_path: Path) -> None:
        """A principle that nobody observes loses rank with time, and says so in the log."""
        async with scheduled(tmp_path) as watched:
            await promoted(watched, "Use tabs.")
            fresh = await standing(watched)
            await watched.turn(LONG)
            done = await watched.ask("decay")

            assert ("active", 0.485) == fresh
            assert ("active", 0.377) == await standing(watched)
            assert "" == done.said  # the timer had it done before

    async def test_and_back(self, tmp_path: Path) -> None:
        """What nobody believes is pruned after seven runs in a row, not deleted, and comes back."""
        async with scheduled(tmp_path, decay_every_s=1e9) as watched:
            await promoted(watched, "Use tabs.", confidence=0.0)
            await watched.store.write(lambda c: c.exec_driver_sql(_POOR).rowcount)
            watched.clock.advance(1_000 * DAY)
            seen = []
            for _ in range(8):
                await watched.ask("decay")
                seen.append((await standing(watched))[0])
            await watched.store.says(FILE, "Use tabs.", at=watched.clock.now(), revision="b" * 64)
            await watched.ask("decay")

            assert ["decaying"] * 6 + ["pruned"] * 2 == seen
            assert "active" == (await standing(watched))[0]

    async def test_told(self, tmp_path: Path) -> None:
        """Where a principle stands otherwise the organiser is asked, so that files follow."""
        async with scheduled(tmp_path, decay_every_s=1e9) as watched:
            await promoted(watched, "Use tabs.", confidence=0.0)
            errands = made(watched)
            watched.clock.advance(LONG)
            ranked = await errands.decay()
            await watched.store.write(lambda c: c.exec_driver_sql(_POOR).rowcount)
            moved = await errands.decay()

            assert [] == list(ranked.say)
            assert [ORGANISATION_REQUESTED] == [each.topic for each in moved.say]

    async def test_meanwhile(self, tmp_path: Path) -> None:
        """What is observed between the look and the write is not written over by what was seen."""
        async with scheduled(tmp_path, decay_every_s=1e9) as watched:
            await promoted(watched, "Use tabs.")
            watched.clock.advance(LONG)
            now = watched.clock.now()
            done = await made(watched).decay()
            await watched.store.says(FILE, "Use tabs.", at=now, revision="b" * 64)
            assert done.work is not None
            await watched.store.write(done.work)

            assert [] == await watched.store.read(lambda c: principle_decay.find_faded(c, now))

    async def test_clock_ahead(self, tmp_path: Path) -> None:
        """A clock that is a hundred days ahead makes nothing old before it is believed."""
        async with scheduled(tmp_path) as watched:
            await promoted(watched, "Use tabs.")
            await heard(watched, EPOCH)
            watched.clock.jump(LONG)
            early = await watched.ask("decay")
            await heard(watched, EPOCH + LONG * SECOND)
            late = await watched.ask("decay")

            assert ("", "1 principles ranked again") == (early.said, late.said)

    async def test_merged(self, tmp_path: Path) -> None:
        """An insight that was merged into another one counts with that one's observations."""
        async with scheduled(tmp_path) as watched:
            await promoted(watched, "Use tabs.")
            later = EPOCH + 86_400 * SECOND
            ids = await watched.store.says("/projects/atlas/AGENTS.md", "Tabs, always.", at=later)
            await watched.store.write(lambda c: _merge(c, ids[0]))
            (found,) = await watched.store.read(lambda c: principle_decay.find_faded(c, EPOCH))

            assert found.rank > 0.3


#: A source that is worth nothing.
_POOR = "UPDATE principles SET quality = 0, confidence = 0"


def _merge(connection: Connection, into: str) -> None:
    """Let the other insight be superseded by one, with its sources."""
    connection.exec_driver_sql("UPDATE insight_sources SET insight_id = ?", (into,))
    connection.exec_driver_sql(
        "UPDATE insights SET superseded_by = ?, status = ? WHERE id <> ?",
        (into, str(InsightStatus.SUPERSEDED), into),
    )


def _events_of_a_day(connection: Connection, ids: list[str]) -> None:
    """Let a day bring a contradiction, an alert, a failed run and some candidates."""
    connection.exec_driver_sql(
        "INSERT INTO contradictions (id, insight_a, insight_b, type, detected_by, decided_by,"
        " reason, detected_at) VALUES ('con_1', ?, ?, 'direct', 'reconciler', 'rules', 'x', ?)",
        (*ids, EPOCH),
    )
    connection.exec_driver_sql(
        "INSERT INTO alerts (kind, project_id, path, fragment_id, line_start, line_end, detail,"
        " found_at) SELECT 'secret', id, '/a', 'f', 1, 1, 'a key', ? FROM projects",
        (EPOCH,),
    )
    failed = projects.PipelineRun(
        "run_1", "accumulator", EPOCH, EPOCH, state="failed", error="no disk"
    )
    weighed = projects.PipelineRun("run_2", "reconciler", EPOCH, EPOCH, counts={"candidates": 3})
    for run in (failed, weighed):
        projects.record(connection, run)
