"""Results: what an operation gives back, as values with names instead of JSON.

Each is made of what the daemon answered. What a newer daemon says beside that is in `raw`, and what
an older one leaves out has its default, so a program and its daemon need not be of one version.
Times are UTC microseconds, as everywhere.

Results about agents and about the health of memories: crumbs, threads, agreement, idleness.

Words: what a program may call a parameter, and what the verb behind it calls it.

The left column is the Neo-Cortex document's, so that what was written for it runs; the right one is
ours. One table for all operations: a word means the same wherever it is taken.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Final, Self

from cortex_actors.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


#: What an answer keeps beside the fields that have a name.
_RAW = "raw"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Result:
    """What every answer has: all of it, as it came."""

    raw: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @classmethod
    def from_answer(cls, answer: Mapping[str, Any]) -> Self:
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
        project: what the project is called that it belongs to; None for none.

    """

    id: str = ""
    state: str = ""
    project: str | None = None
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
class Recollection(Result):
    """What is known of a memory, wherever it is; a time is in UTC microseconds.

    Attributes:
        attention: how present it is now.
        project: what its project is called; None for none.

    """

    id: str = ""
    text: str = ""
    project: str | None = None
    status: str = ""
    agent: str = ""
    realm: str = ""
    layer: str = ""
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
    conflicts: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Hit(Recollection):
    """One thing that was found: a memory, an insight, a piece of a document, a crumb.

    Attributes:
        score: 0 to 1, comparable within one answer.
        store: the collection or remote store it is in.
        source: a document's path or address.

    """

    score: float = 0.0
    store: str = ""
    path: str | None = None
    line_start: int | None = None
    line_end: int | None = None
    heading: str | None = None
    agent_display: str = ""
    promoted_at: int | None = None
    said_from: int | None = None
    said_until: int | None = None
    time_range: str | None = None
    decay_rate: float | None = None
    merged_from: int = 0
    source: str = ""
    topic: str = ""
    title: str = ""

    @classmethod
    def from_answer(cls, answer: Mapping[str, Any]) -> Self:
        """Return a hit, with the fields that only its kind has."""
        return replace(
            super(Hit, cls).from_answer({**(answer.get("extra") or {}), **answer}), raw=answer
        )


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
    def from_answer(cls, answer: Mapping[str, Any]) -> Self:
        """Return what was found."""
        hits, beside = (
            [*map(Hit.from_answer, answer.get(name, ()))] for name in ("hits", "beside")
        )
        made = super(Found, cls).from_answer({**answer, "hits": hits, "beside": beside})
        return replace(made, raw=answer)

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, number: int) -> Hit:
        return self.hits[number]

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Detail(Recollection):
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

    content: str = ""
    current: str | None = None
    merged_into: str | None = None
    lineage: Any = ()
    changes: tuple[Mapping[str, Any], ...] = ()


def _held(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return a value that does not change with the answer it came from."""
    return tuple(value) if isinstance(value, list) else value


#: The document's word -> ours.
SYNONYMS: Final[Mapping[str, str]] = {
    "visibility": "realm",
    "agent_id": "agent",
    "agent_filter": "agent",
    "message_type": "type",
    "conversation_thread": "thread",
    "n_results": "limit",
    "crumb_type": "type",
    "session_id": "session",
    "references": "links",
    "session_summary": "summary",
    "key_discoveries": "discoveries",
    "unfinished_business": "unfinished",
    "lookback_hours": "hours",
    "priority_filter": "priority",
    "similarity_threshold": "threshold",
    "days_unused": "days",
    "id1": "first",
    "id2": "second",
}

#: The document's words for the parts of a crumb, as the verb that leaves one calls them, too.
_CRUMB: Final = (
    *("session_summary", "key_discoveries", "unfinished_business", "crumb_type"),
    *("session_id", "references"),
)

#: Verb -> the document's words that it may be asked with.
WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "remember": ("visibility", "agent_id", "message_type", "conversation_thread"),
    "search": ("visibility", "agent_filter", "conversation_thread", "n_results"),
    "recall": ("visibility", "agent_filter", "conversation_thread", "n_results"),
    "knowledge_search": ("n_results",),
    "post": ("visibility", "agent_id", "message_type", "conversation_thread"),
    "leave_crumb": (*_CRUMB, "agent_id"),
    "crumbs": ("agent_id", "lookback_hours", "priority_filter", "n_results"),
    "unfinished": ("lookback_hours",),
    "convergence": ("similarity_threshold",),
    "stale": ("days_unused",),
    "duplicates": ("similarity_threshold",),
    "consolidate": ("id1", "id2"),
}

#: Verb -> our word -> what the verb calls it, where the two differ.
SPOKEN: Final[Mapping[str, Mapping[str, str]]] = {
    "leave_crumb": {SYNONYMS[each]: each for each in _CRUMB},
    "crumbs": {"hours": "lookback_hours"},
    "unfinished": {"hours": "lookback_hours"},
    "thread": {"id": "thread"},
}

#: What the document calls any realm at all.
ALL = "all"


def translate_words(verb: str, said: Mapping[str, object]) -> dict[str, Any]:
    """Return the parameters of a verb that were given; None and `()` were not.

    Raises `BadInput` for what was given under both of its words.
    """
    found: dict[str, Any] = {}
    called: dict[str, str] = {}
    for word, value in said.items():
        if value is None or value == ():
            continue
        ours = SYNONYMS[word] if word in WORDS.get(verb, ()) else word
        if ours in found:
            raise BadInput(f"cannot call {verb}: {called[ours]} and {word} mean the same; give one")
        found[ours], called[ours] = _sent(value), word
    if found.get("realm") == ALL:
        del found["realm"]
    spoken = SPOKEN.get(verb, {})
    return {spoken.get(word, word): value for word, value in found.items()}


def _sent(value: object) -> object:
    """Return a value as JSON can hold it: a set in order, so that it is sent alike each time."""
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=str)
    return list(value) if isinstance(value, tuple) else value


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Crumb(Result):
    """What a session left for the next one.

    Attributes:
        text: the crumb as the Neo-Cortex document writes it.
        links: kind of thing -> what to look up.
        left_at: UTC microseconds.

    """

    id: str = ""
    agent: str = ""
    session: str = ""
    type: str = ""
    priority: str = ""
    summary: str = ""
    discoveries: tuple[str, ...] = ()
    unfinished: tuple[str, ...] = ()
    emotional_state: Mapping[str, Any] = field(default_factory=dict)
    links: Mapping[str, Any] = field(default_factory=dict)
    if_disoriented: tuple[str, ...] = ()
    text: str = ""
    message: str = ""
    left_at: int | None = None

    @classmethod
    def from_answer(cls, answer: Mapping[str, Any]) -> Self:
        """Return a crumb, whichever words its answer has."""
        said = {SYNONYMS.get(name, name): value for name, value in answer.items()}
        return super(Crumb, cls).from_answer(said)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Thread(Result):
    """A conversation: its messages in the order in which they were said."""

    thread: str = ""
    messages: tuple[Mapping[str, Any], ...] = ()
    total: int = 0
    agents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Convergence(Result):
    """Whether agents say the same about something.

    Attributes:
        convergence_type: CONSENSUS (three agents or more), HARMONY (two) or NONE.
        by_agent: agent -> what it said of it.
        groups: which messages say the same as one another.
        apart: pairs of messages that say the opposite, however alike they are.

    """

    query: str = ""
    has_convergence: bool = False
    convergence_type: str = ""
    converging_agents: tuple[str, ...] = ()
    agent_count: int = 0
    total_messages: int = 0
    threshold: float = 0.0
    by_agent: Mapping[str, Any] = field(default_factory=dict)
    groups: tuple[Any, ...] = ()
    apart: tuple[Any, ...] = ()

    @classmethod
    def from_answer(cls, answer: Mapping[str, Any]) -> Self:
        """Return an answer; its `type` is called what the Neo-Cortex document calls it."""
        kind = str(answer.get("convergence_type") or answer.get("type") or "")
        made = super(Convergence, cls).from_answer({**answer, "convergence_type": kind})
        return replace(made, raw=answer)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Stale(Result):
    """A memory that was not read for long."""

    id: str = ""
    content_preview: str = ""
    layer: str = ""
    agent: str = ""
    realm: str = ""
    last_accessed: int | None = None
    days_since_access: float = 0.0
    access_count: int = 0
    attention_weight: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Duplicate(Result):
    """Two memories that say nearly the same.

    Attributes:
        content1: how the first begins; `cortex.memory(id1).content` is the whole.

    """

    id1: str = ""
    id2: str = ""
    similarity: float = 0.0
    content1: str = ""
    content2: str = ""
    first: Mapping[str, Any] = field(default_factory=dict)
    second: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_answer(cls, answer: Mapping[str, Any]) -> Self:
        """Return a pair, each side under the names of the Neo-Cortex document as well."""
        sides = {"1": answer.get("first") or {}, "2": answer.get("second") or {}}
        said = {f"id{number}": side.get("id", "") for number, side in sides.items()}
        said |= {f"content{n}": side.get("content_preview", "") for n, side in sides.items()}
        return replace(super(Duplicate, cls).from_answer({**said, **answer}), raw=answer)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Exported(Result):
    """A file that was written: where, and how many records of each kind."""

    path: str = ""
    records: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Imported(Result):
    """What came of a file that was read in.

    Attributes:
        records: how many the file holds.
        added: how many were not there yet, by realm or kind.
        existing: how many were there.
        differing: ids that are there with another text; that one stays.
        redacted: secrets that were left out.
        unplaced: how many of those added were of a project that is not known here, by its name.

    """

    path: str = ""
    records: int = 0
    added: Mapping[str, int] = field(default_factory=dict)
    existing: int = 0
    differing: tuple[str, ...] = ()
    redacted: int = 0
    unplaced: Mapping[str, int] = field(default_factory=dict)
    dry_run: bool = False
