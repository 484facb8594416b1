"""Cortex: asks another daemon like this one, by a question and by topics.

It answers from what is everybody's there: the village's memories, what shared files say, documents.
It asks no other store for us, so two daemons that ask each other do not go on for ever. Its order
is kept; its scores are of one search of its own and only shown. The other side of this contract is
in docs/serving.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from cortex_actors.errors import StoreUnusable
from cortex_actors.federation.answers import (
    OutgoingQuestion,
    fields,
    hits_in,
    make_hit,
    number,
    text,
)
from cortex_actors.federation.remote import HttpAdapter
from cortex_actors.federation.schema import Below, StoreOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_actors.domain.hit import RankedHit
    from cortex_actors.endpoint.connection import StoreConnection
    from cortex_actors.federation.store import Answer, ByTopic, StoreSpec

#: Hits a daemon gives for a question at most, and for topics.
MOST, TAGGED = 200, 50

#: What another daemon calls itself.
SERVICE = "CortexActors"

#: What its answers are, as errors say it.
_SHAPE = "a Cortex's answer"

#: Tags of a hit that are looked at: the other program decides how many it sends.
_TAGS = 64

#: What is said where it answers without a part of its search: the reason is in its own words.
_PARTLY = (
    "it answered in part only; for the reason run cortex recall with this question, and cortex "
    "status, on its machine"
)

#: What is shown of a hit beside its text.
_TOLD = ("collection", "project", "place", "heading", "agent")


class CortexOptions(StoreOptions):
    """Where it is asked; an option leads elsewhere, such as through a proxy."""

    recall_path: Below = "/recall"
    topic_path: Below = "/seren/memory/by_topic"


class CortexAdapter(HttpAdapter):
    """Asks another Cortex daemon whose http door is open.

    Added with `cortex stores add laptop cortex http://127.0.0.1:7424 --token-stdin`.
    """

    most: ClassVar[int] = MOST

    def __init__(self, spec: StoreSpec, line: StoreConnection) -> None:
        """Remember how to ask; raises `StoreUnusable` for an option it cannot obey."""
        super().__init__(spec, line)
        options = CortexOptions.of(spec)
        self._recall, self._topics = options.recall_path, options.topic_path

    async def search(self, asked: OutgoingQuestion) -> Answer:
        """Return hits in the other daemon's order."""
        wanted = min(max(1, asked.limit), MOST)
        body = {"query": asked.text, "limit": wanted}
        document = await self.line.post(self._recall, body, seconds=asked.seconds)
        # What it did not look for; its own words are not repeated to agents.
        skipped = fields(document, shape=_SHAPE).get("skipped")
        notes = (_PARTLY,) if isinstance(skipped, list) and skipped else ()
        return hits_in(document, self._found, limit=wanted, shape=_SHAPE, notes=notes)

    async def by_topic(self, asked: ByTopic) -> Answer:
        """Return the village's memories that have any of some tags, but for some ids."""
        wanted = min(max(1, asked.limit), TAGGED)
        body = {
            "topics": list(asked.topics),
            "n_results": wanted,
            "exclude_ids": list(asked.exclude_ids),
        }
        document = await self.line.post(self._topics, body, seconds=asked.seconds)
        return hits_in(document, self._tagged, limit=wanted, shape=_SHAPE)

    async def ping(self, seconds: float) -> dict[str, Any]:
        """Return what the daemon says of itself, once it has let us in.

        Its first page is open to everybody; an empty question needs the token and finds nothing.
        Raises `StoreUnusable` when something else answers.
        """
        service, said = await self.introduced(seconds, shape=_SHAPE)
        if service != SERVICE:
            raise StoreUnusable("no Cortex answers there; see that its type and port are right")
        empty = {"query": "", "limit": 1}
        fields(await self.line.post(self._recall, empty, seconds=seconds), shape=_SHAPE)
        return {"service": service, "version": text(said.get("version"))}

    def _found(self, row: Mapping[str, Any]) -> RankedHit | None:
        """Return a row of an answer as a hit."""
        told = {name: text(row.get(name)) for name in _TOLD}
        told["topic"] = ", ".join(filter(None, _texts(row.get("tags"))))
        distance = number(row.get("distance"))
        return make_hit(
            self.name,
            row.get("id"),
            text=text(row.get("text")),
            distance=distance,
            score=row.get("score", row.get("overlap")),
            # What it found by its words alone was not measured, and must not pass for exact.
            sure=0.0 if distance is None else None,
            metadata={name: value for name, value in told.items() if value},
        )

    def _tagged(self, row: Mapping[str, Any]) -> RankedHit | None:
        """Return a row of an answer by topic as a hit: it is there by its tags, not by meaning."""
        metadata = {
            "topic": text(row.get("topic")),
            "source": "topic-edge",
            "matched_topics": _texts(row.get("matched_topics")),
            "overlap": number(row.get("overlap")),
        }
        return make_hit(
            self.name,
            row.get("id"),
            text=text(row.get("content")),
            score=row.get("score", row.get("overlap")),
            sure=0.0,
            metadata=metadata,
        )


def _texts(given: object) -> list[str]:
    """Return the first texts of a list; none of what is none."""
    return [text(each) for each in given[:_TAGS]] if isinstance(given, list) else []
