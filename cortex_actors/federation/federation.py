"""Federation: asks every store the same question at once and makes one answer of it.

hears   -
says    -
asks    roster (who is asked, and how), cache (the question's vector)
keeps   - (a question is lost on a crash; its caller gets an error)

Beside: what an answer is shown with, and what is no part of it.

What is around a hit in its own store, what is filed under the topics of the hits, and what lies
one step behind them. It is over and above what was asked for, and moves nothing of it.

Edges: what is filed under the topics of an answer, in every store that can be asked by topic.

A store is asked about topics of what other programs said and of what the village knows; what is
known here is also asked about its own. What comes of it is beside the answer, where it moves
nothing: it was found by a word that it is filed under, and compared with no question.

Hops: asking again with what the first hits say, for what lies one step behind the question.

"Who looks after the queue?" finds a note that the queue is Atlas's, and only the note about Atlas
says who that is. The question goes out once more with the beginning of the best hits behind it;
what is new is then beside the answer, with the words that led to it.

Satellites: what a store itself has put around a hit, shown beside it.

A store may say with a hit what was noted about it since, and what it took the place of
(`extra["surroundings"]`). That is no answer to the question, so it takes no hit's place.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from functools import partial
from itertools import chain, zip_longest
from typing import TYPE_CHECKING

from cortex_actors.domain.hit import REMOTE, RankedHit, Recall
from cortex_actors.errors import CortexError
from cortex_actors.federation import fan
from cortex_actors.federation.answers import flag_hit, record
from cortex_actors.federation.local import clean_text, is_public, list_topics
from cortex_actors.federation.roster import Roster
from cortex_actors.federation.store import LOCAL, AskOutcome, ByTopic, Question, RecallStore
from cortex_actors.rules.ranking import fusion
from cortex_actors.runtime.actor import AsyncioActor, deferred
from cortex_actors.runtime.inbox import Overflow
from cortex_actors.storage.search.hits import normalise_tags
from cortex_actors.text.summary import (
    BESIDE,
    compute_absent_price,
    compute_price,
    count_tokens,
    format_recalled,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable, Iterator, Sequence

    from cortex_actors.clock import Clock
    from cortex_actors.rules.ranking.fusion import FusedHit, Listed
    from cortex_actors.runtime.names import NamedActor
    from cortex_actors.sections import FederationSettings
    from cortex_actors.storage.embeddings import EmbedInTime

log = logging.getLogger("cortex.federation")

#: Characters of other programs' texts that are looked through on the loop; more take a thread.
AT_ONCE = 8_192


#: What such a hit says of where it comes from.
SOURCE = "topic-edge"

#: Seconds that all of them may take: what is beside an answer is not worth a long wait.
LONGEST = 1.0


def _edges(hits: Sequence[RankedHit], asked: Sequence[str]) -> list[RankedHit]:
    """Return what a store has under some topics, marked as what is beside an answer."""
    found = []
    for rank, hit in enumerate(hits, start=1):
        # By which topics it was found: those its store names, else those it has.
        metadata = hit.extra.get("metadata")
        said = metadata.get("matched_topics") if isinstance(metadata, dict) else None
        named = hit.extra.get("matched_topics") or said
        some = named if isinstance(named, list) and named else list_topics([hit])
        known = {
            each for topic in some if isinstance(topic, str) for each in normalise_tags([topic])
        }
        shared = [each for each in asked if known.issuperset(normalise_tags([each]))]
        overlap = float(len(shared))
        extra = {**hit.extra, "source": SOURCE, "matched_topics": shared, "overlap": overlap}
        bare_hit = replace(hit, score=0.0, base_relevance=0.0, store_rank=rank)
        found.append(replace(bare_hit, native_score=overlap, extra=extra))
    return found


#: What such a hit says of where it comes from.
HOP_SOURCE = "hop"

#: Characters of each hit that the question goes out with, and of those that an answer shows.
PIECE, TOLD = 200, 120


def make_bridge(hits: Sequence[RankedHit], terms: int) -> fan.Bridge:
    """Return what the beginnings of the first hits say, for here and for elsewhere.

    A hit whose text holds a secret is no part of what is sent: its beginning may end amidst the
    secret, which then has no key's shape any more.
    """
    some = hits[:terms]
    theirs = [
        _piece(hit.text)
        for hit in some
        if is_public(hit) and clean_text(hit.text) == (hit.text, "")
    ]
    return fan.Bridge(" ".join(_piece(hit.text) for hit in some), " ".join(filter(None, theirs)))


def take_fresh(
    placed: Iterable[FusedHit], known: set[tuple[str, str]], *, budget: int
) -> list[FusedHit]:
    """Return at most `budget` hits that are not known yet, and know them from then on."""
    found: list[FusedHit] = []
    for one in placed:
        if len(found) >= budget:
            break
        if (one.store, one.hit.id) not in known:
            known.add((one.store, one.hit.id))
            found.append(one)
    return found


def mark_hop(one: FusedHit, *, hop: int, by: fan.Bridge) -> RankedHit:
    """Return a hit that says at which asking it was found, and what led to it.

    What led to another program's hit is what that program was asked.
    """
    led = by.theirs if one.hit.trust == REMOTE else by.ours
    extra = {**one.hit.extra, "source": HOP_SOURCE, "hop": hop, "hop_bridge": led[:TOLD]}
    if "source" in one.hit.extra:  # of a document: where it was read
        extra["document"] = one.hit.extra["source"]
    return replace(one.hit, score=0.0, store_rank=one.rank, extra=extra)


def _piece(text: str) -> str:
    """Return the beginning of a text, on one line."""
    return " ".join(text[:PIECE].split())


#: What a store calls an edge -> what the answer calls it.
EDGES = {"satellite": "satellite-edge", "supersedes": "supersedes-edge"}

#: Where adapters put what is around a hit.
SURROUNDINGS = "surroundings"


def list_satellites(hits: Sequence[RankedHit], budget: int) -> list[RankedHit]:
    """Return at most so many of what is around some hits: of each one, then a second of each.

    What is among the hits itself is left out, and so is what is around two of them the second
    time.
    """
    known = {(hit.store, hit.id) for hit in hits}
    found: dict[tuple[str, str], RankedHit] = {}
    for each in chain.from_iterable(zip_longest(*(_around(hit) for hit in hits))):
        if len(found) >= budget:
            break
        if each is not None and (each.store, each.id) not in known:
            found.setdefault((each.store, each.id), each)
    return list(found.values())


def strip_context(hit: RankedHit) -> RankedHit:
    """Return a hit without what is around it, which an answer has beside it, if at all."""
    if SURROUNDINGS not in hit.extra:
        return hit
    return replace(hit, extra={n: v for n, v in hit.extra.items() if n != SURROUNDINGS})


def _around(hit: RankedHit) -> Iterator[RankedHit]:
    """Return what is around one hit, in its store's order."""
    some, own = hit.extra.get(SURROUNDINGS), record(hit.extra.get("metadata"))
    # The tier and the topic of a hit are those of its surroundings.
    same = {name: own[name] for name in ("tier", "topic") if own.get(name)}
    for each in some if isinstance(some, list) else ():
        if not isinstance(each, dict) or each.get("edge") not in EDGES:
            continue
        yield RankedHit(
            id=str(each.get("id") or ""),
            text=str(each.get("text") or ""),
            score=0.0,
            store=hit.store,
            base_relevance=0.0,
            trust=hit.trust,
            extra={
                "source": EDGES[each["edge"]],
                "around": hit.id,
                "metadata": same | record(each.get("metadata")),
            },
        )


class Federation(AsyncioActor):
    """Answers questions, several at a time; a store that fails or is late costs only its part."""

    #: Questions not yet begun, asked by people and agents: a hundred at once are a flood, and wait.
    mailbox_limit = 100
    overflow = Overflow.BACK_PRESSURE

    def __init__(
        self,
        roster: NamedActor[Roster],
        embed: EmbedInTime,
        *,
        model: str,
        clock: Clock,
        settings: FederationSettings,
    ) -> None:
        """Remember whom to ask; `model` is the one whose vectors questions are to have."""
        super().__init__()
        self._roster = roster
        self._clock = clock
        self._wording = fan.QuestionWording(embed, model=model, patience=settings.patience_s)

    @deferred
    async def recall(self, question: Question) -> Recall:
        """Return what the stores know about a question; the mailbox goes on meanwhile.

        Raises `BadInput` for a question that is empty or too long, `NotFound` for a store that
        there is not, and `ModelChanged` when another model answers by now. While no text can be
        embedded, words alone are searched, and why is under `skipped`, as is a store that cannot
        be asked; a store that does not answer is under `failed`. Other stores are asked without
        what is secret in the question, and not at all when that cannot be found out. All of it
        takes at most `LONGEST` more than one store may, for what is shown beside the answer.
        """
        fan.require_question(question)
        begun = self._clock.monotonic()
        known = await self._roster.ask(Roster.get_fan)
        others = any(each.store.kind != LOCAL for each in known.members)
        question = replace(question, now=self._clock.now())
        whom = fan.choose_party(known, await self._wording.embed_question(question, others=others))
        wants, knobs = fan.choose_wanted(whom, known.knobs), known.knobs
        seconds = knobs.per_store_timeout_s
        until = self._clock.monotonic() + seconds
        first = await fan.ask_members(
            whom.members, whom.question, limit=wants.ask, seconds=seconds, clock=self._clock
        )
        self.spawn(self._noted(first.outcomes), name="note")
        # Whose answer is lacking; who answers in part is not named there.
        gaps = (*first.failed, *first.skipped, *whom.skipped)
        absent = [each for each in gaps if each[0] not in {LOCAL, *first.answered}]
        packet = await _merged(first.lists, wants, knobs=knobs, frame=compute_absent_price(absent))
        answered = [each for each in whom.members if each.store.name in first.answered]
        beside = await self._found_beside(
            replace(whom, answered=tuple(answered)), packet, knobs, until=until
        )
        hits = await _looked_through([strip_context(one.shown) for one in packet])
        more = await _looked_through(beside)
        if wants.budget is not None:
            left = wants.budget - sum(map(compute_price, hits)) - count_tokens(f"{BESIDE}\n")
            more = tuple(fusion.pack_beside(more, left, price=compute_price))
        text = format_recalled(hits, more, absent=absent, budget=wants.budget)
        return Recall(
            query=question.text,
            hits=hits,
            failed=first.failed,
            skipped=(*first.skipped, *whom.skipped),
            took_ms=(self._clock.monotonic() - begun) * 1_000,
            beside=more,
            asked=first.answered,
            text=text,
            tokens=count_tokens(f"{text}\n"),
            budget_tokens=wants.budget,
        )

    async def _noted(self, outcomes: tuple[AskOutcome, ...]) -> None:
        """Have the roster note how the stores did; nothing waits for it, or fails for it."""
        try:
            await self._roster.ask(Roster.note_outcomes, outcomes)
        except Exception as error:
            # Uncaught it would end this actor, and every question that it works on.
            trace = None if isinstance(error, CortexError) else error
            log.warning("how the stores answered was not noted: %s", error, exc_info=trace)

    async def _found_beside(
        self, whom: fan.Party, packet: list[FusedHit], knobs: FederationSettings, *, until: float
    ) -> list[RankedHit]:
        """Return what is beside an answer: around a hit, under its topics, one step behind.

        It ends by the monotonic time `until`, or `LONGEST` from now where that is later, with what
        there is by then. Whatever fails is left out in silence: the answer is whole without.
        """
        if not packet or whom.question.past is not None:
            return []
        # What a slow store took of its seconds is not taken from the others.
        until = max(until, self._clock.monotonic() + min(knobs.per_store_timeout_s, LONGEST))
        around = list_satellites([one.hit for one in packet], knobs.satellite_budget)
        filed, behind = await asyncio.gather(
            _or_nothing(self._filed(whom, packet, knobs, until=until)),
            _or_nothing(self._behind(whom, packet, knobs, until=until)),
        )
        known = {(one.hit.store, one.hit.id) for one in packet}
        found: dict[tuple[str, str], RankedHit] = {}
        for hit in (*around, *filed, *behind):
            if (hit.store, hit.id) not in known:
                found.setdefault((hit.store, hit.id), hit)
        return list(found.values())

    async def _filed(
        self, whom: fan.Party, packet: list[FusedHit], knobs: FederationSettings, *, until: float
    ) -> list[RankedHit]:
        """Return at most `edge_budget` hits that share a topic with the answer.

        Each store's first comes before each one's second. Of one place what shares most comes
        first, then what is configured first. How much a hit shares is its store's word, so that
        decides no more. A store that fails or is late has none, and nothing is said of it: the
        answer is whole without. What is known here is one list, and tells what is near by itself
        while no other store is asked.
        """
        budget, clock = knobs.edge_budget, self._clock
        seconds = min(until - clock.monotonic(), LONGEST)
        if whom.is_alone or not knobs.edges_enabled or not budget or seconds <= 0:
            return []
        hits = [one.hit for one in packet]
        ours, theirs = list_topics(hits), list_topics(hit for hit in hits if is_public(hit))

        async def ask(store: RecallStore, about: Sequence[str]) -> list[RankedHit]:
            known = [one.hit.id for one in packet if one.store == store.name]
            wanted = ByTopic(about, limit=budget, exclude_ids=known, seconds=seconds)
            by_topic = partial(store.find_by_topic, wanted, whom.question)
            told = await fan.ask_in_time(store.name, by_topic, seconds=seconds, clock=clock)
            return [] if told.answer is None else _edges(told.answer.hits, about)

        able = [each.store for each in whom.answered if each.store.has_topics]
        asked = [(store, ours if store.kind == LOCAL else theirs) for store in able]
        some = await asyncio.gather(*(ask(store, about) for store, about in asked if about))
        found = list(chain.from_iterable(some))
        return sorted(found, key=lambda hit: (hit.store_rank, -(hit.native_score or 0.0)))[:budget]

    async def _behind(
        self, whom: fan.Party, packet: list[FusedHit], knobs: FederationSettings, *, until: float
    ) -> list[RankedHit]:
        """Return what is found by asking again with what was found, as often as is wanted."""
        known = {(one.store, one.hit.id) for one in packet}
        found: list[RankedHit] = []
        last = packet
        for hop in range(2, (whom.question.hops or knobs.hops) + 1):
            room, left = knobs.hop_budget - len(found), until - self._clock.monotonic()
            if room < 1 or left <= 0 or not last:
                break
            by = make_bridge([one.hit for one in last], knobs.hop_terms)
            try:
                async with asyncio.timeout(left):
                    question = await self._wording.word_onward(whom.question, by)
            except TimeoutError:  # a model that loads has more patience than there is time
                break
            left = max(until - self._clock.monotonic(), 0.0)
            # Other programs are asked only where they may hear of something new.
            may = question.outward is not None
            members = [each for each in whom.answered if may or each.store.kind == LOCAL]
            told = await fan.ask_members(
                members, question, limit=len(known) + room, seconds=left, clock=self._clock
            )
            last = take_fresh(fan.fuse_lists(told.lists, knobs), known, budget=room)
            found += [mark_hop(one, hop=hop, by=by) for one in last]
        return found


async def _or_nothing(more: Awaitable[list[RankedHit]]) -> list[RankedHit]:
    """Return what comes of a look for more, or nothing of it."""
    try:
        return await more
    except Exception as error:
        log.warning("what is beside an answer was left out", exc_info=error)
        return []


async def _merged(
    lists: Sequence[Listed], wants: fan.WantedHits, *, knobs: FederationSettings, frame: int
) -> list[FusedHit]:
    """Return the hits of the answer, as many as are paid for beside the line of absent stores.

    That line costs `frame` tokens; it has half of a budget at most, else there is none. Pricing
    looks through the texts of other programs, which is no work for the loop.
    """
    if wants.budget is None:
        return fan.merge_lists(lists, wants, knobs)
    left = wants.budget - (frame if 2 * frame <= wants.budget else 0)
    return await asyncio.to_thread(fan.merge_lists, lists, replace(wants, budget=left), knobs)


async def _looked_through(hits: Sequence[RankedHit]) -> tuple[RankedHit, ...]:
    """Return hits of which those of other programs say what makes them look like an attack."""
    if sum(len(hit.text) for hit in hits if hit.trust == REMOTE) <= AT_ONCE:
        return tuple(map(flag_hit, hits))
    return await asyncio.to_thread(lambda: tuple(map(flag_hit, hits)))
