"""The resolver: what is known comes into a file, and nothing else happens to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.domain.event import ResolutionComplete
from cortex_actors.domain.principle import Edits, Ending
from cortex_actors.errors import BadInput, NotFound, NothingToUndo, UnknownProject
from cortex_actors.pipeline import resolution
from cortex_actors.pipeline.reading import ComparedTexts, make_page
from cortex_actors.render import fence
from cortex_actors.topics import RESOLUTION_COMPLETE
from tests.pipeline.resolving import EVAL, HUMAN, PYTEST, TABS, Resolving

if TYPE_CHECKING:
    from pathlib import Path

    from tests.pipeline.support import Office


def completed(office: Office) -> list[tuple[str, str]]:
    """Return which files were said to be resolved, in order, and for whom."""
    payloads = [event.payload for event in office.said if event.topic == RESOLUTION_COMPLETE]
    return [(each.path, each.agent) for each in payloads if isinstance(each, ResolutionComplete)]


class TestWritten:
    async def test_section(self, desk: Resolving) -> None:
        """A file gets a section of its own, and what it contradicts is marked."""
        path = await desk.follow("atlas")
        found = await desk.one(path)
        text = path.read_text()

        assert Ending.WRITTEN is found.ending
        assert text.startswith(HUMAN)
        assert HUMAN.encode() == fence.remove(path.read_bytes())
        assert f"- {PYTEST}\n" in text
        assert f"- [CONFLICT] {TABS}\n" in text

    async def test_bullets(self, desk: Resolving) -> None:
        """Each bullet is known with its principle, its line and what the file says against it."""
        path = await desk.follow("atlas")
        found = await desk.one(path)

        assert {f"- {PYTEST}": "", f"- [CONFLICT] {TABS}": "Use spaces for indentation."} == {
            each.text: each.conflict.rpartition(": ")[2] for each in found.bullets
        }
        assert await desk.bullets(path) == [each.text for each in found.bullets]

    async def test_audit(self, desk: Resolving, office: Office) -> None:
        """A run says what was done in which file, for whom; and it is said on the bus."""
        path = await desk.follow("atlas")
        await desk.resolve(path)
        (run,) = await office.runs("resolver")

        assert ("completed", str(path), "claude", False) == (
            run.state,
            run.path,
            run.agent,
            run.dry_run,
        )
        assert (2, 1) == (run.counts["principles_resolved"], run.counts["conflicts_detected"])
        assert [(str(path), "claude")] == completed(office)

    async def test_again(self, desk: Resolving) -> None:
        """A second time nothing is written."""
        path = await desk.follow("atlas")
        await desk.resolve(path)
        before = path.stat()
        found = await desk.one(path)

        assert Ending.UNCHANGED is found.ending
        assert (before.st_ino, before.st_mtime_ns) == (path.stat().st_ino, path.stat().st_mtime_ns)

    async def test_already_said(self, desk: Resolving) -> None:
        """What the file says already is not repeated."""
        path = await desk.follow("atlas", HUMAN + f"- {PYTEST}\n")
        found = await desk.one(path)

        assert [f"- [CONFLICT] {TABS}"] == [each.text for each in found.bullets]
        assert 1 == found.counts["already_said"]

    async def test_where(self, desk: Resolving) -> None:
        """Of what the file says already the file and line are told."""
        text = HUMAN + f"- {PYTEST}\n"
        path = await desk.follow("atlas", text)
        [said] = (await desk.one(path)).already_said

        assert PYTEST == said["text"]
        assert said["why"].startswith(f"{path}:{text.count(chr(10))} says ")

    async def test_nothing_left(self, desk: Resolving) -> None:
        """A section with nothing to say any more is taken out without a trace."""
        path = await desk.follow("atlas")
        (made,) = await desk.know(EVAL)
        desk.settings["most"] = 1
        await desk.office.dismiss("resolver")
        await desk.hire()
        await desk.resolve(path)
        text = HUMAN + "".join(f"- {each}\n" for each in (PYTEST, TABS, made.content))
        path.write_bytes(path.read_bytes().replace(HUMAN.encode(), text.encode(), 1))
        await desk.resolve(path)

        assert text == path.read_text()
        assert [] == await desk.bullets(path)

    async def test_budget(self, desk: Resolving) -> None:
        """The least ranked are left out when the section would have too many tokens."""
        path = await desk.follow("atlas", "# Empty\n\nA Python service.\n")
        await desk.know(*(f"Rule of {word}: be kind to it." for word in "abcdefgh"), rank=0.1)
        desk.settings["max_output_tokens"] = 110
        await desk.office.dismiss("resolver")
        await desk.hire()
        found = await desk.one(path)

        assert found.tokens <= 110
        assert found.counts["over_budget"] > 0
        assert {f"- {PYTEST}", f"- {TABS}"} <= {each.text for each in found.bullets}

    async def test_metadata(self, desk: Resolving) -> None:
        """Confidence and rank stand beside each bullet for who wants them."""
        path = await desk.follow("atlas")
        await desk.resolve(path, metadata=True)

        assert f"- {PYTEST} *(confidence: 0.7, rank: 0.5)*" in path.read_text()


class TestTargets:
    async def test_project(self, desk: Resolving) -> None:
        """Of a project every file at its root is written."""
        path = await desk.follow("atlas")
        other = await desk.follow("atlas", file="AGENTS.md")
        report = await desk.resolve(path.parent)

        assert {str(path), str(other)} == {each.path for each in report.files}

    async def test_created(self, desk: Resolving) -> None:
        """A file that is not there is made on request, about what the others are about."""
        path = await desk.follow("atlas")
        missing = await desk.resolve(path.parent, agent="gemini")
        first = await desk.one(path.parent, agent="gemini", create=True)
        again = await desk.one(path.parent, agent="gemini")

        assert ([], ["GEMINI.md is not there; --create makes it"]) == (
            list(missing.files),
            [each.reason.rpartition("/")[2] for each in missing.left],
        )
        assert (Ending.WRITTEN, Ending.UNCHANGED) == (first.ending, again.ending)
        assert first.bullets == again.bullets

    async def test_text(self, desk: Resolving, office: Office) -> None:
        """For an agent without a file there is the text, of which no run is kept."""
        path = await desk.follow("atlas", HUMAN + f"- {PYTEST}\n")
        found = await desk.one(path.parent, agent="chatgpt", text_only=True)

        assert (Ending.SHOWN, "") == (found.ending, found.path)
        assert f"- {PYTEST}\n" in found.section
        assert [] == await office.runs("resolver")

    async def test_unknown(self, desk: Resolving, tmp_path: Path) -> None:
        """Nobody's path, agent or file is refused at once."""
        path = await desk.follow("atlas")
        for given, error in (({}, UnknownProject), ({"agent": "hal"}, NotFound)):
            where = tmp_path / "strange" if error is UnknownProject else path.parent
            with pytest.raises(error):
                await desk.resolve(where, **given)
        with pytest.raises(BadInput):
            await desk.resolve(path.with_name("README.md"))


class TestDryRun:
    async def test_shown(self, desk: Resolving, office: Office) -> None:
        """What would change is shown; neither the file nor what is known of it changes."""
        path = await desk.follow("atlas")
        found = await desk.one(path, dry_run=True)

        assert (Ending.SHOWN, HUMAN) == (found.ending, path.read_text())
        assert f"+- {PYTEST}" in found.diff.splitlines()
        assert await desk.row(path) is None
        assert [True] == [run.dry_run for run in await office.runs("resolver")]

    async def test_read_once(self, desk: Resolving, monkeypatch: pytest.MonkeyPatch) -> None:
        """All files of a project are compared with each other, and each is read once."""
        read: list[bytes] = []

        def count(data: bytes, *given: Any, **named: Any) -> ComparedTexts:
            read.append(data)
            return make_page(data, *given, **named)

        monkeypatch.setattr(resolution, "make_page", count)
        texts = "# Read once\n\n- Use tabs.\n", "# Read once\n\n- Run pytest.\n"
        path = await desk.follow("atlas", texts[0])
        for name, text in (("AGENTS.md", texts[0]), ("GEMINI.md", texts[1])):
            path.with_name(name).write_text(text)
        found = await desk.resolve(path.parent, dry_run=True)

        assert 3 == len(found.files)
        assert sorted(e.encode() for e in (texts[0], *texts)) == sorted(read)

    async def test_refused(self, desk: Resolving) -> None:
        """What would be refused is refused."""
        path = await desk.follow("atlas")
        path.chmod(0o444)
        found = await desk.one(path, dry_run=True)

        assert (Ending.REFUSED, "read-only") == (found.ending, found.refusal)


class TestRefused:
    async def test_kept(self, desk: Resolving, office: Office) -> None:
        """A file that may not be written is as it was, and the run says why."""
        path = await desk.follow("atlas")
        path.chmod(0o444)
        found = await desk.one(path)
        (run,) = await office.runs("resolver")
        row = await desk.row(path)

        assert (Ending.REFUSED, HUMAN) == (found.ending, path.read_text())
        assert ("failed", found.reason) == (run.state, run.error)
        assert row is not None
        assert (Ending.REFUSED, found.reason) == (row.ending, row.reason)

    async def test_no_text(self, desk: Resolving) -> None:
        """So is one that is no text."""
        path = await desk.follow("atlas")
        path.write_bytes(b"\x00\x01")

        assert Ending.REFUSED is (await desk.one(path)).ending
        assert b"\x00\x01" == path.read_bytes()

    async def test_bullets_stay(self, desk: Resolving) -> None:
        """What stands in a file that cannot be written now is still known."""
        path = await desk.follow("atlas")
        await desk.resolve(path)
        before = await desk.bullets(path)
        path.chmod(0o444)
        await desk.resolve(path)

        assert before == await desk.bullets(path) != []


class TestEdited:
    async def edited(self, desk: Resolving) -> Path:
        """Return a file in whose section a human wrote."""
        path = await desk.follow("atlas")
        await desk.resolve(path)
        path.write_bytes(path.read_bytes().replace(b"- Always", b"- Mine.\n- Always"))
        return path

    async def test_refused(self, desk: Resolving) -> None:
        """What a human wrote inside our section is shown and left as it is."""
        path = await self.edited(desk)
        before = path.read_bytes()
        found = await desk.one(path)

        assert (Ending.EDITED, "edited", before) == (
            found.ending,
            found.refusal,
            path.read_bytes(),
        )
        assert "+- Mine." in found.diff.splitlines()

    async def test_keep(self, desk: Resolving) -> None:
        """Kept, it stands above the section and is the human's."""
        path = await self.edited(desk)
        await desk.resolve(path, edits=Edits.KEEP)

        assert b"- Mine.\n" in fence.remove(path.read_bytes())
        assert Ending.UNCHANGED is (await desk.one(path)).ending

    async def test_discard(self, desk: Resolving) -> None:
        """Discarded, it is gone, and can be brought back."""
        path = await self.edited(desk)
        before = path.read_bytes()
        await desk.resolve(path, edits=Edits.DISCARD)
        assert b"Mine" not in path.read_bytes()

        await desk.undo(path)
        assert before == path.read_bytes()


class TestUndo:
    async def test_back(self, desk: Resolving) -> None:
        """The last write is taken back, and nothing of it stands there any more."""
        path = await desk.follow("atlas")
        await desk.resolve(path)
        await desk.undo(path)

        assert HUMAN == path.read_text()
        assert [] == await desk.bullets(path)

    async def test_stays_back(self, desk: Resolving, office: Office) -> None:
        """What was taken back is not written again by itself while nothing new is known."""
        path = await desk.follow("atlas")
        await desk.opt_in(path)
        await desk.organised()
        await desk.undo(path)
        await desk.organised()
        assert HUMAN == path.read_text()

        await desk.know(EVAL)
        await desk.organised()
        assert EVAL in path.read_text()

    async def test_nothing(self, desk: Resolving) -> None:
        """Where nothing was written there is nothing to take back."""
        path = await desk.follow("atlas")
        with pytest.raises(NothingToUndo):
            await desk.undo(path)
