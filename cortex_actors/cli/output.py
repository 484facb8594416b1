"""How commands print: one console, JSON, tables, and options that every command has."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cortex_actors.home import Home
from cortex_actors.process.logfile import visible

#: Columns where nobody watches: a file or a pipe has no width of its own.
PLAIN_WIDTH = 160

#: Columns of what is read in one piece (an id has 24), those that any other column keeps beside
#: it, and those that the frame takes of each.
_LONGEST_PIECE, _ROOM, _FRAME = 24, 8, 3


def _enterable(home: Path | None) -> Path | None:
    """Return a home as it was given; raises `HomeUnwritable` for one that may not be entered."""
    Home.of(home).require_entry()
    return home


HomeOption = Annotated[
    Path | None,
    typer.Option(
        "--home",
        help="The daemon's folder (default: CORTEX_HOME, else XDG's).",
        readable=False,  # Typer's own check makes wrong usage of it
        callback=_enterable,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def examples(*lines: str) -> str:
    r"""Return the end of a command's help; `\b` keeps its lines as they are."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


def console() -> Console:
    """Return where people read: remembered text is shown as it is, never as markup."""
    width = None if sys.stdout.isatty() else PLAIN_WIDTH
    return Console(width=width, markup=False, highlight=False, emoji=False)


def show_json(found: object) -> None:
    """Print JSON for a program."""
    print(json.dumps(found, indent=2))


def show_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], *, empty: str
) -> None:
    """Print a table, or a sentence when it has no rows."""
    if not rows:
        print(empty)
        return
    table = Table(title=title, title_justify="left", title_style="bold", expand=False)
    out, cells = console(), [[_cell(value) for value in row] for row in rows]
    whole = _whole(columns, cells, width=out.width)
    for number, column in enumerate(columns):
        table.add_column(column, overflow="fold", no_wrap=number in whole)
    for row in cells:
        table.add_row(*row)
    out.print(table)


def shortened(text: str, limit: int = 100) -> str:
    """Return a text on one line, cut to a length."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def places(sources: Sequence[dict[str, object]], *, below: Path | None = None) -> str:
    """Return where a text was read, `path:line` each on a line; paths from a folder on."""
    start = f"{below}/" if below else ""
    lines = [f"{source['path']}:{source['line_start']}" for source in sources]
    return "\n".join(line.removeprefix(start) for line in lines)


def _whole(columns: Sequence[str], rows: Sequence[Sequence[Text]], *, width: int) -> set[int]:
    """Return the columns that are not folded: numbers, times, ids, which are read in one piece.

    The narrowest first, as long as each of the others keeps some room.
    """
    wide = {
        number: max(cell_len(columns[number]), *(row[number].cell_len for row in rows))
        for number in range(len(columns))
        if not any(char.isspace() for row in rows for char in row[number].plain)
    }
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
    return Text("\n".join(visible(line) for line in str(value).split("\n")))
