"""The archivist: what is said is kept, and becomes one with what says the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.domain.agent import Caller
from cortex_actors.domain.memory import PROBE, Layer, MemoryStatus, MemoryType, Realm
from cortex_actors.errors import BadInput, NotFound, NotYours, Refused
from cortex_actors.storage import memory_history
from cortex_actors.storage.memory import memory_states, memory_undo
from cortex_actors.storage.tables import schema
from cortex_actors.topics import MEMORY_MERGED, MEMORY_REMEMBERED
from tests.memory.remembering import Planted, Remembering
from tests.pipeline.support import opened

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

REDIS = "Redis listens on port 6379 by default"
AGAIN = "Redis by default listens on port 6379"
THIRD = "By default Redis listens on port 6379"
OTHERS = ("The parser is written in Rust", "Deploys wait for a green build")

#: Where the texts above lie: the first two near each other, everything else elsewhere.
AT = {REDIS: (1, 0.1), AGAIN: (1, 0), OTHERS[0]: (0, 0, 1), OTHERS[1]: (0, 0, 0, 1)}


@pytest.fixture
async def there(tmp_path: Path) -> AsyncIterator[Remembering]:
    """Give an archivist that knows nothing yet."""
    async with opened(tmp_path) as office:
        yield await Remembering(office, Planted(AT)).begin()


class TestSaving:
    async def test_new(self, there: Remembering) -> None:
        """What is new is saved, and said once it is."""
        found = await there.say(REDIS, tags=("db",))
        (memory,) = (await there.all()).values()

        assert ("saved", Layer.SENSORY, Realm.PRIVATE) == (found.state, found.layer, found.realm)
        assert (REDIS, REDIS, ("db",)) == (memory.text, memory.abstract, memory.tags)
        assert [(found.id,)] == there.said(MEMORY_REMEMBERED)

    async def test_exact(self, there: Remembering) -> None:
        """What is known to the letter is not written again (M-8, M-11)."""
        first = await there.say(REDIS)
        again = await there.say(REDIS)

        assert ("existing", first.id) == (again.state, again.id)
        assert (1, 1) == await there.counts()

    async def test_part(self, there: Remembering) -> None:
        """A text that has become part of another memory answers with that one."""
        first = await there.say(REDIS)
        whole = await there.say(AGAIN)

        assert ("existing", whole.id) == ((found := await there.say(REDIS)).state, found.id)
        assert first.id != whole.id

    async def test_inactive(self, there: Remembering) -> None:
        """A text that was archived is no reason not to say it again (M-8)."""
        first = await there.say(REDIS)
        await there.office.write(lambda c: memory_states.archive(c, [first.id], 1))

        assert "saved" == (await there.say(REDIS)).state

    async def test_dialogue(self, there: Remembering) -> None:
        """The same words may be said again in a conversation."""
        for _ in range(2):
            await there.say("Hello!", type=MemoryType.DIALOGUE)

        assert (2, 2) == await there.counts()

    async def test_role(self, there: Remembering) -> None:
        """Who spoke is part of the text that is kept, and of no abstract (M-2)."""
        found = await there.say("I like tea.", role="Ann")
        memory = (await there.all())[found.id]

        assert ("Ann: I like tea.", "I like tea.") == (memory.text, memory.abstract)

    async def test_abstract(self, there: Remembering) -> None:
        """An agent's own abstract is kept (M-17)."""
        found = await there.say(REDIS, abstract="where Redis is")

        assert "where Redis is" == (await there.all())[found.id].abstract

    async def test_probe(self, there: Remembering) -> None:
        """Of the doctor's probe nothing is said."""
        await there.say(REDIS, agent=PROBE, caller=Caller(PROBE))

        assert [] == there.said(MEMORY_REMEMBERED)


class TestMerging:
    async def test_one(self, there: Remembering) -> None:
        """After one merge there is one active memory, of three (M-12)."""
        first = await there.say(REDIS, tags=("db",), layer=Layer.WORKING)
        found = await there.say(AGAIN, tags=("port",))
        memory = (await there.all())[found.id]

        assert ("merged", (first.id,)) == (found.state, found.merged)
        assert (1, 3) == await there.counts()
        assert (("db", "port"), Layer.WORKING) == (memory.tags, memory.layer)
        assert first.id == (await there.parts(found.id))[1]
        (merged,) = there.said(MEMORY_MERGED)
        assert (found.id, first.id) == (merged[0], merged[2])

    async def test_beside_others(self, there: Remembering) -> None:
        """Two wordings are merged however many other memories there are (M-14)."""
        for each in (*OTHERS, REDIS):
            await there.say(each)

        assert "merged" == (await there.say(AGAIN)).state
        assert (3, 5) == await there.counts()

    async def test_unrelated(self, there: Remembering) -> None:
        """What is about something else stays as it is."""
        for each in (REDIS, *OTHERS):
            assert "saved" == (await there.say(each)).state

    async def test_cascade(self, there: Remembering) -> None:
        """Two merges of one remembering leave one of five; the first whole is part of the last."""
        there.embed.at[THIRD] = (1, 0.05)
        planted = {await there.plant(AGAIN), await there.plant(THIRD)}
        found = await there.say(REDIS)

        assert planted == set(found.merged)
        assert (1, 5) == await there.counts()
        assert [0, 2] == sorted([len(await there.parts(e)) for e in await there.parts(found.id)])

    async def test_split(self, there: Remembering) -> None:
        """What a person parted is not merged again, by itself or through a third."""
        await there.say(REDIS)
        whole = await there.say(AGAIN)
        await there.office.write(lambda c: memory_undo.split(c, whole.id, by="owner", at=1))
        there.embed.at[THIRD] = (1, 0.05)
        found = await there.say(THIRD)

        assert 1 == len(found.merged)
        assert 2 == len(await there.active())

    async def test_split_whole(self, there: Remembering) -> None:
        """A part that was made of others itself is kept apart from the other part, too."""
        there.embed.at[THIRD] = (1, 0.05)
        await there.say(REDIS)
        await there.say(AGAIN)
        whole = await there.say(THIRD)
        await there.office.write(lambda c: memory_undo.split(c, whole.id, by="owner", at=1))
        parted = await there.active()
        fourth = "By default, Redis listens on port 6379"
        there.embed.at[fourth] = (1, 0.02)
        found = await there.say(fourth)

        assert 2 == len(parted)
        assert 1 == len(found.merged)
        assert 2 == len(await there.active())

    async def test_pinned(self, there: Remembering) -> None:
        """What is pinned is kept as it is."""
        first = await there.say(REDIS)
        await there.office.write(lambda c: memory_history.fasten(c, first.id, 1))

        assert "saved" == (await there.say(AGAIN)).state

    async def test_no_merge(self, there: Remembering) -> None:
        """Whoever does not want it merged has it saved as it is."""
        await there.say(REDIS)

        assert "saved" == (await there.say(AGAIN, merge=False)).state

    async def test_no_merge_known(self, there: Remembering) -> None:
        """What is active to the letter is known all the same."""
        first = await there.say(REDIS)
        again = await there.say(REDIS, merge=False)

        assert ("existing", first.id) == (again.state, again.id)

    async def test_no_merge_part(self, there: Remembering) -> None:
        """What has become part of another memory is saved anew then."""
        await there.say(REDIS)
        await there.say(AGAIN)

        assert "saved" == (await there.say(AGAIN, merge=False)).state


class TestScope:
    @pytest.mark.parametrize(
        "other",
        [
            {"agent": "VAJRA"},
            {"thread": "t"},
            {"realm": Realm.VILLAGE},
            {"realm": Realm.BRIDGE, "related": ("VAJRA",)},
            {"role": "Ann"},
            {"type": MemoryType.DIALOGUE},
        ],
    )
    async def test_another(self, there: Remembering, other: dict[str, object]) -> None:
        """Nothing of another agent, realm, conversation, role or kind is merged."""
        await there.say(REDIS, **other)

        assert "saved" == (await there.say(AGAIN)).state

    async def test_written_role(self, there: Remembering) -> None:
        """A role that somebody wrote into the text makes the same text."""
        first = await there.say("I like tea.", role="Ann")

        assert first.id == (await there.say("Ann: I like tea.")).id

    async def test_village(self, there: Remembering) -> None:
        """Voices of the village are counted, and never become one."""
        await there.say(REDIS, realm=Realm.VILLAGE)

        assert "saved" == (await there.say(AGAIN, realm=Realm.VILLAGE)).state

    async def test_readers(self, there: Remembering) -> None:
        """On a bridge nothing reaches a new reader: only equal ones share a memory."""
        first = await there.say(REDIS, realm=Realm.BRIDGE, related=("VAJRA",))
        other = await there.say(REDIS, realm=Realm.BRIDGE, related=("KETHER",))
        same = await there.say(AGAIN, realm=Realm.BRIDGE, related=("VAJRA",))

        assert "saved" == other.state
        assert (first.id,) == same.merged


class TestConflict:
    async def test_opposite(self, there: Remembering) -> None:
        """What cannot both hold is named, noted, and never merged, however alike."""
        opposite = "Redis does not listen on port 6379 by default"
        there.embed.at[opposite] = (1, 0.1)
        first = await there.say(REDIS)
        found = await there.say(opposite)

        assert ("saved", [first.id]) == (found.state, [each for each, _ in found.conflicts])
        assert 1 == await there.rows(schema.memory_conflicts)

    async def test_value(self, there: Remembering) -> None:
        """Two that differ in a value stay two, at any cosine."""
        there.embed.at |= {"The cache has 3 nodes": (1,), "The cache has 5 nodes": (1, 0.01)}
        await there.say("The cache has 3 nodes")

        assert "saved" == (await there.say("The cache has 5 nodes")).state


class TestLinks:
    async def test_supersedes(self, there: Remembering) -> None:
        """What holds no more is superseded, and not merged."""
        first = await there.say(REDIS)
        found = await there.say(AGAIN, supersedes=(first.id,))
        old = (await there.all())[first.id]

        assert ("saved", MemoryStatus.SUPERSEDED, found.id) == (
            found.state,
            old.status,
            old.replaced_by,
        )

    async def test_others(self, there: Remembering) -> None:
        """An agent supersedes nothing of another's, and then nothing is kept."""
        first = await there.say(REDIS, realm=Realm.VILLAGE)
        with pytest.raises(NotYours):
            await there.say(AGAIN, agent="VAJRA", supersedes=(first.id,), caller=Caller("VAJRA"))

        assert (1, 1) == await there.counts()

    async def test_gone(self, there: Remembering) -> None:
        """What does not hold any more cannot be superseded."""
        first = await there.say(REDIS)
        await there.office.write(lambda c: memory_states.archive(c, [first.id], 1))
        with pytest.raises(Refused, match="does not hold"):
            await there.say(AGAIN, supersedes=(first.id,))

    async def test_reply(self, there: Remembering) -> None:
        """What its author may not read cannot be answered."""
        secret = await there.say(REDIS, agent="VAJRA")
        with pytest.raises(NotFound):
            await there.say(OTHERS[0], replies_to=(secret.id,))

        mine = await there.say(REDIS)
        found = await there.say(OTHERS[0], replies_to=(mine.id,))
        assert (mine.id,) == (await there.all())[found.id].replies_to


class TestKey:
    async def test_again(self, there: Remembering) -> None:
        """Under one key something is said once, even where the same may be said again."""
        first = await there.say("Hello!", type=MemoryType.DIALOGUE, key="k")
        again = await there.say("Hello!", type=MemoryType.DIALOGUE, key="k")
        other = await there.say("Hello!", type=MemoryType.DIALOGUE, agent="VAJRA", key="k")

        assert ("existing", first.id) == (again.state, again.id)
        assert "saved" == other.state

    async def test_other(self, there: Remembering) -> None:
        """A key stands for one text."""
        await there.say(REDIS, key="k")
        with pytest.raises(BadInput, match="another text"):
            await there.say(AGAIN, key="k")

    async def test_merged(self, there: Remembering) -> None:
        """A key leads to what its memory has become part of."""
        await there.say(REDIS, key="k")
        whole = await there.say(AGAIN)

        assert whole.id == (await there.say(REDIS, key="k")).id
