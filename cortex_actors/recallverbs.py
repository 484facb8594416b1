"""The verbs that find things: `recall` asks every store, `search` memories alone."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeAlias

from cortex_actors import narrowing
from cortex_actors.domain.agent import OWNER, Caller
from cortex_actors.domain.hit import REMOTE
from cortex_actors.domain.memory import PROBE, Access
from cortex_actors.federation.store import LOCAL, Question
from cortex_actors.rules.fusion import WORDS_ALONE
from cortex_actors.storage import memory_records
from cortex_actors.storage.search.scope import ROOMS, late, scope
from cortex_actors.text.summary import format_recalled
from cortex_actors.verbs import Verbs

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cortex_actors.domain.hit import Hit, Recall

#: Where memories lie.
_MEMORIES = tuple(memory_records.COLLECTIONS.values())

#: Parameters that are passed on.
_Given: TypeAlias = "dict[str, Any]"


class RecallVerbs(Verbs):
    """Part of the front desk."""

    async def recall(
        self,
        query: str,
        limit: int | None = None,
        project: str | None = None,
        *,
        stores: Sequence[str] = (),
        budget_tokens: int | None = None,
        hops: int | None = None,
        explain: bool = False,
        layers: Sequence[str] = (),
        realm: str | None = None,
        agent: str | None = None,
        type: str | None = None,  # noqa: A002 - what every client calls it
        tags: Sequence[str] = (),
        thread: str | None = None,
        since: int | str | None = None,
        until: int | str | None = None,
        min_attention: float | None = None,
        as_of: int | str | None = None,
        as_agent: str | None = None,
        track: bool = True,
        caller: Caller = OWNER,
    ) -> dict[str, Any]:
        """Return what the stores know about a question, best first, with provenance.

        With `budget_tokens` and no `limit` there are as many as that pays for. A condition that a
        kind of thing cannot meet leaves the kind out; `as_of` leaves memories alone. Raises
        `BadInput`, `UnknownProject`, `NotFound` for an unknown store, and `NotYours`.
        """
        now = self._parts.clock.now()
        what: _Given = {"layers": layers, "realm": realm, "agent": agent, "type": type}
        when: _Given = {"since": since, "until": until, "min_attention": min_attention}
        more: _Given = {"tags": tags, "thread": thread, **what, **when}
        reader, project_id = caller.reader(as_agent), await self._project_id(project)
        where = narrowing.where(now=now, reader=reader, project_id=project_id, **more)
        past = narrowing.past(as_of, now=now)
        far = _far(stores=stores, hops=hops, budget_tokens=budget_tokens)
        number = narrowing.whole(limit, name="limit")
        question = Question(query, number, where=where, past=past, explain=explain, **far)
        return await self._answered(question, track=track)

    async def search(
        self,
        query: str,
        limit: int = 10,
        *,
        explain: bool = False,
        layers: Sequence[str] = (),
        realm: str | None = None,
        agent: str | None = None,
        type: str | None = None,  # noqa: A002 - as above
        tags: Sequence[str] = (),
        thread: str | None = None,
        since: int | str | None = None,
        until: int | str | None = None,
        min_attention: float | None = None,
        as_of: int | str | None = None,
        original_only: bool = False,
        as_agent: str | None = None,
        track: bool = True,
        caller: Caller = OWNER,
    ) -> dict[str, Any]:
        """Return memories about a question, best first.

        `original_only` looks at what was said and not at what was made of it, active or not; with
        `as_of` at what was believed at a moment. Raises as `recall` does.
        """
        now = self._parts.clock.now()
        what: _Given = {"layers": layers, "realm": realm, "agent": agent, "type": type}
        when: _Given = {"since": since, "until": until, "min_attention": min_attention}
        more: _Given = {"tags": tags, "thread": thread, **what, **when}
        where = narrowing.where(now=now, reader=caller.reader(as_agent), **more)
        past = narrowing.past(as_of, now=now, original=original_only)
        alone: _Given = {"collections": _MEMORIES, "stores": (LOCAL,)}
        question = Question(query, limit, where=where, past=past, explain=explain, **alone)
        return await self._answered(question, track=track)

    async def _answered(self, question: Question, *, track: bool) -> dict[str, Any]:
        """Ask; return the answer as JSON, and let be noted which memories were in it."""
        found = await self._parts.recall(question)
        hits = found.hits
        if track and question.past is None:
            self._parts.custodian.accessed(_accesses(hits))
        waits = await self._waiting(question)
        return {
            "query": found.query,
            "count": len(hits),
            "hits": [_plain(hit) for hit in hits],
            "text": format_recalled(hits, found.beside, absent=_absent(found)),
            "beside": [_plain(hit) for hit in found.beside],
            "stores_searched": list(found.asked),
            "failed": [{"store": name, "reason": why} for name, why in found.failed],
            "skipped": [{"store": name, "reason": why} for name, why in (*found.skipped, *waits)],
            "took_ms": round(found.took_ms, 3),
            **_bought(found),
        }

    async def _waiting(self, question: Question) -> list[tuple[str, str]]:
        """Return what was looked for by its words alone, if anything: what has no vector yet."""
        if question.past is not None:
            return []
        model, now = self._parts.model(), self._parts.clock.now()
        decays = self._parts.memory().decays
        seen = scope(question.where, _rooms(question), now=now, decays=decays)
        missing, is_all = await self._parts.records.read(lambda c: late(c, model, seen))
        if not missing:
            return []
        # How many there are is nothing that an agent is told: it is not all its own.
        number = f"{missing} texts" if is_all else f"{missing} or more texts"
        some = number if question.where.reader is None else "some texts"
        return [(LOCAL, f"{some} have no vector yet and were looked for by their words alone")]


def _rooms(question: Question) -> tuple[str, ...]:
    """Return the collections that a question is put to here; none for all of them."""
    if question.collections or LOCAL in question.stores:
        return question.collections
    return tuple(each for each in ROOMS if each in question.stores)


def _bought(found: Recall) -> _Given:
    """Return what an answer costs a reader, and the limit to it that somebody may have set."""
    limit = {} if found.budget_tokens is None else {"budget_tokens": found.budget_tokens}
    return {**limit, "tokens": found.tokens}


def _absent(found: Recall) -> list[tuple[str, str]]:
    """Return (store, reason) of those whose answer is lacking; who answers in part is not."""
    there = {LOCAL, *found.asked}
    return [each for each in (*found.failed, *found.skipped) if each[0] not in there]


def _far(*, stores: object, hops: object, budget_tokens: object) -> _Given:
    """Return what concerns the fan over the stores, checked; raises `BadInput`."""
    return {
        "stores": narrowing.words(stores, name="stores"),
        "hops": narrowing.whole(hops, name="hops"),
        "budget_tokens": narrowing.whole(budget_tokens, name="budget_tokens"),
    }


def _plain(hit: Hit) -> dict[str, Any]:
    """Return a hit as JSON; what a store says beside it is plain already, and nobody else's."""
    return {each.name: getattr(hit, each.name) for each in fields(hit)} | {"extra": {**hit.extra}}


def _accesses(hits: Iterable[Hit]) -> list[Access]:
    """Return which memories are in an answer, and how each came there; a probe counts for none.

    What another program said is no memory of this daemon, whatever it calls itself.
    """
    return [
        Access(
            hit.id,
            cosine=_number(hit.extra.get("cosine")),
            by_words=WORDS_ALONE in _names(hit.extra.get("found_by")),
        )
        for hit in hits
        if hit.store in _MEMORIES and hit.trust != REMOTE and hit.extra.get("agent") != PROBE
    ]


def _number(value: object) -> float | None:
    """Return a cosine, if a list measured one."""
    return value if isinstance(value, float) else None


def _names(value: object) -> list[object]:
    """Return the lists that hold a hit."""
    return value if isinstance(value, list) else []
