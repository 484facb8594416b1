from __future__ import annotations

from cortex_actors.domain.insight import Claim
from cortex_actors.judging.layer import Kind, Question

TABS = Claim("Indent with tabs.", heading="Style")
SPACES = Claim("Indent with spaces.", scope="docs/")


def key(question: Question, *asked: str | int) -> bytes:
    """Return the key of a question to the usual model, or to another one."""
    return question.key(*(asked or ("llm", "m@h", 1)))


class TestKey:
    def test_order(self) -> None:
        """Two claims are one question, whichever comes first, and so are several texts."""
        assert key(Question.compare(TABS, SPACES)) == key(Question.compare(SPACES, TABS))
        one, other = (Question.about(Kind.MERGE, texts) for texts in ("ab", "ba"))
        assert key(one) == key(other)

    def test_differs(self) -> None:
        """Another text, heading, scope, kind, model or edition is another question."""
        plain = Question.compare(Claim("a"), Claim("b"))
        others = [
            key(Question.compare(Claim("a"), Claim("c"))),
            key(Question.compare(Claim("a", heading="b"), Claim("b"))),
            key(Question.compare(Claim("a", scope="b"), Claim("b"))),
            key(Question(Kind.MERGE, plain.quoted)),
            key(plain, "nli", "m@h", 1),
            key(plain, "llm", "n@h", 1),
            key(plain, "llm", "m@h", 2),
        ]

        assert 8 == len({key(plain), *others})

    def test_equal_texts(self) -> None:
        """One statement that stands in two places can be compared with itself."""
        found = Question.compare(Claim("a", heading=None), Claim("a", heading="h"))

        assert [{"text": "a"}, {"text": "a", "under": "h"}] == sorted(
            found.quoted.values(), key=len
        )

    def test_no_unicode(self) -> None:
        """A text that is no valid Unicode has a key and a size like any other."""
        found = Question.about(Kind.MERGE, ["\ud800"])

        assert 32 == len(key(found))
        assert found.size > 0


class TestMerge:
    def test_equal(self) -> None:
        """Where no text is preferred, or nobody knows the word, order means nothing (M-16)."""
        plain = Question.about(Kind.MERGE, ["a", "b"])

        assert plain == Question.merge(["b", "a"], "equal") == Question.merge(["a", "b"], "x")

    def test_preferred(self) -> None:
        """Whose words count is part of the question, and so is the order then (M-16)."""
        first, second = (Question.merge(["b", "a"], each) for each in ("a", "b"))

        assert {"texts": ["b", "a"], "prefer": "first"} == first.quoted
        assert first.key() != second.key() != Question.merge(["a", "b"], "b").key()
