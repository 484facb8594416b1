"""The trail: crumbs are kept part by part, told of, and taken from texts of another system once."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.domain.memory import CrumbType
from cortex_actors.errors import BadInput
from cortex_actors.memory.trail import NAME, Trail
from cortex_actors.rules.admission import AdmissionRequest
from cortex_actors.runtime.names import NamedActor
from cortex_actors.storage import agent_records
from cortex_actors.storage.agent_records import CrumbFilter
from cortex_actors.text.summary import render
from cortex_actors.topics import CRUMB_LEFT
from tests.pipeline.support import Office, opened

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from cortex_actors.domain.memory import CrumbRecord


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    """Give a ledger, a bus and names, and a trail that is at work."""
    async with opened(tmp_path) as found:
        make = partial(Trail, found.bus, found.records, clock=found.clock)
        await found.employ(NAME, make)
        yield found


def leaving(office: Office) -> Callable[..., Any]:
    """Return what leaves a crumb of the agent A."""
    return partial(
        partial(NamedActor[Any](NAME, office.names).ask, Trail.leave), agent="A", by="owner"
    )


async def kept(office: Office) -> list[CrumbRecord]:
    """Return all crumbs, newest first."""
    return await office.read(lambda c: agent_records.list_crumbs(c, CrumbFilter(), limit=99))


class TestLeave:
    async def test_together(self, office: Office) -> None:
        """What an agent leaves in one moment is all kept, and each is told of once [N-20]."""
        given = [AdmissionRequest(f"crumb {n}", unfinished=["x"] * n) for n in range(5)]
        left = await asyncio.gather(*(leaving(office)(each) for each in given))

        assert 5 == len({each.id for each in left})
        assert {"A_20260101_000000"} == {each.session_id for each in left}
        assert set(left) == set(await kept(office))
        assert [CRUMB_LEFT] * 5 == office.topics_said()
        assert {(each.id,) for each in left} == {event.payload.ids for event in office.said}  # type: ignore[attr-defined]

    async def test_refused(self, office: Office) -> None:
        """A crumb that is refused is not kept, and nothing is said of it."""
        with pytest.raises(BadInput):
            await leaving(office)(AdmissionRequest("x", priority="BOGUS"))

        assert [] == await kept(office)
        assert [] == office.said


class TestTake:
    async def test_once(self, office: Office) -> None:
        """A text of another system is taken in once, of the agent and moment that it names."""
        left = await leaving(office)(
            AdmissionRequest("done", unfinished=["port it"], references={"a": "b"})
        )
        text = render(left).replace("A_2026", "V_2026").replace("Future A ", "Future vajra ")
        take = partial(
            partial(NamedActor[Any](NAME, office.names).ask, Trail.take), text, by="owner"
        )
        told = [await take(agent=agent) for agent in (None, None, "B")]
        taken, again, other = [crumb for crumb, _ in told]

        assert taken == again
        assert [True, False, True] == [is_new for _, is_new in told]
        assert ("VAJRA", "V_20260101_000000", left.left_at) == (
            taken.agent_id,
            taken.session_id,
            taken.left_at,
        )
        assert (("port it",), CrumbType.TASK, {"a": ("b",)}) == (
            taken.unfinished,
            taken.type,
            taken.references,
        )
        assert "B" == other.agent_id
        assert 3 == len(await kept(office))

    async def test_to_come(self, office: Office) -> None:
        """A text that says it was left in days to come is none: it would stay the last one."""
        left = await leaving(office)(AdmissionRequest("done"))
        text = render(left).replace("2026-01-01", "2026-01-03")
        with pytest.raises(BadInput, match="not yet"):
            await NamedActor[Any](NAME, office.names).ask(Trail.take, text, agent=None, by="owner")

        assert [left] == await kept(office)
