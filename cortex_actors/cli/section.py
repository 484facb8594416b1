"""Section: its text alone, printed, or kept in a new file of the user's.

A file that is there already is never replaced: whoever has it may have written into it, and nothing
in a text for people tells whose a line of it is.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from cortex_actors.cli.blocks import counted
from cortex_actors.errors import BadInput, Refused
from cortex_actors.process.logfile import visible

if TYPE_CHECKING:
    from pathlib import Path

    from cortex_actors.client.connection import Answer


def show_section(found: Answer, output: Path | None) -> None:
    """Print the text of an answer, or write it to a file of the user's.

    Raises `Refused` where the file is there already, `BadInput` where it cannot be written.
    """
    text = "\n".join(each["section"] for each in found["files"])
    if output is None:
        print(text, end="")
        return
    if not _made(output, text):
        print(visible(f"nothing to change in {output}"))
        return
    count = sum(len(each["bullets"]) for each in found["files"])
    print(visible(f"wrote {counted(count, 'note')} to {output}"))


def _made(output: Path, text: str) -> bool:
    """Make a file with a text; False where there is one that says the same, byte for byte.

    Raises `Refused` for one that says anything else, and `BadInput`.
    """
    data = text.encode()
    try:
        try:
            _make(output, data)
        except FileExistsError as error:
            if output.is_file() and output.read_bytes() == data:
                return False
            if not output.is_dir():
                message = f"refused to write {output}: it is there already; "
                advice = "give another name, or remove it first"
                raise Refused(message + advice) from error
            raise IsADirectoryError(error.errno, "it is a folder") from error
    except OSError as error:
        message = f"cannot write {output}: {error.strerror}; give another file"
        raise BadInput(message) from error
    return True


def _make(output: Path, data: bytes) -> None:
    """Make a file that nobody has; half of it is not left where the disk does not take all."""
    with output.open("xb") as file:
        try:
            file.write(data)
            file.flush()
        except OSError:
            with suppress(OSError):
                output.unlink()
            raise
