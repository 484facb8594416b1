"""Narrowing: what a client may narrow a question to, checked and brought into one form.

The same conditions, with the same words for what is wrong with them, for every verb that takes
them. Nothing is left out in silence: an unknown word is an error that names those there are.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar

from cortex_actors.clock import iso
from cortex_actors.domain.agent import agent_id, shown
from cortex_actors.domain.memory import Layer, MemoryType, Realm
from cortex_actors.errors import BadInput
from cortex_actors.rules.admission import THREAD
from cortex_actors.storage.search.query import Past, Where
from cortex_actors.text.terms import moment
from cortex_actors.text.terms import tags as normalised

if TYPE_CHECKING:
    from collections.abc import Sequence
    from enum import StrEnum

Word = TypeVar("Word", bound="StrEnum")

#: Most attention that a memory can have: whole, and what being read adds at most.
MOST_ATTENTION = 1.5


def where(
    *,
    now: int,
    reader: str | None = None,
    project_id: str | None = None,
    layers: Sequence[str] = (),
    realm: str | None = None,
    agent: str | None = None,
    type: str | None = None,  # noqa: A002 - what every client calls it
    tags: Sequence[str] = (),
    thread: str | None = None,
    since: int | str | None = None,
    until: int | str | None = None,
    min_attention: float | None = None,
) -> Where:
    """Return the conditions; `now` (UTC microseconds) is the moment from which spans count back.

    Raises `BadInput` for what is none: an unknown realm, layer or type, a moment that is not
    understood, an attention no memory can have, an end that is not after its beginning.
    """
    begun = None if since is None else moment(since, now, name="since")
    ended = None if until is None else moment(until, now, name="until")
    if begun is not None and ended is not None and begun >= ended:
        raise BadInput(
            f"nothing lies between since ({iso(begun)}) and until ({iso(ended)}): until is the "
            "first moment that counts no more, and must be later"
        )
    return Where(
        reader=reader,
        project_id=project_id,
        realm=None if realm is None else word(Realm, realm, name="realm"),
        agent_id=None if agent is None else agent_id(agent),
        layers=tuple(dict.fromkeys(word(Layer, each, name="layer") for each in _list(layers))),
        types=() if type is None else (word(MemoryType, type, name="type"),),
        tags=normalised(list(tags) if isinstance(tags, tuple) else tags),
        thread=None if thread is None else thread_of(thread),
        since=begun,
        until=ended,
        attention=None if min_attention is None else _attention(min_attention),
    )


def past(as_of: int | str | None, *, now: int, original: bool = False) -> Past | None:
    """Return which memories of another time are looked for; None for what is known now.

    Raises `BadInput` for a moment that is not understood, or that has not come yet.
    """
    if as_of is None:
        return Past(original=True) if original else None
    moment_ = moment(as_of, now, name="as_of")
    if moment_ > now:
        raise BadInput(f"nobody knows what will be believed: as_of ({iso(moment_)}) lies ahead")
    return Past(as_of=moment_, original=original)


def word(kind: type[Word], given: object, *, name: str) -> Word:
    """Return a word of a closed set, in any case; raises `BadInput` naming those there are."""
    try:
        return kind(given.lower() if isinstance(given, str) else "")
    except ValueError:
        known = ", ".join(kind)
        raise BadInput(f"there is no {name} {shown(given)}; there are {known}") from None


def thread_of(given: object) -> str:
    """Return a thread's name in the form in which it is kept; raises `BadInput`."""
    name = " ".join(given.split()) if isinstance(given, str) else ""
    if not name or len(name) > THREAD:
        raise BadInput(f"{shown(given)} names no thread: it has 1 to {THREAD} characters")
    return name


def words(given: object, *, name: str) -> tuple[str, ...]:
    """Return a list of words, each once; raises `BadInput` for anything else."""
    if isinstance(given, str) or not isinstance(given, list | tuple):
        raise BadInput(f"{name} must be a list of words, not {shown(given)}")
    for each in given:
        if not isinstance(each, str):
            raise BadInput(f"{name} must be words, and {shown(each)} is none")
    return tuple(dict.fromkeys(given))


def whole(given: object, *, name: str) -> int | None:
    """Return a whole number, if one was given; raises `BadInput` for what is none."""
    if given is None or (isinstance(given, int) and not isinstance(given, bool)):
        return given
    raise BadInput(f"{name} must be a whole number, not {shown(given)}")


def _list(given: object) -> list[object] | tuple[object, ...]:
    """Return a list of words; raises `BadInput` for anything else."""
    if isinstance(given, str) or not isinstance(given, list | tuple):
        raise BadInput(f"layers must be a list of words, not {shown(given)}")
    return given


def _attention(given: object) -> float:
    """Return a least attention."""
    found = math.nan if isinstance(given, bool) or not isinstance(given, int | float) else given
    if not 0 <= found <= MOST_ATTENTION:
        raise BadInput(
            f"min_attention {shown(given)} is none that a memory could have: give 0 to "
            f"{MOST_ATTENTION:g}"
        )
    return float(found)
