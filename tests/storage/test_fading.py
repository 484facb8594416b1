"""Principles fade by what is known of them, and no jump of a clock takes many of them away."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from cortex_actors.clock import DAY, make_ulid
from cortex_actors.domain.event import Custom, Event
from cortex_actors.domain.insight import Decider
from cortex_actors.domain.principle import Derivation, Link, LinkType
from cortex_actors.rules.promotion import RankWeights
from cortex_actors.sections import OrganisationSettings
from cortex_actors.storage.events import store as store_events
from cortex_actors.storage.ledger.backups import BELIEVED
from cortex_actors.storage.pipeline import principle_decay, principles
from cortex_actors.storage.pipeline.principle_decay import DecayScales
from cortex_actors.testing import EPOCH
from tests.storage.distilled import principle
from tests.storage.linked import named
from tests.storage.support import id_of

if TYPE_CHECKING:
    from cortex_actors.domain.event import Payload
    from cortex_actors.storage.ledger.actor import Connection
    from tests.storage.support import Store

FILE = "/projects/atlas/CLAUDE.md"

#: Enough of them that losing many would show.
TEXTS = tuple(f"Rule number {number}." for number in range(12))

#: What makes a source worth nothing.
_POOR = "UPDATE principles SET quality = 0, confidence = 0"


@pytest.fixture
async def known(store: Store) -> Store:
    """Give a ledger with principles, each of an insight that a file says."""
    await store.says(FILE, *TEXTS)

    def work(connection: Connection) -> None:
        principles.add(connection, list(map(principle, TEXTS)))
        principles.derive(connection, [Derivation(named(t), id_of(t), 1.0) for t in TEXTS])
        principle_decay.settle(connection, map(named, TEXTS), EPOCH)

    await store.write(work)
    return store


async def statuses(store: Store) -> dict[str, int]:
    """Return how many principles stand how."""
    rows = await store.rows("SELECT status, count(*) FROM principles GROUP BY status")
    return {str(status): int(str(number)) for status, number in rows}


async def decay(store: Store, now: int) -> None:
    """Let a run of decay happen, as the schedule does."""

    def work(connection: Connection) -> None:
        today = principle_decay.get_today(connection, now)
        principle_decay.write(connection, principle_decay.find_faded(connection, today))

    await store.write(work)


async def said(store: Store, at: int, count: int = BELIEVED) -> None:
    """Let so many events be said at a time; after `BELIEVED` of them it is believed."""
    events: list[Event[Payload]] = [
        Event(f"evt_{make_ulid(at)}", "custom:tick", Custom({}), at, "test") for _ in range(count)
    ]
    await store.write(lambda c: len(store_events(c, events)))


class TestRank:
    async def test_settle(self, known: Store) -> None:
        """Rank and status of some are written as they are now; what is as written is left alone."""
        one = named(TEXTS[0])
        await known.write(lambda c: c.exec_driver_sql("UPDATE principles SET rank = 0").rowcount)
        found = await known.write(lambda c: principle_decay.settle(c, [one], EPOCH))
        again = await known.write(lambda c: principle_decay.settle(c, [one], EPOCH))

        assert [one] == [each.id for each in found]
        assert [] == again
        assert len(TEXTS) - 1 == len(await known.rows("SELECT 1 FROM principles WHERE rank = 0"))

    async def test_parts(self, known: Store) -> None:
        """What is counted about a principle makes its rank, part by part."""
        counted = await known.read(
            lambda c: principle_decay.load_evidence(c, [named(TEXTS[0]), "pri_0"])
        )
        one = counted[named(TEXTS[0])]
        ((rank,),) = await known.rows("SELECT DISTINCT rank FROM principles")

        assert (1, EPOCH, 0) == (one.observed, one.seen_at, one.links)
        assert rank == one.rank(EPOCH, DecayScales())
        assert pytest.approx(rank) == sum(
            each.points for each in one.list_parts(EPOCH, DecayScales())
        )
        assert [named(TEXTS[0])] == list(counted)

    async def test_within_a_day(self, known: Store) -> None:
        """No rank moves within a day, and each does once the next one has begun."""
        late = await known.read(lambda c: principle_decay.find_faded(c, EPOCH + DAY - 1))
        after = await known.read(lambda c: principle_decay.find_faded(c, EPOCH + DAY))

        assert (0, len(TEXTS)) == (len(late), len(after))

    async def test_links(self, known: Store) -> None:
        """Links make a rank higher, whichever end it is; a contradiction does not."""
        ends = [named(each) for each in TEXTS[:4]]
        made = [
            Link(ends[0], ends[1], LinkType.RELATED, 0.6, Decider.RULES, "x"),
            Link(ends[2], ends[3], LinkType.CONTRADICTS, 0.6, Decider.RULES, "x"),
        ]
        await known.write(lambda c: principles.replace_links(c, (), made, at=EPOCH))
        counted = await known.read(lambda c: principle_decay.load_evidence(c, ends))
        moved = await known.write(lambda c: principle_decay.settle(c, ends, EPOCH))

        assert [1, 1, 0, 0] == [counted[each].links for each in ends]
        assert set(ends[:2]) == {each.id for each in moved}

    async def test_settings(self, known: Store) -> None:
        """The weights and days of the settings are followed."""
        chosen = OrganisationSettings(
            rank_frequency=0, rank_recency=0, rank_quality=0, rank_links=0, half_life_days=1
        )
        one = [named(TEXTS[0])]
        (found,) = await known.write(
            lambda c: principle_decay.settle(c, one, EPOCH, DecayScales.from_settings(chosen))
        )

        assert 0.7 == found.rank
        assert RankWeights(0.35, 0, 0, 0, 0) == DecayScales.from_settings(chosen).weights


class TestPruning:
    async def test_a_week(self, known: Store) -> None:
        """What nobody believes for half a year is pruned after seven runs in a row, not deleted."""
        await known.write(lambda c: c.exec_driver_sql(_POOR).rowcount)
        seen = []
        for day in range(8):
            await decay(known, EPOCH + (1_000 + day) * DAY)
            seen.append(await statuses(known))

        assert [{"decaying": 12}] * 6 + [{"pruned": 12}] * 2 == seen

    async def test_back(self, known: Store) -> None:
        """New evidence brings back what was pruned, at once and by either way."""
        await known.write(lambda c: c.exec_driver_sql(_POOR).rowcount)
        for day in range(7):
            await decay(known, EPOCH + (1_000 + day) * DAY)
        later = EPOCH + 1_010 * DAY
        await known.says(FILE, *TEXTS, at=later, revision="b" * 64)
        first = named(TEXTS[0])
        await known.write(lambda c: principle_decay.settle(c, [first], later))
        one = await statuses(known)
        await decay(known, later)

        assert {"active": 1, "pruned": 11} == one
        assert {"active": 12} == await statuses(known)
        assert [(0,)] == await known.rows("SELECT DISTINCT strikes FROM principles")

    async def test_organising(self, known: Store) -> None:
        """Whoever organises a hundred times has not let a hundred runs of decay go by."""
        await known.write(lambda c: c.exec_driver_sql(_POOR).rowcount)
        late = EPOCH + 1_000 * DAY
        for _ in range(20):
            await known.write(lambda c: principle_decay.settle(c, map(named, TEXTS), late))

        assert {"decaying": 12} == await statuses(known)


class TestJumps:
    async def test_ahead(self, known: Store) -> None:
        """A clock that is years ahead makes nothing old before a hundred events have been said."""
        await known.write(lambda c: c.exec_driver_sql(_POOR).rowcount)
        await said(known, EPOCH)
        for _ in range(20):
            await decay(known, EPOCH + 5_000 * DAY)

        assert {"active": 12} == await statuses(known)

    async def test_believed(self, known: Store) -> None:
        """Believed for six days it prunes nothing, and all is as it was once it is set back."""
        await known.write(lambda c: c.exec_driver_sql(_POOR).rowcount)
        await said(known, EPOCH)
        ahead = EPOCH + 5_000 * DAY
        await said(known, ahead)
        for day in range(6):
            await decay(known, ahead + day * DAY)
        wrong = await statuses(known)
        await said(known, EPOCH + 7 * DAY)
        await decay(known, EPOCH + 7 * DAY)

        assert {"decaying": 12} == wrong
        assert {"active": 12} == await statuses(known)

    @pytest.mark.slow
    @pytest.mark.parametrize("seed", range(2))
    async def test_many(self, known: Store, seed: int) -> None:
        """However a clock jumps to and fro, every rank is right once the clock is right again."""
        chance, right = random.Random(seed), EPOCH
        for _ in range(15):
            right += DAY
            wrong = right + chance.choice([-400, 0, 0, 200, 3_000]) * DAY
            await said(known, wrong, chance.choice([1, 20, BELIEVED]))
            await decay(known, wrong + chance.randrange(DAY // 24))
        await said(known, right)
        await decay(known, right)
        expected = await known.read(lambda c: principle_decay.load_evidence(c, [named(TEXTS[0])]))
        (whole,) = expected.values()

        assert {"active": 12} == await statuses(known), f"seed {seed}"
        assert [(whole.rank(right, DecayScales()),)] == await known.rows(
            "SELECT DISTINCT rank FROM principles"
        )
