"""Lists of texts: a short mark, the text itself, and what is known about it below, faint.

A table of six columns breaks a sentence into a word a line on a narrow terminal; here the sentence
has the width, and what goes with it stands below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from cortex_actors.cli.output import console
from cortex_actors.clock import iso
from cortex_actors.process.logfile import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from rich.console import Console

#: Characters of an id that a list shows: enough to tell thousands apart, and to ask for one.
BRIEF = 12

#: Characters of a text that a list shows.
LONGEST = 300

#: Places that a list names of one insight.
PLACES = 3

#: What stands between facts on one line.
_DOT = " · "

#: Columns between a mark and its text, and the fewest that a text is given.
_GAP = 2
NARROWEST = 20


class Block(NamedTuple):
    """One entry: its mark (a number, an id), its text, and lines about it."""

    mark: str
    text: str
    about: Sequence[str] = ()


def show_blocks(title: str, blocks: Iterable[Block], *, empty: str) -> None:
    """Print entries below a title, or a sentence where there are none."""
    entries = list(blocks)
    if not entries:
        print(empty)
        return
    out = console()
    out.print(Text(visible(title), style="bold"))
    width = max(cell_len(entry.mark) for entry in entries)
    for entry in entries:
        out.print()
        _beside(out, entry.mark, _body(entry), width=width)


def show_facts(facts: Iterable[tuple[str, object]], *, indent: int = 0) -> None:
    """Print names with what holds of them, names in a column; an empty value is left out."""
    shown = [(name, str(value)) for name, value in facts if str(value)]
    out, width = console(), max((cell_len(name) for name, _ in shown), default=0)
    for name, value in shown:
        text = "\n".join(visible(line) for line in value.split("\n"))
        _beside(out, name, Text(text), width=width, indent=indent)


def nothing(total: int, empty: str) -> str:
    """Return why a list shows nothing: all there are were skipped, or what `empty` says."""
    if total:
        return f"there {'is' if total == 1 else 'are'} only {total:,}; give a smaller --skip"
    return empty


def joined(facts: Iterable[str | None]) -> str:
    """Return the facts there are, on one line."""
    return _DOT.join(fact for fact in facts if fact)


def brief(name: str) -> str:
    """Return the beginning of an id, by which it can be asked for."""
    return name[:BRIEF]


def counted(number: int, noun: str, several: str | None = None) -> str:
    """Return how many there are, with the noun in its number."""
    return f"{number:,} {noun if number == 1 else several or noun + 's'}"


def standing(sources: Sequence[dict[str, Any]], *, most: int = PLACES) -> list[str]:
    """Return where a text stands, a line each, and how many places are left out."""
    lines = [f"{each['path']}:{each['line_start']}" for each in sources]
    if len(lines) <= most:
        return lines
    return [*lines[:most], f"and {counted(len(lines) - most, 'more place')}"]


def when(at: int | None) -> str:
    """Return a moment as people read it; nothing for none."""
    return "" if at is None else iso(at)


def cut(text: str, limit: int = LONGEST) -> str:
    """Return the beginning of a long text; where it goes on, it says so."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _beside(out: Console, mark: str, text: Text, *, width: int, indent: int = 0) -> None:
    """Print a text in a column of its own, with its mark beside the first line.

    No line ends in blanks, as a table's would: whoever copies one copies the text.
    """
    margin = indent + width + _GAP if width else indent
    lines = text.wrap(out, max(out.width - margin, NARROWEST), overflow="fold")
    for number, line in enumerate(lines):
        line.rstrip()
        lead = Text(" " * indent)
        lead.append("" if number else set_cell_size(visible(mark), width), style="bold")
        lead.append(" " * (margin - lead.cell_len) if line.plain else "")
        out.print(lead + line, soft_wrap=True)


def _body(entry: Block) -> Text:
    """Return the text of an entry with what is known about it."""
    text = Text("\n".join(visible(line) for line in entry.text.split("\n")))
    for line in entry.about:
        if line:
            text.append("\n" + visible(line), style="dim")
    return text
