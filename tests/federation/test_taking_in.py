"""Stores that a Callosum's file describes."""

from __future__ import annotations

import pytest

from cortex_actors.errors import BadInput, HomeUnwritable
from tests.federation.ringing import TOKEN, Ring
from tests.federation.rostered import House, Peer, names

FILE = """
federation:
  k: 30
  edge_budget: 1
  stores:
    - {name: mem, type: peer, url: "http://127.0.0.1:7420", weight: 2.0, token: tok-4f0c9b21}
    - {name: facts, type: peer, url: "http://127.0.0.1:7422"}
    - {name: odd, type: nope, url: "http://127.0.0.1:7423"}
    - {name: bad, type: peer, url: "http://169.254.169.254"}
    - {name: mem, type: other, url: "http://127.0.0.1:7424"}
"""


class TestImport:
    async def test_taken(self, house: House) -> None:
        """A Callosum's stores and knobs are taken in; what cannot be asked is told with why."""
        found = await house.verbs.import_stores(FILE)
        fan = await house.fan()

        assert (["mem", "facts"], []) == (found["added"], found["replaced"])
        assert ["local", "fixed", "mem", "facts"] == names(fan)
        assert (30, 1, 2.0) == (fan.knobs.k, fan.knobs.edge_budget, fan.members[2].weight)
        assert {"k": 30, "edge_budget": 1} == found["changed"]
        assert [("added", "mem"), ("added", "facts")] == house.news
        skipped = {each["name"]: each["reason"] for each in found["skipped"]}
        assert "there is no type 'nope'" in skipped["odd"]
        assert "link-local" in skipped["bad"]
        assert TOKEN not in repr(found)

    async def test_again(self, house: House) -> None:
        """What is there already stays as it is, unless the file's is to count."""
        await house.verbs.import_stores(FILE)
        again = await house.verbs.import_stores(FILE.replace("weight: 2.0", "weight: 3.0"))
        assert ([], 2.0) == (again["added"], (await house.row("mem"))["weight"])

        found = await house.verbs.import_stores(FILE.replace("2.0", "3.0"), replace=True)
        assert (["mem", "facts"], []) == (found["replaced"], found["added"])
        assert 3.0 == (await house.row("mem"))["weight"]
        assert ["mem", "facts"] == [each["name"] for each in house.kept()]

    async def test_never_base(self, house: House) -> None:
        """A store of the settings is never replaced by a file."""
        file = FILE.replace("name: facts", "name: fixed")
        found = await house.verbs.import_stores(file, replace=True)

        assert ["mem"] == found["added"]
        assert "fixed" in {each["name"] for each in found["skipped"]}

    async def test_replaced_token(self, guarded: House, ring: Ring) -> None:
        """The token of a store that is replaced does not stay behind in the keyring."""
        await guarded.verbs.import_stores(FILE)
        await guarded.verbs.import_stores(FILE.replace(TOKEN, "tok-other"), replace=True)

        assert ["tok-other"] == list(ring.kept.values())
        assert "tok-other" == next(e.line.token for e in Peer.MADE[::-1] if e.spec.name == "mem")

    async def test_not_written(self, guarded: House, ring: Ring) -> None:
        """Where it cannot be written nothing of the file counts, not even its knobs."""
        guarded.file.mkdir()

        with pytest.raises(HomeUnwritable):
            await guarded.verbs.import_stores(FILE)
        fan = await guarded.fan()
        assert (["local", "fixed"], 60.0, {}) == (names(fan), fan.knobs.k, ring.kept)

    @pytest.mark.parametrize("text", ["", "a: &x [1]\nb: *x", "x" * 1_048_577])
    async def test_other_file(self, house: House, text: str) -> None:
        """Another file is refused, and nothing has changed."""
        with pytest.raises(BadInput, match="cannot import stores"):
            await house.verbs.import_stores(text)
        assert ["local", "fixed"] == names(await house.fan())


class TestForesight:
    async def test_same(self, house: House) -> None:
        """What is foreseen is what comes of it then, and nothing is changed by looking."""
        found = await house.verbs.import_stores(FILE, dry_run=True)
        assert ["local", "fixed"] == names(await house.fan())
        assert not house.file.exists()
        done = await house.verbs.import_stores(FILE)

        same = ("added", "replaced", "skipped", "changed")
        assert [done[key] for key in same] == [found[key] for key in same]
        assert ["mem", "facts"] == [each["name"] for each in found["stores"]]
