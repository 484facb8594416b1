"""Parameters of operations: their meaning in words, and what is checked of their values.

What means nothing is refused: an unknown word is an error that names those there are.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence  # noqa: TC003 - read at run time
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any, TypeVar

from cortex_actors.clock import iso
from cortex_actors.domain import insight
from cortex_actors.domain.agent import format_given, read_agent_id
from cortex_actors.domain.memory import CrumbType, Layer, MemoryType, Priority, Realm
from cortex_actors.domain.principle import Edits, LinkType, PrincipleCategory
from cortex_actors.domain.project import StatementKind
from cortex_actors.errors import BadInput
from cortex_actors.rules.admission import THREAD
from cortex_actors.storage.search.query import Past, Where
from cortex_actors.text.terms import normalise_tags as normalised
from cortex_actors.text.terms import parse_moment, parse_word, read_list


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a parameter means, in every operation that has one of that name.

    Attributes:
        help: one sentence.
        least, most: bounds of a number, or None.
        words: the closed set that a text, or each text of a list, is of.
        names: how a command spells it as an option, where that is not `--name`.
        metavar: the word for its value in a command's help.
        complete: what a shell completes it with: a key of `command_line.SOURCES`.
        is_path: whether it is a path, which a command makes absolute.

    """

    help: str
    least: float | None = None
    most: float | None = None
    words: type[StrEnum] | None = None
    names: tuple[str, ...] = ()
    metavar: str | None = None
    complete: str | None = None
    is_path: bool = False

    @property
    def constraints(self) -> dict[str, Any]:
        """What pydantic's `Field` is given."""
        said = self.help if self.words is None else f"{self.help} One of: {', '.join(self.words)}."
        found = {"description": said, "ge": self.least, "le": self.most}
        return {name: value for name, value in found.items() if value is not None}


def find_parameter(method: str, name: str) -> Parameter:
    """Return what a parameter of an operation means; raises `KeyError` for one without a row."""
    return PARAMETERS.get(f"{method}.{name}") or PARAMETERS[name]


_MOMENT = "a date, a time (UTC), or how long ago: 2026-03-01, 7d, '2h ago'"

#: What an agent's id looks like.
_AGENT_ID = "Its id: letters A to Z, digits, _ and -."

#: What those are whom a memory or a post names.
_RELATED = "An agent it is about; on a bridge, one that may read it; may be repeated."

#: A parameter that is an agent, an id, a memory, a project, a moment, or a number from 0 to 1.
_agent = partial(Parameter, metavar="AGENT", complete="agents")
_id = partial(Parameter, metavar="ID")
_memory = partial(Parameter, metavar="ID", complete="memories")
_project = partial(Parameter, complete="projects")
_when = partial(Parameter, metavar="WHEN")
_share = partial(Parameter, least=0, most=1)

#: Name, or operation and name, -> what it means; of either there may be several, between commas. A
#: parameter's meaning is said here and only here.
_MEANINGS = {
    "abstract": Parameter("One sentence for lists (default: the first of the text)."),
    "adopt": Parameter("Replace a resolved section that has no marks."),
    "after": Parameter("Only records after this one: where the portion before ended."),
    "agent": _agent("The agent that said it."),
    "resolve,resolve_preview.agent": Parameter(
        "The agent whose files are written, such as claude."
    ),
    "remember.agent": _agent("Who remembers it (default: memory.agent)."),
    "post.agent": _agent("Who says it (default: memory.agent)."),
    "leave_crumb.agent": _agent("Whose session it is (default: memory.agent)."),
    "judge_next,judge_answer.agent": _agent("Who judges (default: memory.agent)."),
    "latest_crumb.agent": _agent("Whose (default: memory.agent, as in leave)."),
    "agent_id": _agent(_AGENT_ID),
    "agent,agent_token,introduce,revoke_token.agent": _agent(_AGENT_ID),
    "crumbs,unfinished.agent": _agent("Whose (default: all you may read)."),
    "approve": Parameter("Principles that a person accepted in the diff of a dry run."),
    "as_agent": _agent("See what this agent sees.", names=("--as",)),
    "as_of": _when("What was believed at that moment."),
    "below": Parameter("Only those with less attention than this.", least=0, most=2),
    "budget_tokens": Parameter(
        "The most tokens that the answer may have.", least=1, metavar="TOKENS"
    ),
    "principles.category": Parameter("What kind of lesson it is.", words=PrincipleCategory),
    "insights.category": Parameter("What kind of thing it says.", words=insight.Category),
    "change": Parameter("The number of a change.", metavar="CHANGE"),
    "changes": Parameter("What is to change, by name."),
    "code": Parameter("Only code, or only text."),
    "color": Parameter("Its colour, such as #228B22."),
    "conflicts": Parameter("Only memories that another one contradicts."),
    "content": Parameter("What is said."),
    "contradiction": _id("The id of a contradiction, or the beginning of it."),
    "create": Parameter("Create the file where there is none."),
    "crumb_type": Parameter("What it is for.", words=CrumbType, names=("--type",)),
    "days": Parameter("Days without being read, at least.", least=0),
    "dead": Parameter("Only dead letters: tried too often."),
    "display_name": Parameter("Its name as people read it.", names=("--name",)),
    "domain": Parameter("A field such as python; none: of no known one."),
    "hook_start,hook_prompt,hook_compact,hook_end.agent": _agent(
        "Whose session it is (default: hooks.agent, else memory.agent)."
    ),
    "calibrate.domain": Parameter("Only the pairs of this field."),
    "dry_run": Parameter("Show what would change, and change nothing."),
    "duplicates": Parameter("Count pairs that say nearly the same, too; this takes longer."),
    "edited": Parameter(
        "What becomes of edits inside our section: keep moves them above it, discard drops them.",
        words=Edits,
    ),
    "emotional_state": Parameter(
        "A feeling and how it was; may be repeated.", names=("--feeling",), metavar="NAME=HOW"
    ),
    "enabled": Parameter("Ask the store from now on."),
    "event": Parameter("The id or the number of an event."),
    "events": Parameter("Ids or numbers of dead letters, or `all`."),
    "everything": Parameter("The files of every followed project.", names=("--all",)),
    "exclude_ids": Parameter("Memories that are left out."),
    "explain": Parameter("Show how each was found."),
    "failed": Parameter("Only runs that failed."),
    "first,left": _memory("One of the two."),
    "floor": _share("Base relevance that its hits need; 0 lets all of them."),
    "folder": Parameter("The absolute path of a folder."),
    "full": Parameter("Forget clusters and begin from nothing."),
    "fundamentals": Parameter("Principles alone."),
    "generation": Parameter("0 for ours, -1 for an ancestor's."),
    "here": Parameter(
        "The absolute path of the caller's folder, which belongs to a project or not."
    ),
    "hops": Parameter("Rounds of search; from the second on with what was found.", least=1, most=4),
    "id": _memory("Its id, or 8 characters of its beginning or more."),
    "idempotency_key": Parameter(
        "Repeating the call under this key changes nothing.", names=("--key",)
    ),
    "judge_answer.id": _id("The id of a pair that was handed out."),
    "ids": _memory("Ids, or beginnings of ids.", metavar="ID..."),
    "if_disoriented": Parameter("What to do first; repeated, in this order."),
    "insight": _id("The id of an insight, or the beginning of it.", complete="insights"),
    "item": Parameter("The id of a pair in the queue, or of a decided contradiction."),
    "job": Parameter("The name of a scheduled job.", metavar="JOB"),
    "consolidate.keep": Parameter("Which is kept: higher_access, higher_attention, or its id."),
    "resolve_contradiction.keep": Parameter("Which holds: a, b, an insight's id, or both."),
    "key_discoveries": Parameter(
        "Something found out; may be repeated.", names=("--discovery", "--discoveries")
    ),
    "kind": Parameter("Only this kind."),
    "contradictions.kind": Parameter(
        "How far the two conflict (direct and partial; contextual: two projects differ).",
        words=insight.ConflictChoice,
        names=("--type",),
    ),
    "triage.kind": Parameter(
        "Only this kind: contradiction, possible, duplicate, use, promotion or write."
    ),
    "links.kind": Parameter("Only links of this type.", words=LinkType, names=("--type",)),
    "insights.kind": Parameter("What it does there.", words=StatementKind),
    "runs.kind": Parameter("An actor's name, such as accumulator, or digest."),
    "language": Parameter("The programming language of the code."),
    "layer": Parameter("How deep it is stored: sensory (default), working, long_term or cortex."),
    "layers": Parameter("How deep it is stored; may be repeated.", words=Layer, names=("--layer",)),
    "principles.least": _share("The least rank.", names=("--min-rank",)),
    "links.least": _share("The least strength.", names=("--min-strength",)),
    "insights.least": _share("The least confidence.", names=("--min-confidence",)),
    "limit": Parameter("How many at most.", least=1, most=1_000),
    "judge_next.limit": Parameter("How many at most.", least=1, most=10),
    "search.limit": Parameter("How many at most.", least=1, most=200),
    "recall.limit": Parameter("How many at most; 10 unless told otherwise.", least=1, most=200),
    "knowledge_search.limit": Parameter(
        "How many at most.", least=1, most=200, names=("--limit", "-n")
    ),
    "lineage": Parameter("Where it comes from."),
    "lookback_hours": Parameter(
        "How many hours to look back.", least=0.001, most=876_000, names=("--hours",)
    ),
    "memory": _memory("Only changes of this memory.", metavar="[ID]"),
    "merge": Parameter("Merge it with a memory that says the same."),
    "metadata": Parameter(
        "Write the confidence and the rank of each note, too.", names=("--include-metadata",)
    ),
    "min_agents": Parameter("How many agents at least.", least=2, most=10),
    "min_attention": Parameter("How present it still is, at least.", least=0, most=1.5),
    "name": Parameter("The store's name: what answers call it.", metavar="NAME", complete="stores"),
    "crash,inspect.name": Parameter("Its name, as the tree shows it."),
    "new": _memory("What holds now.", metavar="NEW"),
    "note": Parameter("Why, in your own words."),
    "old": _memory("What holds no more.", metavar="OLD"),
    "follow_own.on": Parameter("Whether they are followed from now on."),
    "on": Parameter("Whether they are written automatically from now on."),
    "options": Parameter("What only its type understands, by name.", metavar="KEY=TEXT"),
    "origin_story": Parameter("How it came to be.", names=("--story",)),
    "original_only": Parameter(
        "What was said, not what was made of it; active or not.", names=("--original",)
    ),
    "path": Parameter("The absolute path of a file or a folder."),
    "ingest.path": Parameter("A document, or a folder of them (*.md, *.markdown, *.mdx)."),
    "fragments.path": Parameter("An instruction file, or a folder.", is_path=True),
    "insights.path": Parameter(
        "Only what this file, or folder, says.", names=("--in",), is_path=True
    ),
    "remove_project.path": _project("The project's folder, name or id."),
    "payload": Parameter("The event's data, as the topic asks for."),
    "pinned": Parameter("Only memories that are pinned."),
    "prefer": Parameter("Whose words a merge keeps: a (these), b (known) or equal."),
    "principle": _id("The id of a principle, or the beginning of it.", complete="principles"),
    "priority": Parameter("How urgent it is.", words=Priority),
    "project": _project("A project's name, id or folder."),
    "remember,post,leave_crumb.project": _project(
        "The project it belongs to (default: that of your folder)."
    ),
    "recall,search,memories.project": _project("Only what belongs to this project."),
    "crumbs,latest_crumb,unfinished.project": _project(
        "Only of this project (default: of your folder's, and of none)."
    ),
    "prompt": Parameter("What the user says to the session."),
    "provider": Parameter("Whose model: sentence-transformers, openai or hashing."),
    "query": Parameter("A question in plain words."),
    "realm": Parameter("Who may read it.", words=Realm),
    "post.realm": Parameter("Who may read it.", words=Realm, names=("--realm", "--visibility")),
    "remember.realm": Parameter("Who may read it: private (default), village or bridge."),
    "reason": Parameter("Why, in one's own words."),
    "judge_answer.reason": Parameter("Why, in a sentence."),
    "promotions.reason": Parameter("Only insights that this holds up."),
    "redact": Parameter("Mask secrets instead of refusing the text."),
    "references": Parameter(
        "Something to look up, as message_ids=ID; may be repeated.",
        names=("--reference",),
        metavar="KIND=WHAT",
    ),
    "post.related_agents": _agent(_RELATED, names=("--to",)),
    "remember.related_agents": _agent(_RELATED, names=("--about",)),
    "repair": Parameter("Repair what can be made again; files are only read."),
    "responding_to": _memory("What it answers; may be repeated.", names=("--reply-to",)),
    "right,second": _memory("The other one.", metavar="OTHER"),
    "role": Parameter("Who spoke, in a conversation."),
    "said_from": _when("When what it tells began: 2026-11-01, 2d ...", names=("--from",)),
    "said_until": _when("When that ended.", names=("--until",)),
    "same": Parameter("With an insight, revoke what says the same, too."),
    "search": Parameter("Words that all occur."),
    "session_id": Parameter("What the session is called.", names=("--session",)),
    "session_summary": Parameter("What was done."),
    "since": _when(f"Not before: {_MOMENT}."),
    "events.since": Parameter("Only events with a higher number.", least=0),
    "skip": Parameter("How many to leave out first.", least=0),
    "sort": Parameter("What comes first."),
    "principles.sort": Parameter("What comes first.", words=insight.PrincipleSort),
    "insights.sort": Parameter("What comes first.", words=insight.InsightSort),
    "judge_answer.verdict": Parameter(
        "What the two are; open takes it back.", words=insight.AgentVerdict
    ),
    "verdict": Parameter("What the two are; open takes it back.", words=insight.PairChoice),
    "source": Parameter("Who publishes it, or where it comes from."),
    "knowledge_search,remove_knowledge,restore_knowledge.source": Parameter(
        "One document, by path or name."
    ),
    "hook_start.source": Parameter("Why it starts: startup, resume, clear or compact."),
    "specialization": Parameter("What it is known for."),
    "status": Parameter("Only what is in this state."),
    "contradictions.status": Parameter("One of unresolved, resolved, dismissed, all."),
    "links.status": Parameter("In which state both ends are; live: active and decaying."),
    "principles.status": Parameter("In which state; live: active and decaying."),
    "insights.status": Parameter("In which state; live: active and contradicted."),
    "reviews.status": Parameter("One of waiting, approved, rejected."),
    "stores": Parameter(
        "Ask this store and no other: local, a collection (cortex_principles ...), or one of "
        "cortex stores; may be repeated.",
        names=("--store",),
        metavar="STORE",
        complete="stores",
    ),
    "supersedes": Parameter("A memory that holds no more; may be repeated.", complete="memories"),
    "sure": Parameter("Leave out what is hardly an answer, of what is known here."),
    "summary": Parameter("What the session did, as its client says it."),
    "surroundings": Parameter("The memories around each hit, too."),
    "symbol": Parameter("One sign, for lists."),
    "tag": Parameter("A tag such as testing."),
    "tags": Parameter("A tag it has; repeated: all of them.", names=("--tag",)),
    "remember.tags": Parameter("A tag; may be repeated.", names=("--tag",)),
    "post.tags": Parameter("A tag; may be repeated.", names=("--tag", "--tags")),
    "text": Parameter("The text."),
    "text_only": Parameter("Return the section alone, and write nothing."),
    "thing": Parameter(
        "An insight, a cluster or a principle, or a line that says it.", metavar="ID | FILE:LINE"
    ),
    "thorough": Parameter("Read everything; this takes longer."),
    "thread": Parameter("The conversation it belongs to.", complete="threads"),
    "thread.thread": Parameter("What the thread is called.", metavar="THREAD", complete="threads"),
    "threshold": _share("The least cosine similarity of two that say nearly the same."),
    "convergence.threshold": Parameter(
        "The least cosine similarity (default: memory.convergence, 0.7).", least=0.5, most=1
    ),
    "to": Parameter("The layer, file or model that it goes to."),
    "token": Parameter("The token that the store asks for."),
    "token_env": Parameter("A variable of the daemon's that holds its token.", metavar="NAME"),
    "token_keyring": Parameter(
        "The token's place in the keyring of the operating system.", metavar="SERVICE/USER"
    ),
    "topic": Parameter("The topic."),
    "ingest.topic": Parameter("Their topic (default: the first folder below)."),
    "knowledge_documents,knowledge_search,remove_knowledge,restore_knowledge.topic": Parameter(
        "Only documents of this topic."
    ),
    "events.topic": Parameter("A shell pattern of topics."),
    "topics": Parameter("Topics, as words."),
    "track": Parameter(
        "Count hits as read: what is read often is stored deeper and fades more slowly."
    ),
    "transcript": Parameter("The absolute path of the session's transcript, a .jsonl file."),
    "transient": Parameter("Do not store it: only those who listen now get it."),
    "memories,post,recall,search.type": Parameter("What kind of thing it is.", words=MemoryType),
    "remember.type": Parameter("observation, fact, dialogue, question, cultural or agent_profile."),
    "crumbs.type": Parameter("What it is for.", words=CrumbType),
    "add_store.name": Parameter("What answers call it.", metavar="NAME"),
    "add_store.type": Parameter("The store's adapter; see: cortex stores types.", metavar="TYPE"),
    "unfinished_business": Parameter(
        "Something left to do; may be repeated.", names=("--unfinished",)
    ),
    "until": _when("Only from before that moment (as --since)."),
    "url": Parameter("Its address: http, https or postgresql.", metavar="URL"),
    "waiting": Parameter("Only events that a consumer has still to handle."),
    "weight": Parameter("How much its places count; 1 is usual.", least=0, most=1_000),
    "withdrawn": Parameter("Withdrawn documents, too."),
    "write": Parameter("Write down the thresholds that are better, and follow them at once."),
}

#: The same, by a single name, or an operation and a name.
PARAMETERS = {
    f"{operation}{dot}{name}": meaning
    for key, meaning in _MEANINGS.items()
    for operations, dot, names in (key.rpartition("."),)
    for operation in operations.split(",")
    for name in names.split(",")
}


E = TypeVar("E", bound=StrEnum)
N = TypeVar("N", bound="float | None")

#: SQLite's largest number.
_MOST = 2**63 - 1


def read_word(kind: type[E], value: str | None, *, what: str) -> E | None:
    """Return the member of that name, None for None; raises as `parse_word` does."""
    return None if value is None else parse_word(kind, value, name=what)


def read_statuses(kind: type[E], value: str, *, shown: Collection[E]) -> frozenset[E]:
    """Return the statuses that a word means: all, those that are shown, or the one called so.

    Raises `BadInput`.
    """
    if value in (insight.ALL, insight.SHOWN):
        return frozenset(kind if value == insight.ALL else shown)
    try:
        return frozenset([kind(value)])
    except ValueError:
        known = ", ".join([insight.SHOWN, insight.ALL, *kind])
        raise BadInput(f"there is no status {value!r}; there are {known}") from None


def read_number(value: N, least: float = 0, most: float = 1, *, name: str) -> N:
    """Return a number within its bounds, None for None; raises `BadInput`."""
    # Asked by its very class: a client may send anything, and true would pass for 1.
    if value is None or (type(value) in {int, float} and least <= value <= most):
        return value
    raise BadInput(f"{name} must be a number from {least:g} to {most:g}, not {format_given(value)}")


def check_page(limit: int, skip: int, *, of: str) -> None:
    """Raise `BadInput` for a page that cannot be."""
    if not 1 <= limit <= _MOST:
        raise BadInput(f"cannot list {limit} {of}; ask for 1 or more")
    if not 0 <= skip <= _MOST:
        raise BadInput(f"cannot skip {skip} {of}; skip 0 or more")


#: Most attention that a memory can have: whole, and what being read adds at most.
MOST_ATTENTION = 1.5


def make_where(
    *,
    now: int,
    reader: str | None = None,
    project_id: str | None = None,
    layers: Sequence[str] = (),
    realm: str | None = None,
    agent: str | None = None,
    type: str | None = None,
    tags: Sequence[str] = (),
    thread: str | None = None,
    since: int | str | None = None,
    until: int | str | None = None,
    min_attention: float | None = None,
) -> Where:
    """Return the conditions; `now` (UTC microseconds) is the moment from which spans count back.

    Raises `BadInput` for what is none: an unknown realm, layer or type, a moment that is not
    understood, an attention no memory can have, an end that is not after its beginning.
    """
    begun = None if since is None else parse_moment(since, now, name="since")
    ended = None if until is None else parse_moment(until, now, name="until")
    if begun is not None and ended is not None and begun >= ended:
        raise BadInput(
            f"nothing lies between since ({iso(begun)}) and until ({iso(ended)}): "
            "until is the "
            "first moment that counts no more, and must be later"
        )
    return Where(
        reader=reader,
        project_id=project_id,
        realm=None if realm is None else parse_word(Realm, realm, name="realm"),
        agent_id=None if agent is None else read_agent_id(agent),
        layers=read_layers(layers),
        types=() if type is None else (parse_word(MemoryType, type, name="type"),),
        tags=normalised(list(tags) if isinstance(tags, tuple) else tags),
        thread=None if thread is None else read_thread(thread),
        since=begun,
        until=ended,
        attention=read_number(min_attention, 0, MOST_ATTENTION, name="min_attention"),
    )


def make_past(as_of: int | str | None, *, now: int, original: bool = False) -> Past | None:
    """Return which memories of another time are looked for; None for what is known now.

    Raises `BadInput` for a moment that is not understood, or that has not come yet.
    """
    if as_of is None:
        return Past(original=True) if original else None
    moment_ = parse_moment(as_of, now, name="as_of")
    if moment_ > now:
        raise BadInput(f"as_of is in the future ({iso(moment_)}); name a moment until now")
    return Past(as_of=moment_, original=original)


def read_layers(given: object) -> tuple[Layer, ...]:
    """Return layers, each once; raises `BadInput` naming those there are."""
    every = read_list(given, name="layers")
    return tuple(dict.fromkeys(parse_word(Layer, each, name="layer") for each in every))


def read_thread(given: object) -> str:
    """Return a thread's name in the form in which it is kept; raises `BadInput`."""
    name = " ".join(given.split()) if isinstance(given, str) else ""
    if not name or len(name) > THREAD:
        raise BadInput(f"{format_given(given)} names no thread: it has 1 to {THREAD} characters")
    return name


def read_whole_number(given: object, *, name: str) -> int | None:
    """Return a whole number, if one was given; raises `BadInput` for what is none."""
    if given is None or (isinstance(given, int) and not isinstance(given, bool)):
        return given
    raise BadInput(f"{name} must be a whole number, not {format_given(given)}")
