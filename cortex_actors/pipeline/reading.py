"""Reading one instruction file: what it looks like, then its bytes, never more than allowed.

Whatever else can lie at such a path (a folder, a pipe, a link that leads out of the project, a
file of gigabytes) is told apart before anything is read.
"""

from __future__ import annotations

import asyncio
import os
import stat
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import aiofiles.os

from cortex_actors.domain.project import file_hash
from cortex_actors.errors import BadInput, FileTooLarge, Refused
from cortex_actors.storage.projects import FileState

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from cortex_actors.domain.project import Project


@dataclass(frozen=True, slots=True)
class Look:
    """A file as it is now; `data` is None when it could not be read and `state.error` says why."""

    state: FileState
    data: bytes | None
    #: Where the path leads, every link resolved.
    real: str = ""


def place(path: str) -> str:
    """Return the one name of a file: its folder's real path and its own name. Blocks.

    A link at its end is left as it is: what it means is for `look`. Raises `BadInput` for what is
    no absolute path.
    """
    given = Path(path)
    whole = given.name in ("", "..")
    try:
        real = os.path.realpath(given if whole else given.parent)
    except ValueError:
        real = ""
    if not real or not given.is_absolute():
        message = f"there can be no file at {path!r}; give an absolute path in UTF-8"
        raise BadInput(message)
    return real if whole else str(Path(real, given.name))


async def look(
    path: str, project: Project, *, limit: int, executor: Executor | None = None
) -> Look:
    """Return the file at a path; whatever may hang on a disk runs on the executor's threads.

    Raises `FileNotFoundError` or `NotADirectoryError` when there is none. What else goes wrong,
    a link that leads nowhere included, is in the state's `error`: it is recorded and concerns
    that file alone.
    """
    loop = asyncio.get_running_loop()
    try:
        found = await aiofiles.os.stat(path, executor=executor)
    except (OSError, ValueError) as error:
        state = await loop.run_in_executor(executor, _astray, path, project, error)
        return Look(state, None)
    return await loop.run_in_executor(executor, _take, path, project, found, limit)


def _take(path: str, project: Project, found: os.stat_result, limit: int) -> Look:
    """Return the file that was found there, with its bytes (on a thread).

    In one call: where opening is awaited, a cancelled reader leaves the file open.
    """
    state = _state(path, project, found)
    try:
        real = _admit(path, project, found, limit)
        data = _read(path, limit)
    except (BadInput, Refused) as error:
        return Look(replace(state, error=str(error)), None)
    except (FileNotFoundError, NotADirectoryError):
        raise
    except OSError as error:
        reason = f"cannot read {path}: {error.strerror}; give its owner the right to read it"
        return Look(replace(state, error=reason), None)
    return Look(replace(state, sha256=file_hash(data)), data, real)


def _state(path: str, project: Project, found: os.stat_result | None) -> FileState:
    """Return what a file looks like that has not been read; None when nobody could tell."""
    return FileState(
        path=path,
        project_id=project.id,
        size=found.st_size if found else 0,
        mtime_ns=found.st_mtime_ns if found else 0,
        ctime_ns=found.st_ctime_ns if found else 0,
        inode=found.st_ino if found else 0,
        sha256="",
    )


def _astray(path: str, project: Project, error: OSError | ValueError) -> FileState:
    """Return the state of what cannot be reached (on a thread).

    Raises `FileNotFoundError` or `NotADirectoryError` when not even a link is there.
    """
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        raise
    except (OSError, ValueError):
        found = None
    why = getattr(error, "strerror", None) or str(error)
    reason = f"cannot read {path}: {why}; mend the path to it"
    if found is not None and stat.S_ISLNK(found.st_mode):
        reason = f"cannot read {path}: it is a link that leads nowhere ({why}); mend the link"
    return replace(_state(path, project, found), error=reason)


def _admit(path: str, project: Project, found: os.stat_result, limit: int) -> str:
    """Return where a path leads; raise for what is no file of this project."""
    if not stat.S_ISREG(found.st_mode):
        message = f"cannot read {path}: it is not a regular file; put a text file there"
        raise BadInput(message)
    if found.st_size > limit:
        raise FileTooLarge(_too_large(path, found.st_size, limit))
    real = os.path.realpath(path)
    if not project.holds(real):
        message = (
            f"refused to read {path}: it leads to {real}, outside the project {project.root}; "
            "register that folder or copy the file"
        )
        raise Refused(message)
    return real


def _read(path: str, limit: int) -> bytes:
    """Return a file's bytes; it may have grown since it was looked at."""
    with Path(path).open("rb") as opened:
        data = opened.read(limit + 1)
    if len(data) > limit:
        raise FileTooLarge(_too_large(path, len(data), limit))
    return data


def _too_large(path: str, size: int, limit: int) -> str:
    """Return the text for a file over the limit."""
    return (
        f"cannot read {path}: it has {size} bytes, an instruction file may have {limit}; split it"
    )
