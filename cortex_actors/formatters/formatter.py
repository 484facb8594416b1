"""A formatter: how one agent is told what is known, in which file, and with how many words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cortex_actors.formatters.bullet import Options, Rendered
from cortex_actors.formatters.section import Draft, Entry, entry, section

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from cortex_actors.formatters.bullet import Bullet

_DEFAULTS = Options()


@dataclass(frozen=True, slots=True)
class Formatter:
    """One way to write down what is known.

    Attributes:
        name: the agent's, as `cortex resolve --agent` takes it.
        places: its files from a project's root, the first that exists is written. Empty for an
            agent that has no file and is handed the text.
        ours: those of them that are wholly ours: no person made them.
        top: what such a file begins with, above our section.
        imports: whether the agent puts `@path` of its file into what it reads.
        most_characters: how many of a file the agent reads; None for all.
        layout: makes the text of the entries.

    """

    name: str
    places: tuple[str, ...] = ()
    ours: frozenset[str] = frozenset()
    top: str = ""
    imports: bool = False
    most_characters: int | None = None
    layout: Callable[[Sequence[Entry], Options], Draft] = section

    @property
    def made(self) -> str:
        """The file that is made on request where the agent has none; empty without files."""
        return self.places[0] if self.places else ""

    def begins(self, path: str) -> bytes:
        """Return what a file of ours begins with when it is made."""
        return self.top.encode() if path in self.ours else b""

    def render(
        self,
        bullets: Iterable[Bullet],
        options: Options = _DEFAULTS,
        *,
        count: Callable[[str], int],
    ) -> Rendered:
        """Return the text for this agent: at most `options.max_tokens` as `count` counts them.

        What is ranked lowest is left out first, bullet by bullet, never a part of one. The same
        bullets in another order give the same text.
        """
        entries, silent = _entries(bullets, options)

        def fits(draft: Draft) -> bool:
            small = self.most_characters is None or len(draft.text) <= self._room
            return small and count(draft.text) <= options.max_tokens

        number = _most(len(entries), lambda kept: fits(self.layout(entries[:kept], options)))
        draft = self.layout(entries[: max(number, 0)], options)
        return Rendered(
            text=draft.text if number >= 0 else "",
            used=tuple(each.bullet for each in draft.entries),
            lines=tuple(each.line for each in draft.entries),
            dropped=tuple(each.bullet for each in entries[max(number, 0) :]) + silent,
            tokens=count(draft.text) if number >= 0 else 0,
        )

    @property
    def _room(self) -> int:
        """Characters of a section, given that its marks and what is above it count, too."""
        return (self.most_characters or 0) - len(self.top) - _MARKS


#: Characters of the two marks around a section, at most.
_MARKS = 200


def _entries(bullets: Iterable[Bullet], options: Options) -> tuple[list[Entry], tuple[Bullet, ...]]:
    """Return what can be written, the highest ranked first, and the bullets that cannot.

    A line that is already there is not written again.
    """
    written: dict[str, Entry] = {}
    silent: list[Bullet] = []
    for bullet in sorted(bullets, key=lambda each: (-each.rank, each.principle_id)):
        made = entry(bullet, options)
        if made is None or made.line in written:
            silent.append(bullet)
        else:
            written[made.line] = made
    return list(written.values()), tuple(silent)


def _most(number: int, fits: Callable[[int], bool]) -> int:
    """Return how many of a number of entries fit; -1 when not even none do.

    Usually all do. Where they do not, the answer is searched by halves, and then made sure of:
    tokens do not grow strictly with the text.
    """
    if fits(number):
        return number
    low, high = 0, number
    while low < high - 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    while low >= 0 and not fits(low):
        low -= 1
    return low
