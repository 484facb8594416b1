"""A file as it is to be: our section in it, and what becomes of what a human wrote there."""

from __future__ import annotations

import pytest

from cortex_actors.domain.principle import Edits
from cortex_actors.errors import EditedSection, UnfencedSection
from cortex_actors.pipeline.resolution import diff_edits, diff_file, draft_file
from cortex_actors.render import fence

HUMAN = b"# Atlas\n\nUse tabs.\n"
OURS = "## Resolved Knowledge from Cortex\n\n- Run pytest.\n"
NEWER = "## Resolved Knowledge from Cortex\n\n- Run pytest twice.\n"


def draft(
    data: bytes, body: str = NEWER, *, edits: Edits | None = None, adopt: bool = False
) -> bytes:
    """Return a file with a section, where we wrote `OURS` the last time."""
    return draft_file(data, body, ours=OURS, path="/a/CLAUDE.md", edits=edits, adopt=adopt)


def touched() -> bytes:
    """Return a file in whose section a human has changed a line and added one."""
    return draft(HUMAN, OURS).replace(b"- Run pytest.\n", b"- Run pytest!\n- Mine.\n")


class TestDrafted:
    def test_added(self) -> None:
        """A section comes behind what the human says, and goes without a trace."""
        assert draft(HUMAN).startswith(HUMAN)
        assert HUMAN == draft(draft(HUMAN), "")

    def test_again(self) -> None:
        """The same section changes nothing; without anything to say a file stays as it is."""
        assert draft(HUMAN) == draft(draft(HUMAN))
        assert HUMAN == draft(HUMAN, "")

    def test_edited(self) -> None:
        """What a human wrote inside the section is not written over, nor taken out."""
        for body in (NEWER, ""):
            with pytest.raises(EditedSection, match="--edited keep"):
                draft(touched(), body)

    def test_keep(self) -> None:
        """What he wrote there can move out, above the section, and is his from then on."""
        found = draft(touched(), edits=Edits.KEEP)

        assert HUMAN + b"\n- Run pytest!\n- Mine.\n" == fence.remove(found)
        assert draft(HUMAN).removeprefix(HUMAN) == found[found.index(b"\n<!-- cortex") :]

    def test_discard(self) -> None:
        """Or ours takes its place."""
        assert draft(HUMAN) == draft(touched(), edits=Edits.DISCARD)
        assert HUMAN == draft(touched(), "", edits=Edits.DISCARD)

    def test_adopt(self) -> None:
        """A section without marks is replaced only by who says so."""
        unmarked = HUMAN + b"\n" + OURS.encode()
        with pytest.raises(UnfencedSection, match="--adopt"):
            draft(unmarked)

        assert draft(HUMAN) == draft(unmarked, adopt=True)


class TestShown:
    def test_edits(self) -> None:
        """What a human changed is shown as a diff against what we wrote."""
        found = diff_edits(touched(), OURS, path="/a/CLAUDE.md").splitlines()

        assert ["--- as cortex wrote it", "+++ as it is now"] == found[:2]
        assert ["-- Run pytest.", "+- Run pytest!", "+- Mine."] == found[-3:]

    def test_unknown(self) -> None:
        """Where nobody knows what we wrote, or no section is there, nothing is shown."""
        assert ["", ""] == [
            diff_edits(touched(), "", path="x"),
            diff_edits(HUMAN, OURS, path="x"),
        ]

    def test_difference(self) -> None:
        """A new file is shown as one, and bytes that are no text are written out."""
        found = diff_file(None, b"caf\xe9\n", path="/a/CLAUDE.md")

        assert ["--- -", "+++ /a/CLAUDE.md", "@@ -0,0 +1 @@", "+caf\\xe9"] == found.splitlines()
        assert "" == diff_file(HUMAN, HUMAN, path="/a/CLAUDE.md")
