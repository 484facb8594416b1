from __future__ import annotations

import hashlib
from functools import partial
from typing import TYPE_CHECKING

from cortex_actors.storage.pipeline import verdicts
from cortex_actors.storage.pipeline.verdicts import Verdict
from cortex_actors.storage.tables.columns import count_rows
from cortex_actors.storage.tables.schema import verdicts as rows_kept
from cortex_actors.testing import EPOCH

if TYPE_CHECKING:
    from tests.storage.things import Tables


def verdict(name: str, at: int = EPOCH, **answer: object) -> Verdict:
    """Return an answer to a question."""
    return Verdict(key(name), "llm", "openai:m@h", "compare", answer, at)


def key(name: str) -> bytes:
    """Return the key of a question."""
    return hashlib.sha256(name.encode()).digest()


class TestKept:
    def test_found(self, tables: Tables) -> None:
        """An answer is found under its key, and nothing is found under another."""
        tables.write(lambda c: verdicts.keep(c, [verdict("a", said=[1, "ü"]), verdict("b")]))

        assert {key("a"): {"said": [1, "ü"]}} == tables.read(
            lambda c: verdicts.load_answers(c, [key("a"), key("c")])
        )

    def test_first(self, tables: Tables) -> None:
        """The first answer stays, because it is the one that was acted on."""
        for said in (1, 2):
            tables.write(partial(verdicts.keep, rows=[verdict("a", said=said)]))

        assert [{"said": 1}] == list(
            tables.read(lambda c: verdicts.load_answers(c, [key("a")])).values()
        )

    def test_many(self, tables: Tables) -> None:
        """More keys than one statement binds are looked up, too."""
        rows = [verdict(str(number)) for number in range(2_500)]
        tables.write(lambda c: verdicts.keep(c, rows))

        assert 2_500 == len(
            tables.read(lambda c: verdicts.load_answers(c, [row.key for row in rows]))
        )

    def test_nothing(self, tables: Tables) -> None:
        """Nothing to keep and nothing to find cost nothing."""
        tables.write(lambda c: verdicts.keep(c, []))

        assert {} == tables.read(lambda c: verdicts.load_answers(c, []))


class TestPrune:
    def test_oldest(self, tables: Tables) -> None:
        """The oldest beyond the limit go, a few at a time."""
        rows = [verdict(str(number), at=EPOCH + number) for number in range(6)]
        tables.write(lambda c: verdicts.keep(c, rows))

        assert 2 == tables.write(lambda c: verdicts.prune(c, 3, 2))
        assert 1 == tables.write(lambda c: verdicts.prune(c, 3, 2))
        assert 0 == tables.write(lambda c: verdicts.prune(c, 3, 2))
        kept = tables.read(lambda c: verdicts.load_answers(c, [row.key for row in rows]))
        assert {key("3"), key("4"), key("5")} == set(kept)
        assert 3 == tables.read(lambda c: count_rows(c, rows_kept))
