"""How commands print: one console, JSON, tables, and options that every command has.

Lists of texts: a short mark, the text itself, and what is known about it below, faint.

A table of six columns breaks a sentence into a word a line on a narrow terminal; here the sentence
has the width, and what goes with it stands below.

Differences: a unified diff, in colours where a terminal shows them.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, NamedTuple

import typer
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text
from typer.core import TyperGroup

from cortex_actors.clock import iso
from cortex_actors.home import Home
from cortex_actors.process.logfile import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


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


class Commands(TyperGroup):
    """A group of commands; without one of them it does what its own options and words ask.

    Its help shows whole sentences, under the titles that `panels` gives to names.
    """

    #: Title -> names below it, in that order; what has no title comes under "Commands".
    panels: ClassVar[Mapping[str, str]] = {}

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 - click's, vendored
        """Return the parameters; a command below does not show the words of its group in usage."""
        found = super().get_params(ctx)
        return [p for p in found if ctx.command is self or p.param_type_name != "argument"]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - click's, vendored
        """Read the group's own words, unless a command's name comes first."""
        if args and args[0] in self.commands:
            # Its options are not read: a command below has its own.
            ctx.args = args
            return args
        if any(each.param_type_name == "argument" for each in self.params):
            ctx.allow_interspersed_args, ctx.allow_extra_args = True, False
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - as above
        """Run the command that was named, else the group's own."""
        words = [*ctx._protected_args, *ctx.args]  # noqa: SLF001 - where a group has them
        if not words:
            return super().invoke(ctx)
        command: Any
        name, command, rest = self.resolve_command(ctx, words)
        ctx.args, ctx.invoked_subcommand = [], name
        with ctx, command.make_context(name, rest, parent=ctx) as inner:
            return command.invoke(inner)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - as above
        """Write the commands under their titles, each with its whole first paragraph."""
        rows = {
            name: " ".join(inspect.cleandoc(each.help or "").split("\n\n")[0].split())
            for name, each in self.commands.items()
            if not each.hidden
        }
        panels = {
            title: [n for n in names.split() if n in rows] for title, names in self.panels.items()
        }
        rest = [n for n in rows if not any(n in names for names in panels.values())]
        for title, names in {**panels, "Commands": rest}.items():
            if names:
                with formatter.section(title):
                    formatter.write_dl([(name, rows[name]) for name in names])


def listing(command: Callable[..., object], *lines: str, about: str | None = None) -> typer.Typer:
    """Return a group that runs a command of its own where none below it is named.

    `lines` are examples; `about` says what the group is for, where the command's own text does not.
    """
    group = typer.Typer(cls=Commands, rich_markup_mode=None)
    text = about or inspect.cleandoc(command.__doc__ or "")
    group.callback(cls=Commands, help=text, invoke_without_command=True, epilog=examples(*lines))(
        command
    )
    return group


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


#: How a line begins -> how it looks; the first that fits. Colours of the terminal's own palette, so
#: that they can be read on a light ground and on a dark one.
_STYLES: Final = (
    ("+++", "bold"),
    ("---", "bold"),
    ("@@", "cyan"),
    ("+", "green"),
    ("-", "red"),
)


def show_diff(text: str, marked: Mapping[str, str] | None = None) -> None:
    """Print a unified diff; what would move a terminal's cursor is written out.

    `marked` are whole lines, each with what is printed behind it.
    """
    out = console()
    for line in text.split("\n") if text else ():
        style = next((style for start, style in _STYLES if line.startswith(start)), "")
        # Not wrapped by us: whoever copies a line copies all of it.
        mark = Text((marked or {}).get(line, ""), style="yellow")
        out.print(Text(visible(line), style=style) + mark, soft_wrap=True)
