"""Publishing without waiting for anybody, over the real verbs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors import topics
from cortex_actors.errors import BadInput
from cortex_actors.testing import temporary_cortex

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from cortex_actors.tree import Tree


@pytest.fixture
async def tree() -> AsyncIterator[Tree]:
    """Give a running tree."""
    async with temporary_cortex() as tree:
        yield tree


@pytest.mark.slow
class TestPublishNow:
    async def test_said(self, tree: Tree) -> None:
        """A transient event of another process's own is said, once, as `publish` would say it."""
        said: list[Any] = []
        tree.bus.subscribe("custom:*", said.append)
        now = tree.cortex.publish_now("custom:a", {"n": 1}, source="me", transient=True)
        later = await tree.cortex.publish("custom:a", {"n": 1}, source="me", transient=True)

        assert now is not None
        assert now.keys() == later.keys()
        assert [now["id"], later["id"]] == [event.id for event in said]
        assert (said[0].payload, said[0].source) == (said[1].payload, said[1].source)

    async def test_not_its_business(self, tree: Tree) -> None:
        """What is durable, the daemon's, or checked against the ledger is left to `publish`."""
        said: list[Any] = []
        tree.bus.subscribe("*", said.append)
        change = {"path": "/a/CLAUDE.md", "project_id": "prj_1"}
        results = [
            tree.cortex.publish_now("custom:a", {}),
            tree.cortex.publish_now(topics.DAEMON_READY, {"name": "x"}, transient=True),
            tree.cortex.publish_now(topics.FILE_CHANGED, change, transient=True),
            tree.cortex.publish_now("custom:a", {}, transient=1),
        ]

        assert [None] * 4 == results
        assert [] == said

    async def test_too_large(self, tree: Tree) -> None:
        """The limit of a payload holds here, too."""
        with pytest.raises(BadInput, match="the limit is 65536"):
            tree.cortex.publish_now("custom:a", {"text": "x" * 70_000}, transient=True)

    @pytest.mark.parametrize(
        ("wrong", "words"),
        [
            ({"payload": "x"}, "must be an object"),
            ({"payload": [1]}, "must be an object"),
            ({"payload": [["a", 1]]}, "must be an object"),
            ({"payload": ""}, "must be an object"),
            ({"payload": {}, "source": 7}, "must be an object, its source a text"),
            ({"payload": {}, "source": "x" * 201}, "201 characters, the limit is 200"),
        ],
    )
    async def test_misshapen(self, tree: Tree, wrong: dict[str, Any], words: str) -> None:
        """What is no object, or comes from no short text, is refused on either way."""
        with pytest.raises(BadInput, match=words):
            await tree.cortex.publish("custom:a", transient=True, **wrong)
        with pytest.raises(BadInput, match=words):
            tree.cortex.publish_now("custom:a", transient=True, **wrong)
