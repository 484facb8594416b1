from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_actors.clock import DAY
from cortex_actors.rules.promotion import BASE, Evidence, compute_confidence, list_steps

NOW = 1_000 * DAY


@given(
    observations=st.integers(0, 200),
    projects=st.integers(0, 30),
    age=st.integers(0, 400),
    length=st.integers(0, 400),
    against=st.booleans(),
    boilerplate=st.booleans(),
)
def test_same(
    *, observations: int, projects: int, age: int, length: int, against: bool, boilerplate: bool
) -> None:
    """The steps end at the very confidence that is computed at once."""
    last = NOW - age * DAY
    evidence = Evidence(observations, projects, last, against, last - length * DAY, boilerplate)

    assert pytest.approx(compute_confidence(evidence, NOW)) == list_steps(evidence, NOW)[-1].value


def test_words() -> None:
    """Each step says what it is about; what changes nothing is left out."""
    evidence = Evidence(1, 2, NOW, contradicted=True)

    found = [(each.about, each.does) for each in list_steps(evidence, NOW)]

    assert [
        ("seen once", "base"),
        ("said by 2 projects", "+0.05"),
        ("something speaks against it", "x 0.8"),
    ] == found


def test_base() -> None:
    """One observation of one project is believed as far as the base."""
    assert [BASE] == [each.value for each in list_steps(Evidence(1, 1, NOW), NOW)]


@pytest.mark.parametrize(("days", "said"), [(1, "1 day"), (5, "5 days")])
def test_days(days: int, said: str) -> None:
    """Days are counted in words: one day, several days."""
    evidence = Evidence(2, 1, NOW, first_seen=NOW - days * DAY)
    kept = [each.about for each in list_steps(evidence, NOW)]
    stale = [each.about for each in list_steps(evidence, NOW + days * DAY, stale_days=0.5)]

    assert f"kept for {said}" in kept
    assert f"not seen for {said}" in stale
