"""What follows from how the lives of the index's child end."""

from __future__ import annotations

import pytest

from cortex_actors.storage.index.life import (
    AWAY_PAUSES,
    MEMORY,
    PAUSES,
    REST,
    WINDOW,
    LifeEnding,
    LifeEndKind,
    LifeRecord,
    is_own_death,
)

DIED = LifeEnding(LifeEndKind.DIED, "killed")


def took(record: LifeRecord, *endings: tuple[float, LifeEnding]) -> list[bool]:
    """Return for each ending whether its generation is to be given up."""
    return [record.note_ending(ending, at) for at, ending in endings]


class TestDeaths:
    def test_three_in_a_minute(self) -> None:
        """Three deaths within the window are too many for a generation; then counting begins."""
        record = LifeRecord()

        given_up = took(record, *((at, DIED) for at in (0, WINDOW / 2, WINDOW, WINDOW + 1)))
        assert [False, False, True, False] == given_up
        assert (4, 1) == (record.deaths, record.given_up)

    def test_seldom(self) -> None:
        """A child that is killed now and then keeps its files, however often."""
        record = LifeRecord()

        assert not any(took(record, *((at * WINDOW, DIED) for at in range(100))))

    def test_in_its_files(self) -> None:
        """A child that dies of itself over its files is not sent there again."""
        assert LifeRecord().note_ending(
            LifeEnding(LifeEndKind.DIED, "SIGSEGV", in_its_files=True), 0
        )


class TestPauses:
    def test_grow_and_are_forgotten(self) -> None:
        """Pauses grow with the bad endings of the last ten minutes, and no further."""
        record, found = LifeRecord(), []
        for at in range(20):
            record.note_ending(DIED, at)
            found.append(record.choose_pause(at))

        assert [*PAUSES, *[PAUSES[-1]] * 14] == found
        assert record.choose_pause(MEMORY + 100) == 0

    def test_away(self) -> None:
        """What is merely away is tried at least every half minute, and costs no generation."""
        record, away = LifeRecord(), LifeEnding(LifeEndKind.AWAY, "no server")
        found = []
        for at in range(100):
            assert not record.note_ending(away, at * 1_000)
            found.append(record.choose_pause(at * 1_000))

        assert [*AWAY_PAUSES, *[AWAY_PAUSES[-1]] * 95] == found

    def test_unsound_twice(self) -> None:
        """After two generations in a row that are found bad there is a long rest."""
        record, unsound = (
            LifeRecord(),
            LifeEnding(LifeEndKind.UNSOUND, "3 of 256 do not find themselves"),
        )

        assert [True, True] == took(record, (0, unsound), (60, unsound))
        assert REST == record.choose_pause(60)
        record.note_good(proven=True)
        assert record.note_ending(unsound, 4_000)
        assert PAUSES[0] == record.choose_pause(4_000)

    def test_empty_proves_nothing(self) -> None:
        """A new generation that is good because it is empty does not make up for a bad one."""
        record, unsound = (
            LifeRecord(),
            LifeEnding(LifeEndKind.UNSOUND, "3 of 256 do not find themselves"),
        )
        record.note_ending(unsound, 0)
        record.note_good(proven=False)
        record.note_ending(LifeEnding(LifeEndKind.DIED, "killed"), 100)
        record.note_ending(unsound, 4_000)

        assert REST == record.choose_pause(4_000)


class TestCodes:
    @pytest.mark.parametrize(
        ("code", "itself"),
        [(None, False), (0, False), (-9, False), (-15, False), (-11, True), (-6, True), (1, True)],
    )
    def test_by_itself(self, code: int | None, *, itself: bool) -> None:
        """A signal that others send says nothing of the files; a fault of its own does."""
        assert itself is is_own_death(code)
