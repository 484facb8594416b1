"""What a project chooses for itself is no contradiction of another project."""

from __future__ import annotations

from cortex_actors.rules.contradiction import HABITS, are_chosen, is_chosen
from cortex_actors.text.lexicon import standard


class TestStack:
    def test_known(self) -> None:
        """Every habit is one of the things that alternatives are known of."""
        assert set() == HABITS - {slot for slot, _ in standard().alternatives.values()}

    def test_versions(self) -> None:
        """Versions are chosen, habits are not."""
        assert is_chosen("version of python")
        assert not is_chosen("indentation")

    def test_all(self) -> None:
        """A conflict is one of tools only if nothing else is in question."""
        assert are_chosen({"database", "port of backend"})
        assert not are_chosen({"database", "indentation"})
        assert not are_chosen(())
