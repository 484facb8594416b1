"""`remember`: what is admitted, whose it is, and what the answer looks like, over a whole tree."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.api import registry
from cortex_actors.assembly.reload import HANDED, MODEL
from cortex_actors.cli import entry
from cortex_actors.client.connection import Client
from cortex_actors.clock import SystemClock
from cortex_actors.domain.agent import Caller
from cortex_actors.errors import BadInput, Busy, CortexError, NotFound, NotYours, Refused
from cortex_actors.gateways.control import Control
from cortex_actors.home import Home
from cortex_actors.process.logs import LogStream
from cortex_actors.service import list_verbs
from cortex_actors.testing import eventually, temporary_cortex
from tests.gateways.doors import knock

if TYPE_CHECKING:
    from cortex_actors.api.desk import FrontDesk

REDIS, AGAIN = "Redis listens on port 6379 by default", "Redis by default listens on port 6379"
KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


class TestWiring:
    def test_model(self) -> None:
        """Whoever compares vectors begins a new life with another model, and with other rules."""
        assert "archivist" in MODEL
        assert "archivist" in HANDED["reconciliation"]


@pytest.mark.slow
class TestRemember:
    async def test_verb(self) -> None:
        """What is said is kept, merged, refused and answered as clients are told."""
        async with temporary_cortex() as tree:
            await _answers(tree.cortex)
            await _refusals(tree.cortex)
            await _identities(tree.cortex)


@pytest.mark.slow
async def test_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than is answered in a bearable time is refused at once, and nothing of it is done."""
    monkeypatch.setattr(registry, "AT_ONCE", 3)
    async with temporary_cortex() as tree:
        desk = tree.cortex
        asked = [desk.remember(f"The relay {n} has its own fuse.", merge=False) for n in range(4)]
        done = await asyncio.gather(*asked, desk.recall("fuse"), return_exceptions=True)

        assert [dict, dict, dict, Busy, Busy] == [type(each) for each in done]
        assert 3 == (await desk.recall("which relay has a fuse"))["count"]


@pytest.mark.slow
async def test_busy_everywhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is refused so has exit code 75 for a command, `Busy` on the socket, and 503 by HTTP."""
    monkeypatch.setattr(registry, "AT_ONCE", 0)
    async with temporary_cortex(http={"enabled": True, "port": 0}) as tree:
        await eventually(partial(_is_open, tree.cortex))
        status = await tree.cortex.status()
        home, url = Home(Path(status["home"])), status["http"]["address"]
        logs = LogStream(home.logs / "socket.ndjson", SystemClock())
        control = Control(home, verbs=list_verbs(tree.cortex), logs=logs, shutdown=print)
        await control.open()
        token = (home.tokens / "owner").read_text().strip()
        for verb, name in (("remember", "content"), ("recall", "query")):
            given: dict[str, Any] = {name: "two fuses"}
            line = [verb, "two fuses", "--home", str(home.root)]
            assert 75 == await asyncio.to_thread(entry.main, line)
            assert "busy" in capsys.readouterr().err
            with pytest.raises(Busy):
                await asyncio.to_thread(partial(Client(home).call, verb, **given))
        for path in ("/search", "/recall", "/seren/memory/search", "/seren/loci/search"):
            asked = partial(knock, f"{url}{path}", '{"query": "two fuses"}', token=token)
            assert 503 == (await asyncio.to_thread(asked)).status, path
        await control.close()
        logs.close()


async def _is_open(desk: FrontDesk) -> bool:
    """Tell whether the daemon answers over HTTP."""
    return bool("open" == (await desk.status())["http"]["state"])


async def _answers(desk: FrontDesk) -> None:
    """Say the same twice and in other words."""
    first = await desk.remember(REDIS, tags=[" DB ", "db"], said_from="2026-11-01")
    assert {
        "id": first["id"],
        "state": "saved",
        "merged": [],
        "pending": False,
        "conflicts": [],
        "superseded": [],
        "tags_added": [],
        "layer": "sensory",
        "realm": "private",
        "agent": "CLAUDE",
        "project": None,
        "message": f"Saved as #{first['id']}.",
    } == first
    assert "existing" == (await desk.remember(REDIS))["state"]
    whole = await desk.remember(AGAIN, layer="working")
    assert ("merged", [first["id"]], "working") == (
        whole["state"],
        whole["merged"],
        whole["layer"],
    )
    with pytest.raises(BadInput, match="cannot remember on a bridge to no agent"):
        await desk.remember(REDIS, realm="bridge", related_agents=["claude"])
    newer = await desk.remember("Redis is gone", supersedes=[f"#{first['id']}"])
    assert "saved" == newer["state"]
    masked = await desk.remember(f"the token is {KEY}", redact=True)
    assert "saved" == masked["state"]


async def _refusals(desk: FrontDesk) -> None:
    """Say what is not kept."""
    refused: list[tuple[dict[str, object], type[CortexError], str]] = [
        ({"content": ""}, BadInput, "empty"),
        ({"content": f"the token is {KEY}"}, Refused, "github-token"),
        ({"content": "tw\u200bo"}, Refused, "cannot be seen"),
        ({"content": "a", "layer": "foo"}, BadInput, "sensory"),
        ({"content": "a", "realm": "foo"}, BadInput, "village"),
        ({"content": "a", "type": "foo"}, BadInput, "observation"),
        ({"content": "a", "prefer": "c"}, BadInput, "equal"),
        ({"content": "a", "agent": "a b"}, BadInput, "no agent's id"),
        ({"content": "a", "tags": ["x" * 65]}, BadInput, "64"),
        ({"content": "a", "responding_to": ["mem_x"]}, NotFound, "mem_x"),
        ({"content": "a", "supersedes": ["mem_x"]}, NotFound, "mem_x"),
        ({"content": "a", "related_agents": ["A"] * 33}, BadInput, "32"),
        (
            {"content": "a", "said_from": "2026-11-02", "said_until": "2026-11-01"},
            BadInput,
            "order",
        ),
        ({"content": "a", "idempotency_key": ""}, BadInput, "key"),
        ({"content": "a", "abstract": "x" * 1_001}, BadInput, "abstract"),
    ]
    for given, kind, said in refused:
        with pytest.raises(kind, match=said):
            await desk.remember(**given)


async def _identities(desk: FrontDesk) -> None:
    """Say something as an agent that is not the owner."""
    vajra = Caller("VAJRA")
    found = await desk.remember(REDIS, caller=vajra)
    assert ("saved", "VAJRA") == (found["state"], found["agent"])
    with pytest.raises(NotYours):
        await desk.remember(REDIS, agent="CLAUDE", caller=vajra)
