"""Which folders of a project are not its own words: dependencies, build output, what git ignores.

`.gitignore` prunes folders and never a file: people keep `CLAUDE.local.md` out of version control
and want it read. For the same reason the folders of tools (`.claude`, `.cursor`) are looked into
whatever git thinks of them. A linked worktree of git below a project is the project once more.

Which folders lie on a file system that other machines write to: its kernel events are silent.

Linux lists its mounts with the name of each one's file system in `/proc/self/mountinfo`. (`statfs`
would give a number for it, which Python does not offer, and one number for all of FUSE.) Elsewhere
nothing is known, and events are listened to; the sweep finds what they miss.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from pathspec import GitIgnoreSpec

from cortex_actors.domain.project import PRUNED
from cortex_actors.home import read_regular
from cortex_actors.text.sections import TOOLS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


#: Where git keeps what a clone alone ignores.
_EXCLUDE = os.path.join(".git", "info", "exclude")

#: Bytes of an ignore file that are read: a list of folders is not longer.
LARGEST = 1 << 18

#: Stars in one part of a pattern, and double stars in all of it. A pattern with more would be
#: matched by trying, for seconds where an author has made it so; it ignores nothing.
STARS, DOUBLE_STARS = 3, 3

#: Ignore files that are remembered with what they say; one takes some 10 KB.
REMEMBERED = 512


class Ignores:
    """Says of each folder below a root whether it is left out; parents are asked before children.

    Kept from one look to the next: a folder is judged again only when an ignore file was read
    again, because its stat differs. One thread at a time. Raises nothing: what cannot be
    read ignores nothing.
    """

    def __init__(self, root: str) -> None:
        """Know nothing yet."""
        self._root = root.rstrip(os.sep) or os.sep
        self._verdicts: dict[str, bool] = {}
        #: Folders with an ignore file by path, each with what it says, from the repository's top.
        self._specs: dict[str, GitIgnoreSpec] = {}
        self._above: tuple[tuple[str, GitIgnoreSpec], ...] = ()

    def begin(self) -> None:
        """Read the ignore files above the root, before a look at what is below."""
        above: list[tuple[str, GitIgnoreSpec]] = []
        for folder in find_folders(self._root):
            names = (
                (_EXCLUDE, ".gitignore") if os.path.lexists(os.path.join(folder, ".git")) else ()
            )
            for name in names or (".gitignore",):
                spec = _spec(os.path.join(folder, name))
                # A user follows a folder that git ignores: then its own rules count.
                if spec and (folder == self._root or not _says(spec, self._root, folder)):
                    above.append((folder, spec))
        if tuple(above) != self._above:
            self._above = tuple(above)
            self._verdicts.clear()

    def enters(self, folder: str, files: Iterable[str]) -> bool:
        """Read a folder's own ignore files; False for a linked worktree.

        `files` are the names of the files in it. Its subfolders can be asked about afterwards.
        """
        if folder == self._root:
            return True
        names = set(files)
        if ".git" in names and _is_worktree(os.path.join(folder, ".git")):
            return False
        spec = _spec(os.path.join(folder, ".gitignore")) if ".gitignore" in names else None
        if spec is not self._specs.get(folder):
            self._verdicts.clear()
            if spec is None:
                del self._specs[folder]
            else:
                self._specs[folder] = spec
        return True

    def leaves_out(self, folder: str) -> bool:
        """Tell whether a folder below the root is not to be looked into."""
        if os.path.basename(folder) in PRUNED:
            return True
        known = self._verdicts.get(folder)
        if known is None:
            known = self._verdicts[folder] = self._is_ignored(folder)
        return known

    def _is_ignored(self, folder: str) -> bool:
        """Tell whether git ignores a folder: the innermost file that speaks of it decides."""
        relative = os.path.relpath(folder, self._root)
        if not TOOLS.isdisjoint(relative.split(os.sep)):
            return False
        place = os.path.dirname(folder)
        while len(place) > len(self._root):
            said = _says(self._specs.get(place), folder, place)
            if said is not None:
                return said
            place = os.path.dirname(place)
        answers = (_says(spec, folder, place) for place, spec in reversed(self._above))
        return next((said for said in answers if said is not None), False)


def find_folders(root: str) -> list[str]:
    """Return the folders from the top of the repository that holds a root, to the root. Blocks."""
    folders = [root]
    while not os.path.lexists(os.path.join(folders[-1], ".git")):
        parent = os.path.dirname(folders[-1])
        if parent == folders[-1]:
            return [root]
        folders.append(parent)
    return folders[::-1]


def is_left_out(root: str, path: str) -> bool:
    """Tell whether a file below a root lies in a folder that is left out. Blocks."""
    ignores = Ignores(root)
    ignores.begin()
    folder = root
    for name in os.path.relpath(os.path.dirname(path), root).split(os.sep):
        if name in (os.curdir, ""):
            continue
        folder = os.path.join(folder, name)
        inside = [
            each for each in (".git", ".gitignore") if os.path.isfile(os.path.join(folder, each))
        ]
        if ignores.leaves_out(folder) or not ignores.enters(folder, inside):
            return True
    return False


def _says(spec: GitIgnoreSpec | None, folder: str, place: str) -> bool | None:
    """Return what an ignore file in one place says of a folder; None when it says nothing."""
    return None if spec is None else spec.check_file(os.path.relpath(folder, place) + "/").include


def _spec(path: str) -> GitIgnoreSpec | None:
    """Return what an ignore file says, read again only when it looks different."""
    try:
        found = os.stat(path)
        return _parsed(path, (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino))
    except (OSError, ValueError):
        return None


@lru_cache(REMEMBERED)
def _parsed(path: str, _stamp: tuple[int, ...]) -> GitIgnoreSpec | None:
    """Return what an ignore file says; None for nothing. Raises `OSError`."""
    text = (read_regular(path, most=LARGEST) or b"").decode("utf-8", "surrogateescape")
    # Neither empty nor a comment.
    lines = (line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    tame = list(filter(_is_tame, lines))
    if not tame:
        return None
    try:
        return GitIgnoreSpec.from_lines(tame)
    except ValueError:
        return GitIgnoreSpec.from_lines([line for line in tame if _is_valid(line)])


def _is_tame(line: str) -> bool:
    """Tell whether a pattern can be matched without trying for long."""
    if line.count("**") > DOUBLE_STARS:
        return False
    return all(part == "**" or part.count("*") <= STARS for part in line.split("/"))


def _is_valid(line: str) -> bool:
    """Tell whether git would take a line for a pattern."""
    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


def _is_worktree(path: str) -> bool:
    """Tell whether a `.git` file names a linked worktree; a submodule's names a module."""
    try:
        with open(path, "rb") as opened:
            return b"/worktrees/" in opened.read(4096)
    except OSError:
        return False


#: Where Linux lists the mounts of this process.
TABLE = "/proc/self/mountinfo"

#: File systems that others may write to, unheard by this kernel: those of networks, of a
#: virtual machine's host, and everything that a program makes up (FUSE).
SILENT = frozenset(
    "nfs nfs3 nfs4 cifs smb3 smbfs smb2 ncpfs ncp afs auristorfs coda ceph glusterfs lustre gpfs"
    " beegfs orangefs pvfs2 ocfs2 gfs2 acfs panfs 9p v9fs virtiofs vboxsf vmhgfs prl_fs drvfs"
    " fakeowner davfs fuse fusectl osxfs grpcfuse".split()
)

#: Of FUSE, what is a disk of this machine after all.
_LOCAL = frozenset({"fuse.lxcfs", "fuse.overlayfs", "fuse.fuse-overlayfs", "fuse.mergerfs"})

#: The column of a mount's folder.
_FOLDER = 4

#: How the table writes a space, a tab, a line end and a backslash: in octal.
_ESCAPED = re.compile(r"\\([0-7]{3})")


def read_mounts(table: str = TABLE) -> dict[str, str]:
    """Return the file system of each mount by its folder (reads a file of the kernel's, no disk).

    Of two mounts on one folder the later one counts. Empty where there is no such table.
    """
    try:
        with open(table, encoding="utf-8", errors="surrogateescape") as opened:
            lines = opened.read().splitlines()
    except OSError:
        return {}
    found = {}
    for line in lines:
        before, _, after = line.partition(" - ")
        fields, kind = before.split(" "), after.split(" ")[0]
        if len(fields) > _FOLDER and kind:
            found[_ESCAPED.sub(lambda digits: chr(int(digits[1], 8)), fields[_FOLDER])] = kind
    return found


def find_silent(folders: Iterable[str], known: Mapping[str, str]) -> frozenset[str]:
    """Return those of some folders (real paths) whose events are silent."""
    return frozenset(each for each in folders if is_silent(find_kind(each, known)))


def is_silent(kind: str) -> bool:
    """Tell whether others may write to a file system unheard, given its name."""
    return kind in SILENT or (kind.startswith("fuse.") and kind not in _LOCAL)


def find_kind(folder: str, known: Mapping[str, str]) -> str:
    """Return the file system a folder lies on: that of the nearest mount above it."""
    place = folder
    while place not in known:
        parent = os.path.dirname(place)
        if parent == place:
            return ""
        place = parent
    return known[place]
