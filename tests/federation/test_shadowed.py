"""A file of stores that clashes with cortex.toml, or was spoilt: what is told and mends it."""

from __future__ import annotations

import json

import pytest

from cortex_actors.errors import Refused
from tests.federation.ringing import TOKEN, Ring
from tests.federation.rostered import House, base


class TestShadow:
    async def test_base_wins(self, house: House) -> None:
        """Of two stores of one name that of the settings counts, and that is told."""
        house.file.write_text(json.dumps([{**base("fixed"), "weight": 9.0}]))
        house.file.chmod(0o600)
        await house.end()
        await house.begin(stores=[base("fixed")])

        assert [1.0, 1.0] == [each.weight for each in (await house.fan()).members]
        (trouble,) = (await house.verbs.stores())["trouble"]
        assert "cortex.toml has one of that name; cortex stores remove fixed forgets" in trouble
        assert [] == (await house.described())["trouble"]

    async def test_forgotten(self, guarded: House, ring: Ring) -> None:
        """The one that is not used is forgotten by command with its token; the other one stays."""
        await guarded.add("mem", token=TOKEN)
        await guarded.end()
        await guarded.begin(stores=[base("mem")])
        found = await guarded.verbs.remove_store("mem")
        told = await guarded.verbs.stores()

        assert ("mem", True, ["local", "mem"]) == (
            found["removed"],
            found["shadowed"],
            found["active"],
        )
        assert ([], {}, []) == (guarded.kept(), ring.kept, told["trouble"])
        with pytest.raises(Refused, match=r"it is a store of cortex\.toml"):
            await guarded.verbs.remove_store("mem")

    async def test_shared_token(self, guarded: House, ring: Ring) -> None:
        """A token that the store of the settings names as well stays in the keyring."""
        await guarded.add("mem", token=TOKEN)
        await guarded.end()
        await guarded.begin(stores=[base("mem", token_keyring="cortex-actors/mem")])
        await guarded.verbs.remove_store("mem")

        assert {("cortex-actors", "mem"): TOKEN} == ring.kept


class TestSpoilt:
    async def test_at_a_start(self, house: House) -> None:
        """A file that was spoilt before the start is told, with its mend."""
        house.file.write_text("garbage")
        house.file.chmod(0o600)
        await house.end()
        await house.begin()
        (trouble,) = (await house.verbs.stores())["trouble"]

        assert "mend or remove it" in trouble
        assert [trouble] == (await house.described())["trouble"]
