"""Two sessions of an AI client, one after the other: hooks, tools and what remains of them."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from cortex_actors.client.connection import Client as Owner
from tests.process.commands import PATIENCE, Commands, until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

#: What two projects say in other words: an offer, of which an agent may say that both are one.
SHORT = "Keep every pull request small enough to be read in ten minutes."
LONG = "Keep every pull request small enough to read in ten minutes or less."


@pytest.fixture
def daemon(tmp_home: Path, tmp_path: Path) -> Iterator[Commands]:
    """Give a running daemon that follows two projects, of which one is the sessions' folder."""
    commands = Commands(tmp_home)
    try:
        assert 0 == commands("start").returncode
        for name, text in (("atlas", SHORT), ("harbor", LONG)):
            folder = tmp_path / name
            folder.mkdir()
            (folder / "CLAUDE.md").write_text(f"# {name.title()}\n\n## House\n\n- {text}\n")
            assert 0 == commands("init", str(folder)).returncode
        owner = Owner(commands.home)
        until(lambda: 2 == owner.call("status").get("insights"), "what both say")
        until(lambda: owner.call("triage")["total"], "what waits for a decision")
        yield commands
    finally:
        commands.clean_up()


def hook(commands: Commands, event: str, folder: Path, **said: str) -> str:
    """Run a client's hook; return what the session gets to read, nothing where it is silent."""
    payload = {"session_id": "one", "cwd": str(folder), **said}
    done = subprocess.run(
        [sys.executable, "-m", "cortex_actors", "hook", event],
        env=commands.env,
        cwd=folder,
        input=json.dumps(payload),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    if not done.stdout:
        return ""
    return str(json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"])


def session(commands: Commands, folder: Path) -> Client:
    """Return the official client of a `cortex mcp` that works in a folder."""
    env = {**commands.env, "PYTHONWARNINGS": "ignore"}
    words = ["-m", "cortex_actors", "mcp"]
    return Client(
        StdioServerParameters(command=sys.executable, args=words, env=env, cwd=str(folder))
    )


async def call(client: Client, tool: str, **given: object) -> dict[str, Any]:
    """Return what a tool gives, which is no error."""
    found = await client.call_tool(tool, given)
    assert not found.is_error, found.content
    assert isinstance(found.structured_content, dict)
    return found.structured_content


async def test_two_sessions(daemon: Commands, tmp_path: Path) -> None:
    """What one session remembers and leaves the next one reads; it judges, and writes no file."""
    folder = tmp_path / "atlas"
    before = (folder / "CLAUDE.md").read_bytes()
    fact = "The staging database heron answers on port 5433."

    assert not hook(daemon, "session-start", folder, source="startup")
    async with session(daemon, folder) as client:
        await call(client, "remember", content=fact)
        crumb = {"session_summary": "Moved heron", "unfinished_business": ["Tell ops"]}
        await call(client, "crumb_leave", **crumb)
    assert not hook(daemon, "session-end", folder, reason="exit")

    brief = hook(daemon, "session-start", folder, source="startup", session_id="two")
    assert fact in brief
    assert "Tell ops" in brief
    async with session(daemon, folder) as client:
        found = await call(client, "recall", query="Which port does the staging database use?")
        assert fact in found["hits"][0]["text"]
        (pair,) = (await call(client, "judge_next"))["pairs"]
        assert {SHORT, LONG} == {pair["a"]["text"], pair["b"]["text"]}
        await call(client, "judge_answer", id=pair["id"], verdict="same")
        await call(client, "resolve_preview", path=str(folder))
    assert not hook(daemon, "session-end", folder, reason="exit", session_id="two")

    assert before == (folder / "CLAUDE.md").read_bytes()
    (verdict,) = Owner(daemon.home).call("judge_list")["verdicts"]
    assert ("CLAUDE", "same") == (verdict["agent"], verdict["verdict"])
