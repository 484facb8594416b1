"""An access: that a memory was in an answer, and how it came there."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Access:
    """One memory of one answer.

    Attributes:
        cosine: how near its own text is to the question; None where that was not compared.
        by_words: whether its own text was found by words of the question.

    """

    memory_id: str
    cosine: float | None = None
    by_words: bool = False

    def is_relevant(self, least: float) -> bool:
        """Tell whether it answers: it shares words with the question, or is near enough."""
        return self.by_words or (self.cosine is not None and self.cosine >= least)
