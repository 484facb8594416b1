"""Which of two statements says for more what the other one says for less.

Three things show it: where they hold (their scope, and places in their words), of which fields they
are, and whether all that one says is said by the other, which says more. Where two of them show
opposite ways nothing is shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from cortex_actors.text.claims import read, weighty
from cortex_actors.text.polarity import Sense

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cortex_actors.domain.insight import Claim
    from cortex_actors.text.claims import Reading
    from cortex_actors.text.lexicon import Lexicon

#: Share of the wider statement's words that the narrower one says too, before where they hold
#: compares them: else they hold at different places and are about different things.
COMMON = 0.6

#: Words that two have in common at least: one is in many.
FEWEST = 2

#: How many times as much the narrower one may say: what a page contains is contained by chance.
LONGER = 3

#: Words that a reason names.
NAMED = 6

#: Senses that go together: what is wanted is also wanted under a condition.
_TOWARDS = frozenset({Sense.WANTED, Sense.ONLY, Sense.BESIDE})


class Spoken(Protocol):
    """What is compared."""

    @property
    def claim(self) -> Claim:
        """What it says."""

    @property
    def domains(self) -> frozenset[str]:
        """Of which fields it is."""


@dataclass(frozen=True, slots=True)
class Wider:
    """Which of the two says it for more, and why."""

    is_first: bool
    reason: str


def wider(one: Spoken, other: Spoken, *, is_close: bool, lexicon: Lexicon) -> Wider | None:
    """Return which of two says for more what the other says for less; None if neither does.

    Fields count only for two that `is_close`: else they are merely other things.
    """
    left, right = read(one.claim, lexicon), read(other.claim, lexicon)
    found = list(_shown(one, other, left, right, is_close=is_close, lexicon=lexicon))
    return found[0] if len({each.is_first for each in found}) == 1 else None


def _shown(
    one: Spoken, other: Spoken, left: Reading, right: Reading, *, is_close: bool, lexicon: Lexicon
) -> Iterator[Wider]:
    """Yield what shows that one says it for more."""
    shown = [
        *_by_scope(one.claim.scope, other.claim.scope),
        *_by_place(left, right),
        *(_by_field(one.domains, other.domains) if is_close else ()),
    ]
    for each in shown:
        if _says(left, right) if each.is_first else _says(right, left):
            yield each
    for is_first, some, all_ in ((True, left, right), (False, right, left)):
        more = _beyond(some, all_, lexicon)
        if more:
            named = ", ".join(more[:NAMED])
            yield Wider(is_first, f"all that one says is said by the other, which adds {named}")


def _by_scope(one: str, other: str) -> Iterator[Wider]:
    """Yield the one that holds everywhere in a project."""
    if bool(one) is not bool(other):
        yield Wider(not one, f"one holds only in {one or other}")


def _by_place(left: Reading, right: Reading) -> Iterator[Wider]:
    """Yield the one whose words do not limit it where the other's do."""
    only_left = left.places.keys() - right.places.keys()
    only_right = right.places.keys() - left.places.keys()
    both = left.places.keys() & right.places.keys()
    if bool(only_left) is bool(only_right) or any(
        left.places[each] != right.places[each] for each in both
    ):
        return
    limited = left if only_left else right
    where = sorted({each for key in only_left or only_right for each in limited.places[key]})
    yield Wider(bool(only_right), f"one holds only for {', '.join(where)}")


def _by_field(one: frozenset[str], other: frozenset[str]) -> Iterator[Wider]:
    """Yield the one that is of more fields, or of none in particular."""
    first, second = _is_wider(one, other), _is_wider(other, one)
    if first is not second:
        narrow = other if first else one
        yield Wider(first, f"one is about {', '.join(sorted(narrow))} alone")


def _is_wider(one: frozenset[str], other: frozenset[str]) -> bool:
    """Tell whether fields hold others and more; without any it is about all of them."""
    return bool(other) and (not one or one > other)


def _says(wide: Reading, narrow: Reading) -> bool:
    """Tell whether a statement says most of what another one says."""
    common = len(wide.stems.keys() & narrow.stems.keys())
    return common >= FEWEST and common >= COMMON * len(wide.stems)


def _beyond(some: Reading, more: Reading, lexicon: Lexicon) -> list[str]:
    """Return what a statement says beside all that another one says; empty if it does not."""
    if not FEWEST <= len(some.stems) < len(more.stems) <= LONGER * len(some.stems):
        return []
    if not some.stems.keys() <= more.stems.keys():
        return []
    if any((is_ in _TOWARDS) is not (more.stems[stem] in _TOWARDS) for stem, is_ in _of(some)):
        return []
    beyond = more.stems.keys() - some.stems.keys()
    said = [word.text for word in more.wording.words if weighty(word, lexicon) in beyond]
    return list(dict.fromkeys(said))


def _of(reading: Reading) -> Iterable[tuple[str, Sense]]:
    """Return the stems of a statement, each with its sense."""
    return reading.stems.items()
