"""SerenLoci: asks a store of facts that speaks its contract.

A fact has an address (project and key) and one value that holds. The store puts what was asked for
by its key first, with a relevance of 1; everything else it ranks by words, or by meaning too. The
contract is described in docs/seren.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from cortex_actors.errors import StoreUnusable
from cortex_actors.federation.measured import measured
from cortex_actors.federation.options import Options
from cortex_actors.federation.reading import answer, fields, id_of, listed, number, record, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_actors.domain.hit import Hit
    from cortex_actors.endpoint.connection import Line
    from cortex_actors.federation.adapter import Asked
    from cortex_actors.federation.spec import StoreSpec
    from cortex_actors.federation.store import Answer

#: Hits that are asked for at most. The server has no limit of its own; the most a question may ask
#: for (200) times the most a fan multiplies that by is still an answer that fits the size allowed.
MOST = 1_000

#: What is asked for with every question, unless an option says otherwise.
_KINDS = {"include_fundamentals": True, "include_superseded": False}

_OPTIONS = (*_KINDS, "project", "search_path")

#: What every fact says of itself.
_TOLD = ("project", "key", "why", "match_kind", "source")

#: What is shown only of facts it is true of: newer servers say it of all of them.
_RARELY = ("superseded_at", "why_changed", "figures", "recheck")

#: What its answers are, as errors say it.
_SHAPE = "a SerenLoci's answer"

#: What other programs of the family call themselves, and the type that speaks to them.
_OTHERS = {"SerenMemory": "seren_memory"}


class SerenLoci:
    """Asks a SerenLoci: its facts, by key and by words.

    Added with `cortex stores add facts seren_loci http://127.0.0.1:7422`.
    """

    most: ClassVar[int] = MOST
    meets: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, spec: StoreSpec, line: Line) -> None:
        """Remember how to ask; raises `StoreUnusable` for an option it cannot obey."""
        options = Options(spec, _OPTIONS)
        self._name = spec.name
        self._line = line
        self._search = options.path("search_path", "/search")
        self._always: dict[str, object] = {
            name: options.flag(name, default=default) for name, default in _KINDS.items()
        }
        if project := options.words("project"):
            self._always["project"] = project

    async def search(self, asked: Asked) -> Answer:
        """Return facts in the store's own order."""
        wanted = min(max(1, asked.limit), MOST)
        body = {"query": asked.text, "n_results": wanted, **self._always}
        document = await self._line.post(self._search, body, seconds=asked.seconds)
        rows, notes = listed(document, "hits", shape=_SHAPE)
        return answer(rows, self._found, limit=wanted, shape=_SHAPE, notes=notes)

    async def ping(self, seconds: float) -> dict[str, Any]:
        """Return what the server says of itself, once it has let us in.

        Its first page is open to everybody; the question for no facts needs the token and costs the
        server nothing. Raises `StoreUnusable` when another program of its family answers.
        """
        said = fields(await self._line.get("/", seconds=seconds), shape=_SHAPE)
        service = text(said.get("service"))
        if service in _OTHERS:
            raise StoreUnusable(f"it is a {service}; give it the type {_OTHERS[service]}")
        body = {"query": "ping", "n_results": 0, **self._always}
        fields(await self._line.post(self._search, body, seconds=seconds), shape=_SHAPE)
        counts = record(said.get("counts"))
        return {
            "service": service,
            "version": text(said.get("version")),
            "finder": text(said.get("finder")),
            "counts": {name: n for name, n in counts.items() if number(n) is not None},
        }

    async def close(self) -> None:
        """Let go of the connection."""
        await self._line.close()

    def _found(self, row: Mapping[str, Any]) -> Hit | None:
        """Return a fact as a hit; None without an id or anything to read."""
        known, words = id_of(row.get("id")), _sentence(row)
        if not known or not words:
            return None
        told = {name: row.get(name) for name in _TOLD}
        told |= {name: row[name] for name in _RARELY if row.get(name)}
        if row.get("live") is False:
            told["live"] = False
        score = number(row.get("score"))
        return measured(
            self._name,
            known,
            text=words,
            distance=number(row.get("raw_distance")),
            score=score,
            sure=score,
            metadata=told,
        )


def _sentence(row: Mapping[str, Any]) -> str:
    """Return a fact as a sentence: "key = value because why", or what there is of it."""
    key, value, why = (text(row.get(name)) for name in ("key", "value", "why"))
    fact = f"{key} = {value}" if key and value else key or value
    return f"{fact} because {why}" if fact and why else fact
