"""A layer of judgement beyond the rules: the port, its states, and what it tells of itself.

A question to a layer, and the key under which its answer is kept. Pure.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias

from cortex_actors.errors import CortexError

if TYPE_CHECKING:
    from cortex_actors.clock import Clock
    from cortex_actors.domain.insight import Claim, Decider, Judgement
    from cortex_actors.sections import JudgingSettings


#: What a layer says to a question: JSON values in a shape that it has checked, to be kept as is.
Answer: TypeAlias = Mapping[str, Any]

#: What became of one question.
Told: TypeAlias = Answer | CortexError


class LayerState(StrEnum):
    """Whether a layer can be asked now."""

    #: Comes when it is asked for: nothing is loaded, or nothing was asked yet.
    IDLE = "idle"
    LOADING = "loading"
    READY = "ready"
    #: Away for a while.
    DOWN = "down"
    #: Will not come by itself: a person has to change a setting or the installation.
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class LayerInfo:
    """How a layer is, and what it has counted."""

    layer: str
    model: str
    state: LayerState
    #: Why it cannot be asked; empty when it can.
    reason: str
    counters: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class JudgeInfo:
    """Which layers there are, and what became of the questions since this actor started."""

    layers: tuple[LayerInfo, ...]
    #: Questions that were put to a layer, one for each layer that saw it.
    asked: int = 0
    #: Those that a kept answer spared, that were answered, and that a layer failed at.
    known: int = 0
    answered: int = 0
    failed: int = 0
    #: Those left out because the run had used its budget, and for being too long.
    over_budget: int = 0
    too_long: int = 0
    #: Requests whose asker had gone before an answer came.
    late: int = 0


class JudgingLayer(Protocol):
    """A model that answers questions, wherever it runs.

    An answer depends on the question, on `model_id` and on `edition` alone, so that it may be kept.
    """

    #: Who decides, as the ledger has it.
    decider: Decider

    @property
    def model_id(self) -> str:
        """Which model; known before anything is loaded, empty while it is missing."""

    #: How it is asked: another one asks in another way, and kept answers are not its own.
    edition: int
    #: What it can be asked.
    kinds: frozenset[QuestionKind]
    #: Questions that suit it at once.
    bulk: int
    #: Times that it may be asked before it has answered.
    at_once: int
    #: Whether its answers cost money or minutes, so that a run has a budget.
    is_metered: bool

    async def live(self) -> None:
        """Look after what it needs, until cancelled; then release it."""

    async def answer_all(self, questions: Sequence[JudgeQuestion]) -> list[Told]:
        """Return an answer or an error for each question.

        Raises a `CortexError` for all of them when it cannot be asked now.
        """

    def accepts(self, kind: QuestionKind, answer: object) -> bool:
        """Return whether something that was kept is an answer of this layer's."""

    def read_judgement(self, answer: Answer) -> Judgement | None:
        """Return what an accepted answer to a comparison says; None when it is not sure enough."""

    def describe(self) -> LayerInfo:
        """Return how it is."""


class MakeLayers(Protocol):
    """Makes the layers that the settings ask for, the first to be asked first; nothing runs."""

    def __call__(
        self, settings: JudgingSettings, clock: Clock, *, on_line: Callable[[str], None]
    ) -> tuple[JudgingLayer, ...]:
        """Return them; `on_line` is given what their processes write."""


class QuestionKind(StrEnum):
    """What is asked."""

    #: What are two statements to each other?
    COMPARE = "compare"
    #: Say a text in fewer words.
    SUMMARISE = "summarise"
    #: Say as one text what several say in other words.
    MERGE = "merge"
    #: Say the one principle behind several statements.
    SYNTHESISE = "synthesise"


#: Which of two texts is the primary one -> how the question says so.
_PREFERRED = {"a": "first", "b": "second"}


@dataclass(frozen=True, slots=True)
class JudgeQuestion:
    """What is asked, and about which texts; `quoted` holds JSON values only."""

    kind: QuestionKind
    quoted: Mapping[str, Any]

    @classmethod
    def compare(cls, left: Claim, right: Claim) -> Self:
        """Return the question about two claims, the same one whichever comes first."""
        one, other = sorted((_quoted(left), _quoted(right)), key=_bytes)
        return cls(QuestionKind.COMPARE, {"one": one, "other": other})

    @classmethod
    def from_texts(cls, kind: QuestionKind, texts: Sequence[str]) -> Self:
        """Return the question about several texts, the same one in whatever order they come."""
        return cls(kind, {"texts": sorted(set(texts))})

    @classmethod
    def merge(cls, texts: Sequence[str], prefer: str = "equal") -> Self:
        """Return the question for one text instead of several.

        `prefer` is "a" or "b", whose words count then, and the order of the texts matters; with
        anything else none is preferred, and it is the same question in whatever order they come.
        """
        if prefer not in _PREFERRED:
            return cls.from_texts(QuestionKind.MERGE, texts)
        return cls(QuestionKind.MERGE, {"texts": list(texts), "prefer": _PREFERRED[prefer]})

    @property
    def size(self) -> int:
        """The bytes of what is quoted."""
        return len(_bytes(self.quoted))

    def hash_question(self, *asked: str | int) -> bytes:
        """Return the SHA-256 of the question and of who is `asked`, and how."""
        return hashlib.sha256(_bytes([*asked, self.kind, self.quoted])).digest()


def _quoted(claim: Claim) -> dict[str, str]:
    """Return what is quoted of a claim; what it does not have is left out."""
    found = {"text": claim.text, "under": claim.heading or "", "holds_in": claim.scope}
    return {name: text for name, text in found.items() if text}


def _bytes(value: object) -> bytes:
    """Return one spelling of a JSON value; text that is no valid Unicode has one, too."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
