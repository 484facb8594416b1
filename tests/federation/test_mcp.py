"""Any MCP server is a store: over HTTP or as a program, by the official SDK on both sides."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.clock import SystemClock
from cortex_actors.endpoint.client import LeftAlone
from cortex_actors.endpoint.connection import StoreConnection
from cortex_actors.errors import StoreDown, StoreTimeout, StoreUnusable
from cortex_actors.federation.adapters import mcp
from cortex_actors.federation.adapters.mcp import Mcp
from cortex_actors.federation.answers import OutgoingQuestion
from cortex_actors.federation.store import StoreSpec
from cortex_actors.testing import eventually
from tests.endpoint.awake import awake
from tests.federation.mcpserver import NOTES
from tests.federation.mcpservers import COMMAND, McpServer, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

#: How the tool of the test's server is asked.
SEARCH: dict[str, Any] = {
    "tool": "search",
    "arguments": {"query": "{query}", "top_k": "{limit}"},
    "hits": "found.notes",
}

#: What nobody but that server is told.
TOKEN = "hush-hush-token"


@pytest.fixture(scope="module")
def server() -> Iterator[McpServer]:
    """Run a server for all tests here."""
    with serving(TOKEN) as server:
        yield server


@asynccontextmanager
async def opened(
    url: str, *, token: str = TOKEN, managed: bool = False, most: int = 1_000_000, **options: Any
) -> AsyncIterator[Mcp]:
    """Give an adapter."""
    spec = StoreSpec("notes", "mcp", url, options=options, managed=managed)
    adapter = Mcp(spec, StoreConnection(url, SystemClock(), token=token, most=most))
    try:
        yield adapter
    finally:
        await adapter.close()


def asked(
    text: str = "deploys happen on mondays", limit: int = 3, seconds: float = 20
) -> OutgoingQuestion:
    """Return a question."""
    return OutgoingQuestion(text, limit, seconds)


def is_running(pid: int) -> bool:
    """Return whether there is such a process, which has not ended."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


class TestHttp:
    async def test_search(self, server: McpServer) -> None:
        """A question goes where the description puts it, and hits come as the server ranks them."""
        async with opened(server.url, **SEARCH) as adapter:
            answer = await adapter.search(asked(limit=2))

        assert ["n1", "n2"] == [hit.id for hit in answer.hits]
        assert [NOTES[0][1], NOTES[1][1]] == [hit.text for hit in answer.hits]
        assert (0.0, 1.0) == (answer.hits[0].raw_distance, answer.hits[0].base_relevance)
        assert {"metadata": {"topic": "deploy", "place": 0}} == answer.hits[0].extra

    async def test_texts(self, server: McpServer) -> None:
        """A tool that answers with texts alone is understood too."""
        async with opened(server.url, tool="say") as adapter:
            answer = await adapter.search(asked())

        assert [text for _, text, _ in NOTES] == [hit.text for hit in answer.hits]

    async def test_ping(self, server: McpServer) -> None:
        """The owner is told who answers, and which tools there are."""
        async with opened(server.url, **SEARCH) as adapter:
            said = await adapter.ping(20)

        assert ("notes", "1.2.3") == (said["service"], said["version"])
        assert "search" in said["tools"]

    async def test_no_token(self, server: McpServer) -> None:
        """A server that wants another token says that somebody has to do something."""
        async with opened(server.url, token="other", **SEARCH) as adapter:
            with pytest.raises(StoreUnusable, match="401"):
                await adapter.search(asked())

    async def test_no_tool(self, server: McpServer) -> None:
        """A tool that is not there is named; those that are, only to the owner."""
        async with opened(server.url, tool="serach") as adapter:
            with pytest.raises(StoreUnusable, match="no tool 'serach'") as failure:
                await adapter.search(asked())

        assert "whoami" not in str(failure.value)
        assert "whoami" in getattr(failure.value, "said", "")

    async def test_failing(self, server: McpServer) -> None:
        """A tool that fails gives no answer; its words reach no agent, and no token its owner."""
        async with opened(server.url, tool="fail") as adapter:
            with pytest.raises(StoreDown, match="says that it failed") as failure:
                await adapter.search(asked(f"it is {TOKEN}"))

        assert "ignore" not in str(failure.value)
        assert "instructions, it is [token]" in getattr(failure.value, "said", "")

    async def test_large(self, server: McpServer) -> None:
        """An answer larger than it may be is dropped; the next question is answered."""
        async with opened(server.url, most=100_000, tool="large") as adapter:
            with pytest.raises(StoreDown):
                await adapter.search(asked("200000"))
            answer = await adapter.search(asked("10"))

        assert ["x" * 10] == [hit.text for hit in answer.hits]

    async def test_redirected(self, server: McpServer) -> None:
        """A redirection is not followed, not even to a slash; a description may end in one."""
        bare = server.url.removesuffix("/mcp")
        async with opened(bare, path="/slashed/mcp", **SEARCH) as adapter:
            with pytest.raises(StoreUnusable, match="307, a redirection"):
                await adapter.search(asked())
        async with opened(bare, path="/slashed/mcp/", **SEARCH) as adapter:
            answer = await adapter.search(asked())

        assert "n1" == answer.hits[0].id

    async def test_trap(self, server: McpServer) -> None:
        """What a server says its answers look like is not tried out on them."""
        async with opened(server.url, tool="trap") as adapter:
            answer = await adapter.search(asked(seconds=5))

        assert ["a" * 60 + "!"] == [hit.text for hit in answer.hits]

    async def test_restarted(self, server: McpServer) -> None:
        """A server that was started again in between is asked again."""
        async with opened(server.url, **SEARCH) as adapter:
            await adapter.search(asked())
            server.stop()
            with pytest.raises(StoreDown):
                await adapter.search(asked(seconds=2))
            server.start()
            answer = await adapter.search(asked())

        assert "n1" == answer.hits[0].id

    async def test_paused(self, server: McpServer) -> None:
        """A server that stops answering is waited for as long as was said, and no longer."""
        async with opened(server.url, **SEARCH) as adapter:
            await adapter.search(asked())
            server.pause()
            try:
                with awake() as seconds:
                    with pytest.raises(StoreTimeout, match=r"timeout after 0\.20 s"):
                        await adapter.search(asked(seconds=0.2))
                    assert seconds() < 2
            finally:
                server.resume()
            answer = await adapter.search(asked())

        assert "n1" == answer.hits[0].id


class TestProgram:
    async def test_search(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A program is started once and ended when it is let go of; it gets its token alone."""
        monkeypatch.setenv("CORTEX_HOME", "/somewhere")
        env = {"SECRET": "Bearer {token}"}
        async with opened("stdio:", command=COMMAND, env=env, tool="whoami") as adapter:
            first, second = [await adapter.search(asked()) for _ in range(2)]
            pid = int(first.hits[0].text)
            assert first.hits[0].text == second.hits[0].text
            assert is_running(pid)

        await eventually(lambda: not is_running(pid))
        assert f"'SECRET': 'Bearer {TOKEN}'" in first.hits[1].text
        assert "'CORTEX_HOME': ''" in first.hits[1].text

    async def test_ended(self, tmp_path: Path) -> None:
        """A slow program is let be; one that ends gives no answer and is started anew."""
        async with opened("stdio:", command=COMMAND, tool="whoami") as adapter:
            before = await adapter.search(asked())
            adapter._tool = "hang"
            with pytest.raises(StoreTimeout):
                await adapter.search(asked(str(tmp_path / "gate"), seconds=0.3))
            (tmp_path / "gate").write_text("go on")
            adapter._tool = "whoami"
            after = await adapter.search(asked())
            adapter._tool = "end"
            with pytest.raises(StoreDown, match="ended the session"):
                await adapter.search(asked())
            adapter._tool = "whoami"
            again = await adapter.search(asked())

        assert before.hits[0].text == after.hits[0].text != again.hits[0].text

    @pytest.mark.parametrize("command", [["/nowhere/at-all"], [sys.executable, "-c", ""]])
    async def test_none(self, command: list[str]) -> None:
        """A program that cannot be started, or is no MCP server, is no answer."""
        async with opened("stdio:", command=command, tool="search") as adapter:
            with pytest.raises(StoreDown, match="program"):
                await adapter.search(asked())


class TestDescription:
    @pytest.mark.parametrize(
        ("url", "options", "told"),
        [
            ("http://127.0.0.1:1/mcp", {}, "needs the option tool"),
            ("http://127.0.0.1:1/mcp", {"tool": "x", "arguments": {"q": 1}}, "{query}"),
            ("http://127.0.0.1:1/mcp", {"tool": "x", "arguments": "q"}, "a table"),
            ("http://127.0.0.1:1/mcp", {"tool": "x", "command": ["ls"]}, "stdio:"),
            ("http://127.0.0.1:1/mcp", {"tool": "x", "env": {"A": "b"}}, "stdio:"),
            ("stdio:", {"tool": "x"}, "stdio:"),
            ("stdio:", {"tool": "x", "command": "ls"}, "a list"),
            ("stdio:", {"tool": "x", "command": ["ls"], "env": {"A": 1}}, "option env"),
            ("postgresql://127.0.0.1/x", {"tool": "x"}, "http://"),
            ("http://127.0.0.1:1", {"tool": "x", "path": "@evil.example/"}, "option path"),
            ("http://127.0.0.1:1", {"tool": "x", "path": "/../admin"}, "option path"),
        ],
    )
    async def test_wrong(self, url: str, options: dict[str, Any], told: str) -> None:
        """A description that cannot work is refused before anything is started or sent."""
        with pytest.raises(StoreUnusable, match=told.replace("{", r"\{")):
            async with opened(url, **options):
                pass

    async def test_added(self) -> None:
        """Whoever adds a store to a running daemon cannot have it start a program."""
        with pytest.raises(StoreUnusable, match=r"cortex\.toml"):
            async with opened("stdio:", managed=True, tool="x", command=["ls"]):
                pass

    async def test_nested(self, server: McpServer) -> None:
        """The question and the number of hits may lie anywhere in the arguments."""
        options = {**SEARCH, "arguments": {"query": "please: {query}", "top_k": "{limit}"}}
        async with opened(server.url, **options) as adapter:
            answer = await adapter.search(asked(limit=1))

        assert 1 == len(answer.hits)


class TestLoading:
    async def test_at_once(self) -> None:
        """The import begins with the store, and an adapter that is let go of leaves none behind."""
        async with opened("http://127.0.0.1:1/mcp", tool="search") as adapter:
            assert not adapter._loading.done()

        assert adapter._loading.done()

    async def test_no_failure(self, server: McpServer, monkeypatch: pytest.MonkeyPatch) -> None:
        """Time that our own import takes is no failure of the store's; the next question is put."""
        gate, driver = threading.Event(), mcp._driver
        monkeypatch.setattr(mcp, "_driver", lambda: gate.wait(20) and driver())
        async with opened(server.url, **SEARCH) as adapter:
            with pytest.raises(LeftAlone, match="still being loaded"):
                await adapter.search(asked(seconds=0.05))
            gate.set()
            answer = await adapter.search(asked())

        assert "n1" == answer.hits[0].id

    async def test_missing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where the SDK is missing each question says so, and tries again."""
        monkeypatch.setattr(mcp, "_DRIVER", "cortex_actors.federation.no_such_driver")
        async with opened("http://127.0.0.1:1/mcp", tool="search") as adapter:
            for _ in range(2):
                with pytest.raises(StoreUnusable, match="no_such_driver is missing"):
                    await adapter.search(asked())
