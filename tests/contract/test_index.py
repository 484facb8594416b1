"""What every index promises: the embedded one, and one on a Chroma server."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from cortex_actors.errors import IndexDown
from cortex_actors.testing import eventually
from tests.contract.chromaserver import serving
from tests.process.branch import INSIGHTS, Branch, running
from tests.storage.support import MODEL, Store, id_of, opened, unit

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from tests.contract.chromaserver import ChromaServer

pytestmark = pytest.mark.slow

HERE = "/projects/atlas/CLAUDE.md"

#: Texts and their vectors.
TEXTS = {"x": (1, 0, 0), "xy": (1, 1, 0), "y": (0, 1, 0), "z": (0, 0, 1)}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChromaServer]:
    """Give one server to all tests of this file: homes do not meet on it."""
    with serving(tmp_path_factory.mktemp("chroma") / "files") as server:
        yield server


@dataclass
class Kind:
    """A kind of index, in a folder of the test's."""

    folder: Path
    server: ChromaServer | None

    @property
    def settings(self) -> dict[str, Any]:
        """What a home is told that uses it."""
        return {"index": "server", "index_url": self.server.url} if self.server else {}

    @asynccontextmanager
    async def home(self, name: str = "home", **texts: tuple[int, int, int]) -> AsyncIterator[Store]:
        """Run the ledger of a home that knows those texts, or the usual ones."""
        known = texts or TEXTS
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        async with opened(folder) as store:
            await store.says(HERE, *known)
            await store.embed(**known)
            yield store

    def left(self, branch: Branch) -> set[str]:
        """Return which generations of a home have anything left."""
        if self.server is None:
            return set(branch.folders())
        tokens = [path.name.removeprefix("gen-") for path in branch.folder.glob("gen-*")]
        names = self.server.collections()
        return {f"gen-{t.partition('-')[0]}" for t in tokens for n in names if n.endswith(t)}


@pytest.fixture(params=["embedded", "server"])
def kind(request: pytest.FixtureRequest, tmp_path: Path) -> Kind:
    """Give each kind in turn."""
    server = request.getfixturevalue("server") if request.param == "server" else None
    return Kind(tmp_path, server)


class TestContents:
    async def test_life(self, kind: Kind) -> None:
        """It finds what it was told, best first, forgets what is gone, and outlives its process."""
        async with kind.home() as store:
            async with running(store, **kind.settings) as branch:
                await branch.ready()
                both = await branch.search([INSIGHTS, "cortex_village"], unit(1, 0, 0), 2)
                near, nothing = both[INSIGHTS], both["cortex_village"]
                await branch.drop("cortex_village", ["nobody"])
                await store.says(HERE, "xy", "y", "z")
                await branch.ready()
                gone = await branch.ids(1, 0, 0)
            async with running(store, **kind.settings) as branch:
                generation = await branch.ready()
                again = await branch.ids(1, 0, 0)
                verdict = await branch.verify()

        assert [id_of("x"), id_of("xy")] == [each for each, _ in near]
        assert pytest.approx([1.0, 0.5**0.5], abs=1e-5) == [cosine for _, cosine in near]
        assert [] == nothing
        assert {id_of("xy"), id_of("y"), id_of("z")} == set(gone) == set(again)
        assert 1 == generation
        (tally,) = verdict.collections
        assert (True, INSIGHTS, 3, 3) == (
            verdict.ok,
            tally.collection,
            tally.held,
            tally.expected,
        )
        assert (3, 0) == (tally.canaries, tally.lost)

    async def test_refusals(self, kind: Kind) -> None:
        """A question of another model or length is refused, and costs the index nothing."""
        async with kind.home() as store, running(store, **kind.settings) as branch:
            await branch.ready()
            with pytest.raises(IndexDown, match="other/9"):
                await branch.query(INSIGHTS, unit(1, 0, 0), 1, model="other/9")
            with pytest.raises(IndexDown, match="dimension"):
                await branch.query(INSIGHTS, unit(1, 0, 0, 0), 1)
            found = await branch.query(INSIGHTS, unit(0, 1, 0), 1, model=MODEL)

            assert [id_of("y")] == [each for each, _ in found]
            assert (0, 0) == (branch.info.deaths, branch.info.given_up)


class TestVerification:
    async def test_new_generation(self, kind: Kind, caplog: pytest.LogCaptureFixture) -> None:
        """What is missing, foreign or changed is noticed, each; a new generation has it right."""
        async with kind.home() as store:
            async with running(store, **kind.settings) as branch:
                await branch.ready()
                await branch.drop(INSIGHTS, [id_of("x")])
                await branch.put(
                    INSIGHTS, [id_of("y"), "ins_foreign"], np.stack([unit(1, 1, 1)] * 2)
                )
            async with running(store, **kind.settings) as branch:
                generation = await branch.ready()
                ids = await branch.ids(1, 0, 0)
                left = kind.left(branch)
                verdict = await branch.verify()

        assert f"{INSIGHTS}: of 4 items 1 missing, 1 not its own, 1 changed" in caplog.text
        assert (2, id_of("x")) == (generation, ids[0])
        assert {id_of(text) for text in TEXTS} == set(ids)
        assert {"gen-2"} == left
        assert verdict.ok, verdict.text

    async def test_while_it_is_open(self, kind: Kind) -> None:
        """An open index that lost something is found out by the next look, or by being asked."""
        async with kind.home() as store, running(store, **kind.settings) as branch:
            await branch.ready()
            await branch.drop(INSIGHTS, [id_of("x")])
            verdict = await branch.verify()
            await eventually(lambda: 1 == branch.info.given_up)
            generation = await branch.ready()
            ids = await branch.ids(1, 0, 0)

        assert not verdict.ok
        assert f"{INSIGHTS}: of 4 items 1 missing" == verdict.text
        assert (2, id_of("x")) == (generation, ids[0])


class TestApart:
    async def test_two_homes(self, kind: Kind) -> None:
        """Two homes never meet, even in generations of the same number on one server."""
        async with (
            kind.home("one", x=(1, 0, 0)) as first,
            kind.home("two", y=(1, 0, 0)) as second,
            running(first, **kind.settings) as one,
            running(second, **kind.settings) as two,
        ):
            generations = await one.ready(), await two.ready()
            found = await one.ids(1, 0, 0), await two.ids(1, 0, 0)
            await one.renew("on purpose")
            await eventually(lambda: 1 == one.info.given_up)
            await one.ready()
            after = await one.ids(1, 0, 0), await two.ids(1, 0, 0)
            sound = await two.verify()

        assert (1, 1) == generations
        assert ([id_of("x")], [id_of("y")]) == found == after
        assert sound.ok, sound.text
