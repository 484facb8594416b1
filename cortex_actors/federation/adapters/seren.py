"""SerenMemory: asks a store that speaks its contract, by a question and by topics.

The store ranks by its own rule (three tiers, evidence), so the order of its hits is kept and its
scores are only shown. What it knows beside a hit (its satellites, what it took the place of) comes
with the hits and is no part of their order. The contract is described in docs/stores.md.

SerenLoci: asks a store of facts that speaks its contract.

A fact has an address (project and key) and one value that holds. The store puts what was asked for
by its key first, with a relevance of 1; everything else it ranks by words, or by meaning too. The
contract is described in docs/stores.md.

Cortex: asks another daemon like this one, by a question and, at its SerenMemory door, by topics.

It answers from what is everybody's there: the village's memories, what shared files say, documents.
It asks no other store for us, so two daemons that ask each other do not go on for ever. Its order
is kept; its scores are of one search of its own and only shown. The other side of this contract is
in docs/serving.md.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from cortex_actors.errors import StoreUnusable
from cortex_actors.federation.answers import (
    make_hit,
    read_hits,
    read_id,
    read_number,
    read_text,
    record,
    require_object,
)
from cortex_actors.federation.remote import HttpAdapter
from cortex_actors.federation.schema import Below, Flag, StoreOptions, Words
from cortex_actors.federation.store import Answer, ByTopic, StoreSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_actors.domain.hit import RankedHit
    from cortex_actors.endpoint.connection import StoreConnection
    from cortex_actors.federation.answers import OutgoingQuestion


#: Hits the server gives at most; it refuses a request for more, and then answers nothing at all.
MOST = 50

#: What every question says of what it is asked for.
_TIERS = {"include_short", "include_near", "include_long", "include_superseded"}

#: Numbers about a hit's surroundings that are shown with it.
_COUNTED = ("satellites", "latest_satellite_at", "supersedes", "superseded_by")

#: What is known of the satellite that led to a hit.
_LED = ("id", "content", "created_at", "raw_distance")

#: Entries of a list within a hit that are looked at: the store decides how many it sends.
_MANY = 64

#: What the programs of the family call themselves, and the type that speaks to them.
_TYPES = {"SerenLoci": "seren_loci", "SerenMemory": "seren_memory"}


class _Seren(HttpAdapter):
    """What the programs of the family have in common."""

    #: Hits that such a store gives at most.
    most: ClassVar[int]
    #: What its answers are, as errors say it.
    shape: ClassVar[str]

    def wanted(self, limit: int) -> int:
        """Return how many hits are asked for."""
        return min(max(1, limit), self.most)

    async def asked_who(self, seconds: float) -> tuple[str, Mapping[str, Any]]:
        """Return as `introduce`; raises `StoreUnusable` when another of the family answers."""
        service, said = await self.introduce(seconds, shape=self.shape)
        if service in _TYPES and service not in self.shape:
            raise StoreUnusable(f"it is a {service}; give it the type {_TYPES[service]}")
        return service, said


class _Tagged(_Seren):
    """One that is asked by topics as well, at `path` and with `always` in each request."""

    path: str
    always: Mapping[str, Any]

    async def find_by_topic(self, asked: ByTopic) -> Answer:
        """Return what is tagged with any of some topics, but for some ids."""
        wanted = min(self.wanted(asked.limit), MOST)
        body = {"topics": list(asked.topics), "n_results": wanted, **self.always}
        body["exclude_ids"] = list(asked.exclude_ids)
        document = await self.line.post(self.path, body, seconds=asked.seconds)
        return read_hits(document, self._tagged, limit=wanted, shape=self.shape)

    def _tagged(self, row: Mapping[str, Any]) -> RankedHit | None:
        """Return a row of an answer by topic as a hit: it is there by its tags, not by meaning."""
        topics = _texts(row.get("matched_topics"))
        told = {"source": "topic-edge", "matched_topics": topics, "overlap": row.get("overlap")}
        return self._hit(row, score=row.get("overlap"), sure=0.0, metadata=told)

    def _hit(
        self,
        row: Mapping[str, Any],
        *,
        metadata: Mapping[str, object],
        distance: object = None,
        score: object = None,
        sure: float | None = None,
    ) -> RankedHit | None:
        """Return a hit; None without an id or a text."""
        own = record(row.get("metadata"))
        own |= {name: row.get(name) for name in ("tier", "topic") if name not in own}
        return make_hit(
            self.name,
            row.get("id"),
            text=read_text(row.get("content")),
            distance=distance,
            score=score,
            sure=sure,
            metadata={**own, **metadata},
        )


def _texts(given: object) -> list[str]:
    """Return the first texts of a list; none of what is none."""
    return [read_text(each) for each in given[:_MANY]] if isinstance(given, list) else []


class SerenMemoryOptions(StoreOptions):
    """What is asked for with every question, unless an option says otherwise, and where."""

    include_short: Flag = True
    include_near: Flag = True
    include_long: Flag = True
    include_superseded: Flag = False
    #: What servers have learned later: left out unless it is switched on, so that an old one is
    #: asked what it knows. It would not mind; another program with this contract may.
    include_satellites: Flag = False
    #: What is around a hit; a server that does not know this does not mind.
    with_surroundings: Flag = True
    search_path: Below = "/search"
    topic_search_path: Below = "/by_topic"


class SerenMemory(_Tagged):
    """Asks a SerenMemory: what it remembers, in three tiers.

    Added with `cortex stores add episodes seren_memory http://127.0.0.1:7420`.
    """

    most: ClassVar[int] = MOST
    shape = "a SerenMemory's answer"

    def __init__(self, spec: StoreSpec, line: StoreConnection) -> None:
        """Remember how to ask; raises `StoreUnusable` for an option it cannot obey."""
        super().__init__(spec, line)
        options = SerenMemoryOptions.from_fields(spec)
        self._search, self.path = options.search_path, options.topic_search_path
        self._around = options.with_surroundings
        satellites = {"include_satellites"} if options.include_satellites else set()
        self.always = options.model_dump(include=_TIERS | satellites)

    async def search(self, asked: OutgoingQuestion) -> Answer:
        """Return hits in the store's own order, with what is around them."""
        wanted = self.wanted(asked.limit)
        body = {"query": asked.text, "n_results": wanted, **self.always}
        body["with_surroundings"] = self._around
        document = await self.line.post(self._search, body, seconds=asked.seconds)
        return read_hits(document, self._found, limit=wanted, shape=self.shape)

    async def ping(self, seconds: float) -> dict[str, Any]:
        """Return what the server says of itself, once it has let us in.

        Its first page is open to everybody; the question about no topics needs the token and costs
        the server nothing. Raises `StoreUnusable` when another program of its family answers.
        """
        service, said = await self.asked_who(seconds)
        await self.find_by_topic(ByTopic((), limit=1, seconds=seconds))
        tiers = {
            name: n for name, n in record(said.get("tiers")).items() if read_number(n) is not None
        }
        return {"service": service, "version": read_text(said.get("version")), "tiers": tiers}

    def _found(self, row: Mapping[str, Any]) -> RankedHit | None:
        """Return a row of an answer as a hit."""
        around, led = record(row.get("surroundings")), record(row.get("matched_via"))
        kept = {name: around[name] for name in _COUNTED if name in around}
        more: dict[str, object] = {"surroundings": kept} if kept else {}
        more |= {"matched_via": {name: led[name] for name in _LED if name in led}} if led else {}
        hit = self._hit(
            row, distance=row.get("raw_distance"), score=row.get("score"), metadata=more
        )
        beside = _beside(around)
        if hit is None or not beside:
            return hit
        return replace(hit, extra={**hit.extra, "surroundings": beside})


def _beside(around: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what is around a hit: its satellites, then what it took the place of.

    What it took the place of is mostly one of its satellites too, and is then named for the former.
    """
    former = _entry(around.get("supersedes_entry"), "supersedes")
    recent = around.get("recent")
    some = recent[:_MANY] if isinstance(recent, list) else []
    entries = [_entry(each, "satellite") for each in some]
    before = former["id"] if former else ""
    satellites = [each for each in entries if each and each["id"] != before]
    return [*satellites, former] if former else satellites


def _entry(value: object, edge: str) -> dict[str, Any] | None:
    """Return one entry around a hit; None for what is none."""
    row = record(value)
    known, words = read_id(row.get("id")), read_text(row.get("content"))
    if not known or not words:
        return None
    created = read_number(row.get("created_at"))
    return {"id": known, "text": words, "edge": edge, "metadata": {"created_at": created}}


#: Hits that are asked for at most. The server has no limit of its own; the most a question may ask
#: for (200) times the most a fan multiplies that by is still an answer that fits the size allowed.
MOST_FACTS = 1_000

#: What every fact says of itself.
_TOLD = ("project", "key", "why", "match_kind", "source")

#: What is shown only of facts it is true of: newer servers say it of all of them.
_RARELY = ("superseded_at", "why_changed", "figures", "recheck")


class SerenLociOptions(StoreOptions):
    """What is asked for with every question, unless an option says otherwise, and where."""

    include_fundamentals: Flag = True
    include_superseded: Flag = False
    project: Words = ""
    search_path: Below = "/search"


class SerenLoci(_Seren):
    """Asks a SerenLoci: its facts, by key and by words.

    Added with `cortex stores add facts seren_loci http://127.0.0.1:7422`.
    """

    most: ClassVar[int] = MOST_FACTS
    shape = "a SerenLoci's answer"

    def __init__(self, spec: StoreSpec, line: StoreConnection) -> None:
        """Remember how to ask; raises `StoreUnusable` for an option it cannot obey."""
        super().__init__(spec, line)
        options = SerenLociOptions.from_fields(spec)
        self._search = options.search_path
        left_out = {"search_path"} if options.project else {"search_path", "project"}
        self._always = options.model_dump(exclude=left_out)

    async def search(self, asked: OutgoingQuestion) -> Answer:
        """Return facts in the store's own order."""
        wanted = self.wanted(asked.limit)
        body = {"query": asked.text, "n_results": wanted, **self._always}
        document = await self.line.post(self._search, body, seconds=asked.seconds)
        return read_hits(document, self._found, limit=wanted, shape=self.shape)

    async def ping(self, seconds: float) -> dict[str, Any]:
        """Return what the server says of itself, once it has let us in.

        Its first page is open to everybody; the question for no facts needs the token and costs the
        server nothing. Raises `StoreUnusable` when another program of its family answers.
        """
        service, said = await self.asked_who(seconds)
        body = {"query": "ping", "n_results": 0, **self._always}
        require_object(await self.line.post(self._search, body, seconds=seconds), shape=self.shape)
        counts = record(said.get("counts"))
        return {
            "service": service,
            "version": read_text(said.get("version")),
            "finder": read_text(said.get("finder")),
            "counts": {name: n for name, n in counts.items() if read_number(n) is not None},
        }

    def _found(self, row: Mapping[str, Any]) -> RankedHit | None:
        """Return a fact as a hit; None without an id or anything to read."""
        told = {name: row.get(name) for name in _TOLD}
        told |= {name: row[name] for name in _RARELY if row.get(name)}
        if row.get("live") is False:
            told["live"] = False
        score = read_number(row.get("score"))
        return make_hit(
            self.name,
            row.get("id"),
            text=_sentence(row),
            distance=row.get("raw_distance"),
            score=score,
            sure=score,
            metadata=told,
        )


def _sentence(row: Mapping[str, Any]) -> str:
    """Return a fact as a sentence: "key = value because why", or what there is of it."""
    key, value, why = (read_text(row.get(name)) for name in ("key", "value", "why"))
    fact = f"{key} = {value}" if key and value else key or value
    return f"{fact} because {why}" if fact and why else fact


#: Hits a daemon gives for a question at most.
MOST_FOUND = 200

#: What another daemon calls itself.
SERVICE = "CortexActors"

#: What is said where it answers without a part of its search: the reason is in its own words.
_PARTLY = (
    "it answered in part only; for the reason run cortex recall with this question, and cortex "
    "status, on its machine"
)

#: What is shown of a hit beside its text.
_SHOWN = ("collection", "project", "place", "heading", "agent")


class CortexOptions(StoreOptions):
    """Where it is asked; an option leads elsewhere, such as through a proxy."""

    recall_path: Below = "/recall"
    topic_path: Below = "/seren/memory/by_topic"


class CortexAdapter(_Tagged):
    """Asks another Cortex daemon whose http door is open.

    Added with `cortex stores add laptop cortex http://127.0.0.1:7424 --token-stdin`.
    """

    most: ClassVar[int] = MOST_FOUND
    shape = "a Cortex's answer"
    always: Mapping[str, Any] = {}

    def __init__(self, spec: StoreSpec, line: StoreConnection) -> None:
        """Remember how to ask; raises `StoreUnusable` for an option it cannot obey."""
        super().__init__(spec, line)
        options = CortexOptions.from_fields(spec)
        self._recall, self.path = options.recall_path, options.topic_path

    async def search(self, asked: OutgoingQuestion) -> Answer:
        """Return hits in the other daemon's order."""
        wanted = self.wanted(asked.limit)
        body = {"query": asked.text, "limit": wanted}
        document = await self.line.post(self._recall, body, seconds=asked.seconds)
        # What it did not look for; its own words are not repeated to agents.
        skipped = require_object(document, shape=self.shape).get("skipped")
        notes = (_PARTLY,) if isinstance(skipped, list) and skipped else ()
        return read_hits(document, self._found, limit=wanted, shape=self.shape, notes=notes)

    async def ping(self, seconds: float) -> dict[str, Any]:
        """Return what the daemon says of itself, once it has let us in.

        Its first page is open to everybody; an empty question needs the token and finds nothing.
        Raises `StoreUnusable` when something else answers.
        """
        service, said = await self.introduce(seconds, shape=self.shape)
        if service != SERVICE:
            raise StoreUnusable("no Cortex answers there; see that its type and port are right")
        empty = {"query": "", "limit": 1}
        require_object(await self.line.post(self._recall, empty, seconds=seconds), shape=self.shape)
        return {"service": service, "version": read_text(said.get("version"))}

    def _found(self, row: Mapping[str, Any]) -> RankedHit | None:
        """Return a row of an answer as a hit."""
        told = {name: read_text(row.get(name)) for name in _SHOWN}
        told["topic"] = ", ".join(filter(None, _texts(row.get("tags"))))
        distance = read_number(row.get("distance"))
        return make_hit(
            self.name,
            row.get("id"),
            text=read_text(row.get("text")),
            distance=distance,
            score=row.get("score", row.get("overlap")),
            # What it found by its words alone was not measured, and must not pass for exact.
            sure=0.0 if distance is None else None,
            metadata={name: value for name, value in told.items() if value},
        )
