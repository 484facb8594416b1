"""Real repositories as a developer would have them: unpacked, chosen, copied, planted in.

A data set is a folder with `instructions/` or `instructions.tar.xz`: in it `index.jsonl` (`repo`,
`path`) and a folder `owner__name` for each repository. What its files say is data, and the archive
is unpacked into temporary folders only.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tarfile
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

#: What the data set is called, packed and unpacked.
ARCHIVE, FOLDER, INDEX = "instructions.tar.xz", "instructions", "index.jsonl"

#: With what the digests of quiet repositories begin: nothing is tuned on these.
QUIET = "cdef"

#: Bytes that a symbolic link has at most, which the data set keeps as a file with its target.
LINK = 60

#: Digits of a digest that names a line or two texts.
DIGITS = 16

#: Which repositories one developer would have, in the folder of the benchmarks.
PORTFOLIOS = Path(__file__).parent / "portfolios.tsv"


@dataclass(frozen=True, slots=True)
class Setup:
    """Repositories that one home follows, and what they are called together."""

    name: str
    repos: tuple[str, ...]

    @property
    def is_quiet(self) -> bool:
        """Whether one of them is quiet."""
        return any(is_quiet(each) for each in self.repos)


@dataclass(frozen=True, slots=True)
class Plant:
    """A sentence of ours that contradicts one of a repository's.

    Attributes:
        path: the file that gets it, after `line`, of which `line_hash` is the digest.
        against: the file and the line that it contradicts, and that line's digest.

    """

    id: str
    repo: str
    kind: str
    path: str
    line: int
    line_hash: str
    against: str
    against_line: int
    against_hash: str
    text: str


def is_quiet(repo: str) -> bool:
    """Tell whether a repository (owner/name) is kept for the end."""
    return hashlib.sha256(repo.encode()).hexdigest()[0] in QUIET


def line_hash(line: str) -> str:
    """Return what a line is known by."""
    return hashlib.sha256(line.strip().encode()).hexdigest()[:DIGITS]


@contextmanager
def unpacked(data: Path) -> Iterator[Path]:
    """Give the folder with the index and a folder for each repository."""
    if (data / INDEX).exists():
        yield data
    elif (data / FOLDER / INDEX).exists():
        yield data / FOLDER
    else:
        with TemporaryDirectory(prefix="cx-data-") as folder:
            with tarfile.open(data / ARCHIVE) as archive:
                archive.extractall(folder, filter="data")
            yield Path(folder) / FOLDER


def read_index(folder: Path) -> dict[str, list[str]]:
    """Return the paths of each repository's files."""
    found: dict[str, list[str]] = defaultdict(list)
    for line in (folder / INDEX).read_text("utf-8").splitlines():
        row = json.loads(line)
        found[row["repo"]].append(row["path"])
    return dict(found)


def read_portfolios(path: Path = PORTFOLIOS) -> list[Setup]:
    """Return the portfolios; a row is a portfolio's name and a repository."""
    found: dict[str, list[str]] = defaultdict(list)
    for row in rows(path):
        found[row["portfolio"]].append(row["repo"])
    return [Setup(name, tuple(repos)) for name, repos in found.items()]


def read_plants(path: Path) -> list[Plant]:
    """Return what is to be planted."""
    numbers = ("line", "against_line")
    return [
        Plant(**{**row, **{each: int(row[each]) for each in numbers}})  # type: ignore[arg-type]
        for row in rows(path)
    ]


def rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a file whose first line names its columns; `#` begins a remark."""
    lines = [each for each in path.read_text("utf-8").splitlines() if each and each[0] != "#"]
    names = lines[0].split("\t")
    return [dict(zip(names, line.split("\t"), strict=True)) for line in lines[1:]]


def copied(data: Path, index: Mapping[str, Sequence[str]], repo: str, into: Path) -> Path:
    """Copy a repository's files into a Git work tree of its name; return its root."""
    root = into / repo.rpartition("/")[2]
    if root.exists():
        root = into / repo.replace("/", "-")
    source = data / repo.replace("/", "__")
    for path in index[repo]:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / path, root / path)
    for path in index[repo]:
        _link(root, root / path)
    _git(root, "init", "-q")
    _git(root, "remote", "add", "origin", f"https://github.com/{repo}.git")
    return root


def plant(root: Path, some: Sequence[Plant]) -> dict[str, tuple[str, int]]:
    """Write sentences into a repository's files; return where what each contradicts is now.

    Raises `ValueError` where a line is not the one that was meant.
    """
    for each in some:
        _check(root / each.path, each.line, each.line_hash, each.id)
        _check(root / each.against, each.against_line, each.against_hash, each.id)
    for each in sorted(some, key=lambda one: -one.line):
        path = root / each.path
        lines = _lines(path)
        lines.insert(each.line, each.text)
        path.write_text("\n".join(lines) + "\n", "utf-8")
    return {each.id: (each.against, _moved(each, some)) for each in some}


def _moved(of: Plant, some: Sequence[Plant]) -> int:
    """Return on which line what is contradicted stands once everything is planted."""
    before = [each for each in some if each.path == of.against and each.line < of.against_line]
    return of.against_line + len(before)


def _check(path: Path, line: int, digest: str, name: str) -> None:
    """Raise `ValueError` unless a file has that line there."""
    lines = _lines(path)
    if not 0 < line <= len(lines) or line_hash(lines[line - 1]) != digest:
        message = f"{name}: line {line} of {path} is another one than was planted after"
        raise ValueError(message)


def _lines(path: Path) -> list[str]:
    return path.read_text("utf-8").split("\n")


def _link(root: Path, path: Path) -> None:
    """Make a file a symbolic link again that holds nothing but a neighbour's name."""
    if path.is_symlink() or path.stat().st_size > LINK:
        return
    text = path.read_text("utf-8", "replace")
    target = path.parent / text
    if "\n" not in text and target.is_file() and target.resolve().is_relative_to(root.resolve()):
        path.unlink()
        path.symlink_to(text)


def _git(root: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(root), *words], check=True)  # noqa: S603, S607
