"""One look at every instruction file of a project: what is there now, by name and stat.

The kernel's events are hints and get lost (a full queue, an unreadable name, a folder made and
filled at once); a sweep is the truth. It reads no file, so thousands cost milliseconds.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cortex_actors.domain.event import is_text
from cortex_actors.domain.project import OWN_FILES, OWN_RULES, hash_file, is_own_file
from cortex_actors.files.ignores import Ignores
from cortex_actors.home import read_regular
from cortex_actors.storage.projects import FileState
from cortex_actors.text.sections import TOOLS, find_dialect

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from cortex_actors.domain.project import Project


@dataclass(frozen=True, slots=True)
class Swept:
    """What one look found: instruction files by path, and the folders that hold them.

    `present` is False when the root itself cannot be listed: then nothing is known of its files.
    """

    files: Mapping[str, FileState]
    folders: frozenset[str]
    present: bool = True


def sweep(
    root: str,
    project_id: str,
    *,
    max_depth: int,
    apart: Collection[str] = (),
    ignores: Ignores | None = None,
    own: bool = False,
) -> Swept:
    """Return the instruction files below a root. Blocks: run it on a thread.

    Of a person's `own` project, whose root is the home folder, no folder is walked.

    Folders that are `apart` (roots of other projects) are left out with all they hold, as are those
    that `ignores` names (it is kept from one look to the next to be quicker), and so is a link
    to another instruction file of the project: what it says is counted once. A folder that cannot
    be read, or whose name is not UTF-8, is as good as empty. A link that leads nowhere is there:
    reading it tells what is wrong. Raises nothing.
    """
    files: dict[str, FileState] = {}
    targets: set[str] = set()
    before = _is_there(root)
    some = (
        (path for path in find_own_files(root) if not lies_in(path, apart))
        if own
        else _instruction_files(root, max_depth, apart, ignores or Ignores(root))
    )
    for path in sorted(some, key=lambda path: (os.path.islink(path), path)):
        target = os.path.realpath(path)
        state = _state(path, project_id)
        if state is not None and target not in targets:
            targets.add(target)
            files[path] = state
    # Asked twice: a share that goes away in between has lost no file.
    if not (before and _is_there(root)):
        return Swept({}, frozenset(), present=False)
    # The folder of a link's target, too: that is where an editor writes. Not beyond the root:
    # what lies there is not read, either.
    beside = {os.path.dirname(each) for each in targets if lies_in(each, (root,))}
    return Swept(files, frozenset({root, *(os.path.dirname(path) for path in files), *beside}))


def find_own_files(home: str) -> list[str]:
    """Return which of a person's own files are there, by their paths. Blocks; raises nothing."""
    rules = os.path.join(home, OWN_RULES)
    try:
        names = sorted(name for name in os.listdir(rules) if is_text(name))
    except OSError:
        names = []
    some = [*OWN_FILES, *(f"{OWN_RULES}/{name}" for name in names)]
    places = (os.path.join(home, each) for each in some if is_own_file(each))
    return [each for each in places if os.path.lexists(each)]


def find_inner_roots(root: str, followed: Iterable[Project]) -> frozenset[str]:
    """Return the roots of projects that lie below a root: each has a watcher of its own."""
    return frozenset(e.root for e in followed if lies_in(e.root, (root,)) and not e.is_own)


def lies_in(path: str, folders: Iterable[str]) -> bool:
    """Tell whether a path lies below one of some folders (a folder does not lie in itself)."""
    return any(path != each and path.startswith(each.rstrip(os.sep) + os.sep) for each in folders)


def find_differences(before: Mapping[str, FileState], now: Mapping[str, FileState]) -> list[str]:
    """Return the paths that are new, gone or look different, in order."""
    changed = [
        path
        for path, state in now.items()
        if path not in before or not before[path].has_same_stat(state)
    ]
    return sorted({*changed, *(before.keys() - now.keys())})


def hash_path(path: str, most: int) -> str:
    """Return the hash of a file as it is now; "" for what cannot be read, is no file or too large.

    Blocks; raises nothing.
    """
    try:
        data = read_regular(path, most=most)
    except OSError:
        data = None
    return "" if data is None or len(data) > most else hash_file(data)


def _is_there(root: str) -> bool:
    """Tell whether a folder can be listed."""
    try:
        with os.scandir(root):
            return True
    except OSError:
        return False


def _instruction_files(
    root: str, max_depth: int, apart: Collection[str], ignores: Ignores
) -> Iterator[str]:
    """Yield the paths below a root whose names are those of instruction files."""
    depth = root.rstrip(os.sep).count(os.sep)
    ignores.begin()
    for folder, names, files in os.walk(root):
        if not ignores.enters(folder, files):
            names.clear()
            continue
        if folder.count(os.sep) - depth >= max_depth:
            names.clear()
        names[:] = [
            name
            for name in names
            if is_text(name)  # no other can be written into the ledger or an event
            and (path := os.path.join(folder, name)) not in apart
            and not ignores.leaves_out(path)
        ]
        for name in (*files, *names):
            path = os.path.join(folder, name)
            # Cline's rules may be a file, or a folder of the same name.
            is_rules = name in TOOLS and name in names
            if not is_rules and find_dialect(os.path.relpath(path, root)) is not None:
                yield path


def _state(path: str, project_id: str) -> FileState | None:
    """Return what a path, or a link that leads nowhere, looks like; None when it is gone again."""
    try:
        found = os.stat(path)
    except OSError:
        try:
            found = os.lstat(path)
        except OSError:
            return None
    return FileState.from_stat(path, project_id, found=found)
