"""Mcp: one tool of any MCP server, asked as its description says.

The server searches, in whatever way; what its tool takes and what its answer is made of are
options, because no two servers agree.

The way to an MCP server: one session for many questions, opened again when it has ended.

What opens a session is `mcpdriver`, which imports the SDK; it is imported here on a thread, from
the moment that there is a store to ask.

What an MCP tool has answered, as rows. Pure.

A tool answers with a structured document, with texts, or with texts that are JSON. Which field is
the text and which the id is said by a description, or guessed from the names that servers use.

What an MCP tool answered, and what it means when none does. Pure.

A server's own words are kept apart from an error's text: agents read that.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from functools import partial
from hashlib import sha256
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

from pydantic import Field

from cortex_actors.endpoint.client import LeftAlone
from cortex_actors.errors import StoreDown, StoreTimeout, StoreUnusable
from cortex_actors.federation.adapters.troubles import SessionEnded
from cortex_actors.federation.answers import (
    answer,
    make_hit,
    read_id,
    read_number,
    read_text,
    record,
    refuse_shape,
)
from cortex_actors.federation.schema import Listing, StoreOptions, Table, Words
from cortex_actors.rules.addresses import SCHEMES, STDIO
from cortex_actors.runtime.tasks import Background

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from cortex_actors.domain.hit import RankedHit
    from cortex_actors.endpoint.connection import StoreConnection
    from cortex_actors.federation.adapters.mcp_session import McpSession
    from cortex_actors.federation.answers import OutgoingQuestion
    from cortex_actors.federation.store import Answer, StoreSpec


T = TypeVar("T")

#: Who speaks to the SDK; importing it takes half a second and more.
_DRIVER = "cortex_actors.federation.adapters.mcp_session"

#: Share of a question's time that it waits for our own import at most.
_WAIT = 0.5

#: What is said of a store while we are not ready to ask it.
LOADING = "the MCP SDK is still being loaded here; ask again in a few seconds"


def _begun() -> asyncio.Task[Any]:
    """Return the import of the SDK, on a thread; its error is read where it is used."""
    task = asyncio.create_task(asyncio.to_thread(_driver), name="import of the MCP SDK")
    task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
    return task


def _driver() -> Any:  # noqa: ANN401 - a module
    """Return the module that speaks to the SDK; raises `StoreUnusable` where it is missing."""
    try:
        return import_module(_DRIVER)
    except ImportError as error:
        raise StoreUnusable(f"the MCP SDK cannot be used ({error.name} is missing)") from error


#: Where a list of hits mostly is, when the description does not say it; the SDK itself puts a
#: list under `result`.
_LISTS = ("hits", "results", "result", "memories", "items", "matches", "documents")

#: What a text, an id, a distance and a score are mostly called.
_TEXTS = ("text", "content", "memory", "document", "snippet", "value", "body")
_IDS = ("id", "uri", "url", "path", "key")
_DISTANCES = ("distance", "raw_distance")
_SCORES = ("score", "similarity", "relevance")

#: Base relevance of a hit that nothing was measured of: neither sure, which would lead every
#: answer, nor so far that a floor for noisy stores drops it.
UNMEASURED = 0.5

#: Digits of a text's hash that are its id where there is none.
_DIGITS = 20

SHAPE = "a list of hits from an MCP tool; see options.hits and options.text"


class Fields(StoreOptions):
    """Which fields of a row mean what; an empty one is guessed.

    Attributes:
        hits: the way to the list, by names with dots between.
        relevance: a number from 0 to 1 that says how sure a hit is.
        metadata: fields that are kept beside; none keeps the row's own `metadata` and `topic`.

    """

    hits: Words = ""
    text: Words = ""
    id: Words = ""
    distance: Words = ""
    score: Words = ""
    relevance: Words = ""
    metadata: Listing = ()

    def read_hit(self, row: Mapping[str, Any], *, store: str) -> RankedHit | None:
        """Return a row as a hit; None for one without a text."""
        words = _first(row, self.text, _TEXTS, read_text) or ""
        distance = _first(row, self.distance, _DISTANCES, read_number)
        sure = read_number(row.get(self.relevance)) if self.relevance else None
        if sure is None and distance is None:
            sure = UNMEASURED
        return make_hit(
            store,
            _first(row, self.id, _IDS, read_id)
            or f"sha256:{sha256(words.encode()).hexdigest()[:_DIGITS]}",
            text=words,
            distance=distance,
            score=_first(row, self.score, _SCORES, read_number),
            sure=sure,
            metadata=self._beside(row),
        )

    def read_rows(self, document: object, texts: Sequence[str]) -> list[Any]:
        """Return the rows of an answer: of its document, or else of its texts.

        Raises `StoreDown` where nothing of it is a list of hits.
        """
        if document is None:
            document = _spoken(texts, is_named=bool(self.hits))
        if self.hits:
            for name in self.hits.split("."):
                if not isinstance(document, dict) or name not in document:
                    raise refuse_shape(SHAPE)
                document = document[name]
            document = [] if document is None else document
        elif isinstance(document, dict):
            document = _guessed(document)
        if not isinstance(document, list):
            raise refuse_shape(SHAPE)
        return [{"text": each} if isinstance(each, str) else each for each in document]

    def _beside(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is kept beside the text."""
        if self.metadata:
            return {name: row[name] for name in self.metadata if name in row}
        topic = read_text(row.get("topic"))
        return {**({"topic": topic} if topic else {}), **record(row.get("metadata"))}


def _spoken(texts: Sequence[str], *, is_named: bool) -> object:
    """Return what the texts of an answer say: JSON where they are JSON, else each is a hit."""
    found: list[object] = []
    for each in texts:
        try:
            said = json.loads(each)
        except (ValueError, RecursionError):
            said = None
        found.append(said if isinstance(said, dict | list) else each)
    if len(found) == 1 and (is_named or not isinstance(found[0], str)):
        return found[0]
    return found


def _guessed(document: Mapping[str, Any]) -> object:
    """Return the list that an object holds; one that is a hit itself is the only one.

    The SDK puts a text that a tool returns under `result`, which may be JSON in its turn.
    """
    if isinstance(only := document.get("result"), str):
        said = _spoken([only], is_named=False)
        return _guessed(said) if isinstance(said, dict) else said
    for name in _LISTS:
        found = document.get(name)
        if isinstance(found, dict):  # {"result": {"hits": [...]}}
            found = next(
                (found[each] for each in _LISTS if isinstance(found.get(each), list)), None
            )
        if isinstance(found, list):
            return found
    return [document] if _first(document, "", _TEXTS, read_text) else None


def _first(
    row: Mapping[str, Any], given: str, guessed: Sequence[str], read: Callable[[object], T]
) -> T | None:
    """Return the first field that can be read, only where a description says, if it does."""
    found = (read(row.get(each)) for each in ((given,) if given else guessed))
    return next((each for each in found if each not in (None, "")), None)


#: Placeholders in the arguments for the question, for how many hits are wanted, and in a program's
#: environment for the token.
QUERY, LIMIT, TOKEN = "{query}", "{limit}", "{token}"

#: Characters of an answer's texts that are parsed on the loop; more take a thread.
AT_ONCE = 65_536

#: A path that stays below the store's address.
_PATH = r"^(?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*/?$"


class McpOptions(Fields):
    """Its options (docs/stores.md)."""

    tool: Words
    arguments: Table = Field({})
    #: What follows the address; it may end in a slash, which an address here does not.
    path: Annotated[Words, Field(pattern=_PATH, description="a path such as /mcp/")] = ""
    command: Listing = ()
    env: Annotated[Mapping[str, str], Field(description="a table of names and texts")] = Field({})


class Mcp:
    """Calls one tool of an MCP server: over streamable HTTP, or of a program that it starts.

    One session serves many questions; whichever question finds it ended opens the next one.

    Added with `cortex stores add tickets mcp http://127.0.0.1:9000/mcp --option tool=search`.
    """

    #: What a model's page has room for, which most tools are made for.
    most: ClassVar[int] = 100

    def __init__(self, spec: StoreSpec, line: StoreConnection) -> None:
        """Check the options; nothing is started but the import of the SDK, on a thread.

        Who may add a store to a running daemon may not choose what program the daemon runs.
        """
        self._fields = options = McpOptions.from_fields(spec)
        self._name = spec.name
        self._line = line
        self._path = options.path
        self._tool = options.tool
        self._arguments = options.arguments or {"query": QUERY}
        if QUERY not in str(self._arguments):
            raise StoreUnusable(f"options.arguments nowhere holds {QUERY}, where the question goes")
        self._command = tuple(options.command)
        self._env = {name: each.replace(TOKEN, line.token) for name, each in options.env.items()}
        if self._command or self._env or line.address.scheme not in SCHEMES:
            if line.address.scheme != STDIO or not self._command:
                raise StoreUnusable(
                    "its address has to be http:// or https://, or stdio: with the program in "
                    "options.command"
                )
            if spec.managed:
                raise StoreUnusable(
                    "a program is started only for a store that [[federation.stores]] in "
                    "cortex.toml names"
                )
        self._session: McpSession | None = None
        self._opening = asyncio.Lock()
        self._left = Background()
        self._closed = False
        self._loading = _begun()

    async def search(self, asked: OutgoingQuestion) -> Answer:
        """Return what the tool finds, in its order."""
        arguments = _filled(self._arguments, asked)
        outcome = await self._run(lambda one: one.call(self._tool, arguments), asked.seconds)
        if sum(map(len, outcome.texts)) > AT_ONCE:
            rows = await asyncio.to_thread(self._fields.read_rows, outcome.document, outcome.texts)
        else:
            rows = self._fields.read_rows(outcome.document, outcome.texts)
        read = partial(self._fields.read_hit, store=self._name)
        return answer(rows, read, limit=asked.limit, shape=SHAPE)

    async def ping(self, seconds: float) -> dict[str, Any]:
        """Return who the server says it is, and its tools."""
        return await self._run(lambda session: session.describe(), seconds)

    async def close(self) -> None:
        """End the session, and the program that was started for it."""
        self._closed = True
        self._leave(self._session)
        # A thread cannot be ended: an import that has begun is waited for.
        await asyncio.wait({*self._left, self._loading})
        await self._line.close()

    async def _run(self, ask: Callable[[McpSession], Awaitable[T]], seconds: float) -> T:
        """Ask within a time; once more when a session that was kept has ended since.

        Raises `LeftAlone` while our own import is not done: the store is not to blame.
        """
        session: McpSession | None = None
        await self._loaded(seconds * _WAIT)
        try:
            async with asyncio.timeout(seconds):
                while True:
                    was_kept = self._session is not None
                    session = await self._opened()
                    try:
                        return await ask(session)
                    except SessionEnded:
                        self._leave(session)
                        if not was_kept:
                            raise
        except TimeoutError:
            raise StoreTimeout(f"timeout after {seconds:.2f} s") from None
        except asyncio.CancelledError:
            # Over HTTP an answer that no caller waits for would go on dripping; a program that is
            # only slow, or still starting, is let be.
            if session is not None and not self._command:
                self._leave(session)
            raise

    async def _loaded(self, seconds: float) -> None:
        """Wait until the SDK is imported.

        Raises `LeftAlone` when it takes longer, and `StoreUnusable` where the SDK is missing; then
        the next question tries again.
        """
        if self._closed:
            raise StoreDown("the store is closed; ask again")
        if self._loading.done() and self._loading.exception() is not None:
            self._loading = _begun()
        await asyncio.wait({self._loading}, timeout=seconds)
        if not self._loading.done():
            raise LeftAlone(LOADING)
        self._loading.result()

    async def _opened(self) -> McpSession:
        """Return the session, opening one first if need be.

        Everybody waits for the same opening, which goes on when one of them gives up: a program
        may take longer to start than a question may take.
        """
        if self._closed:
            raise StoreDown("the store is closed; ask again")
        async with self._opening:
            if self._session is None or self._session.is_over:
                self._leave(self._session)
                self._session = self._loading.result().McpSession(
                    self._line, self._path, command=self._command, env=self._env
                )
        session = self._session
        await session.wait_ready()
        return session

    def _leave(self, session: McpSession | None) -> None:
        """Have a session end, without waiting for it."""
        if session is None:
            return
        if self._session is session:
            self._session = None
        self._left.begin(session.close(), "end of an MCP session")


def _filled(value: Any, asked: OutgoingQuestion) -> Any:  # noqa: ANN401 - whatever a description holds
    """Return the arguments of a call, the question and the number of hits put in their places."""
    if isinstance(value, str):
        return asked.limit if value == LIMIT else value.replace(QUERY, asked.text)
    if isinstance(value, dict):
        return {name: _filled(each, asked) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_filled(each, asked) for each in value]
    return value
