"""MCP: AI agents call operations as tools, each in a session that has its agent's rights.

A session comes over the control socket, whose connection then carries MCP's own lines, or over
HTTP. Either way it is an agent's and never the owner's: what may be called is looked up in the
registry, as for every other request (`rpc.bound`).

The protocol is the SDK's affair (`mcp_server`), which takes a second to import: that is done on a
thread, some seconds after the daemon is ready, or when the first session comes.
"""

from __future__ import annotations

import asyncio
import importlib
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from cortex_actors import errors
from cortex_actors.api import tools
from cortex_actors.domain.agent import Caller, read_agent_id
from cortex_actors.gateways import rpc

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

    from starlette.types import Scope, Send

    from cortex_actors.api.desk import FrontDesk
    from cortex_actors.api.tools import Tool
    from cortex_actors.clock import Clock
    from cortex_actors.gateways.connection import Connection
    from cortex_actors.process.logs import LogStream

#: Seconds after the daemon is ready until the SDK is imported: a start, and what is asked right
#: after it, must not share the interpreter with that. A first session that waits for the import is
#: ready after 1.4 s instead of .1.
BREATH: Final = 3.0

#: Sessions on the control socket at once: each holds one of its 128 places.
SESSIONS: Final = 48

#: Seconds an operation may work, as on the control socket.
DEADLINE: Final = 120.0

#: Characters of a folder's path.
_PATH: Final = 4_096


@dataclass(frozen=True, slots=True)
class AgentSession:
    """One session of an agent.

    Attributes:
        caller: the agent.
        tools: what it is offered, by name.
        here: the folder it works in; None where that is not known.

    """

    caller: Caller
    tools: Mapping[str, Tool]
    here: str | None = None


class McpHost:
    """Serves sessions, whatever door they come through."""

    def __init__(self, desk: FrontDesk, logs: LogStream) -> None:
        """Remember who answers, and where is written what is noted."""
        self._desk = desk
        self._logs = logs
        self._loading: asyncio.Task[ModuleType] | None = None
        self._open = 0
        #: Whether the daemon is stopping: no new work is done.
        self.draining = False

    async def preload(self, clock: Clock) -> None:
        """Import the SDK soon, so that the first session does not wait for it."""
        await clock.sleep(BREATH)
        with suppress(ImportError):  # the first session says so
            await self.load_sdk()

    def make_session(self, caller: Caller, params: Mapping[str, Any]) -> AgentSession:
        """Return the session of who asks, as it wishes: `agent`, `tools`, `here`.

        An agent's token is that agent with the rights of its token, which may have been given to
        another machine. The owner is the agent that is named, or the setting's, in a session: its
        token makes no session the owner here. Raises `BadInput`, `NotYours`.
        """
        given = {name: each for name, each in params.items() if each is not None}
        for name, each in given.items():
            if name not in {"agent", "tools", "here"} or not isinstance(each, str):
                raise errors.BadInput(
                    f"cannot begin an MCP session with {name}: it takes agent, tools and here, "
                    "each a text"
                )
        settings = self._desk.settings
        usual = settings.mcp.agent or settings.memory.agent
        agent = read_agent_id(caller.choose_agent(given.get("agent"), usual))
        here = given.get("here", "")
        if here and (not here.startswith("/") or len(here) > _PATH):
            raise errors.BadInput("here must be the absolute path of a folder")
        choice = given.get("tools", settings.mcp.tools)
        who = Caller(agent, is_session=caller.is_owner or caller.is_session)
        offered = tools.list_offered(choice)
        if not who.is_session:
            offered = {name: tool for name, tool in offered.items() if tool.is_agents}
        return AgentSession(who, offered, here or None)

    async def serve(self, session: AgentSession, connection: Connection) -> None:
        """Speak MCP on a connection of the control socket until the client ends it."""
        # Counted at once: those that come while the SDK is imported need places, too.
        self._open += 1
        self._desk.life.mcp_sessions = self._open
        try:
            sdk = await self.load_sdk()
            server = sdk.make_server(self, lambda _: session)
            await sdk.speak(server, connection.read_raw_line, send=connection.send)
        finally:
            self._open -= 1
            self._desk.life.mcp_sessions = self._open

    def require_place(self) -> None:
        """Raise `TooManyConnections` where as many sessions are open as may be."""
        if self._open >= SESSIONS:
            raise errors.TooManyConnections(
                f"{SESSIONS} MCP sessions are open, no more are taken: close one first"
            )

    async def call(self, session: AgentSession, name: str, *, given: Mapping[str, Any]) -> Any:  # noqa: ANN401 - JSON
        """Return what a tool gives, cut to what an agent uses. Raises `CortexError`."""
        tool = session.tools[name]
        self._desk.life.tool_calls[name] += 1
        if tool.operation is not None:
            return tools.trim(await self.ask(session, tool, given=given), tool.gives)
        known = {"query": str, "name": str, "params": dict}
        for key, each in given.items():
            if key not in known or not isinstance(each, known[key]):
                raise errors.BadInput(f"cannot use {key}: more takes query, name and params")
        if wanted := given.get("name"):
            one = tools.find_tool(wanted)
            return tools.trim(await self.ask(session, one, given=given.get("params", {})))
        return tools.find(given.get("query", ""), is_session=session.caller.is_session)

    async def ask(self, session: AgentSession, tool: Tool, *, given: Mapping[str, Any]) -> Any:  # noqa: ANN401 - JSON
        """Return what an operation gives to a session's agent. Raises `CortexError`."""
        one = tool.operation
        assert one is not None  # noqa: S101 - a fact for mypy
        params = dict(given)
        if session.here and "here" in one.signature.parameters:
            params.setdefault("here", session.here)
        request = rpc.Request(1, tool.name, params)
        if self.draining:
            raise errors.DaemonStopping("the daemon is stopping: try again in some seconds")
        try:
            verbs = {tool.name: getattr(self._desk, one.method)}
            verb = rpc.bind_verb(verbs, request, session.caller, takes=tool.schema["properties"])
            async with asyncio.timeout(DEADLINE):
                return await verb()
        except rpc.UnreadableRequest as wrong:
            raise wrong.error from None
        except TimeoutError:
            message = f"{tool.name} was not done within {DEADLINE:g} s; ask for less"
            raise errors.DeadlineExceeded(message) from None
        except Exception as error:
            who = session.caller
            rpc.note_failure(self._logs, error, method=one.method, caller=who, actor="mcp")
            if not rpc.is_fault(error):
                raise
            text = f"the daemon failed inside: {type(error).__name__}; see cortex daemon logs"
            raise errors.InternalError(text) from error

    async def load_sdk(self) -> ModuleType:
        """Return the module with the SDK, imported on a thread once."""
        if self._loading is None:
            name = "cortex_actors.gateways.mcp_server"
            work = asyncio.to_thread(importlib.import_module, name)
            self._loading = asyncio.create_task(work, name="mcp-import")
        return await asyncio.shield(self._loading)


class McpRoute:
    """The ASGI application at `/mcp`: streamable HTTP without streams that stay open."""

    def __init__(self, host: McpHost) -> None:
        """Begin nothing: the SDK is imported for the first request."""
        self._host = host
        self._begun: asyncio.Task[Any] | None = None
        self._closed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, *wire: Any) -> None:  # noqa: ANN401 - ASGI's two
        """Answer one request; `wire` receives and sends."""
        send: Send = wire[1]
        if scope["method"] != "POST":
            start = {"type": "http.response.start", "status": 405, "headers": [(b"allow", b"POST")]}
            await send(start)
            await send({"type": "http.response.body", "body": b""})
            return
        if self._begun is None:
            self._begun = asyncio.create_task(self._begin(), name="mcp-http")
        manager = await asyncio.shield(self._begun)
        await manager.handle_request(scope, *wire)

    async def close(self) -> None:
        """End what requests needed."""
        self._closed.set()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    async def _begin(self) -> Any:  # noqa: ANN401 - the SDK's manager
        """Return the manager, which runs in a task of its own until `close`."""
        manager = (await self._host.load_sdk()).make_manager(self._host)
        ready = asyncio.Event()

        async def keep() -> None:
            async with manager.run():
                ready.set()
                await self._closed.wait()

        self._task = asyncio.create_task(keep(), name="mcp-http")
        await ready.wait()
        return manager
