"""The verb by which people look at how principles stand to one another, on a whole tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.errors import BadInput, NotFound
from cortex_actors.pipeline.relations import Linker
from cortex_actors.runtime.threads import Threads
from cortex_actors.sections import OrganisationSettings
from cortex_actors.storage.pipeline import principles
from cortex_actors.testing import EPOCH
from tests.flow.support import grown
from tests.storage.distilled import principle
from tests.storage.linked import named
from tests.storage.support import unit

if TYPE_CHECKING:
    from pathlib import Path

    from cortex_actors.storage.ledger.actor import Connection
    from cortex_actors.tree import Tree

#: A rule, one that says it for less, and one that nobody can follow beside it.
WIDE = "Use tabs for indentation."
NARROW = "Use tabs for indentation in Go."
AGAINST = "Use spaces for indentation."


async def _linked(tree: Tree) -> None:
    """Let the ledger hold three principles with their links, as the organiser draws them."""
    made = [principle(WIDE, rank=0.9), principle(NARROW), principle(AGAINST, rank=0.1)]
    threads = Threads("linking", 1)
    linker = Linker(
        tree.parts.records, threads, model=tree.parts.model, settings=OrganisationSettings()
    )
    rows = {each.text_hash: unit(1, number / 4) for number, each in enumerate(made)}
    found = await linker.find(made, rows=rows)
    threads.close()

    def work(connection: Connection) -> None:
        principles.add(connection, made)
        found.write(connection, at=EPOCH)

    await tree.parts.records.write(work)


class TestLinks:
    @pytest.mark.slow
    async def test_whole(self, tmp_home: Path) -> None:
        """What is linked is shown as a graph, whole or around one, and narrowed."""
        async with grown(tmp_home) as tree:
            await _linked(tree)
            links = tree.cortex.links
            whole = await links()
            one = await links(named(AGAINST)[:12])
            none = await links(kind="depends_on")
            for asked, error in (
                ({"principle": "pri_ffff"}, NotFound),
                ({"kind": "likes"}, BadInput),
                ({"least": 2.0}, BadInput),
                ({"limit": 0}, BadInput),
                ({"status": "alive"}, BadInput),
            ):
                with pytest.raises(error):
                    await links(**asked)

        assert {WIDE, NARROW, AGAINST} == {each["content"] for each in whole["principles"]}
        assert "contradicts" in {each["type"] for each in whole["links"]}
        assert (named(AGAINST), named(AGAINST)) == (one["principle"], one["principles"][0]["id"])
        assert {named(AGAINST)} <= {each["source_id"] for each in one["links"]}
        assert (0, [], []) == (none["total"], none["principles"], none["links"])
