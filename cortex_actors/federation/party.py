"""Party: who is asked a question, and who of the stores is not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cortex_actors.domain.agent import shown
from cortex_actors.errors import NotFound
from cortex_actors.federation.local import LocalStore
from cortex_actors.federation.store import LOCAL
from cortex_actors.storage.principles import COLLECTION as PRINCIPLES
from cortex_actors.storage.search.scope import COLLECTIONS, ROOMS

if TYPE_CHECKING:
    from cortex_actors.federation.spec import Fan, Member
    from cortex_actors.federation.store import Question


@dataclass(frozen=True, slots=True)
class Party:
    """Who is asked.

    Attributes:
        members: those who are, in the configured order.
        question: what they are asked; where collections were named like stores, only those.
        skipped: (name, reason) of those who cannot be asked.

    """

    members: tuple[Member, ...]
    question: Question
    skipped: tuple[tuple[str, str], ...] = ()

    @property
    def is_alone(self) -> bool:
        """Whether what is known here is asked, as one list, and nobody else."""
        return len(self.members) == 1 and self.members[0].store.kind == LOCAL


def party(fan: Fan, question: Question) -> Party:
    """Return who is asked a question; who cannot meet its conditions is left out, with why.

    `local` is all that is known here as one store, in whatever form it usually takes part, but for
    the principles; the name of a collection is that collection. Raises `NotFound` for a name that
    no store has.
    """
    wanted, question = _wanted(fan, question)
    unmet = {each.store.name: each.store.unmet(question) for each in wanted}
    able = tuple(each for each in wanted if not unmet[each.store.name])
    meant = [one for one in fan.unbindable if not question.stores or one[0] in question.stores]
    strange = [(name, why) for name, why in unmet.items() if why]
    return Party(able, question, (*meant, *strange))


def _wanted(fan: Fan, question: Question) -> tuple[list[Member], Question]:
    """Return whom a question names, and the question as it is put to them."""
    named = set(question.stores)
    if not named:
        return [each for each in fan.members if _has_some(each, question)], question
    _refuse_unknown(fan, question)
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
            found.append(replace(each, store=each.store.room(PRINCIPLES)))
    return tuple(found)


def _refuse_unknown(fan: Fan, question: Question) -> None:
    """Raise `NotFound` for a name that no store has."""
    stores = [each.store.name for each in fan.members] + [name for name, _ in fan.unbindable]
    known = dict.fromkeys((LOCAL, *stores))
    strange = [each for each in question.stores if each not in known and each not in ROOMS]
    if strange:
        raise NotFound(
            f"cannot ask the store {shown(strange[0])}: there is none of that name that is "
            f"enabled; there are {', '.join(known)}"
        )
