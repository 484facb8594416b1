"""The custodian: reads are gathered, written together, and let memories sink."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.domain.event import Ids
from cortex_actors.domain.memory import Access, Layer, Realm
from cortex_actors.errors import DeadlineExceeded
from cortex_actors.memory.custodian import NAME, AccessReporter, Custodian
from cortex_actors.runtime.names import NamedActor
from cortex_actors.storage.ledger.actor import Records
from cortex_actors.storage.memory import memory_states
from cortex_actors.testing import EPOCH, eventually
from cortex_actors.topics import CONVERGENCE_DETECTED, MEMORY_ACCESSED, MEMORY_PROMOTED
from tests.memory.custody import Custody, memory
from tests.pipeline.support import Office, opened

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

#: Microseconds of a day.
DAY = 86_400_000_000


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    """Give a ledger, a bus and names, with nobody else at work."""
    async with opened(tmp_path) as found:
        yield found


@pytest.fixture
async def custody(office: Office) -> Custody:
    """Give a custodian that is at work."""
    return await Custody(office).begin()


class TestWriteBehind:
    async def test_window(self, custody: Custody) -> None:
        """Reads are written together when the window ends, and said once, by the custodian."""
        one, other = await custody.save(memory(1), memory(2))
        await custody.read(one)
        await custody.read(one, other)

        assert 0 == (await custody.one(one)).access_count
        await custody.over()

        assert [2, 1] == [(await custody.one(each)).access_count for each in (one, other)]
        assert EPOCH == (await custody.one(other)).accessed_at
        assert [(one, other)] == custody.said(MEMORY_ACCESSED)
        assert {NAME} == {e.source for e in custody.office.said if e.topic == MEMORY_ACCESSED}

    async def test_attention(self, custody: Custody) -> None:
        """A read is weighed by the one formula: fresh again, and a tenth more."""
        (one,) = await custody.save(memory(1))
        custody.office.clock.advance(86_400)
        await custody.read(one)
        await custody.over()

        assert pytest.approx(1.1, abs=0.001) == (await custody.one(one)).attention

    async def test_relevance(self, custody: Custody) -> None:
        """What was far from the question does not count, unless they share words."""
        one, other = await custody.save(memory(1), memory(2))
        await custody.tell([Access(one, 0.29), Access(one), Access(other, 0.1, by_words=True)])
        await custody.read(one, cosine=0.3)
        await custody.over()

        assert [1, 1] == [(await custody.one(each)).access_count for each in (one, other)]
        assert 2 == (await custody.describe())["irrelevant"]

    async def test_many(self, office: Office) -> None:
        """So many memories at once are written before the window ends."""
        custody = await Custody(office, flush_items=3).begin()
        ids = await custody.save(*map(memory, range(3)))
        await custody.read(*ids)

        await eventually(custody.is_written)
        assert [tuple(ids)] == custody.said(MEMORY_ACCESSED)

    async def test_unknown(self, custody: Custody) -> None:
        """A memory that is gone by then costs the others nothing."""
        (one,) = await custody.save(memory(1))
        await custody.read("mem_gone", one)
        await custody.over()

        assert [(one,)] == custody.said(MEMORY_ACCESSED)

    async def test_merged(self, custody: Custody) -> None:
        """Reads of a part count for the memory it has become part of."""
        whole, part = await custody.save(memory(1), memory(2))
        await custody.read(whole, part)
        at = custody.office.clock.now()
        await custody.office.write(
            lambda c: memory_states.merge(c, whole, [part], at=at, by="rules")  # type: ignore[arg-type]
        )
        await custody.over()

        assert [2, 0] == [(await custody.one(each)).access_count for each in (whole, part)]


class TestEnd:
    async def test_clean_stop(self, custody: Custody) -> None:
        """A clean stop loses nothing."""
        (one,) = await custody.save(memory(1))
        await custody.read(one)
        await custody.handle.stop(10)

        assert 1 == (await custody.one(one)).access_count

    async def test_kill(self, custody: Custody) -> None:
        """A crash loses what was read in the last window, and nothing else."""
        (one,) = await custody.save(memory(1))
        await custody.read(one)
        await custody.over()
        await custody.read(one)
        await custody.office.dismiss(NAME)
        await custody.begin()
        await custody.read(one)
        await custody.over()

        assert 2 == (await custody.one(one)).access_count


class Forgetful(Records):
    """Writes, and loses the first answer."""

    lost = False

    async def write(self, unit: Any, *, vital: bool = False) -> Any:
        """Run a unit of work."""
        found = await super().write(unit, vital=vital)
        if not self.lost:
            self.lost = True
            raise DeadlineExceeded("the answer was lost")
        return found


class TestTrouble:
    async def test_ledger_away(self, office: Office) -> None:
        """While the ledger is away reads wait, and say so; they are written once it is back."""
        custody = await Custody(office).begin(Records(office.names, timeout=0.05))
        (one,) = await custody.save(memory(1))
        await office.dismiss("ledger")
        await custody.read(one)
        office.clock.advance(5)
        await eventually(lambda: self._is_told(custody))
        await office.hire_ledger()
        # Its first answers may take longer than these records wait: then a later window writes.
        await eventually(lambda: self._is_written_by_now(custody))

        assert 1 == (await custody.one(one)).access_count
        assert "" == (await custody.describe())["trouble"]

    async def test_lost_answer(self, office: Office) -> None:
        """A write whose answer was lost is tried again, and nothing counts twice."""
        custody = await Custody(office).begin(Forgetful(office.names))
        (one,) = await custody.save(memory(1))
        await custody.read(one)
        office.clock.advance(5)
        await eventually(lambda: self._is_told(custody))
        await custody.read(one)
        await custody.over()

        assert 2 == (await custody.one(one)).access_count

    @staticmethod
    async def _is_written_by_now(custody: Custody) -> bool:
        """Let a window end; tell whether nothing waits."""
        custody.office.clock.advance(5)
        return await custody.is_written()

    @staticmethod
    async def _is_told(custody: Custody) -> bool:
        return bool((await custody.describe())["trouble"])


class TestPort:
    async def test_nobody(self, office: Office) -> None:
        """Whoever answers is not held up by a custodian that is away: what is lost is counted."""
        port = AccessReporter(NamedActor("custodian", office.names))
        port.report([Access("mem_1"), Access("mem_2")])
        port.report([])

        assert 2 == port.lost

    async def test_somebody(self, custody: Custody) -> None:
        """What it is told arrives without anybody waiting."""
        (one,) = await custody.save(memory(1))
        custodian: NamedActor[Custodian] = NamedActor("custodian", custody.office.names)
        port = AccessReporter(custodian)
        port.report([Access(one, by_words=True)])
        await custodian.ask(Custodian.flush)

        assert 1 == (await custody.one(one)).access_count
        assert 0 == port.lost

    async def test_flood(self, custody: Custody) -> None:
        """A flood that finds the mailbox full is counted, and raises nothing."""
        (one,) = await custody.save(memory(1))
        custodian: NamedActor[Custodian] = NamedActor("custodian", custody.office.names)
        port = AccessReporter(custodian)
        for _ in range(1_100):
            port.report([Access(one, by_words=True)])
        await custodian.ask(Custodian.flush)

        assert 1_100 == (await custody.one(one)).access_count + port.lost
        assert port.lost


class TestPromotion:
    async def test_second_read(self, custody: Custody) -> None:
        """What was read twice becomes a working memory, once, with the reason written down."""
        (one,) = await custody.save(memory(1))
        await custody.read(one)
        await custody.over()
        assert Layer.SENSORY == (await custody.one(one)).layer

        await custody.read(one, times=3)
        await custody.over()
        await custody.read(one)
        await custody.over()

        found = await custody.one(one)
        assert (Layer.WORKING, EPOCH + 10_000_000) == (found.layer, found.promoted_at)
        assert [("promote", NAME, "Access count 4 >= threshold 2")] == await custody.changes(one)
        assert [(one,)] == custody.said(MEMORY_PROMOTED)

    async def test_young(self, custody: Custody) -> None:
        """However often it was read, no memory is long-term before it is a day old."""
        (one,) = await custody.save(memory(1, layer=Layer.WORKING))
        await custody.read(one, times=5)
        await custody.over()
        assert Layer.WORKING == (await custody.one(one)).layer

        custody.office.clock.advance(86_400)
        await custody.read(one)
        await custody.over()
        assert Layer.LONG_TERM == (await custody.one(one)).layer

    async def test_long_term(self, custody: Custody) -> None:
        """No number of reads leads into the cortex."""
        (one,) = await custody.save(memory(1, layer=Layer.LONG_TERM, created_at=EPOCH - 90 * DAY))
        await custody.read(one, times=50)
        await custody.over()

        assert Layer.LONG_TERM == (await custody.one(one)).layer


class TestConvergence:
    async def test_crystallises(self, custody: Custody) -> None:
        """What several agents say alike sinks from long-term into the cortex, and from nowhere."""
        ids = await custody.save(*(memory(i, layer=layer) for i, layer in enumerate(Layer)))
        payload = Ids(tuple(ids))
        await custody.office.bus.publish(CONVERGENCE_DETECTED, payload, source="test")
        await custody.office.handled(NAME)

        assert [Layer.SENSORY, Layer.WORKING, Layer.CORTEX, Layer.CORTEX] == [
            (await custody.one(each)).layer for each in ids
        ]
        assert [(ids[2],)] == custody.said(MEMORY_PROMOTED)
        assert [("promote", NAME, "Convergence detected")] == await custody.changes(ids[2])

    async def test_consensus(self, custody: Custody) -> None:
        """What three agents say alike comes into the cortex from every layer, and two do not."""
        agents = ("CLAUDE", "VAJRA", "ELYSIAN")
        layers = (Layer.SENSORY, Layer.WORKING, Layer.CORTEX)
        ids = await custody.save(
            *(
                memory(number, agent_id=agent, layer=layer, realm=Realm.VILLAGE)
                for number, (agent, layer) in enumerate(zip(agents, layers, strict=True))
            )
        )
        found = []
        for some in (ids[:2], ids):
            payload = Ids(tuple(some))
            await custody.office.bus.publish(CONVERGENCE_DETECTED, payload, source="test")
            await custody.office.handled(NAME)
            found.append([(await custody.one(each)).layer for each in ids])

        assert [list(layers), [Layer.CORTEX] * 3] == found
        assert [tuple(ids[:2])] == custody.said(MEMORY_PROMOTED)

    async def test_twice(self, custody: Custody) -> None:
        """Said again, it changes nothing and nothing is said."""
        (one,) = await custody.save(memory(1, layer=Layer.LONG_TERM))
        for _ in range(2):
            payload = Ids((one,))
            await custody.office.bus.publish(CONVERGENCE_DETECTED, payload, source="test")
            await custody.office.handled(NAME)

        assert 1 == len(await custody.changes(one))
        assert [(one,)] == custody.said(MEMORY_PROMOTED)
