"""Tools: which operations an AI agent is offered as MCP tools, by what names and in which words.

Every tool costs a client's context in every session, so few are offered at once: the table below,
with the parameters that an agent needs and short words for them. All others are found and called
through the tool `more`. A tool whose operation does not exist is not offered.

Names, kinds and bounds of parameters are the registry's. Results are cut to what an agent uses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from cortex_actors.api.registry import OPERATIONS, Operation
from cortex_actors.errors import BadInput

#: What the setting and the option mean by the table below, and by everything a session may call.
USUAL, EVERYTHING = "core", "all"

#: The tool that finds and calls the others.
MORE: Final = "more"

#: Parameters that no agent gives: who it is and where it works, its session says. In these methods
#: `agent` is one of them.
_SESSIONS: Final = frozenset({"as_agent", "here"})
_OWN: Final = frozenset({"remember", "post", "leave_crumb", "crumbs", "latest_crumb", "unfinished"})

#: Operations that `more` shows with their parameters, and characters of a text that it looks for.
FOUND, _LONGEST = 6, 200


@dataclass(frozen=True, slots=True)
class Core:
    """What is offered of an operation.

    Attributes:
        operation: its name.
        about: one sentence for the agent.
        takes: parameter -> short words for it; empty for all, in the registry's words.
        gives: keys that are kept of its result, at every level; empty for all.
        adds: whether it only adds, and never replaces what there is.
        repeats: whether doing it twice is doing it once.

    """

    operation: str
    about: str
    takes: Mapping[str, str]
    gives: frozenset[str] = frozenset()
    adds: bool = True
    repeats: bool = False


_TYPE = "fact, observation (default), dialogue, question or cultural."
_PROJECT = 'Name of a followed project; default: the one of your folder, "" for none.'

#: Tool -> what it offers.
CORE: Final[Mapping[str, Core]] = {
    "recall": Core(
        "recall",
        "Search your memories, the notes of all followed projects and connected stores.",
        {
            "query": "A question in plain words.",
            "limit": "Default 10.",
            "project": "Only this project's.",
            "budget_tokens": "Most tokens of the answer.",
            "since": "A date or age: 2026-03-01, 7d.",
        },
        frozenset(
            "hits id text project path line_start heading store extra agent realm type at tags "
            "conflicts suspicious weak skipped failed reason".split()
        ),
    ),
    "remember": Core(
        "remember",
        "Save a lasting fact, decision or preference; the same said again is merged.",
        {
            "content": "The text, understandable on its own.",
            "type": _TYPE,
            "realm": "private (default), village or bridge.",
            "project": _PROJECT,
            "tags": "Words to find it by.",
            "supersedes": "Ids of memories that hold no more.",
        },
        frozenset("id state merged conflicts superseded message project text".split()),
        adds=False,
        repeats=True,
    ),
    "brief": Core(
        "brief",
        "Return what a new session should know: unfinished work, memories, principles.",
        {"project": _PROJECT, "budget_tokens": "Most tokens of the answer."},
    ),
    "crumb_leave": Core(
        "crumbs.leave",
        "Leave a note for your next session: what was done and what is unfinished.",
        {
            "session_summary": "What was done.",
            "key_discoveries": "What was found out.",
            "unfinished_business": "What is left to do.",
            "priority": "HIGH, MEDIUM or LOW.",
            "project": _PROJECT,
        },
        frozenset({"id", "session_id", "message"}),
    ),
    "village_post": Core(
        "agents.post",
        "Say something to all other agents.",
        {
            "content": "The text.",
            "thread": "A conversation to go on with.",
            "responding_to": "Ids of posts that it answers.",
        },
        frozenset({"id", "thread", "message"}),
    ),
    "resolve_preview": Core(
        "resolve.preview",
        "Show what would be written into a project's instruction files; a person writes it.",
        {"path": "A project's name, or a file's absolute path."},
        frozenset("files path agent state diff text counts left reason".split()),
    ),
    "judge_next": Core(
        "judge.next",
        "Get a few pairs of texts, to judge whether they contradict or say the same.",
        {},
    ),
    "judge_answer": Core(
        "judge.answer", "Give your verdict on a pair from judge_next.", {}, repeats=True
    ),
}

#: Operations of which doing it twice is doing it once, and that only add, of those found by `more`.
_REPEATED = frozenset(f"memory.{name}" for name in "archive restore pin unpin keep-both".split())
_ADDING = frozenset({"agents.summon", "agents.introduce", "memory.keep-both", "memory.pin"})


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool as `tools/list` has it.

    Attributes:
        operation: what it calls; None for `more`.
        gives: as `Core.gives`.
        reads: whether it changes nothing, so that it may be asked again.

    """

    name: str
    about: str
    schema: Mapping[str, Any]
    operation: Operation | None
    gives: frozenset[str] = frozenset()
    reads: bool = False
    adds: bool = False
    repeats: bool = False

    @property
    def is_agents(self) -> bool:
        """Whether an agent with a token may call it, too."""
        return self.operation is None or self.operation.agents


def list_offered(choice: str) -> dict[str, Tool]:
    """Return the tools of a choice, by name: `core`, `all`, or names with commas between them.

    Raises `BadInput` for a name that is none.
    """
    usual = {name: made for name, core in CORE.items() if (made := _core(name, core))}
    usual[MORE] = _MORE
    if choice in {"", USUAL}:
        return usual
    every = usual | {tool.name: tool for tool in _further()}
    if choice == EVERYTHING:
        return every
    names = [each.strip() for each in choice.split(",") if each.strip()]
    if unknown := [each for each in names if each not in every]:
        raise BadInput(
            f"there is no tool {unknown[0][:_LONGEST]!r}; there are core, all, and: "
            f"{', '.join(sorted(every))}"
        )
    return {each: every[each] for each in names}


def find(query: str = "", *, is_session: bool = True) -> dict[str, Any]:
    """Return the operations that `more` calls: the names of all, or those that words describe."""
    words = query[:_LONGEST].lower().replace("_", " ").replace(".", " ").split()
    every = [tool for tool in _further() if is_session or tool.is_agents]
    if not words:
        names = [tool.name for tool in every]
        return {"operations": names, "next": "more(query=WORDS) says what some do and take"}
    scored = [(_score(tool, words), tool) for tool in every]
    best = sorted((pair for pair in scored if pair[0]), key=lambda pair: (-pair[0], pair[1].name))
    found = [
        {"name": tool.name, "about": tool.about, "params": _brief(tool)} for _, tool in best[:FOUND]
    ]
    return {"operations": found, "next": "more(name=..., params={...}) calls one"}


def find_tool(name: str) -> Tool:
    """Return the tool of an operation by any of its names, also of one that is not for sessions.

    Those are refused when they are called. Raises `BadInput` for a name that is none.
    """
    known = CORE[name].operation if name in CORE else name
    for one in OPERATIONS.values():
        if known in {one.name, one.method, _spelled(one)}:
            return _further_tool(one)
    raise BadInput(f"no operation is called {name[:_LONGEST]!r}; more() lists those there are")


def trim(value: Any, keep: frozenset[str] = frozenset()) -> Any:  # noqa: ANN401 - JSON
    """Return a result without what is empty; only with the keys to keep, if there are any."""
    if isinstance(value, Mapping):
        some = {key: trim(each, keep) for key, each in value.items() if not keep or key in keep}
        # A count of 0 says something; an answer "no" does so where all is asked for.
        return {
            key: each
            for key, each in some.items()
            if each or type(each) in {int, float} or (each is False and not keep)
        }
    if isinstance(value, list | tuple):
        return [trim(each, keep) for each in value]
    return value


def split_result(found: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return a result as text, and as it is structured.

    Where the operation has a text for readers, that is it; beside hits it would be there twice.
    """
    own = found.get("text")
    if not isinstance(own, str):
        return render_text(found), found
    return own, {k: each for k, each in found.items() if k != "text" or "hits" not in found}


def render_text(value: Any, depth: int = 0) -> str:  # noqa: ANN401 - JSON
    """Return a result as lines for a reader: `key: value`, deeper ones indented."""
    if isinstance(value, Mapping):
        return "\n".join(_row(f"{key}:", each, depth=depth) for key, each in value.items())
    if isinstance(value, list | tuple):
        return "\n".join(_row("-", each, depth=depth) for each in value)
    return f"{'  ' * depth}{value}"


def _row(head: str, value: Any, *, depth: int) -> str:  # noqa: ANN401 - JSON
    """Return one entry of a result."""
    head = "  " * depth + head
    if isinstance(value, Mapping | list | tuple) and value:
        inner = render_text(value, depth + 1)
        # A dash and its first key share a line.
        return f"{head} {inner.lstrip()}" if head.endswith("-") else f"{head}\n{inner}"
    # A line of a file is not to look like one of ours.
    lines = str(value).replace("\n", "\n" + "  " * (depth + 1))
    return f"{head} {lines}"


def _core(name: str, core: Core) -> Tool | None:
    """Return a tool of the table, if its operation exists and a session may call it."""
    one = OPERATIONS.get(core.operation)
    if one is None or not one.sessions:
        return None
    return Tool(
        name,
        core.about,
        _schema(one, core.takes),
        one,
        core.gives,
        reads=_reads(one),
        adds=core.adds,
        repeats=core.repeats or _reads(one),
    )


@cache
def _further() -> tuple[Tool, ...]:
    """Return every operation that a session may call and that the table has not."""
    usual = {core.operation for core in CORE.values()}
    return tuple(
        _further_tool(one)
        for name, one in sorted(OPERATIONS.items())
        # Hooks are for clients' programs, not for their models.
        if one.sessions and name not in usual and not name.startswith("hooks.")
    )


def _further_tool(one: Operation) -> Tool:
    """Return the tool of an operation in the registry's own words."""
    return Tool(
        _spelled(one),
        one.description.partition("\n")[0],
        _schema(one, {}),
        one,
        reads=_reads(one),
        adds=one.name in _ADDING,
        repeats=_reads(one) or one.name in _REPEATED,
    )


def _spelled(one: Operation) -> str:
    """Return an operation's name as a tool's."""
    return one.name.replace(".", "_").replace("-", "_")


def _reads(one: Operation) -> bool:
    """Return whether an operation changes nothing."""
    return one.http.startswith("GET ")


def _schema(one: Operation, takes: Mapping[str, str]) -> dict[str, Any]:
    """Return the short JSON Schema of an operation's parameters: all, or those that are taken."""
    hidden = _SESSIONS | ({"agent"} if one.method in _OWN else set())
    whole = one.schema
    known = {name: kind for name, kind in whole["properties"].items() if name not in hidden}
    chosen = [name for name in takes if name in known] or list(known)
    made: dict[str, Any] = {
        "type": "object",
        "properties": {name: _short(known[name], takes.get(name)) for name in chosen},
    }
    if required := [name for name in whole.get("required", ()) if name in chosen]:
        made["required"] = required
    return made


def _short(kind: Mapping[str, Any], words: str | None) -> dict[str, Any]:
    """Return a parameter's schema in few bytes: without title and null."""
    kinds = [each for each in kind.get("anyOf", ()) if each.get("type") != "null"]
    inner = kinds[0] if len(kinds) == 1 else {"anyOf": kinds} if kinds else kind
    # Of several kinds a text says all.
    if len(kinds) > 1 and any(each.get("type") == "string" for each in kinds):
        inner = {"type": "string"}
    dropped = ("title", "default", "description", "additionalProperties")
    short = {name: each for name, each in inner.items() if name not in dropped}
    if about := words or kind.get("description"):
        short["description"] = about
    return short


def _brief(tool: Tool) -> dict[str, str]:
    """Return a tool's parameters on a line each."""
    needed = tool.schema.get("required", ())
    return {
        name: f"{kind.get('type', 'any')}{', required' if name in needed else ''}; "
        f"{kind.get('description', '')}"
        for name, kind in tool.schema["properties"].items()
    }


def _score(tool: Tool, words: Sequence[str]) -> int:
    """Return how well a tool fits a few words: its name counts more than what it does."""
    name, about = tool.name.replace("_", " "), tool.about.lower()
    return sum(3 * (word in name) + (word in about) for word in words)


_MORE = Tool(
    MORE,
    "Find other operations (query), or call one (name, params).",
    {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "Words; empty lists all."},
            "name": {"type": "string"},
            "params": {"type": "object"},
        },
    },
    None,
)
