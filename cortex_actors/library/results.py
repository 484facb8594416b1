"""Results: what an operation gives back, as values with names instead of JSON.

Each is made of what the daemon answered. What a newer daemon says beside that is in `raw`, and what
an older one leaves out has its default, so a program and its daemon need not be of one version.
Times are UTC microseconds, as everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

#: What an answer keeps beside the fields that have a name, and hits keep of their own kind.
_RAW, _EXTRA = "raw", "extra"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Result:
    """What every answer has: all of it, as it came."""

    raw: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> Self:
        """Return an answer under its names; lists become tuples."""
        known = {each.name for each in fields(cls)} - {_RAW}
        said = {name: _held(value) for name, value in answer.items() if name in known}
        return cls(raw=answer, **said)

    def __repr__(self) -> str:
        said = {each.name: getattr(self, each.name) for each in fields(self) if each.name != _RAW}
        empty: tuple[object, ...] = ("", (), {}, None, False, 0)
        shown = (f"{name}={value!r}" for name, value in said.items() if value not in empty)
        return f"{type(self).__name__}({', '.join(shown)})"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Saved(Result):
    """What became of something that was to be remembered.

    Attributes:
        id: under which it is known from now on.
        state: `saved`, `existing` (it was known word for word) or `merged`.
        merged: ids of the memories that have become part of it.
        pending: whether it has still to be compared with the others: no text could be embedded.
        conflicts: memories that cannot hold beside it, each with the reason.
        superseded: ids of the memories that it has replaced.
        tags_added: tags that a known memory got.

    """

    id: str = ""
    state: str = ""
    merged: tuple[str, ...] = ()
    pending: bool = False
    conflicts: tuple[Mapping[str, Any], ...] = ()
    superseded: tuple[str, ...] = ()
    tags_added: tuple[str, ...] = ()
    layer: str = ""
    realm: str = ""
    agent: str = ""
    thread: str = ""
    type: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Hit(Result):
    """One thing that was found: a memory, an insight, a piece of a document, a crumb.

    Attributes:
        score: 0 to 1, comparable within one answer.
        store: the collection or remote store it is in.
        source: a document's path or address.
        attention: how present a memory is now.

    """

    id: str = ""
    text: str = ""
    score: float = 0.0
    store: str = ""
    project: str | None = None
    path: str | None = None
    line_start: int | None = None
    line_end: int | None = None
    heading: str | None = None
    agent: str = ""
    agent_display: str = ""
    realm: str = ""
    layer: str = ""
    type: str = ""
    role: str = ""
    thread: str = ""
    tags: tuple[str, ...] = ()
    related_agents: tuple[str, ...] = ()
    responding_to: tuple[str, ...] = ()
    status: str = ""
    created_at: int | None = None
    promoted_at: int | None = None
    said_from: int | None = None
    said_until: int | None = None
    time_range: str | None = None
    decay_rate: float | None = None
    attention: float | None = None
    access_count: int = 0
    abstract: str = ""
    summary: str = ""
    pinned: bool = False
    merged_from: int = 0
    conflicts: tuple[Any, ...] = ()
    source: str = ""
    topic: str = ""
    title: str = ""

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> Self:
        """Return a hit; what its kind alone has to say stands beside the rest."""
        known = {each.name for each in fields(cls)} - {_RAW}
        whole = {**(answer.get(_EXTRA) or {}), **answer}
        said = {name: _held(value) for name, value in whole.items() if name in known}
        return cls(raw=answer, **said)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Found(Result):
    """What a search found, best first; a sequence of hits.

    Attributes:
        failed: stores that gave no answer, and why: silence is not the same as knowing nothing.
        skipped: what was not searched, and why.
        beside: what was found beside the answer, by topic or by way of a hit.

    """

    query: str = ""
    hits: tuple[Hit, ...] = ()
    beside: tuple[Hit, ...] = ()
    failed: tuple[Mapping[str, Any], ...] = ()
    skipped: tuple[Mapping[str, Any], ...] = ()
    took_ms: float = 0.0

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> Self:
        """Return what was found."""
        hits = tuple(Hit.of(each) for each in answer.get("hits", ()))
        rest = {name: _held(answer.get(name, ())) for name in ("failed", "skipped")}
        rest["beside"] = tuple(Hit.of(each) for each in answer.get("beside", ()))
        took = float(answer.get("took_ms", 0.0))
        return cls(raw=answer, query=str(answer.get("query", "")), hits=hits, took_ms=took, **rest)

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, number: int) -> Hit:
        return self.hits[number]

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Detail(Result):
    """Everything that is known of one memory.

    Attributes:
        text: as the Semantic Memory document shows it, with its lineage; `content` is what was
            remembered.
        current: the memory that says it now: itself, or the one that it is part of by now; None
            where none does any more, or none that may be read.
        merged_into: the memory that it was made part of, which may be part of another one.
        lineage: what it was made of.
        changes: what was done with it, the newest first.

    """

    id: str = ""
    content: str = ""
    text: str = ""
    status: str = ""
    current: str | None = None
    merged_into: str | None = None
    realm: str = ""
    layer: str = ""
    agent: str = ""
    type: str = ""
    role: str = ""
    thread: str = ""
    tags: tuple[str, ...] = ()
    related_agents: tuple[str, ...] = ()
    responding_to: tuple[str, ...] = ()
    created_at: int | None = None
    attention: float | None = None
    access_count: int = 0
    abstract: str = ""
    summary: str = ""
    pinned: bool = False
    lineage: Any = ()
    changes: tuple[Mapping[str, Any], ...] = ()
    conflicts: tuple[Any, ...] = ()


def _held(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return a value that nobody changes by changing the answer it came from."""
    return tuple(value) if isinstance(value, list) else value
