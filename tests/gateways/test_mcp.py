"""MCP as its official client speaks it: over stdio through `cortex mcp`, and over HTTP."""

from __future__ import annotations

import json
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from cortex_actors.client.connection import Client as HomeClient
from cortex_actors.home import LINE_LIMIT
from tests.gateways.house import SECRET

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.gateways.house import House

pytestmark = pytest.mark.slow

#: What a client may speak: with a greeting, by trying, or the newest alone.
ERAS = ("legacy", "auto", "2026-07-28")


@asynccontextmanager
async def stdio(
    house: House, *words: str, mode: str = "auto", cwd: str | None = None
) -> AsyncIterator[Client]:
    """Give the official client of a `cortex mcp` of its own."""
    env = {**house.door.commands.env, "PYTHONWARNINGS": "ignore"}
    words = ("-m", "cortex_actors", "mcp", *words)
    started = StdioServerParameters(command=sys.executable, args=list(words), env=env, cwd=cwd)
    async with Client(started, mode=mode) as client:
        yield client


@asynccontextmanager
async def http(house: House, token: str, *, mode: str = "auto") -> AsyncIterator[Client]:
    """Give the official client of `/mcp`, with a token."""
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers) as inner:
        url = f"{house.door.url}/mcp"
        async with Client(streamable_http_client(url, http_client=inner), mode=mode) as client:
            yield client


async def call(client: Client, tool: str, /, **given: Any) -> dict[str, Any]:
    """Return what a tool gives, which is no error."""
    found = await client.call_tool(tool, given)
    assert not found.is_error, found.content
    assert isinstance(found.structured_content, dict)
    return found.structured_content


async def refused(client: Client, tool: str, /, **given: Any) -> str:
    """Return the message of a tool's error."""
    found = await client.call_tool(tool, given)
    assert found.is_error
    return str(found.content[0].text)  # type: ignore[union-attr]


def agents_token(house: House, agent: str) -> str:
    """Return a new token of an agent."""
    return str(house.door.client.call("agent_token", agent=agent)["token"])


class TestEras:
    @pytest.mark.parametrize("mode", ERAS)
    async def test_stdio(self, house: House, mode: str) -> None:
        """Clients of both eras list tools and call one over stdio."""
        async with stdio(house, mode=mode) as client:
            names = [each.name for each in (await client.list_tools()).tools]
            found = await call(client, "recall", query="On which port do the tests run?", limit=3)

        assert {"recall", "remember", "crumb_leave", "village_post", "more"} <= set(names)
        assert "5433" in found["hits"][0]["text"]
        assert "text" not in found

    @pytest.mark.parametrize("mode", ERAS)
    async def test_http(self, house: House, mode: str) -> None:
        """They do over HTTP, with a token, each request by itself."""
        async with http(house, house.door.token, mode=mode) as client:
            names = [each.name for each in (await client.list_tools()).tools]
            found = await call(client, "recall", query="On which port do the tests run?", limit=3)

        assert {"recall", "remember", "crumb_leave", "village_post", "more"} <= set(names)
        assert "5433" in found["hits"][0]["text"]


class TestRights:
    async def test_agent(self, house: House) -> None:
        """A session remembers as its agent and reads what that may read, though you own it all."""
        async with stdio(house, "--agent", "kether") as client:
            said = await call(client, "remember", content="Kether keeps a list of kites")
            found = await call(client, "recall", query="the launch word is")
            mine = await call(client, "more", name="memory.show", params={"id": said["id"]})
        house.door.client.call("forget", ids=[said["id"]])

        assert "KETHER" == mine["agent"]
        assert SECRET not in str(found)

    async def test_owners(self, house: House) -> None:
        """What is yours is refused, whatever asks for it, and nothing comes of it."""
        async with stdio(house) as client:
            for name in ("resolve", "memory_forget", "approve", "daemon.backup"):
                assert "ask the person" in await refused(client, "more", name=name, params={})
            assert "no operation is" in await refused(client, "more", name="shutdown")
            with pytest.raises(MCPError, match="there is no tool 'memory_forget'"):
                await client.call_tool("memory_forget", {"ids": [house.monday]})
            other = {"content": "x", "agent": "VAJRA"}
            assert "cannot act for VAJRA" in await refused(client, "remember", **other)

        assert house.door.client.call("memory", id=house.monday)["id"] == house.monday
        noted = house.door.commands("daemon", "logs", "--actor", "audit", "-n", "50").stdout
        assert "CLAUDE was refused forget" in noted

    async def test_token(self, house: House) -> None:
        """Over HTTP an agent's token is that agent; yours is the usual agent, and not you."""
        for token, agent in ((agents_token(house, "VAJRA"), "VAJRA"), (house.door.token, "CLAUDE")):
            async with http(house, token) as client:
                said = await call(client, "village_post", content=f"{agent} saw a heron")
                assert "not for agents" in await refused(client, "more", name="approve")
                names = {each.name for each in (await client.list_tools()).tools}
                found = await client.call_tool("more", {"name": "projects_list"})
                listed = (await client.list_resources()).resources
            # A token may be another machine's: it lists no projects, and previews no file.
            is_owners = token == house.door.token
            assert (is_owners, is_owners) == ("resolve_preview" in names, not found.is_error)
            assert is_owners == bool(listed)
            kept = house.door.client.call("memory", id=said["id"])
            house.door.client.call("forget", ids=[said["id"]])

            assert (agent, agent) == (kept["agent"], kept["saved_by"])

    async def test_no_token(self, house: House) -> None:
        """Without a token that counts, HTTP answers nobody, nor a page of another site."""
        url = f"{house.door.url}/mcp"
        right = {"Authorization": f"Bearer {house.door.token}"}
        async with httpx2.AsyncClient() as client:
            assert 401 == (await client.post(url, json={})).status_code
            assert (
                401
                == (
                    await client.post(url, json={}, headers={"Authorization": "Bearer x"})
                ).status_code
            )
            other = {**right, "Origin": "http://evil.example"}
            assert 403 == (await client.post(url, json={}, headers=other)).status_code
            assert 405 == (await client.get(url, headers=right)).status_code


class TestSession:
    async def test_tools(self, house: House) -> None:
        """`--tools` chooses what is listed, and nothing else may be called."""
        async with stdio(house, "--tools", "recall,memory_list") as client:
            names = [each.name for each in (await client.list_tools()).tools]
            with pytest.raises(MCPError, match="there is no tool 'remember'; there are: recall"):
                await client.call_tool("remember", {"content": "x"})

        assert ["recall", "memory_list"] == names

    async def test_here(self, house: House) -> None:
        """The folder in which the client works says to which project a memory belongs."""
        (atlas,) = house.door.client.call("projects")["projects"]
        async with stdio(house, cwd=atlas["root"]) as client:
            said = await call(client, "remember", content="Atlas is drawn in ink")
            shown = await client.call_tool("resolve_preview", {})
        kept = house.door.client.call("memory", id=said["id"])
        house.door.client.call("forget", ids=[said["id"]])

        assert atlas["id"] == kept["project_id"]
        assert not shown.is_error

    async def test_never_the_owner(self, house: House) -> None:
        """What comes over a connection that speaks MCP is never one of the owner's requests."""
        sock, told = house.door.client.open("mcp", agent="KETHER")
        owners = b'{"id": 1, "method": "agent_token", "params": {"agent": "KETHER"}}\n'
        with sock, sock.makefile("rb") as reader:
            sock.sendall(owners)
            first = json.loads(reader.readline())
            sock.sendall(b"x" * (LINE_LIMIT + 1) + b"\n" + owners)
            rest = reader.read()

        assert "KETHER" == told["agent"]
        assert -32700 == first["error"]["code"]
        assert b"token" not in rest
        assert not (house.door.commands.home / "tokens/KETHER").exists()

    async def test_session_stays_one(self, house: House) -> None:
        """A session of an agent that begins one over MCP gets no rights of a token by that."""
        other = HomeClient(house.door.client.home, agent="KETHER")
        params = {"name": "more", "arguments": {"name": "forget", "params": {"ids": ["mem_x"]}}}
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        greeting = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }
        hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": greeting}
        done = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        sock, _ = other.open("mcp")
        with sock, sock.makefile("rb") as reader:
            for each in (hello, done, asked):
                sock.sendall(json.dumps(each).encode() + b"\n")
            answers = [json.loads(reader.readline()) for _ in range(2)]
            # Half a character: the answer has the id, or its client would wait for it.
            sock.sendall(
                json.dumps(asked | {"id": 2, "params": {"name": "\ud83d"}}).encode() + b"\n"
            )
            half = json.loads(reader.readline())

        assert "forget is not for agents" in answers[1]["result"]["content"][0]["text"]
        assert (2, -32700) == (half["id"], half["error"]["code"])

    async def test_wrong(self, house: House) -> None:
        """What is wrong with a call is said to the model, with what it may do instead."""
        async with stdio(house) as client:
            assert "content must be a text" in await refused(client, "remember", content=5)
            assert "it takes query" in await refused(client, "recall", question="x")
            said = await refused(client, "crumb_leave", summary="x")
            assert said.startswith("cannot call crumb_leave: missing")
            assert said.endswith(
                "it takes session_summary, key_discoveries, unfinished_business, priority, project"
            )
            assert "more takes query, name and params" in await refused(client, "more", names="x")
            said = await refused(client, "recall", query="x", project="none")
            assert "cortex init" in said
            assert said.endswith("are for the person who owns the daemon: ask them")

    async def test_resources(self, house: House) -> None:
        """Principles, projects and memories can be read by their names; others are errors."""
        async with stdio(house) as client:
            listed = [str(each.uri) for each in (await client.list_resources()).resources]
            templates = (await client.list_resource_templates()).resource_templates
            atlas = await client.read_resource("cortex://project/atlas")
            spelled = await client.read_resource("cortex://project/%61tlas")
            memory = await client.read_resource(f"cortex://memory/{house.monday}")
            for wrong in ("cortex://memory/mem_none", "cortex://nonsense", "file:///etc/passwd"):
                with pytest.raises(MCPError):
                    await client.read_resource(wrong)

        assert {"cortex://principles", "cortex://project/atlas"} <= set(listed)
        assert {"memory", "project"} == {each.name for each in templates}
        for each in (atlas, spelled):
            assert "5433" in each.contents[0].text  # type: ignore[union-attr]
        assert "Mondays" in memory.contents[0].text  # type: ignore[union-attr]

    async def test_prompts(self, house: House) -> None:
        """There are prompts for the start and the end of a session, and for a review."""
        async with stdio(house) as client:
            names = [each.name for each in (await client.list_prompts()).prompts]
            end = await client.get_prompt("end")

        assert ["start", "end", "review"] == names
        assert "crumb_leave" in end.messages[0].content.text  # type: ignore[union-attr]

    async def test_counted(self, house: House) -> None:
        """`status` counts the calls of each tool, and the sessions that are open."""
        before = house.door.client.call("status")["mcp"]["calls"].get("more", 0)
        async with stdio(house) as client:
            await call(client, "more", query="crumbs")
            found = house.door.client.call("status")["mcp"]

        assert before + 1 == found["calls"]["more"]
        assert 1 == found["sessions"]
