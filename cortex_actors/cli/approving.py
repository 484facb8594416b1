"""Approving: what a diff would bring into files that no person has approved yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_actors.cli.blocks import counted
from cortex_actors.cli.differences import show_diff
from cortex_actors.process.logfile import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cortex_actors.client.connection import Answer

#: What shows notes that no person has approved, and decides about each.
REVIEW = "cortex review"

#: What is printed behind such a note.
_MARK = "   <- not approved"


def unapproved(found: Answer) -> list[str]:
    """Return the ids of the principles that a resolution would write without approval, in order."""
    return sorted({each["id"] for file in found["files"] for each in _notes(file)})


def asking(ids: Sequence[str]) -> str:
    """Return what a person is asked who has seen the diff."""
    return f"Approve {counted(len(ids), 'note')} and write?"


def left_out(file: Answer) -> str | None:
    """Return how many notes of a file wait for a person, and where; None for none."""
    count = file["counts"].get("unapproved") or len(_notes(file))
    return f"{count} not approved ({REVIEW})" if count else None


def show_proposed(file: Answer) -> None:
    """Print a file's diff with a mark behind each note that no person has approved.

    What stands in the file already is no line of the diff, and is named behind it.
    """
    lines = [each["text"] for each in _notes(file)]
    show_diff(file["diff"], marked={f"+{each}": _MARK for each in lines})
    added = set(file["diff"].split("\n"))
    for each in lines:
        if f"+{each}" not in added:
            print(visible(f" {each}{_MARK}, stands there already"))


def _notes(file: Answer) -> list[Answer]:
    """Return the notes of a file that no person has approved."""
    return [each for each in file["bullets"] if not each["approved"]]
