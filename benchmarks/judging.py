"""The score behind proposals: trained on labelled pairs, and tested on repositories it never saw.

`--data DIR` is a folder with `pairs.jsonl`, `pairs2.jsonl` and the instruction files to which
`labels/pairs.tsv` points. Pairs that touch a quiet repository are left out. Two logistic
regressions (duplicate or not, contradiction or not) share the features of `rules/proposals`.

Cross-validation: repositories lie in `GROUPS` groups; a pair of groups i and j is scored by
coefficients from pairs that touch neither. Thresholds are set on these scores. `--write` makes the
table that is shipped. Exits 1 when a goal is missed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import sys
from dataclasses import dataclass
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.projects import LABELS, PAIRS, Figure
from benchmarks.repositories import is_quiet, rows, unpacked
from benchmarks.showing import pair_hash
from cortex_actors.domain.insight import Claim
from cortex_actors.rules.proposals import ProposalKind, compute_features, find_barred
from cortex_actors.text.sections import find_dialect, find_folder
from cortex_actors.text.statements import find_statements

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Vector = NDArray[np.float64]

#: Files of labelled pairs: picked by hand, and mined by cosine, polarity, numbers and choices.
PICKED, MINED, OWN = "pairs.jsonl", "pairs2.jsonl", PAIRS

#: Groups of repositories, and how often these are dealt: figures are means.
GROUPS, DEALS = 10, 10

#: What an unsure label counts for, against 1 of a sure one.
UNSURE = 0.4

#: Ridge: with 50 to 130 positive pairs any from 3 to 30 gives the same figures.
RIDGE = 10.0

#: Steps of Newton's method, of which six suffice, and the change at which it ends.
STEPS, ENOUGH = 30, 1e-8

#: The logit of what is not asked, below all others.
NEVER = -50.0

#: Precision for which thresholds are set, and on which pairs: those from within one project were
#: read because an earlier score was high, and have hardly a contradiction among them.
PRECISE = {
    ProposalKind.DUPLICATE: (0.85, (PICKED, MINED, OWN)),
    ProposalKind.CONTRADICTION: (0.60, (MINED,)),
}

#: Share of the mined sure pairs that are looked at for contradictions: 54 of 338, the goal's.
FIRST = 54 / 338

#: Goals: precision and recall of duplicates, share of the mined contradictions among the first.
PRECISION, RECALL, FOUND = 0.75, 0.50, 0.65

TABLE: Final = Path(__file__).parent.parent / "cortex_actors/rules/tables/proposals.toml"


@dataclass(frozen=True, slots=True)
class Pair:
    """A labelled pair: of which file, how sure the reader was, and all it is scored by."""

    origin: str
    label: str
    sure: bool
    repos: tuple[str, str]
    values: Mapping[str, float]
    #: What is not asked about it, whatever the score.
    barred: frozenset[ProposalKind] = frozenset()


@dataclass(frozen=True, slots=True)
class Fit:
    """Coefficients of the features as they are."""

    intercept: float
    weights: Vector

    def __call__(self, values: Vector) -> Vector:
        """Return the logit of each row."""
        return self.intercept + values @ self.weights


@dataclass(frozen=True, slots=True)
class Trial:
    """All pairs with the score that coefficients gave which saw none of their repositories."""

    kind: ProposalKind
    is_kind: NDArray[np.bool_]
    logits: Vector


def read(data: Path) -> list[Pair]:
    """Return all labelled pairs that touch no quiet repository, each pair of texts once."""
    found: dict[str, Pair] = {}
    with unpacked(data) as folder:
        every = [*_quoted(data / PICKED), *_quoted(data / MINED), *_placed(LABELS / OWN, folder)]
    for digest, pair in every:
        found.setdefault(digest, pair)
    return list(found.values())


def _quoted(path: Path) -> Iterator[tuple[str, Pair]]:
    """Yield the pairs of a file that quotes both texts."""
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        sides = row["a"], row["b"]
        repos = (row["a"]["repo"], row["b"]["repo"])
        if not any(map(is_quiet, repos)):
            left, right = (Claim(each["text"], each["heading"] or None) for each in sides)
            values = _values(left, right, row["minilm_cos"])
            pair = Pair(path.name, row["label"], row.get("sure", True), repos, *values)
            yield pair_hash(left.text, right.text), pair


def _placed(path: Path, folder: Path) -> Iterator[tuple[str, Pair]]:
    """Yield the pairs of a file that names both places; a pair whose text is gone is left out."""
    for row in rows(path):
        places = row["place_a"], row["place_b"]
        repos = places[0].partition(":")[0], places[1].partition(":")[0]
        if any(map(is_quiet, repos)):
            continue
        for left, right in product(*(_claims(folder, each) for each in places)):
            if pair_hash(left.text, right.text) == row["hash"]:
                values = _values(left, right, float(row["cosine"]))
                yield (
                    row["hash"],
                    Pair(path.name, row["label"], row["sure"] == "yes", repos, *values),
                )
                break


def _claims(folder: Path, place: str) -> list[Claim]:
    """Return the statements that begin on a line of a repository's file."""
    repo, path, line = place.split(":")
    dialect = find_dialect(path)
    if dialect is None:
        return []
    content = (folder / repo.replace("/", "__") / path).read_bytes()
    return [
        Claim(each.text, each.heading, find_folder(path))
        for part in dialect.parse(content, path=path, project="")
        for each in find_statements(part)
        if each.line_start == int(line)
    ]


def _values(
    left: Claim, right: Claim, cosine: float
) -> tuple[dict[str, float], frozenset[ProposalKind]]:
    found = compute_features(left, right, cosine=cosine)
    barred = find_barred(left, right, found=found)
    return {name: each.value for name, each in found.items()}, barred


def fit(values: Vector, is_kind: NDArray[np.bool_], weights: Vector) -> Fit:
    """Return a logistic regression with a ridge, both classes counting the same (IRLS).

    The ridge works on standardised features; the coefficients are those of the features as given.
    """
    weights = np.where(is_kind, weights / weights[is_kind].sum(), weights / weights[~is_kind].sum())
    weights = weights * len(is_kind) / 2
    middle, wide = values.mean(0), values.std(0) + 1e-9
    rows_ = np.column_stack([np.ones(len(values)), (values - middle) / wide])
    ridge = np.diag([1e-6, *[RIDGE] * values.shape[1]])
    found = np.zeros(rows_.shape[1])
    for _ in range(STEPS):
        likely = 1 / (1 + np.exp(-rows_ @ found))
        slope = rows_.T @ (weights * (is_kind - likely)) - ridge @ found
        bend = (rows_.T * (weights * likely * (1 - likely))) @ rows_ + ridge
        step = np.linalg.solve(bend, slope)
        found = found + step
        if np.abs(step).max() < ENOUGH:
            break
    plain = found[1:] / wide
    return Fit(float(found[0] - plain @ middle), plain)


def trial(pairs: Sequence[Pair], kind: ProposalKind, *, deal: int) -> Trial:
    """Score each pair by coefficients from pairs that touch none of its groups of repositories."""
    values, weights = table(pairs)
    is_kind = np.array([each.label == kind for each in pairs])
    groups = np.array([[_group(repo, deal) for repo in each.repos] for each in pairs])
    logits = np.zeros(len(pairs))
    for one, other in combinations_with_replacement(range(GROUPS), 2):
        tested = (np.sort(groups, axis=1) == (one, other)).all(axis=1)
        seen = ~np.isin(groups, (one, other)).any(axis=1)
        if tested.any():
            logits[tested] = fit(values[seen], is_kind[seen], weights[seen])(values[tested])
    logits[[kind in each.barred for each in pairs]] = NEVER
    return Trial(kind, is_kind, logits)


def table(pairs: Sequence[Pair]) -> tuple[Vector, Vector]:
    """Return the features of all pairs, and what each pair counts for."""
    values = np.array([list(each.values.values()) for each in pairs])
    return values, np.array([1.0 if each.sure else UNSURE for each in pairs])


def _group(repo: str, deal: int) -> int:
    return int(hashlib.sha256(f"{deal} {repo}".encode()).hexdigest(), 16) % GROUPS


def chosen(pairs: Sequence[Pair], *origins: str) -> NDArray[np.bool_]:
    """Return which pairs are sure and of one of those files."""
    return np.array([each.sure and each.origin in origins for each in pairs])


def least(found: Trial, pairs: Sequence[Pair]) -> float:
    """Return the logit from which on pairs are proposed: see `PRECISE`."""
    wanted, origins = PRECISE[found.kind]
    sure = chosen(pairs, *origins)
    order = np.argsort(-found.logits[sure], kind="stable")
    right = np.cumsum(found.is_kind[sure][order]) / np.arange(1, len(order) + 1)
    last = max(np.flatnonzero(right >= wanted), default=0)
    return float(found.logits[sure][order][last])


def proposed(found: Trial, which: NDArray[np.bool_], since: float) -> tuple[float, float, float]:
    """Return how many of those pairs are proposed, how many rightly, and how many there are."""
    said = which & (found.logits >= since)
    counts = said.sum(), (said & found.is_kind).sum(), (which & found.is_kind).sum()
    return tuple(map(float, counts))  # type: ignore[return-value]


def first(found: Trial, pairs: Sequence[Pair]) -> tuple[float, float]:
    """Return how many of the mined contradictions are among the first pairs, and how many are."""
    mined = chosen(pairs, MINED)
    order = np.argsort(-found.logits[mined], kind="stable")[: round(FIRST * mined.sum())]
    return float(found.is_kind[mined][order].sum()), float(found.is_kind[mined].sum())


def precision_at(found: Trial, which: NDArray[np.bool_]) -> float:
    """Return the mean precision at each pair of the kind, in the order of the scores."""
    right = found.is_kind[which][np.argsort(-found.logits[which], kind="stable")]
    return float((np.cumsum(right) / np.arange(1, len(right) + 1))[right].mean())


def show(pairs: Sequence[Pair], trials: Mapping[ProposalKind, Sequence[Trial]]) -> list[bool]:
    """Print the figures of the cross-validation, and return which goals are met."""
    which = {"picked": (PICKED,), "mined": (MINED,), "own": (OWN,), "all": (PICKED, MINED, OWN)}
    met = []
    print(f"means of {DEALS} deals of the repositories into {GROUPS} groups; sure pairs\n")
    print(f"{'':24}{'are':>6}{'said':>7}{'right':>7}{'precision':>11}{'recall':>20}{'AP':>16}")
    for kind, some in trials.items():
        for name, origins in which.items():
            chosen_ = chosen(pairs, *origins)
            counts = np.mean([proposed(each, chosen_, least(each, pairs)) for each in some], axis=0)
            order = float(np.mean([precision_at(each, chosen_) for each in some]))
            said, right, are = map(float, counts)
            print(
                f"{kind:15}{name:9}{are:>6.0f}{said:>7.1f}{right:>7.1f}"
                f"{_share(right, said)}{_share(right, are)}{order:>7.2f}"
            )
        if kind is ProposalKind.DUPLICATE:
            met += [right >= PRECISION * said, right >= RECALL * are]
    held, are = np.mean([first(each, pairs) for each in trials[ProposalKind.CONTRADICTION]], axis=0)
    met.append(bool(held >= FOUND * are))
    size = round(FIRST * chosen(pairs, MINED).sum())
    share = f"{held:.1f} of {are:.0f} contradictions: {_share(held, are)}"
    print(f"\nthe first {size} mined pairs hold {share}")
    print(f"goals met: {sum(map(bool, met))} of {len(met)}")
    return [bool(each) for each in met]


def _share(right: float, of: float) -> str:
    """Return a share with Wilson's interval."""
    low, high = Figure("", round(of), round(of), round(right)).interval
    return f"{right / of if of else math.nan:>7.2f} ({low:.2f}-{high:.2f})"


def written(pairs: Sequence[Pair], trials: Mapping[ProposalKind, Sequence[Trial]]) -> str:
    """Return the table that is shipped: coefficients from all pairs, thresholds from the trials."""
    names = list(pairs[0].values)
    values, weights = table(pairs)
    lines = [
        "# The score behind proposals: the logit of a pair is the intercept and each feature by",
        "# its weight. `python -m benchmarks.judging --data DIR --write` learns them of labelled",
        "# pairs; rules/proposals.py says what the features are.",
    ]
    for kind, some in trials.items():
        found = fit(values, np.array([each.label == kind for each in pairs]), weights)
        logit = float(np.mean([least(each, pairs) for each in some]))
        lines += ["", f"[{kind}]", f"threshold = {1 / (1 + math.exp(-logit)):.3f}"]
        lines += [f"intercept = {found.intercept:.3f}", f"[{kind}.weights]"]
        lines += [f"{name} = {each:.3f}" for name, each in zip(names, found.weights, strict=True)]
    return "\n".join(lines) + "\n"


def main(words: Sequence[str] | None = None) -> int:
    """Train, test, print, and tell whether every goal was met."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder with the data set")
    parser.add_argument("--write", action="store_true", help="write the table that is shipped")
    args = parser.parse_args(words)
    pairs = read(args.data)
    counts = {name: sum(each.origin == name for each in pairs) for name in (PICKED, MINED, OWN)}
    print(", ".join(f"{number} pairs of {name}" for name, number in counts.items()))
    trials = {
        kind: [trial(pairs, kind, deal=deal) for deal in range(DEALS)] for kind in ProposalKind
    }
    met = show(pairs, trials)
    if args.write:
        TABLE.write_text(written(pairs, trials), "utf-8")
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
