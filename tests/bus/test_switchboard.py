"""Patterns, and which topic names are kept."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from cortex_actors import topics
from cortex_actors.bus.bus import CUSTOM_NAMES, Switchboard, make_matcher
from cortex_actors.bus.commits import refuse_too_large
from cortex_actors.domain.event import Custom
from cortex_actors.errors import BadInput, UnknownTopic

#: What a body may hold.
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


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

        assert hears == (subscription in board.hearers(topics.FILE_CHANGED))

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
    def test_let_go(self, board: Switchboard) -> None:
        """A name too many takes the place of the one that was said longest ago."""
        for number in range(CUSTOM_NAMES):
            board.admit(f"custom:t-{number}")
            board.hearers(f"custom:t-{number}")
        board.admit("custom:t-0")
        board.admit("custom:new")
        board.hearers("custom:new")

        assert {"custom:t-0", "custom:new"} <= board._said.keys()
        assert "custom:t-1" not in board._said
        assert CUSTOM_NAMES == len(board._signals) == len(board._said)

    def test_asked_for(self, board: Switchboard) -> None:
        """A name that somebody subscribes to is kept, a pattern keeps none."""
        board.connect("custom:rare", print)
        board.connect("custom:*", print)
        for name in ("rare", *(f"t-{number}" for number in range(CUSTOM_NAMES + 5))):
            board.admit(f"custom:{name}")

        assert "custom:rare" in board._said
        assert "custom:t-5" not in board._said
        assert CUSTOM_NAMES == len(board._said)

    def test_not_admitted(self, board: Switchboard) -> None:
        """Asking who hears a name that was never admitted keeps nothing of it."""
        subscription = board.connect("custom:*", print)
        for number in range(5):
            assert (subscription,) == board.hearers(f"custom:t-{number}")

        assert not board._signals

    def test_again(self, board: Switchboard) -> None:
        """A name that was let go is heard by the same receivers when it comes back."""
        subscription = board.connect("custom:*", print)
        board.admit("custom:a")
        assert (subscription,) == board.hearers("custom:a")
        for number in range(CUSTOM_NAMES):
            board.admit(f"custom:t-{number}")
        let_go = "custom:a" not in board._said
        board.admit("custom:a")

        assert let_go
        assert (subscription,) == board.hearers("custom:a")

    def test_cancelled(self, board: Switchboard) -> None:
        """A cancelled subscription leaves nothing behind."""
        for _ in range(3):
            subscription = board.connect("*", print)
            board.hearers(topics.FILE_CHANGED)
            subscription.cancel()

        assert () == board.hearers(topics.FILE_CHANGED)
        assert not board._covers
        assert not any(signal.receivers for signal in board._signals.values())


class TestSize:
    def test_no_json(self) -> None:
        """What JSON cannot hold is found as before."""
        with pytest.raises(TypeError):
            refuse_too_large("custom:a", Custom({"a": object()}))
