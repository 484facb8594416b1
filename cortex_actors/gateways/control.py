"""The server's side of the control socket: newline-delimited JSON-RPC 2.0 for the same user.

One request is one line of at most 1 MiB; requests on one connection are answered in order, and
other connections meanwhile. The methods are the front desk's verbs, `logs` (which streams) and
`shutdown`. A request that cannot be read gets a typed error; only a line that is too long also
costs the connection, because where the next one begins is then unknown. A reader that takes nothing
for 30 s is cut off, so it holds a bounded part of our memory for a bounded time.

A connection without a request is closed after 60 s, and before that when its place is
needed, the longest idle first; the client reads why. So clients that do nothing keep no others out.

A crash loses the requests that are worked on: their clients see the connection end.

What the owner does for an agent is noted in the log, with the actor `audit`: who, which verb, for
which agent, and never a text or a token. What an agent does in its own name is in the rows that it
leaves.
"""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import suppress
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from cortex_actors import __version__, errors
from cortex_actors.domain.agent import OWNER, Caller, read_agent_id
from cortex_actors.gateways import connection, rpc
from cortex_actors.gateways.connection import Connection
from cortex_actors.process.lock import find_peer
from cortex_actors.process.logfile import Filter, LogEntry
from cortex_actors.process.tokens import Tokens

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from cortex_actors.gateways.mcp import McpHost
    from cortex_actors.home import Home
    from cortex_actors.process.logs import Follower, LogStream


#: Parameter with the agent through whose eyes a caller reads, or with whose rights it changes
#: something, in whichever verb.
EYES = "as_agent"

#: Verb that does something in an agent's name -> its parameter with that agent. In every other verb
#: an agent that is named is only looked for.
ACTING = {
    **dict.fromkeys(("remember", "post", "leave_crumb"), "agent"),
    **dict.fromkeys(("judge_next", "judge_answer"), "agent"),
    **dict.fromkeys(("hook_start", "hook_prompt", "hook_compact", "hook_end"), "agent"),
    **dict.fromkeys(("introduce", "agent_token", "revoke_token"), "agent"),
    "summon": "agent_id",
}


#: Connections at once, so that a leaking client cannot use up descriptors; a further one costs the
#: one that has been idle the longest its place.
CONNECTIONS = 128

#: Connections beyond those, for `status` and `shutdown` when none of them is idle.
RESERVED = 8

#: Clients that follow the log at once: each record costs us a write to each of them.
FOLLOWERS = 64

#: Callers whom the kernel keeps waiting for us, and how many of them are let in at once: those that
#: came before are read, and often served, before the next are let in.
BACKLOG, TAKEN = 1024, 16

#: Seconds a verb may work.
DEADLINE = 120.0

#: The method after which a connection carries the lines of an MCP session.
MCP = "mcp"

#: Records that `logs` sends first, unless asked otherwise.
LAST = 10

#: Verbs that are answered while the daemon drains; everything else is new work.
_WHILE_DRAINING = frozenset({"status", "tree", "shutdown", "logs"})

#: Verbs that are answered in the reserved places.
_RESERVED_FOR = frozenset({"status", "shutdown"})


class _SessionOverError(Exception):
    """Ends a connection that has spoken MCP."""


class Control:
    """Listens on a home's socket and answers."""

    def __init__(
        self,
        home: Home,
        *,
        verbs: Mapping[str, Callable[..., Awaitable[object]]],
        logs: LogStream,
        shutdown: Callable[[str], None],
        quick: Mapping[str, Callable[..., object]] | None = None,
        mcp: McpHost | None = None,
    ) -> None:
        self._home = home
        #: Verb -> its form that answers without waiting for anybody, or None if it would have to.
        self._quick = quick or {}
        self._verbs = {**verbs, "shutdown": self._shut_down}
        self._logs = logs
        self._tokens = Tokens(home.tokens)
        self._stop = shutdown
        #: Serves connections that speak MCP; without one there are none.
        self._mcp = mcp
        self._draining = False
        self._closing = False
        self._server: asyncio.Server | None = None
        #: Our socket's file; one of that name may be another daemon's by the time we close.
        self._socket: tuple[int, int] | None = None
        self._connections: dict[asyncio.Task[None], Connection] = {}
        #: Those that work on a request rather than wait for one.
        self._busy: set[asyncio.Task[None]] = set()
        self._followers: set[Follower] = set()
        #: Held by who looks through the records in memory.
        self._looking = asyncio.Lock()

    async def open(self) -> None:
        """Listen; the caller holds the home's lock, so a socket that is there already is dead.

        Raises `ConfigurationError` when the socket cannot be made.
        """
        try:
            sock = connection.listen(self._home)
        except OSError as error:
            raise errors.ConfigurationError(
                f"cannot listen on {self._home.socket}: {error.strerror or error}; "
                "choose another home, with a shorter path, with --home"
            ) from error
        self._socket = connection.identify(self._home)
        self._server = await asyncio.get_running_loop().create_unix_server(
            lambda: Connection(self._serve, self._at_once), sock=sock, backlog=TAKEN
        )
        # For asyncio the two numbers are one.
        sock.listen(BACKLOG)

    def drain(self) -> None:
        """Refuse new work from now on; questions about the daemon are still answered."""
        self._draining = True
        if self._mcp is not None:
            self._mcp.draining = True

    async def close(self, timeout: float = 0.5) -> None:
        """Stop listening, give requests `timeout` seconds to end, and hang up."""
        self._closing = True
        if self._server is not None:
            # Before the socket is closed: until then no other socket can have its inode.
            connection.remove(self._home, self._socket)
            self._server.close()
        for follower in self._followers:
            follower.close()
        if self._busy:
            await asyncio.wait(self._busy, timeout=timeout)
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def answer(self, line: bytes) -> bytes:
        """Answer one request that came from within this process, as the socket would.

        A notification, which has no answer there, has one here.
        """
        try:
            return await self._answer(rpc.parse(line))
        except rpc.UnreadableRequest as error:
            return rpc.encode_failure(error.id, error.error, code=error.code)

    async def _serve(self, connection: Connection) -> None:
        """Answer one connection until it ends."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine runs in a task
        self._connections[task] = connection
        writer = connection.writer
        try:
            self._admit(writer)
            while not self._closing and (line := await connection.read_line()):
                self._busy.add(task)
                await self._turn(line, connection)
                self._busy.discard(task)
        except rpc.UnreadableRequest as error:
            writer.write(rpc.encode_failure(None, error.error, code=error.code))
        except (errors.Refused, errors.DeadlineExceeded) as error:
            writer.write(rpc.encode_failure(None, error))
        except (ConnectionError, TimeoutError):
            connection.hang_up()
        except _SessionOverError:
            pass
        finally:
            self._busy.discard(task)
            writer.close()
            try:
                if not self._closing:
                    await connection.finish()
            finally:
                del self._connections[task]

    def _admit(self, writer: asyncio.StreamWriter) -> None:
        """Make room for a newcomer; raises `Refused` for another user, and where there is none."""
        if not find_peer(writer.get_extra_info("socket")).ours:
            raise errors.Refused("the control socket answers only the user who runs the daemon")
        if len(self._connections) <= CONNECTIONS:
            return
        idle = [each for each in self._connections.values() if each.idle]
        if idle:
            min(idle, key=attrgetter("idle_since")).dismiss()
        elif len(self._connections) > CONNECTIONS + RESERVED:
            raise _full()

    def _at_once(self, line: bytes) -> bytes | None:
        """Answer a request that needs no waiting; None for every other, and for one that fails.

        Those are done again from the start, by the way that reports what is wrong with them.
        """
        if self._draining or self._closing:
            return None
        try:
            request = rpc.parse(line)
            # What is answered at once is the owner's; a token takes a look at a file, and what a
            # session may call is looked up.
            is_owner = request.token is None and request.agent is None
            quick = self._quick.get(request.method) if is_owner else None
            result = quick(**request.params) if quick else None
        except Exception:  # noqa: BLE001 - whatever it is, the other way comes upon it again
            return None
        if result is None:
            return None
        return rpc.encode_success(request.id, result) if request.id is not None else b""

    async def _turn(self, line: bytes, connection: Connection) -> None:
        """Answer one request."""
        try:
            request = rpc.parse(line)
        except rpc.UnreadableRequest as error:
            await connection.send(rpc.encode_failure(error.id, error.error, code=error.code))
            return
        if request.method == "logs":
            await self._stream(request, connection)
            return
        if request.method == MCP and self._mcp is not None:
            await self._speak(request, connection, mcp=self._mcp)
            return
        answer = await self._answer(request)
        # A request without an id is a notification: done, not answered.
        if request.id is not None:
            await connection.send(answer)

    async def _answer(self, request: rpc.Request) -> bytes:
        """Do what one request asks and return the line to send."""
        caller = OWNER
        try:
            caller = await self._caller(request)
            verb = rpc.bind_verb(self._verbs, request, caller)
            self._require_place(request.method)
            async with asyncio.timeout(DEADLINE):
                result = await verb()
            self._note_done(request, caller)
            return rpc.encode_success(request.id, result)
        except rpc.UnreadableRequest as error:
            return rpc.encode_failure(request.id, error.error, code=error.code)
        except TimeoutError:
            late = errors.DeadlineExceeded(f"{request.method} was not done within {DEADLINE:g} s")
            return rpc.encode_failure(request.id, late)
        except Exception as error:  # noqa: BLE001 - one bad request must not end the connection
            self._note_failed(request, caller, error)
            return rpc.encode_failure(request.id, error)

    async def _caller(self, request: rpc.Request) -> Caller:
        """Return who asks: without a token the owner.

        Raises `BadToken`, which is noted, and `BadInput` for what is no agent's id.
        """
        if request.agent is not None:
            return Caller(read_agent_id(request.agent), is_session=True)
        if request.token is None:
            return OWNER
        try:
            return await asyncio.to_thread(self._tokens.find_caller, request.token)
        except errors.BadToken:
            self._logs.write("warning", "an unknown token was shown", actor=rpc.AUDIT)
            raise

    def _note_failed(self, request: rpc.Request, caller: Caller, error: Exception) -> None:
        """Note that an agent asked for what is not its own, or that we failed."""
        rpc.note_failure(self._logs, error, method=request.method, caller=caller, actor="control")

    def _note_done(self, request: rpc.Request, caller: Caller) -> None:
        """Note what the owner has done for an agent, or read and changed as one."""
        if not caller.is_owner:
            return
        verb = request.method
        for how, name in (("for", ACTING.get(verb, "")), ("as", EYES)):
            with suppress(errors.BadInput):  # what names no agent needs no note
                if (given := request.params.get(name)) is not None:
                    agent = read_agent_id(given)
                    text = f"the owner did {verb} {how} {agent}"
                    about = {"verb": verb, "agent": agent, "by": OWNER.by}
                    self._logs.write("info", text, actor=rpc.AUDIT, **about)
                    return

    def _require_place(self, method: str) -> None:
        """Raise `DaemonStopping` for new work while the daemon drains.

        And `TooManyConnections` while only reserved places are left for who asks now.
        """
        if self._draining and method not in _WHILE_DRAINING:
            raise errors.DaemonStopping(
                f"the daemon is stopping and takes no new {method}: try again once it is back"
            )
        if len(self._busy) > CONNECTIONS and method not in _RESERVED_FOR:
            raise _full()

    async def _shut_down(self) -> dict[str, object]:
        """Ask the daemon to end."""
        self._stop("it was asked to over the control socket")
        return {"stopping": True, "pid": os.getpid()}

    async def _stream(self, request: rpc.Request, connection: Connection) -> None:
        """Send log records, then the result; with `follow`, until either side ends.

        Whatever a client says while it follows ends the stream.
        """
        caller = OWNER
        try:
            if not (caller := await self._caller(request)).is_owner:
                raise rpc.make_refusal(caller, request.method)
            wanted, last, follow = _wishes(request.params)
            begun = await self._begun(wanted, last=last, follow=follow)
        except (errors.Refused, errors.BadInput) as error:
            self._note_failed(request, caller, error)
            code = rpc.INVALID_PARAMS if isinstance(error, errors.BadInput) else None
            await connection.send(rpc.encode_failure(request.id, error, code=code))
            return
        if isinstance(begun, list):
            await connection.send(b"".join(rpc.encode_notice("logs", r.encoded) for r in begun))
            sent = len(begun)
        else:
            sent = await self._follow(begun, connection)
        await connection.send(rpc.encode_success(request.id, {"sent": sent}))

    async def _speak(self, request: rpc.Request, connection: Connection, *, mcp: McpHost) -> None:
        """Begin an MCP session, and answer its lines until the client ends it."""
        caller = OWNER
        try:
            caller = await self._caller(request)
            self._require_place(request.method)
            mcp.require_place()
            session = mcp.make_session(caller, request.params)
        except errors.CortexError as error:
            self._note_failed(request, caller, error)
            await connection.send(rpc.encode_failure(request.id, error))
            return
        reads = [name for name, tool in session.tools.items() if tool.reads]
        told = {"agent": session.caller.agent, "version": __version__, "reads": reads}
        await connection.send(rpc.encode_success(request.id, told))
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine runs in a task
        # It waits for its agent most of the time, and must not be waited for at a stop.
        self._busy.discard(task)
        try:
            await mcp.serve(session, connection)
        except (ConnectionError, TimeoutError):
            raise
        except ValueError:
            pass  # a line that is too long: nothing behind it can be read
        except Exception as error:  # noqa: BLE001 - one bad session must not end the daemon's task
            rpc.note_failure(self._logs, error, method="an MCP session", caller=caller, actor="mcp")
        # What an agent sends behind it must not be taken for the owner's requests.
        raise _SessionOverError

    async def _begun(
        self, wanted: Filter, *, last: int | None, follow: bool
    ) -> Follower | list[LogEntry]:
        """Return the records that are wanted, or who follows them from now on.

        One in each turn of the loop: to look for rare records takes up to 8 ms. Raises `Refused`
        where as many follow as may.
        """
        async with self._looking:
            await asyncio.sleep(0)
            self._require_place("logs")
            if not (follow or wanted.since or wanted.since_at):
                return self._logs.list_recent(wanted, last=LAST if last is None else last)
            if len(self._followers) >= FOLLOWERS:
                message = f"{FOLLOWERS} clients follow the log, no more are taken: end one first"
                raise errors.Refused(message)
            follower = self._logs.follow(wanted, last=last, go_on=follow)
            self._followers.add(follower)
            return follower

    async def _follow(self, follower: Follower, connection: Connection) -> int:
        """Send records until the client speaks or leaves, or the stream ends; return how many."""
        ended = asyncio.create_task(connection.wait_left(), name="control-follower")
        ended.add_done_callback(lambda _: follower.close())
        sent = 0
        try:
            async for batch in follower:
                lines = [rpc.encode_notice("logs", record.encoded) for record in batch.records]
                if batch.dropped:
                    lines.insert(
                        0, rpc.encode_notice("logs", json.dumps({"dropped": batch.dropped}))
                    )
                await connection.send(b"".join(lines))
                sent += len(batch.records)
            if ended.done():
                ended.result()
            return sent
        finally:
            self._followers.discard(follower)
            ended.cancel()
            await asyncio.gather(ended, return_exceptions=True)


def _full() -> errors.TooManyConnections:
    """Return the error of a client for which there is no place; nothing was done for it."""
    return errors.TooManyConnections(
        f"{CONNECTIONS} connections are at work, no more are taken: close one first; until then "
        "only status and stop are answered"
    )


def _wishes(params: dict[str, Any]) -> tuple[Filter, int | None, bool]:
    """Return the filter, how many old records (None: all since when) and whether to follow.

    Raises `BadInput`.
    """
    params = {name: value for name, value in params.items() if value is not None}
    kinds = {"level": str, "actor": str, "topic": str, "since": int, "since_at": int}
    for name, value in params.items():
        kind = {**kinds, "last": int, "follow": bool}.get(name)
        if kind is None or type(value) is not kind:
            wanted = f"it must be {kind.__name__}" if kind else "there is no such parameter"
            raise errors.BadInput(f"cannot show logs with {name}={value!r}: {wanted}")
    chosen = {name: params[name] for name in kinds if name in params}
    last = None if chosen.get("since") or chosen.get("since_at") else LAST
    return Filter(**chosen), params.get("last", last), params.get("follow", False)
