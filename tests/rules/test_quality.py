"""Quality: how good sources are, by where the texts came from."""

from __future__ import annotations

import pytest

from cortex_actors.domain.project import Trust
from cortex_actors.rules.promotion import compute_quality


class TestQuality:
    def test_nothing(self) -> None:
        """What nothing says has no quality."""
        assert 0.0 == compute_quality([], 0)

    @pytest.mark.parametrize(
        ("voices", "expected"), [(0, 0.5), (1, 0.575), (2, 0.65), (4, 0.8), (40, 0.8)]
    )
    def test_voices(self, voices: int, expected: float) -> None:
        """Files of more independent projects are better sources, up to four."""
        assert pytest.approx(expected) == compute_quality({Trust.FILE}, voices)

    def test_person(self) -> None:
        """A person's word makes the best there is."""
        assert pytest.approx(1.0) == compute_quality({Trust.FILE}, 4, is_approved=True)

    def test_trust(self) -> None:
        """The best of its sources counts: files, then agents, then what came from elsewhere."""
        found = [compute_quality({each}, 0) for each in Trust]

        assert sorted(found, reverse=True) == found
        assert compute_quality({Trust.FILE}, 0) == compute_quality({Trust.REMOTE, Trust.FILE}, 0)
