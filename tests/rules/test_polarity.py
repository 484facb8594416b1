from __future__ import annotations

import pytest

from cortex_actors.text.lexicon import Sense, find_senses, load_standard, read_wording


def _sense(text: str, word: str) -> Sense:
    """Return what a text does with the last mention of a word."""
    said = read_wording(text)
    found = zip(said.words, find_senses(said, load_standard()), strict=True)
    return [sense for each, sense in found if each.text == word][-1]


class TestAgainst:
    @pytest.mark.parametrize(
        "text",
        [
            "Never use tabs",
            "Do not ever use tabs",
            "DON'T use tabs",
            "**DON'T**: use tabs",
            "Use spaces, not tabs",
            "Use spaces instead of tabs",
            "Prefer spaces over tabs",
            "Prefer spaces to tabs",
            "Avoid spaces and tabs",
            "Tabs are forbidden",
            "Tabs are not allowed",
            "Tabs should be avoided",
            "Remove tabs",
            "Replace tabs with spaces",
            "\u274c tabs",
            "Keine tabs",
            "Leerzeichen statt tabs",
        ],
    )
    def test_is_unwanted(self, text: str) -> None:
        """Whatever the grammar, what a statement is against is unwanted."""
        assert Sense.AGAINST is _sense(text, "tabs")


class TestWanted:
    @pytest.mark.parametrize(
        "text",
        [
            "Use tabs",
            "Never use spaces; use tabs",
            "No spaces (use tabs)",
            "Spaces are forbidden. Indent with tabs",
            "Not only spaces but tabs",
            "Never skip tabs",
            "Use tabs rather than spaces",
            "If not sure, use tabs",
            "Replace spaces with tabs",
        ],
    )
    def test_is_wanted(self, text: str) -> None:
        """A prohibition ends where its clause does, or where something is wanted instead."""
        assert Sense.WANTED is _sense(text, "tabs")


class TestConditions:
    @pytest.mark.parametrize("text", ["Do not push until asked", "Never push unless asked"])
    def test_barred(self, text: str) -> None:
        """What may not be until something is so, is forbidden with an exception."""
        assert Sense.BARRED is _sense(text, "push")

    @pytest.mark.parametrize("text", ["Only push when asked", "Push only after review"])
    def test_only(self, text: str) -> None:
        """What may be only under a condition is neither wanted nor forbidden."""
        assert Sense.ONLY is _sense(text, "push")

    @pytest.mark.parametrize("text", ["npm vs pnpm", "If you like pnpm, say so"])
    def test_beside(self, text: str) -> None:
        """What is only compared or supposed is not chosen."""
        assert Sense.BESIDE is _sense(text, "pnpm")
