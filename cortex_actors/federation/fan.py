"""Asking: several stores at once, each in its own time; one that fails costs only its part.

Party: who is asked a question, and who of the stores is not.

Wording: a question as the stores are asked it, here and elsewhere, with its vectors.

Merging: how much is asked of every store, and one list of what they answered.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cortex_actors.domain.agent import format_given
from cortex_actors.endpoint.client import LeftAlone
from cortex_actors.errors import (
    ActorAway,
    BadInput,
    CortexError,
    DeadlineExceeded,
    EmbedderDown,
    ModelChanged,
    NotFound,
    Unembeddable,
)
from cortex_actors.federation.answers import flag_hit
from cortex_actors.federation.local import LocalStore, clean_text
from cortex_actors.federation.store import LOCAL, Answer, AskOutcome, Fan, Member, Outward, Question
from cortex_actors.rules.ranking.fusion import (
    FusedHit,
    Listed,
    Seats,
    choose_seated,
    compute_asks,
    fuse_stores,
    pack_hits,
    rank_single,
)
from cortex_actors.storage.pipeline.principles import COLLECTION as PRINCIPLES
from cortex_actors.storage.search.scope import COLLECTIONS, ROOMS
from cortex_actors.text.hazards import show_hidden
from cortex_actors.text.summary import compute_price

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from cortex_actors.clock import Clock
    from cortex_actors.sections import FederationSettings
    from cortex_actors.storage.embeddings import EmbedInTime, Matrix


log = logging.getLogger("cortex.federation")

#: Seconds after which a store is given up that has a limit of its own: that one comes first, and
#: says more.
GRACE = 0.03

#: Characters of the reason why there is no answer.
REASON = 200


@dataclass(frozen=True, slots=True)
class Round:
    """What the stores said when they were asked once.

    Attributes:
        lists: of those that answered, in the configured order.
        outcomes: how each ask ended.
        skipped: (store, reason) of what did not take part in an answer.

    """

    lists: tuple[Listed, ...] = ()
    outcomes: tuple[AskOutcome, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()

    @property
    def failed(self) -> tuple[tuple[str, str], ...]:
        """(store, reason) of those that gave no answer."""
        return tuple((each.store, each.reason) for each in self.outcomes if each.reason)

    @property
    def answered(self) -> tuple[str, ...]:
        """The stores that answered."""
        return tuple(each.store for each in self.lists)


async def ask_members(
    members: Sequence[Member], question: Question, *, limit: int, seconds: float, clock: Clock
) -> Round:
    """Ask all members at once for that many hits, as far as a store gives so many.

    It takes as long as the slowest of them, `seconds` at most.
    """

    def ask(member: Member) -> Callable[[], Awaitable[Answer]]:
        wanted = min(max(limit, 1), member.store.most)
        return lambda: member.store.recall(question, limit=wanted, seconds=seconds)

    told = await asyncio.gather(
        *(ask_in_time(each.store.name, ask(each), seconds=seconds, clock=clock) for each in members)
    )
    pairs = list(zip(members, told, strict=True))
    skipped = [(member.store.name, why) for member, one in pairs for why in one.left_out]
    return Round(
        tuple(_listed(member, one.answer) for member, one in pairs if one.answer is not None),
        tuple(one.outcome for one in told if one.outcome is not None),
        tuple(skipped),
    )


@dataclass(frozen=True, slots=True)
class StoreReply:
    """What came of asking one store.

    Attributes:
        outcome: how that ended; None where it was not even tried.
        left_out: what did not take part, and why.

    """

    answer: Answer | None = None
    outcome: AskOutcome | None = None
    left_out: tuple[str, ...] = ()


async def ask_in_time(
    name: str, ask: Callable[[], Awaitable[Answer]], *, seconds: float, clock: Clock
) -> StoreReply:
    """Return what comes of asking a store, in any case before long; raises nothing."""
    begun = clock.monotonic()
    answer: Answer | None = None
    try:
        async with asyncio.timeout(seconds + GRACE):
            answer, reason = await ask(), ""
    except LeftAlone as error:
        return StoreReply(left_out=(show_hidden(str(error)[:REASON]),))
    except TimeoutError:
        reason = f"timeout after {seconds:.2f} s"
    except Exception as error:
        reason = str(error) or type(error).__name__
        if not isinstance(error, CortexError):
            log.warning("the store %s failed", name, exc_info=error)
    outcome = AskOutcome(name, clock.monotonic() - begun, show_hidden(reason[:REASON]))
    return StoreReply(answer, outcome, () if answer is None else answer.skipped)


def _listed(member: Member, answer: Answer) -> Listed:
    """Return an answer as the fusion takes it; a limit of shares is for other programs alone."""
    store = member.store
    return Listed(store.name, answer.hits, member.weight, member.floor, capped=store.kind != LOCAL)


@dataclass(frozen=True, slots=True)
class Party:
    """Who is asked.

    Attributes:
        members: those who are, in the configured order.
        question: what they are asked; where collections were named like stores, only those.
        skipped: (name, reason) of those who cannot be asked.
        answered: those who answered, once they have been asked.

    """

    members: tuple[Member, ...]
    question: Question
    skipped: tuple[tuple[str, str], ...] = ()
    answered: tuple[Member, ...] = ()

    @property
    def is_alone(self) -> bool:
        """Whether what is known here is asked, as one list, and no other store."""
        return len(self.members) == 1 and self.members[0].store.kind == LOCAL


def choose_party(fan: Fan, question: Question) -> Party:
    """Return who is asked a question; who cannot meet its conditions is left out, with why.

    `local` is all that is known here as one store, in whatever form it usually takes part, but for
    the principles; the name of a collection is that collection. Raises `NotFound` for a name that
    no store has.
    """
    wanted, question = _wanted(fan, question)
    unmet = {each.store.name: each.store.explain_unmet(question) for each in wanted}
    able = tuple(each for each in wanted if not unmet[each.store.name])
    meant = [one for one in fan.unbindable if not question.stores or one[0] in question.stores]
    return Party(able, question, (*meant, *((name, why) for name, why in unmet.items() if why)))


def _wanted(fan: Fan, question: Question) -> tuple[list[Member], Question]:
    """Return whom a question names, and the question as it is put to them.

    Raises `NotFound` for a name that no store has.
    """
    named = set(question.stores)
    if not named:
        return [each for each in fan.members if _has_some(each, question)], question
    stores = [each.store.name for each in fan.members] + [name for name, _ in fan.unbindable]
    known = dict.fromkeys((LOCAL, *stores))
    strange = [each for each in question.stores if each not in known and each not in ROOMS]
    if strange:
        raise NotFound(
            f"cannot ask the store {format_given(strange[0])}: there is none of that name that is "
            f"enabled; there are {', '.join(known)}"
        )
    if PRINCIPLES in named:
        fan = replace(fan, members=_with_principles(fan.members))
    rooms = named.intersection(COLLECTIONS)
    if LOCAL not in named and rooms and any(each.store.name == LOCAL for each in fan.members):
        kept = tuple(name for name in COLLECTIONS if name in rooms)
        question = replace(question, collections=kept)
        named.add(LOCAL)
    elif LOCAL in named:
        named -= rooms
        fan = replace(fan, members=_joined(fan.members))
    return [each for each in fan.members if each.store.name in named], question


def _has_some(member: Member, question: Question) -> bool:
    """Return whether a member has any of the collections that are asked for."""
    store = member.store
    if not question.collections or not isinstance(store, LocalStore):
        return True
    return not set(store.collections).isdisjoint(question.collections)


def _joined(members: tuple[Member, ...]) -> tuple[Member, ...]:
    """Return the members with everything that is known here as one store, in the first's place.

    Principles are not part of that, and stay as they are.
    """
    found: list[Member] = []
    for each in members:
        if not isinstance(each.store, LocalStore) or each.store.name == PRINCIPLES:
            found.append(each)
        elif not any(other.store.name == LOCAL for other in found):
            found.append(replace(each, store=each.store.whole))
    return tuple(found)


def _with_principles(members: tuple[Member, ...]) -> tuple[Member, ...]:
    """Return the members with the principles behind what is known here, if they are not there."""
    found: list[Member] = []
    for each in members:
        found.append(each)
        if isinstance(each.store, LocalStore) and each.store.name == LOCAL:
            found.append(replace(each, store=each.store.open_room(PRINCIPLES)))
    return tuple(found)


#: Hits that may be asked for at once.
HITS_LIMIT = 200


@dataclass(frozen=True, slots=True)
class WantedHits:
    """How much is wanted.

    Attributes:
        rows: hits of the answer.
        ask: hits that every store is asked for.
        budget: tokens that the answer may cost; None for no limit.

    """

    rows: int
    ask: int
    budget: int | None = None


def choose_wanted(whom: Party, knobs: FederationSettings) -> WantedHits:
    """Return how much of an answer is wanted, and what every store is asked for.

    A question with a budget and no number has as many hits as the budget pays for. What is known
    here is asked for no more than is wanted while no other store is: nothing of it is pushed out.
    """
    given, budget = whom.question.limit, whom.question.budget_tokens
    rows = given or (HITS_LIMIT if budget is not None else knobs.n_results)
    multiplier = 1 if whom.is_alone else knobs.fetch_multiplier
    ask = compute_asks(
        knobs.n_results if given is None else given, multiplier=multiplier, budget=budget
    )
    return WantedHits(rows, min(ask, HITS_LIMIT) if whom.is_alone else ask, budget)


def merge_lists(
    lists: Sequence[Listed], wants: WantedHits, knobs: FederationSettings
) -> list[FusedHit]:
    """Return the hits of the answer, best first, as many as the budget pays for."""
    seats = Seats(wants.rows, knobs.min_per_store, knobs.max_store_share)
    if wants.budget is None:
        return choose_seated(fuse_lists(lists, knobs), seats)
    # What makes a hit look like an attack is printed, too.
    return pack_hits(
        fuse_lists(lists, knobs),
        wants.budget,
        seats,
        price=lambda hit: compute_price(flag_hit(hit)),
    )


def fuse_lists(lists: Sequence[Listed], knobs: FederationSettings) -> list[FusedHit]:
    """Return the hits of all lists as one.

    While only what is known here has an answer, it stays as its one search has ranked it.
    """
    told = [each for each in lists if each.hits]
    if len(told) == 1 and not told[0].capped:
        return rank_single(told[0])
    return fuse_stores(
        lists, k=knobs.k, mode=knobs.fusion_mode, authority_margin=knobs.authority_margin
    )


#: Characters a question may have: a page, not a book.
QUESTION_LIMIT = 4_096

#: Tokens an answer may be allowed: what the largest models read at once.
BUDGET_LIMIT = 1_000_000

#: Times that the stores may be asked for one answer.
HOPS_LIMIT = 4


class QuestionWording:
    """Gives questions their vectors, all in the space of one model.

    What other programs are asked is the question without its secrets, and the vector of that: the
    vector of a text tells most of the text.
    """

    def __init__(self, embed: EmbedInTime, *, model: str, patience: float) -> None:
        """Embed with that model, and wait so many seconds for it while it loads."""
        self._embed = embed
        self._model = model
        self._patience = patience

    async def embed_question(self, question: Question, *, others: bool) -> Question:
        """Return a question with its vector, and with what of it others are asked, if there are.

        Without a vector it says why, and without anything that may leave why that is. Raises
        `ModelChanged` when another model answers by now.
        """
        # Why nothing leaves this machine where there is no other store to ask.
        theirs, why_not = clean_text(question.text) if others else ("", "no other store is asked")
        return await self._embedded(question, theirs, why_not)

    async def word_onward(self, question: Question, by: Bridge) -> Question:
        """Return a question with what was found behind it; others hear what they may of that."""
        theirs = ""
        if question.outward is not None and by.theirs:
            theirs, _ = clean_text(f"{question.outward.text}\n{by.theirs}")
        onward = replace(question, text=f"{question.text}\n{by.ours}", about=None)
        return await self._embedded(onward, theirs)

    async def _embedded(self, question: Question, theirs: str, why_not: str = "") -> Question:
        """Return the question with its vectors, or with the reason why it has none."""
        about = question.about
        named = about.text if about is not None else ""
        texts = list(dict.fromkeys(filter(None, (question.text, named, theirs))))
        rows: Matrix | None = None
        why = ""
        try:
            rows = await self._embed(texts, urgent=True, patience=self._patience, model=self._model)
        except ModelChanged:
            raise
        except (EmbedderDown, Unembeddable, ActorAway, DeadlineExceeded) as error:
            why = str(error)
        vectors = {} if rows is None else dict(zip(texts, rows, strict=True))
        outward = Outward(theirs, vectors.get(theirs), self._model) if theirs else None
        return replace(
            question,
            model=self._model,
            vector=vectors.get(question.text),
            about=None if about is None else replace(about, vector=vectors.get(named)),
            why=why,
            outward=outward,
            why_not=why_not,
        )


def require_question(question: Question) -> None:
    """Raise `BadInput` for a question that cannot be asked."""
    if not question.text.strip():
        raise BadInput("cannot search: the question is empty; say what you are looking for")
    if len(question.text) > QUESTION_LIMIT:
        raise BadInput(
            f"cannot search: the question has {len(question.text)} characters, the limit is "
            f"{QUESTION_LIMIT}; ask for less"
        )
    limit, hops_, budget = question.limit, question.hops, question.budget_tokens
    if limit is not None and not 1 <= limit <= HITS_LIMIT:
        raise BadInput(f"cannot search: {limit} hits were asked for; ask for 1 to {HITS_LIMIT}")
    if hops_ is not None and not 1 <= hops_ <= HOPS_LIMIT:
        message = f"cannot search: hops is {hops_}; the stores are asked 1 to {HOPS_LIMIT} times"
        raise BadInput(message)
    if budget is not None and not 1 <= budget <= BUDGET_LIMIT:
        raise BadInput(f"cannot search: budget_tokens is {budget}; give 1 to {BUDGET_LIMIT:,}")


@dataclass(frozen=True, slots=True)
class Bridge:
    """What the next question says beside the first one.

    Attributes:
        ours: of all hits it is made of, for what is known here.
        theirs: of those that other programs may hear of; empty when there are none.

    """

    ours: str
    theirs: str
