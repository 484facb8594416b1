"""Pieces here are whole words with hand-made vectors: a word and its like stand near each other."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cortex_actors.rules.ranking import rerank
from cortex_actors.rules.ranking.rerank import SCALE, WIDTH, Pieces, Turn, TurnPlace

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

WORD = re.compile(r"\w+")

#: Words that mean nearly the same share a direction; every other word has one of its own.
ALIKE = (("dog", "puppy"), ("kiln", "oven"))

#: The first of March 2026 at ten, and a day, in microseconds.
MARCH, DAY = 1_772_359_200_000_000, 86_400_000_000

#: How near two words of a pair are.
NEAR = 0.8


def pieces(*texts: str) -> Pieces:
    """Return a table of all words in some texts."""
    words = sorted({word for text in texts for word in WORD.findall(text.lower())})
    rows = np.zeros((len(words), WIDTH))
    rows[np.arange(len(words)), np.arange(len(words))] = 1.0
    for one, other in ALIKE:
        if {one, other} <= set(words):
            at, to = words.index(one), words.index(other)
            rows[to] = 0.0
            rows[to, [at, to]] = NEAR, np.sqrt(1 - NEAR**2)
    vectors = np.round(SCALE * rows).astype(np.int8)

    def cut(text: str) -> NDArray[np.int64]:
        said = dict.fromkeys(WORD.findall(text.lower()))
        return np.array([words.index(each) for each in said], np.int64)

    return Pieces(vectors, cut)


def scored(
    question: str,
    *texts: str,
    cosines: tuple[float, ...] = (),
    speakers: tuple[str, ...] = (),
    at: int = MARCH,
) -> list[float]:
    """Return what the turns of one conversation are worth, in their order."""
    who = speakers or ("",) * len(texts)
    turns = [Turn(text, speaker, at) for text, speaker in zip(texts, who, strict=True)]
    measured = cosines or (0.0,) * len(texts)
    candidates = [
        TurnPlace(
            n,
            range(n - 1, max(n - 1 - rerank.AROUND, -1), -1),
            range(n + 1, min(n + 1 + rerank.AROUND, len(texts))),
            measured[n],
        )
        for n in range(len(texts))
    ]
    return rerank.score(question, turns, candidates=candidates, pieces=pieces(question, *texts))


class TestPieces:
    def test_same_words(self) -> None:
        """A turn that holds every word of a question is worth 1 by its pieces."""
        assert scored("bright kiln", "a bright kiln", "grey sky") == pytest.approx(
            [1.0, rerank.BEFORE], abs=0.01
        )

    def test_near_words(self) -> None:
        """A word that means nearly the same counts as much as the two are near."""
        assert scored("dog", "puppy")[0] == pytest.approx(NEAR, abs=0.01)

    def test_rare_words(self) -> None:
        """A word that few turns hold weighs more than one that most of them hold."""
        rare, common = "zinc", "blue"
        far = ["filler"] * rerank.AROUND
        found = scored(f"{rare} {common}", rare, *far, common, *far, common, *far, common)

        assert found[0] > found[rerank.AROUND + 1]

    def test_stop_words(self) -> None:
        """A stop word counts half of another word that is as rare."""
        far = ["filler"] * rerank.AROUND
        found = scored("the zinc", "zinc", *far, "the")

        assert found[-1] == pytest.approx(rerank.STOP * found[0], abs=0.02)

    def test_no_word(self) -> None:
        """A question without a word leaves the order to the cosine and the rules."""
        assert scored("?!", "one", "two", cosines=(0.5, 1.0)) == pytest.approx(
            [0.5 * rerank.COSINE, rerank.COSINE]
        )

    def test_turn_of_marks(self) -> None:
        """A turn without a word is worth nothing, and is no error."""
        assert scored("zinc", "...")[0] == 0.0

    def test_long_turn(self) -> None:
        """What stands behind the length that is compared does not count."""
        assert scored("zinc", "a " * rerank.LONGEST + "zinc")[0] == 0.0

    def test_plain_reference(self) -> None:
        """Worth of many random turns is that of comparing every piece with every other in turn."""
        chance = np.random.default_rng(5)
        vectors = chance.integers(-SCALE, SCALE, (400, WIDTH)).astype(np.int8)

        def cut(text: str) -> NDArray[np.int64]:
            # Two pieces a word, of which words share some: as of "walked" and "talked".
            words = [int(each) for each in WORD.findall(text)]
            return np.array([n for each in words for n in (each, 300 + each % 40)], np.int64)

        for _ in range(50):
            texts = [
                " ".join(map(str, chance.integers(0, 300, size)))
                for size in chance.integers(0, 12, 20)
            ]
            question = " ".join(map(str, chance.integers(0, 300, 5)))
            places = [TurnPlace(n, (), (), 0.0) for n in range(len(texts))]
            turns = [Turn(text, "", MARCH) for text in texts]
            found = rerank.score(question, turns, candidates=places, pieces=Pieces(vectors, cut))
            assert found == pytest.approx(plainly(question, texts, vectors, cut), abs=1e-4)


def plainly(
    question: str,
    texts: list[str],
    vectors: NDArray[np.int8],
    cut: Callable[[str], NDArray[np.int64]],
) -> list[float]:
    """Return what turns with nothing around them are worth, one piece at a time."""
    rows = vectors.astype(np.float64) / SCALE
    asked = [piece for word in WORD.findall(question) for piece in cut(word)]
    said = [set(cut(text).tolist()) for text in texts]
    rare = [
        np.log((len(said) + 1) / (sum(piece in each for each in said) + 0.5)) for piece in asked
    ]
    return [
        sum(
            weight * max(0.0, *(float(rows[piece] @ rows[one]) for one in each), 0.0)
            for piece, weight in zip(asked, rare, strict=True)
        )
        / sum(rare)
        for each in said
    ]


class TestAround:
    def test_before(self) -> None:
        """A word that stands so many turns before counts the less, the further off it is."""
        found = scored("zinc", "zinc", "one", "two", "three", "four")
        expected = [rerank.BEFORE * rerank.FADES**away for away in range(rerank.AROUND)]

        assert found == pytest.approx([1.0, *expected, 0.0], abs=0.01)

    def test_after(self) -> None:
        """A word that stands after counts less than one that stands before."""
        found = scored("zinc", "one", "zinc", "two")

        assert found[0] == pytest.approx(rerank.AFTER, abs=0.01)
        assert found[0] < found[2] < found[1]

    def test_best_of_all(self) -> None:
        """Words in several turns do not add up: each word counts where it is nearest."""
        once = scored("zinc", "zinc", "four", "five", "six")
        twice = scored("zinc", "zinc", "zinc", "five", "six")

        assert twice[0] == pytest.approx(once[0], abs=0.01)


class TestRules:
    def test_cosine(self) -> None:
        """The cosine of the pair adds its share."""
        far, near = scored("zinc", "one", "one", cosines=(0.0, 1.0))

        assert near - far == pytest.approx(rerank.COSINE)

    def test_asks(self) -> None:
        """A turn that ends with a question mark loses against the same one that tells."""
        asks, tells = scored("zinc", "zinc? ", "zinc.")

        assert asks - tells == pytest.approx(rerank.ASKS)

    @pytest.mark.parametrize(
        ("question", "gains"),
        [
            ("did anna fire", (rerank.SPEAKER, 0.0)),
            ("did Anna's brother fire", (rerank.SPEAKER, 0.0)),
            ("did anna or ben fire", (0.0, 0.0)),
            ("did anyone fire", (0.0, 0.0)),
            ("did annabel fire", (0.0, 0.0)),
        ],
    )
    def test_speaker(self, question: str, gains: tuple[float, float]) -> None:
        """Turns of a speaker gain where the question names that speaker and no other."""
        found = scored(question, "zinc", "zinc", speakers=("Anna", "Ben"))
        plain = scored(question, "zinc", "zinc")

        assert [a - b for a, b in zip(found, plain, strict=True)] == pytest.approx(list(gains))

    def test_role(self) -> None:
        """A role that everybody has is no name: questions about users prefer no turn."""
        found = scored("which user fires", "zinc", "zinc", speakers=("user", "assistant"))

        assert found[0] == found[1]

    @pytest.mark.parametrize(
        ("question", "share"),
        [
            ("zinc in May", 1.0),
            ("zinc in may", 0.0),
            ("zinc in May 2023", 1.0),
            ("zinc in May 2022", 0.0),
            ("zinc on 8 May 2023", 1.0),
            ("zinc on May 8", 1.0),
            ("zinc on the 9th of May", 0.5),
            ("zinc in June", 0.0),
        ],
    )
    def test_date(self, question: str, share: float) -> None:
        """A turn gains by how far its date is the one that the question names."""
        dated = scored(question, "[1:56 pm on 8 May, 2023] iron")
        other = scored(question, "[1:56 pm on 8 April, 2021] iron")

        assert dated[0] - other[0] == pytest.approx(rerank.DATE * share)

    def test_date_of_the_turn(self) -> None:
        """Where a text names no date, that on which the turn was said counts."""
        (mine,) = scored("zinc in March 2026", "iron", at=MARCH)
        (other,) = scored("zinc in March 2026", "iron", at=MARCH + 31 * DAY)

        assert mine - other == pytest.approx(rerank.DATE)

    def test_stamp_is_no_text(self) -> None:
        """The date before a text is none of its words."""
        assert scored("1993", "Anna: [8 May, 1993] iron")[0] == pytest.approx(0.0, abs=0.01)

    def test_brackets_that_are_no_date(self) -> None:
        """What else stands in brackets before a text stays one of its words."""
        assert scored("zinc", "[zinc] iron")[0] == pytest.approx(1.0, abs=0.01)

    @pytest.mark.parametrize(
        ("question", "gain"),
        [("when zinc", rerank.TIME), ("what year zinc", rerank.TIME), ("whose zinc", 0.0)],
    )
    def test_time(self, question: str, gain: float) -> None:
        """A turn that names a time gains where the question begins by asking for one."""
        (named,) = scored(question, "zinc last tuesday")
        (plain,) = scored(question, "zinc lost tuesdays")

        assert named - plain == pytest.approx(gain, abs=1e-6)
