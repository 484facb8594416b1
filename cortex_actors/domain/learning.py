"""A learning: one thing worth knowing that a section of an instruction file was distilled to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cortex_actors.domain.insight import Category

#: Tags that one learning has at most (Cerno's limit).
TAGS = 5


@dataclass(frozen=True, slots=True)
class Learning:
    """What a language model took out of a section, in its own words.

    Attributes:
        domain: what it is about, such as `testing`; None where it is about no one thing.
        sections: headings it was taken from, as the model names them.

    """

    content: str
    category: Category
    tags: tuple[str, ...] = ()
    domain: str | None = None
    sections: tuple[str, ...] = ()
