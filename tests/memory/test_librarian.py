"""The librarian: documents are read once, again when they change, and out when they are gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.domain.agent import Caller
from cortex_actors.errors import BadInput, FileTooLarge, NotFound, NotYours, UsageError
from cortex_actors.testing import temporary_cortex

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from cortex_actors.api.desk import FrontDesk

LONG = "A paragraph that says enough to stand alone, because it has more than eighty characters."
KEY = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gI3kM5"


@pytest.fixture
async def desk() -> AsyncIterator[FrontDesk]:
    """Give the verbs of a whole tree."""
    async with temporary_cortex() as tree:
        yield tree.cortex


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """Give a folder of documents."""
    _write(tmp_path / "readme.md", f"# Read me\n\n{LONG}")
    _write(
        tmp_path / "ops" / "deploy.md", f"# Deploys\n\n## Rollback\n\n{LONG} Roll back with git."
    )
    for skipped in (".git", "web", "ops/.hidden"):
        _write(tmp_path / skipped / "x.md", LONG)
    (tmp_path / "ops" / "notes.txt").write_text(LONG)
    return tmp_path


def _write(path: Path, text: str) -> None:
    """Write a document."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.slow
class TestFolder:
    async def test_life(self, desk: FrontDesk, notes: Path) -> None:
        """Documents are read, found, left alone, read again when changed, and out when gone."""
        first = await desk.ingest(str(notes))
        assert {"added": 2} == first["counts"]
        assert {".git", ".hidden", "web"} == {each.rpartition("/")[2] for each in first["skipped"]}
        found = await desk.knowledge_search("rollback", caller=Caller("AZOTH"))
        assert ("Rollback", "ops") == (
            found["hits"][0]["heading"],
            found["hits"][0]["extra"]["topic"],
        )
        assert [] == (await desk.knowledge_search("rollback", topic="general"))["hits"][1:]

        assert {"unchanged": 2} == (await desk.ingest(str(notes)))["counts"]

        _write(notes / "ops" / "deploy.md", f"# Deploys\n\n## Forward\n\n{LONG} Never back.")
        (notes / "readme.md").unlink()
        again = await desk.ingest(str(notes))
        assert {"changed": 1, "withdrawn": 1} == again["counts"]
        hits = (await desk.knowledge_search("forward"))["hits"]
        assert ["Forward"] == [hit["heading"] for hit in hits]

    async def test_alone(self, desk: FrontDesk, notes: Path) -> None:
        """One handed in alone stays while its file is there, whatever a folder is read for."""
        alone = notes / "ops" / "notes.txt"
        await desk.ingest(str(alone))
        assert {"added": 2} == (await desk.ingest(str(notes)))["counts"]
        alone.unlink()
        gone = await desk.ingest(str(notes))

        assert {"unchanged": 2, "withdrawn": 1} == gone["counts"]
        assert {"source": str(alone), "state": "withdrawn"} in gone["documents"]

    async def test_topic(self, desk: FrontDesk, notes: Path) -> None:
        """A topic is taken out and brought back; what is not there is not found."""
        await desk.ingest(str(notes))
        assert ["general", "ops"] == [
            each["topic"] for each in (await desk.knowledge_topics())["topics"]
        ]
        gone = await desk.remove_knowledge(topic="ops")
        assert [str(notes / "ops" / "deploy.md")] == gone["withdrawn"]
        assert 1 == (await desk.knowledge_documents())["total"]
        assert 1 == (await desk.knowledge_documents(withdrawn=True))["total"]
        with pytest.raises(NotYours, match="taken out"):
            await desk.knowledge_documents(withdrawn=True, caller=Caller("AZOTH"))
        with pytest.raises(NotFound, match="no document of the topic 'ops'"):
            await desk.remove_knowledge(topic="ops")

        assert gone["withdrawn"] == (await desk.restore_knowledge(topic="ops"))["restored"]
        assert 2 == (await desk.knowledge_documents())["total"]

    async def test_pieces(self, desk: FrontDesk) -> None:
        """A piece that is found says whether it is code, and what it points at."""
        shell = "\n".join(f"./rollback --step {number}" for number in range(9))
        text = f"# Deploys\n\n{LONG} See [the plan](ops/plan.md).\n\n```sh\n{shell}\n```\n"
        await desk.ingest(text=text, source="deploys")
        found = {}
        for query in ("rollback step", "a paragraph that says enough"):
            for hit in (await desk.knowledge_search(query))["hits"]:
                found[hit["extra"]["is_code"]] = hit["extra"]

        assert [("sh", []), (None, ["ops/plan.md"])] == [
            (found[each]["language"], found[each]["cross_refs"]) for each in (True, False)
        ]


@pytest.mark.slow
class TestOne:
    async def test_text(self, desk: FrontDesk) -> None:
        """A text is a document under its name; what is secret in it, or hidden, is not kept so."""
        made = await desk.ingest(text=f"# Keys\n\nThe token is {KEY}\u200b.", source="keys")
        (hit,) = (await desk.knowledge_search("token"))["hits"]

        assert ("added", 1) == (made["state"], made["redacted"])
        assert "[secret: github-token]" in hit["text"]
        assert "\u200b" not in hit["text"]
        assert any("secret" in each for each in made["told"])

    async def test_refused(self, desk: FrontDesk, tmp_path: Path) -> None:
        """What is no document is refused, each with its reason."""
        big = tmp_path / "big.md"
        big.write_bytes(b"x" * 1_048_577)
        for wanted, said in (
            (NotFound, {"path": str(tmp_path / "nowhere")}),
            (BadInput, {"path": "relative.md"}),
            (FileTooLarge, {"path": str(big)}),
            (BadInput, {"text": "  "}),
            (BadInput, {"text": "x", "source": "/etc/passwd"}),
            (BadInput, {"text": "x", "topic": "t" * 65}),
            (UsageError, {}),
            (UsageError, {"path": "/x", "text": "x"}),
        ):
            with pytest.raises(wanted):
                await desk.ingest(**said)

    async def test_one_of_several(self, desk: FrontDesk, tmp_path: Path) -> None:
        """Of several, one that cannot be read is told, and the others are read."""
        _write(tmp_path / "good.md", LONG)
        (tmp_path / "bad.md").write_bytes(b"a\0b")
        (tmp_path / "link.md").symlink_to("/etc/passwd")
        _write(tmp_path / ".draft.md", LONG)
        found = await desk.ingest(str(tmp_path))

        assert {"added": 1, "failed": 1} == found["counts"]
        assert "NUL" in next(each["error"] for each in found["documents"] if "error" in each)
        assert [str(tmp_path / ".draft.md"), str(tmp_path / "link.md")] == found["skipped"]
