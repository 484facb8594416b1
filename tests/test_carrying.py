"""Importing a file in several steps, through the verbs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.api.memory import transfer
from cortex_actors.domain.agent import Caller
from cortex_actors.errors import BadInput
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
    records: list[dict[str, Any]] = [
        {"id": f"x{n}", "agent_id": "A", "content": f"Text {n}.", "created_at": n + 1}
        for n in range(3)
    ]
    records[0]["responding_to"] = ["x2"]
    path = tmp_path / "x.json"
    collections = {"cortex_private": records}
    path.write_text(json.dumps({"format_version": "1.0", "collections": collections}))
    return path


@pytest.mark.slow
class TestSteps:
    async def test_to_the_end(self, desk: FrontDesk, file: Path) -> None:
        """Each call says where the next one begins, and the last one ties up what answers what."""
        skip: int | None = 0
        steps = []
        while skip is not None:
            done = await desk.import_memories(str(file), skip=skip)
            skip = done["next"]
            steps.append(done["added"])
        found = {each["content"]: each for each in (await desk.export())["records"]}
        listed = (await desk.memories())["memories"]

        assert [{"private": 1}] * 3 == [step for step in steps if step]
        assert [found["Text 2."]["id"]] == found["Text 0."]["responding_to"]
        assert {"import"} == {each["trust"] for each in listed}

    async def test_eyes(self, desk: FrontDesk, file: Path) -> None:
        """An agent exports what it may read; an unknown kind is refused."""
        await desk.import_memories(str(file))

        assert 1 == len((await desk.export(caller=Caller("A")))["records"])
        assert [] == (await desk.export(caller=Caller("B")))["records"]
        with pytest.raises(BadInput, match="there are memories, crumbs"):
            await desk.export("stars")
