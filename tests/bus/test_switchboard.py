"""Patterns, and which topic names are kept."""

from __future__ import annotations

import pytest

from cortex_actors import topics
from cortex_actors.bus.bus import Switchboard, make_matcher
from cortex_actors.bus.commits import refuse_too_large
from cortex_actors.domain.event import Custom
from cortex_actors.errors import BadInput, UnknownTopic


@pytest.fixture
def board() -> Switchboard:
    """Give a switchboard that nobody is connected to."""
    return Switchboard()


class TestPatterns:
    @pytest.mark.parametrize(
        ("pattern", "hears"),
        [
            ("*", True),
            ("file:*", True),
            ("*:changed", True),
            ("f*e:ch*d", True),
            ("*:*", True),
            ("file:changed", True),
            ("actor:*", False),
            ("custom:*", False),
            ("c*m:x", False),
        ],
    )
    def test_cover(self, board: Switchboard, pattern: str, *, hears: bool) -> None:
        """A pattern covers the topics it matches from end to end, where `*` is any run."""
        subscription = board.connect(pattern, print)

        assert hears == (subscription in board.find_receivers(topics.FILE_CHANGED))

    @pytest.mark.parametrize(
        "pattern", ["", "file", "FILE:*", "file:[a-z]*", "file:?", "a:b:c", "file:changed ", "**x"]
    )
    def test_no_pattern(self, pattern: str) -> None:
        """What is no pattern is refused, with the form a pattern has."""
        with pytest.raises(BadInput, match="a pattern is noun:state"):
            make_matcher(pattern)

    @pytest.mark.parametrize("pattern", ["file:chnaged", "fiel:*", "customs:*"])
    def test_deaf(self, pattern: str) -> None:
        """A pattern that no topic can ever match is refused, not silently deaf."""
        with pytest.raises(UnknownTopic, match="covers no topic"):
            make_matcher(pattern)

    @pytest.mark.parametrize("pattern", ["custom:deployed", "c*:dep*", "*:deployed"])
    def test_other_peoples(self, pattern: str) -> None:
        """A pattern may cover names that other processes have not said yet."""
        assert make_matcher(pattern)("custom:deployed")


class TestNames:
    def test_not_admitted(self, board: Switchboard) -> None:
        """Asking who hears a name that was never admitted keeps nothing of it."""
        subscription = board.connect("custom:*", print)
        for number in range(5):
            assert (subscription,) == board.find_receivers(f"custom:t-{number}")

        assert not board._signals

    def test_cancelled(self, board: Switchboard) -> None:
        """A cancelled subscription leaves nothing behind."""
        for _ in range(3):
            subscription = board.connect("*", print)
            board.find_receivers(topics.FILE_CHANGED)
            subscription.cancel()

        assert () == board.find_receivers(topics.FILE_CHANGED)
        assert not board._covers
        assert not any(signal.receivers for signal in board._signals.values())


class TestSize:
    def test_no_json(self) -> None:
        """What JSON cannot hold is found as before."""
        with pytest.raises(TypeError):
            refuse_too_large("custom:a", Custom({"a": object()}))
