"""What is wrong in the instruction files of a project, and what is no finding."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from cortex_actors.doctor.lint import Linted, Rule, lint
from cortex_actors.errors import BadInput, NotFound

if TYPE_CHECKING:
    from pathlib import Path

#: A rule, and one that cannot be followed beside it.
NPM, PNPM = "Use npm for installing packages.", "Use pnpm for installing packages."

#: A rule that is worth keeping once, and others that fill a file.
TWICE = "Always write a test for every bug that you fix."
OTHERS = (
    "Name modules after the one thing that they do.",
    "Keep the public interface as small as possible.",
    "Ask before you add a dependency to the project.",
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Give the folder of a repository."""
    (tmp_path / "atlas" / ".git").mkdir(parents=True)
    return tmp_path / "atlas"


def write(root: Path, path: str, *rules: str, under: str = "# Atlas") -> Path:
    """Write an instruction file of some rules; return where it is."""
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join([under, "", *(f"- {each}" for each in rules), ""]), "utf-8")
    return file


def check(*paths: Path) -> Linted:
    """Return what is wrong at some paths of one project."""
    (found,) = lint(paths)
    return found


def places(found: Linted) -> list[tuple[str, str, int, str | None, int | None]]:
    """Return of each finding what it is, and both places."""
    return [
        (
            str(each.rule),
            each.spot.path,
            each.spot.line,
            each.other.path if each.other else None,
            each.other.line if each.other else None,
        )
        for each in found.findings
    ]


class TestContradictions:
    def test_two_files(self, root: Path) -> None:
        """Two rules of one project that exclude each other are found, with both places and why."""
        write(root, "AGENTS.md", OTHERS[0], NPM)
        write(root, "CLAUDE.md", PNPM, OTHERS[1])
        found = check(root)

        assert [("contradiction", "CLAUDE.md", 3, "AGENTS.md", 4)] == places(found)
        assert ("npm" in found.findings[0].why, PNPM) == (True, found.findings[0].spot.text)

    def test_other_folders(self, root: Path) -> None:
        """Files that speak for different folders, or for other files, do not disagree."""
        write(root, "apps/web/CLAUDE.md", NPM)
        write(root, "apps/api/CLAUDE.md", PNPM)
        write(root, ".cursor/rules/web.mdc", NPM, under='---\nglobs: "*.ts"\n---\n# Web')

        assert [] == places(check(root))

    def test_commands(self, root: Path) -> None:
        """What shows a command asks for nothing."""
        write(root, "AGENTS.md", "`npm install`: install packages")
        write(root, "CLAUDE.md", "`pnpm install`: install packages")

        assert [] == places(check(root))


class TestDuplicates:
    def test_same_text(self, root: Path) -> None:
        """A rule that is there twice is found where it is said again."""
        write(root, "AGENTS.md", TWICE, *OTHERS)
        write(root, "CLAUDE.md", "Run one test at a time while you work.", "Be brief.", TWICE)

        assert [("duplicate", "CLAUDE.md", 5, "AGENTS.md", 3)] == places(check(root))

    def test_one_file(self, root: Path) -> None:
        """The two places may be in one file."""
        write(root, "AGENTS.md", TWICE, *OTHERS, TWICE)

        assert [("duplicate", "AGENTS.md", 7, "AGENTS.md", 3)] == places(check(root))

    def test_below(self, root: Path) -> None:
        """What the file of a folder says again of what holds for all of the project is one."""
        write(root, "AGENTS.md", TWICE, *OTHERS)
        write(
            root, "apps/web/AGENTS.md", "Components have no state of their own.", "Be brief.", TWICE
        )

        assert [("duplicate", "apps/web/AGENTS.md", 5, "AGENTS.md", 3)] == places(check(root))

    @pytest.mark.parametrize("text", ["Be brief.", "The server listens on the port that is set."])
    def test_not_worth_it(self, root: Path, text: str) -> None:
        """A few words, and what is no rule, may be said twice."""
        write(root, "AGENTS.md", text, *OTHERS)
        write(root, "CLAUDE.md", text, TWICE, "Prefer plain functions to classes.")

        assert [] == places(check(root))

    def test_copy(self, root: Path) -> None:
        """A file that is mostly a copy of another is kept for another tool, and no finding."""
        write(root, "AGENTS.md", TWICE, *OTHERS)
        write(root, ".github/copilot-instructions.md", *OTHERS, NPM)

        assert [] == places(check(root))

    def test_in_a_copy(self, root: Path) -> None:
        """What is wrong in a file is no second finding in a copy of it for another tool."""
        write(root, "AGENTS.md", NPM, PNPM, *OTHERS)
        write(root, ".ruler/AGENTS.md", NPM, PNPM, *OTHERS)

        assert 1 == len(check(root).findings)

    def test_link_and_import(self, root: Path) -> None:
        """A link to another file, and an import of it, say nothing again."""
        write(root, "AGENTS.md", TWICE, *OTHERS)
        (root / "CLAUDE.md").symlink_to("AGENTS.md")
        (root / "GEMINI.md").write_text("@AGENTS.md\n", "utf-8")
        found = check(root)

        assert ([], ("AGENTS.md", "GEMINI.md")) == (places(found), found.files)

    def test_private(self, root: Path) -> None:
        """What a person keeps in a file of their own may be said there again."""
        write(root, "CLAUDE.md", TWICE, *OTHERS)
        write(root, "CLAUDE.local.md", TWICE, "Be brief.", "Answer in whole sentences, please.")

        assert [] == places(check(root))

    def test_siblings(self, root: Path) -> None:
        """What the files of two folders say is read at one place at a time."""
        write(root, "apps/web/AGENTS.md", TWICE, OTHERS[0], OTHERS[1])
        write(root, "apps/api/AGENTS.md", TWICE, NPM, "Be brief.")

        assert [] == places(check(root))

    @pytest.mark.parametrize(
        "text",
        [
            f"# Atlas\n\n- For Postgres:\n  - {TWICE}\n- For Redis:\n  - {TWICE}\n",
            f"# Atlas\n\n## New view\n\n1. {TWICE}\n\n## New table\n\n1. {TWICE}\n",
        ],
    )
    def test_parts(self, root: Path, text: str) -> None:
        """The same words below two items, and as a step of two recipes, are about two things."""
        (root / "AGENTS.md").write_text(text, "utf-8")

        assert [] == places(check(root))


class TestReferences:
    def test_gone(self, root: Path) -> None:
        """A path that does not exist is found with its line, in the order of files and lines."""
        (root / "src").mkdir()
        write(root, "AGENTS.md", TWICE, "The app is in `src/app.py`.")
        write(root, "CLAUDE.md", TWICE, "Read [setup](docs/setup.md).", *OTHERS)
        found = check(root)

        assert [
            (Rule.STALE, "AGENTS.md", 4),
            (Rule.DUPLICATE, "CLAUDE.md", 3),
            (Rule.STALE, "CLAUDE.md", 4),
        ] == [(each.rule, each.spot.path, each.spot.line) for each in found.findings]


class TestPaths:
    def test_of_a_folder(self, root: Path) -> None:
        """A folder is compared with all of its repository, and what touches none of it left out."""
        inner = write(root, "apps/web/AGENTS.md", "See `apps/api/app.py`.", "See `apps/web/no.ts`.")
        write(root, "AGENTS.md", "See `apps/none.ts`.")
        write(root, "apps/api/app.py")
        found = check(inner.parent)

        assert [("stale-reference", "apps/web/AGENTS.md", 4, None, None)] == places(found)
        assert (str(root), ("apps/web/AGENTS.md",)) == (found.root, found.files)

    def test_of_a_file(self, root: Path) -> None:
        """A file is compared with the others of its repository."""
        one, other = write(root, "AGENTS.md", NPM), write(root, "CLAUDE.md", PNPM)

        assert places(check(one)) == places(check(other)) == places(check(one, other))
        assert 1 == len(check(one).findings)

    def test_several_projects(self, root: Path) -> None:
        """Two projects are two results, and are never compared."""
        other = root.parent / "other"
        write(root, "AGENTS.md", NPM)
        write(other, "AGENTS.md", PNPM)

        assert [[], []] == [places(each) for each in lint([root, other])]

    def test_left_out(self, root: Path) -> None:
        """Dependencies, and folders that git ignores, are no words of the project."""
        write(root, "AGENTS.md", NPM)
        write(root, "node_modules/a/AGENTS.md", PNPM)
        write(root, "scratch/AGENTS.md", PNPM)
        (root / ".gitignore").write_text("scratch/\n", "utf-8")

        assert ("AGENTS.md",) == check(root).files

    @pytest.mark.parametrize("place", ["scratch", "scratch/deep", "node_modules/a"])
    def test_left_out_and_named(self, root: Path, place: str) -> None:
        """A folder that is left out, and that somebody names, is checked by itself."""
        write(root, "AGENTS.md", NPM)
        write(root, f"{place}/AGENTS.md", NPM, PNPM)
        write(root, f"{place}/.claude/rules/CLAUDE.md", "See `src/none.ts`.")
        (root / ".gitignore").write_text("scratch/\n", "utf-8")
        found = check(root / place)

        assert (str(root / place), [("contradiction", "AGENTS.md", 4, "AGENTS.md", 3)]) == (
            found.root,
            places(found),
        )

    @pytest.mark.parametrize(
        ("data", "why"), [(b"a\0b", "NUL"), ("# A\n\n- Grüße\n".encode("latin-1"), "line 3 is not")]
    )
    def test_unread(self, root: Path, data: bytes, why: str) -> None:
        """A file that is no text, or no UTF-8, is named with why, and the others are checked."""
        write(root, "AGENTS.md", NPM)
        write(root, "CLAUDE.md", PNPM)
        (root / "GEMINI.md").write_bytes(data)
        found = check(root)

        assert (1, ["GEMINI.md"]) == (len(found.findings), list(found.unread))
        assert why in found.unread["GEMINI.md"]

    def test_nowhere(self, root: Path) -> None:
        """A path that does not exist, and a file that instructs no agent, are errors."""
        with pytest.raises(NotFound, match="no such file or folder"):
            lint([root / "nowhere"])
        with pytest.raises(BadInput, match="no instruction file"):
            lint([write(root, "README.md")])

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
    def test_forbidden(self, root: Path) -> None:
        """A file that may not be read is named with why."""
        write(root, "AGENTS.md", NPM).chmod(0)

        assert {"AGENTS.md": "Permission denied"} == check(root).unread
