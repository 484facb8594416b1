"""Differences: a unified diff, in colours where a terminal shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from cortex_actors.cli.output import console
from cortex_actors.process.logfile import visible

if TYPE_CHECKING:
    from collections.abc import Mapping

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
