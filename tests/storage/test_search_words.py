"""The words of a search: any text, what words weigh, and what leaving words out costs."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from cortex_actors.errors import WordsDamaged
from cortex_actors.storage import passages
from cortex_actors.storage.search import words
from cortex_actors.storage.search.words import Moment, Postings, find_near
from cortex_actors.text.terms import Term
from cortex_actors.text.terms import find_terms as terms_of
from tests.storage.things import put_passages

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

    from cortex_actors.storage.search.query import ListedItem
    from tests.storage.things import Tables

#: Words as English has them: a few everywhere, most of them rare.
VOCABULARY = [f"word{number}" for number in range(2_000)]


def learn(tables: Tables, *texts: str) -> Connection:
    """Let texts be found."""
    made = [
        passage
        for number, text in enumerate(texts)
        for passage in passages.make_passages(
            text, collection="cortex_village", item_id=f"{number:04}"
        )
    ]
    put_passages(tables.connection, made)
    return tables.connection


def asked(connection: Connection, question: str, *, most: int = 9) -> list[str]:
    """Return the terms a question is searched by, as a person reads them."""
    among = Moment(connection, Postings()).load_among("words_alone")
    return [each.shown for each in words.choose_terms(connection, question, most=most, among=among)]


def placed(
    connection: Connection,
    question: str,
    *,
    some: Iterable[int] | None = None,
    most: int = 12,
    depth: int = 10,
) -> list[ListedItem]:
    """Return what a question finds by its words among passages of those numbers, or all."""
    ids = None if some is None else np.fromiter(some, np.int64)
    among = Moment(connection, Postings(), ids).load_among("words_alone")
    terms = words.choose_terms(connection, question, most=most, among=among)
    return find_near(connection, terms, among=among, depth=depth)


def found(connection: Connection, question: str, *, most: int = 12, depth: int = 10) -> list[str]:
    """Return the ids of what a question finds by its words."""
    return [each.item_id for each in placed(connection, question, most=most, depth=depth)]


class TestTerms:
    def test_stems(self, tables: Tables) -> None:
        """Words that the index does not tell apart are searched once."""
        assert ["running", "café"] == asked(tables.connection, "running runs RUN café cafe")

    def test_no_token(self, tables: Tables) -> None:
        """What the tokeniser makes nothing of is not searched."""
        assert [] == asked(tables.connection, "\N{COMBINING ACUTE ACCENT}")

    def test_pruned(self, tables: Tables) -> None:
        """Of a long question the rarest words are searched, in its order."""
        connection = learn(tables, "one two three", "one two", "one")

        assert ["two", "three"] == asked(connection, "one two three four", most=2)
        assert ["one", "two", "three", "four"] == asked(connection, "one two three four", most=4)

    def test_phrase_stays(self, tables: Tables) -> None:
        """A phrase is searched whatever its words are, and beginnings count as rare."""
        connection = learn(tables, "one two", "one")

        assert ['"one two"', "天*"] == asked(connection, '"one two" one 天', most=1)


class TestFound:
    def test_stem(self, tables: Tables) -> None:
        """A word is found in its other forms, and with or without accents."""
        connection = learn(tables, "They were running to the café.")

        assert ["0000"] == found(connection, "run")
        assert ["0000"] == found(connection, "cafe")

    def test_phrase(self, tables: Tables) -> None:
        """A phrase is found as it stands; its words apart are not it."""
        connection = learn(tables, "red apples and green pears", "green apples and red pears")

        assert ["0000"] == found(connection, '"red apples"')

    def test_phrase_with_stop_words(self, tables: Tables) -> None:
        """Within a phrase stop words count."""
        connection = learn(tables, "to be or not to be", "be a not or")

        assert ["0000"] == found(connection, '"not to be"')

    def test_name(self, tables: Tables) -> None:
        """A name is found by its parts."""
        connection = learn(tables, "call parse_config in config.py", "nothing of it")

        assert ["0000"] == found(connection, "parse_config")

    def test_without_spaces(self, tables: Tables) -> None:
        """In a script without spaces, runs are found by their beginning."""
        connection = learn(tables, "天気がいい。散歩に行く。", "元気がいい。")

        assert ["0000"] == found(connection, "散歩")
        assert ["0000"] == found(connection, "天気")

    def test_ties(self, tables: Tables) -> None:
        """Equal weights go by id, however many of them the list has no room for."""
        connection = learn(tables, *["same text"] * 30)

        assert [f"{n:04}" for n in range(10)] == found(connection, "same")

    def test_only_allowed(self, tables: Tables) -> None:
        """What may not be found has no place in the list, and takes nobody's."""
        connection = learn(tables, *["same"] * 30)
        few = placed(connection, "same", some=range(21, 31), depth=3)

        assert ["0020", "0021", "0022"] == [each.item_id for each in few]


class TestAnyText:
    @pytest.mark.slow
    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.text(st.characters(exclude_categories=["Cs"]), max_size=50))
    @example("NEAR(a b, 2) AND OR NOT a* ^b c:d -e +f {g h} : i")
    @example('"unclosed AND "" """ OR "*" ^ NEAR')
    @example("nul\0in the middle \0")
    @example('"the and of" the and of')
    @example("text:secret rowid:1 words_alone:x")
    @example("'; DROP TABLE passages; --")
    def test_no_error(self, tables: Tables, text: str) -> None:
        """Whatever is asked is searched without an error, long or short, pruned or not."""
        found(tables.connection, text)
        found(tables.connection, text, most=1)

    def test_after_an_error(self) -> None:
        """Words are cut after a failure, and where SQLite has taken back what it was given."""
        with pytest.raises(UnicodeEncodeError):
            words.find_distinct([Term("lone \ud800")])
        assert [("cut",)] == [*words.find_distinct([Term("cut")]).values()]
        words._cutter().rollback()  # as SQLite does it without memory

        assert [("again",)] == [*words.find_distinct([Term("again")]).values()]


class TestWeights:
    @pytest.mark.parametrize("part", [False, True])
    def test_as_fts5(self, tables: Tables, *, part: bool) -> None:
        """Words weigh what FTS5 gives them in a table of just the texts that may be found."""
        draw = random.Random(3)
        share = [1 / (rank + 1) for rank in range(50)]
        texts = [" ".join(draw.choices(VOCABULARY[:50], share, k=20)) for _ in range(200)]
        texts += ["天気 天気がいい word1", "?", "word0 word1 word0 word1 word0 word1"]
        connection = learn(tables, *texts)
        places = [place for place in range(len(texts)) if not part or place % 3]
        with words.open_texts([texts[place] for place in places]) as private:
            for question in ("word0 word3 word40", '"word0 word1" word9', "天気 word2", "wordless"):
                terms = words.find_distinct(terms_of(question))
                expected = words.find_best(private, terms, len(texts))
                some = [place + 1 for place in places] if part else None
                mine = placed(connection, question, some=some, depth=len(texts))
                assert [f"{places[n]:04}" for n, _ in expected] == [each.item_id for each in mine]
                weights = [weight for _, weight in expected]
                assert weights == pytest.approx([each.score for each in mine])
                # What stands in most texts weighs a millionth, and is not looked at for that.
                first = [each.score for each in placed(connection, question, some=some)]
                assert weights[:10] == pytest.approx(first, abs=1e-5)

    def test_in_most(self, tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of many texts that hold no other word than one of most texts the newest are found."""
        monkeypatch.setattr(words, "_TIMED", 3)
        connection = learn(tables, *(f"oak tree {number}" for number in range(8)), "elm")
        found = placed(connection, "oak", depth=2)
        assert ["0006", "0007"] == [each.item_id for each in found]

    def test_grown(self, tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
        """What is kept of words answers as what is read, whatever has come and gone since."""
        monkeypatch.setattr(words, "_KEPT_FROM", 0)
        monkeypatch.setattr(words, "_NEW", 5)
        draw, known, connection = random.Random(6), Postings(), tables.connection
        for _ in range(30):
            items = [f"{number:04}" for number in draw.sample(range(60), draw.choice([1, 2, 9]))]
            made = [
                passage
                for item in items
                if draw.random() < 0.8
                for passage in passages.make_passages(
                    " ".join(draw.choices(VOCABULARY[:20], k=9)),
                    collection="cortex_village",
                    item_id=item,
                )
            ]
            passages.replace(connection, "cortex_village", items, made)
            if draw.random() < 0.3:  # as a start does, of words in more than a share of the texts
                known.load_common(connection, words="words_alone")
            among = Moment(connection, known).load_among("words_alone")
            terms = words.choose_terms(connection, "word1 word2 word3", most=9, among=among)
            found = find_near(connection, terms, among=among, depth=10)
            assert found == placed(connection, "word1 word2 word3", most=9)

    def test_read_once(self, tables: Tables) -> None:
        """Lengths are counted again when something came or went, and else only looked up."""
        known, connection = Postings(), learn(tables, "one two", "three")
        first, again = (Moment(connection, known).load_among("words_alone") for _ in range(2))
        assert first.lengths is again.lengths
        put_passages(
            connection, passages.make_passages("four", collection="cortex_village", item_id="x")
        )
        later = Moment(connection, known).load_among("words_alone")
        passages.replace(connection, "cortex_village", ["x"], [])
        last = Moment(connection, known).load_among("words_alone")

        assert [(2, 3), (3, 4), (2, 3)] == [(e.count, e.tokens) for e in (first, later, last)]

    def test_whatever_others_say(self, tables: Tables) -> None:
        """Texts that may not be found change neither what is searched, nor the order or weights."""
        draw = random.Random(4)
        texts = [" ".join(draw.choices(VOCABULARY[:300], k=20)) for _ in range(1_100)]
        connection = learn(tables, *texts)
        mine = range(1, len(texts) + 1)
        questions = [" ".join(draw.sample(VOCABULARY[:300], 30)) for _ in range(10)]
        before = [placed(connection, each, some=mine) for each in questions]
        others = [
            passage
            for number in range(500)
            for passage in passages.make_passages(
                " ".join(draw.choices(VOCABULARY[:20], k=90)),
                collection="cortex_private",
                item_id=f"x{number}",
            )
        ]
        put_passages(connection, others)

        assert before == [placed(connection, each, some=mine) for each in questions]

    def test_damaged(self, tables: Tables) -> None:
        """A word in a text that the list does not have is damage, and not an answer."""
        connection = learn(tables, "one two")
        connection.exec_driver_sql("DELETE FROM words_alone_docsize")

        with pytest.raises(WordsDamaged):
            found(connection, "one")


class TestPruning:
    @pytest.mark.slow
    @pytest.mark.parametrize("seed", [1, 2])
    def test_same_best(self, tables: Tables, seed: int) -> None:
        """Half of a text amid as many other words finds it first, by twelve words as by all."""
        # Words are drawn as English has them. What stands behind the first has little in common
        # with the question; on real ones far more stays: benchmarks/retrieval.py.
        draw = random.Random(seed)
        share = [1 / (rank + 1) for rank in range(len(VOCABULARY))]
        texts = [" ".join(draw.choices(VOCABULARY, share, k=20)) for _ in range(300)]
        connection = learn(tables, *texts)
        kept = 0
        for text in draw.sample(texts, 20):
            question = " ".join(text.split()[:10] + draw.choices(VOCABULARY, share, k=10))
            whole = found(connection, question, most=99)
            pruned = found(connection, question, most=12)
            kept += len(set(whole) & set(pruned))
            assert whole[0] == pruned[0], f"seed {seed}"

        assert kept >= 150, f"{kept} of 200 were found again, with seed {seed}"
