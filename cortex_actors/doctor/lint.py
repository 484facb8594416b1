r"""Lint: what is wrong in the instruction files of a project, found without a daemon or a model.

Contradictions and duplicates are those of the daemon's own rules, without a cosine: what the texts
themselves show. A contradiction counts in one place, as it does there: files that speak for other
folders or globs do not disagree. A duplicate is worth a report where both are rules and one is
read wherever the other is, unless one file is a copy of the other, which is not edited by itself.

References of instruction files that lead nowhere: paths, package scripts and make targets.

Only what is sure is reported, because a false alarm costs more than a miss. A path is the project's
own if it is a link or an import, or if it names a file by its ending (or a folder by a final slash)
below a folder that exists. It may begin at any folder of the project, as texts about one package
name it. Left out is what the text is about to create, generates, forbids or shows as an example,
what git ignores, what lies in a submodule, and what holds a placeholder. Targets and scripts are
looked up in all makefiles and `package.json` together; `just`, `task`, `deno` and the like are not
read. A Windows path is no reference: `src\app.ts` may be an escape.
"""

from __future__ import annotations

import fnmatch
import json
import os
import posixpath
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import accumulate, combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from cortex_actors.domain.insight import Claim, Conflict, Relation
from cortex_actors.domain.project import StatementKind
from cortex_actors.errors import BadInput, NotFound
from cortex_actors.files.ignores import Ignores, find_folders, is_left_out
from cortex_actors.rules import contradiction
from cortex_actors.text.claims import read
from cortex_actors.text.hazards import is_boilerplate
from cortex_actors.text.lexicon import load_patterns, load_standard, load_table
from cortex_actors.text.markdown import (
    HeadingTrail,
    LineKind,
    classify_lines,
    parse_heading,
    require_utf8,
    split_lines,
)
from cortex_actors.text.sections import find_dialect, find_folder, find_imports
from cortex_actors.text.statements import find_statements

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

#: Statements that have a word in common beyond which it tells nothing of what they are about.
COMMON: Final = 40

#: Words of a text that is worth a report when it is there twice.
FEWEST_WORDS: Final = 5

#: How the line of a nested text begins, and that of a step.
_PART = re.compile(rb"\s|\d+[.)]\s")


class Rule(StrEnum):
    """What a finding is of."""

    CONTRADICTION = "contradiction"
    DUPLICATE = "duplicate"
    STALE = "stale-reference"


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in a file: its path from the project's root, first and last line, and the text."""

    path: str
    line: int
    last: int
    text: str


@dataclass(frozen=True, slots=True)
class Flaw:
    """One thing that is wrong: where, why, and the other place where there are two."""

    rule: Rule
    spot: Spot
    why: str
    other: Spot | None = None


@dataclass(frozen=True, slots=True)
class Linted:
    """What was looked at in one project, and found, in the order of files and lines.

    `unread` are files that could not be checked: path -> why.
    """

    root: str
    files: tuple[str, ...]
    findings: tuple[Flaw, ...]
    unread: dict[str, str]


@dataclass(frozen=True, slots=True)
class _Stated:
    """A statement of the project as it is judged."""

    spot: Spot
    claim: Claim
    kind: StatementKind
    #: Whether it belongs to a list item above it, or is a step: it is about what it is below.
    is_part: bool


def lint(paths: Sequence[Path]) -> list[Linted]:
    """Return what is wrong in the files of some folders, a result for each project. Blocks.

    A folder, or a file, is judged with all files of its repository; without one, or if git ignores
    it, a folder is a project by itself. What touches none of the paths is left out. Raises
    `NotFound` for a path that does not exist, `BadInput` for a file that instructs no agent.
    """
    asked: dict[str, set[str]] = defaultdict(set)
    for path in paths:
        if not path.exists():
            raise NotFound(f"cannot check {path}: there is no such file or folder; give one")
        real = os.path.realpath(path)
        folder = real if path.is_dir() else posixpath.dirname(real)
        root = find_folders(folder)[0]
        if folder == real and is_left_out(root, posixpath.join(real, "CLAUDE.md")):
            root = real
        inside = os.path.relpath(real, root)
        if path.is_file() and find_dialect(inside) is None:
            raise BadInput(
                f"cannot check {path}: it is no instruction file; give a CLAUDE.md, AGENTS.md or "
                "the like, or a folder"
            )
        asked[root].add(inside)
    return [_linted(root, inside) for root, inside in asked.items()]


def _linted(root: str, inside: set[str]) -> Linted:
    """Return what is wrong with the files at some paths of a project."""
    checkout = Checkout(root)
    unread: dict[str, str] = {}
    findings: list[Flaw] = []
    said: list[_Stated] = []
    files = _files(checkout, inside)
    for path in files:
        try:
            data = Path(root, path).read_bytes()
            require_utf8(data, path=path)
            said += _said(data, path)
            findings += find_stale(data, path, checkout=checkout)
        except (BadInput, OSError) as error:
            # Which file it is will be said in front of it.
            why = str(error).partition(f"{path} as text: ")[2] or str(error)
            unread[path] = getattr(error, "strerror", None) or why
    findings += _judged(said)
    findings.sort(key=lambda each: (each.spot.path, each.spot.line, each.rule))
    asked = [path for path in files if any(_holds(each, path) for each in inside)]
    about = (({each.spot.path, (each.other or each.spot).path}, each) for each in findings)
    ours = tuple(each for paths, each in about if not paths.isdisjoint(asked))
    return Linted(
        root, tuple(asked), ours, {each: unread[each] for each in asked if each in unread}
    )


def _files(checkout: Checkout, inside: Iterable[str]) -> list[str]:
    """Return the instruction files of a project, without links to one another."""
    named = (each for each in inside if Path(checkout.root, each).is_file())
    known = {path: Path(checkout.root, path) for path in {*checkout.files, *named}}
    # Of several paths to one file the last counts: the file itself, else its first link.
    links = sorted(filter(find_dialect, known), reverse=True)
    links.sort(key=lambda path: not known[path].is_symlink())
    return sorted({os.path.realpath(known[path]): path for path in links}.values())


def _holds(folder: str, path: str) -> bool:
    """Tell whether a folder is the root, or another path is it, or below it."""
    return folder in {"", "."} or f"{path}/".startswith(f"{folder}/")


def _said(data: bytes, path: str) -> Iterator[_Stated]:
    """Yield what a file says; what tools write into every file says nothing."""
    dialect = find_dialect(path)
    scope = find_folder(path)
    parts = [_PART.match(line) is not None for line in data.splitlines()]
    for fragment in dialect.parse(data, path=path, project="") if dialect else ():
        where = ",".join((scope, *fragment.applies_to)) if fragment.applies_to else scope
        for each in find_statements(fragment):
            if not is_boilerplate(each.text):
                claim = Claim(" ".join(each.text.split()), each.heading or None, where)
                spot = Spot(path, each.line_start, each.line_end, each.text)
                yield _Stated(spot, claim, each.kind, parts[each.line_start - 1])


def _judged(said: Sequence[_Stated]) -> Iterator[Flaw]:
    """Yield the pairs that contradict each other or say the same, each once."""
    first: dict[tuple[str, str], _Stated] = {}
    copies = _copies(said)
    for each in said:
        again = first.setdefault((each.claim.text, each.claim.scope), each)
        if again is not each and _is_twice(again, each, copies=copies):
            yield Flaw(Rule.DUPLICATE, each.spot, "the same text", again.spot)
    seen: set[frozenset[str]] = set()
    for one, other in _candidates(list(first.values())):
        found = contradiction.judge(
            one.claim,
            other.claim,
            cosine=None,
            kinds=(one.kind, other.kind),
            siblings=one.claim.heading == other.claim.heading and one.spot.path == other.spot.path,
        )
        is_wrong = found.contradicts and found.conflict is not Conflict.CONTEXTUAL
        is_same = found.relation is Relation.SAME and _is_twice(one, other, copies=copies)
        # Where a file is a copy of another, a pair is there twice.
        pair = frozenset((one.claim.text, other.claim.text))
        if (is_wrong or is_same) and pair not in seen:
            seen.add(pair)
            rule = Rule.CONTRADICTION if is_wrong else Rule.DUPLICATE
            yield Flaw(rule, other.spot, found.reason, one.spot)


def _is_twice(one: _Stated, other: _Stated, *, copies: set[tuple[str, str]]) -> bool:
    """Tell whether two statements that say the same are worth a report."""
    if one.is_part and other.is_part and one.claim.heading != other.claim.heading:
        return False
    scopes = sorted((one.claim.scope, other.claim.scope), key=len)
    return (
        one.kind is other.kind is StatementKind.RULE
        and min(len(each.claim.text.split()) for each in (one, other)) >= FEWEST_WORDS
        and _holds(*scopes)
        and (one.spot.path, other.spot.path) not in copies
        # What only one person keeps is their own.
        and not any(each.spot.path.endswith(".local.md") for each in (one, other))
    )


def _copies(said: Iterable[_Stated]) -> set[tuple[str, str]]:
    """Return the pairs of files of which one is a copy of the other."""
    texts: dict[str, set[str]] = defaultdict(set)
    for each in said:
        texts[each.spot.path].add(each.claim.text)
    return {
        pair
        for one, other in combinations(texts, 2)
        for pair in ((one, other), (other, one))
        # Share of the smaller file's statements, two at least, from which it is a copy of the
        # other.
        if len(texts[one] & texts[other]) >= max(2, 0.5 * min(len(texts[one]), len(texts[other])))
    }


def _candidates(said: Sequence[_Stated]) -> Iterator[tuple[_Stated, _Stated]]:
    """Yield the pairs that have rare words in common, or share a slot.

    Comparing all pairs would take minutes for the files of one large project.
    """
    by_word: dict[str, list[int]] = defaultdict(list)
    by_slot: dict[str, list[int]] = defaultdict(list)
    for number, each in enumerate(said):
        for word in set(read(each.claim, load_standard()).stems):
            by_word[word].append(number)
        for slot in contradiction.find_slots(each.claim):
            by_slot[slot].append(number)
    shared: Counter[tuple[int, int]] = Counter()
    for numbers in by_word.values():
        if len(numbers) <= COMMON:
            shared.update(combinations(numbers, 2))
    pairs = {pair for pair, count in shared.items() if count > 1}
    pairs.update(pair for numbers in by_slot.values() for pair in combinations(numbers, 2))
    for one, other in sorted(pairs):
        yield said[one], said[other]


#: Files and folders of a project at most: of a larger one no reference is reported.
MOST = 200_000

#: Characters that are read of a makefile, a `package.json` or `.gitmodules`.
LARGEST = 1 << 20

_TABLE = load_table("references", package="doctor")
_WORDS = {name: frozenset(some.split()) for name, some in _TABLE["words"].items()}
_PATTERNS = load_patterns("references", package="doctor")
_LINK, _PATH, _BEHIND, _CODE, _SCHEME, _UP, _ENDING = (
    _PATTERNS[name] for name in "link path behind code scheme up ending".split()
)


class Checkout:
    """What the folder of a project holds, without what git ignores; paths are relative to it."""

    def __init__(self, root: str) -> None:
        """Look at everything below a folder. Blocks."""
        self.root = root
        self.files: set[str] = set()
        self.folders: set[str] = set()
        self._ignores = Ignores(root)
        self._ignores.begin()
        for folder, names, inside in os.walk(root):
            if not self._ignores.enters(folder, inside) or not self.is_whole:
                names.clear()
                continue
            names[:] = [
                each for each in names if not self._ignores.leaves_out(posixpath.join(folder, each))
            ]
            prefix = posixpath.join(folder.removeprefix(root).lstrip("/"), "")
            self.files.update(f"{prefix}{each}" for each in inside)
            self.folders.update(f"{prefix}{each}" for each in names)

    @property
    def is_whole(self) -> bool:
        """Whether all there is was looked at."""
        return len(self.files) + len(self.folders) <= MOST

    @cached_property
    def scripts(self) -> frozenset[str] | None:
        """Scripts and dependencies of all `package.json`; None where one of these is no JSON."""
        found: set[str] = set()
        for path in self.find_named("package.json"):
            try:
                package: Any = json.loads(self._text(path))
                for each in ("scripts", "dependencies", "devDependencies"):
                    found.update(package.get(each) or {})
            except (ValueError, AttributeError, TypeError):
                return None
        return frozenset(found)

    @cached_property
    def targets(self) -> re.Pattern[str] | None:
        """What matches the targets of every makefile; None where their text does not say all."""
        if self._modules or not _WORDS["generators"].isdisjoint(self._last):
            return None
        found = []
        for path in self.files:
            name = path.rpartition("/")[2]
            if name not in _WORDS["makefiles"] and not name.endswith((".mk", ".make")):
                continue
            text = self._text(path)
            wanted = " ".join(_PATTERNS["include"].findall(text)).split()
            known = (fnmatch.filter(self._last, each.rpartition("/")[2]) for each in wanted)
            if "$(eval" in text or not all(known):
                return None
            rules = [rule[1] for rule in map(_PATTERNS["target"].match, text.splitlines()) if rule]
            if any(_PATTERNS["call"].search(each) for each in rules):
                return None
            found += [each for rule in rules for each in rule.split()]
        # The value of a variable or a pattern may be anything.
        parts = (re.split(r"\$[({][^)}]*[)}]|\$.|%", each) for each in dict.fromkeys(found))
        return re.compile("|".join(".*".join(map(re.escape, each)) for each in parts) or "(?!)")

    def holds(self, path: str, *, beside: str) -> bool:
        """Tell whether a path names something here; `beside` is the folder of who says it."""
        wanted = path.rstrip("/")
        if any(posixpath.lexists(posixpath.join(self.root, base, wanted)) for base in (beside, "")):
            return True
        plain = _UP.sub("", wanted)
        stem, _, ending = plain.rpartition(".")
        forms = {plain, *(f"{stem}.{each}" for each in _TABLE["sources"].get(ending, ()))}
        return any(
            f"/{known}".endswith(f"/{form}") or f"/{known}".rsplit(".", 1)[0].endswith(f"/{form}")
            for form in forms
            for known in self._last.get(form.rpartition("/")[2].split(".", 1)[0], ())
        )

    def owns(self, path: str, *, beside: str) -> bool:
        """Tell whether a path begins at a folder of this project."""
        first = _UP.sub("", path).split("/", 1)[0]
        return first in self.folders or posixpath.join(beside, first) in self.folders

    def leaves_out(self, path: str, *, beside: str) -> bool:
        """Tell whether git ignores a path, or would; or whether it lies elsewhere."""
        for base in (beside, ""):
            whole = posixpath.normpath(posixpath.join(base, path))
            if whole.startswith("../") and base != beside:
                continue
            if f"{whole}/".startswith(("../", *self._modules)):
                return True
            places = accumulate(whole.split("/"), posixpath.join)
            if any(self._ignores.leaves_out(posixpath.join(self.root, each)) for each in places):
                return True
        return False

    def find_nearest(self, path: str) -> str:
        """Return the only other path with the last part of one; "" for none, or several."""
        name = path.rstrip("/").rpartition("/")[2]
        known = self._last.get(name, ())
        found = [each for each in known if each.rpartition("/")[2] == name]
        return found[0] if len(found) == 1 else ""

    @cached_property
    def _last(self) -> dict[str, list[str]]:
        """Name of a file or a folder, whole and up to its first dot -> the paths."""
        found: dict[str, list[str]] = {}
        for path in (*self.files, *self.folders):
            name = path.rpartition("/")[2]
            for each in {name, name.split(".", 1)[0]}:
                found.setdefault(each, []).append(path)
        return found

    @cached_property
    def _modules(self) -> tuple[str, ...]:
        """The folders of submodules, which may be empty here."""
        text = self._text(".gitmodules") if ".gitmodules" in self.files else ""
        return tuple(f"{each}/" for each in re.findall(r"(?m)^\s*path\s*=\s*(\S+)", text))

    def find_named(self, name: str) -> list[str]:
        """Return the files of a name, with whatever behind its first dot if it has none."""
        return [each for each in self._last.get(name, ()) if each in self.files]

    def _text(self, path: str) -> str:
        """Return the beginning of a file; nothing of one that cannot be read."""
        try:
            with Path(self.root, path).open(encoding="utf-8", errors="replace") as opened:
                return opened.read(LARGEST)
        except OSError:
            return ""


def find_stale(data: bytes, path: str, *, checkout: Checkout) -> list[Flaw]:
    """Return what a file names and its project does not have, by line (from 1) and name.

    `path` is relative to the checkout's root. Raises `NotText`, `FileTooLarge`.
    """
    text = split_lines(data, path=path)
    reader = _Mentions(checkout, posixpath.dirname(path))
    found: dict[tuple[int, str], Flaw] = {}
    for number, (line, kind) in enumerate(zip(text, classify_lines(text), strict=True), start=1):
        for name, why in reader.read(line.text, kind):
            spot = Spot(path, number, number, name)
            found.setdefault((number, name), Flaw(Rule.STALE, spot, why))
    return list(found.values()) if checkout.is_whole else []


class _Mentions:
    """Where a reader is: below which heading and lead-in, in which fence."""

    def __init__(self, checkout: Checkout, beside: str) -> None:
        self._checkout, self._beside = checkout, beside
        self._trail = HeadingTrail()
        self._lead = ""
        #: The language of the fence that a line is in, if people type it; None outside.
        self._language: str | None = None

    def read(self, text: str, kind: LineKind) -> Iterator[tuple[str, str]]:
        """Yield what a line names and is not there, with what is wrong."""
        if kind is LineKind.OPAQUE:
            if self._language == "" or self._language in _WORDS["shells"]:
                yield from self._typed(text)
            return
        fence = _PATTERNS["fence"].match(text)
        self._language = fence[1].lower() if fence and kind is LineKind.TEXT else None
        if fence or kind is not LineKind.TEXT:
            return
        text = _PATTERNS["comment"].sub("", text)
        self._come_to(text)
        for name in find_imports([text]) if "@" in text else ():
            if name.endswith(".md") or self._checkout.owns(name, beside=self._beside):
                yield from self._path(name)
        if not self._is_hypothetical(text):
            yield from self._named(text)

    def _come_to(self, text: str) -> None:
        """Take a line as what those below it are under, if it is a heading or a lead-in."""
        if found := parse_heading(text):
            self._trail.enter(found)
            self._lead = ""
        elif text.rstrip(" *_").endswith(":"):
            self._lead = text
        elif text[:1].isalpha():
            self._lead = ""

    def _is_hypothetical(self, text: str) -> bool:
        """Tell whether what a line names need not be there, by its words or those above it."""
        said = (_LINK.sub("", _CODE.sub("`", each)) for each in (self._lead, text))
        return any(map(_PATTERNS["hypothetical"].search, said)) or any(
            map(_PATTERNS["above"].search, self._trail.texts)
        )

    def _typed(self, text: str) -> Iterator[tuple[str, str]]:
        """Yield what a line of a fence runs that is not there."""
        if _PATTERNS["elsewhere"].search(text):
            # What follows is typed in another folder.
            self._language = "elsewhere"
        elif not self._is_hypothetical(""):
            yield from self._commands(text.split("#", 1)[0])

    def _named(self, text: str) -> Iterator[tuple[str, str]]:
        """Yield the paths and commands that a line of text names."""
        for _, code in _CODE.findall(text):
            yield from self._commands(code)
            name = _BEHIND.sub("", code)
            if not _PATH.fullmatch(name) or not self._checkout.owns(name, beside=self._beside):
                continue
            if _ENDING.search(name) or (
                name.endswith("/") and not _PATTERNS["addresses"].search(text)
            ):
                yield from self._path(name)
        for link in _LINK.findall(_CODE.sub("`", text)):
            name = unquote(_BEHIND.sub("", link.removeprefix("mdc:")))
            if name and not _SCHEME.match(link.removeprefix("mdc:")) and _ENDING.search(name):
                yield from self._path(name)

    def _commands(self, text: str) -> Iterator[tuple[str, str]]:
        """Yield the scripts and targets that a command line runs and nothing defines."""
        here = self._checkout
        for step in _PATTERNS["steps"].split(text):
            run, make = _PATTERNS["script"].match(step), _PATTERNS["make"].match(step)
            # The others run programs of dependencies as well, whose names nothing here tells.
            is_script = run and (run[1] == "npm" or ":" in run[2] or run[2] in _WORDS["usual"])
            if run and is_script and here.scripts is not None and run[2] not in here.scripts:
                yield run[2], f"no package.json has a script {run[2]}"
            is_target = make and here.targets is not None and not here.targets.fullmatch(make[1])
            # By its own rules make builds `atlas` from `atlas.c`.
            if make and is_target and not here.find_named(make[1]):
                yield make[1], f"no makefile has a target {make[1]}"

    def _path(self, name: str) -> Iterator[tuple[str, str]]:
        """Yield a path that is not there."""
        checkout, beside = self._checkout, self._beside
        if _SCHEME.match(name) or _PATTERNS["placeholder"].search(name):
            return
        if not checkout.holds(name, beside=beside) and not checkout.leaves_out(name, beside=beside):
            near = checkout.find_nearest(name)
            yield name, f"there is no {name}" + (f"; there is {near}" if near else "")
