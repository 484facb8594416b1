"""How large a payload is: written as JSON only when it could be too large."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from cortex_actors import topics
from cortex_actors.domain.event import Custom, plain
from cortex_actors.errors import BadInput

if TYPE_CHECKING:
    from cortex_actors.domain.event import Payload

#: Bytes of JSON that one character can become: two escapes of six, beyond the basic plane.
_WIDEST = 12

#: Bytes of JSON of a value's marks, or of a field's name, or of a number that is not a long one.
_FRAME = 32

#: Numbers from here on are measured.
_LONG = 10**20

#: Values that need no more than a frame.
_SHORT = frozenset({bool, float, type(None)})


def refuse_too_large(topic: str, payload: Payload) -> None:
    """Raise `BadInput` for a payload with more than `topics.PAYLOAD_LIMIT` bytes of JSON."""
    if _widest(payload) <= topics.PAYLOAD_LIMIT:
        return
    size = len(json.dumps(plain(payload)))
    if size > topics.PAYLOAD_LIMIT:
        message = (
            f"cannot publish {topic}: its payload has {size} bytes of JSON, "
            f"the limit is {topics.PAYLOAD_LIMIT}; send an id or a path instead"
        )
        raise BadInput(message)


def _widest(payload: Payload) -> float:
    """Return a number of bytes that a payload's JSON does not pass; infinite where that is hard.

    Most payloads are a few short texts, and a look at them costs a fifth of writing them.
    """
    texts, frames = 0, 1
    for value in _values(payload):
        kind = type(value)
        frames += 2
        if kind is str:
            texts += len(value)
        elif kind is tuple and all(isinstance(item, str) for item in value):
            texts += sum(map(len, value))
            frames += len(value)
        elif kind not in _SHORT and not (kind is int and -_LONG < value < _LONG):
            return math.inf
    return texts * _WIDEST + frames * _FRAME


def _values(payload: Payload) -> list[Any]:
    """Return what a payload says; a field's name is shorter than a frame, a body's may not be."""
    if type(payload) is Custom:
        return [*payload.body, *payload.body.values()]
    names: tuple[str, ...] = type(payload).__slots__
    return [getattr(payload, name) for name in names]
