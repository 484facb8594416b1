"""Choosing: which principles a file gets, in which order, and which of them it contradicts.

Of the principles nearest to the file those with the best scores that it does not say already; of
two that contradict each other the higher ranked one. It is a function of the principles, of what a
human says in the file and of the settings: our own section has no part in it, so that the same
choice is made again after it was written.

Bench: where a principle is compared with what a file says, statement by statement.

Polarity before similarity here, too: a statement that contradicts the principle is a conflict,
however alike the two are; one that makes the same claim says it already, however unlike they look
to the model. Only where no statement speaks for or against it does the likeness to a whole section
decide. What the project's other files say counts against a principle and never for it: an agent
may read only one of them, but their author meant the whole project.

Offers: the principles that files may be given now, and the name of all that a choice depends on.

A file is rewritten only where that name differs from the one it was last written under, so that
nothing happens while nothing changes.

Sharing: vectors of what several files of one project are compared with, each made once.

What a file says may contradict a principle in every other file of its project, so that all of them
ask for the vectors of the same statements, and most of them at the same time.

Presence: which instruction files a project has at its root, as the formatters ask for it.

Nothing here is written, and nothing but regular files is opened: the writer refuses what else may
be there.

The statements of a file, with their vectors: what a principle may repeat or contradict.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import posixpath
import re
import stat
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from cortex_actors.domain.insight import Claim, Conflict, Relation
from cortex_actors.domain.project import is_own_file
from cortex_actors.errors import BadInput, CortexError, NotWritten
from cortex_actors.home import read_regular
from cortex_actors.pipeline.likeness import UNEMBEDDED
from cortex_actors.render import fence, section
from cortex_actors.render.section import FOLDERS, PLACES, Formatter, Present, Target
from cortex_actors.rules.contradiction import ThresholdTable, judge
from cortex_actors.rules.promotion import RelevanceWeights, compute_score, compute_share
from cortex_actors.rules.standalone import (
    MANIFESTS,
    extract_content,
    find_needs,
    find_tools,
    measure_coverage,
)
from cortex_actors.storage.pipeline import principles, reviews
from cortex_actors.text.claims import find_slots
from cortex_actors.text.lexicon import load_standard
from cortex_actors.text.markdown import MAX_BYTES, split_lines

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from cortex_actors.domain.principle import Principle, ResolutionWish
    from cortex_actors.domain.project import Project
    from cortex_actors.pipeline.reading import FileStatement, PlacedTexts
    from cortex_actors.sections import ResolutionSettings
    from cortex_actors.storage.embeddings import Embed, Matrix
    from cortex_actors.storage.ledger.actor import Connection
    from cortex_actors.text.lexicon import Lexicon


#: Letters of a word that tells what a text is about, where there are no vectors to tell it.
_WORD = re.compile(r"\w{3,}")


#: Cosine from which a file speaks of what a principle asks for, mostly in its own words and more
#: strictly (a statement that names a tool of the principle does so at any), and the share of its
#: words that one section speaks of. Of 108 bullets for two portfolios, read one by one, these and
#: what a rule needs leave out 80 of 81 unwanted ones and 13 of 27 wanted ones; of 42 that were then
#: read for repositories on which nothing was tuned 30 are wanted.
SPOKEN, COVERED = 0.45, 0.4


@dataclass(frozen=True, slots=True)
class FileFindings:
    """What a file, and its project, have to say about a principle.

    Attributes:
        said: why it need not be given: the file says it already; "" when it does not.
        against: the statement that contradicts it, of the file itself if there is one.
        why: in which way it does.

    """

    said: str = ""
    against: FileStatement | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class _Lines:
    """Statements, with their vectors if all have one."""

    lines: Sequence[FileStatement]
    rows: Matrix | None

    @classmethod
    def of(cls, some: Iterable[FileStatement], placed: PlacedTexts) -> _Lines:
        """Return statements of a page; an example is neither for a principle nor against it."""
        lines = [each for each in some if not each.is_example]
        return cls(lines, placed.load_rows([each.embedded for each in lines]))

    def passages(self) -> list[frozenset[str]]:
        """Return the words below each heading."""
        found: dict[str | None, frozenset[str]] = {}
        for each in (line for line in self.lines if not line.claim.scope):
            said = found.get(each.claim.heading, extract_content(each.claim.heading or ""))
            found[each.claim.heading] = said | extract_content(each.claim.text)
        return list(found.values())


class Bench:
    """Compares principles with one page; it belongs to one resolution."""

    def __init__(self, placed: PlacedTexts, by: Chooser) -> None:
        """Read the words of the page. Blocks: some ms for each hundred statements."""
        self._own = _Lines.of(placed.page.lines, placed)
        self._elsewhere = _Lines.of(placed.page.elsewhere, placed)
        self._passages = {id(e): e.passages() for e in (self._own, self._elsewhere)}
        self._sections = placed.load_rows(placed.page.sections)
        files = {each.file for each in placed.page.elsewhere if each.file}
        self._told = {each for each in files if each in placed.page.text}
        self._by = by

    def compare(self, principle: Principle, row: Matrix | None) -> FileFindings:
        """Return what the page says of a principle; `row` is its vector, if it has one."""
        for some in (self._own, self._elsewhere):
            found = self._of(some, principle, row)
            if found.said or found.against is not None:
                return found
        if row is None or self._sections is None:
            return FileFindings()
        # A section as a whole may be as near as one that says it.
        nearest = max(_cosines(self._sections, row))
        is_said = nearest >= self._by.settings.already_said
        return FileFindings(f"a section of the file is as near as {nearest:.2f}" if is_said else "")

    def _of(self, lines: _Lines, principle: Principle, row: Matrix | None) -> FileFindings:
        """Return what statements say of a principle; the surest contradiction counts.

        What another file says in the same words is missing in this one, unless this one leads
        there; what it says of the same otherwise is how the project wants it.
        """
        claim, conflict, named = (
            Claim(principle.content),
            FileFindings(),
            find_tools(principle.content),
        )
        best, spoken, is_repeated = (0.0, -1.0), "", False
        for line, cosine in self._worth(lines, claim, row):
            domain = line.domain if line.domain in principle.domains else None
            thresholds = self._by.limits.choose(domain, domain)
            found = judge(
                claim, line.claim, cosine=cosine, thresholds=thresholds, lexicon=self._by.lexicon
            )
            is_same = found.relation is Relation.SAME
            if is_same and (lines is self._own or line.file in self._told):
                return FileFindings(said=f"{line.where} says {line.claim.text!r}: {found.reason}")
            is_repeated |= is_same
            if not (is_same or found.contradicts or line.is_command or cosine is None):
                least = SPOKEN if named.isdisjoint(find_tools(line.claim.text)) else -1.0
                if cosine >= least:
                    spoken = f"{line.where} speaks of it: {line.claim.text!r}"
            if found.contradicts and named:
                spoken = f"{line.where} chooses another one: {line.claim.text!r}"
            weight = (found.confidence, -1.0 if cosine is None else cosine)
            if found.contradicts and found.conflict is not Conflict.CONTEXTUAL and weight > best:
                best, conflict = weight, FileFindings(against=line, why=found.reason)
        if is_repeated or (conflict.against is not None and not spoken):
            return conflict
        if not spoken and measure_coverage(principle.content, self._passages[id(lines)]) >= COVERED:
            which = "the file" if lines is self._own else "another file of the project"
            spoken = f"a section of {which} speaks of it, in most of its words"
        return FileFindings(said=spoken)

    def _worth(
        self, some: _Lines, claim: Claim, row: Matrix | None
    ) -> Iterator[tuple[FileStatement, float | None]]:
        """Yield the statements that may be about the same thing, with their cosines."""
        if row is None or some.rows is None:
            words = _words(claim.text)
            for line in some.lines:
                if not words.isdisjoint(_words(line.claim.text)):
                    yield line, None
            return
        lexicon, floor = self._by.lexicon or load_standard(), self._by.limits.default.floor
        own = find_slots(claim.text, lexicon)
        for line, cosine in zip(some.lines, _cosines(some.rows, row), strict=True):
            # Most principles have no slot, and then none of the page's is looked for.
            shared = own and cosine < floor and own & find_slots(line.claim.text, lexicon)
            if cosine >= floor or shared:
                yield line, cosine


def _cosines(rows: Matrix, row: Matrix) -> list[float]:
    """Return the cosines of unit rows with another, each of the two rows and nothing else."""
    # No product of matrices: its rounding depends on how many rows are beside each other.
    found = np.einsum("ij,j->i", rows.astype(np.float64), row.astype(np.float64))
    return [min(max(float(each), -1.0), 1.0) for each in found]


def _words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(_WORD.findall(text.lower()))


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Offer:
    """The principles that may be given out, each in the words of a bullet.

    Attributes:
        rows: their vectors, zeros for one that has none.
        name: tells this offer from every other one.
        unapproved: those that no person has approved, with the one project that says each, or "".
        needs: the technologies without which a project has no use for one, by id.
        unfit: why others cannot be read in another project, by id.

    """

    principles: Sequence[Principle] = ()
    rows: Matrix | None = None
    name: str = ""
    unapproved: Mapping[str, str] = field(default_factory=dict)
    needs: Mapping[str, frozenset[str]] = field(default_factory=dict)
    unfit: Mapping[str, str] = field(default_factory=dict)

    def filter_fitting(self, stacks: frozenset[str] | None) -> Offer:
        """Return what a project of those technologies may need; all of it where they are None."""
        if stacks is None:
            return self
        nothing = frozenset[str]()
        return self._some([self.needs.get(e.id, nothing) <= stacks for e in self.principles])

    def may_write(self, principle_id: str, project_id: str) -> bool:
        """Tell whether a principle may be written into a project's files without a question.

        That is what a person approved, and what that project alone says.
        """
        return self.unapproved.get(principle_id, project_id) == project_id

    def split_approved(self, project_id: str) -> tuple[Offer, Offer]:
        """Return what may be written into a project's files, and what waits for a person."""
        may = [self.may_write(each.id, project_id) for each in self.principles]
        return self._some(may), self._some([not each for each in may])

    def _some(self, wanted: Sequence[bool]) -> Offer:
        """Return some of the principles as an offer of the same name."""
        if all(wanted):
            return self
        some = [each for each, is_wanted in zip(self.principles, wanted, strict=True) if is_wanted]
        rows = None if self.rows is None else self.rows[np.asarray(wanted)]
        return replace(self, principles=some, rows=rows)

    def get_row(self, number: int) -> Matrix | None:
        """Return a principle's vector; None where it has none."""
        if self.rows is None or not self.rows.shape[1] or not self.rows[number].any():
            return None
        row: Matrix = self.rows[number]
        return row


@dataclass(frozen=True, slots=True)
class ChosenPrinciple:
    """A principle, how much it matters to the file, and what the file has against it."""

    principle: Principle
    row: Matrix | None
    score: float
    found: FileFindings = FileFindings()


@dataclass(frozen=True, slots=True)
class FileChoice:
    """What a file gets, the best first, those it contradicts behind all others.

    Attributes:
        said: those that were left out because the file says them: text and why.
        opposed: how many because a higher ranked one says the opposite.
        not_near: how many of the nearest because they scored less than the least.
        other_stack: how many because they are about technologies that the project has not got.
        waiting: how many matter enough, too, and wait for a person to approve them.

    """

    chosen: tuple[ChosenPrinciple, ...] = ()
    said: tuple[Mapping[str, str], ...] = ()
    opposed: int = 0
    not_near: int = 0
    other_stack: int = 0
    waiting: int = 0

    @property
    def conflicts(self) -> int:
        """How many of them the project contradicts."""
        return sum(each.found.against is not None for each in self.chosen)


@dataclass(frozen=True, slots=True)
class Chooser:
    """Chooses by the settings; `repeats` lets through what the file says already."""

    settings: ResolutionSettings
    limits: ThresholdTable
    lexicon: Lexicon | None = None
    repeats: bool = False

    def choose(self, offer: Offer, placed: PlacedTexts) -> FileChoice:
        """Return what a file gets. Blocks: some ms for each hundred of its statements."""
        bench = Bench(placed, self)
        kept: list[ChosenPrinciple] = []
        said: list[Mapping[str, str]] = []
        opposed = 0
        fitting = offer.filter_fitting(placed.page.stacks)
        scored = self._scored(fitting, placed)
        enough = self._enough(scored, offer)
        for each in enough:
            if len(kept) >= self.settings.most:
                break
            found = bench.compare(each.principle, each.row)
            why = "it leads to another file" if placed.page.is_pointer else found.said
            if placed.page.is_pointer or (why and not self.repeats):
                said.append({"text": each.principle.content, "why": why})
                continue
            chosen = replace(each, found=found)
            rival = next((e for e in kept if self._opposed(chosen, e)), None)
            if rival is None:
                kept.append(chosen)
                continue
            opposed += 1
            one, other = chosen.principle, rival.principle
            # Of the two the higher ranked one is given.
            if (one.rank, other.id) > (other.rank, one.id):
                kept[kept.index(rival)] = chosen
        order = sorted(kept, key=lambda each: each.found.against is not None)
        others = len(offer.principles) - len(fitting.principles)
        return FileChoice(tuple(order), tuple(said), opposed, len(scored) - len(enough), others)

    def count_chosen(self, offer: Offer, placed: PlacedTexts) -> int:
        """Return how many matter enough that the file does not say already. Blocks as `choose`."""
        if placed.page.is_pointer:
            return 0
        bench, fitting = Bench(placed, self), offer.filter_fitting(placed.page.stacks)
        near = self._enough(self._scored(fitting, placed), offer)
        return sum(self.repeats or not bench.compare(e.principle, e.row).said for e in near)

    def _enough(self, scored: Iterable[ChosenPrinciple], offer: Offer) -> list[ChosenPrinciple]:
        """Return what a file may get: all that a person approved, first, and what is near it."""
        least, waiting = self.settings.least, offer.unapproved
        order = sorted(scored, key=lambda each: each.principle.id in waiting)
        return [e for e in order if e.score >= least or e.principle.id not in waiting]

    def _scored(self, offer: Offer, placed: PlacedTexts) -> list[ChosenPrinciple]:
        """Return the nearest principles, those that matter most first.

        Without vectors those of the highest rank are the nearest. What a person approved is among
        them however far it is. To a file that says nothing nothing is near: it must not get
        everything that ranks.
        """
        chosen, of_file = self.settings, placed.page.domains
        weights = RelevanceWeights(chosen.semantic, chosen.rank, chosen.domain)
        row = placed.vectors.get(placed.page.text)
        unknown = 0.0 if placed.page.is_silent else None
        cosines: list[float | None] = [unknown] * len(offer.principles)
        if row is not None and offer.rows is not None and offer.rows.shape[1] == len(row):
            near = np.einsum("ij,j->i", offer.rows.astype(np.float64), row.astype(np.float64))
            has = np.asarray(offer.rows.any(axis=1))
            cosines = [float(n) if h else None for n, h in zip(near, has, strict=True)]

        def order(number: int) -> tuple[float, float, str]:
            principle, cosine = offer.principles[number], cosines[number]
            return (-cosine if cosine is not None else 1.0, -principle.rank, principle.id)

        found = []
        for place, number in enumerate(sorted(range(len(cosines)), key=order)):
            each = offer.principles[number]
            if place < chosen.nearest or each.id not in offer.unapproved:
                shared = compute_share(each.domains, of_file)
                value = compute_score(cosines[number], each.rank, share=shared, weights=weights)
                found.append(ChosenPrinciple(each, offer.get_row(number), value))
        return sorted(found, key=lambda each: (-each.score, each.principle.id))

    def _opposed(self, one: ChosenPrinciple, other: ChosenPrinciple) -> bool:
        """Tell whether two principles contradict each other, linked or not."""
        cosine = None
        if one.row is not None and other.row is not None:
            cosine = float(np.dot(one.row.astype(np.float64), other.row.astype(np.float64)))
        left, right = Claim(one.principle.content), Claim(other.principle.content)
        return judge(
            left, right, cosine=cosine, thresholds=self.limits.default, lexicon=self.lexicon
        ).contradicts


#: Which form of choosing and of writing this is: raised when the same inputs give another section.
FORM = 6


def load_offer(connection: Connection, model: str) -> Offer:
    """Return what files may be given; of two that contradict each other one alone.

    In a read transaction, on its thread: 5 ms for each hundred principles.
    """
    found, rows = principles.load_given(connection, model)
    waiting = {each.id for each in found} - reviews.load_approved(connection)
    wanted = _peaceful(found, principles.load_opposed(connection), waiting)
    kept = [number for number, each in enumerate(found) if each.id in wanted]
    homes = reviews.load_homes(connection, waiting)
    unapproved = {each: homes.get(each, "") for each in waiting}
    said = principles.load_places(connection, [found[number].id for number in kept])
    fit, needed, unfit = {}, {}, {}
    for number in kept:
        principle = found[number]
        places = said.get(principle.id, ())
        made = principles.word_principle(principle, places)
        if made.text is None:
            unfit[principle.id] = made.reason
        else:
            fit[number] = replace(principle, content=made.text)
            needed[principle.id] = find_needs(
                made.text, tuple((e.heading, e.scope) for e in places)
            )
    name = hash_offer(connection, model)
    return Offer(list(fit.values()), rows[list(fit)], name, unapproved, needed, unfit)


def hash_offer(connection: Connection, model: str) -> str:
    """Return the name of what files may be given now: a sixth of the cost of reading that."""
    opposed = principles.load_opposed(connection)
    text = json.dumps([principles.hash_given(connection, model), opposed])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def hash_inputs(given: Offer, *parts: str) -> str:
    """Return the name of all that a choice is made of: an offer, and what else there is."""
    text = json.dumps([FORM, given.name, *parts])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _peaceful(
    found: Sequence[Principle], opposed: Iterable[tuple[str, str]], waiting: Collection[str]
) -> set[str]:
    """Return the ids of principles of which no two contradict each other.

    What a person approved comes first, so that nothing else takes its place; then the best ranked.
    """
    against: dict[str, set[str]] = {}
    for one, other in opposed:
        against.setdefault(one, set()).add(other)
        against.setdefault(other, set()).add(one)
    kept: set[str] = set()
    for each in sorted(found, key=lambda one: (one.id in waiting, -one.rank, one.id)):
        if kept.isdisjoint(against.get(each.id, ())):
            kept.add(each.id)
    return kept


@dataclass(eq=False, slots=True)
class Shared:
    """Makes vectors of one model for one wish, and keeps them as long as that is open.

    Who asks second waits for the first. An embedder that is away is not waited for again: the
    files of a wish are all made with it or without it.
    """

    embed: Embed
    _rows: dict[str, Matrix] = field(default_factory=dict)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _away: Exception | None = None

    async def __call__(self, texts: Sequence[str], *, model: str) -> Matrix:
        """Return one row for each text, of which there is at least one; raises as `Embed`."""
        async with self._turn:
            missing = [each for each in dict.fromkeys(texts) if each not in self._rows]
            if missing and self._away is not None:
                raise self._away
            try:
                rows = await self.embed(missing, model=model) if missing else ()
            except UNEMBEDDED as error:
                # A text that cannot be embedded says nothing about the next file's.
                if not isinstance(error, BadInput):
                    self._away = error
                raise
            self._rows.update(zip(missing, rows, strict=True))
        return np.stack([self._rows[each] for each in texts])


def find_present(root: str, *, own: bool = False) -> tuple[Present, ...]:
    """Return which of the places that are written a project, or a person's own, has. Blocks."""
    return tuple(_present(root, filter(is_own_file, PLACES) if own else PLACES, own=own))


def read(path: str) -> bytes | None:
    """Return the bytes of a regular file, as many as it may have; None for anything else. Blocks.

    What cannot be read now is None, too: the writer says why.
    """
    try:
        data = read_regular(path, most=MAX_BYTES, flags=os.O_NOFOLLOW)
    except (OSError, ValueError):
        return None
    return None if data is None or len(data) > MAX_BYTES else data


def read_sections(paths: Iterable[str]) -> dict[str, frozenset[str] | None]:
    """Return what our section says, line by line, in each file that has one now. Blocks.

    Where marks are broken, or gone, that is every line; None for a file that cannot be read now.
    """
    return {path: found for path in paths for found in _section(path)}


def has_bullet(found: Mapping[str, frozenset[str] | None], path: str, text: str) -> bool:
    """Tell whether a bullet is in its file, by what `read_sections` found."""
    lines = found.get(path, frozenset())
    return lines is None or text in lines


def _section(path: str) -> Iterator[frozenset[str] | None]:
    """Yield the lines of a file's section; nothing where there is none."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return
    except (OSError, ValueError):
        return
    data = read(path)
    if data is None:
        yield None
        return
    try:
        if not fence.has_section(data):
            return
        fenced = fence.find(data)
    except (NotWritten, BadInput):
        fenced = None
    body = data if fenced is None else fenced.body
    yield frozenset(body.decode("utf-8", "replace").split("\n"))


def _present(root: str, places: Iterable[str], *, own: bool) -> Iterator[Present]:
    """Yield the places that are there."""
    real = os.path.realpath(root)
    for place in places:
        path = f"{root.rstrip('/')}/{place}"
        if not os.path.lexists(path):
            continue
        end = os.path.relpath(os.path.realpath(path), real)
        yield Present(place, None if end == place else end, _text(path) if end == place else b"")
    for place in () if own else MANIFESTS:
        if os.path.lexists(f"{root.rstrip('/')}/{place}"):
            yield Present(place)
    for folder in () if own else FOLDERS:
        # Not by `Path`, which raises for a root that may not be entered.
        if os.path.isdir(f"{root}/{folder}"):  # noqa: PTH112
            yield Present(folder)


def _text(path: str) -> bytes:
    """Return what a file says; nothing of one that is no text, which is not written."""
    data = read(path) or b""
    try:
        split_lines(data, path=path)
    except BadInput:
        return b""
    return data


@dataclass(frozen=True, slots=True)
class Assignment:
    """One file that is being updated.

    Attributes:
        target: the file, from the project's root; None for text that belongs in none.
        present: the instruction files at the root, as they were when the wish was looked at.
        embed: makes the vectors, shared by the files of one wish; None for the one that makes all.

    """

    project: Project
    formatter: Formatter
    target: Target | None
    wish: ResolutionWish
    present: Sequence[Present] = ()
    embed: Embed | None = None

    @property
    def path(self) -> str:
        """The file's absolute path; "" without a file."""
        return "" if self.target is None else posixpath.join(self.project.root, self.target.path)

    @property
    def place(self) -> str | None:
        """Where the file lies that an agent reads, written or not; None where there is none."""
        there = [each.path for each in self.present if each.path in self.formatter.places]
        if self.target is not None:
            return self.path
        return posixpath.join(self.project.root, there[0]) if there else None

    def get_base(self, data: bytes | None) -> bytes:
        """Return what a section is put into: the file, or what a new one begins with."""
        if data is None:
            return b"" if self.target is None else self.target.fresh or b""
        return data

    @property
    def is_new(self) -> bool:
        """Whether the file is to be made."""
        return self.target is not None and self.target.fresh is not None

    def get_texts(self, data: bytes) -> dict[str, bytes]:
        """Return what the principles are compared with: path from the root -> bytes.

        That is the file itself. Where no human has said anything in it, it is the project's other
        files: they tell what it is about.
        """
        own = self._own
        return {own: data} if own and self._is_human(data) else self._around()

    def get_others(self, data: bytes) -> dict[str, bytes]:
        """Return what else may contradict principles, as `get_texts`: the project's other files."""
        own = self.get_texts(data)
        return {path: text for path, text in self._around().items() if path not in own}

    @property
    def _own(self) -> str:
        """The path of the file itself, from the root; "" for a reader of no file."""
        if self.target is not None:
            return self.target.path
        place = None if self.wish.agent == APART else self.place
        return "" if place is None else posixpath.relpath(place, self.project.root)

    def _around(self) -> dict[str, bytes]:
        """Return the project's other files in which a human says something."""
        some = [each for each in self.present if each.path in PLACES and each.path != self._own]
        return {each.path: each.data for each in some if self._is_human(each.data)}

    def _is_human(self, data: bytes) -> bool:
        """Tell whether a human has said anything in a file."""
        try:
            said = fence.remove(data)
        except CortexError:
            return True
        tops = {each.top.strip() for each in section.FORMATTERS}
        return said.decode("utf-8", "replace").strip() not in tops | {""}


#: The agent whose reader sees none of the files that may hold a principle already.
APART = "chatgpt"
