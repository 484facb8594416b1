"""How often the right place of an instruction file is among the first three answers.

`--data DIR` is a data set of instruction files (`benchmarks/repositories.py`). The repositories of
the questions (`questions.tsv`) are followed together in one fresh home by a whole tree with the
settings that are shipped, and each question is put to its own `recall`; who asks from inside of a
project is in its folder. A hit is right if what it shows holds an answer: its lines, the section
around them, or another place that says the same; `exact` counts the lines of its statement alone.

In the same run BM25 is asked (k1 1.2, b .75, English stems): over sections, cut at headings and
after 40 lines, each with its headings and the project's name; to what is asked from inside of a
project its name is added, so that it knows as much. A score tells questions that have an answer
from those that have none as well as the area under its curve (AUC) says, by the first hit's.
Run it from the root: `python -m benchmarks.questions --data DIR`.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sqlite3
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from benchmarks import repositories, showing
from cortex_actors.home import Home
from cortex_actors.storage.tables.schema import TOKENIZE
from cortex_actors.testing import eventually
from cortex_actors.text import terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from cortex_actors.tree import Tree

#: The questions, unless told otherwise.
QUESTIONS = Path(__file__).parent / "questions.tsv"

#: Answers that are looked at, and lines of a section.
FIRST, LINES = 3, 40

#: What is promised: the right place in the first three, and the area under the curve.
GOAL, CURVE = 0.85, 0.85

#: The kind of questions that nothing answers.
NONE = "none"

_HEADING, _FENCE = re.compile(r"#{1,6}\s"), re.compile(r"\s*(?:```|~~~)")


@dataclass(frozen=True, slots=True)
class Place:
    """Lines of a file, from the first to the last."""

    repo: str
    path: str
    first: int
    last: int

    def meets(self, other: Place) -> bool:
        """Tell whether both have a line."""
        same = (self.repo, self.path) == (other.repo, other.path)
        return same and self.first <= other.last and other.first <= self.last


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, from which project it is asked, and every place that answers it."""

    part: str
    kind: str
    asker: str
    text: str
    answers: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """Some lines under one heading, as BM25 finds them."""

    place: Place
    text: str


@dataclass(slots=True)
class Tally:
    """What one way of asking found."""

    exact: list[bool] = field(default_factory=list)
    shown: list[bool] = field(default_factory=list)
    #: The first hit's score, where there is an answer, and where there is none.
    known: list[float] = field(default_factory=list)
    unknown: list[float] = field(default_factory=list)

    def note(self, asked: Asked, hits: Sequence[Sequence[Place]], *, score: float) -> None:
        """Count the first hits of a question, each with its places."""
        if asked.kind == NONE:
            self.unknown.append(score)
            return
        self.known.append(score)
        self.exact.append(any(meets(each[:1], asked.answers) for each in hits))
        self.shown.append(any(meets(each, asked.answers) for each in hits))

    @property
    def curve(self) -> float:
        """The chance that an answerable question scores above one without an answer."""
        pairs = [(one > other) + (one == other) / 2 for one in self.known for other in self.unknown]
        return mean(pairs)


def meets(places: Iterable[Place], answers: Iterable[Place]) -> bool:
    """Tell whether one of some places is one of the answers."""
    return any(one.meets(other) for one in places for other in answers)


def mean(some: Sequence[float]) -> float:
    """Return the mean; not a number of nothing."""
    return sum(some) / len(some) if some else float("nan")


def read(path: Path) -> list[Asked]:
    """Return the questions of a file."""
    return [
        Asked(
            row["part"],
            row["kind"],
            row["asker"],
            row["question"],
            tuple(place(each.strip()) for each in row["answers"].split(" ; ") if each.strip()),
        )
        for row in repositories.rows(path)
    ]


def place(written: str) -> Place:
    """Return a place that is written `owner/name path:from-to`."""
    repo, _, where = written.partition(" ")
    path, _, lines = where.rpartition(":")
    first, _, last = lines.partition("-")
    return Place(repo, path, int(first), int(last or first))


def sections(repo: str, path: str, text: str) -> Iterator[Section]:
    """Yield the sections of a file: cut at each heading, and after so many lines."""
    lines = text.split("\n")
    heads: list[str] = []
    start, is_code, said = 0, False, ""
    for number, line in enumerate([*lines, "# "]):
        is_code ^= _FENCE.match(line) is not None
        is_head = number == len(lines) or (not is_code and _HEADING.match(line) is not None)
        if is_head or number - start >= LINES:
            body = "\n".join(lines[start:number])
            if body.strip():
                place = Place(repo, path, start + 1, number)
                yield Section(place, f"{repo.rpartition('/')[2]} {said}\n{body}")
            start = number
        if is_head:
            depth = len(line) - len(line.lstrip("#"))
            heads = [*heads[: depth - 1], line.lstrip("#").strip()]
            said = " > ".join(heads)


class Baseline:
    """BM25 over sections."""

    def __init__(self, some: Sequence[Section]) -> None:
        """Keep the words of some sections; SQLite's `bm25` has k1 1.2 and b .75."""
        self._some = some
        self._words = sqlite3.connect(":memory:", check_same_thread=False)
        self._words.execute(f"CREATE VIRTUAL TABLE said USING fts5(text, tokenize='{TOKENIZE}')")
        rows = ((number, each.text) for number, each in enumerate(some))
        self._words.executemany("INSERT INTO said (rowid, text) VALUES (?, ?)", rows)

    def ask(self, question: str) -> list[tuple[Section, float]]:
        """Return the best sections with their weights."""
        query = (
            "SELECT rowid, -bm25(said) AS weight FROM said WHERE said MATCH ?"
            " ORDER BY weight DESC, rowid LIMIT ?"
        )
        asked = (terms.write_expression(terms.find_terms(question)), FIRST)
        return [(self._some[row], weight) for row, weight in self._words.execute(query, asked)]


class Asking:
    """Puts the questions to a tree and to BM25, and counts what either finds."""

    def __init__(self, tree: Tree, roots: Mapping[str, Path], some: Sequence[Section]) -> None:
        """Ask a tree that follows those roots (by repository), and BM25 about those sections."""
        self._tree = tree
        self._roots = roots
        self._repos = {str(root.resolve()): repo for repo, root in roots.items()}
        self._baseline = Baseline(some)
        self.tallies: dict[tuple[str, str, str], Tally] = defaultdict(Tally)
        self.missed: list[str] = []

    async def ask(self, asked: Asked) -> None:
        """Ask both, and count."""
        here = {"here": str(self._roots[asked.asker])} if asked.asker else {}
        found = await self._tree.cortex.recall(asked.text, limit=10, **here)
        hits = [list(self._places(hit)) for hit in found["hits"][:FIRST]]
        score = found["hits"][0]["score"] if hits else 0.0
        self._count("ours", asked, hits, score=score)
        if asked.kind != NONE and not any(meets(each, asked.answers) for each in hits):
            self.missed.append(f"{asked.kind}: {asked.text}")
        name = asked.asker.rpartition("/")[2]
        best = self._baseline.ask(f"{asked.text} {name}".strip())
        score = best[0][1] if best else 0.0
        self._count("BM25", asked, [[each.place] for each, _ in best], score=score)

    def _count(
        self, who: str, asked: Asked, hits: Sequence[Sequence[Place]], *, score: float
    ) -> None:
        for part, kind in ((asked.part, "all"), (asked.part, asked.kind), ("both", "all")):
            self.tallies[who, part, kind].note(asked, hits, score=score)

    def _places(self, hit: Mapping[str, Any]) -> Iterator[Place]:
        """Yield where a hit stands and where it is said as well, then the section around it."""
        extra, path = hit["extra"], hit.get("path")
        if path is None:
            return
        lines = f"{hit['line_start']}-{hit['line_end']}"
        section = extra.get("section")
        around = [f"{path}:{section['line_start']}-{section['line_end']}"] if section else []
        for each in (f"{path}:{lines}", *extra.get("also", ()), *around):
            found = self._of(*each.rpartition(":")[::2])
            if found is not None:
                yield found

    def _of(self, path: str, lines: str) -> Place | None:
        """Return a place of a file on the disk in its repository."""
        first, _, last = lines.partition("-")
        for root, repo in self._repos.items():
            if path.startswith(f"{root}/"):
                where = path.removeprefix(f"{root}/")
                return Place(repo, where, int(first), int(last or first))
        return None


async def measure(
    data: Path, some: Sequence[Asked], folder: Path, *, models: Path | None, provider: str
) -> Asking:
    """Follow the repositories of the questions in one home, and ask all of them."""
    index = repositories.read_index(data)
    named = {each.asker for each in some} | {one.repo for each in some for one in each.answers}
    repos = sorted(named - {""})
    roots = {repo: repositories.copied(data, index, repo, folder / "work") for repo in repos}
    cut = [
        each
        for repo, root in roots.items()
        for path in index[repo]
        for each in sections(repo, path, (root / path).read_text("utf-8", "replace"))
    ]
    chosen = {} if provider == "default" else {"embedding": {"provider": provider}}
    home = Home.find(folder / "home", {})
    async with showing.grown(home, showing.Ahead(), sections=chosen, models=models) as tree:
        for root in roots.values():
            await tree.cortex.add_project(str(root))
        await eventually(lambda: len(tree.watchers.list_watched()) >= len(roots), showing.PATIENCE)
        await tree.cortex.run_job("scan")
        await showing.settled(tree)
        asking = Asking(tree, roots, cut)
        for each in some:
            await asking.ask(each)
    return asking


def show(tallies: Mapping[tuple[str, str, str], Tally]) -> bool:
    """Print a line for each part and kind; tell whether the goals are met."""
    heads = ("asked", "ours", "exact", "BM25", "AUC", "BM25")
    print(f"{'part':8}{'kind':10}" + "".join(f"{each:>8}" for each in heads))
    for (who, part, kind), ours in sorted(tallies.items()):
        if who != "ours" or kind == NONE:
            continue
        theirs = tallies["BM25", part, kind]
        figures = [mean(ours.shown), mean(ours.exact), mean(theirs.exact)]
        figures += [ours.curve, theirs.curve] if kind == "all" else []
        told = "".join(f"{each:8.3f}" for each in figures)
        print(f"{part:8}{kind:10}{len(ours.exact):8}{told}")
    ours, theirs = tallies["ours", "both", "all"], tallies["BM25", "both", "all"]
    found = mean(ours.shown)
    return found >= GOAL and found > mean(theirs.shown) and ours.curve >= CURVE


def main(words: Sequence[str] | None = None) -> int:
    """Ask every question and print what was found; 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="the data set's folder")
    parser.add_argument("--questions", type=Path, default=QUESTIONS, help="another file of them")
    parser.add_argument("--part", help="only the questions of this part")
    parser.add_argument("--cache", type=Path, help="keep the compiled model here between runs")
    parser.add_argument("--missed", action="store_true", help="name the questions that are missed")
    parser.add_argument("--provider", choices=("default", "hashing"), default="default")
    args = parser.parse_args(words)
    some = [each for each in read(args.questions) if args.part in (None, each.part)]
    models = args.cache / "models" if args.cache else None
    with repositories.unpacked(args.data) as data, TemporaryDirectory(prefix="cx-") as folder:
        asking = asyncio.run(
            measure(data, some, Path(folder), models=models, provider=args.provider)
        )
    if args.missed:
        print("\n".join(asking.missed))
    return 0 if show(asking.tallies) else 1


if __name__ == "__main__":
    sys.exit(main())
