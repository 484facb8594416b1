"""Tokens of stores that are added: where they go, and where they never appear."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.errors import HomeUnwritable, StoreUnusable
from cortex_actors.testing import eventually
from tests.federation.ringing import TOKEN, Ring
from tests.federation.rostered import House, Peer, base, names

if TYPE_CHECKING:
    from pathlib import Path


class TestTokens:
    async def test_keyring(self, guarded: House, ring: Ring) -> None:
        """A token goes into the keyring, and the file says only where it is."""
        found = await guarded.add("mem", token=TOKEN)

        assert {("cortex-actors", "mem"): TOKEN} == ring.kept
        assert "cortex-actors/mem" == guarded.kept()[0]["token_keyring"]
        assert TOKEN == Peer.MADE[-1].line.token
        assert TOKEN not in guarded.file.read_text() + repr(found)

    async def test_inline(self, house: House) -> None:
        """Without a keyring it stays in the file, which is told; no answer holds it."""
        found = await house.add("mem", token=TOKEN)
        everything = [found, await house.verbs.stores(), await house.verbs.ping_store()]

        assert TOKEN == house.kept()[0]["token"]
        assert "readable by you alone" in found["warnings"][0]
        assert TOKEN not in repr(everything)
        assert found["store"]["auth"]

    async def test_again(self, guarded: House, tmp_path: Path, ring: Ring) -> None:
        """After a restart the token is taken from the keyring."""
        await guarded.add("mem", token=TOKEN)
        await guarded.end()
        house = await House(tmp_path, ring=lambda: ring).begin()

        assert ["local", "mem"] == names(await house.fan())
        assert TOKEN == Peer.MADE[-1].line.token

    async def test_hangs(self, guarded: House, tmp_path: Path, ring: Ring) -> None:
        """While the keyring hangs the others are asked, and it is tried again after a while."""
        await guarded.add("mem", token=TOKEN)
        await guarded.end()
        ring.gate.clear()
        house = House(tmp_path, ring=lambda: ring, patience=0.1)
        await house.begin(stores=[base("fixed")])
        fan = await house.fan()
        ring.gate.set()

        assert ["local", "fixed"] == names(fan)
        assert "the keyring did not answer" in fan.unbindable[0][1]
        await eventually(lambda: self._is_bound_by_now(house, "mem"))
        assert ["local", "fixed", "mem"] == names(await house.fan())

    async def test_not_written(self, guarded: House, ring: Ring) -> None:
        """A token of a store that could not be kept is taken out of the keyring again."""
        guarded.file.mkdir()

        with pytest.raises(HomeUnwritable):
            await guarded.add("mem", token=TOKEN)
        assert {} == ring.kept

    async def test_no_token(self, house: House) -> None:
        """What can be no token is refused, and nothing has changed."""
        with pytest.raises(StoreUnusable, match="is no token"):
            await house.add("mem", token="two words")
        assert not house.file.exists()

    async def test_variable(self, house: House) -> None:
        """A token may lie in a variable of the daemon's environment."""
        house.environ["MEM_TOKEN"] = TOKEN
        await house.add("mem", token_env="MEM_TOKEN")

        assert TOKEN == Peer.MADE[-1].line.token
        assert TOKEN not in house.file.read_text()

    @staticmethod
    async def _is_bound_by_now(house: House, name: str) -> bool:
        """Let a while pass; tell whether a store is asked. Its keyring may be late once more."""
        house.clock.advance(30)
        await house.fan()
        return name in house.register.bound
