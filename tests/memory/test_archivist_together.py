"""The archivist in trouble: many at once, no embedder, plans that do not hold, a failing disk."""

from __future__ import annotations

import asyncio
from itertools import permutations
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.errors import LedgerDown
from cortex_actors.memory.archivist import PLANS
from cortex_actors.storage import memory_history
from cortex_actors.storage.memory import memory_delete, memory_merge, memory_states
from cortex_actors.storage.tables import schema
from cortex_actors.testing import eventually
from cortex_actors.topics import MEMORY_MERGED
from tests.memory.remembering import Planted, Remembering
from tests.memory.test_archivist import AGAIN, AT, OTHERS, REDIS
from tests.pipeline.support import opened

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from cortex_actors.storage.ledger.actor import Connection
    from cortex_actors.storage.memory.memory_merge import MergePlan


@pytest.fixture
async def there(tmp_path: Path) -> AsyncIterator[Remembering]:
    """Give an archivist that knows nothing yet."""
    async with opened(tmp_path) as office:
        yield await Remembering(office, Planted(AT)).begin()


class TestTogether:
    async def test_same(self, there: Remembering) -> None:
        """Twenty who say the same at once have one memory."""
        found = await asyncio.gather(*(there.say(REDIS) for _ in range(20)))

        assert 1 == len({each.id for each in found})
        assert (1, 1) == await there.counts()

    async def test_near(self, there: Remembering) -> None:
        """Twenty who say it in other words at once have one memory, too."""
        words = REDIS.split()
        cuts = (0, 2, 5)  # where a phrase begins
        said = [" ".join([*words[cuts[n % 3] :], *words[: cuts[n % 3]]]) for n in range(20)]
        there.embed.at |= {each: (1, n / 100) for n, each in enumerate(dict.fromkeys(said))}
        await asyncio.gather(*(there.say(f"{each}. It is so.") for each in said))

        assert 1 == len(await there.active())

    async def test_unrelated(self, there: Remembering) -> None:
        """What lies apart does not wait for each other, and stays apart."""
        found = await asyncio.gather(*map(there.say, (REDIS, *OTHERS)))

        assert {"saved"} == {each.state for each in found}

    async def test_orders(self, tmp_path: Path) -> None:
        """Three wordings end in one memory, whichever comes first."""
        third = "By default Redis listens on port 6379"
        async with opened(tmp_path) as office:
            there = await Remembering(office, Planted({**AT, third: (1, 0.05)})).begin()
            for number, order in enumerate(permutations((REDIS, AGAIN, third))):
                for text in order:
                    await there.say(text, agent=f"A{number}")
            texts = (await there.active()).values()

        assert 6 == len(texts)
        assert 1 == len(set(texts))


class TestAllOrNothing:
    @pytest.mark.parametrize("where", ["write_whole", "note"])
    async def test_fails(
        self, there: Remembering, monkeypatch: pytest.MonkeyPatch, where: str
    ) -> None:
        """An error anywhere in the transaction leaves the ledger as it was (M-10)."""
        await there.say(REDIS)
        tables = (
            schema.memories,
            schema.passages,
            schema.memory_changes,
            schema.events,
        )
        before = [await there.rows(each) for each in tables]
        module = memory_states if where == "write_whole" else memory_history
        monkeypatch.setattr(module, where, _raise)
        with pytest.raises(LedgerDown):
            await there.say(AGAIN)

        assert before == [await there.rows(each) for each in tables]
        monkeypatch.undo()
        assert "merged" == (await there.say(AGAIN)).state


class TestPlans:
    async def test_again(self, there: Remembering, monkeypatch: pytest.MonkeyPatch) -> None:
        """A plan that does not hold any more is thought out again."""
        await there.say(REDIS)
        refused = _refusing(monkeypatch, PLANS - 1)
        found = await there.say(AGAIN)

        assert "merged" == found.state
        assert [] == refused

    async def test_enough(self, there: Remembering, monkeypatch: pytest.MonkeyPatch) -> None:
        """After three plans it is saved as it is, and compared later."""
        await there.say(REDIS)
        _refusing(monkeypatch, PLANS)
        found = await there.say(AGAIN)

        assert ("saved", True) == (found.state, found.pending)
        await eventually(lambda: len(there.said(MEMORY_MERGED)) == 1)
        assert 1 == len(await there.active())

    async def test_conflict_forgotten(
        self, there: Remembering, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A text is saved, in no conflict, when what contradicts it was forgotten meanwhile."""
        opposite = "Redis does not listen on port 6379 by default"
        there.embed.at[opposite] = (1, 0.1)
        old = await there.say(REDIS)
        commit = memory_merge.commit

        def late(connection: Connection, plan: MergePlan, how: memory_merge.How) -> bool:
            assert [old.id] == [each.memory_id for each in plan.clashes]
            memory_delete.forget(connection, [old.id], by="owner", at=how.at)
            return commit(connection, plan, how)

        monkeypatch.setattr(memory_merge, "commit", late)
        found = await there.say(opposite)

        assert "saved" == found.state
        assert [found.id] == list(await there.active())
        assert 0 == await there.rows(schema.memory_conflicts)

    async def test_supersedes_by_known(self, there: Remembering) -> None:
        """What is known already replaces what it was said to replace; said again, nothing more."""
        first, known = await there.say(REDIS), await there.say(OTHERS[0])
        for _ in range(2):
            found = await there.say(OTHERS[0], supersedes=(first.id, known.id))
            assert ("existing", known.id) == (found.state, found.id)

        assert () == found.superseded
        assert {known.id: OTHERS[0]} == await there.active()
        assert known.id == (await there.all())[first.id].replaced_by

    async def test_second_try(self, there: Remembering) -> None:
        """A second try of what has superseded something already gets the answer of the first."""
        first = await there.say(REDIS)
        found = [await there.say(AGAIN, supersedes=(first.id,), key="k") for _ in range(2)]

        assert ["saved", "existing"] == [each.state for each in found]
        assert found[0].id == found[1].id


class TestEmbedder:
    async def test_away(self, there: Remembering) -> None:
        """Without an embedder it is saved at once, and merged when there is one."""
        await there.say(REDIS)
        there.embed.is_away = True
        found = await there.say(AGAIN)

        assert ("saved", True) == (found.state, found.pending)
        there.embed.is_away = False
        await eventually(lambda: there.office.clock.sleepers > 0)
        there.office.clock.advance(there.settings.merge_again_s)
        await eventually(lambda: len(there.said(MEMORY_MERGED)) == 1)
        assert 1 == len(await there.active())
        assert [] == await there.office.read(lambda c: memory_merge.list_due(c, 5))

    async def test_never(self, there: Remembering) -> None:
        """A text that no model takes keeps no other from being compared."""
        await there.say(REDIS)
        there.embed.is_away = True
        for each in (OTHERS[0], AGAIN):
            await there.say(each)
        there.embed.is_away, there.embed.refused = False, OTHERS[0]
        await eventually(lambda: there.office.clock.sleepers > 0)
        there.office.clock.advance(there.settings.merge_again_s)
        await eventually(lambda: len(there.said(MEMORY_MERGED)) == 1)
        # Two of one millisecond are compared in either order: the refused one may be the last.
        await eventually(lambda: self._none_due(there))

        assert 1 == len(there.said(MEMORY_MERGED))

    async def test_pinned(self, there: Remembering) -> None:
        """What is pinned before it was compared waits, and keeps no other from being compared."""
        there.embed.is_away = True
        found = await there.say(REDIS)
        await there.office.write(
            lambda c: memory_history.pin(c, [found.id], pins=True, at=1, by="owner")
        )
        assert [] == await there.office.read(lambda c: memory_merge.list_due(c, 5))

        await there.office.write(
            lambda c: memory_history.pin(c, [found.id], pins=False, at=2, by="owner")
        )
        waits = await there.office.read(lambda c: memory_merge.list_due(c, 5))
        assert [found.id] == [each.id for each in waits]

    async def test_exact(self, there: Remembering) -> None:
        """What is known to the letter is known without a vector, too."""
        first = await there.say(REDIS)
        there.embed.is_away = True

        assert first.id == (await there.say(REDIS)).id

    @staticmethod
    async def _none_due(there: Remembering) -> bool:
        """Tell whether nothing waits to be compared."""
        return [] == await there.office.read(lambda c: memory_merge.list_due(c, 5))


def _raise(*_args: object, **_how: object) -> None:
    raise LedgerDown("the disk is full")


def _refusing(monkeypatch: pytest.MonkeyPatch, times: int) -> list[int]:
    """Let so many plans not hold; return those that are left."""
    left, commit = list(range(times)), memory_merge.commit

    def refused(*args: Any, **how: Any) -> bool:
        if left:
            left.pop()
            return False
        return commit(*args, **how)

    monkeypatch.setattr(memory_merge, "commit", refused)
    return left
