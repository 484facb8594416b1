"""The roster: who can be asked, how each store has been doing, and what outlives a crash."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.errors import IndexDown, LedgerDown, NotFound
from cortex_actors.federation.roster import Roster
from cortex_actors.federation.store import AskOutcome
from cortex_actors.storage.search.scope import ROOMS
from cortex_actors.testing import eventually
from tests.federation.rostered import House, Peer, away, base, names

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
async def house(tmp_path: Path) -> House:
    """Give a home without a roster yet."""
    return House(tmp_path)


class TestFan:
    async def test_alone(self, house: House) -> None:
        """Without a store there is what is kept here, and the settings' own knobs."""
        fan = await (await house.begin(k=30, n_results=4)).fan()

        assert (["local"], (30.0, 4), ()) == (
            names(fan),
            (fan.knobs.k, fan.knobs.n_results),
            fan.unbindable,
        )

    async def test_order(self, house: House) -> None:
        """What is kept here comes first, then the settings' stores, then those that were added."""
        await house.begin(stores=[base("zeta", weight=2.0, floor=0.3), base("alpha")])
        await house.add("mem")
        fan = await house.fan()

        assert ["local", "zeta", "alpha", "mem"] == names(fan)
        assert (2.0, 0.3) == (fan.members[1].weight, fan.members[1].floor)

    async def test_separate(self, house: House) -> None:
        """Kept here as separate stores, each collection is one of them."""
        fan = await (await house.begin(local="separate", stores=[base()])).fan()

        assert [*ROOMS, "facts"] == names(fan)

    async def test_same(self, house: House) -> None:
        """Until somebody changes something every question is asked with the same value."""
        await house.begin(stores=[base()])

        assert await house.fan() is await house.fan()

    async def test_disabled(self, house: House) -> None:
        """A store that is disabled is not asked, and that is no news in an answer."""
        fan = await (await house.begin(stores=[base(enabled=False)])).fan()

        assert (["local"], ()) == (names(fan), fan.unbindable)
        assert "disabled" == (await house.row("facts"))["status"]

    @pytest.mark.parametrize(
        ("more", "reason"),
        [
            ({"type": "nope"}, "there is no type 'nope'; there are: other, peer"),
            ({"options": {"strange": 1}}, "it has no option 'strange'; it knows: path"),
            ({"options": {"broken": 1}}, "it could not be set up: ZeroDivisionError"),
            ({"token_env": "UNSET"}, "the daemon's variable UNSET is empty"),
            ({"url": "ftp://127.0.0.1"}, "its address cannot be used"),
        ],
    )
    async def test_unbindable(self, house: House, more: dict[str, Any], reason: str) -> None:
        """A store of the settings that cannot be asked keeps nobody else from being asked."""
        await house.begin(stores=[base("good"), {**base("bad"), **more}])
        fan = await house.fan()
        ((name, why),) = fan.unbindable

        assert (["local", "good"], "bad") == (names(fan), name)
        assert why.startswith(reason)
        assert f"skipped: {why}" == (await house.row("bad"))["status"]
        assert ["local", "good"] == (await house.verbs.stores())["active"]

    async def test_asked(self, house: House) -> None:
        """The federation asks what the roster knows, and the roster learns how that went."""
        await house.begin(federation=True, stores=[base(), {**base("bad"), "type": "nope"}])
        Peer.FAILS["mem"] = away("the door is shut")
        await house.add("mem")
        found = await house.recall()
        await eventually(lambda: "mem" in house.register.health)

        assert {"a", "facts-1"} == {hit.id for hit in found.hits}
        assert (("mem", "the door is shut"),) == found.failed
        assert (("bad", "there is no type 'nope'; there are: other, peer"),) == found.skipped
        assert (1, 1) == (
            (await house.health("facts"))["succeeded"],
            (await house.health("mem"))["failed"],
        )


class TestFlips:
    async def test_up_at_first(self, house: House) -> None:
        """A store counts as up before it was asked, so a good answer is no news."""
        await house.begin(stores=[base()])
        await house.port.ask(Roster.note_outcomes, (AskOutcome("facts", 0.1),))
        await house.end()

        assert [] == house.news

    async def test_once(self, house: House) -> None:
        """A store that goes on failing is news once, and so is one that answers again."""
        await house.begin(stores=[base()])
        for reason in ("away", "away", "", "", "away"):
            await house.port.ask(Roster.note_outcomes, (AskOutcome("facts", 0.1, reason),))
        await house.end()

        assert [("down", "facts"), ("up", "facts"), ("down", "facts")] == house.news

    async def test_not_asked(self, house: House) -> None:
        """A store that is turned off is not called down: nobody knows, and nobody asks."""
        await house.begin(stores=[base("facts")])
        await house.fan()
        await house.port.ask(Roster.note_outcomes, (AskOutcome("facts", 0.1, "refused"),))
        before = (await house.described())["down"]
        await house.verbs.disable_store("facts")

        assert ["facts"] == before
        assert [] == (await house.described())["down"]

    async def test_durable(self, house: House) -> None:
        """The news is stored, not only said."""
        await house.begin()
        await house.port.ask(
            Roster.note_outcomes, (AskOutcome("local", 0.1, str(IndexDown("away"))),)
        )
        await eventually(lambda: bool(house.journal.events))

        assert ["store:down"] == [event.topic for event in house.journal.events]

    async def test_ledger_away(self, house: House, monkeypatch: pytest.MonkeyPatch) -> None:
        """News that cannot be stored costs nobody anything: the roster goes on."""

        async def append(_: object) -> None:
            raise LedgerDown("away")

        monkeypatch.setattr(house.journal, "append", append)
        await house.begin(stores=[base()])
        await house.port.ask(Roster.note_outcomes, (AskOutcome("facts", 0.1, "away"),))

        assert "mem" == (await house.add("mem"))["added"]
        assert not (await house.health("facts"))["up"]

    async def test_removed_meanwhile(self, house: House) -> None:
        """How a store did that was removed while it was asked is nobody's to know."""
        await house.begin()
        await house.port.ask(Roster.note_outcomes, (AskOutcome("ghost", 0.1, "away"),))

        assert ["local"] == [each["name"] for each in (await house.verbs.store_health())["stores"]]


class TestPing:
    async def test_all(self, house: House) -> None:
        """Without a name all that are enabled are asked, and that is no question to them."""
        Peer.FAILS["bad"] = away("nobody is there")
        await house.begin(stores=[base("good"), base("bad"), base("off", enabled=False)])
        found = (await house.verbs.ping_store())["stores"]

        assert ["local", "good", "bad"] == [each["name"] for each in found]
        assert [True, True, False] == [each["ok"] for each in found]
        assert {"service": "peer"} == found[1]["says"]
        assert "nobody is there" == found[2]["reason"]
        assert 0 == (await house.health("bad"))["total"]

    async def test_another_s_words(self, house: House) -> None:
        """What a store says of itself, or of what is wrong, is shown cut and with all it hides."""
        Peer.SAYS["version"] = "1.0\u202e" + "x" * 100_000
        error = away("answered 503")
        error.said = "safe\u200b mode\n\x1b[2J" + "y" * 500  # type: ignore[attr-defined]
        Peer.FAILS["bad"] = error
        await house.begin(stores=[base("good"), base("bad")])
        _, good, bad = (await house.verbs.ping_store())["stores"]

        assert "1.0" == good["says"]["version"][:3]
        assert len(good["says"]["version"]) < 10_000
        assert (good["says"]["version"] + bad["reason"]).isprintable()
        assert "answered 503 (safe" == bad["reason"][:18]
        assert len(bad["reason"]) < 250

    async def test_disabled(self, house: House) -> None:
        """One that is disabled is asked by name, and stays disabled."""
        await house.begin(stores=[base("off", enabled=False)])
        (found,) = (await house.verbs.ping_store("off"))["stores"]

        assert found["ok"]
        assert ["local"] == names(await house.fan())
        assert [1] == [each.closed for each in Peer.MADE]

    async def test_unknown(self, house: House) -> None:
        """A name that no store has is refused with those there are."""
        await house.begin(stores=[base()])

        with pytest.raises(NotFound, match="no store named 'nope'; there are: facts"):
            await house.verbs.ping_store("nope")

    async def test_mended(self, house: House) -> None:
        """A store that could not be set up is, once a ping shows that it can."""
        await house.begin(stores=[base(token_env="LATER")])
        assert ["local"] == names(await house.fan())
        house.environ["LATER"] = "t0ken"
        await house.verbs.ping_store("facts")

        assert ["local", "facts"] == names(await house.fan())


class TestTogether:
    async def test_questions_go_on(self, house: House) -> None:
        """A change that waits for a disk keeps no question waiting, and is seen whole."""
        await house.begin(stores=[base()])
        changing = asyncio.gather(*(house.add(f"s{n}") for n in range(5)))
        seen = [names(await house.fan()) for _ in range(20)]
        await changing

        everything = names(await house.fan())
        assert ["local", "facts"] == everything[:2]
        assert {f"s{n}" for n in range(5)} == set(everything[2:])
        assert all(everything[: len(each)] == each for each in seen)
        assert everything[2:] == [each["name"] for each in house.kept()]
