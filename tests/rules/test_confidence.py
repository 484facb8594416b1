from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_actors.clock import DAY
from cortex_actors.rules.promotion import DEFAULTS, Evidence, compute_confidence, compute_floor

NOW = 1_000 * DAY


def believed(
    observations: int = 1, projects: int = 1, *, days: int = 0, contradicted: bool = False
) -> float:
    """Return the confidence of an insight last seen some days ago."""
    return compute_confidence(Evidence(observations, projects, NOW - days * DAY, contradicted), NOW)


class TestFloor:
    @pytest.mark.parametrize(
        ("observations", "expected"),
        [
            *((0, 0.0), (1, 0.1772), (2, 0.2808), (3, 0.3544), (5, 0.458), (8, 0.5617)),
            *((9, 0.5886), (10, 0.6), (1_000, 0.6)),
        ],
    )
    def test_vectors(self, observations: int, expected: float) -> None:
        """The floor grows with the logarithm of the observations, up to 0.6."""
        assert expected == pytest.approx(compute_floor(observations), abs=5e-5)


class TestConfidence:
    def test_first_sight(self) -> None:
        """What one file says once is believed by half."""
        assert 0.5 == believed()

    def test_one_project_repeating_itself(self) -> None:
        """One project alone, within one day, brings it to 0.6 and no further."""
        assert 0.6 == believed(observations=1_000)

    def test_projects(self) -> None:
        """Each further project adds 0.05, up to certainty."""
        assert 0.55 == pytest.approx(believed(projects=2))
        assert 0.7 == pytest.approx(believed(observations=10, projects=3))
        assert 1.0 == believed(observations=10, projects=100)

    def test_stale(self) -> None:
        """More than ninety days without an observation cost a tenth; ninety cost nothing."""
        assert 0.5 == believed(days=90)
        assert 0.45 == pytest.approx(believed(days=91))

    def test_contradicted(self) -> None:
        """An open contradiction costs a fifth, however often the insight was seen."""
        assert 0.4 == pytest.approx(believed(contradicted=True))
        assert 0.48 == pytest.approx(believed(observations=1_000, contradicted=True))

    def test_everything_at_once(self) -> None:
        """Projects add first; staleness and contradiction multiply what that makes."""
        found = believed(10, 3, days=100, contradicted=True)

        assert 0.7 * 0.9 * 0.8 == pytest.approx(found)

    def test_never_compounds(self) -> None:
        """The same evidence gives the same confidence however often it is looked at."""
        assert 1 == len({believed(10, 2, days=100) for _ in range(10)})

    @given(st.integers(-1, 10_000), st.integers(-1, 1_000), st.integers(-9, 999), st.booleans())
    def test_bounds(self, observations: int, projects: int, days: int, contradicted: bool) -> None:
        """Confidence lies between 0 and 1 and does not fall with one more observation."""
        found = believed(observations, projects, days=days, contradicted=contradicted)
        more = believed(observations + 1, projects, days=days, contradicted=contradicted)

        assert 0.0 <= found <= more <= 1.0


class TestKept:
    def test_grows(self) -> None:
        """Having been kept counts more the further the observations lie apart, for six days."""
        days = [Evidence(3, 1, NOW, first_seen=NOW - n * DAY) for n in (0, 2, 6, 600)]

        assert [0.5, 0.53, 0.59, 0.59] == [round(compute_confidence(each, NOW), 9) for each in days]

    def test_one_project(self) -> None:
        """One project alone never reaches what promotion asks for, however long it keeps a rule."""
        kept = Evidence(10_000, 1, NOW, first_seen=NOW - 9_999 * DAY)

        assert DEFAULTS.confidence > compute_confidence(kept, NOW)

    @pytest.mark.parametrize("scanned", [4, 5, 7])
    def test_two_projects(self, scanned: int) -> None:
        """Two that agree reach it in a week in which they were scanned on four days or more."""
        kept = Evidence(2 * scanned, 2, NOW, first_seen=NOW - 6 * DAY)

        assert DEFAULTS.confidence <= compute_confidence(kept, NOW)

    def test_boilerplate(self) -> None:
        """What tools write into every file is believed a fifth as much."""
        everywhere = Evidence(3, 1, NOW, boilerplate=True)

        assert 0.1 == round(compute_confidence(everywhere, NOW), 9)
