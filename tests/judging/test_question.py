from __future__ import annotations

from cortex_actors.domain.judgement import Claim
from cortex_actors.judging.question import Kind, Question

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
