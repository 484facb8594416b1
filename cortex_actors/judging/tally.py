"""What became of the questions that a judge was asked, counted since it started."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cortex_actors.judging.layer import LayerInfo


@dataclass(frozen=True, slots=True)
class JudgeInfo:
    """Which layers there are, and what became of the questions since this actor started."""

    layers: tuple[LayerInfo, ...]
    #: Questions that were put to a layer, one for each layer that saw it.
    asked: int
    #: Those that a kept answer spared, that were answered, and that a layer failed at.
    known: int
    answered: int
    failed: int
    #: Those left out because the run had used its budget, and for being too long.
    over_budget: int
    too_long: int
    #: Requests whose asker had gone before an answer came.
    late: int


@dataclass(slots=True)
class Tally:
    """Counts; see `JudgeInfo`."""

    asked: int = 0
    known: int = 0
    answered: int = 0
    failed: int = 0
    over_budget: int = 0
    too_long: int = 0
    late: int = 0

    def info(self, layers: tuple[LayerInfo, ...]) -> JudgeInfo:
        """Return the counts, and how the layers are."""
        return JudgeInfo(layers, **asdict(self))
