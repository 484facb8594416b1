"""Lint: what is wrong in the instruction files of a project, found without a daemon or a model.

Contradictions and duplicates are those of the daemon's own rules, without a cosine: what the texts
themselves show. A contradiction counts in one place, as it does there: files that speak for other
folders or globs do not disagree. A duplicate is worth a report where both are rules and one is
read wherever the other is, unless one file is a copy of the other, which nobody edits by itself.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cortex_actors.doctor import references
from cortex_actors.domain.insight import Claim, Conflict, Relation
from cortex_actors.domain.project import StatementKind
from cortex_actors.errors import BadInput, NotFound
from cortex_actors.files.ignores import left_out, repository
from cortex_actors.rules import contradiction
from cortex_actors.text.claims import read
from cortex_actors.text.hazards import is_boilerplate
from cortex_actors.text.lexicon import standard
from cortex_actors.text.markdown import require_utf8
from cortex_actors.text.sections import dialect_of, folder_of
from cortex_actors.text.statements import statements

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

#: Statements that have a word in common beyond which it tells nothing of what they are about.
COMMON: Final = 40

#: Words of a text that is worth a report when it is there twice.
FEWEST_WORDS: Final = 5

#: Share of the smaller file's statements, two at least, from which it is a copy of the other.
COPY: Final = 0.5

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
        root = repository(folder)[0]
        if folder == real and left_out(root, posixpath.join(real, "CLAUDE.md")):
            root = real
        inside = os.path.relpath(real, root)
        if path.is_file() and dialect_of(inside) is None:
            raise BadInput(
                f"cannot check {path}: it is no instruction file; give a CLAUDE.md, AGENTS.md or "
                "the like, or a folder"
            )
        asked[root].add(inside)
    return [_linted(root, inside) for root, inside in asked.items()]


def _linted(root: str, inside: set[str]) -> Linted:
    """Return what is wrong with the files at some paths of a project."""
    checkout = references.Checkout(root)
    unread: dict[str, str] = {}
    findings: list[Flaw] = []
    said: list[_Stated] = []
    files = _files(checkout, inside)
    for path in files:
        try:
            data = Path(root, path).read_bytes()
            require_utf8(data, path=path)
            said += _said(data, path)
            for each in references.lost(data, path, checkout=checkout):
                spot = Spot(path, each.line, each.line, each.name)
                findings.append(Flaw(Rule.STALE, spot, each.why))
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


def _files(checkout: references.Checkout, inside: Iterable[str]) -> list[str]:
    """Return the instruction files of a project, without links to one another."""
    named = (each for each in inside if Path(checkout.root, each).is_file())
    known = {path: Path(checkout.root, path) for path in {*checkout.files, *named}}
    # Of several paths to one file the last counts: the file itself, else its first link.
    links = sorted(filter(dialect_of, known), reverse=True)
    links.sort(key=lambda path: not known[path].is_symlink())
    return sorted({os.path.realpath(known[path]): path for path in links}.values())


def _holds(folder: str, path: str) -> bool:
    """Tell whether a folder is the root, or another path is it, or below it."""
    return folder in {"", "."} or f"{path}/".startswith(f"{folder}/")


def _said(data: bytes, path: str) -> Iterator[_Stated]:
    """Yield what a file says; what tools write into every file says nothing."""
    dialect = dialect_of(path)
    scope = folder_of(path)
    parts = [_PART.match(line) is not None for line in data.splitlines()]
    for fragment in dialect.parse(data, path=path, project="") if dialect else ():
        where = ",".join((scope, *fragment.applies_to)) if fragment.applies_to else scope
        for each in statements(fragment):
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
        if len(texts[one] & texts[other]) >= max(2, COPY * min(len(texts[one]), len(texts[other])))
    }


def _candidates(said: Sequence[_Stated]) -> Iterator[tuple[_Stated, _Stated]]:
    """Yield the pairs that have rare words in common, or take a stand on the same.

    Comparing all pairs would take minutes for the files of one large project.
    """
    by_word: dict[str, list[int]] = defaultdict(list)
    by_slot: dict[str, list[int]] = defaultdict(list)
    for number, each in enumerate(said):
        for word in set(read(each.claim, standard()).stems):
            by_word[word].append(number)
        for slot in contradiction.slots(each.claim):
            by_slot[slot].append(number)
    shared: Counter[tuple[int, int]] = Counter()
    for numbers in by_word.values():
        if len(numbers) <= COMMON:
            shared.update(combinations(numbers, 2))
    pairs = {pair for pair, count in shared.items() if count > 1}
    pairs.update(pair for numbers in by_slot.values() for pair in combinations(numbers, 2))
    for one, other in sorted(pairs):
        yield said[one], said[other]
