"""Bench: where a principle is compared with what a file says, statement by statement.

Polarity before similarity here, too: a statement that contradicts the principle is a conflict,
however alike the two are; one that makes the same claim says it already, however unlike they look
to the model. Only where no statement speaks for or against it does the likeness to a whole section
decide. What the project's other files say counts against a principle and never for it: an agent
may read only one of them, but whoever wrote them meant the whole project.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cortex_actors.domain.insight import Claim, Conflict, Relation
from cortex_actors.rules.contradiction import judge, slots

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from cortex_actors.domain.insight import Judgement
    from cortex_actors.domain.principle import Principle
    from cortex_actors.pipeline.page import Line, Placed
    from cortex_actors.rules.contradiction import Limits
    from cortex_actors.storage.embeddings import Matrix
    from cortex_actors.text.lexicon import Lexicon

#: Letters of a word that tells what a text is about, where there are no vectors to tell it.
_WORD = re.compile(r"\w{3,}")


@dataclass(frozen=True, slots=True)
class Found:
    """What a file, and its project, have to say about a principle.

    Attributes:
        said: why it need not be given: the file says it already; "" when it does not.
        against: the statement that contradicts it, of the file itself if there is one.
        why: in which way it does.

    """

    said: str = ""
    against: Line | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class _Lines:
    """Statements, with what each takes a stand on, its words, and their vectors if all have one."""

    lines: Sequence[Line]
    slots: Sequence[frozenset[str]]
    words: Sequence[frozenset[str]]
    rows: Matrix | None

    @classmethod
    def of(cls, some: Iterable[Line], placed: Placed, lexicon: Lexicon | None) -> _Lines:
        """Return statements of a page; an example is neither for a principle nor against it."""
        lines = [each for each in some if not each.is_example]
        return cls(
            lines,
            [slots(each.claim, lexicon=lexicon) for each in lines],
            [_words(each.claim.text) for each in lines],
            placed.rows([each.embedded for each in lines]),
        )


class Bench:
    """Compares principles with one page; it belongs to one resolution."""

    def __init__(
        self, placed: Placed, *, limits: Limits, already_said: float, lexicon: Lexicon | None
    ) -> None:
        """Read what the page takes a stand on. Blocks: some ms for each hundred statements."""
        self._own = _Lines.of(placed.page.lines, placed, lexicon)
        self._elsewhere = _Lines.of(placed.page.elsewhere, placed, lexicon)
        self._sections = placed.rows(placed.page.sections)
        self._limits = limits
        self._already_said = already_said
        self._lexicon = lexicon

    def compare(self, principle: Principle, row: Matrix | None) -> Found:
        """Return what the page says of a principle; `row` is its vector, if it has one."""
        found = self._of(self._own, principle, row)
        if not found.said and found.against is None:
            elsewhere = self._of(self._elsewhere, principle, row)
            found = elsewhere if elsewhere.against is not None else self._within_a_section(row)
        return found

    def _of(self, lines: _Lines, principle: Principle, row: Matrix | None) -> Found:
        """Return what statements say of a principle; the surest contradiction counts."""
        claim, conflict = Claim(principle.content), Found()
        best = (0.0, -1.0)
        for line, cosine in self._worth(lines, claim, row):
            found = self._judged(principle, claim, line, cosine)
            if found.relation is Relation.SAME and lines is self._own:
                return Found(said=f"the file says {line.claim.text!r}: {found.reason}")
            weight = (found.confidence, -1.0 if cosine is None else cosine)
            if found.contradicts and found.conflict is not Conflict.CONTEXTUAL and weight > best:
                best, conflict = weight, Found(against=line, why=found.reason)
        return conflict

    def _judged(
        self, principle: Principle, claim: Claim, line: Line, cosine: float | None
    ) -> Judgement:
        """Return what a principle and a statement are to each other."""
        domain = line.domain if line.domain in principle.domains else None
        thresholds = self._limits.of(domain, domain)
        return judge(claim, line.claim, cosine=cosine, thresholds=thresholds, lexicon=self._lexicon)

    def _worth(
        self, some: _Lines, claim: Claim, row: Matrix | None
    ) -> Iterator[tuple[Line, float | None]]:
        """Yield the statements that may be about the same thing, with their cosines."""
        stand, words = slots(claim, lexicon=self._lexicon), _words(claim.text)
        if row is None or some.rows is None:
            for line, own in zip(some.lines, some.words, strict=True):
                if not words.isdisjoint(own):
                    yield line, None
            return
        floor = self._limits.default.floor
        cosines = _cosines(some.rows, row)
        for line, own, cosine in zip(some.lines, some.slots, cosines, strict=True):
            if cosine >= floor or not stand.isdisjoint(own):
                yield line, cosine

    def _within_a_section(self, row: Matrix | None) -> Found:
        """Return whether a section as a whole is as near as one that says it."""
        if row is None or self._sections is None:
            return Found()
        nearest = max(_cosines(self._sections, row))
        if nearest < self._already_said:
            return Found()
        return Found(said=f"a section of the file is as near as {nearest:.2f}")


def _cosines(rows: Matrix, row: Matrix) -> list[float]:
    """Return the cosines of unit rows with another, each of the two rows and nothing else."""
    # No product of matrices: its rounding depends on how many rows stand beside each other.
    found = np.einsum("ij,j->i", rows.astype(np.float64), row.astype(np.float64))
    return [min(max(float(each), -1.0), 1.0) for each in found]


def _words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(_WORD.findall(text.lower()))
