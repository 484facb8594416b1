"""The verbs of the village and of the trail through a whole tree: what each caller gets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.domain.agent import Caller
from cortex_actors.errors import BadInput, NotFound, NotYours
from cortex_actors.testing import eventually
from tests.flow.support import grown

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from cortex_actors.api.desk import FrontDesk

pytestmark = pytest.mark.slow

AZOTH, VAJRA, KETHER = (Caller(each) for each in ("AZOTH", "VAJRA", "KETHER"))

PIN = "Always pin every dependency to an exact version in the lock file."


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[FrontDesk]:
    """Give the verbs of a whole tree."""
    async with grown(tmp_path / "home") as tree:
        yield tree.cortex


class TestVillage:
    async def test_conversation(self, desk: FrontDesk) -> None:
        """A conversation across realms is read by each as far as it may, and adds up [N-14]."""
        one = await desk.post(PIN, thread="deps", agent="azoth")
        two = await desk.post(
            "For your eyes.", "bridge", thread="deps", related_agents=["KETHER"], caller=VAJRA
        )
        three = await desk.post("Agreed.", responding_to=[one["id"], two["id"]], caller=KETHER)
        mine, theirs = [await desk.thread("deps", caller=each) for each in (KETHER, AZOTH)]

        assert [one["id"], two["id"], three["id"]] == [each["id"] for each in mine["messages"]]
        assert [one["id"], three["id"]] == [each["id"] for each in theirs["messages"]]
        assert [one["id"]] == theirs["messages"][1]["responding_to"]
        assert [three["id"]] == mine["messages"][1]["answered_by"]
        assert (["AZOTH", "KETHER"], 2) == (theirs["agents"], theirs["total"])
        assert "Azoth" == mine["messages"][0]["agent_display"]
        assert theirs == await desk.thread("deps", as_agent="AZOTH")

        listed, stats = await desk.threads(caller=AZOTH), await desk.village_stats(caller=AZOTH)
        assert [("deps", 2)] == [(each["thread"], each["posts"]) for each in listed["threads"]]
        assert ({"village": 2}, 1) == (stats["by_realm"], stats["threads"])
        assert 3 == (await desk.village_stats())["total"]
        with pytest.raises(NotFound, match="called .*memory list --thread"):
            await desk.thread("nowhere")
        assert mine["messages"] == (await desk.thread(" deps\n", caller=KETHER))["messages"]
        with pytest.raises(BadInput, match="names no thread"):
            await desk.thread(" ")
        with pytest.raises(NotYours):
            await desk.threads(as_agent="VAJRA", caller=AZOTH)

    async def test_asked_at_once(self, desk: FrontDesk) -> None:
        """What was said just now counts, although its vector is still to come."""
        await desk.post(PIN, agent="AZOTH")
        await desk.post(PIN + " Always.", agent="VAJRA")
        found = await desk.convergence("pin every dependency version")

        assert (True, 2) == (found["has_convergence"], found["agent_count"])

    async def test_convergence(self, desk: FrontDesk) -> None:
        """Agents that post or remember alike are noticed, and found by the document's keys."""
        text = PIN + " " + "Because builds must repeat. " * 3
        await desk.post(text, agent="AZOTH")
        await desk.remember(text, realm="village", agent="VAJRA")
        await desk.post("Cats sleep.", agent="KETHER")

        async def told() -> bool:
            stats = await desk.village_stats()
            return (1, 0) == (stats["convergences"]["HARMONY"], stats["waiting"])

        await eventually(told)
        found = await desk.convergence("pin every dependency version")

        assert ("HARMONY", True, 2, 2, 0.7, ["AZOTH", "VAJRA"]) == tuple(
            found[key]
            for key in (
                *("type", "has_convergence", "agent_count", "total_messages", "threshold"),
                "converging_agents",
            )
        )
        (preview,) = found["by_agent"]["AZOTH"]
        assert (103, "...") == (len(preview["preview"]), preview["preview"][100:])
        three = await desk.convergence("pin every dependency version", min_agents=3)
        assert ("NONE", False, {}) == (
            three["type"],
            three["has_convergence"],
            three["by_agent"],
        )
        for bad in ({"min_agents": 1}, {"min_agents": True}, {"threshold": 0.4}):
            with pytest.raises(BadInput):
                await desk.convergence("x", **bad)
        with pytest.raises(BadInput):
            await desk.convergence(" ")


class TestCrumbs:
    async def test_next_session(self, desk: FrontDesk) -> None:
        """A session finds what its agent left, the newest first, and what is to be done [N-21]."""
        first = await desk.leave_crumb(
            "Moved the tests.",
            ["fixtures are shared"],
            unfinished_business=["port two", "delete it"],
            references={"message_ids": ["mem_1"], "thread_ids": ["tests"], "files": "a.py"},
            priority="HIGH",
            caller=AZOTH,
        )
        second = await desk.leave_crumb(
            "Went on.", unfinished_business=["port two"], agent="AZOTH", session_id="s2"
        )
        await desk.leave_crumb("Another's.", caller=VAJRA)
        found = await desk.crumbs(caller=AZOTH)

        assert [second["id"], first["id"]] == [each["id"] for each in found["crumbs"]]
        assert second["id"] == found["most_recent"]["id"]
        assert ["port two", "delete it"] == found["unfinished_tasks"]
        assert {"message_ids": ["mem_1"], "thread_ids": ["tests"], "files": ["a.py"]} == found[
            "key_references"
        ]
        assert {
            "total_found": 2,
            "by_priority": {"HIGH": 1, "MEDIUM": 1},
            "by_type": {"task": 2},
        } == found["summary"]
        assert "Forward crumb left: s2" == second["message"]
        tasks = (await desk.unfinished(caller=AZOTH))["tasks"]
        assert [("port two", second["id"]), ("delete it", first["id"])] == [
            (each["task"], each["crumb"]) for each in tasks
        ]

    async def test_readers(self, desk: FrontDesk) -> None:
        """A crumb is its agent's and the owner's: nobody else finds it, by any way."""
        left = await desk.leave_crumb("The heron nests.", caller=AZOTH)
        for reader, expected in ((AZOTH, [left["id"]]), (VAJRA, [])):
            assert expected == [each["id"] for each in (await desk.crumbs(caller=reader))["crumbs"]]
            hits = (await desk.recall("heron nests", caller=reader))["hits"]
            assert expected == [hit["id"] for hit in hits]
        hit = (await desk.recall("heron nests"))["hits"][0]
        assert ("cortex_crumbs", "AZOTH") == (hit["store"], hit["extra"]["agent"])
        assert [] == (await desk.search("heron nests"))["hits"]
        assert (await desk.latest_crumb(caller=VAJRA))["crumb"] is None
        assert left["id"] == (await desk.latest_crumb(agent="azoth"))["crumb"]["id"]
        assert (await desk.latest_crumb())["crumb"] is None
        assert 0 == (await desk.crumbs(agent="VAJRA"))["summary"]["total_found"]
        for verb in (desk.crumbs, desk.unfinished, desk.latest_crumb):
            with pytest.raises(NotYours):
                await verb(as_agent="AZOTH", caller=VAJRA)
        with pytest.raises(NotYours):
            await desk.leave_crumb("x", agent="AZOTH", caller=VAJRA)

    async def test_filters(self, desk: FrontDesk) -> None:
        """Crumbs are narrowed by what they are, and a word that nobody knows is an error [N-20]."""
        await desk.leave_crumb("one", priority="LOW", crumb_type="technical")
        await desk.leave_crumb("two")

        async def said(**given: Any) -> list[str]:
            found = await desk.crumbs(**given)
            return [each["session_summary"] for each in found["crumbs"]]

        assert ["one"] == await said(priority="low")
        assert ["two"] == await said(type="orientation")
        assert ["two"] == await said(limit=1)
        assert [] == await said(lookback_hours=1e-9)
        for bad in (
            *({"priority": "BOGUS"}, {"type": "BOGUS"}, {"lookback_hours": 0}),
            *({"lookback_hours": "1"}, {"limit": 0}, {"agent": "?"}),
        ):
            with pytest.raises(BadInput):
                await desk.crumbs(**bad)
