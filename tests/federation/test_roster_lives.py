"""What outlives the roster: a crash, a clean end, and other settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.federation.roster import Roster
from cortex_actors.federation.store import AskOutcome
from cortex_actors.sections import TlsSettings
from cortex_actors.testing import eventually
from tests.federation.rostered import House, Peer, base, names

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
async def house(tmp_path: Path) -> House:
    """Give a home without a roster yet."""
    return House(tmp_path)


class TestCrash:
    async def test_turned(self, house: House) -> None:
        """What was turned until a restart, what was added and how stores did outlive a crash."""
        await house.begin(stores=[base()])
        await house.add("mem")
        await house.verbs.configure({"k": 5, "stores": [{"name": "facts", "weight": 3.0}]})
        await house.port.ask(Roster.note_outcomes, (AskOutcome("facts", 0.1, "away"),))
        await house.end(crash=True)
        await house.begin(stores=[base()])
        fan = await house.fan()

        assert (["local", "facts", "mem"], 5.0) == (names(fan), fan.knobs.k)
        assert 3.0 == fan.members[1].weight
        assert 1 == (await house.health("facts"))["failed"]

    async def test_connections(self, house: House) -> None:
        """Connections outlive a crash as well: nothing is set up twice."""
        await house.begin(stores=[base()])
        before = (await house.fan()).members[1].store
        await house.end(crash=True)
        await house.begin(stores=[base()])

        assert before is (await house.fan()).members[1].store

    async def test_restart(self, house: House, tmp_path: Path) -> None:
        """What is of the settings is as they say after a restart; what was added is there again."""
        await house.begin(stores=[base()])
        await house.add("mem", weight=2.0)
        await house.verbs.configure({"k": 5, "stores": [{"name": "facts", "weight": 3.0}]})
        await house.end()
        again = await House(tmp_path).begin(stores=[base()])
        fan = await again.fan()

        assert (["local", "facts", "mem"], 60.0) == (names(fan), fan.knobs.k)
        assert [1.0, 1.0, 2.0] == [each.weight for each in fan.members]


class TestEnd:
    async def test_closed(self, house: House) -> None:
        """A clean end closes every connection."""
        await house.begin(stores=[base()])
        await house.fan()
        await house.end()

        assert [1] == [each.closed for each in Peer.MADE]

    async def test_swept(self, house: House) -> None:
        """A store that is removed stays open until no question can have it in hand."""
        await house.begin()
        await house.add("mem")
        await house.verbs.remove_store("mem")
        await eventually(lambda: house.clock.sleepers > 0)
        assert [0] == [each.closed for each in Peer.MADE]

        house.clock.advance(30)
        await eventually(lambda: [1] == [each.closed for each in Peer.MADE])


class TestReload:
    async def test_health_kept(self, house: House) -> None:
        """Other settings do not make anybody forget how stores have been doing."""
        await house.begin(stores=[base()])
        await house.port.ask(
            Roster.note_outcomes, (AskOutcome("facts", 0.1, "away"), AskOutcome("local", 0.1))
        )
        await house.end()
        await house.begin(stores=[base(weight=2.0), base("new")], k=30)

        assert ["local", "facts", "new"] == names(await house.fan())
        assert (1, 1, 0) == (
            (await house.health("facts"))["failed"],
            (await house.health("local"))["total"],
            (await house.health("new"))["total"],
        )

    async def test_elsewhere(self, house: House) -> None:
        """A store that is somewhere else now begins with a clean sheet."""
        await house.begin(stores=[base()])
        await house.port.ask(Roster.note_outcomes, (AskOutcome("facts", 0.1, "away"),))
        await house.end()
        await house.begin(stores=[base(url="http://127.0.0.1:1")])

        assert 0 == (await house.health("facts"))["total"]

    async def test_turned(self, house: House) -> None:
        """What is turned holds until the settings are others, and then what these say counts."""
        await house.begin(stores=[base(), base("mem")])
        turned = [{"name": "facts", "weight": 3.0}, {"name": "mem", "weight": 4.0}]
        await house.verbs.configure({"k": 5, "n_results": 3, "stores": turned})
        await house.end()
        await house.begin(stores=[base(), base("mem")])
        same = await house.fan()
        await house.end()
        await house.begin(k=30, stores=[base(weight=2.0), base("mem")])
        other = await house.fan()

        assert (5.0, 3) == (same.knobs.k, same.knobs.n_results)
        assert [1.0, 3.0, 4.0] == [each.weight for each in same.members]
        assert (30.0, 10) == (other.knobs.k, other.knobs.n_results)
        assert [1.0, 2.0, 1.0] == [each.weight for each in other.members]

    async def test_reconnected(self, house: House) -> None:
        """Connections are made anew where the settings tell how they are made."""
        await house.begin(stores=[base()])
        before = (await house.fan()).members[1].store
        await house.end(crash=True)
        await house.begin(tls=TlsSettings(trust_system_store=True), stores=[base()])

        assert before is not (await house.fan()).members[1].store
