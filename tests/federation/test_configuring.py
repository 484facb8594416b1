"""What is turned while the daemon runs: all of it or nothing, for the next question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.errors import BadInput, HomeUnwritable, NotFound, Refused, StoreUnusable
from tests.federation.rostered import House, Peer, base, names, weights

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
async def house(tmp_path: Path) -> House:
    """Give a roster with a store of the settings and one that was added."""
    house = await House(tmp_path).begin(stores=[base()])
    await house.add("mem")
    return house


class TestConfigure:
    async def test_everything(self, house: House) -> None:
        """Knobs and what stores count are turned together; the answer holds what was supplied."""
        stores = [{"name": "facts", "weight": 2.0}, {"name": "mem", "weight": 3.0, "floor": 0.4}]
        given = {"k": 5, "fusion_mode": "rrf_pct", "stores": stores}
        found = await house.verbs.configure(given)
        fan = await house.fan()

        assert (5, "rrf_pct", 10) == (fan.knobs.k, fan.knobs.fusion_mode, fan.knobs.n_results)
        assert {"local": 1.0, "facts": 2.0, "mem": 3.0} == weights(fan)
        assert 0.4 == fan.members[2].floor
        assert (given, "restart", ["mem"]) == (found["changed"], found["lasts"], found["kept"])

    async def test_nothing(self, house: House) -> None:
        """Nothing is turned by nothing, not even where it is a list of nothing."""
        before = await house.fan()

        assert {} == (await house.verbs.configure({}))["changed"]
        assert {"stores": []} == (await house.verbs.configure({"stores": []}))["changed"]
        assert (before.knobs, weights(before)) == (
            (await house.fan()).knobs,
            weights(await house.fan()),
        )

    async def test_nameless(self, house: House) -> None:
        """What is to count of no store is left out, as a Callosum does."""
        found = await house.verbs.configure({"stores": [{"weight": 9.0}]})

        assert {"stores": []} == found["changed"]
        assert {1.0} == set(weights(await house.fan()).values())

    @pytest.mark.parametrize(
        ("wrong", "error"),
        [
            ({"k": -1}, BadInput),
            ({"fusion_mode": "x"}, BadInput),
            ({"nope": 1}, BadInput),
            ({"stores": [{"name": "facts", "weight": 2.0}, {"name": "nope"}]}, NotFound),
            (
                {"stores": [{"name": "facts", "weight": 2.0}, {"name": "mem", "weight": -1}]},
                BadInput,
            ),
            ({"stores": [{"name": "facts", "weight": 2.0, "url": "http://h"}]}, BadInput),
            ({"stores": [{"name": "mem", "weight": 2.0}, {"name": 7}]}, BadInput),
            (
                {"stores": [{"name": "mem", "weight": 2.0}, {"name": "local", "floor": 0.1}]},
                Refused,
            ),
            ({"stores": {"name": "facts"}}, BadInput),
            ({"stores": ["facts"]}, BadInput),
            ({"stores": None}, BadInput),
        ],
    )
    async def test_atomic(
        self, house: House, wrong: dict[str, Any], error: type[Exception]
    ) -> None:
        """With anything wrong in it nothing is turned, here or in the file."""
        before, kept = await house.fan(), house.kept()

        with pytest.raises(error):
            await house.verbs.configure({"n_results": 3, **wrong})
        after = await house.fan()
        assert (before.knobs, weights(before)) == (after.knobs, weights(after))
        assert kept == house.kept()

    async def test_not_written(self, house: House) -> None:
        """Where what lasts cannot be written nothing is turned at all."""
        before = await house.fan()
        house.file.rename(house.file.with_name("there"))
        house.file.mkdir()

        with pytest.raises(HomeUnwritable):
            await house.verbs.configure({"k": 5, "stores": [{"name": "mem", "weight": 3.0}]})
        after = await house.fan()
        assert (before.knobs, weights(before)) == (after.knobs, weights(after))

    async def test_whole(self, house: House) -> None:
        """A question that has its stores in hand goes on with them as they were."""
        in_hand = await house.fan()
        await house.verbs.configure({"k": 5, "stores": [{"name": "mem", "weight": 3.0}]})

        assert (60.0, 1.0) == (in_hand.knobs.k, weights(in_hand)["mem"])

    async def test_time(self, house: House) -> None:
        """The time that a store has is turned for stores that are asked already."""
        before = (await house.fan()).members[1].store
        await house.verbs.configure({"per_store_timeout_s": 0.5})
        fan = await house.fan()

        assert (0.5, before) == (fan.knobs.per_store_timeout_s, fan.members[1].store)

    async def test_separate(self, house: House) -> None:
        """What is kept here can be taken apart into stores of its own."""
        await house.verbs.configure({"local": "separate"})
        await house.verbs.tune_store("cortex_private", weight=2.0)
        fan = await house.fan()

        assert "local" not in names(fan)
        assert 2.0 == weights(fan)["cortex_private"]

    async def test_health(self, house: House) -> None:
        """How stores have been doing is not forgotten over it."""
        house.register.health["mem"] = house.register.list_health()[-1].note_ask(1.0, "away")
        await house.verbs.configure({"k": 5})

        assert 1 == (await house.health("mem"))["failed"]

    async def test_seen_of_stores(self, house: House) -> None:
        """What a store of the settings counts is listed where it differs, and no longer than so."""
        await house.verbs.configure({"stores": [{"name": "facts", "weight": 2.0, "floor": 0.2}]})
        await house.verbs.configure({"stores": [{"name": "local", "weight": 0.5}]})
        found = (await house.verbs.stores())["tuned"]
        await house.verbs.configure({"stores": [{"name": "facts", "weight": 1.0, "floor": 0.0}]})

        assert {"live": 2.0, "settings": 1.0} == found["facts"]["weight"]
        assert {"live": 0.5, "settings": 1.0} == found["local"]["weight"]
        assert ["local"] == list((await house.verbs.stores())["tuned"])

    async def test_seen(self, house: House) -> None:
        """What is turned is listed beside what the settings say, and what is not is not."""
        await house.verbs.configure({"k": 5, "hops": 1})
        found = await house.verbs.stores()
        knobs = {each["name"]: each for each in (await house.verbs.knobs())["knobs"]}

        assert {"k": {"live": 5, "settings": 60}} == found["turned"]
        assert (5, set(knobs)) == (found["knobs"]["k"], set(found["supported_knobs"]))
        k = {"name": "k", "live": 5, "settings": 60, "default": 60, "twiddled": True}
        assert (k, False) == (knobs["k"], knobs["hops"]["twiddled"])


class TestTune:
    async def test_kept(self, house: House, tmp_path: Path) -> None:
        """What a store that was added counts is kept over a restart."""
        found = await house.verbs.tune_store("mem", weight=2.0, floor=0.3)
        await house.end()
        again = await House(tmp_path).begin(stores=[base()])

        assert ("kept", 2.0) == (found["lasts"], found["store"]["weight"])
        assert (2.0, 0.3) == ((await again.row("mem"))["weight"], (await again.row("mem"))["floor"])

    async def test_base(self, house: House) -> None:
        """What a store of the settings counts lasts until the daemon restarts."""
        found = await house.verbs.tune_store("facts", floor=0.3)

        assert ("restart", 0.3) == (found["lasts"], found["store"]["floor"])
        assert 0.3 == (await house.fan()).members[1].floor
        assert ["mem"] == [each["name"] for each in house.kept()]

    async def test_local(self, house: House) -> None:
        """What is kept here may weigh more or less, and has no floor."""
        await house.verbs.tune_store("local", weight=0.5)
        assert 0.5 == weights(await house.fan())["local"]

        with pytest.raises(Refused, match="has no floor"):
            await house.verbs.tune_store("local", floor=0.5)

    @pytest.mark.parametrize(
        ("name", "more", "error", "why"),
        [
            ("facts", {}, BadInput, "give a weight, a floor, or both"),
            ("facts", {"weight": -1.0}, BadInput, "cannot tune facts: weight: "),
            ("facts", {"weight": float("nan")}, BadInput, "cannot tune facts: weight: "),
            ("facts", {"floor": 1.5}, BadInput, "cannot tune facts: floor: "),
            ("nope", {"weight": 1.0}, NotFound, "no store named 'nope'"),
        ],
    )
    async def test_refused(
        self, house: House, name: str, more: dict[str, Any], error: type[Exception], why: str
    ) -> None:
        """What cannot be is refused with why."""
        with pytest.raises(error, match=why):
            await house.verbs.tune_store(name, **more)

    async def test_only_that(self, house: House) -> None:
        """What is not named stays: a weight leaves the floor as it is."""
        await house.verbs.tune_store("mem", floor=0.3)
        await house.verbs.tune_store("mem", weight=2.0)

        assert (2.0, 0.3) == ((await house.row("mem"))["weight"], (await house.row("mem"))["floor"])


class TestEnable:
    async def test_kept(self, house: House, tmp_path: Path) -> None:
        """A store that was added and is disabled stays so over a restart."""
        found = await house.verbs.disable_store("mem")
        assert ("kept", "disabled") == (found["lasts"], found["store"]["status"])
        assert ["local", "facts"] == names(await house.fan()) == found["active"]
        await house.end()

        again = await House(tmp_path).begin(stores=[base()])
        assert "disabled" == (await again.row("mem"))["status"]

    async def test_base(self, house: House) -> None:
        """One of the settings is disabled until the daemon restarts."""
        found = await house.verbs.disable_store("facts")
        assert "restart" == found["lasts"]
        assert ["local", "mem"] == names(await house.fan())

        found = await house.verbs.enable_store("facts")
        assert ["local", "facts", "mem"] == names(await house.fan())

    async def test_again(self, house: House) -> None:
        """What is so already is no error, and nothing is set up twice."""
        made = len(Peer.MADE)
        await house.verbs.enable_store("mem")

        assert made == len(Peer.MADE)
        assert ["local", "facts", "mem"] == names(await house.fan())

    async def test_cannot(self, tmp_path: Path) -> None:
        """One that could not be asked stays disabled, and why is told."""
        house = await House(tmp_path).begin(stores=[base(enabled=False, token_env="UNSET")])

        with pytest.raises(StoreUnusable, match="cannot enable facts: the daemon's variable UNSET"):
            await house.verbs.enable_store("facts")
        assert "disabled" == (await house.row("facts"))["status"]

    @pytest.mark.parametrize("verb", ["enable_store", "disable_store"])
    async def test_local(self, house: House, verb: str) -> None:
        """What is kept here always takes part."""
        with pytest.raises(Refused, match="always takes part"):
            await getattr(house.verbs, verb)("local")
