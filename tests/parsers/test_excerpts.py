"""What of a section is shown around a statement."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from cortex_actors.text.sections import EXCERPT, ExcerptLine, find_around, make_excerpt

if TYPE_CHECKING:
    from collections.abc import Sequence


def section(*rows: tuple[str, str], gap: int = 1) -> list[ExcerptLine]:
    """Return statements with the headings above them, so many lines apart."""
    return [
        ExcerptLine(("f", n), heading, 1 + n * gap, 1 + n * gap, text)
        for n, (heading, text) in enumerate(rows)
    ]


def texts(found: Sequence[ExcerptLine]) -> list[str]:
    """Return what is shown."""
    return [each.text for each in found]


class TestAround:
    def test_same_heading(self) -> None:
        """What stands under the same heading is shown in its order, and another heading ends it."""
        some = section(("A", "a"), ("B", "one"), ("B", "two"), ("B", "three"), ("C", "c"), gap=4)

        assert ["one", "two", "three"] == texts(find_around(some, ("f", 2)))

    def test_lead_in(self) -> None:
        """What introduces a list, and what is nested in it, belong to it."""
        some = section(("A", "To test:"), ("A > To test", "make test"), ("A", "Then push."), gap=4)

        assert ["To test:", "make test", "Then push."] == texts(find_around(some, ("f", 1)))

    def test_part(self) -> None:
        """A part with a heading of its own is left to those who ask for it."""
        some = section(("A", "Say why."), ("A > Tests", "make test"), ("A > Tests", "Wait."), gap=4)

        assert ["Say why."] == texts(find_around(some, ("f", 0)))
        assert ["Say why.", "make test", "Wait."] == texts(find_around(some, ("f", 2)))

    def test_line_before(self) -> None:
        """The command of the line before is shown, whatever remark it stands under."""
        some = section(("A > db", "make up"), ("A > tests", "make test"), gap=2)

        assert ["make up", "make test"] == texts(find_around(some, ("f", 1)))

    def test_taken(self) -> None:
        """What another excerpt shows is not shown twice."""
        some = section(("A", "one"), ("A", "two"), ("A", "three"))

        assert ["two", "three"] == texts(find_around(some, ("f", 2), taken={("f", 0)}))

    def test_unknown(self) -> None:
        """Of a section that lacks the statement nothing is shown."""
        assert () == find_around(section(("A", "one")), ("f", 9))

    @given(st.lists(st.tuples(st.sampled_from("AB"), st.integers(1, 400)), min_size=1), st.data())
    def test_bounded(self, rows: list[tuple[str, int]], data: st.DataObject) -> None:
        """It is one stretch of the section that holds the statement, and has room for no more."""
        some = section(*((heading, "x" * length) for heading, length in rows))
        at = data.draw(st.integers(0, len(some) - 1))
        found = find_around(some, ("f", at))
        others = [each for each in found if each is not some[at]]

        assert some[at] in found
        assert all(b.spot[1] - a.spot[1] == 1 for a, b in pairwise(found))
        assert not others or sum(len(each.text) for each in found) <= EXCERPT


class TestExcerpt:
    def test_shape(self) -> None:
        """It has lines, the lines in the file, and where in it the found statements stand."""
        some = section(("A > B", "Start the database."), ("A > B > Then", "make test"))
        found = make_excerpt(some, {("f", 1): "ins_1"}, question="how to run tests")

        assert ("A", 1, 2) == (found["heading"], found["line_start"], found["line_end"])
        assert ["B:", "  Start the database.", "  Then:", "    make test"] == found[
            "text"
        ].splitlines()
        (mark,) = found["marks"]
        assert "make test" == found["text"][mark["start"] : mark["end"]]
        assert ("ins_1", 2, 2) == (mark["id"], mark["line_start"], mark["line_end"])
        assert ["test"] == [found["text"][begin:end] for begin, end in found["words"]]

    def test_nested_item(self) -> None:
        """An item that others are nested in is said once, as the statement that it is."""
        some = section(("A", "Run the checks"), ("A > Run the checks", "make lint"))
        found = make_excerpt(some, {("f", 1): "i"}, question="lint")

        assert "Run the checks\n  make lint" == found["text"]

    def test_alone(self) -> None:
        """A statement with nothing around it is all of its excerpt."""
        found = make_excerpt(section(("A", "one")), {("f", 0): "i"}, question="one")

        assert ("A", "one", [[0, 3]]) == (found["heading"], found["text"], found["words"])
