"""Revoking in a whole tree: nothing is left of a source, and lifting it brings everything back."""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.errors import Refused
from cortex_actors.testing import eventually, settled
from tests.flow.downward import AGREED, ASKED, organised, section
from tests.flow.poisoned import Village, held, known, unfounded
from tests.flow.support import follow, grown
from tests.storage.support import active

if TYPE_CHECKING:
    from pathlib import Path

    from cortex_actors.tree import Tree

#: A seed to repeat; any other time it is drawn and printed where a test fails.
SEED = os.environ.get("CORTEX_REVOKE_SEED")

#: Worlds of a soak, and sources that are taken back one after the other in each.
WORLDS, TURNS = 12, 5

#: Independent projects that a principle needs.
LEAST = 2

pytestmark = pytest.mark.slow


async def ids(tree: Tree) -> dict[str, str]:
    """Return the texts that are known, and the id of each."""
    found = await tree.parts.records.read(active)
    return {each.content: each.id for each in found}


async def approved(tree: Tree) -> None:
    """Approve every principle, as a person does in the review."""
    await organised(tree)
    for each in (await tree.cortex.reviews(limit=100))["reviews"]:
        if each["asks"] == "write":
            await tree.cortex.approve(each["id"])
    await settled(tree, 60)


async def resolved(tree: Tree, village: Village) -> dict[str, str]:
    """Bring what is known into each project; return what stands there then."""
    await organised(tree)
    for root in village.roots:
        await tree.cortex.resolve(str(root))
    await settled(tree, 60)
    return village.sections()


async def turns(folder: Path, home: Path, seed: int, count: int) -> None:
    """Take sources back one after the other, each lifted again, in a world of that seed."""
    village = Village(folder, random.Random(seed), projects=4, texts=12)
    async with grown(home, **ASKED) as tree:
        await follow(tree, *village.roots, within=60)
        await approved(tree)
        before, every = await resolved(tree, village), await ids(tree)
        for _ in range(count):
            source = village.source(every)
            was = await known(tree)
            told = await tree.cortex.revoke(source.word)
            gone = village.only(source, every)
            assert gone == {each["content"] for each in told["texts"]}, (seed, source)
            await settled(tree, 60)
            assert set() == await held(tree, gone), (seed, source)
            assert set() == await unfounded(tree, LEAST), (seed, source)
            left = [text for text in gone for each in village.sections().values() if text in each]
            assert [] == left, (seed, source)

            await tree.cortex.lift(source.word)
            assert before == await resolved(tree, village), (seed, source)
            assert was == await known(tree), (seed, source)


class TestAtRandom:
    async def test_nothing_is_left(self, tmp_path: Path, tmp_home: Path) -> None:
        """No table and no file holds what only that source said, and undoing it restores all."""
        seed = int(SEED) if SEED else random.randrange(10**6)
        await turns(tmp_path, tmp_home, seed, 2)

    @pytest.mark.soak
    @pytest.mark.parametrize("world", range(WORLDS))
    async def test_at_length(self, tmp_path: Path, tmp_home: Path, world: int) -> None:
        """The same in a dozen worlds, for five sources in each."""
        await turns(tmp_path, tmp_home, int(SEED or 0) + world, TURNS)


def houses(folder: Path, **said: str) -> dict[str, Path]:
    """Make projects that each say lines in their CLAUDE.md; return their roots."""
    roots = {}
    for name, text in said.items():
        roots[name] = folder.resolve() / name
        roots[name].mkdir()
        (roots[name] / "CLAUDE.md").write_text(f"# {name}\n\n## Chores\n\n{text}")
    return roots


POISON, HONEST = "Clean the copper kettle with brandy.", "Label the oak barrel after the harvest."


class TestWayRound:
    async def test_files(self, tmp_path: Path, tmp_home: Path) -> None:
        """Files lose a poisoned bullet; one in whose section a human wrote keeps it and says so."""
        bad, own = f"- {POISON}\n- {HONEST}\n", "- Sweep the yard.\n"
        roots = houses(tmp_path, a=bad, b=bad, c=f"- {HONEST}\n", d=own, e=own)
        plain, edited = (roots[name] / "CLAUDE.md" for name in "de")
        async with grown(tmp_home, **AGREED) as tree:
            await follow(tree, *roots.values(), within=60)
            await organised(tree)
            human = plain.read_bytes()
            for path in (plain, edited):
                await tree.cortex.resolve(str(path))
                assert POISON in section(path)
            words = edited.read_text().replace("with brandy", "with cold brandy")
            edited.write_text(words)
            chain = await tree.cortex.history(f"{edited}:{_line(words, 'cold brandy')}")
            assert POISON == chain["principles"][0]["content"]
            told = await tree.cortex.revoke(str(roots["b"]), "not ours", dry_run=True)
            assert [str(plain), str(edited)] == [each["path"] for each in told["files"]]
            assert POISON in section(plain)

            await tree.cortex.revoke(str(roots["b"]), "not ours")
            await settled(tree, 60)
            assert (False, True) == (POISON in section(plain), HONEST in section(plain))
            assert plain.read_bytes().startswith(human)
            with pytest.raises(Refused, match="bring back what was taken back"):
                await tree.cortex.undo_resolution(str(plain))
            assert words == edited.read_text()
            found = await tree.cortex.revoked()
            assert ["not ours"] == [each["note"] for each in found["revoked"]]
            assert [(str(edited), True)] == [
                (each["path"], "edited by hand" in each["reason"]) for each in found["left_over"]
            ]

    async def test_opted_in(self, tmp_path: Path, tmp_home: Path) -> None:
        """What a project that opted in was given goes by itself, and comes when it is lifted."""
        roots = houses(tmp_path, a=f"- {POISON}\n", b=f"- {POISON}\n", d="- Sweep the yard.\n")
        path = roots["d"] / "CLAUDE.md"
        async with grown(tmp_home, **AGREED) as tree:
            await follow(tree, *roots.values(), within=60)
            await tree.cortex.set_auto(str(roots["d"]), on=True)
            await organised(tree)
            await eventually(lambda: POISON in section(path))
            name = (await tree.cortex.principles())["principles"][0]["id"]
            for source in ("a", name):
                await tree.cortex.revoke(source)
                await organised(tree)
                assert POISON not in section(path)
                await tree.cortex.lift(source)
                await eventually(lambda: POISON in section(path))
            await settled(tree, 60)


def _line(text: str, words: str) -> int:
    """Return the number of the line that holds words."""
    lines: list[Any] = text.splitlines()
    return next(number for number, line in enumerate(lines, 1) if words in line)
