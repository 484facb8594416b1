"""Where the tokens of stores come from, and where they are kept."""

from __future__ import annotations

import asyncio

import pytest

from cortex_actors.errors import BadInput, StoreDown, StoreUnusable
from cortex_actors.federation.credentials import AT_ONCE, TokenPlace, Vault, open_keyring
from cortex_actors.federation.store import Auth, StoreSpec
from cortex_actors.testing import PATIENCE, eventually
from tests.federation.ringing import TOKEN, Ring


def opened(ring: Ring, *, patience: float) -> Vault:
    """Return a vault over it, and one variable."""
    environ = {"NOTES_TOKEN": f" {TOKEN}\n", "EMPTY": ""}
    return Vault(environ, ring=lambda: ring, patience=patience)


@pytest.fixture
def vault(ring: Ring) -> Vault:
    """Give a vault that waits for its keyring longer than any thread takes to begin."""
    return opened(ring, patience=PATIENCE)


@pytest.fixture
def hasty(ring: Ring) -> Vault:
    """Give one that waits for no time, over a keyring that hangs."""
    ring.gate.clear()
    return opened(ring, patience=0.05)


class TestFinding:
    async def test_none(self, vault: Vault, ring: Ring) -> None:
        """A store that wants no token has none, and nothing is asked for it."""
        assert not await vault.find_token(Auth())
        assert 0 == ring.asked

    async def test_order(self, vault: Vault, ring: Ring) -> None:
        """The token itself wins over the keyring, and that over a variable."""
        ring.kept["seren", "notes"] = "from-the-ring"
        every = Auth("itself", "seren/notes", "NOTES_TOKEN")

        assert "itself" == await vault.find_token(every)
        assert "from-the-ring" == await vault.find_token(Auth("", "seren/notes", "NOTES_TOKEN"))
        assert TOKEN == await vault.find_token(Auth("", "seren/other", "NOTES_TOKEN"))
        assert TOKEN == await vault.find_token(Auth(token_env="NOTES_TOKEN"))

    @pytest.mark.parametrize(
        ("auth", "text"),
        [
            (Auth(token_env="GONE"), "variable GONE is empty"),
            (Auth(token_env="EMPTY"), "variable EMPTY is empty"),
            (Auth(token_keyring="seren/gone"), "nothing for 'seren/gone'"),
            (Auth(token_keyring="seren"), "not SERVICE/USER"),
            (Auth(token_keyring="/notes"), "not SERVICE/USER"),
            (Auth(token="two words"), "is no token"),
            (Auth(token="line\r\nX-Evil: 1"), "is no token"),
            (Auth(token="straße"), "is no token"),
            (Auth(token="x" * 8_193), "is no token"),
        ],
    )
    async def test_not_there(self, vault: Vault, auth: Auth, text: str) -> None:
        """What names a token that is not there, or can be none, is told to a person."""
        with pytest.raises(StoreUnusable, match=text) as caught:
            await vault.find_token(auth)

        assert "X-Evil" not in str(caught.value)

    async def test_hanging(self, hasty: Vault, ring: Ring) -> None:
        """A keyring that waits for its user holds nobody up, and is not asked for ever."""
        auth = Auth(token_keyring="seren/notes")
        every = [hasty.find_token(auth) for _ in range(AT_ONCE + 3)]
        ended = await asyncio.gather(*every, return_exceptions=True)

        assert all(isinstance(each, StoreDown) for each in ended)
        assert AT_ONCE == ring.asked
        assert 3 == sum("earlier questions" in str(each) for each in ended)

    async def test_many(self, ring: Ring) -> None:
        """As many tokens as anybody has are found at once, though a few ask at a time."""
        auths = [Auth(token_keyring=f"seren/{number}") for number in range(AT_ONCE * 5)]
        ring.kept = {("seren", str(number)): f"tok-{number}" for number in range(AT_ONCE * 5)}
        vault = Vault({}, ring=lambda: ring, patience=30)
        ring.gate.clear()
        finding = asyncio.gather(
            *(vault.find_token(each) for each in auths), return_exceptions=True
        )
        await eventually(lambda: ring.asked == AT_ONCE)
        ring.gate.set()

        assert list(ring.kept.values()) == await finding

    async def test_hanging_with_a_variable(self, hasty: Vault) -> None:
        """While the keyring hangs, a variable that is named as well is used."""
        assert TOKEN == await hasty.find_token(Auth("", "seren/notes", "NOTES_TOKEN"))

    async def test_broken(self, vault: Vault, ring: Ring) -> None:
        """What a keyring says when it fails is not repeated: it may hold a token."""
        ring.broken = True

        with pytest.raises(StoreDown, match=r"the keyring failed \(RuntimeError\)") as caught:
            await vault.find_token(Auth(token_keyring="seren/notes"))
        assert TOKEN not in str(caught.value)

    async def test_nobody(self) -> None:
        """Where there is no keyring nothing is in it."""
        with pytest.raises(StoreUnusable, match="has no usable keyring, where 'seren/notes' was"):
            await Vault({}, ring=lambda: None).find_token(Auth(token_keyring="seren/notes"))

    async def test_next_step(self, vault: Vault) -> None:
        """The keyring is looked into again without a restart; a variable is not."""
        with pytest.raises(StoreUnusable, match="nothing for .*run cortex stores ping") as caught:
            await vault.find_token(Auth(token_keyring="seren/absent"))
        assert "restart" not in str(caught.value)
        with pytest.raises(StoreUnusable, match="ABSENT is empty; set the variable and restart"):
            await vault.find_token(Auth(token_env="ABSENT"))


class TestKeeping:
    async def test_in_the_keyring(self, vault: Vault, ring: Ring) -> None:
        """A token goes into the keyring; the description says only where."""
        kept = await vault.keep("notes", f"{TOKEN}\n")

        assert TokenPlace(Auth(token_keyring="cortex-actors/notes")) == kept
        assert {("cortex-actors", "notes"): TOKEN} == ring.kept
        assert TOKEN == await vault.find_token(kept.auth)

    async def test_taken(self, vault: Vault, ring: Ring) -> None:
        """What another home keeps under that name stays as it is."""
        ring.kept["cortex-actors", "notes"] = "another's"
        kept = await vault.keep("notes", TOKEN)

        assert "another's" == ring.kept["cortex-actors", "notes"]
        assert kept.auth.token_keyring.startswith("cortex-actors/notes.")
        assert TOKEN == await vault.find_token(kept.auth)

    @pytest.mark.parametrize("how", ["none", "in the clear", "hanging", "broken"])
    async def test_nowhere(self, how: str, ring: Ring) -> None:
        """Without a keyring to recommend the description holds it, and a person is told."""
        ring.priority = 0.5 if how == "in the clear" else 5
        ring.broken = how == "broken"
        if how == "hanging":
            ring.gate.clear()
        patience = 0.05 if how == "hanging" else PATIENCE
        vault = Vault({}, ring=lambda: None if how == "none" else ring, patience=patience)
        kept = await vault.keep("notes", TOKEN)

        assert Auth(token=TOKEN) == kept.auth
        assert "runtime-stores.json" in kept.warning
        assert TOKEN not in kept.warning + repr(kept)

    async def test_no_token(self, vault: Vault, ring: Ring) -> None:
        """What can be no token is refused before anything is kept."""
        with pytest.raises(BadInput, match="cannot keep the token of notes"):
            await vault.keep("notes", "two words")
        assert 0 == ring.asked


class TestForgetting:
    async def test_ours(self, vault: Vault, ring: Ring) -> None:
        """A token that was kept is deleted, once."""
        kept = await vault.keep("notes", TOKEN)

        assert await vault.forget(kept.auth)
        assert not await vault.forget(kept.auth)
        assert {} == ring.kept

    @pytest.mark.parametrize("place", ["seren/notes", "cortex-actors", "", "cortex-actors/"])
    async def test_others(self, place: str, vault: Vault, ring: Ring) -> None:
        """Entries of other programs are never deleted."""
        ring.kept["seren", "notes"] = "another's"

        assert not await vault.forget(Auth(token_keyring=place))
        assert 0 == ring.asked


class TestSystem:
    def test_without_one(self) -> None:
        """Where keyring's library finds none that answers there is none."""
        assert open_keyring() is None


def test_representation() -> None:
    """No representation of a store shows its token."""
    spec = StoreSpec("a", "peer", "http://127.0.0.1:1", auth=Auth(token="s3cret-value"))

    assert "s3cret" not in repr(spec)
