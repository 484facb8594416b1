"""The trail: crumbs are kept part by part, and announced."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.errors import BadInput
from cortex_actors.memory.trail import NAME, Trail
from cortex_actors.rules.admission import AdmissionRequest
from cortex_actors.runtime.names import NamedActor
from cortex_actors.storage import agent_records
from cortex_actors.storage.agent_records import CrumbFilter
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
