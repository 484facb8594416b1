"""Received: what another program answered, made harmless before anybody reads it.

Nothing of it is believed: it is cut to a size, characters nobody sees are written out, and it is
marked as another's. What looks like an attack is kept, and says so: a person decides.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cortex_actors.domain.hit import REMOTE, Hit
from cortex_actors.text.hazards import hidden, suspicion, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

#: Bytes of a text, in UTF-8: a page; instruction files are cut up smaller than that.
TEXT_BYTES = 8_192

#: Characters of an id, of a name and of a word under a name: more is no id, and no word.
ID, NAME = 256, 64

#: Characters that a hit may say beside its text, all of it together.
BESIDE = 16_384

#: Members of one list or object, and how deep these may be nested.
MEMBERS, DEEP = 64, 5

#: Bits of a whole number: a longer one stops other programs, and is as long as a page.
BITS = 64

#: Characters that a value which is no text takes of the room: a number's, about.
VALUE = 8


def received(hits: Iterable[Hit], *, store: str, limit: int) -> tuple[Hit, ...]:
    """Return at most that many hits of a store, fit to be passed on; of an id the first place.

    The store's name is the one it has here, whatever it calls itself.
    """
    found: dict[str, Hit] = {}
    for hit in hits:
        if len(found) >= limit:
            break
        kept = _harmless(hit, store)
        found.setdefault(kept.id, kept)
    return tuple(found.values())


def flagged(hit: Hit) -> Hit:
    """Return a hit that says under `suspicious` what makes its text look like an attack.

    What is this daemon's own was looked at when it was written down, and stays as it is.
    """
    sign = suspicion(hit.text) if hit.trust == REMOTE else None
    if sign is None:
        return hit
    reasons = hit.extra.get("suspicious")
    known = reasons if isinstance(reasons, list) else []
    return replace(hit, extra={**hit.extra, "suspicious": [*known, sign]})


def told(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a store says of itself, fit to be shown: bounded, and with nothing hidden."""
    plain: dict[str, Any] = _Plain().of(dict(document), DEEP)
    return plain


def cut(text: str) -> str:
    """Return the beginning of a text that has at most so many bytes; no character is halved."""
    if len(text) <= TEXT_BYTES // 4:
        return text
    kept = text[:TEXT_BYTES].encode("utf-8", "surrogatepass")[:TEXT_BYTES]
    return kept.decode("utf-8", "ignore")


def _harmless(hit: Hit, store: str) -> Hit:
    """Return one hit as it may be passed on."""
    # A return without a new line lets a terminal write over what stands there.
    text = cut(hit.text).replace("\r\n", "\n").replace("\r", "\n")
    smuggled = () if _is_plain(text) else hidden(text)
    extra = _Plain().of(dict(hit.extra), DEEP)
    extra.pop("suspicious", None)
    if smuggled:
        # What they spell is not said: whoever reads this may be whom it is meant for.
        extra["suspicious"] = [f"letters that nobody sees: {len(smuggled)}"]
    base = hit.base_relevance if math.isfinite(hit.base_relevance) else 0.0
    return Hit(
        # On one line: in an answer as text an id must not look like another entry.
        id=" ".join(_seen(hit.id[:ID]).split()),
        text=visible(text) if smuggled else text,
        score=hit.score,
        store=store,
        heading=None if hit.heading is None else _seen(hit.heading[:ID]),
        extra=extra,
        base_relevance=min(max(base, 0.0), 1.0),
        raw_distance=_finite(hit.raw_distance),
        native_score=_finite(hit.native_score),
        trust=REMOTE,
    )


def _seen(text: str) -> str:
    """Return a text in which everything can be seen."""
    return text if _is_plain(text) else visible(text)


def _is_plain(text: str) -> bool:
    """Tell at once of most texts that they hide nothing: the rules look at every letter."""
    return text.isascii() and text.replace("\n", "").isprintable()


def _finite(number: float | None) -> float | None:
    """Return a number, if it is one."""
    return number if number is not None and math.isfinite(number) else None


class _Plain:
    """Makes plain JSON of what a store says beside a text, as far as there is room."""

    def __init__(self) -> None:
        self._left = BESIDE

    def of(self, value: Any, depth: int) -> Any:  # noqa: ANN401 - whatever JSON has
        """Return a value without what is too deep, too long or no JSON."""
        if isinstance(value, str):
            return self._text(value)
        self._left = max(0, self._left - VALUE)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int):
            return value if value.bit_length() <= BITS else None
        if isinstance(value, float):
            return value if math.isfinite(value) else None
        if depth == 0:
            return None
        if isinstance(value, dict):
            some = list(value.items())[:MEMBERS]
            return {
                self._text(str(key)[:NAME]): self.of(each, depth - 1)
                for key, each in some
                if self._left
            }
        if isinstance(value, list | tuple):
            return [self.of(each, depth - 1) for each in value[:MEMBERS] if self._left]
        return None

    def _text(self, text: str) -> str:
        """Return a text, cut to the room there is."""
        kept = _seen(cut(text[: self._left]))
        self._left = max(0, self._left - max(1, len(kept)))
        return kept
