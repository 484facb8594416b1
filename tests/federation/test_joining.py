"""Stores that come and go while the daemon runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.errors import BadInput, HomeUnwritable, NotFound, Refused, StoreUnusable
from cortex_actors.federation import changes
from cortex_actors.federation.store import AskOutcome
from tests.federation.ringing import TOKEN, Ring
from tests.federation.rostered import URL, House, Peer, base, names

if TYPE_CHECKING:
    from pathlib import Path


class TestAdd:
    async def test_asked(self, house: House) -> None:
        """A store that was added is asked from the next question on, kept, and news."""
        found = await house.add("mem", weight=2.0, floor=0.2, options={"path": "/q"})

        assert ["local", "fixed", "mem"] == names(await house.fan()) == found["active"]
        assert [
            {
                "name": "mem",
                "type": "peer",
                "url": URL,
                "weight": 2.0,
                "floor": 0.2,
                "options": {"path": "/q"},
            }
        ] == house.kept()
        assert [("added", "mem")] == house.news
        assert ({"127.0.0.1": "loopback"}, []) == (found["resolves"], found["warnings"])
        assert "active" == found["store"]["status"]

    async def test_disabled(self, house: House) -> None:
        """One that is added disabled is known, and not asked until it is enabled."""
        await house.add("mem", enabled=False)
        assert ["local", "fixed"] == names(await house.fan())
        assert [0, 1] == [each.closed for each in Peer.MADE]

        await house.verbs.enable_store("mem")
        assert ["local", "fixed", "mem"] == names(await house.fan())

    @pytest.mark.parametrize(
        ("name", "more", "error", "why"),
        [
            ("", {}, BadInput, "name is required"),
            ("  ", {}, BadInput, "name is required"),
            ("local", {}, BadInput, "local is the name of what is kept here"),
            ("m", {"type": " "}, BadInput, "type is required"),
            ("m", {"type": "nope"}, BadInput, "there is no type 'nope'; there are: other, peer"),
            ("m", {"weight": -1.0}, BadInput, "weight: "),
            ("fixed", {}, Refused, "cortex.toml has one of that name"),
            ("m", {"options": {"strange": 1}}, StoreUnusable, "cannot add the store m: it has no"),
            ("m", {"token_env": "UNSET"}, StoreUnusable, "the daemon's variable UNSET is empty"),
            ("m", {"token_keyring": "x"}, StoreUnusable, "is not SERVICE/USER"),
            ("m", {"options": {"command": "sh"}}, StoreUnusable, "cortex.toml alone"),
        ],
    )
    async def test_refused(
        self, house: House, name: str, more: dict[str, Any], error: type[Exception], why: str
    ) -> None:
        """What could not be asked is refused with why, and nothing has changed."""
        before = await house.fan()

        with pytest.raises(error, match=why):
            await house.add(name, **more)
        assert names(before) == names(await house.fan())
        assert not house.file.exists()
        assert [] == house.news

    @pytest.mark.parametrize("url", ["", " / ", "ftp://h", "http://169.254.169.254/", "stdio:"])
    async def test_address(self, house: House, url: str) -> None:
        """An address that is none, or must not be connected to, is refused."""
        with pytest.raises((BadInput, StoreUnusable)):
            await house.verbs.add_store("m", "peer", url)
        assert not house.file.exists()

    async def test_twice(self, house: House) -> None:
        """A name that is taken is refused: neither store takes the other's place."""
        await house.add("mem", weight=2.0)

        with pytest.raises(Refused, match=r"runtime-stores\.json has one of that name"):
            await house.add("mem", weight=3.0)
        assert 2.0 == (await house.row("mem"))["weight"]

    async def test_too_many(self, house: House, monkeypatch: pytest.MonkeyPatch) -> None:
        """There are only so many: one question asks all of them."""
        monkeypatch.setattr(changes, "MOST", 2)
        await house.add("mem")

        with pytest.raises(Refused, match="there are 2 already"):
            await house.add("more")

    async def test_not_written(self, house: House, tmp_path: Path) -> None:
        """A store that cannot be kept is not asked either, and lets go of its connection."""
        house.file.mkdir()

        with pytest.raises(HomeUnwritable):
            await house.add("mem")
        assert ["local", "fixed"] == names(await house.fan())
        assert [0, 1] == [each.closed for each in Peer.MADE]
        assert [house.file] == list(tmp_path.iterdir())

    async def test_by_hand(self, house: House) -> None:
        """What somebody wrote into the file meanwhile is kept, and asked from then on."""
        house.file.write_text(json.dumps([base("hand"), "not a store"]))
        house.file.chmod(0o600)
        await house.add("mem")

        assert [base("hand"), "not a store", "mem"] == [
            *house.kept()[:2],
            house.kept()[2]["name"],
        ]
        assert ["local", "fixed", "hand", "mem"] == names(await house.fan())

    @pytest.mark.parametrize("how", [{"enabled": False}, {"url": "http://127.0.0.1:7999"}, None])
    async def test_edited(self, house: House, how: dict[str, Any] | None) -> None:
        """A store that somebody has edited in the file is asked as it stands there, or not."""
        await house.add("mem")
        edited = [] if how is None else [{**house.kept()[0], **how}]
        house.file.write_text(json.dumps(edited))
        await house.verbs.configure({"k": 30})
        asked = {each.store.name: each.store for each in (await house.fan()).members}
        lines = [each.line.address.port for each in Peer.MADE if each.spec.name == "mem"]

        assert ("mem" in asked) is (how is not None and "url" in how)
        assert ([7420, 7999] if "mem" in asked else [7420]) == lines
        assert ("mem" in asked) is ("mem" in house.register.bound)

    async def test_spoilt(self, house: House) -> None:
        """A file that is spoilt while the daemon runs takes no store away, and stays as it is."""
        await house.add("mem")
        house.file.write_text("garbage")
        with pytest.raises(HomeUnwritable, match="mend or remove it"):
            await house.add("more")

        assert ["local", "fixed", "mem"] == names(await house.fan())
        assert "garbage" == house.file.read_text()
        house.file.unlink()
        await house.add("more")
        assert ["local", "fixed", "more"] == names(await house.fan())


class TestRemove:
    async def test_gone(self, guarded: House, ring: Ring) -> None:
        """A store that is removed is asked no more, forgotten with its token, and news."""
        await guarded.add("mem", token=TOKEN)
        found = await guarded.verbs.remove_store("mem")

        assert ["local", "fixed"] == names(await guarded.fan()) == found["active"]
        assert ([], {}) == (guarded.kept(), ring.kept)
        assert [("added", "mem"), ("removed", "mem")] == guarded.news

    async def test_others_entry(self, guarded: House, ring: Ring) -> None:
        """A token that somebody else has put into the keyring stays there."""
        ring.kept["work", "me"] = TOKEN
        await guarded.add("mem", token_keyring="work/me")
        await guarded.verbs.remove_store("mem")

        assert {("work", "me"): TOKEN} == ring.kept

    async def test_shared(self, guarded: House, ring: Ring) -> None:
        """A token that another store is asked with as well goes with the last of them."""
        await guarded.add("mem", token=TOKEN)
        await guarded.add("more", token_keyring="cortex-actors/mem")
        await guarded.verbs.remove_store("mem")

        assert {("cortex-actors", "mem"): TOKEN} == ring.kept
        await guarded.verbs.remove_store("more")
        assert {} == ring.kept

    async def test_keyring_away(self, guarded: House, ring: Ring) -> None:
        """It goes even while the keyring does not answer, and what is left there is told."""
        await guarded.add("mem", token=TOKEN)
        ring.broken = True
        found = await guarded.verbs.remove_store("mem")

        assert "still in the keyring as cortex-actors/mem" in found["warnings"][0]
        assert ["local", "fixed"] == names(await guarded.fan())

    @pytest.mark.parametrize(
        ("name", "error", "why"),
        [
            ("fixed", Refused, r"it is a store of cortex\.toml"),
            ("local", Refused, "always takes part"),
            ("nope", NotFound, "no store named 'nope'; there are: fixed"),
        ],
    )
    async def test_refused(self, house: House, name: str, error: type[Exception], why: str) -> None:
        """What was not added by command is not removed by one."""
        with pytest.raises(error, match=why):
            await house.verbs.remove_store(name)
        assert ["local", "fixed"] == names(await house.fan())

    async def test_others(self, house: House) -> None:
        """How the others have been doing is not forgotten when one comes or goes."""
        house.register.note_outcomes([AskOutcome("fixed", 0.1, "away")], at=0)
        await house.add("mem")
        await house.verbs.remove_store("mem")

        assert 1 == (await house.health("fixed"))["failed"]

    async def test_clean_sheet(self, house: House) -> None:
        """A store of the same name that is added later has no past."""
        await house.add("mem")
        house.register.health["mem"] = house.register.list_health()[-1].note_ask(1.0, "away")
        await house.verbs.remove_store("mem")
        await house.add("mem")

        assert 0 == (await house.health("mem"))["total"]
