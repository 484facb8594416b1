"""The village at work: posts are told of, and it is noticed when agents agree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from cortex_actors.errors import EmbedderDown
from cortex_actors.storage.memory import memory_states
from cortex_actors.testing import EPOCH, eventually
from cortex_actors.topics import MEMORY_REMEMBERED, VILLAGE_POSTED
from tests.memory.speaking import Speaking, direction
from tests.pipeline.support import Office, opened

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

#: Two texts that say the same, and one that is against it.
PIN, PINNED, UNPINNED = (
    "Always pin your dependencies.",
    "Pin every dependency.",
    "Never pin your dependencies.",
)


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    """Give a ledger, a bus and names, with nobody else at work."""
    async with opened(tmp_path) as found:
        yield found


@pytest.fixture
async def village(office: Office) -> Speaking:
    """Give a village that is at work."""
    return await Speaking(office).begin()


class TestPost:
    async def test_told(self, village: Speaking) -> None:
        """A post is remembered and told of together; of what is private nobody else is told."""
        one = await village.say("A", "to all", thread="t")
        other = await village.say("A", "to myself", realm="private")

        office = village.office
        assert [MEMORY_REMEMBERED, VILLAGE_POSTED, MEMORY_REMEMBERED] == office.topics_said()
        assert [(one,), (one,), (other,)] == [event.payload.ids for event in office.said]  # type: ignore[attr-defined]
        assert [one] == await village.waiting()

    async def test_known(self, village: Speaking) -> None:
        """What was stated there before is told of once."""
        one, again = [await village.say("A", "x is 1", type="fact") for _ in range(2)]

        assert one == again
        assert [MEMORY_REMEMBERED, VILLAGE_POSTED] == village.office.topics_said()


class TestNotices:
    async def test_harmony(self, village: Speaking) -> None:
        """Two agents that say alike are noticed without a question, once [N-18b]."""
        one = await village.say("A", PIN, direction(0))
        two = await village.say("B", PINNED, direction(0, 0.5))
        await village.compared()

        assert [{one, two}] == village.told()

    async def test_grows(self, village: Speaking) -> None:
        """A third agent makes a consensus of it, which is told of again."""
        one = await village.say("A", PIN, direction(0))
        two = await village.say("B", PINNED, direction(0, 0.5))
        await village.compared()
        three = await village.say("C", "All dependencies should be pinned.", direction(0, 0.4))
        await village.compared()

        assert [{one, two}, {one, two, three}] == village.told()

    @pytest.mark.parametrize(
        ("agent", "text", "lean"), [("A", PINNED, 0.1), ("B", UNPINNED, 0.1), ("B", PINNED, 0.8)]
    )
    async def test_not(self, village: Speaking, agent: str, text: str, lean: float) -> None:
        """The same agent, the opposite, and what is not near enough make no agreement."""
        await village.say("A", PIN, direction(0))
        await village.say(agent, text, direction(0, lean))
        await village.compared()

        assert [] == village.told()

    async def test_realms(self, village: Speaking) -> None:
        """Bridges are compared with the village; what is private is compared with nothing."""
        one = await village.say("A", PIN, direction(0))
        two = await village.say("B", PINNED, direction(0), realm="bridge", related_agents=["C"])
        text = "Dependencies are pinned."
        await village.say("C", text, direction(0), realm="private")
        await village.compared()

        assert [{one, two}] == village.told()

    async def test_without_vector(self, village: Speaking) -> None:
        """A post whose vector comes late is compared then, whichever of the two it is."""
        one = await village.say("A", PIN)
        two = await village.say("B", PINNED, direction(0))

        async def one_waits() -> bool:
            return [one] == await village.waiting()

        await eventually(one_waits)
        await village.means(PIN, direction(0))
        await village.compared()

        assert [{one, two}] == village.told()

    async def test_next_life(self, village: Speaking) -> None:
        """What a killed village has not compared, its next life compares."""
        one = await village.say("A", PIN)
        two = await village.say("B", PINNED)
        await village.office.dismiss("village")
        for text in (PIN, PINNED):
            await village.means(text, direction(0))
        await village.begin()
        await village.compared()

        assert [{one, two}] == village.told()

    async def test_nobody_told(self, village: Speaking, monkeypatch: pytest.MonkeyPatch) -> None:
        """A post that was kept is compared, also where the ledger ended before its event."""
        await village.say("B", PINNED, direction(0))
        await village.compared()
        monkeypatch.setattr(village.office.bus, "announce", lambda _: None)
        await village.say("A", PIN, direction(0))

        async def compared() -> bool:
            village.office.clock.advance(village.office.clock.due)
            return not await village.waiting()

        await eventually(compared)

    async def test_taken_out(self, village: Speaking) -> None:
        """What was taken out before it was compared makes no agreement, and waits no more."""
        await village.say("A", PIN, direction(0))
        two = await village.say("B", PINNED)
        await village.office.write(lambda c: memory_states.archive(c, [two], EPOCH))
        await village.compared()

        assert [] == village.told()


class TestQuestions:
    @pytest.fixture(autouse=True)
    async def _said(self, village: Speaking) -> None:
        """Let three agents speak of dependencies, and have that noticed."""
        village.meanings["dependencies"] = direction(0, 0.6)
        self.one = await village.say("A", PIN, direction(0))
        self.two = await village.say("B", PINNED, direction(0, 0.5))
        self.three = await village.say("C", UNPINNED, direction(0, 0.2))
        await village.say("D", "The weather is lovely.", direction(3))
        await village.compared()

    async def test_found(self, village: Speaking) -> None:
        """A question finds who agrees, names the opposite, and tells nobody again [N-18]."""
        found = (await village.converge("dependencies")).found

        assert [("A", "B")] == [group.agents for group in found.groups]
        assert [{"A", "C"}, {"B", "C"}] == sorted(
            ({pair.left.agent, pair.right.agent} for pair in found.apart), key=sorted
        )
        assert [{self.one, self.two}] == village.told()

    async def test_near_the_question(self, village: Speaking) -> None:
        """What is near the question need not be near each other, and what is far is left out."""
        village.meanings["both"] = (direction(0) + direction(3)) / (2**0.5)
        village.meanings["gravity"] = direction(5)
        answer = await village.converge("both")

        assert {"A", "B", "C", "D"} == {each.memory.agent_id for each in answer.posts.values()}
        assert [("A", "B")] == [group.agents for group in answer.found.groups]
        assert {} == (await village.converge("gravity")).posts

    async def test_reader(self, village: Speaking) -> None:
        """An agent's question compares what that agent may read."""
        text, meaning = "Dependencies are pinned.", direction(0, 0.3)
        await village.say("D", text, meaning, realm="bridge", related_agents=["A"])
        for reader, expected in ((None, "ABD"), ("A", "ABD"), ("B", "AB")):
            found = (await village.converge("dependencies", reader=reader)).found

            assert tuple(expected) == found.groups[0].agents

    async def test_looser(self, village: Speaking) -> None:
        """A question looser than the settings is answered, and its groups are not told of."""
        meaning = (0.6 * direction(0) + 0.8 * direction(4)).astype(np.float32)
        await village.say("E", "Dependencies get exact versions.", meaning)
        await village.compared()
        found = (await village.converge("dependencies", threshold=0.5)).found

        assert ("A", "B", "E") == found.groups[0].agents
        assert [{self.one, self.two}] == village.told()

    async def test_no_model(self, village: Speaking) -> None:
        """Without a vector for the question whoever asks is told why."""
        village.is_away = True

        with pytest.raises(EmbedderDown):
            await village.converge("dependencies")
