"""Saying once what may be said again: what a key may be, and whether two events are the same."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from cortex_actors.domain.event import plain
from cortex_actors.errors import BadInput

if TYPE_CHECKING:
    from cortex_actors.domain.event import Event, Payload

#: Characters of a key: room for a digest, a UUID or a path, and an index holds every one.
KEY_LIMIT = 200


def refuse_key(topic: str, key: object, *, durable: bool) -> None:
    """Raise `BadInput` for a key that cannot be kept: empty, long, or of an event that is not."""
    if not (isinstance(key, str) and 0 < len(key) <= KEY_LIMIT and _is_text(key)):
        message = (
            f"cannot publish {topic}: its idempotency key must be a text of 1 to {KEY_LIMIT} "
            "characters; a digest of something longer will do"
        )
        raise BadInput(message)
    if not durable:
        message = (
            f"cannot publish {topic} under an idempotency key: a transient event is not stored, so "
            "nothing would know the key; leave out one of the two"
        )
        raise BadInput(message)


def refuse_other(event: Event[Payload], key: str, *, topic: str, payload: object) -> None:
    """Raise `BadInput` when the first event of a key had another topic or payload than this one."""
    if event.topic != topic or _canonical(plain(event.payload)) != _canonical(payload):
        what = f"the topic {topic}" if event.topic != topic else "another payload"
        message = (
            f"cannot publish {event.topic}: the idempotency key {key!r} was used for {what}; "
            "give what differs a key of its own"
        )
        raise BadInput(message)


def _canonical(payload: object) -> str:
    """Return the one JSON text of a payload: Python takes 1, 1.0 and true for equal."""
    return json.dumps(json.loads(json.dumps(payload)), sort_keys=True)


def _is_text(key: str) -> bool:
    """Tell whether a key can be written down: half a surrogate pair cannot."""
    try:
        key.encode()
    except UnicodeEncodeError:
        return False
    return True
