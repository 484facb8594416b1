"""Why two statements cannot both be followed: families, numbers, negation, single changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_actors.domain.insight import Conflict
from cortex_actors.rules.clash import Clash
from cortex_actors.rules.denials import denials, differences

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cortex_actors.text.claims import Reading
    from cortex_actors.text.lexicon import Lexicon
    from cortex_actors.text.positions import Position

#: Cosine from which stands count that are not all that is said, and commands that run alternatives;
#: and from which stands count that are said in phrases, which stand in for many things.
RUN, FAR = 0.5, 0.3

#: Words that two statements have at most which are about the one word they share.
BRIEF = 5

#: What "for everything" is for: no place of its own.
EVERYWHERE = frozenset({"everyth", "anyth", "all", "any", "every", "whole", "entir", "alway"})

#: Words of a statement that says little beside a number.
SHORT = 10


def clashes(left: Reading, right: Reading, *, lexicon: Lexicon) -> Iterator[Clash]:
    """Yield every reason, the surest first."""
    yield from _families(left, right)
    yield from _numbers(left, right)
    yield from differences(left, right, lexicon=lexicon)
    yield from denials(left, right)


def apart(left: Reading, right: Reading) -> str | None:
    """Return where two statements hold when that is at different places, or None."""
    for dimension, here in left.places.items():
        there = right.places.get(dimension, frozenset())
        if there and not here & there:
            return " / ".join(sorted((", ".join(sorted(here)), ", ".join(sorted(there)))))
    for one, other in ((left, right), (right, left)):
        several = one.places.get("language", frozenset())
        if len(several) > 1 and "language" not in other.places:
            return f"{', '.join(sorted(several))} alone"
    here, there = _aims(left), _aims(right)
    if here and there and (not here & there or here < there or there < here):
        return " / ".join(sorted((" ".join(sorted(here)), " ".join(sorted(there)))))
    return None


def _aims(reading: Reading) -> frozenset[str]:
    """Return what a statement says it is for: "for page components"."""
    aims = [part.stems for part in reading.parts if part.purpose]
    brief = len(aims) == 1 and len(aims[0]) <= BRIEF and len(reading.stems) <= 2 * BRIEF
    return frozenset(aims[0] if brief else ()) - EVERYWHERE


def _families(left: Reading, right: Reading) -> Iterator[Clash]:
    """Yield families of alternatives of which the two choose different members."""
    for slot in sorted(left.positions.keys() & right.positions.keys()):
        one, other = left.positions[slot], right.positions[slot]
        if one.thing and other.thing and one.thing != other.thing:
            continue
        least = _least(one, other)
        denied = sorted(_denied(one, other) | _denied(other, one))
        if denied:
            reason = f"{slot}: one wants {denied[0]}, the other forbids it"
            yield Clash(reason, Conflict.DIRECT, least, 0.9)
        elif one.excludes(one.choice, other.choice):
            yield Clash(_against(slot, one.choice, other.choice), Conflict.DIRECT, least, 0.85)
        elif one.excludes(_chosen(one), _chosen(other)):
            run = least if one.choice or other.choice else RUN
            yield Clash(_against(slot, _chosen(one), _chosen(other)), Conflict.DIRECT, run, 0.7)


def _least(one: Position, other: Position) -> float | None:
    """Return the cosine from which two stands count: far apart only what is all that is said."""
    if not (one.central and other.central):
        return RUN
    return FAR if one.family.phrases else None


def _denied(one: Position, other: Position) -> set[str]:
    """Return what one statement wants and the other speaks against."""
    if one.wanted & other.wanted:
        return set()
    return one.wanted & (one.stated | one.implied) & other.forbidden & other.stated


def _chosen(position: Position) -> frozenset[str]:
    """Return what a statement chooses by saying so or by running it."""
    run = position.implied & position.wanted
    return position.choice or frozenset(run if len(run) == 1 else ())


def _against(slot: str, one: frozenset[str], other: frozenset[str]) -> str:
    """Return a reason that is the same whichever statement comes first."""
    these, those = sorted((", ".join(sorted(one)), ", ".join(sorted(other))))
    return f"{slot}: {these} against {those}"


def _numbers(left: Reading, right: Reading) -> Iterator[Clash]:
    """Yield measures and versions that no value satisfies for both."""
    for slot in sorted(left.ranges.keys() & right.ranges.keys()):
        one, other = left.ranges[slot], right.ranges[slot]
        inside = one.meets(other)
        alike = inside and (one.is_exact or other.is_exact)
        broad = slot.startswith("version") and one.refines(other)
        if one.bounds() == other.bounds() or alike or broad:
            continue
        kind = Conflict.PARTIAL if inside else Conflict.DIRECT
        brief = max(len(left.stems), len(right.stems)) <= SHORT
        least = None if brief else RUN
        yield Clash(f"{slot}: {one.shown} against {other.shown}", kind, least, 0.85)
