"""The doctor in a daemon: looks beside it, mends through its writer."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.doctor import checks
from cortex_actors.errors import CortexError
from cortex_actors.testing import eventually, settled
from cortex_actors.watching.watcher import Doubts
from tests.checkup.support import noticed
from tests.flow.support import grown

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from cortex_actors.storage.ledger.actor import Connection
    from cortex_actors.tree import Tree
    from tests.checkup.support import Case


@pytest.fixture
async def tree(case: Case) -> AsyncIterator[Tree]:
    """Give a running tree on a home that has learned something."""
    async with grown(case.home.root) as found:
        await settled(found)
        await eventually(lambda: 2 == len(found.watchers.list_watched()))
        await eventually(lambda: ready(found))
        yield found


async def ready(tree: Tree) -> bool:
    """Tell whether the index answers."""
    return bool("ready" == (await tree.cortex.status())["index"]["state"])


async def broken(tree: Tree, *statements: str) -> None:
    """Change the ledger past everybody who knows what belongs together."""

    def unit(connection: Connection) -> None:
        for each in statements:
            connection.exec_driver_sql(each)

    await tree.parts.records.write(unit)


def wrong(found: dict[str, Any]) -> set[str]:
    """Return the names of the checks that are not well; here nobody holds the home's lock."""
    worse = {each["check"] for each in found["checks"] if each["severity"] in ("warning", "error")}
    return worse - {"lock"}


@pytest.mark.slow
class TestOnline:
    async def test_mends(self, tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
        """What is broken while the daemon runs is named, mended, and right afterwards."""
        # Else a file of the last minute is one that a watcher is about to say.
        monkeypatch.setattr(checks, "GRACE", -1e9)
        # And a watcher would find out by itself that bytes differ.
        monkeypatch.setattr(Doubts, "find_changed", lambda *_: [])
        assert set() == wrong(await tree.cortex.doctor())
        await broken(
            tree,
            "DELETE FROM passages WHERE id < 4",
            "UPDATE vectors SET vector = x'00' WHERE seq > 20",
            "UPDATE file_states SET sha256 = 'x' WHERE path LIKE '%/CLAUDE.md'",
        )
        found = await tree.cortex.doctor()
        assert {"passages", "words", "vectors", "files"} <= wrong(found)
        assert 1 == found["exit_code"]

        mended = await tree.cortex.doctor(repair=True)
        assert {"passages", "words", "damaged", "files"} <= {
            each["repair"] for each in mended["repaired"]
        }
        await settled(tree)
        again = await tree.cortex.doctor(repair=True)
        assert (set(), []) == (wrong(again), again["repaired"])
        recalled = await tree.cortex.recall("port 5433 for the test database")
        assert recalled["hits"][0]["heading"].endswith("Test database")

    async def test_index(self, tree: Tree) -> None:
        """An index that has lost something is given up for a new generation."""
        await broken(
            tree,
            "UPDATE passages SET item_id = 'ins_x' WHERE id = 1",
        )
        found = await tree.cortex.doctor()
        told = " ".join(noticed(found, "index content"))

        assert (True, True) == ("1 missing" in told, "1 not its own" in told)

    @pytest.mark.parametrize("left", [True, False])
    async def test_deleted(self, tree: Tree, case: Case, *, left: bool) -> None:
        """An index whose folder was deleted or emptied is an error, and a repair begins another."""
        (folder,) = case.home.index.glob("gen-*")
        shutil.rmtree(folder)
        if left:
            folder.mkdir()
        found = await tree.cortex.doctor()
        assert {"index content"} == wrong(found)
        assert "is gone" in noticed(found, "index content")[0]
        assert 1 == found["exit_code"]

        mended = await tree.cortex.doctor(repair=True)
        # What learning left without use is swept on the way, if there is any.
        done = {each["repair"] for each in mended["repaired"]} - {"orphans"}
        assert {"index"} == done
        assert set() == wrong(mended)
        await eventually(lambda: ready(tree))
        again = await tree.cortex.doctor()
        assert set() == wrong(again)

    async def test_stops(self, tree: Tree) -> None:
        """A daemon that stops breaks a checkup off."""
        tree.parts.practice.close()

        with pytest.raises(CortexError):
            await tree.cortex.doctor()
