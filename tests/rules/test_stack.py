"""What a project chooses for itself is no contradiction of another project."""

from __future__ import annotations

from cortex_actors.rules.contradiction import CHOSEN, are_chosen, is_chosen
from cortex_actors.text.lexicon import standard


class TestStack:
    def test_known(self) -> None:
        """Every slot that counts as chosen is one of the families."""
        assert set() == CHOSEN - {each.slot for each in standard().families}

    def test_versions(self) -> None:
        """Versions are chosen, habits are not."""
        assert is_chosen("version of python")
        assert not is_chosen("type-hints")

    def test_all(self) -> None:
        """A conflict is one of tools only if nothing else is in question."""
        assert are_chosen({"database", "ci"})
        assert not are_chosen({"database", "type-hints"})
        assert not are_chosen(())
