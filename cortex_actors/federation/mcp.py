"""Mcp: one tool of any MCP server, asked as its description says.

The server searches, in whatever way; what its tool takes and what its answer is made of are
options, because no two servers agree.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any, ClassVar

from cortex_actors.errors import StoreUnusable
from cortex_actors.federation.mcplink import Link
from cortex_actors.federation.mcprows import SHAPE, Fields
from cortex_actors.federation.options import Options
from cortex_actors.federation.reading import answer
from cortex_actors.rules.addresses import SCHEMES, STDIO

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_actors.domain.hit import Hit
    from cortex_actors.endpoint.connection import Line
    from cortex_actors.federation.adapter import Asked
    from cortex_actors.federation.spec import StoreSpec
    from cortex_actors.federation.store import Answer

#: Its options (docs/store-types.md).
OPTIONS = (
    *("tool", "arguments", "hits", "text", "id", "distance", "score", "relevance", "metadata"),
    *("path", "command", "env"),
)

#: What stands in the arguments for the question, for how many hits are wanted, and in a program's
#: environment for the token.
QUERY, LIMIT, TOKEN = "{query}", "{limit}", "{token}"

#: Characters of an answer's texts that are parsed on the loop; more take a thread.
AT_ONCE = 65_536

#: A path that stays below the store's address.
_PATH = re.compile(r"(?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*/?\Z")


class Mcp:
    """Calls one tool of an MCP server: over streamable HTTP, or of a program that it starts.

    Added with `cortex stores add tickets mcp http://127.0.0.1:9000/mcp --option tool=search`.
    """

    #: What a model's page has room for, which most tools are made for.
    most: ClassVar[int] = 100
    meets: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, spec: StoreSpec, line: Line) -> None:
        """Check the options; nothing is sent, and no program started."""
        options = Options(spec, OPTIONS)
        self._name = spec.name
        self._tool = options.required("tool")
        self._arguments = options.table("arguments") or {"query": QUERY}
        if QUERY not in str(self._arguments):
            raise StoreUnusable(f"options.arguments nowhere holds {QUERY}, where the question goes")
        self._fields = Fields(
            **{
                name: options.words(name)
                for name in ("hits", "text", "id", "distance", "score", "relevance")
            },
            metadata=options.listing("metadata"),
        )
        command, env = _program(spec, line, options)
        self._link = Link(line, _path(options), command=command, env=env)

    async def search(self, asked: Asked) -> Answer:
        """Return what the tool finds, in its order."""
        arguments = _filled(self._arguments, asked)
        outcome = await self._link.call(self._tool, arguments, asked.seconds)
        if sum(map(len, outcome.texts)) > AT_ONCE:
            rows = await asyncio.to_thread(self._fields.rows, outcome.document, outcome.texts)
        else:
            rows = self._fields.rows(outcome.document, outcome.texts)
        return answer(rows, self._hit, limit=asked.limit, shape=SHAPE)

    async def ping(self, seconds: float) -> dict[str, Any]:
        """Return who the server says it is, and its tools."""
        return dict(await self._link.described(seconds))

    async def close(self) -> None:
        """End the session, and the program that was started for it."""
        await self._link.close()

    def _hit(self, row: Mapping[str, Any]) -> Hit | None:
        return self._fields.hit(row, store=self._name)


def _program(
    spec: StoreSpec, line: Line, options: Options
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the program to start and its environment; nothing for a server with an address.

    Who may add a store to a running daemon may not choose what the daemon runs.
    """
    command, env = options.listing("command"), options.table("env")
    if line.address.scheme in SCHEMES and not command and not env:
        return (), {}
    if line.address.scheme != STDIO or not command:
        raise StoreUnusable(
            "its address has to be http:// or https://, or stdio: with the program in "
            "options.command"
        )
    if spec.managed:
        raise StoreUnusable(
            "a program is started only for a store that [[federation.stores]] in cortex.toml names"
        )
    if not all(isinstance(value, str) for value in env.values()):
        raise StoreUnusable("options.env has to be a table of names and texts")
    return command, {name: value.replace(TOKEN, line.token) for name, value in env.items()}


def _path(options: Options) -> str:
    """Return what follows the address; it may end in a slash, which an address here does not."""
    found = options.words("path")
    if not _PATH.match(found):
        raise StoreUnusable("options.path has to be a path such as /mcp/")
    return found


def _filled(value: Any, asked: Asked) -> Any:  # noqa: ANN401 - whatever a description holds
    """Return the arguments of a call, the question and the number of hits put in their places."""
    if isinstance(value, str):
        return asked.limit if value == LIMIT else value.replace(QUERY, asked.text)
    if isinstance(value, dict):
        return {name: _filled(each, asked) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_filled(each, asked) for each in value]
    return value
