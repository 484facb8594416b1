"""Any text becomes a valid search, and nothing a person types is read as syntax."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cortex_actors.errors import BadInput
from cortex_actors.text.lexicon import STOP_WORDS
from cortex_actors.text.terms import (
    PHRASE_WORDS,
    PHRASES_LIMIT,
    WORDS_LIMIT,
    Term,
    choose_rarest,
    find_terms,
    split_words,
    write_expression,
)


def words(*texts: str) -> list[Term]:
    """Return plain words as terms."""
    return [Term(text) for text in texts]


class TestWords:
    def test_split(self) -> None:
        """Words are runs of letters, digits and marks, in lower case."""
        assert ["how", "do", "i", "run", "the", "e2e", "tests"] == split_words(
            "How do I run the e2e-tests?"
        )

    def test_names(self) -> None:
        """The parts of a name are words of their own."""
        assert words("snake", "case", "name", "py") == find_terms("snake_case/name.py")

    def test_once(self) -> None:
        """A word that stands twice is searched once, where it stood first."""
        assert words("cat", "dog") == find_terms("cat dog CAT dog")

    def test_limit(self) -> None:
        """Of a pasted page the first words are searched."""
        found = find_terms(" ".join(f"word{n}" for n in range(WORDS_LIMIT + 50)))

        assert WORDS_LIMIT == len(found)
        assert Term("word0") == found[0]


class TestStopWords:
    def test_dropped(self) -> None:
        """Words that say nothing of what is asked are dropped."""
        assert words("test", "database", "port") == find_terms("what is the test database's port")

    def test_contractions(self) -> None:
        """So is what a contraction leaves when its apostrophe is gone."""
        assert words("work") == find_terms("why doesn't it work, and what's it you don't")

    def test_nothing_else(self) -> None:
        """A question of nothing else is searched by them all."""
        assert words("to", "be", "or", "not", "to")[:4] == find_terms("to be or not to be")

    def test_beside_phrase(self) -> None:
        """Beside a phrase they are dropped: the phrase is something to search for."""
        assert [Term("what is", phrase=True)] == find_terms('the "what is" of it')

    def test_table(self) -> None:
        """The table holds single lower-case words as the splitter makes them."""
        assert all([word] == split_words(word) for word in STOP_WORDS)


class TestPhrases:
    def test_phrase(self) -> None:
        """What stands in double quotes is a phrase, stop words and all."""
        found = find_terms('use "to be or not" here')

        assert [Term("to be or not", phrase=True), Term("use")] == found

    def test_typographic(self) -> None:
        """So is what stands in typographic quotes."""
        assert [Term("red apples", phrase=True)] == find_terms("\u201cred apples\u201d")

    def test_open(self) -> None:
        """A quote that is never closed is no quote."""
        assert words("inch", "pipe") == find_terms('inch" pipe')

    @pytest.mark.parametrize("text", ['""', '"  "', '"*"'])
    def test_empty(self, text: str) -> None:
        """A phrase without a word is none."""
        assert [] == find_terms(text)

    def test_limit(self) -> None:
        """More phrases than anybody quotes are left out."""
        quoted = " ".join(f'"number {n}"' for n in range(PHRASES_LIMIT + 5))

        assert PHRASES_LIMIT == len(find_terms(quoted))

    def test_long(self) -> None:
        """Of a long phrase the first words are searched, in a row."""
        quoted = " ".join(f"word{n}" for n in range(PHRASE_WORDS))

        assert [Term(quoted, phrase=True)] == find_terms(f'"{quoted} and more"')


class TestUnsegmented:
    @pytest.mark.parametrize(
        "text", ["天気", "こんにちは", "カタカナ", "สวัสดี", "မြန်မာ", "ភាសាខ្មែរ"]
    )
    def test_by_beginning(self, text: str) -> None:
        """A script without spaces is searched by the beginning of its runs."""
        assert [Term(text, prefix=True)] == find_terms(text)
        assert f'"{text}" *' == find_terms(text)[0].written

    def test_korean(self) -> None:
        """A script with spaces is searched by its words."""
        assert words("날씨") == find_terms("날씨")


class TestWritten:
    def test_or(self) -> None:
        """Whatever holds at least one of the terms is found."""
        assert '"a b" OR "c"' == write_expression([Term("a b", phrase=True), Term("c")])

    def test_quotes(self) -> None:
        """A quote within a term is doubled, so that it cannot end the term."""
        assert '"a""b"' == Term('a"b').written

    def test_shown(self) -> None:
        """For a person a term is written as it was meant."""
        shown = [
            each.shown for each in (Term("a b", phrase=True), Term("天", prefix=True), Term("c"))
        ]

        assert ['"a b"', "天*", "c"] == shown


class TestRarest:
    def test_prunes(self) -> None:
        """The words in the fewest texts are kept, in their order; those in none go first."""
        one, two, three, none = words("one", "two", "three", "none")

        counts = {one: 50, two: 2, three: 7}
        assert [two, three] == choose_rarest([one, two, three, none], counts, most=2, places=99)
        assert [one, two, three] == choose_rarest(
            [one, two, three, none], counts, most=9, places=99
        )

    def test_phrases_stay(self) -> None:
        """A phrase is never left out: somebody quoted it."""
        phrase = Term("of the", phrase=True)

        assert [phrase, Term("b")] == choose_rarest(
            [phrase, *words("a", "b")], {Term("a"): 9, Term("b"): 1}, most=1, places=99
        )

    def test_places(self) -> None:
        """Words are left out that together stand in too many texts, but for the three rarest."""
        some = words("a", "b", "c", "d", "e")
        counts = dict(zip(some, (500, 10, 20, 40, 400), strict=True))

        assert words("b", "c", "d", "e") == choose_rarest(some, counts, most=9, places=470)
        assert words("b", "c", "d") == choose_rarest(some, counts, most=9, places=1)

    def test_ties(self) -> None:
        """Of equally rare words the earlier one is kept."""
        assert words("a") == choose_rarest(
            words("a", "b"), {Term("a"): 3, Term("b"): 3}, most=1, places=9
        )


class TestAnyText:
    @pytest.mark.parametrize(("text", "place"), [("\ud800", 1), ("a \udfff b", 3)])
    def test_lone_surrogate(self, text: str, place: int) -> None:
        """Half of a surrogate pair is refused with its place, because it has no UTF-8 form."""
        with pytest.raises(BadInput, match=f"at character {place};"):
            find_terms(text)

    @given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
    @example("")
    @example("NEAR(a b, 2) AND OR NOT a* ^b c:d -e +f {g h} : i")
    @example('"unclosed AND "" """ OR "*" ^ NEAR')
    @example("nul\0in the middle \0")
    @example("the and of")
    @example("col:val text:secret rowid:1 words_alone:x")
    @example("'; DROP TABLE passages; --")
    @example("\N{COMBINING ACUTE ACCENT}")
    @example("\ue000 \U000f0000 \U0001f600")
    def test_no_syntax_error(self, text: str) -> None:
        """Whatever is asked makes an expression that SQLite reads."""
        found = find_terms(text)

        with closing(sqlite3.connect(":memory:")) as memory:
            memory.execute("CREATE VIRTUAL TABLE w USING fts5(text, tokenize='porter unicode61')")
            if found:
                memory.execute(
                    "SELECT * FROM w WHERE w MATCH ?", (write_expression(found),)
                ).fetchall()
        assert all(each.text for each in found)
