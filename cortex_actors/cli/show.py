"""How commands print: one console, JSON, tables, and differences; and how they word what they say.

Lists of texts: a short mark, the text itself, and what is known about it below, faint.

A table of six columns breaks a sentence into a word a line on a narrow terminal; here the sentence
has the width, and what goes with it is below.

Differences: a unified diff, in colours where a terminal shows them.

Rich is imported by what draws with it: a command that prints JSON or a line does without.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from json import dumps
from typing import TYPE_CHECKING, Any, NamedTuple

from cortex_actors.clock import iso
from cortex_actors.errors import Refused, visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.text import Text

#: Columns where there is no terminal: a file or a pipe has no width of its own.
PLAIN_WIDTH = 160

#: Columns of what is read in one piece (an id has 24), those that any other column keeps beside
#: it, and those that the frame takes of each.
_LONGEST_PIECE, _ROOM, _FRAME = 24, 8, 3


def make_console() -> Console:
    """Return where people read: remembered text is shown as it is, never as markup."""
    from rich.console import Console  # noqa: PLC0415 - see the top

    width = None if sys.stdout.isatty() else PLAIN_WIDTH
    return Console(width=width, markup=False, highlight=False, emoji=False)


@contextmanager
def progress(*, is_shown: bool, follow: str | None) -> Iterator[Progress]:
    """Have a bar in a terminal while work goes on: of texts done, with a `pace` and seconds.

    Ctrl-C ends the watching, not the work; then `follow` is the command that says how far it is.
    """
    from rich.progress import (  # noqa: PLC0415 - only while it is shown
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    out = make_console()
    name = TextColumn("{task.description:<16}")
    done = TextColumn("{task.completed:,.0f} of {task.total:,.0f}{task.fields[pace]}")
    columns = (name, BarColumn(), done, TimeElapsedColumn())
    is_off = not (is_shown and out.is_terminal)
    try:
        with Progress(*columns, console=out, transient=True, disable=is_off) as bar:
            yield bar
    except KeyboardInterrupt:
        if is_shown and follow:
            print(f"it goes on in the background; how far it is: {follow}")
        raise


def json(found: object) -> None:
    """Print JSON for a program."""
    print(dumps(found, indent=2))


def lines(*lines: str | None) -> None:
    """Print lines, whatever they hold; None is none."""
    for line in lines:
        if line is not None:
            print(visible(line), flush=True)


def title(text: str, style: str = "bold") -> None:
    """Print a title, broken at blanks."""
    make_console().print(visible(text), style=style)


def sections(*sections: tuple[str, Iterable[tuple[str, object]]]) -> None:
    """Print names with what holds of them below titles; a section without any is left out."""
    for name, rows in sections:
        if shown := list(rows):
            print()
            title(name)
            facts(*shown, indent=2)


def table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], *, empty: str
) -> None:
    """Print a table, or a sentence when it has no rows."""
    if not rows:
        print(empty)
        return
    from rich.table import Table  # noqa: PLC0415 - see the top

    table = Table(title=title, title_justify="left", title_style="bold", expand=False)
    out, cells = make_console(), [[_cell(value) for value in row] for row in rows]
    whole = _whole(columns, cells, width=out.width)
    for number, column in enumerate(columns):
        table.add_column(column, overflow="fold", no_wrap=number in whole)
    for row in cells:
        table.add_row(*row)
    out.print(table)


def _whole(columns: Sequence[str], rows: Sequence[Sequence[Text]], *, width: int) -> set[int]:
    """Return the columns that are not folded: numbers, times, ids, which are read in one piece.

    The narrowest first, as long as each of the others keeps some room.
    """
    from rich.cells import cell_len  # noqa: PLC0415 - see the top

    wide = {}
    for number, column in enumerate(columns):
        cells = [row[number] for row in rows]
        if not any(char.isspace() for cell in cells for char in cell.plain):
            wide[number] = max(cell_len(column), *(cell.cell_len for cell in cells))
    kept: set[int] = set()
    room = width - _FRAME * len(columns) - 1 - _ROOM * len(columns)
    for number in sorted(wide, key=wide.__getitem__):
        left = room + _ROOM - wide[number]
        if wide[number] <= _LONGEST_PIECE and (left >= 0 or left > room):
            kept.add(number)
            room = left
    return kept


def _cell(value: object) -> Text:
    """Return a cell's text, in which only line ends may move the cursor."""
    from rich.text import Text  # noqa: PLC0415 - see the top

    return Text("\n".join(visible(line) for line in str(value).split("\n")))


#: Columns between a mark and its text, and the fewest that a text is given.
_GAP = 2


NARROWEST = 20


class ListEntry(NamedTuple):
    """One entry: its mark (a number, an id), its text, and lines about it."""

    mark: str
    text: str
    about: Sequence[str] = ()


def blocks(title: str, blocks: Iterable[ListEntry], *, empty: str, total: int = 0) -> None:
    """Print entries below a title; where all of a `total` were skipped that, else `empty`."""
    entries = list(blocks)
    if not entries:
        few = f"there {'is' if total == 1 else 'are'} only {total:,}; give a smaller --skip"
        print(few if total else empty)
        return
    from rich.cells import cell_len  # noqa: PLC0415 - see the top
    from rich.text import Text  # noqa: PLC0415 - see the top

    out = make_console()
    out.print(Text(visible(title), style="bold"))
    width = max(cell_len(entry.mark) for entry in entries)
    for entry in entries:
        out.print()
        text = _cell(entry.text)
        for line in filter(None, entry.about):
            text.append("\n" + visible(line), style="dim")
        _beside(out, entry.mark, text, width=width)


def facts(*facts: tuple[str, object], indent: int = 0) -> None:
    """Print names with what holds of them, names in a column; an empty value is left out."""
    from rich.cells import cell_len  # noqa: PLC0415 - see the top

    shown = [(name, str(value)) for name, value in facts if str(value)]
    out, width = make_console(), max((cell_len(name) for name, _ in shown), default=0)
    for name, value in shown:
        _beside(out, name, _cell(value), width=width, indent=indent)


def page(
    entries: Sequence[ListEntry],
    total: int,
    *nouns: str,
    empty: str,
    more: str = "",
    skip: int = 0,
) -> None:
    """Print entries below which of all they are, in the singular and plural of their noun."""
    shown = f"{skip + 1:,} to {skip + len(entries):,}" if skip else f"{len(entries):,}"
    blocks(f"{shown} of {count_nouns(total, *nouns)}{more}", entries, empty=empty, total=total)


def confirm(question: str, *, refusal: str, no: str) -> None:
    """Ask a person; raises `Refused` for no, and, saying how to do without, where none types."""
    if not sys.stdin.isatty():
        raise Refused(f"{refusal}; without a terminal, say --yes")
    import click  # noqa: PLC0415 - only to ask

    if not click.confirm(question):
        raise Refused(no)


def _beside(out: Console, mark: str, text: Text, *, width: int, indent: int = 0) -> None:
    """Print a text in a column of its own, with its mark beside the first line.

    No line ends in blanks, as a table's would: what is copied is the text alone.
    """
    from rich.cells import set_cell_size  # noqa: PLC0415 - see the top
    from rich.text import Text  # noqa: PLC0415 - see the top

    margin = indent + width + _GAP if width else indent
    lines = text.wrap(out, max(out.width - margin, NARROWEST), overflow="fold")
    for number, line in enumerate(lines):
        line.rstrip()
        lead = Text(" " * indent)
        lead.append("" if number else set_cell_size(visible(mark), width), style="bold")
        lead.append(" " * (margin - lead.cell_len) if line.plain else "")
        out.print(lead + line, soft_wrap=True)


#: How a line begins -> how it looks; the first that fits. Colours of the terminal's own palette, so
#: that they can be read on a light ground and on a dark one.
_STYLES = (("+++", "bold"), ("---", "bold"), ("@@", "cyan"), ("+", "green"), ("-", "red"))


def diff(text: str, marked: Mapping[str, str] | None = None) -> None:
    """Print a unified diff; what would move a terminal's cursor is written out.

    `marked` are whole lines, each with what is printed behind it.
    """
    from rich.text import Text  # noqa: PLC0415 - see the top

    out = make_console()
    for line in text.split("\n") if text else ():
        style = next((style for start, style in _STYLES if line.startswith(start)), "")
        # Not wrapped by us: a line is copied as a whole.
        mark = Text((marked or {}).get(line, ""), style="yellow")
        out.print(Text(visible(line), style=style) + mark, soft_wrap=True)


#: Characters of an id that a list shows: enough to tell thousands apart, and to ask for one.
BRIEF = 12

#: Characters of a text that a list shows.
LONGEST = 300

#: Places that a list names of one insight.
PLACES = 3

#: What separates facts on one line.
_DOT = " · "


def shorten(text: str, limit: int = 100) -> str:
    """Return a text on one line, cut to a length."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def join_facts(*facts: str | None) -> str:
    """Return the facts there are, on one line."""
    return _DOT.join(fact for fact in facts if fact)


def shorten_id(name: str) -> str:
    """Return the beginning of an id, by which it can be asked for."""
    return name[:BRIEF]


def count_nouns(number: int, noun: str, several: str | None = None) -> str:
    """Return how many there are, with the noun in its number."""
    return f"{number:,} {noun if number == 1 else several or noun + 's'}"


def list_places(sources: Sequence[dict[str, Any]], *, most: int = PLACES) -> list[str]:
    """Return where a text is, a line each, and how many places are left out."""
    lines = [f"{each['path']}:{each['line_start']}" for each in sources]
    if len(lines) <= most:
        return lines
    return [*lines[:most], f"and {count_nouns(len(lines) - most, 'more place')}"]


#: What a source is called that is no file of a project.
TRUSTS = {"agent": "an agent said it", "import": "imported", "remote": "of another store"}


def describe_place(place: Mapping[str, Any]) -> str:
    """Return where a text is or was, since when, and whose word that is."""
    return join_facts(
        f"{place['path']}:{place['line_start']}",
        place["project"],
        f"since {format_moment(place['first_at'])}",
        TRUSTS.get(place["trust"]),
        f"until {format_moment(place['withdrawn_at'])}" if place["withdrawn_at"] else None,
    )


def describe_bullet(place: Mapping[str, Any]) -> str:
    """Return where in a file a principle is, and whether the project says otherwise."""
    conflict = "conflicts with the project" if place["is_conflict"] else None
    return join_facts(f"for {place['agent']}, bullet {place['ordinal'] + 1}", conflict)


def format_moment(at: int | None) -> str:
    """Return a moment as people read it; nothing for none."""
    return "" if at is None else iso(at)


def cut(text: str, limit: int = LONGEST) -> str:
    """Return the beginning of a long text; where it goes on, it says so."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
