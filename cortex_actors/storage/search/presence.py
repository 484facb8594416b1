"""Presence: the condition that a memory has that much attention at a moment, for the ledger.

Attention falls with age and with nothing else, so a least attention is a greatest age for each
layer and number of accesses (`rules/attention.window`). The ages are worked out once a search, and
the ledger compares whole microseconds: what it selects has that attention by the formula itself,
to the last one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, and_, case, false, func, or_, select

from cortex_actors.domain.memory import Layer
from cortex_actors.rules.decay import COUNTED, WHOLE, fresh_for, window
from cortex_actors.storage.schema import memories, memory_attention

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cortex_actors.rules.decay import Decay

#: Later than any memory was ever touched.
_NEVER = 2**62


def present(least: float, now: int, decays: Mapping[Layer, Decay]) -> ColumnElement[bool]:
    """Return the condition on a row of `memories` that its attention is at least that now."""
    counted = func.min(func.coalesce(_read(memory_attention.c.access_count), 0), COUNTED)
    known = [(layer, count) for layer in Layer for count in range(COUNTED + 1)]
    ages = {each: window(*each, least, decays) for each in known}
    pinned = memories.c.pinned_at.is_not(None) if least <= WHOLE else false()
    if not any(age is not None for age in ages.values()):
        return pinned
    since = case(
        *(
            (and_(memories.c.layer == layer, counted == count), now - age)
            for (layer, count), age in ages.items()
            if age is not None
        ),
        else_=_NEVER,
    )
    # What is pinned has its 1 and no more, however often it was read.
    return or_(pinned, and_(memories.c.pinned_at.is_(None), _touched() >= since))


def faded(before: int, decays: Mapping[Layer, Decay]) -> ColumnElement[bool]:
    """Return the condition on a row of `memories` that it had faded at a time already.

    It has then as little attention as it ever will. What is pinned or lies in the cortex never has.
    """
    counted = func.min(func.coalesce(_read(memory_attention.c.access_count), 0), COUNTED)
    ages = {
        (layer, count): fresh_for(layer, count, decays)
        for layer in decays
        for count in range(COUNTED + 1)
    }
    until = case(
        *(
            (
                and_(memories.c.layer == layer, counted == count),
                before if age is None else before - age - 1,
            )
            for (layer, count), age in ages.items()
        ),
        else_=-_NEVER,
    )
    return and_(memories.c.pinned_at.is_(None), _touched() <= until)


def _touched() -> ColumnElement[int]:
    """Return when a memory was last said, read or promoted."""
    read = func.coalesce(_read(memory_attention.c.accessed_at), 0)
    return func.max(memories.c.created_at, read, func.coalesce(memories.c.promoted_at, 0))


def _read(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """Return what changes when a memory is read."""
    query = select(column).where(memory_attention.c.memory_id == memories.c.id)
    return query.correlate(memories).scalar_subquery()
