"""What people see of real projects: everything that the product shows of them, and what is right.

`--data DIR` is a data set of instruction files (`benchmarks/repositories.py`). Each repository, and
with `--portfolios` each portfolio of `portfolios.tsv`, is followed in a fresh home by a whole tree
with the settings that are shipped, for `--days` days of daily scans in virtual time. What the
product shows then goes to `--out` as rows: contradictions, merges of different texts, principles,
what waits for a person, and the bullets that `cortex resolve` would write. Right is what people
who read both places called so (`labels/*.tsv`); a row without a label is counted as such.

Repositories whose name has a digest that begins with c, d, e or f are the quiet part, on which
nothing is tuned: only `--quiet` and `--all` run them. `--plant FILE` writes sentences of ours into
the repositories, each of which contradicts one of theirs, and tells how many of them are shown.
`--rows FILE` counts what an earlier run wrote, once more of it is labelled.
Run it from the root: `python -m benchmarks.projects --data DIR --out rows.tsv`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import multiprocessing
import sys
import time
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import astuple, dataclass, fields, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from benchmarks import repositories, showing
from benchmarks.repositories import Plant, Setup
from benchmarks.showing import Life, Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

#: What people said about rows, and the file there that has pairs for `benchmarks/judging.py`.
LABELS, PAIRS = Path(__file__).parent / "labels", "pairs.tsv"

#: Homes that are alive at once, each in a process of its own.
AT_ONCE = 2

#: Days of daily scans.
DAYS = 30

#: The labels.
RIGHT, WRONG = "right", "wrong"

#: Characters of a text that tell where it was planted.
SHORT = 12

#: Standard deviations of an interval that holds 95 of 100.
Z = 1.96


@dataclass(frozen=True, slots=True)
class Figure:
    """How often what is shown is right."""

    kind: str
    shown: int
    labelled: int
    right: int

    @property
    def precision(self) -> float:
        """Share of what was labelled."""
        return self.right / self.labelled if self.labelled else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval for it."""
        if not self.labelled:
            return 0.0, 1.0
        count, share = self.labelled, self.precision
        middle = share + Z * Z / (2 * count)
        wide = Z * math.sqrt(share * (1 - share) / count + Z * Z / (4 * count * count))
        below = 1 + Z * Z / count
        return (middle - wide) / below, (middle + wide) / below

    def __str__(self) -> str:
        """Return a line of the summary."""
        left, (low, high) = self.shown - self.labelled, self.interval
        told = f"{self.precision:>8.2f}  {low:.2f} to {high:.2f}" if self.labelled else f"{'-':>8}"
        return f"{self.kind:16}{self.shown:>7}{self.labelled:>10}{left:>11}{self.right:>7}{told}"


def read_labels(folder: Path = LABELS) -> dict[tuple[str, str], bool]:
    """Return for each kind and digest whether most readers called it right."""
    votes: dict[tuple[str, str], Counter[bool]] = defaultdict(Counter)
    for path in sorted(folder.glob("*.tsv")):
        for row in repositories.rows(path) if path.name != PAIRS else ():
            votes[row["kind"], row["hash"]][row["label"] == RIGHT] += 1
    return {which: count[True] > count[False] for which, count in votes.items()}


def figures(rows: Iterable[Row], labels: Mapping[tuple[str, str], bool]) -> list[Figure]:
    """Return what there is of each kind, and how much of it is right."""
    found = []
    for kind, some in showing.by_kind(rows):
        said = (labels.get((each.kind, each.digest)) for each in some)
        known = [each for each in said if each is not None]
        found.append(Figure(kind, len(some), len(known), sum(known)))
    return found


def append(rows: Iterable[Row], out: Path) -> None:
    """Write rows as TSV behind those that are there."""
    lines = ["\t".join(_cell(each) for each in astuple(row)) for row in rows]
    with out.open("a", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)


def found_plants(life: Life, some: Sequence[Plant], places: Mapping[str, tuple[str, int]]) -> Life:
    """Return a life with the rows alone that are about planted sentences, each with its plant.

    A plant that is shown against another text than it was made for has `?` behind its id.
    """
    kept = []
    for row in life.rows:
        for each in some:
            for text, other in ((row.text_a, row.place_b), (row.text_b, row.place_a)):
                if len(text) >= SHORT and text in each.text:
                    path, line = places[each.id]
                    is_meant = f"{each.repo}:{path}:{line}" in other.split("; ")
                    kept.append(replace(row, planted=each.id + ("" if is_meant else "?")))
    return replace(life, rows=kept)


def run(
    setup: Setup, *, data: Path, args: argparse.Namespace, plants: Sequence[Plant] = ()
) -> dict[str, object]:
    """Live one life, in a process of its own."""
    index = repositories.read_index(data)
    sections = {} if args.provider == "default" else {"embedding": {"provider": args.provider}}
    models = args.cache / "models" if args.cache else None
    with TemporaryDirectory(prefix="cx-") as folder:
        work = Path(folder) / "work"
        roots = {repo: repositories.copied(data, index, repo, work) for repo in setup.repos}
        places = repositories.plant(roots[setup.name], plants) if plants else {}
        said = read_labels().items()
        refused = {each for (kind, each), is_right in said if kind == "offer" and not is_right}
        living = showing.live(
            setup.name,
            roots,
            days=args.days,
            sections=sections,
            models=models,
            refused=refused,
        )
        life = asyncio.run(living)
    return (found_plants(life, plants, places) if plants else life).plain()


def chosen(args: argparse.Namespace, index: Mapping[str, Sequence[str]]) -> list[Setup]:
    """Return what is to be run: of the part that was asked for, one repository, or portfolios."""
    if args.repo:
        return [Setup(each, (each,)) for each in args.repo]
    some = [Setup(each, (each,)) for each in sorted(index, key=str.lower)]
    if args.portfolios:
        some = repositories.read_portfolios(args.portfolios)
    if args.plant:
        planted = {each.repo for each in repositories.read_plants(args.plant)}
        some = [each for each in some if each.name in planted]
    return some if args.all else [each for each in some if each.is_quiet is args.quiet]


def measure(args: argparse.Namespace, data: Path) -> list[Life]:
    """Live every life, at most so many at once, and tell each when it is over."""
    setups = chosen(args, repositories.read_index(data))
    plants: dict[str, list[Plant]] = defaultdict(list)
    for each in repositories.read_plants(args.plant) if args.plant else ():
        plants[each.repo].append(each)
    if args.cache:
        args.cache.mkdir(parents=True, exist_ok=True)
    one = partial(run, data=data, args=args)
    lives = []
    # The first compiles the model for all where there is a cache.
    first = setups[:1] if args.cache and not (args.cache / "models").exists() else []
    for some in (first, setups[len(first) :]):
        lives += _together(one, some, plants=plants, out=args.out)
    order = {each.name: number for number, each in enumerate(setups)}
    return sorted(lives, key=lambda life: order[life.setup])


def _together(
    one: partial[dict[str, object]],
    some: Sequence[Setup],
    *,
    plants: Mapping[str, list[Plant]],
    out: Path | None,
) -> list[Life]:
    """Live lives, each in a process of its own."""
    # What all of them import is imported once.
    context, lives = multiprocessing.get_context("forkserver"), []
    context.set_forkserver_preload(["benchmarks.showing"])
    with ProcessPoolExecutor(AT_ONCE, mp_context=context, max_tasks_per_child=1) as pool:
        waiting = {
            pool.submit(one, each, plants=plants.get(each.name, ())): each.name for each in some
        }
        for each in as_completed(waiting):
            try:
                lives.append(Life.of(each.result()))
            except Exception as error:  # noqa: BLE001 - the others are worth having
                print(f"{waiting[each]} FAILED: {error!r}", file=sys.stderr)
                continue
            if out:
                append(lives[-1].rows, out)
            told = json.dumps(lives[-1].figures)
            print(f"{lives[-1].setup}: {len(lives[-1].rows)} rows {told}", file=sys.stderr)
    return lives


def show(lives: Sequence[Life], *, plants: Sequence[Plant], took_s: float) -> None:
    """Print the summary."""
    rows = [row for life in lives for row in life.rows]
    total = Counter[str]()
    for life in lives:
        total.update(life.figures)
        for each in life.failed:
            print(f"failed in {life.setup}: {each}")
    names = ("insights", "of_several_projects", "contextual", "files")
    print(f"{len(lives)} homes in {took_s:.0f} s; {', '.join(f'{total[e]:g} {e}' for e in names)}")
    if plants:
        show_plants(rows, plants)
        return
    show_figures(rows)


def show_figures(rows: Sequence[Row]) -> None:
    """Print how much of what is shown is right."""
    heads = ("labelled", "unlabelled", "right", "precision  95 %")
    print(f"{'kind':16}{'shown':>7}{heads[0]:>10}{heads[1]:>11}{heads[2]:>7}  {heads[3]}")
    for figure in figures(rows, read_labels()):
        print(figure)


def show_plants(rows: Sequence[Row], plants: Sequence[Plant]) -> None:
    """Print how many planted contradictions are shown, by part and by kind."""
    shown = {row.planted for row in rows if row.kind == "contradiction"}
    merged = {row.planted for row in rows if row.kind == "merge"}
    for name, some in (
        ("all", plants),
        ("loud", [each for each in plants if not repositories.is_quiet(each.repo)]),
        ("quiet", [each for each in plants if repositories.is_quiet(each.repo)]),
        *((kind, [each for each in plants if each.kind == kind]) for kind in _kinds(plants)),
    ):
        hit = sum(each.id in shown for each in some)
        other = sum(f"{each.id}?" in shown and each.id not in shown for each in some)
        lost = sum(bool({each.id, f"{each.id}?"} & merged) for each in some)
        print(
            f"planted, {name}: {hit} of {len(some)} shown"
            f" ({hit / len(some) if some else 0:.2f}), {other} against another text, {lost} merged"
        )


def _kinds(plants: Sequence[Plant]) -> list[str]:
    return sorted({each.kind for each in plants})


def _cell(value: object) -> str:
    """Return a value as a cell."""
    return " ".join(str(value).split())


def parsed(words: Sequence[str] | None = None) -> argparse.Namespace:
    """Return what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--data", type=Path, help="the data set's folder")
    source.add_argument("--rows", type=Path, help="count the rows of an earlier --out instead")
    parser.add_argument("--out", type=Path, help="write what is shown to this file")
    parser.add_argument("--quiet", action="store_true", help="the quiet part, and no other")
    parser.add_argument("--all", action="store_true", help="both parts")
    parser.add_argument(
        "--portfolios",
        nargs="?",
        type=Path,
        const=repositories.PORTFOLIOS,
        help="several repositories a home, as this file says",
    )
    parser.add_argument("--repo", action="append", help="this repository (owner/name)")
    parser.add_argument("--plant", type=Path, help="plant these contradictions first")
    parser.add_argument("--days", type=int, default=DAYS, help="days of daily scans")
    parser.add_argument("--cache", type=Path, help="keep the compiled model here between runs")
    parser.add_argument("--provider", choices=("default", "hashing"), default="default")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> int:
    """Live, write down what is shown, and print how much of it is right."""
    args, began = parsed(words), time.monotonic()
    if args.rows:
        show_figures([Row(**row) for row in repositories.rows(args.rows)])
        return 0
    if args.out:
        args.out.write_text("\t".join(each.name for each in fields(Row)) + "\n", "utf-8")
    with repositories.unpacked(args.data) as data:
        wanted = len(chosen(args, repositories.read_index(data)))
        lives = measure(args, data)
        plants = repositories.read_plants(args.plant) if args.plant else []
    names = {life.setup for life in lives}
    some = [each for each in plants if each.repo in names]
    show(lives, plants=some, took_s=time.monotonic() - began)
    return 0 if 0 < wanted == len(lives) else 1


if __name__ == "__main__":
    sys.exit(main())
