"""Whether two statements make one claim in two wordings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_actors.rules.alignment import Difference, align
from cortex_actors.text.polarity import Sense

if TYPE_CHECKING:
    from cortex_actors.text.claims import Reading
    from cortex_actors.text.lexicon import Lexicon

#: What two statements must not differ in to be one.
HARD = frozenset({Difference.NUMBER, Difference.SWITCH, Difference.NAME, Difference.OPPOSITE})

#: Words that two statements with one stand may have beside it: the shorter one, and the longer one
#: from a cosine on; below it twice as many as the shorter one.
REST, LONG, SURE = 2, 8, 0.65

#: Share of all words that two statements which begin with the same have in common.
THIRD = 0.3

#: Share of each statement that a stand they share, and the words they share, must be.
COVERED = 0.34

#: Cosine from which each of two statements may have words of its own.
OWN = 0.75

#: Cosine from which two statements that begin with the same are one; words of such a beginning, and
#: the share of them that is the same.
LEADING, FEWEST, ALIKE = 0.6, 2, 0.6

#: Share of the shorter statement's words that the longer one has, where both give one number; the
#: cosine and the share of all words that make one claim together, and each for itself.
CONTAINED, TOGETHER, NEAR, HALF = 0.7, 1.2, 0.8, 0.5

#: Likeness from which a single other word is another thing, and no other way to say it.
VERBATIM = 0.8


def overlap(left: Reading, right: Reading) -> tuple[float, float]:
    """Return how much of both, and of the shorter one, two statements share."""
    one, other = set(left.stems), set(right.stems)
    if not one or not other:
        return 0.0, 0.0
    both = len(one & other)
    return both / len(one | other), both / min(len(one), len(other))


def differ(left: Reading, right: Reading, *, lexicon: Lexicon) -> str | None:
    """Return what keeps two statements apart however alike they are, or None."""
    return _facts_differ(left, right) or stands(left, right) or _words(left, right, lexicon)


def _facts_differ(left: Reading, right: Reading) -> str | None:
    """Return the number, name, switch or order in which two statements differ."""
    if left.command != right.command:
        return "they are different commands"
    if left.numbers and right.numbers and left.numbers != right.numbers:
        return "their numbers differ"
    fewer, more = sorted((left.names, right.names), key=len)
    if fewer and fewer != more and not (settled(left, right) and fewer <= more):
        return "they name different things"
    if left.label and right.label and not left.label & right.label:
        return "their labels differ"
    if None not in {left.switched, right.switched} and left.switched is not right.switched:
        return "one says on, the other off"
    return "one says before, the other after" if left.order * right.order < 0 else None


def stands(left: Reading, right: Reading) -> str | None:
    """Return what one statement is against, excepts or wants, and the other does not."""
    stand = settled(left, right)
    if left.denying is not right.denying and not (
        stand or left.ranges.keys() & right.ranges.keys()
    ):
        return "one is against something"
    if left.excepting is not right.excepting:
        return "one has an exception"
    if not stand and (_turned(left, right) or _turned(right, left)):
        return "one wants what the other does not"
    for slot in left.positions.keys() & right.positions.keys():
        if left.positions[slot].wanted != right.positions[slot].wanted:
            return f"they stand apart on {slot}"
    return None


def _opposed(left: Reading, right: Reading, lexicon: Lexicon) -> bool:
    """Whether one has a word and the other its opposite."""
    one, other = ({each.text for each in some.wording.words} for some in (left, right))
    return any(lexicon.distinct.get(each, frozenset()) & (other - one) for each in one - other)


def _words(left: Reading, right: Reading, lexicon: Lexicon) -> str | None:
    """Return what stands in the place of what, where two statements are else alike."""
    if _opposed(left, right, lexicon):
        return "one has a word and the other its opposite"
    found = align(left, right, lexicon=lexicon)
    kinds = {each.kind for each in found.changes}
    if found.is_close and kinds & HARD:
        return "they differ in a name or a value"
    # Whoever changes one word of somebody's rule would else speak with that one's voice.
    alone = found.is_close and [each.kind for each in found.changes] == [Difference.WORD]
    if alone or (found.ratio >= VERBATIM and kinds & {Difference.WORD, Difference.PLACE}):
        return "they differ in the one word that matters"
    return None


def _turned(left: Reading, right: Reading) -> bool:
    """Whether one statement is against something that the other wants."""
    return any(
        sense in {Sense.AGAINST, Sense.BARRED} and right.stems.get(stem) is Sense.WANTED
        for stem, sense in left.stems.items()
    )


def settled(left: Reading, right: Reading) -> list[str]:
    """Return the families on which two statements take the same stand, and nothing is left."""
    both = left.positions.keys() & right.positions.keys()
    equal = [slot for slot in both if _stand(left, slot) == _stand(right, slot)]
    return sorted(slot for slot in equal if _speak(left, slot) and _speak(right, slot))


def _speak(reading: Reading, slot: str) -> bool:
    """Whether a statement takes a single stand in a family, for or against."""
    position = reading.positions[slot]
    return bool(position.choice or position.forbidden & position.stated)


def _stand(reading: Reading, slot: str) -> tuple[frozenset[str], ...]:
    position = reading.positions[slot]
    if position.wanted:
        return (frozenset(position.wanted),)
    return frozenset(), frozenset(position.forbidden & position.stated)


def _leads_alike(left: Reading, right: Reading) -> bool:
    """Whether what two statements say first is one claim; reasons and remedies may follow."""
    (one, against), (other, denied) = left.lead, right.lead
    both = len(one & other)
    if against is not denied or both < FEWEST or both < ALIKE * len(one | other):
        return False
    return both > FEWEST or overlap(left, right)[0] >= HALF


def _topics(reading: Reading) -> set[str]:
    return {slot for slot in reading.positions if _speak(reading, slot)}


def same(left: Reading, right: Reading, cosine: float) -> str | None:
    """Return why two statements are one claim, or None; the caller has excluded conflicts."""
    one, other = set(left.stems), set(right.stems)
    shared = settled(left, right)
    fewest = min(len(one), len(other))
    if fewest < (1 if shared else 2) or left.unfinished or right.unfinished:
        return None
    jaccard, contained = overlap(left, right)
    if shared and not _topics(left) ^ _topics(right) and _covers(shared, left, right, cosine):
        return f"both say the same on {', '.join(shared)}"
    if left.conditional is not right.conditional:
        return None
    equal = sorted(left.ranges.keys() & right.ranges.keys())
    if equal and contained >= CONTAINED and not _topics(left) ^ _topics(right):
        return f"both give the same {equal[0]}"
    if _leads_alike(left, right) and cosine >= LEADING and jaccard >= THIRD:
        return "they begin with the same"
    own = bool(one - other) and bool(other - one)
    if own and (jaccard < HALF or cosine < OWN):
        return None
    if fewest > FEWEST and contained >= ALIKE and cosine + jaccard >= TOGETHER:
        return f"the same words ({jaccard:.2f}) at cosine {cosine:.2f}"
    if cosine >= NEAR and jaccard >= HALF:
        return f"the same words ({jaccard:.2f}) at cosine {cosine:.2f}"
    return None


def _covers(shared: list[str], left: Reading, right: Reading, cosine: float) -> bool:
    """Whether a stand that two statements share is most of what both say."""
    named = {
        each for slot in shared for some in (left, right) for each in some.positions[slot].words
    }
    one, other = set(left.stems), set(right.stems)
    less, more = sorted((len(one - other - named), len(other - one - named)))
    covered = min(
        len(some & (others | named)) / max(1, len(some))
        for some, others in ((one, other), (other, one))
    )
    return covered >= COVERED and less <= REST and more <= (LONG if cosine >= SURE else 2 * REST)
