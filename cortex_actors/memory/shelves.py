"""Shelves: the documents that lie in a folder, and the bytes of each. Everything here blocks."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cortex_actors.errors import BadInput, FileTooLarge, NotFound
from cortex_actors.text.documents import MAX_BYTES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

#: What a document's name ends in.
SUFFIXES = frozenset({".md", ".markdown", ".mdx"})

#: Documents that are read at once; somebody who hands in a disk means a folder of it.
MOST = 10_000

#: Topic of what lies in the folder itself, and in none below it.
GENERAL = "general"


@dataclass(slots=True)
class Shelf:
    """What lies in a folder.

    Attributes:
        files: the documents, each with its topic: the first folder below the root.
        skipped: folders that were passed over, with everything in them, and documents that are
            links to somewhere else.
        closed: folders that cannot be read.

    """

    root: str
    files: list[tuple[str, str]] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)


def shelf(path: str, *, skips: Collection[str]) -> Shelf:
    """Return the documents at a path: one file, or all in a folder and below it, by name.

    Folders of those names and hidden ones are passed over; links to folders are not followed.
    Raises `NotFound`, and `BadInput` for what holds no documents or too many of them.
    """
    given = Path(path)
    if not given.is_absolute():
        raise BadInput(f"cannot read documents at {path!r}: give an absolute path")
    try:
        root = given.resolve(strict=True)
    except (OSError, ValueError, RuntimeError) as error:
        raise NotFound(f"cannot read documents at {path!r}: there is nothing there") from error
    if not root.is_dir():
        return Shelf(str(root), [(str(root), root.parent.name or GENERAL)])
    found = Shelf(str(root))
    _walk(root, found, skips)
    if len(found.files) > MOST:
        raise BadInput(
            f"cannot read the documents in {root}: there are more than {MOST:,}; hand in its "
            "folders one by one"
        )
    return found


def read(path: str) -> bytes:
    """Return a document's bytes. Raises `NotFound`, `FileTooLarge`, and `BadInput` for no file."""
    try:
        # A pipe must not keep us waiting for somebody to write into it.
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFound(f"cannot read {path}: there is no such file") from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise BadInput(f"cannot read {path}: {why}; mend the path or its mode") from error
    with os.fdopen(fd, "rb") as opened:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise BadInput(f"cannot read {path}: it is no regular file; put a text file there")
        data = opened.read(MAX_BYTES + 1)
        size = max(len(data), os.fstat(fd).st_size)
    if size > MAX_BYTES:
        raise FileTooLarge(
            f"cannot read {path}: it has {size:,} bytes and a document may have {MAX_BYTES:,}; "
            "split it"
        )
    return data


def gone(sources: Iterable[str]) -> list[str]:
    """Return those documents whose file is there no more; one behind a link is not there."""
    return [each for each in sources if not _is_there(each)]


def _is_there(source: str) -> bool:
    """Whether a path is itself a file; what cannot be looked at is taken to be there."""
    try:
        return str(Path(source).resolve(strict=True)) == source and Path(source).is_file()
    except (FileNotFoundError, NotADirectoryError, ValueError, RuntimeError):
        return False
    except OSError:
        return True


def _walk(root: Path, found: Shelf, skips: Collection[str]) -> None:
    """Collect the documents of a folder."""

    def note(error: OSError) -> None:
        found.closed.append(str(error.filename))

    for folder, names, files in os.walk(root, onerror=note):
        left = [name for name in names if name in skips or name.startswith(".")]
        found.skipped += [str(Path(folder, name)) for name in sorted(left)]
        names[:] = sorted(set(names) - set(left))
        inside = Path(folder).relative_to(root).parts
        topic = inside[0] if inside else GENERAL
        for name in sorted(files):
            path = Path(folder, name)
            if path.suffix.lower() not in SUFFIXES or name.startswith("."):
                continue
            if path.is_symlink():
                found.skipped.append(str(path))
            else:
                found.files.append((str(path), topic))
        if len(found.files) > MOST:
            return
