"""How well pairs of statements are judged: same, contradiction, related, unrelated.

`--pairs FILE` takes JSON lines with `label` (duplicate, contradiction, related, unrelated), `a` and
`b` (`text`, `heading`) and, where they are known, `id` and `minilm_cos`, the cosine of the two.
Each pair goes through the product's own rules; its cosine comes from the product's own embedder
(`--provider`) or from the file (`--provider file`). The rule of the original is counted beside it.
Exits 1 when a goal is missed. Run it from the root: `python -m benchmarks.quality --pairs FILE`.

`--ablate` tells what each family of rules adds to the contradictions that are found: how many are
found by it alone, right and wrong, and the 95 % interval of that gain over repositories. With
`--data DIR` the planted sentences of `plants.tsv` count, too. Quiet repositories are left out.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import repositories, shelves
from cortex_actors.domain.insight import Claim, Relation
from cortex_actors.domain.project import StatementKind
from cortex_actors.rules import sameness
from cortex_actors.rules.contradiction import (
    Family,
    contradicts,
    find_clashes,
    find_separate_places,
    judge,
)
from cortex_actors.text import lexicon
from cortex_actors.text.claims import read
from cortex_actors.text.sections import find_dialect
from cortex_actors.text.statements import find_kind, find_statements

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from cortex_actors.domain.project import Statement
    from cortex_actors.text.lexicon import Lexicon

#: What a file calls each relation, in the order of the table.
LABELS = {
    "duplicate": Relation.SAME,
    "contradiction": Relation.CONTRADICTION,
    "related": Relation.RELATED,
    "unrelated": Relation.UNRELATED,
}

#: The embedder whose cosines a file has.
FILE = "file"

#: What is promised: precision of contradictions and of duplicates, and how many contradictions are
#: merged. How many are found is counted on whole projects (`projects.py`).
CONTRADICTIONS, DUPLICATES, MERGED = 0.95, 0.95, 0

#: What is planted, and a cosine of statements about one thing.
PLANTS, NEAR = Path(__file__).parent / "plants.tsv", 0.6

#: Draws of repositories, and the seed of these.
ROUNDS, SEED = 2_000, 17


@dataclass(frozen=True, slots=True)
class Pair:
    """Two statements, what a person called them, and their cosine."""

    id: str
    label: Relation
    left: Claim
    right: Claim
    cosine: float
    #: Whose the two are, and of which kind; unknown: empty.
    repos: frozenset[str] = frozenset()
    kinds: tuple[StatementKind, StatementKind] | None = None
    siblings: bool = False


@dataclass(slots=True)
class Score:
    """How one way to judge did on one label."""

    precision: float
    recall: float
    f1: float
    #: What pairs of this label were judged to be.
    judged: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Report:
    """All figures."""

    pairs: int
    provider: str
    #: Way to judge -> label -> figures.
    scores: dict[str, dict[str, Score]] = field(default_factory=dict)
    #: Pairs the rules judge otherwise than their label says, with the reason.
    wrong: list[dict[str, str]] = field(default_factory=list)
    #: Family of rules -> contradictions found by it alone, right and wrong; the gain's interval.
    ablated: dict[str, tuple[int, int, tuple[float, float]]] = field(default_factory=dict)


def rules(tables: Lexicon | None = None) -> Callable[[Pair], tuple[Relation, str]]:
    """Return the product's own judge."""

    def judged(pair: Pair) -> tuple[Relation, str]:
        found = judge(
            pair.left,
            pair.right,
            cosine=pair.cosine,
            lexicon=tables,
            kinds=pair.kinds,
            siblings=pair.siblings,
        )
        return found.relation, found.reason

    return judged


def original(pair: Pair) -> tuple[Relation, str]:
    """Judge as the original did: merge from 0.92, pairs of words between 0.5 and 0.85."""
    if pair.cosine >= sameness.MERGE:
        return Relation.SAME, "cosine"
    least, most = sameness.SUSPECT
    if least <= pair.cosine <= most and contradicts(pair.left.text, pair.right.text):
        return Relation.CONTRADICTION, "a pair of words"
    near = pair.cosine >= least
    return (Relation.RELATED if near else Relation.UNRELATED), "cosine"


def scores(
    pairs: Sequence[Pair], judged: Callable[[Pair], tuple[Relation, str]]
) -> dict[str, Score]:
    """Return precision, recall and F1 of each label."""
    counts = Counter((pair.label, judged(pair)[0]) for pair in pairs)
    found = {}
    for name, label in LABELS.items():
        right = counts[label, label]
        said = sum(number for (_label, got), number in counts.items() if got is label)
        are = sum(number for (known, _got), number in counts.items() if known is label)
        precision, recall = right / said if said else 0.0, right / are if are else 0.0
        both = precision + recall
        f1 = 2 * precision * recall / both if both else 0.0
        judged_as = {as_: counts[label, relation] for as_, relation in LABELS.items()}
        found[name] = Score(round(precision, 4), round(recall, 4), round(f1, 4), judged_as)
    return found


def wrong(
    pairs: Sequence[Pair], judged: Callable[[Pair], tuple[Relation, str]]
) -> list[dict[str, str]]:
    """Return the pairs that are judged otherwise than a person did."""
    names = {relation: name for name, relation in LABELS.items()}
    found = []
    for pair in pairs:
        relation, reason = judged(pair)
        if relation is not pair.label:
            labels = {"label": names[pair.label], "judged": names[relation]}
            found.append({"id": pair.id, **labels, "reason": reason})
    return found


async def measure(args: argparse.Namespace) -> Report:
    """Judge every pair of the file."""
    lines = (line for path in args.pairs for line in path.read_text("utf-8").splitlines())
    rows = [row for line in lines if line and (row := json.loads(line)).get("sure", True)]
    cosines = await _cosines(rows, args)
    pairs = [_pair(row, cosine) for row, cosine in zip(rows, cosines, strict=True)]
    tables = lexicon.load_extended(args.rules.read_text("utf-8")) if args.rules else None
    ways = {"rules": rules(tables), "the original's rule": original}
    report = Report(len(pairs), args.provider)
    report.scores = {name: scores(pairs, way) for name, way in ways.items()}
    report.wrong = wrong(pairs, ways["rules"])
    if args.ablate:
        report.ablated = ablate([*pairs, *(planted(args.data) if args.data else ())])
    return report


async def _cosines(rows: Sequence[Mapping[str, Any]], args: argparse.Namespace) -> list[float]:
    """Return the cosine of each pair, of the embedder that was asked for."""
    if args.provider == FILE:
        return [float(row["minilm_cos"]) for row in rows]
    async with shelves.embedder(args.provider, args.cache) as embedder:
        left = await embedder.embed([row["a"]["text"] for row in rows])
        right = await embedder.embed([row["b"]["text"] for row in rows])
    return [float(one @ other) for one, other in zip(left, right, strict=True)]


def _pair(row: Mapping[str, Any], cosine: float) -> Pair:
    left, right = (Claim(row[side]["text"], row[side].get("heading") or None) for side in "ab")
    # A pair without a repository is one of its own.
    name = str(row.get("id") or hash((left, right)))
    repos = frozenset(row[side].get("repo", name) for side in "ab")
    kinds = find_kind(left.text), find_kind(right.text)
    return Pair(name, LABELS[row["label"]], left, right, cosine, repos, kinds)


def planted(data: Path) -> Iterator[Pair]:
    """Yield the planted sentences of loud repositories, each with what it contradicts."""
    with repositories.unpacked(data) as folder:
        for each in repositories.read_plants(PLANTS):
            if repositories.is_quiet(each.repo):
                continue
            root = folder / each.repo.replace("/", "__")
            lines = (root / each.path).read_text("utf-8").split("\n")
            text = "\n".join((*lines[: each.line], each.text, *lines[each.line :]))
            there = (root / each.against).read_text("utf-8")
            for one in _statements(text, each.path, each.line + 1):
                for other in _statements(there, each.against, each.against_line):
                    yield Pair(
                        each.id,
                        Relation.CONTRADICTION,
                        Claim(one.text, one.heading or None),
                        Claim(other.text, other.heading or None),
                        NEAR,
                        frozenset({each.repo}),
                        (one.kind, other.kind),
                        siblings=each.path == each.against and one.heading == other.heading,
                    )


def _statements(text: str, path: str, line: int) -> Iterator[Statement]:
    """Yield the statements of a line of a file."""
    dialect = find_dialect(path)
    for fragment in dialect.parse(text.encode(), path=path, project="") if dialect else ():
        for each in find_statements(fragment):
            if each.line_start <= line <= each.line_end:
                yield each


def ablate(pairs: Sequence[Pair]) -> dict[str, tuple[int, int, tuple[float, float]]]:
    """Return family -> contradictions found by it alone, right and wrong, and the gain's interval.

    The gain is right less wrong ones, by the contradictions there are; its interval is that of
    `ROUNDS` draws of as many repositories as there are. A sentence counts once.
    """
    loud = [each for each in pairs if not any(map(_is_quiet, each.repos))]
    rules_of: dict[str, set[Family]] = defaultdict(set)
    known = {each.id: each for each in loud}
    for each in loud:
        rules_of[each.id] |= _families(each)
    names = sorted({repo for each in loud for repo in each.repos})
    draws = np.random.default_rng(SEED).multinomial(
        len(names), [1 / len(names)] * len(names), size=ROUNDS
    )
    of = np.array([[repo in known[each].repos for repo in names] for each in known], float)
    weights = draws @ (of / of.sum(axis=1, keepdims=True)).T
    are = np.array([each.label is Relation.CONTRADICTION for each in known.values()])
    found = {}
    for family in Family:
        alone = np.array([rules_of[each] == {family} for each in known])
        signed = np.where(are, 1.0, -1.0) * alone
        gains = (weights @ signed) / np.maximum(1e-9, weights @ are)
        low, high = np.quantile(gains, (0.025, 0.975))
        found[str(family)] = int((alone & are).sum()), int((alone & ~are).sum()), (low, high)
    return found


def _is_quiet(repo: str) -> bool:
    """Whether a name is that of a quiet repository, and not of a pair alone."""
    return "/" in repo and repositories.is_quiet(repo)


def _families(pair: Pair) -> set[Family]:
    """Return the families of rules by which a pair contradicts."""
    if pair.kinds and not {StatementKind.COMMAND, StatementKind.EXAMPLE}.isdisjoint(pair.kinds):
        return set()
    left, right = (read(each, lexicon.load_standard()) for each in (pair.left, pair.right))
    if find_separate_places(left, right):
        return set()
    first, second = (each is StatementKind.RULE for each in pair.kinds or (StatementKind.RULE,) * 2)
    found = find_clashes(
        left,
        right,
        lexicon=lexicon.load_standard(),
        are_rules=(first, second),
        siblings=pair.siblings,
    )
    return {each.family for each in found}


def goals(report: Report) -> list[tuple[str, float, float, bool]]:
    """Return what was promised: its name, the figure, the goal, and whether it is met."""
    found = report.scores["rules"]
    right, same = found["contradiction"].precision, found["duplicate"].precision
    merged = found["contradiction"].judged["duplicate"]
    return [
        ("contradictions, precision", right, CONTRADICTIONS, right >= CONTRADICTIONS),
        ("duplicates, precision", same, DUPLICATES, same >= DUPLICATES),
        ("contradictions merged", merged, MERGED, merged <= MERGED),
    ]


def show(report: Report, *, verbose: bool) -> None:
    """Print the tables."""
    print(f"{report.pairs} pairs, cosines of {report.provider}")
    for way, found in report.scores.items():
        heads = "".join(f"{name:>15}" for name in ("merged", *list(LABELS)[1:]))
        print(f"\n{way:22}{'precision':>10}{'recall':>8}{'F1':>8}  {heads}")
        for name, score in found.items():
            cells = "".join(f"{number:>15}" for number in score.judged.values())
            figures = f"{score.precision:>10.3f}{score.recall:>8.3f}{score.f1:>8.3f}"
            print(f"{name:22}{figures}  {cells}")
    for family, (right, bad, (low, high)) in report.ablated.items():
        gain = f"gain of recall {low:+.3f} to {high:+.3f}"
        print(f"{family:22}found by it alone: {right} right, {bad} wrong; {gain}")
    for each in report.wrong if verbose else ():
        print(f"{each['id']:>6} {each['label']} -> {each['judged']}: {each['reason']}")
    print()
    for name, figure, goal, met in goals(report):
        print(f"{'met   ' if met else 'MISSED'}  {name}: {figure:.3f} (goal: {goal})")


def main(words: Sequence[str] | None = None) -> int:
    """Measure, print, and tell whether every goal was met."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    about = "JSON lines of labelled pairs; not sure ones are left out"
    parser.add_argument("--pairs", type=Path, required=True, nargs="+", help=about)
    parser.add_argument("--data", type=Path, help="a data set, for what is planted in it")
    parser.add_argument("--ablate", action="store_true", help="what each family of rules adds")
    parser.add_argument("--provider", choices=(*shelves.PROVIDERS, FILE), default="compiled")
    parser.add_argument("--cache", type=Path, help="keep vectors in this folder between runs")
    parser.add_argument("--rules", type=Path, help="a rules.toml that adds to the tables")
    parser.add_argument("--verbose", action="store_true", help="list the pairs judged otherwise")
    parser.add_argument("--json", action="store_true", help="for a program")
    args = parser.parse_args(words)
    report = asyncio.run(measure(args))
    if args.json:
        print(json.dumps(asdict(report), indent=2))
    else:
        show(report, verbose=args.verbose)
    return 0 if all(met for *_, met in goals(report)) else 1


if __name__ == "__main__":
    sys.exit(main())
