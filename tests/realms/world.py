"""Five agents of one daemon, each with something in every realm, and what may be known of it.

Every text has a word of its own, which no other text has: where that word stands in an answer,
somebody was told of the text. All texts share words, too, so that one question finds all of them.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cortex_actors.client.connection import Client
from cortex_actors.errors import CortexError
from tests.process.commands import until

if TYPE_CHECKING:
    from pathlib import Path

#: The seed's five.
AGENTS = ("AZOTH", "ELYSIAN", "VAJRA", "KETHER", "CLAUDE")

REALMS = ("private", "bridge", "village")

#: Words that all texts share.
SHARED = "the harbour keeps its ledger"

#: What is another a moment later, whoever does what: time that has passed.
PASSING = {
    "took_ms",
    "attention",
    "attention_weight",
    "avg_attention",
    "days_since_access",
    "would_archive",
}

#: Tables with what agents keep -> columns with ids of memories, or of the agent itself.
TABLES = {
    "memories": ("id",),
    "memory_tags": ("memory_id",),
    "memory_agents": ("memory_id",),
    "memory_replies": ("memory_id", "replied_id"),
    "memory_attention": ("memory_id",),
    "beliefs": ("memory_id",),
    "memory_changes": ("memory_id",),
    "memory_conflicts": ("left_id", "right_id"),
    "memory_apart": ("left_id", "right_id"),
    "passages": ("item_id",),
    "crumbs": ("id",),
}


@dataclass(frozen=True)
class Kept:
    """A memory or a crumb of an agent.

    Attributes:
        word: stands in its text and nowhere else.
        readers: the agents that may read it.
        about: the agent that it names; nobody else does.

    """

    agent: str
    realm: str
    id: str
    word: str
    thread: str
    readers: frozenset[str]
    about: str = ""

    @property
    def traces(self) -> set[str]:
        """What whoever may not read it is never told."""
        return {each for each in (self.id, self.word, self.thread, self.about) if each}


@dataclass
class World:
    """A daemon's home, its agents' tokens, and what they keep."""

    home: Path
    tokens: dict[str, str] = field(default_factory=dict)
    clients: dict[str, Client] = field(default_factory=dict)
    kept: list[Kept] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Give every agent a token, and have it keep something in every realm."""
        for agent in AGENTS:
            self.tokens[agent] = self.owner.call("agent_token", agent=agent)["token"]
        for agent in AGENTS:
            for realm in REALMS:
                self.kept.append(self._remembered(agent, realm))
            self.kept.append(self._left(agent))
        self.settle()

    def settle(self) -> None:
        """Return once every text has its vector and every post was compared with the others.

        Until then fewer are found, and fewer agree.
        """
        # A ledger that is slow to answer leaves its numbers out.
        until(lambda: 0 == self.owner.call("status").get("unembedded"), "the last vector")
        until(lambda: 0 == self.owner.call("village_stats")["waiting"], "the last comparison")

    @cached_property
    def owner(self) -> Client:
        """Return the owner's client."""
        return Client(self.home)

    def client(self, agent: str) -> Client:
        """Return an agent's client, the same one each time."""
        if agent not in self.clients:
            self.clients[agent] = Client(self.home, token=self.tokens[agent])
        return self.clients[agent]

    def after(self, agent: str, steps: int = 1) -> str:
        """Return the agent so many places behind another one, round and round."""
        return AGENTS[(AGENTS.index(agent) + steps) % len(AGENTS)]

    def of(self, agent: str, realm: str) -> Kept:
        """Return what an agent keeps in a realm."""
        return next(each for each in self.kept if (each.agent, each.realm) == (agent, realm))

    def hidden(self, reader: str) -> list[Kept]:
        """Return what an agent may not read."""
        return [each for each in self.kept if reader not in each.readers]

    def foreign(self, reader: str) -> dict[str, list[tuple[object, ...]]]:
        """Return every row of the ledger that tells of what others keep."""
        others = [each.id for each in self.kept if each.agent != reader]
        path = f"file:{self.home / 'cortex.db'}?mode=ro"
        with closing(sqlite3.connect(path, uri=True)) as connection:
            return {table: _rows(connection, table, others) for table in TABLES}

    def _remembered(self, agent: str, realm: str) -> Kept:
        """Have an agent remember something."""
        word, thread = f"zq{agent.lower()}{realm}", f"talk-{agent.lower()}-{realm}"
        related = {"private": [f"ONLY-{agent}"], "bridge": [self.after(agent)]}.get(realm, [])
        text = f"{SHARED} and {word}"
        params: dict[str, Any] = {"thread": thread, "related_agents": related, "tags": [word]}
        if realm == "village":
            found = self.client(agent).call("post", content=text, **params)
        else:
            params |= {"realm": realm, "type": "fact"}
            found = self.client(agent).call("remember", content=text, **params)
        readers = {"private": {agent}, "bridge": {agent, *related}, "village": set(AGENTS)}[realm]
        about = related[0] if realm == "private" else ""
        return Kept(agent, realm, found["id"], word, thread, frozenset(readers), about)

    def _left(self, agent: str) -> Kept:
        """Have an agent leave a crumb."""
        word = f"zq{agent.lower()}crumb"
        said = f"{SHARED} and {word}"
        found = self.client(agent).call(
            "leave_crumb", session_summary=said, unfinished_business=[f"look after {word}"]
        )
        return Kept(agent, "crumb", found["id"], word, "", frozenset({agent}))


@dataclass(frozen=True)
class Said:
    """What came of a call: an answer, or an error."""

    answer: dict[str, Any] | None = None
    error: CortexError | None = None

    def told(self, asked: dict[str, Any]) -> str:
        """Return everything that was said, without what whoever asked had said itself."""
        if self.error is not None:
            text = str(self.error)
        else:
            answer = {k: v for k, v in (self.answer or {}).items() if k != "query"}
            text = json.dumps(answer, ensure_ascii=False)
        for each in _texts(asked):
            text = text.replace(each, "")
        return text


def say(client: Client, verb: str, params: dict[str, Any]) -> Said:
    """Call a verb; an error is an answer, too."""
    try:
        return Said(answer=client.call(verb, **params))
    except CortexError as error:
        return Said(error=error)


def lasting(answer: Any) -> Any:
    """Return an answer without what is another a moment later."""
    if isinstance(answer, dict):
        return {k: lasting(v) for k, v in answer.items() if k not in PASSING}
    return [lasting(each) for each in answer] if isinstance(answer, list) else answer


def _texts(given: Any) -> list[str]:
    """Return the texts in parameters, the longest first."""
    if isinstance(given, str):
        return [given] if given else []
    inner = given.values() if isinstance(given, dict) else given if isinstance(given, list) else ()
    return sorted({text for each in inner for text in _texts(each)}, key=len, reverse=True)


def _rows(connection: sqlite3.Connection, table: str, ids: list[str]) -> list[tuple[object, ...]]:
    """Return the rows of a table that name one of those ids, in order."""
    marks = ", ".join("?" * len(ids))
    where = " OR ".join(f"{column} IN ({marks})" for column in TABLES[table])
    query = f"SELECT * FROM {table} WHERE {where}"  # noqa: S608 - names of our own
    found = connection.execute(query, ids * len(TABLES[table])).fetchall()
    return sorted(found, key=repr)
