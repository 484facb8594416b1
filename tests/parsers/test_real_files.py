"""The parser over files that people wrote: a corpus where there is one, else our own samples."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

import pytest

from cortex_actors.parsers.blocks import Kind, kinds
from cortex_actors.parsers.dialect import dialect_of
from cortex_actors.parsers.lines import lines
from cortex_actors.parsers.markdown import fragments, sections

SAMPLES = Path(__file__).parents[2] / "data" / "projects"


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Return the real instruction files; the corpus is unpacked, never read in place."""
    folder = os.environ.get("CORTEX_TEST_DATA")
    archive = Path(folder) / "instructions.tar.xz" if folder else None
    if archive is None or not archive.is_file():
        return samples()
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    return [path for path in sorted(tmp_path.rglob("*")) if path.is_file()]


def samples() -> list[Path]:
    """Return the instruction files of the sample projects."""
    found = [path for path in sorted(SAMPLES.rglob("*")) if path.is_file()]
    return [path for path in found if dialect_of(str(path.relative_to(SAMPLES)))]


class TestRealFiles:
    def test_bytes_covered(self, files: list[Path]) -> None:
        """Every byte of every real file belongs to exactly one section."""
        for path in files:
            data = path.read_bytes()
            found = sections(data, path=str(path))

            assert data == b"".join(data[s.byte_start : s.byte_end] for s in found)

    def test_nothing_lost(self, files: list[Path]) -> None:
        """A section's content is what its lines say, so nothing is read twice or left out."""
        for path in files:
            data = path.read_bytes()
            said = fragments(data, path=str(path), project="p")

            assert all(f.content and f.line_start <= f.line_end for f in said)
            assert len(said) <= data.count(b"#") + 1

    def test_code_is_no_heading(self, files: list[Path]) -> None:
        """No section starts at a line inside a fence or a comment."""
        for path in files:
            text = lines(path.read_bytes(), path=str(path))
            opaque = {n for n, kind in enumerate(kinds(text), 1) if kind is Kind.OPAQUE}

            starts = {s.line_start for s in sections(path.read_bytes(), path=str(path))}
            assert not opaque & starts


class TestSamples:
    def test_projects(self) -> None:
        """There are four sample projects, each with a CLAUDE.md."""
        names = {path.parent.name for path in SAMPLES.glob("*/CLAUDE.md")}

        assert {"atlas-api", "field-notes", "harbor-web", "ledger-cli"} == names

    def test_repeats(self) -> None:
        """Word for word the same section stands in several projects."""
        said: dict[str, set[str]] = {}
        for path in samples():
            project = path.relative_to(SAMPLES).parts[0]
            for fragment in fragments(path.read_bytes(), path=str(path), project=project):
                said.setdefault(fragment.content, set()).add(project)

        assert [3, 3] == sorted(len(where) for where in said.values() if len(where) > 1)

    def test_line_ends_kept(self) -> None:
        """One sample has CRLF line ends, which a checkout must not change."""
        data = (SAMPLES / "field-notes" / "AGENTS.md").read_bytes()

        assert data.count(b"\n") == data.count(b"\r\n") > 0
