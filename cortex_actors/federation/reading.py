"""What a remote store has answered, looked at before it is believed. Pure.

A store may be another program than it should be, an older or newer one, or a hostile one: whatever
does not have the shape that was agreed is either no answer at all (`StoreDown`) or left out, and
then the answer says how much was. Nothing is repaired or guessed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from cortex_actors.errors import StoreDown
from cortex_actors.federation.store import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cortex_actors.domain.hit import Hit

#: Characters an id may have: some stores use paths for ids, none uses a page. What is kept of a
#: remote id (federation/received.py) is no shorter, so that no two become one.
ID_LIMIT = 256

#: Bits of a number that is an id: a longer one is no id, and takes long to write out.
ID_BITS = 64

#: Rows that are looked at for every hit that is wanted. A store that gives more was not asked for
#: them: a hundred thousand small ones fit the size allowed, and took the loop 2.5 s to read.
ROWS = 4


def fields(document: object, *, shape: str) -> Mapping[str, Any]:
    """Return a document that has to be an object; `shape` says what of: "a SerenLoci's answer".

    Raises `StoreDown` for anything else.
    """
    if not isinstance(document, dict):
        raise foreign(shape)
    return document


def listed(document: object, name: str, *, shape: str) -> tuple[list[Any], tuple[str, ...]]:
    """Return the list of that name in an answer, and what is to be said of it.

    An answer without it, or with null in its place, knows nothing; the former says so, because
    another kind of program may be answering. Raises `StoreDown` for what is no list.
    """
    found = fields(document, shape=shape)
    rows = found.get(name)
    if rows is None:
        return [], () if name in found else (f"answered without {name}, which counts as none",)
    if not isinstance(rows, list):
        raise foreign(shape)
    return rows, ()


def answer(
    rows: Sequence[Any],
    read: Callable[[Mapping[str, Any]], Hit | None],
    *,
    limit: int,
    shape: str,
    notes: Sequence[str] = (),
) -> Answer:
    """Return the hits in some rows, in their order, at most `limit` of them.

    `read` makes a hit of a row, or None of one that has no id or no text. Of one id the first place
    counts, and only the first `ROWS` times as many rows are looked at. How many of them were left
    out is under `skipped`, after `notes`. Raises `StoreDown` when nothing of it is a hit: then
    another kind of program answers.
    """
    some = rows[: max(limit, 1) * ROWS]
    hits = [read(row) if isinstance(row, dict) else None for row in some]
    first: dict[str, Hit] = {}
    for hit in hits:
        if hit is not None:
            first.setdefault(hit.id, hit)
    bad = hits.count(None)
    if bad and not first:
        raise foreign(shape)
    lost = (f"{bad} of its {len(hits)} hits have no id or no text and are left out",) if bad else ()
    return Answer(tuple(first.values())[:limit], (*notes, *lost))


def foreign(shape: str) -> StoreDown:
    """Return that something else answers at an address."""
    return StoreDown(f"answered in a shape that is not {shape}; see that its type is right")


def number(value: object) -> float | None:
    """Return a number that can be reckoned with; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def text(value: object) -> str:
    """Return a text that can be written as UTF-8; nothing for what is none.

    JSON may hold half of a character; a question mark stands in its place.
    """
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def id_of(value: object) -> str:
    """Return an id, which may come as a number; nothing for what cannot be one."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value) if value.bit_length() <= ID_BITS else ""
    found = value if isinstance(value, str) else ""
    return found if len(found) <= ID_LIMIT and found.isprintable() else ""


def record(value: object) -> dict[str, Any]:
    """Return a copy of an object; an empty one for anything else."""
    return dict(value) if isinstance(value, dict) else {}
