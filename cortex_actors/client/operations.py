"""Operations as methods: what the registry declares, and by hand what does more than ask.

The registry itself needs all of the daemon, so that a snapshot of it is read here, which `make
docs` writes beside it.
"""

from __future__ import annotations

import inspect
import json
from collections import Counter
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from cortex_actors.client import results
from cortex_actors.client.connection import Answer, Client, find_folder
from cortex_actors.client.results import Exported, Imported
from cortex_actors.clock import SystemClock, iso
from cortex_actors.errors import BadInput, CortexError, HomeUnwritable
from cortex_actors.home import replace_file
from cortex_actors.render import memorycore

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Mapping

    from cortex_actors.client.doors import Awaited, Blocking
    from cortex_actors.client.host import Embed
    from cortex_actors.home import Home

#: What the registry declares, as JSON.
SNAPSHOT: Final = Path(__file__).parents[1] / "api" / "operations.json"

#: Method -> its operation, where the two are not called alike. `topics` has always been those of
#: documents here, so the catalogue of events' topics has another name.
NAMES: Final[Mapping[str, str]] = {
    "detect_convergence": "convergence",
    "event_topics": "topics",
    "get_crumbs": "crumbs",
    "get_duplicates": "duplicates",
    "get_stale": "stale",
    "topics": "knowledge_topics",
}

#: Operations that take `as_agent` and speak all the same by saying whose crumbs are meant.
WHOSE: Final = frozenset({"crumbs", "latest_crumb", "unfinished"})

#: What an operation gives that is not in the table below: its JSON.
JSON: Final = "dict[str, Any]"


def _several(name: str, make: Callable[[Answer], object]) -> Callable[[Answer], object]:
    """Return what makes results of a list in an answer."""
    return lambda told: tuple(map(make, told.get(name, ())))


#: Operation -> what its method gives, and how that is made of the answer.
RESULTS: Final[Mapping[str, tuple[str, Callable[[Answer], object]]]] = {
    "remember": ("Saved", results.Saved.from_answer),
    "post": ("Saved", results.Saved.from_answer),
    "search": ("Found", results.Found.from_answer),
    "recall": ("Found", results.Found.from_answer),
    "knowledge_search": ("Found", results.Found.from_answer),
    "memory": ("Detail", results.Detail.from_answer),
    "thread": ("Thread", results.Thread.from_answer),
    "leave_crumb": ("Crumb", results.Crumb.from_answer),
    "crumbs": ("tuple[Crumb, ...]", _several("crumbs", results.Crumb.from_answer)),
    "convergence": ("Convergence", results.Convergence.from_answer),
    "stale": ("tuple[Stale, ...]", _several("stale", results.Stale.from_answer)),
    "duplicates": ("tuple[Duplicate, ...]", _several("duplicates", results.Duplicate.from_answer)),
    "knowledge_topics": (f"tuple[{JSON}, ...]", _several("topics", dict)),
}

#: JSON type -> what may be given for it.
_KINDS: Final[Mapping[str, str]] = {
    "array": "Collection[str]",
    "boolean": "bool",
    "integer": "int",
    "number": "float",
    "object": "Mapping[str, Any]",
    "string": "str",
}


@cache
def load_snapshot() -> dict[str, dict[str, Any]]:
    """Return every operation by its method on the control socket."""
    found: dict[str, dict[str, Any]] = json.loads(SNAPSHOT.read_bytes())
    return found


@cache
def find_speaker(verb: str) -> str | None:
    """Return the parameter by which an operation knows the agent that is spoken for."""
    row = load_snapshot().get(verb, {"agents": False, "parameters": ()})
    may_be_left_out = {each["name"] for each in row["parameters"] if not each["required"]}
    words = ("agent",) if verb in WHOSE else ("as_agent", "agent")
    return next((word for word in words if row["agents"] and word in may_be_left_out), None)


@cache
def asks_from(verb: str) -> bool:
    """Tell whether an operation takes the folder from which it is asked."""
    row = load_snapshot().get(verb, {"parameters": ()})
    return any(each["name"] == "here" for each in row["parameters"])


class Operations:
    """The memory of one home: what does more than ask; `derive_methods` gives the rest."""

    #: Through what is asked.
    _door_kind: ClassVar[type[Blocking | Awaited]]

    def __init__(
        self,
        home: Home | Path | str | None = None,
        *,
        agent: str | None = None,
        token: str | None = None,
        embedded: Embed = False,
        timeout: float | None = None,
    ) -> None:
        """Find out who answers.

        `home` is the daemon's folder, as `--home`; `agent` is for whom is spoken and through whose
        eyes is read where a call says nothing else; `token` is an agent's (`cortex agents token`),
        without which it is the owner who asks. `embedded` runs the tree in this process instead:
        True refuses where a daemon runs (`AlreadyRunning`), "auto" uses that daemon. `timeout` is
        how many seconds an answer may take; what takes long has its own.
        """
        self._door = self._door_kind(Client(home, token=token, timeout=timeout), embedded)
        self._agent = agent

    @property
    def home(self) -> Home:
        """The home whose memory this is."""
        return self._door.home

    async def _ask(self, verb: str, /, **said: object) -> Answer:
        """Ask a verb, with what was said under whichever words; see `results.plain`."""
        given = results.translate_words(verb, said)
        if self._agent is not None and (word := find_speaker(verb)):
            given.setdefault(word, self._agent)
        if asks_from(verb):
            given.setdefault("here", find_folder())
        return await self._door.ask(verb, given)

    async def forget(self, *ids: str, as_agent: str | None = None) -> dict[str, Any]:
        """Delete memories for good, with all that was made of them; there is no undo.

        Raises `NotFound`, `NotYours` for another agent's, and `Refused` for a part of a bigger one.

        Example:
            >>> cortex.forget(saved.id)["forgotten"]
            ['mem_01J8Z3K4M5N6P7Q8R9S0T1V2W3']

        """
        return await self._ask("forget", ids=list(ids), as_agent=as_agent)

    async def consolidate(
        self,
        first: str | None = None,
        second: str | None = None,
        *,
        keep: str | None = None,
        as_agent: str | None = None,
        id1: str | None = None,
        id2: str | None = None,
    ) -> dict[str, Any]:
        """Make one of two memories that say the same; `split` parts them again.

        `keep` says which stays: higher_access (left out), higher_attention, id1 or id2, or its id.

        Example:
            >>> cortex.consolidate(one.id, two.id, keep="id1")["kept_id"] == one.id
            True

        """
        # The document's words for the two; the verb knows them by their ids.
        kept = {"id1": first or id1, "id2": second or id2}.get(keep or "", keep)
        pair = {"first": first, "second": second, "id1": id1, "id2": id2}
        return await self._ask("consolidate", **pair, keep=kept, as_agent=as_agent)

    async def ingest(self, path: Path | str, *, topic: str | None = None) -> dict[str, Any]:
        """Read a document, or every document in a folder; only the owner may.

        What has not changed costs a hash; what is gone from a folder is found no more. `counts`
        says how many documents were added, changed, unchanged, withdrawn, and how many failed.

        Example:
            >>> cortex.ingest("docs")["counts"]
            {'added': 12}

        """
        whole = str(Path(path).expanduser().absolute())  # noqa: ASYNC240 - touches no disk
        return await self._ask("ingest", path=whole, topic=topic)

    async def ingest_text(
        self, text: str, *, source: str | None = None, topic: str | None = None
    ) -> dict[str, Any]:
        r"""Read a text as a document called `source`; again under that name, it is replaced.

        Example:
            >>> cortex.ingest_text("# Ports\n\nTests use 5433.", source="ports")["state"]
            'added'

        """
        return await self._ask("ingest", text=text, source=source, topic=topic)

    async def export_to(
        self, path: Path | str, *, agent: str | None = None, realm: str | None = None
    ) -> Exported:
        """Write all that may be read and found now into a file, as MemoryCore's JSON.

        The file takes its name when it is complete, in place of an earlier one.

        Example:
            >>> cortex.export_to("memories.json", agent="AZOTH").records
            {'cortex_private': 120, 'cortex_crumbs': 3}

        """
        target = Path(path).expanduser().absolute()  # noqa: ASYNC240 - touches no disk
        found: dict[str, list[dict[str, Any]]] = {}
        for name, collection in memorycore.COLLECTIONS.items():
            if realm in {None, name}:
                found[collection] = await self._exported("memories", agent=agent, realm=name)
        if realm is None:
            found[memorycore.CRUMBS] = await self._exported("crumbs", agent=agent)
        counts = {name: len(some) for name, some in found.items() if some}
        about = {
            "source_backend": "cortex-actors",
            "embedding_dimension": await self._dimension(),
            "total_memories": sum(counts.values()),
        }
        whole = {
            "format_version": memorycore.VERSION,
            "agent_id": agent or self._agent,
            "exported_at": iso(SystemClock().now()),
            "collections": found,
            "metadata": about,
        }
        await self._door.on_thread(_write_whole, target, whole)
        return Exported(path=str(target), records=counts)

    async def import_from(self, path: Path | str, *, dry_run: bool = False) -> Imported:
        """Import the memories and crumbs of MemoryCore's JSON that are not there yet.

        The daemon reads the file; only the owner may. All of it is checked before anything is
        written. What comes is marked as imported, replaces nothing and is merged with nothing; the
        same file adds nothing a second time.

        Example:
            >>> cortex.import_from("memories.json", dry_run=True).added
            {'private': 120, 'crumb': 3}

        """
        whole = str(Path(path).expanduser().absolute())  # noqa: ASYNC240 - touches no disk
        total: dict[str, Any] = {"next": 0}
        while (skip := total["next"]) is not None:
            said = {"path": whole, "dry_run": dry_run, "skip": skip}
            found = await self._ask("import_memories", **said)
            for name in ("added", "unplaced"):
                found[name] = dict(Counter(total.get(name)) + Counter(found[name]))
            for name in ("records", "redacted", "existing", "differing"):
                found[name] = total[name] + found[name] if skip else found[name]
            total = found
        return Imported.from_answer(total)

    async def _exported(self, kind: str, **said: object) -> list[dict[str, Any]]:
        """Return all records of a kind."""
        found: list[dict[str, Any]] = []
        after: str | None = ""
        while after is not None:
            page = await self._ask("export", kind=kind, after=after, **said)
            found += page["records"]
            after = page["next"]
        return found

    async def _dimension(self) -> int | None:
        """Return how long the vectors here are; None for a caller that may not know."""
        with suppress(CortexError):
            found = (await self._ask("status")).get("model", {}).get("dimension")
            return found if isinstance(found, int) else None
        return None


#: Methods that do more than ask.
BY_HAND: Final = frozenset(vars(Operations))


def derive_methods() -> dict[str, Callable[..., Coroutine[Any, Any, Any]]]:
    """Return the methods that only ask, by their names: one for every operation, and `NAMES`."""
    return {name: _method(name, verb) for name, verb in list_methods().items()}


def list_methods() -> dict[str, str]:
    """Return the operation of each method that only asks."""
    own = {verb: verb for verb in load_snapshot() if verb not in BY_HAND}
    return {**own, **NAMES}


def _method(name: str, verb: str) -> Callable[..., Coroutine[Any, Any, Any]]:
    """Return a coroutine method that asks an operation."""
    takes = make_signature(verb)
    make = RESULTS[verb][1] if verb in RESULTS else dict

    async def run(self: Operations, /, *given: object, **named: object) -> object:
        try:
            said = takes.bind(self, *given, **named).arguments
        except TypeError as error:
            # As Python says it of a function that was written.
            raise TypeError(f"{name}() {error}") from None
        del said["self"]
        return make(await self._ask(verb, **said))

    run.__name__, run.__qualname__ = name, f"{Operations.__name__}.{name}"
    run.__doc__ = (
        f"{load_snapshot()[verb]['description']}\n\nExample:\n    >>> {_example(name, takes)}"
    )
    run.__signature__ = takes  # type: ignore[attr-defined]
    return run


def _example(name: str, takes: inspect.Signature) -> str:
    """Return the shortest call of a method."""
    first = takes.parameters.values()
    needed = ", ".join(each.name for each in first if each.default is each.empty)
    return f"cortex.{name}({needed.removeprefix('self').removeprefix(', ')})"


def make_signature(verb: str) -> inspect.Signature:
    """Return what a method takes: the operation's parameters in our words, then the document's.

    None is what is left out. Annotations are texts, as the stub has them.
    """
    kind = inspect.Parameter
    found = [kind("self", kind.POSITIONAL_OR_KEYWORD), *_parameters(verb)]
    by_name = {each.name: each for each in found}
    for word in results.WORDS.get(verb, ()):
        meant = by_name[results.SYNONYMS[word]]
        noted = f"{meant.annotation.removesuffix(' | None')} | None"
        found.append(kind(word, kind.KEYWORD_ONLY, default=None, annotation=noted))
    gives = RESULTS[verb][0] if verb in RESULTS else JSON
    return inspect.Signature(found, return_annotation=gives)


def _parameters(verb: str) -> Iterator[inspect.Parameter]:
    """Yield an operation's parameters in our words."""
    kind = inspect.Parameter
    ours = {theirs: word for word, theirs in results.SPOKEN.get(verb, {}).items()}
    replaced = {results.SYNONYMS[word] for word in results.WORDS.get(verb, ())}
    for each in load_snapshot()[verb]["parameters"]:
        name = ours.get(each["name"], each["name"])
        types = [_KINDS[type_] for type_ in each["kinds"] if type_ != "null"]
        if each["items"] == "object":
            types = [f"Collection[{_KINDS['object']}]"]
        default = kind.empty if each["required"] else each["default"]
        if default == []:
            default = ()
        if name in replaced and each["required"]:
            default = None
        if default is not kind.empty:
            types.append("None")
        way = kind.KEYWORD_ONLY if each["keyword"] else kind.POSITIONAL_OR_KEYWORD
        yield kind(name, way, default=default, annotation=" | ".join(types))


def _write_whole(target: Path, whole: Mapping[str, Any]) -> None:
    """Write a file for its owner alone, whole or not at all; it lasts through a power cut.

    Raises `HomeUnwritable`, and `BadInput` for a folder.
    """
    if target.is_dir():
        raise BadInput(f"cannot write {target}: it is a folder; name a file in it")
    # What is no character becomes an escape, which is what JSON writes for it.
    text = json.dumps(whole, ensure_ascii=False, indent=1)
    try:
        replace_file(target, text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        message = f"cannot write {target}: {error.strerror}; choose another place with -o"
        raise HomeUnwritable(message) from error
