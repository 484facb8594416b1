"""Relations: what two texts that files say are to each other.

Statements are judged by the rules for statements, whole sections by the document's (one threshold
and one list of negations); a statement and a section are never compared. What the rules leave open
may be asked of a model.

Ruling: the thresholds and rules that hold, and a name for all of them together.

The name changes with whatever a judgement depends on beside the two texts: then everything that was
compared is compared anew.
"""

from __future__ import annotations

import hashlib
import json
import logging
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from cortex_actors.domain.insight import Conflict, Decider, Granularity, Judgement, Relation
from cortex_actors.domain.project import StatementKind
from cortex_actors.errors import ConfigurationError
from cortex_actors.rules import contradiction
from cortex_actors.rules.clustering import COHERENCE
from cortex_actors.rules.contradiction import Limits, Thresholds, opposition
from cortex_actors.rules.promotion import Thresholds as Promotion
from cortex_actors.rules.proposals import ProposalKind, propose
from cortex_actors.rules.sameness import CLUSTER, MERGE, SUSPECT, is_local
from cortex_actors.text import lexicon
from cortex_actors.text.claims import read
from cortex_actors.text.lexicon import wording

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence
    from pathlib import Path

    from cortex_actors.domain.insight import Claim
    from cortex_actors.rules.proposals import Proposal
    from cortex_actors.sections import ReconciliationSettings
    from cortex_actors.storage.insight_evidence import Spoken
    from cortex_actors.text.lexicon import Lexicon


#: Cosine from which on two statements are neighbours in the graph of clusters, unless they differ.
#: At it one in twelve of 2,400 real statements has a neighbour, and at most five stand together; at
#: 0.6 chains begin to hold hundreds.
EDGE = 0.75

#: What shows something or says what to type: only the same text is the same.
_UNCLAIMED = frozenset({StatementKind.COMMAND, StatementKind.EXAMPLE})

#: Why a conflict of two projects is none within either.
_ELSEWHERE = "in different projects"


class Judge(Protocol):
    """A model that may be asked what pairs of claims are to each other."""

    @property
    def is_there(self) -> bool:
        """Whether there is a model at all."""

    @property
    def named(self) -> str:
        """What its judgements depend on beside the texts."""

    def compare(
        self, pairs: Sequence[tuple[Claim, Claim, float | None]], *, run: str
    ) -> Awaitable[Sequence[Judgement | None]]:
        """Return a judgement for each pair, None where it has no opinion; raises nothing."""


@dataclass(slots=True)
class Relations:
    """Judges pairs, and remembers what each text takes a stand on; it belongs to one run."""

    limits: Limits = field(default_factory=Limits)
    #: A user's own tables with the rules' own; None: these alone.
    lexicon: Lexicon | None = None
    _slots: dict[str, frozenset[str]] = field(default_factory=dict)

    @property
    def least(self) -> float:
        """The least cosine from which on any two texts are compared."""
        return min(self.limits.judged, SUSPECT[0])

    def of(self, left: Spoken, right: Spoken, cosine: float | None) -> Judgement:
        """Return what two texts are to each other, whichever comes first."""
        if left.granularity is not right.granularity:
            return Judgement(Relation.UNRELATED, Decider.RULES, "one is a section, one a statement")
        if left.granularity is Granularity.SECTION:
            return self._fitted(left, right, _of_sections(left, right, cosine))
        thresholds = self.limits.of(left.domain, right.domain)
        are_siblings = _are_siblings(left, right)
        found = contradiction.judge(
            left.claim,
            right.claim,
            cosine=cosine,
            thresholds=thresholds,
            lexicon=self.lexicon,
            kinds=(left.kind, right.kind),
            siblings=are_siblings,
        )
        least = MERGE if are_siblings else thresholds.judged
        is_less = cosine is None or cosine < least or _are_set_apart(left, right)
        if found.relation is Relation.SAME and is_less:
            found = replace(found, relation=Relation.RELATED)
        return self._fitted(left, right, found)

    def is_open(self, left: Spoken, right: Spoken, found: Judgement) -> bool:
        """Whether the rules leave it to a model what two statements are to each other."""
        both = left.granularity is right.granularity is Granularity.STATEMENT
        is_asked = both and not self._is_vain(left, right)
        return is_asked and found.relation is Relation.RELATED and found.decider is Decider.RULES

    def _is_vain(self, left: Spoken, right: Spoken) -> bool:
        """Whether no answer would count: then what only one person says is shown to nobody."""
        return (left.is_private or right.is_private) and not left.projects & right.projects

    def proposal(
        self, left: Spoken, right: Spoken, *, found: Judgement, cosine: float | None
    ) -> Proposal | None:
        """Return what two statements that the rules left open may be to each other.

        A contradiction is possible at one place of one project only.
        """
        kinds = {left.kind, right.kind}
        if cosine is None or kinds & _UNCLAIMED or not self.is_open(left, right, found):
            return None
        asked = propose(left.claim, right.claim, cosine=cosine, lexicon=self.lexicon)
        is_far = asked is not None and asked.kind is ProposalKind.CONTRADICTION
        return None if is_far and not left.places & right.places else asked

    def answered(self, left: Spoken, right: Spoken, found: Judgement) -> Judgement:
        """Return what a model says of an open pair, as far as it may say so.

        A language model was asked whether anything is lost, and counts: of 30 true duplicates that
        it called the same the rules would have refused 17. An entailment model counts where the
        rules find no name or value that differs. Neither makes one of what contradicts.
        """
        said = found
        if found.decider is not Decider.LLM:
            said = contradiction.believed(found, left.claim, right.claim, lexicon=self.lexicon)
        if said.relation is Relation.SAME:
            # Rows of a list, and examples, do not count as contradictions, and are not one either.
            against = contradiction.gate(left.claim, right.claim, lexicon=self.lexicon)
            said = said if against is None else _related(said, f"but {against.reason}")
            if left.projects == right.projects:
                said = replace(said, fuller=max(left.content, right.content, key=len))
        return self._fitted(left, right, said)

    def slots(self, text: Spoken) -> frozenset[str]:
        """Return what a text takes a stand on."""
        if text.granularity is Granularity.SECTION:
            return frozenset()
        if text.id not in self._slots:
            self._slots[text.id] = contradiction.slots(text.claim, lexicon=self.lexicon)
        return self._slots[text.id]

    def _is_local(self, *texts: Spoken) -> bool:
        """Whether one of two texts is a fact of a few words, or an entry of a list."""
        facts = [each.claim for each in texts if each.kind is StatementKind.FACT]
        return any(is_local(read(each, self.lexicon or lexicon.standard())) for each in facts)

    def is_edge(self, left: Spoken, score: float) -> bool:
        """Whether two insights of that cosine are neighbours in the graph of clusters."""
        return score >= (CLUSTER if left.granularity is Granularity.SECTION else EDGE)

    def _fitted(self, left: Spoken, right: Spoken, found: Judgement) -> Judgement:
        """Return a judgement with what follows from who says the two, and where.

        Two contradict each other at one place of one project that is followed. Two projects that
        choose differently are a difference: their conflict is contextual.
        """
        is_private = left.is_private or right.is_private
        if found.relation is Relation.SAME and is_private:
            return _related(found, "one private")
        if found.relation is Relation.SAME and {left.kind, right.kind} & _UNCLAIMED:
            return _related(found, "but no claims")
        if found.relation is Relation.SAME and self._is_local(left, right):
            return _related(found, "but no claim by itself")
        if not found.contradicts:
            return found
        if StatementKind.EXAMPLE in (left.kind, right.kind):
            # An example shows something: it does not ask for it.
            return _related(found, "one an example")
        if left.places & right.places:
            is_placed = found.conflict is not Conflict.CONTEXTUAL
            return found if is_placed else replace(found, conflict=Conflict.DIRECT)
        ours, theirs = ({project for project, _ in each.places} for each in (left, right))
        if ours & theirs:
            return _related(found, "in different parts of the project")
        if not ours or not theirs:
            return _related(found, "in a project that is not followed any more")
        if is_private:
            return Judgement(Relation.UNRELATED, found.decider, f"{_ELSEWHERE}, one private")
        reason = f"{found.reason}; {_ELSEWHERE}"
        return replace(found, conflict=Conflict.CONTEXTUAL, reason=reason)


def _are_siblings(left: Spoken, right: Spoken) -> bool:
    """Tell whether two stand under the same headings of one file.

    Who writes a list or a table means its rows to differ, and hardly to contradict each other:
    between them more has to speak for either than between strangers.
    """
    return left.heading == right.heading and not left.paths.isdisjoint(right.paths)


def _are_set_apart(left: Spoken, right: Spoken) -> bool:
    """Tell whether two statements of one file stand under headings of different topics.

    Rows of a checklist are alike from heading to heading, and each is about what its own names.
    Those of the same words are one text that is written twice.
    """
    if left.paths.isdisjoint(right.paths) or _words(left.content) == _words(right.content):
        return False
    one, other = (set(_words(each.heading or "")) for each in (left, right))
    return not (one <= other or other <= one)


def _words(text: str) -> list[str]:
    """Return the words of a text without signs, in lower case and one form."""
    return [each.stem for each in wording(text).spoken]


def _related(found: Judgement, why: str) -> Judgement:
    """Return a judgement that says too much as one that says less."""
    return Judgement(Relation.RELATED, found.decider, f"{found.reason}; {why}")


def _of_sections(left: Spoken, right: Spoken, cosine: float | None) -> Judgement:
    """Return what two sections are to each other, by the document's thresholds alone."""
    score = -1.0 if cosine is None else cosine
    first, second = sorted((left.content, right.content))
    against = opposition(first, second) if score >= SUSPECT[0] else None
    if against is not None:
        reason = f"one says {against.left!r}, the other {against.right!r}"
        return Judgement(Relation.CONTRADICTION, Decider.RULES, reason, Conflict.DIRECT)
    if score >= CLUSTER:
        return Judgement(Relation.SAME, Decider.RULES, f"nearly the same words ({score:.2f})")
    near = Relation.RELATED if score >= SUSPECT[0] else Relation.UNRELATED
    return Judgement(near, Decider.RULES, f"a cosine of {score:.2f}")


log = logging.getLogger("cortex.reconciler")

#: Which form of comparing this is: another number has everything compared anew after an update.
FORM = 2


class Ruling:
    """What one reconciler judges by.

    Attributes:
        limits: the thresholds.
        promotion: what becoming a principle asks for.
        trouble: what is wrong with the user's own rules; then those from before hold.

    """

    def __init__(
        self,
        settings: ReconciliationSettings,
        model: str,
        tables: Path | None = None,
        *,
        judge: str = "",
    ) -> None:
        """Judge by the settings; `tables` are a user's own rules, which `read` reads.

        `model` is whose vectors are compared, `judge` names the model that may be asked.
        """
        # What may be one cluster may be merged.
        cluster, judged = settings.cluster, settings.judged
        plain = Thresholds(merge=cluster, cluster=cluster, judged=judged, floor=settings.floor)
        own = {
            name: replace(
                plain,
                merge=each.cluster if each.cluster is not None else cluster,
                cluster=each.cluster if each.cluster is not None else cluster,
                judged=each.judged if each.judged is not None else judged,
            )
            for name, each in settings.domains.items()
        }
        self.limits = Limits(plain, own)
        self.promotion = Promotion(
            confidence=settings.promotion_confidence,
            observations=settings.promotion_observations,
            age=settings.promotion_age_days,
            projects=settings.promotion_projects,
        )
        self.trouble = ""
        self._names = (model, judge)
        self._tables = tables
        self._text = ""
        self._lexicon: Lexicon | None = None
        self._digest = b""

    @property
    def digest(self) -> bytes:
        """What names everything that a judgement depends on beside the texts."""
        if not self._digest:
            self.read()
        return self._digest

    def relations(self) -> Relations:
        """Return a fresh judge of pairs."""
        return Relations(self.limits, self._lexicon)

    def read(self) -> None:
        """Read the user's own rules, if they are others than before (on a thread).

        The first time, the product's own tables are read, too, which takes half a second.
        """
        try:
            text = self._said()
            if text != self._text or self.trouble:
                self._lexicon = lexicon.extended(text, origin=str(self._tables)) if text else None
                self._text, self._digest, self.trouble = text, b"", ""
        except ConfigurationError as error:
            if self.trouble != str(error):
                log.warning("%s", error)
            self.trouble = str(error)
        self._digest = self._digest or self._named()

    def _said(self) -> str:
        """Return what stands in the user's file; nothing where there is none."""
        if self._tables is None:
            return ""
        try:
            return self._tables.read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(
                f"cannot read the rules in {self._tables}: {error}; mend the file or remove it"
            ) from error

    def _named(self) -> bytes:
        """Return the name of all that is judged by."""
        own = {name: asdict(each) for name, each in sorted(self.limits.by_domain.items())}
        tables = (self._lexicon or lexicon.standard()).digest
        limits = (asdict(self.limits.default), own, EDGE, COHERENCE)
        parts = (FORM, *self._names, limits, tables)
        return hashlib.sha256(json.dumps(parts).encode()).digest()
