"""What a daemon finds of long conversations that were remembered turn by turn, and how fast.

`--data FILE` is any file in LoCoMo's format (Maharana and others, ACL 2024). A daemon of its own
home is given every turn through `remember` and every question through `recall`, as a user would
with the settings that are shipped: each conversation is listened to by an agent of its own and is
private to it, a session is a thread, who speaks is the role, the date leads the text, and
what is said twice is merged. Of each question counts which turns of its evidence are found; a turn
that became part of another memory is found where that one is.

`--provider` chooses the embedder (`sentence-transformers` compiles the default model first, or
takes it from `--models DIR`), `--no-merge` leaves merging out, to see what it costs. Run it from
the root: `python -m benchmarks.locomo`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from benchmarks import corpora
from cortex_actors.client.connection import Client
from cortex_actors.home import Home

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from benchmarks.corpora import Conversation, Question

#: Hits that are looked at, and how many of them each figure counts.
DEPTH, PLACES = 20, (5, 10, 20)

#: LoCoMo's kinds of questions, by its number.
CATEGORIES = {1: "several turns", 2: "when", 3: "with common sense", 4: "one turn", 5: "misleading"}

#: What is promised: recall at 5 over all questions.
GOAL = 0.75

#: Seconds between two looks whether the daemon is done, and until it must be.
PAUSE, LIMIT = 0.2, 1_800.0

#: Seconds one answer may take.
TIMEOUT = 120.0


class Ask(Protocol):
    """Says a verb to a daemon."""

    async def __call__(self, verb: str, **params: object) -> dict[str, Any]:
        """Return its answer."""


@dataclass(slots=True)
class Score:
    """How much of the evidence some questions found."""

    questions: int = 0
    #: Hits -> the mean share of the evidence among so many.
    recall: dict[int, float] = field(default_factory=dict)
    #: The mean of one over the place of the first turn of evidence.
    mrr: float = 0.0


@dataclass(slots=True)
class Report:
    """All figures."""

    model: str = ""
    merging: bool = True
    turns: int = 0
    #: Memories that are active at the end, and turns that are part of another one.
    memories: int = 0
    merged: int = 0
    conflicts: int = 0
    #: Seconds until the last answer of `remember`, and until every text had its vector.
    remembered_s: float = 0.0
    settled_s: float = 0.0
    #: Milliseconds a `recall` took, at the median.
    recall_ms: float = 0.0
    overall: Score = field(default_factory=Score)
    categories: dict[str, Score] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        """Turns remembered in a second."""
        return round(self.turns / self.remembered_s, 1) if self.remembered_s else 0.0


async def measure(
    ask: Ask, ledger: Path, conversations: Sequence[Conversation], *, merge: bool = True
) -> Report:
    """Return what a daemon finds; `ledger` is its ledger, of which parts of memories are read."""
    report = Report(merging=merge, turns=sum(len(each.turns) for each in conversations))
    begun = time.perf_counter()
    known = [await _remember(ask, each, report, merge=merge) for each in conversations]
    report.remembered_s = round(time.perf_counter() - begun, 3)
    await _settled(ask, ledger)
    report.settled_s = round(time.perf_counter() - begun, 3)
    wholes = _wholes(ledger)
    report.memories = sum(each == whole for each, whole in wholes.items())
    report.model = str((await ask("status"))["model"]["id"])
    places: list[tuple[Question, list[int]]] = []
    took: list[float] = []
    for conversation, names in zip(conversations, known, strict=True):
        at = {turn: wholes.get(name, name) for turn, name in names.items()}
        report.merged += sum(at[turn] != name for turn, name in names.items())
        for question in conversation.questions:
            started = time.perf_counter()
            found = await _recall(ask, conversation, question)
            took.append((time.perf_counter() - started) * 1_000)
            places.append((question, [_place(found, at[turn]) for turn in question.relevant]))
    report.recall_ms = round(sorted(took)[len(took) // 2], 2) if took else 0.0
    report.overall = _score(places)
    for number, name in CATEGORIES.items():
        some = [each for each in places if each[0].category == number]
        if some:
            report.categories[name] = _score(some)
    return report


async def _remember(
    ask: Ask, conversation: Conversation, report: Report, *, merge: bool
) -> dict[str, str]:
    """Have every turn remembered, one after the other; return turn -> memory."""
    names = {}
    for turn in conversation.turns:
        more: dict[str, object] = {} if merge else {"merge": False}
        answer = await ask(
            "remember",
            content=f"[{turn.date}] {turn.text}" if turn.date else turn.text,
            role=turn.speaker,
            agent=agent(conversation),
            thread=f"{conversation.id}-{turn.session}",
            **more,
        )
        names[turn.id] = str(answer["id"])
        report.conflicts += len(answer.get("conflicts", ()))
    return names


async def _recall(ask: Ask, conversation: Conversation, question: Question) -> list[str]:
    """Return the memories that a question finds, as the agent sees them."""
    answer = await ask(
        "recall", query=question.text, limit=DEPTH, as_agent=agent(conversation), track=False
    )
    assert not answer["failed"], answer["failed"]
    return [str(hit["id"]) for hit in answer["hits"]]


async def _settled(ask: Ask, ledger: Path) -> None:
    """Return once every text has its vector, and everything was compared."""
    end = time.perf_counter() + LIMIT
    while (await ask("status"))["unembedded"] or _count(ledger, "merge_due = 1"):
        assert time.perf_counter() < end, "texts still wait for their vectors"
        await asyncio.sleep(PAUSE)


def agent(conversation: Conversation) -> str:
    """Return the agent that listens to a conversation."""
    kept = "".join(letter for letter in conversation.id.upper() if letter.isascii())
    return "".join(letter if letter.isalnum() else "-" for letter in kept)[:64]


def _wholes(ledger: Path) -> dict[str, str]:
    """Return what each memory is part of in the end; itself, where it is none."""
    with closing(sqlite3.connect(f"file:{ledger}?mode=ro", uri=True)) as opened:
        parts: dict[str, str | None] = dict(
            opened.execute("SELECT id, coalesce(merged_into, replaced_by) FROM memories")
        )
    found = {}
    for name in parts:
        whole = name
        while (above := parts.get(whole)) is not None:
            whole = above
        found[name] = whole
    return found


def _count(ledger: Path, condition: str) -> int:
    """Return how many memories meet a condition."""
    with closing(sqlite3.connect(f"file:{ledger}?mode=ro", uri=True)) as opened:
        query = f"SELECT count(*) FROM memories WHERE {condition}"  # noqa: S608 - ours
        return int(opened.execute(query).fetchone()[0])


def _place(found: Sequence[str], wanted: str) -> int:
    """Return the place of a memory among hits, from 1; 0 for none."""
    return found.index(wanted) + 1 if wanted in found else 0


def _score(some: Sequence[tuple[Question, list[int]]]) -> Score:
    """Return the figures of some questions, given the places of their evidence."""
    if not some:
        return Score()
    shares = {
        most: [sum(0 < place <= most for place in places) / len(places) for _, places in some]
        for most in PLACES
    }
    firsts = [min((place for place in places if place), default=0) for _, places in some]
    return Score(
        questions=len(some),
        recall={most: round(sum(each) / len(each), 4) for most, each in shares.items()},
        mrr=round(sum(1 / first for first in firsts if first) / len(firsts), 4),
    )


@contextmanager
def daemon(provider: str, models: Path | None) -> Iterator[Home]:
    """Run a daemon in a temporary home, whose model is ready (compiled, where it can be)."""
    with tempfile.TemporaryDirectory(prefix="cx-", ignore_cleanup_errors=True) as folder:
        home = Home.find(folder)
        if models is not None and models.is_dir():
            shutil.copytree(models, home.models, dirs_exist_ok=True)
        environment = {**os.environ, "CORTEX_HOME": folder, "CORTEX_EMBEDDING__PROVIDER": provider}
        environment.pop("CORTEX_TOKEN", None)
        _cortex("start", environment)
        try:
            end = time.perf_counter() + LIMIT
            while not _is_ready(Client(home, timeout=TIMEOUT).call("status"), provider):
                assert time.perf_counter() < end, "the model is still not ready"
                time.sleep(PAUSE)
            yield home
        finally:
            _cortex("stop", environment)


def _is_ready(status: Mapping[str, Any], provider: str) -> bool:
    """Tell whether texts are embedded by the model that is to be measured."""
    compiled = provider == "hashing" or "+" in str(status["model"]["id"])
    return status["model"]["state"] == "ready" and compiled


def _cortex(command: str, environment: dict[str, str]) -> None:
    """Run a command of the command line."""
    words = [sys.executable, "-m", "cortex_actors", command]
    subprocess.run(words, check=True, env=environment, stdout=subprocess.DEVNULL)  # noqa: S603


def show(report: Report) -> None:
    """Print the tables."""
    print(f"model {report.model}; merging {'on' if report.merging else 'off'}")
    print(
        f"{report.turns} turns remembered in {report.remembered_s:.1f} s ({report.rate} a second), "
        f"everything embedded after {report.settled_s:.1f} s"
    )
    print(
        f"{report.memories} memories; {report.merged} turns are part of another one, "
        f"{report.conflicts} contradictions were found; a recall takes {report.recall_ms} ms"
    )
    heads = "".join(f"{f'at {most}':>9}" for most in PLACES)
    print(f"\n{'questions':24}{'':>6}{heads}{'MRR':>9}")
    for name, score in {**report.categories, "all": report.overall}.items():
        cells = "".join(f"{score.recall.get(most, 0.0):>9.4f}" for most in PLACES)
        print(f"{name:24}{score.questions:>6}{cells}{score.mrr:>9.4f}")
    met = report.overall.recall.get(PLACES[0], 0.0) >= GOAL
    print(f"\n{'met   ' if met else 'MISSED'}  recall at 5 of all (goal: {GOAL})")


def main(words: Sequence[str] | None = None) -> int:
    """Measure, print, and tell whether the goal was met."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="a file in LoCoMo's format")
    providers = ("sentence-transformers", "hashing")
    parser.add_argument("--provider", choices=providers, default=providers[0])
    parser.add_argument("--models", type=Path, help="a folder of compiled models")
    parser.add_argument("--no-merge", action="store_true", help="keep every turn by itself")
    parser.add_argument("--json", action="store_true", help="for a program")
    args = parser.parse_args(words)
    with daemon(args.provider, args.models) as home:
        client = Client(home, timeout=TIMEOUT)

        async def ask(verb: str, **params: object) -> dict[str, Any]:
            call = partial(client.call, verb, **params)
            return await asyncio.to_thread(call)

        conversations = corpora.locomo(args.data)
        measured = measure(ask, home.ledger, conversations, merge=not args.no_merge)
        report = asyncio.run(measured)
    if args.json:
        print(json.dumps({**asdict(report), "rate": report.rate}, indent=2))
    else:
        show(report)
    return 0 if report.overall.recall.get(PLACES[0], 0.0) >= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
