"""How fast texts become vectors: the compiled provider against sentence-transformers itself.

The same model, the same statements, the same cores, in turns: each round gives the statements to
`SentenceTransformer.encode(batch_size=32)`, to the compiled provider in one request, and to the
pool in front of it. Ratios are of the round; the median round counts. `--data DIR` takes the list
items and paragraphs of the Markdown files in a folder (default: the samples), `--models DIR` a
home's compiled models (default: it is compiled first, into a temporary folder). `--json` prints one
object, `--plot FILE` draws it. Exits 1 when a goal is missed.
Run it from the root: `python -m benchmarks.embedding`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.embedders import ITEMS, Compiled
from benchmarks.statements import statements
from cortex_actors.clock import SystemClock
from cortex_actors.embedding.compiler import compile_model
from cortex_actors.embedding.manifest import TOKENIZER, find_compiled
from cortex_actors.embedding.models import locate
from cortex_actors.embedding.tokens import WordPieces

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The model that is measured.
MODEL = "all-MiniLM-L6-v2"

#: Statements, as the goals are stated for.
TEXTS = 2_000

#: Times the throughput of sentence-transformers, at least.
SPEED_GOAL = 3.5

#: Its time for a question, its memory: times as much, at most. Its cold start: times as fast.
QUERY_GOAL, MEMORY_GOAL, START_GOAL = 0.35, 1 / 3, 15.0

#: Sizes of micro-batches in the table.
BUDGETS = (64, 128, 256, 512, 1_024)

#: What people ask, a dozen words at most.
QUESTIONS = (
    "How do I run the tests?",
    "tabs or spaces",
    "commit message format",
    "Which port does the development database use?",
    "where are the migrations",
)


class Process:
    """An embedder in a process of its own."""

    def __init__(self, kind: str, folder: Path) -> None:
        begun = time.perf_counter()
        self._process = subprocess.Popen(  # noqa: S603 - this file's neighbour
            [sys.executable, "-m", "benchmarks.embedders", kind, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._answer()
        #: Seconds from its start to its first vector.
        self.cold = time.perf_counter() - begun

    def ask(self, op: str, texts: Sequence[str] = ()) -> dict[str, Any]:
        """Return the answer to one request."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"op": op, "texts": list(texts)}) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def close(self) -> None:
        """Wait for its end."""
        self._process.communicate()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the embedder's process ended"
        answer: dict[str, Any] = json.loads(line)
        return answer


def compare(texts: list[str], folders: dict[str, Path], *, rounds: int) -> dict[str, Any]:
    """Return the figures of both embedders, measured in turns."""
    theirs, ours = Process("float", folders["float"]), Process("compiled", folders["compiled"])
    rows: list[dict[str, float]] = []
    questions = [question for question in QUESTIONS for _ in range(4)]
    for _ in range(rounds):
        row: dict[str, float] = {}
        for name, process, op in (
            ("float", theirs, "bulk"),
            ("provider", ours, "bulk"),
            ("flushes", theirs, "pool"),
            ("pool", ours, "pool"),
        ):
            took = process.ask(op, texts)
            row[name] = len(texts) / took["wall"]
            row[f"{name}_cpu"] = len(texts) / took["cpu"]
        for name, process in (("float", theirs), ("ours", ours)):
            each = process.ask("one", questions)["each"]
            row[f"query_{name}"] = statistics.median(each) * 1_000
        rows.append(row)
        print({name: round(value, 1) for name, value in row.items()}, file=sys.stderr)
    found: dict[str, Any] = {"rounds": rows}
    for name, process in (("float", theirs), ("ours", ours)):
        found[f"memory_{name}"] = process.ask("size")
        process.close()
    return found


def cold_starts(folders: dict[str, Path], times: int) -> dict[str, list[float]]:
    """Return the seconds of fresh processes from their start to their first vector, in turns."""
    took: dict[str, list[float]] = {"float": [], "compiled": []}
    for _ in range(times):
        for kind, all_of_them in took.items():
            process = Process(kind, folders[kind])
            all_of_them.append(process.cold)
            process.close()
    return took


async def table(texts: list[str], folder: Path, *, rounds: int) -> list[dict[str, float]]:
    """Return texts a second for each size of micro-batches and number of threads."""
    cores = len(os.sched_getaffinity(0))
    cells = [(b, t) for b in BUDGETS for t in sorted({1, cores, cores * 2})]
    rates: dict[tuple[int, int], list[float]] = {cell: [] for cell in cells}
    for _ in range(rounds):
        for budget, threads in cells:
            embedder = Compiled(str(folder), threads, budget)
            await embedder.start()
            await embedder.bulk(texts[:64])
            begun = time.perf_counter()
            for begin in range(0, len(texts), 64):
                await embedder.bulk(texts[begin : begin + 64])
            rates[budget, threads].append(len(texts) / (time.perf_counter() - begun))
            await embedder.provider.close()
    return [
        {"batch_tokens": b, "threads": t, "texts_per_s": statistics.median(rates[b, t])}
        for b, t in cells
    ]


def summary(found: dict[str, Any]) -> dict[str, float]:
    """Return the ratios that have goals."""
    rows = found["rounds"]

    def median(ours: str, theirs: str) -> float:
        return float(statistics.median(row[ours] / row[theirs] for row in rows))

    starts = {kind: statistics.median(took) for kind, took in found["cold"].items()}
    return {
        "provider_x": median("provider", "float"),
        "pool_x": median("pool", "float"),
        "pool_flushes_x": median("pool", "flushes"),
        "query_x": median("query_ours", "query_float"),
        "cold_x": starts["float"] / starts["compiled"],
        "memory_x": found["memory_ours"]["resident"] / found["memory_float"]["resident"],
    }


def tell(found: dict[str, Any]) -> bool:
    """Print the figures; say whether the goals are met."""
    rows, ratios = found["rounds"], found["ratios"]

    def middle(name: str) -> float:
        return float(statistics.median(row[name] for row in rows))

    print(f"{found['texts']} statements, {found['tokens']:.1f} tokens each, {found['over']} longer")
    print(f"than the window of {found['window']}; {len(rows)} rounds, medians")
    print(f"{'texts a second (of CPU)':28s}{'all at once':>20s}{f'{ITEMS} at a time':>20s}")
    for name, columns in (
        ("sentence-transformers", ("float", "flushes")),
        ("compiled: provider, pool", ("provider", "pool")),
    ):
        cells = [f"{middle(each):.1f} ({middle(f'{each}_cpu'):.1f})" for each in columns]
        print(f"{name:28s}{cells[0]:>20s}{cells[1]:>20s}")
    print(f"a question, ms: {middle('query_float'):.1f} and {middle('query_ours'):.1f}")
    for kind, took in found["cold"].items():
        print(f"first vector, {kind}: {', '.join(f'{each:.2f}' for each in sorted(took))} s")
    for name in ("float", "ours"):
        memory = found[f"memory_{name}"]
        print(f"MB resident, {name}: {memory['resident']:.0f} (most: {memory['peak']:.0f})")
    for cell in found["table"]:
        print(f"{cell['batch_tokens']:6.0f} tokens, {cell['threads']:.0f} threads: ", end="")
        print(f"{cell['texts_per_s']:.1f} texts/s")
    met = [
        _goal("provider", ratios["provider_x"], f">= {SPEED_GOAL}", SPEED_GOAL, least=True),
        _goal("pool", ratios["pool_x"], f">= {SPEED_GOAL}", SPEED_GOAL, least=True),
        _goal("question", ratios["query_x"], f"<= {QUERY_GOAL}", QUERY_GOAL, least=False),
        _goal("first vector", ratios["cold_x"], f">= {START_GOAL:g}", START_GOAL, least=True),
        _goal("memory", ratios["memory_x"], f"<= {MEMORY_GOAL:.2f}", MEMORY_GOAL, least=False),
    ]
    return all(met)


def draw(found: dict[str, Any], path: Path) -> None:
    """Save the table and the rates as a picture; needs the extra `bench`."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - an extra

    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    rows = found["rounds"]
    names = ("float", "flushes", "provider", "pool")
    left.bar(names, [statistics.median(row[name] for row in rows) for name in names])
    left.set_ylabel("texts a second")
    left.set_title("sentence-transformers (float, flushes) and compiled")
    for threads in sorted({cell["threads"] for cell in found["table"]}):
        cells = [cell for cell in found["table"] if cell["threads"] == threads]
        x, y = zip(*((c["batch_tokens"], c["texts_per_s"]) for c in cells), strict=True)
        right.plot(x, y, marker="o", label=f"{threads} threads")
    right.set_xscale("log", base=2)
    right.set_xlabel("tokens of a micro-batch")
    right.legend()
    figure.savefig(path)


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the arguments, measure, and print."""
    options = _options(arguments)
    texts = statements(options.data, options.texts)
    with tempfile.TemporaryDirectory() as scratch:
        folder, window = _folder(options.models or Path(scratch))
        tokens = WordPieces.load(folder / TOKENIZER, window)
        counts = [tokens.count(text) for text in texts]
        folders = {"float": locate(MODEL).folder, "compiled": folder}
        found = compare(texts, folders, rounds=options.rounds)
        found["cold"] = cold_starts(folders, options.rounds)
        found["table"] = asyncio.run(table(texts[: max(500, len(texts) // 4)], folder, rounds=2))
    found |= {"texts": len(texts), "tokens": statistics.mean(counts), "window": window}
    found["over"] = sum(count > window for count in counts)
    found["ratios"] = summary(found)
    if options.plot:
        draw(found, options.plot)
    if options.json:
        print(json.dumps(found))
        return 0
    return 0 if tell(found) else 1


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    samples = Path(__file__).parent.parent / "data" / "projects"
    parser.add_argument("--data", type=Path, default=samples)
    parser.add_argument("--models", type=Path)
    parser.add_argument("--texts", type=int, default=TEXTS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--plot", type=Path)
    return parser.parse_args(arguments)


def _folder(models: Path) -> tuple[Path, int]:
    """Return the compiled model's folder and its window; it is compiled if it is not there."""
    found = find_compiled(models, MODEL)
    if found is None:
        asyncio.run(compile_model(locate(MODEL), models, clock=SystemClock()))
        found = find_compiled(models, MODEL)
    assert found is not None
    return found[0], found[1].max_tokens


def _goal(what: str, value: float, text: str, goal: float, *, least: bool) -> bool:
    met = value >= goal if least else value <= goal
    print(f"{what}: {value:.2f} x (goal: {text}){'' if met else '  MISSED'}")
    return met


if __name__ == "__main__":
    sys.exit(main())
