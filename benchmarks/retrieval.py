"""How much of what is relevant the search finds, through the product's own storage and search.

`--locomo FILE` (conversations become memories in threads, one ledger each; evidence recall at 10),
`--cranfield DIR` (abstracts become knowledge; nDCG at 10 with linear gains, as trec_eval has it),
`--stsb FILE` (Spearman's correlation of cosines with people's judgements, beside the float model).
`--provider` chooses the embedder: `compiled` (the default model, compiled first if need be),
`sentence-transformers` or `hashing`. Texts are embedded once and kept under `--cache DIR`, if that
is given. Exits 1 when a goal is missed. Run it from the root: `python -m benchmarks.retrieval`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks import corpora, shelves
from cortex_actors.sections import MemorySettings
from cortex_actors.text.terms import find_terms

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from benchmarks.corpora import Question
    from benchmarks.shelves import Embedder, Shelf

#: Hits that are looked at.
DEPTH = 10

#: The ways to rank, and the settings of `[memory]` that make them.
_NONE = {"weight_dense_alone": 0.0, "weight_words_alone": 0.0}
_NONE |= {"weight_dense_paired": 0.0, "weight_words_paired": 0.0}
WORDS, DENSE, DOCUMENT, SHIPPED = "words alone", "dense alone", "RRF k=60, equal", "shipped"
PAIRED, UNPRUNED = "words, paired texts", "words alone, every word"
RANKINGS = {
    WORDS: {"profile": "custom", **_NONE, "weight_words_alone": 1.0},
    UNPRUNED: {"profile": "custom", **_NONE, "weight_words_alone": 1.0, "words_most": 100},
    PAIRED: {"profile": "custom", **_NONE, "weight_words_paired": 1.0},
    DENSE: {"profile": "custom", **_NONE, "weight_dense_alone": 1.0},
    DOCUMENT: {"profile": "document"},
    SHIPPED: {},
}

#: What is promised: LoCoMo's recall, how far above words alone, Cranfield's nDCG, the most that
#: Spearman's correlation may differ from the float model's, and how much of the ten best of every
#: word is found by the rarest ones.
RECALL, ABOVE, NDCG, APART, SAME = 0.82, 0.07, 0.44, 0.005, 0.95

#: Times that questions are drawn again for the interval of a difference, and from which seed.
DRAWS, SEED = 2_000, 5


@dataclass(slots=True)
class Report:
    """All figures; of what was not asked for there are none."""

    model: str = ""
    questions: int = 0
    #: Ranking -> evidence recall at 10, over all questions, and by conversation.
    locomo: dict[str, float] = field(default_factory=dict)
    conversations: dict[str, dict[str, float]] = field(default_factory=dict)
    #: Shipped above words alone: 95 of 100 draws of questions lie between.
    above: tuple[float, float] = (0.0, 0.0)
    cranfield: dict[str, float] = field(default_factory=dict)
    #: Questions with more words than are searched, and the share of the ten best that stays.
    pruned: int = 0
    same: float = 1.0
    sts: float | None = None
    sts_float: float | None = None


def recall(found: Sequence[str], question: Question) -> float:
    """Return the share of the evidence that is among what was found."""
    return len(set(found) & set(question.relevant)) / len(question.relevant)


def ndcg(found: Sequence[str], question: Question) -> float:
    """Return the discounted gain over the best possible one (Jarvelin and Kekalainen 2002)."""
    got = _gain([question.relevant.get(each, 0) for each in found])
    return got / _gain(sorted(question.relevant.values(), reverse=True)[:DEPTH])


async def measure(args: argparse.Namespace) -> Report:
    """Measure what was asked for."""
    async with shelves.embedder(args.provider, args.cache) as embedder:
        report = Report(model=embedder.model)
        pruned = _Pruned(report)
        if args.locomo:
            await _locomo(args.locomo, embedder, report, pruned)
        if args.cranfield:
            await _cranfield(args.cranfield, embedder, report, pruned)
        if args.stsb:
            report.sts = await _sts(args.stsb, embedder.embed)
    if args.stsb and not args.no_float:
        async with shelves.embedder("sentence-transformers", args.cache) as plain:
            report.sts_float = await _sts(args.stsb, plain.embed)
    return report


async def _locomo(path: Path, embedder: Embedder, report: Report, pruned: _Pruned) -> None:
    """Ask every conversation its questions."""
    every: dict[str, list[float]] = {name: [] for name in RANKINGS}
    for conversation in corpora.locomo(path):
        async with shelves.shelf(embedder) as shelf:
            await shelf.remember(conversation)
            found = await _asked(shelf, conversation.questions)
        pruned.add(conversation.questions, found)
        scores = _scores(found, conversation.questions, recall)
        report.conversations[conversation.id] = _means(scores)
        for name, values in scores.items():
            every[name] += values
    report.locomo, report.questions = _means(every), len(every[SHIPPED])
    report.above = _interval(every[SHIPPED], every[WORDS])


async def _cranfield(path: Path, embedder: Embedder, report: Report, pruned: _Pruned) -> None:
    """Ask the abstracts."""
    documents, questions = corpora.cranfield(path)
    async with shelves.shelf(embedder) as shelf:
        await shelf.read(documents)
        found = await _asked(shelf, questions)
    pruned.add(questions, found)
    report.cranfield = _means(_scores(found, questions, ndcg))


async def _asked(shelf: Shelf, questions: Sequence[Question]) -> dict[str, list[list[str]]]:
    """Return what each ranking finds for each question."""
    await shelf.prepare([question.text for question in questions])
    found: dict[str, list[list[str]]] = {}
    for name, settings in RANKINGS.items():
        search = shelf.search(MemorySettings.model_validate(settings))
        found[name] = [await shelf.find(search, each.text, DEPTH) for each in questions]
    return found


async def _sts(path: Path, embed: Callable[[Sequence[str]], Awaitable[np.ndarray]]) -> float:
    """Return Spearman's correlation of cosines with people's judgements."""
    pairs = corpora.sts(path)
    left = await embed([pair.left for pair in pairs])
    right = await embed([pair.right for pair in pairs])
    cosines = np.einsum("ij,ij->i", left, right)
    judged = np.array([pair.alike for pair in pairs])
    return float(np.corrcoef(_ranks(cosines), _ranks(judged))[0, 1])


class _Pruned:
    """What is lost by searching only the rarest words of a long question."""

    def __init__(self, report: Report) -> None:
        """Write into a report."""
        self._report = report
        self._shares: list[float] = []

    def add(self, questions: Sequence[Question], found: Mapping[str, list[list[str]]]) -> None:
        """Compare the ten best of those questions that have more words than are searched."""
        most = MemorySettings().words_most
        for number, question in enumerate(questions):
            whole, some = found[UNPRUNED][number], found[WORDS][number]
            if whole and len(find_terms(question.text)) > most:
                self._shares.append(len(set(whole) & set(some)) / len(whole))
        self._report.pruned = len(self._shares)
        self._report.same = sum(self._shares) / max(1, len(self._shares))


def _scores(
    found: Mapping[str, list[list[str]]],
    questions: Sequence[Question],
    score: Callable[[Sequence[str], Question], float],
) -> dict[str, list[float]]:
    """Return each ranking's score for each question."""
    return {
        name: [score(each, question) for each, question in zip(some, questions, strict=True)]
        for name, some in found.items()
    }


def _means(scores: Mapping[str, list[float]]) -> dict[str, float]:
    """Return the mean of each ranking."""
    return {name: round(sum(values) / max(1, len(values)), 4) for name, values in scores.items()}


def _gain(grades: Sequence[int]) -> float:
    """Return what a list is worth: each grade, less the further down it stands."""
    return sum(grade / math.log2(place + 2) for place, grade in enumerate(grades))


def _interval(more: list[float], less: list[float]) -> tuple[float, float]:
    """Return between which values 95 of 100 means of the difference lie, questions drawn again."""
    apart = np.array(more) - np.array(less)
    draw = np.random.default_rng(SEED)
    means = [apart[draw.integers(0, len(apart), len(apart))].mean() for _ in range(DRAWS)]
    low, high = np.quantile(means, [0.025, 0.975])
    return round(float(low), 4), round(float(high), 4)


def _ranks(values: np.ndarray) -> np.ndarray:
    """Return the rank of each value; equal ones share the mean of theirs."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return ((ends - counts + ends + 1) / 2)[places]


def goals(report: Report) -> list[tuple[str, float, float, bool]]:
    """Return what was promised: its name, the figure, the goal, and whether it is met."""
    found = []
    if report.locomo:
        shipped, words = report.locomo[SHIPPED], report.locomo[WORDS]
        found.append(("LoCoMo recall@10, shipped", shipped, RECALL, shipped >= RECALL))
        above = shipped - words
        found.append(("... above words alone", above, ABOVE, above >= ABOVE))
    if report.cranfield:
        shipped = report.cranfield[SHIPPED]
        found.append(("Cranfield nDCG@10, shipped", shipped, NDCG, shipped >= NDCG))
    if report.pruned:
        found.append(("ten best kept by the rarest words", report.same, SAME, report.same >= SAME))
    if report.sts is not None and report.sts_float is not None:
        apart = abs(report.sts - report.sts_float)
        found.append(("STS-B Spearman, apart from float", apart, APART, apart <= APART))
    return found


def show(report: Report) -> None:
    """Print the table."""
    print(f"model {report.model}; {report.questions} questions of LoCoMo")
    print(f"{'ranking':28}{'LoCoMo recall@10':>18}{'Cranfield nDCG@10':>20}")
    for name in RANKINGS:
        figures = [each.get(name) for each in (report.locomo, report.cranfield)]
        cells = ["-" if value is None else f"{value:.4f}" for value in figures]
        print(f"{name:28}{cells[0]:>18}{cells[1]:>20}")
    if report.locomo:
        low, high = report.above
        print(f"shipped above words alone, 95 of 100 draws: {low:+.4f} to {high:+.4f}")
        for name, scores in report.conversations.items():
            print(f"  {name:26}{scores[WORDS]:>9.4f} words alone{scores[SHIPPED]:>9.4f} shipped")
    if report.sts is not None:
        plain = "" if report.sts_float is None else f", float model {report.sts_float:.4f}"
        print(f"STS-B Spearman {report.sts:.4f}{plain}")
    print(f"{report.pruned} questions have more words than are searched")
    for name, figure, goal, met in goals(report):
        print(f"{'met   ' if met else 'MISSED'}  {name}: {figure:.4f} (goal: {goal})")


def main(words: Sequence[str] | None = None) -> int:
    """Measure, print, and tell whether every goal was met."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--locomo", type=Path, help="LoCoMo's JSON file")
    parser.add_argument("--cranfield", type=Path, help="the folder of the Cranfield collection")
    parser.add_argument("--stsb", type=Path, help="a CSV file of the STS benchmark")
    parser.add_argument("--provider", choices=shelves.PROVIDERS, default=shelves.PROVIDERS[0])
    parser.add_argument("--no-float", action="store_true", help="leave out the float model")
    parser.add_argument("--cache", type=Path, help="keep vectors in this folder between runs")
    parser.add_argument("--json", action="store_true", help="for a program")
    parser.add_argument("--plot", type=Path, help="save a picture of the table (matplotlib)")
    args = parser.parse_args(words)
    report = asyncio.run(measure(args))
    if args.json:
        print(json.dumps(asdict(report), indent=2))
    else:
        show(report)
    if args.plot:
        shelves.plot(args.plot, {"LoCoMo": report.locomo, "Cranfield": report.cranfield})
    return 0 if all(met for *_, met in goals(report)) else 1


if __name__ == "__main__":
    sys.exit(main())
