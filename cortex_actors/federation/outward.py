"""Outward: what of a question may leave this machine, and what of what is known here.

Other programs are asked with the asker's own words, without the secrets in them. Of what is known
here nothing goes out but what every agent may read (the village) and what other programs have said
themselves: what is private is neither sent nor shines through in what is asked next. In doubt
nothing leaves.
"""

from __future__ import annotations

import logging
from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING

from cortex_actors.domain.hit import REMOTE
from cortex_actors.domain.memory import Realm
from cortex_actors.text.credentials import mask_secrets
from cortex_actors.text.hazards import seen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cortex_actors.domain.hit import Hit

log = logging.getLogger("cortex.federation")

#: Why nothing leaves when the check itself fails: whoever cannot tell whether a text holds a secret
#: sends nothing.
UNCHECKED = "the question was not sent: it could not be checked for secrets"

#: Why nothing leaves when the question is nothing but what may not.
EMPTY = "the question was not sent: nothing is left of it without what nobody sees"

#: Topics that a store is asked about, and characters that each may have.
TOPICS, TOPIC = 16, 64


def masked(text: str) -> str:
    """Return a text without what is secret in it, and without characters that nobody sees.

    These go first: a key with one of them inside has no key's shape, and is one all the same. What
    a marker then stands for is not sent in any form. Raises whatever the rules raise: nobody may
    take that for a text without secrets.
    """
    return mask_secrets(seen(text)).text


def sendable(text: str) -> tuple[str, str]:
    """Return what of a text may be sent, and why not if nothing may; one of them is empty."""
    try:
        found = masked(text)
    except Exception as error:
        log.warning("a question was not sent to other stores", exc_info=error)
        return "", UNCHECKED
    return (found, "") if found.strip() else ("", EMPTY)


def is_public(hit: Hit) -> bool:
    """Return whether a hit may be made part of what is sent: everybody may read it anyway.

    That is what another program said, and a memory of the village. Of everything else known here
    nobody has said so: what a bridge's agents share, what a file says, a document, a crumb.
    """
    return hit.trust == REMOTE or hit.extra.get("realm") == Realm.VILLAGE


def topics(hits: Iterable[Hit]) -> list[str]:
    """Return what some hits are filed under, each topic once: every hit's first, then the second.

    Small letters; what a store writes as one text is several topics with commas between them. What
    looks like a secret is none. Of one hit no more are looked at than a store is asked about: a
    store may file a hit under thousands, each is checked on the loop, and others have topics too.
    """
    each_of = (islice(_topics_of(hit), TOPICS) for hit in hits)
    found = dict.fromkeys(filter(None, chain.from_iterable(zip_longest(*each_of))))
    return list(islice(filter(_is_plain, found), TOPICS))


def _topics_of(hit: Hit) -> Iterator[str]:
    """Return what one hit is filed under, as its store writes it."""
    return (topic for text in _filed(hit) for topic in _apart(text))


def _filed(hit: Hit) -> list[str]:
    """Return the words under which a hit is filed: by its agent here, by its store elsewhere."""
    metadata = hit.extra.get("metadata")
    said = metadata.get("topic") if isinstance(metadata, dict) else hit.extra.get("tags")
    some = said if isinstance(said, list | tuple) else [said]
    return [each for each in some if isinstance(each, str)]


def _apart(text: str) -> list[str]:
    """Return the topics in a text."""
    return [" ".join(each.lower().split()) for each in text.split(",")]


def _is_plain(topic: str) -> bool:
    """Return whether something is a topic: neither empty nor long, and no secret."""
    return 0 < len(topic) <= TOPIC and sendable(topic) == (topic, "")
