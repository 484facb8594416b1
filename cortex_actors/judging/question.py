"""A question to a layer, and the key under which its answer is kept. Pure."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cortex_actors.domain.insight import Claim


class Kind(StrEnum):
    """What is asked."""

    #: What are two statements to each other?
    COMPARE = "compare"
    #: Say a text in fewer words.
    SUMMARISE = "summarise"
    #: Say as one text what several say in other words.
    MERGE = "merge"
    #: Take what is worth knowing out of a section.
    DISTIL = "distil"
    #: Say the one principle behind several statements.
    SYNTHESISE = "synthesise"


#: Which of two texts is the primary one -> how the question says so.
_PREFERRED = {"a": "first", "b": "second"}


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and about which texts; `quoted` holds JSON values only."""

    kind: Kind
    quoted: Mapping[str, Any]

    @classmethod
    def compare(cls, left: Claim, right: Claim) -> Self:
        """Return the question about two claims, the same one whichever comes first."""
        one, other = sorted((_quoted(left), _quoted(right)), key=_order)
        return cls(Kind.COMPARE, {"one": one, "other": other})

    @classmethod
    def about(cls, kind: Kind, texts: Sequence[str]) -> Self:
        """Return the question about several texts, the same one in whatever order they come."""
        return cls(kind, {"texts": sorted(set(texts))})

    @classmethod
    def merge(cls, texts: Sequence[str], prefer: str = "equal") -> Self:
        """Return the question for one text instead of several.

        `prefer` is "a" or "b", whose words count then, and the order of the texts matters; with
        anything else none is preferred, and it is the same question in whatever order they come.
        """
        if prefer not in _PREFERRED:
            return cls.about(Kind.MERGE, texts)
        return cls(Kind.MERGE, {"texts": list(texts), "prefer": _PREFERRED[prefer]})

    @property
    def size(self) -> int:
        """The bytes of what is quoted."""
        return len(_bytes(self.quoted))

    def key(self, *asked: str | int) -> bytes:
        """Return the SHA-256 of the question and of who is `asked`, and how."""
        return hashlib.sha256(_bytes([*asked, self.kind, self.quoted])).digest()


def _quoted(claim: Claim) -> dict[str, str]:
    """Return what is quoted of a claim; what it does not have is left out."""
    found = {"text": claim.text, "under": claim.heading or "", "holds_in": claim.scope}
    return {name: text for name, text in found.items() if text}


def _order(quoted: Mapping[str, str]) -> bytes:
    return _bytes(quoted)


def _bytes(value: object) -> bytes:
    """Return one spelling of a JSON value; text that is no valid Unicode has one, too."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
