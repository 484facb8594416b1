"""How two principles are related, by what they say and not by which came first.

In this order: they contradict each other; one needs what the other is about; they are nearly the
same; one says for less what the other says for more; both make one claim; they are about one thing.
What contradicts, and what needs, is found in the words at any likeness that is worth a look;
everything else takes a cosine, because words alone find no likeness.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from cortex_actors.domain.insight import Conflict, Decider, Judgement, Relation
from cortex_actors.domain.principle import Link, LinkType
from cortex_actors.rules import clustering, contradiction
from cortex_actors.rules.clustering import Subject, find_wider
from cortex_actors.rules.sameness import SUSPECT, find_difference
from cortex_actors.text.claims import read
from cortex_actors.text.lexicon import Lexicon, load_standard

#: Changes with what is found: links that were drawn by another version are drawn again.
VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class LinkThresholds:
    """Cosines from which on a likeness means something (Cerno's)."""

    #: Two may be linked, if they share a domain or a tag.
    related: float = 0.5
    #: Two are linked whatever they share.
    close: float = 0.7
    #: Two reinforce each other.
    reinforces: float = 0.85
    #: Nearest ones that each is linked with at most, beside what contradicts it or what it needs.
    neighbours: int = 20


DEFAULTS: Final = LinkThresholds()


def may_link(
    one: Subject, other: Subject, cosine: float, *, thresholds: LinkThresholds = DEFAULTS
) -> bool:
    """Tell whether two are near enough to be linked by their likeness."""
    if cosine >= thresholds.close:
        return True
    shares = one.domains & other.domains or one.tags & other.tags
    return cosine >= thresholds.related and bool(shares)


def link(
    one: Subject,
    other: Subject,
    cosine: float | None,
    *,
    near: bool,
    thresholds: LinkThresholds = DEFAULTS,
    lexicon: Lexicon | None = None,
) -> Link | None:
    """Return the link of two principles, or None; the same whichever comes first.

    `near`: one is among the nearest of the other, so that likeness alone links them. Without a
    cosine only what the words show is found.
    """
    tables = lexicon or load_standard()
    left, right = (one, other) if one.id < other.id else (other, one)
    said = _judged(left, right, cosine, tables)
    if said.contradicts:
        return _link(left, right, LinkType.CONTRADICTS, said.confidence, said)
    is_read = not (left.is_section or right.is_section)
    found = _needed(left, right, tables) if is_read else None
    if found is not None or not near or cosine is None:
        return found
    return _alike(left, right, cosine, said, thresholds=thresholds, lexicon=tables)


def _judged(left: Subject, right: Subject, cosine: float | None, lexicon: Lexicon) -> Judgement:
    """Return what two are to each other: by a decision about them, else by the rules."""
    known = left.find_verdict(right.id) or right.find_verdict(left.id)
    if known is not None:
        return known
    if not (left.is_section or right.is_section):
        return contradiction.judge(left.claim, right.claim, cosine=cosine, lexicon=lexicon)
    both = left.is_section and right.is_section
    against = contradiction.find_opposition(left.claim.text, right.claim.text) if both else None
    if against is not None and cosine is not None and cosine >= SUSPECT[0]:
        why = f"one says {against.left!r}, the other {against.right!r}"
        return Judgement(Relation.CONTRADICTION, Decider.RULES, why, Conflict.DIRECT)
    return Judgement(Relation.RELATED, Decider.RULES, "a section is compared by its words alone")


def _needed(left: Subject, right: Subject, lexicon: Lexicon) -> Link | None:
    """Return which of two needs the other; None where neither does, or each the other."""
    found: dict[tuple[str, str], tuple[float, str]] = {}
    for one, other in ((left, right), (right, left)):
        for need in clustering.find_needs(one.claim, lexicon):
            share = clustering.measure_share(need, other.claim, lexicon)
            ends = (one.id, other.id) if need.comes_first else (other.id, one.id)
            if share > found.get(ends, (0.0, ""))[0]:
                found[ends] = share, f'one says "{need.words}", the other is about that'
    if len(found) != 1:
        return None
    ((source, target), (share, why)) = found.popitem()
    return Link(source, target, LinkType.DEPENDS_ON, share, Decider.RULES, why)


def _alike(
    left: Subject,
    right: Subject,
    cosine: float,
    said: Judgement,
    *,
    thresholds: LinkThresholds,
    lexicon: Lexicon,
) -> Link | None:
    """Return the link of two that are near and may both hold."""
    strength = min(max(cosine, 0.0), 1.0)
    if cosine < thresholds.reinforces and not (left.is_section or right.is_section):
        is_close = cosine >= thresholds.close
        found = find_wider(left, right, is_close=is_close, lexicon=lexicon)
        if found is not None:
            kind = LinkType.GENERALIZES if found.is_first else LinkType.SPECIALIZES
            return Link(left.id, right.id, kind, strength, Decider.RULES, found.reason)
    if said.relation is Relation.SAME:
        return _link(left, right, LinkType.REINFORCES, strength, said)
    shared = sorted(left.domains & right.domains) or sorted(left.tags & right.tags)
    why = f"alike: cosine {cosine:.2f}" + (f", both about {', '.join(shared)}" if shared else "")
    if cosine < thresholds.reinforces:
        return Link(left.id, right.id, LinkType.RELATED, strength, Decider.RULES, why)
    # "Indent with tabs" and "indent with spaces" lie nearest of all; neither supports the other.
    is_read = not (left.is_section or right.is_section)
    one, other = (read(each.claim, lexicon) for each in (left, right))
    but = find_difference(one, other, lexicon=lexicon) if is_read else None
    kind, why = (
        (LinkType.REINFORCES, why) if but is None else (LinkType.RELATED, f"{why}; but {but}")
    )
    return Link(left.id, right.id, kind, strength, Decider.RULES, why)


def _link(left: Subject, right: Subject, kind: LinkType, strength: float, said: Judgement) -> Link:
    """Return a judgement as a link."""
    return Link(left.id, right.id, kind, strength, said.decider, said.reason)
