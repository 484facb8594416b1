"""What is known already gets what is new of a wish, and the answer says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.domain.memory import Layer, MemoryStatus, Realm
from cortex_actors.errors import Refused
from tests.memory.remembering import Planted, Remembering
from tests.pipeline.support import opened

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

REDIS, UV = "Redis listens on port 6379 by default", "We install packages with uv"


@pytest.fixture
async def there(tmp_path: Path) -> AsyncIterator[Remembering]:
    """Give an archivist that knows nothing yet."""
    async with opened(tmp_path) as office:
        yield await Remembering(office, Planted({REDIS: (1, 0), UV: (0, 1)})).begin()


class TestKnown:
    async def test_tags(self, there: Remembering) -> None:
        """New tags are added to the memory that is there, and named."""
        first = await there.say(REDIS, tags=("redis",))
        found = await there.say(REDIS, tags=("redis", "port"))
        again = await there.say(REDIS, tags=("port",))

        assert ("existing", ("port",), ()) == (found.state, found.tags_added, again.tags_added)
        assert {"redis", "port"} == set((await there.all())[first.id].tags)
        assert f"Known already as #{first.id}. Tags added: port." == found.message
        assert ["port"] == found.as_dict()["tags_added"]

    async def test_layer(self, there: Remembering) -> None:
        """It stays in its layer, and the answer says how to change that."""
        first = await there.say(REDIS, layer=Layer.WORKING)
        found = await there.say(REDIS, layer=Layer.CORTEX)
        shallow = await there.say(REDIS)

        assert Layer.WORKING is found.layer
        assert f"cortex memory promote {first.id} --to cortex" in found.message
        assert f"Known already as #{first.id}." == shallow.message


class TestReplaced:
    async def test_named(self, there: Remembering) -> None:
        """The answer names what was replaced, by something new as by what was known."""
        first, second = await there.say(REDIS), await there.say("Ports are kept in a file")
        known = await there.say(REDIS, supersedes=(second.id,))
        new = await there.say(UV, supersedes=(first.id,))

        assert [(second.id,), (first.id,)] == [known.superseded, new.superseded]
        assert [first.id] == new.as_dict()["superseded"]

    async def test_another_agent(self, there: Remembering) -> None:
        """The owner replaces nothing of one agent by what another one says, and nothing is kept."""
        first = await there.say(REDIS, realm=Realm.VILLAGE)
        with pytest.raises(Refused, match="CLAUDE said it"):
            await there.say(UV, agent="VAJRA", supersedes=(first.id,))

        assert MemoryStatus.ACTIVE is (await there.all())[first.id].status
        assert 1 == len(await there.active())
