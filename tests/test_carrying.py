"""Importing a file in several steps, through the verbs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from cortex_actors.api.memory import transfer
from cortex_actors.domain.agent import Caller
from cortex_actors.errors import BadInput, Refused
from cortex_actors.testing import temporary_cortex

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from cortex_actors.api.desk import FrontDesk


@pytest.fixture
async def desk(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FrontDesk]:
    """Give the verbs of a whole tree, in which each step takes in one record."""
    monkeypatch.setattr(transfer, "LONG", 0.0)
    monkeypatch.setattr(transfer, "GROUP", 1)
    async with temporary_cortex() as tree:
        yield tree.cortex


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Give a file of three memories, the first of which answers the last."""
    records = [
        {"kind": "memory", "id": f"x{n}", "agent": "A", "text": f"Text {n}.", "created_at": n}
        for n in range(3)
    ]
    records[0]["responding_to"] = ["x2"]
    ends = [{"format": "cortex-actors", "version": 1}, {"kind": "end", "records": 3}]
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(json.dumps(each) for each in (ends[0], *records, ends[1])))
    return path


@pytest.mark.slow
class TestSteps:
    async def test_to_the_end(self, desk: FrontDesk, file: Path) -> None:
        """Each call says where the next one begins, and the last one ties up what answers what."""
        skip: int | None = 0
        steps, stamp = [], None
        while skip is not None:
            done = await desk.import_memories(str(file), skip=skip, stamp=stamp)
            skip, stamp = done["next"], done["stamp"]
            steps.append(done["added"])
        found = {each["text"]: each for each in (await desk.export())["records"]}

        assert [{"private": 1}] * 3 == [step for step in steps if step]
        assert [found["Text 2."]["id"]] == found["Text 0."]["responding_to"]
        assert {"import"} == {each["trust"] for each in found.values()}

    async def test_changed_meanwhile(self, desk: FrontDesk, file: Path) -> None:
        """A file that was changed between two steps is not gone on with."""
        done = await desk.import_memories(str(file))
        file.write_text(file.read_text() + "\n")
        with pytest.raises(Refused, match="changed meanwhile"):
            await desk.import_memories(str(file), skip=done["next"], stamp=done["stamp"])

    async def test_eyes(self, desk: FrontDesk, file: Path) -> None:
        """An agent exports what it may read and no changes; an unknown kind is refused."""
        await desk.import_memories(str(file))

        assert 1 == len((await desk.export(caller=Caller("A")))["records"])
        assert [] == (await desk.export(caller=Caller("B")))["records"]
        assert [] == (await desk.export("changes", caller=Caller("A")))["records"]
        with pytest.raises(BadInput, match="there are agents, memories"):
            await desk.export("stars")
        for after in ("\u00b2", "9" * 30, "-1"):
            with pytest.raises(BadInput, match="that is no number"):
                await desk.export("agents", after=after)
