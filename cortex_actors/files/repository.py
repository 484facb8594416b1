"""Origins: which repository a folder is a checkout of, found out without running git.

Two checkouts of one repository are one voice, and so are two folders of it that are followed as two
projects: what both say was written once. A repository is known by its remote, whatever way leads
there (ssh, https, a clone on this disk); without one by its first commit while git's log of the
branch still has it; and else by where it lies.

Nothing is run and nothing is believed: a file that cannot be read, or is too large, says nothing.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from cortex_actors.home import read_regular

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Remotes in the order in which they say what a checkout is one of: a fork keeps the repository
#: that it came of as `upstream`.
PREFERRED = ("upstream", "origin")

#: What an origin begins with that is a place on this disk, and one that is a first commit.
PLACE, COMMIT = "git:", "commit:"

#: Bytes of one of git's files that are looked at: a configuration has hundreds.
LARGEST = 1 << 20

#: Clones of clones on this disk that are followed to what they were cloned of.
STEPS = 4

# Blanks are taken all or not at all: a line of a million of them costs one look, not one for each.
_SECTION = re.compile(r"\[\s*([\w.-]+)\s*+(?:\"((?:[^\"\\]|\\.)*+)\"\s*+)?\]")
# A password may hold an `@`: what is before the last one is a user, and is private.
_URL = re.compile(
    r"([a-zA-Z][a-zA-Z0-9+.-]{0,30})://(?:[^/]*@)?(\[[^\]]*\]|[^/:@]*)(?::\d*)?(/.*)?"
)
_SCP = re.compile(r"(?:[^/@]+@)?([^/:@]{2,}):(?!//)(.*)", re.DOTALL)

#: The line that git writes for the first commit of a repository that was made here.
_INITIAL = re.compile(r"0{40,64} ([0-9a-f]{40,64}) [^\t\n]*\tcommit \(initial\)")


def find_origin(root: str) -> str | None:
    """Return which repository a folder belongs to; None where git knows nothing of it. Blocks.

    The text is an address without scheme, user and port (`github.com/acme/atlas`), `commit:` and a
    first commit, or `git:` and a path. Raises nothing.
    """
    try:
        around = find_top(root)
        shared = None if around is None else _shared(Path(around, ".git"))
        return None if shared is None else _of(shared, STEPS)
    except (OSError, ValueError):
        return None


def find_top(folder: str) -> str | None:
    """Return the top folder of the clone or worktree around a folder; None outside any. Blocks."""
    try:
        whole = Path(os.path.realpath(folder))
        tops = (each for each in (whole, *whole.parents) if _shared(each / ".git") is not None)
        found = next(tops, None)
        return None if found is None else str(found)
    except (OSError, ValueError):
        return None


def is_weak(found: str | None) -> bool:
    """Tell whether an origin says only where a repository lies, or nothing at all."""
    return found is None or found.startswith(PLACE)


def parse_address(url: str) -> str | None:
    """Return a remote's address without what depends on the way there; None for a path here."""
    if (whole := _URL.fullmatch(url)) is not None:
        scheme, host, path = whole[1].lower(), whole[2], whole[3] or ""
        return None if scheme == "file" else _plain(host, path)
    short = _SCP.fullmatch(url)
    return _plain(short[1], short[2]) if short is not None else None


def _of(shared: Path, steps: int) -> str:
    """Return the origin of a repository whose own folder that is."""
    if (url := _remote(shared)) is not None:
        if (found := parse_address(url)) is not None:
            return found
        if steps and (clone := _clone(url, shared)) is not None:
            return _of(clone, steps - 1)
    first = _INITIAL.match(_text(shared / "logs" / "HEAD"))
    return COMMIT + first[1] if first is not None else f"{PLACE}{shared}"


def find_git_folder(path: Path) -> Path | None:
    """Return where git keeps a working tree's own state, by what `.git` is; None without one."""
    if path.is_dir():
        return path
    named = _text(path)
    if not named.startswith("gitdir:"):
        return None
    return path.parent / named.removeprefix("gitdir:").strip()


def _shared(path: Path) -> Path | None:
    """Return the folder that all working trees of a repository share, by what `.git` is in one."""
    folder = find_git_folder(path)
    if folder is None:
        return None
    common = _text(folder / "commondir").strip()
    whole = Path(os.path.realpath(folder / common))
    return whole if whole.is_dir() else None


def _clone(url: str, shared: Path) -> Path | None:
    """Return the shared folder of the repository on this disk that another was cloned of."""
    path = url[len("file://") :] if url.lower().startswith("file://") else url
    whole = os.path.realpath(shared.parent / path)
    for each in (Path(whole), Path(f"{whole}.git")):
        found = _shared(each / ".git")
        if found is None and (each / "objects").is_dir():
            found = each
        if found is not None and found != shared:
            return found
    return None


def _remote(shared: Path) -> str | None:
    """Return the first address of the remote that says most; None where there is no remote."""
    found: dict[str, str] = {}
    name: str | None = None
    for line in _text(shared / "config").splitlines():
        text = line.strip()
        if (head := _SECTION.match(text)) is not None:
            name = head[2] if head[1].lower() == "remote" else None
            text = text[head.end() :].strip()
        for key, value in _pairs(text):
            if name is not None and key == "url":
                found.setdefault(name, value)
    names = [*PREFERRED, *sorted(found.keys() - set(PREFERRED))]
    return next((found[each] for each in names if each in found), None)


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    """Yield the key and value of a line, if it has them."""
    key, sign, rest = text.partition("=")
    if not sign or text.startswith(("#", ";")):
        return
    value = rest.strip()
    if value.startswith('"'):
        value = value[1:].partition('"')[0]
    else:
        value = re.split(r"\s[#;]", value, maxsplit=1)[0].strip()
    if value:
        yield key.strip().lower(), value


def _plain(host: str, path: str) -> str | None:
    """Return host and path as one text that is the same for every way to write them."""
    # What follows a question mark, or a hash, may be a key.
    plain = re.split(r"[?#]", path, maxsplit=1)[0].strip()
    short = plain.strip("/").removesuffix(".git").strip("/")
    name = host.lower().removeprefix("www.").rstrip(".")
    # Case is dropped on purpose: hosts of repositories do so, too, and one voice too few is safe.
    return f"{name}/{short}".lower() if name and short else None


def _text(path: Path) -> str:
    """Return a file's text, "" for what is no plain file or cannot be read."""
    try:
        return (read_regular(path, most=LARGEST) or b"").decode("utf-8", "surrogateescape")
    except (OSError, ValueError):
        return ""
