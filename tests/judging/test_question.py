from __future__ import annotations

from cortex_actors.domain.insight import Claim
from cortex_actors.judging.layer import JudgeQuestion, QuestionKind

TABS = Claim("Indent with tabs.", heading="Style")
SPACES = Claim("Indent with spaces.", scope="docs/")


def key(question: JudgeQuestion, *asked: str | int) -> bytes:
    """Return the key of a question to the usual model, or to another one."""
    return question.hash_question(*(asked or ("llm", "m@h", 1)))


class TestKey:
    def test_order(self) -> None:
        """Two claims are one question, whichever comes first, and so are several texts."""
        assert key(JudgeQuestion.compare(TABS, SPACES)) == key(JudgeQuestion.compare(SPACES, TABS))
        one, other = (JudgeQuestion.from_texts(QuestionKind.MERGE, texts) for texts in ("ab", "ba"))
        assert key(one) == key(other)

    def test_differs(self) -> None:
        """Another text, heading, scope, kind, model or edition is another question."""
        plain = JudgeQuestion.compare(Claim("a"), Claim("b"))
        others = [
            key(JudgeQuestion.compare(Claim("a"), Claim("c"))),
            key(JudgeQuestion.compare(Claim("a", heading="b"), Claim("b"))),
            key(JudgeQuestion.compare(Claim("a", scope="b"), Claim("b"))),
            key(JudgeQuestion(QuestionKind.MERGE, plain.quoted)),
            key(plain, "nli", "m@h", 1),
            key(plain, "llm", "n@h", 1),
            key(plain, "llm", "m@h", 2),
        ]

        assert 8 == len({key(plain), *others})

    def test_equal_texts(self) -> None:
        """One statement that stands in two places can be compared with itself."""
        found = JudgeQuestion.compare(Claim("a", heading=None), Claim("a", heading="h"))

        assert [{"text": "a"}, {"text": "a", "under": "h"}] == sorted(
            found.quoted.values(), key=len
        )

    def test_no_unicode(self) -> None:
        """A text that is no valid Unicode has a key and a size like any other."""
        found = JudgeQuestion.from_texts(QuestionKind.MERGE, ["\ud800"])

        assert 32 == len(key(found))
        assert found.size > 0


class TestMerge:
    def test_equal(self) -> None:
        """Where no text is preferred, or nobody knows the word, order means nothing (M-16)."""
        plain = JudgeQuestion.from_texts(QuestionKind.MERGE, ["a", "b"])

        assert (
            plain
            == JudgeQuestion.merge(["b", "a"], "equal")
            == JudgeQuestion.merge(["a", "b"], "x")
        )

    def test_preferred(self) -> None:
        """Whose words count is part of the question, and so is the order then (M-16)."""
        first, second = (JudgeQuestion.merge(["b", "a"], each) for each in ("a", "b"))

        assert {"texts": ["b", "a"], "prefer": "first"} == first.quoted
        assert (
            first.hash_question()
            != second.hash_question()
            != JudgeQuestion.merge(["a", "b"], "b").hash_question()
        )
