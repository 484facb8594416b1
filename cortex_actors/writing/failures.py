"""What an error of the system means for a write into a human's file."""

from __future__ import annotations

import contextlib
import errno
from typing import TYPE_CHECKING

from cortex_actors.errors import WriteFailed
from cortex_actors.refusals import ImmutableFile, ReadOnlyDisk, SymbolicLink

if TYPE_CHECKING:
    from collections.abc import Iterator

#: The system, or the file's owner, says no.
_FORBIDDEN = frozenset({errno.EPERM, errno.EACCES})

#: The disk has no room, or the user no quota.
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


@contextlib.contextmanager
def told(path: str) -> Iterator[None]:
    """Raise what an `OSError` inside means for whoever asked for the write."""
    try:
        yield
    except OSError as error:
        raise meaning(path, error) from error


def meaning(path: str, error: OSError) -> Exception:
    """Return the error that tells of an error of the system."""
    if error.errno == errno.ELOOP:
        return SymbolicLink.of(path, part="it")
    if error.errno == errno.EROFS:
        return ReadOnlyDisk.of(path)
    if error.errno in _FORBIDDEN:
        return ImmutableFile.of(path, error=error.strerror)
    if error.errno in _FULL:
        return WriteFailed(f"cannot write {path}: {error.strerror}; make room on its disk")
    return WriteFailed(f"cannot write {path}: {error.strerror}; look at its disk and try again")
