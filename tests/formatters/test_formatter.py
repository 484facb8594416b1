"""Formatter: what it is given room for, and what it leaves out first."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from cortex_actors.embedding.models import PACKAGED, locate
from cortex_actors.embedding.tokens import WordPieces
from cortex_actors.errors import NotFound
from cortex_actors.render.section import (
    FORMATTERS,
    Bullet,
    Options,
    Present,
    choose_targets,
    find,
    find_by_place,
    list_names,
)
from tests.formatters.bullets import KNOWN, many


@pytest.fixture(scope="module")
def tokens() -> WordPieces:
    """Give the tokeniser of the model that comes with the program."""
    return WordPieces.load(locate(next(iter(PACKAGED))).folder / "tokenizer.json", 0)


class TestRegistry:
    def test_names(self) -> None:
        """Seven agents are written for."""
        assert "claude agents gemini copilot cursor windsurf chatgpt".split() == list(list_names())

    def test_unknown(self) -> None:
        """An agent nobody writes for is an error that names those there are."""
        with pytest.raises(NotFound, match="claude, agents"):
            find("emacs")

    def test_upper_case(self) -> None:
        """Agents are known in upper case, too, as ids of agents are written."""
        assert "claude" == find("CLAUDE").name

    def test_places(self) -> None:
        """No file belongs to two agents."""
        places = [place for each in FORMATTERS for place in each.places]
        assert len(places) == len(set(places))
        assert all(place in (find_by_place(place) or FORMATTERS[-1]).places for place in places)

    def test_beginning(self) -> None:
        """Only a file that is wholly ours begins with something of ours."""
        assert find("cursor").top.startswith("---\n")
        (found,) = choose_targets([Present(".cursorrules")], agent="cursor").write
        assert found.fresh is None


class TestBudget:
    @pytest.mark.parametrize("budget", [60, 120, 400, 1_000, 4_000])
    @pytest.mark.parametrize("name", list_names())
    def test_kept(self, tokens: WordPieces, name: str, budget: int) -> None:
        """The text has at most as many tokens as it may, as a real tokeniser counts them."""
        found = find(name).render(many(120), Options(max_tokens=budget), count=tokens.count)
        assert found.tokens == (tokens.count(found.text) if found.text else 0)
        assert found.tokens <= budget

    def test_full(self, tokens: WordPieces) -> None:
        """As much is written as there is room for: one more bullet would not fit."""
        found = find("claude").render(many(120), Options(max_tokens=1_000), count=tokens.count)
        more = [*found.used, found.dropped[0]]
        assert 1_000 < find("claude").render(more, Options(), count=tokens.count).tokens

    def test_lowest(self, tokens: WordPieces) -> None:
        """What is ranked lowest is left out first, in whole bullets."""
        bullets = many(120)
        random.Random(1).shuffle(bullets)
        found = find("agents").render(bullets, Options(max_tokens=700), count=tokens.count)
        assert max(each.rank for each in found.dropped) < min(each.rank for each in found.used)
        assert all(line.endswith("else it has to do.") for line in found.lines)
        assert all(one.rank > other.rank for one, other in pairwise(found.dropped))

    def test_all(self) -> None:
        """Where there is room, nothing is left out."""
        found = find("claude").render(KNOWN, count=len)
        assert (len(KNOWN), ()) == (len(found.used), found.dropped)

    def test_no_room(self) -> None:
        """Where not even the heading fits, nothing is written at all."""
        found = find("claude").render(KNOWN, Options(max_tokens=5), count=len)
        assert ("", (), 0, len(KNOWN)) == (found.text, found.used, found.tokens, len(found.dropped))

    def test_characters(self) -> None:
        """Of an agent that reads so many characters of a file, no text is longer."""
        windsurf = find("windsurf")
        found = windsurf.render(many(300), Options(max_tokens=10**6), count=lambda _: 1)
        assert 11_000 < len(found.text) < 12_000

    def test_uneven(self) -> None:
        """A tokeniser that counts more text as fewer tokens breaks nothing."""
        uneven = random.Random(3)
        found = find("claude").render(
            many(40),
            Options(max_tokens=900),
            count=lambda text: len(text) // 4 - uneven.randrange(9),
        )
        assert 40 == len(found.used) + len(found.dropped)


class TestLines:
    def test_in_text(self) -> None:
        """The line of each bullet is told as it stands in the text, in the text's order."""
        found = find("claude").render(KNOWN, Options(include_metadata=True), count=len)
        listed = [each for each in found.text.splitlines() if each.startswith("- ")]
        assert listed == list(found.lines)
        assert len(found.used) == len(found.lines)

    def test_same(self) -> None:
        """Two principles that become the same line are written once: the higher ranked."""
        twice = [
            Bullet("p1", "Test  first.", "a", 0.4, 1),
            Bullet("p2", "- Test first.", "b", 0.6, 1),
        ]
        found = find("claude").render(twice, count=len)
        assert (["p2"], ["p1"]) == (
            [each.principle_id for each in found.used],
            [each.principle_id for each in found.dropped],
        )

    def test_silent(self) -> None:
        """What says nothing is left out, and is told to be."""
        found = find("claude").render([Bullet("p1", "---", "Code", 1, 1)], count=len)
        assert ((), ["p1"]) == (found.used, [each.principle_id for each in found.dropped])
