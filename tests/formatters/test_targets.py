"""Targets: which files are written, each once, and which are made only because somebody said so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.errors import NotFound
from cortex_actors.render.section import (
    FOLDERS,
    FORMATTERS,
    PLACES,
    Present,
    Targets,
    choose_targets,
)
from cortex_actors.text.sections import find_dialect

if TYPE_CHECKING:
    from collections.abc import Iterable

_RULES = b"# Rules\n\n- Test first.\n"


def there(*paths: str, data: bytes = _RULES) -> list[Present]:
    """Return files that are there, each with something to say."""
    return [Present(path, data=data) for path in paths]


def written(found: Targets) -> list[str]:
    """Return the paths of the files that are written."""
    return [each.path for each in found.write]


def made(found: Targets) -> list[str]:
    """Return the paths of the files that are made."""
    return [each.path for each in found.write if each.fresh is not None]


class TestPlaces:
    def test_known(self) -> None:
        """Every file we write is one that we read, and whose private ones are not among them."""
        assert all(
            dialect is not None and not dialect.private for dialect in map(find_dialect, PLACES)
        )

    def test_folders(self) -> None:
        """The folders that tell of a tool are those its own file lies in."""
        assert all(any(place.startswith(f"{each}/") for place in PLACES) for each in FOLDERS)


class TestPresent:
    def test_nothing(self) -> None:
        """In a project without instruction files nothing is written."""
        assert Targets(()) == choose_targets([])

    def test_all(self) -> None:
        """Each instruction file that is there is written, by the formatter of its agent."""
        found = choose_targets(there("GEMINI.md", "CLAUDE.md", "AGENTS.md", ".cursorrules"))
        assert [
            ("CLAUDE.md", "claude"),
            ("AGENTS.md", "agents"),
            ("GEMINI.md", "gemini"),
            (".cursorrules", "cursor"),
        ] == [(each.path, each.formatter.name) for each in found.write]
        assert [] == made(found)

    @pytest.mark.parametrize(
        ("paths", "path"),
        [
            (("CLAUDE.md", ".claude/CLAUDE.md"), "CLAUDE.md"),
            ((".claude/CLAUDE.md",), ".claude/CLAUDE.md"),
            ((".cursorrules", ".cursor/rules/cortex.mdc"), ".cursor/rules/cortex.mdc"),
            ((".windsurfrules",), ".windsurfrules"),
            ((".github/copilot-instructions.md",), ".github/copilot-instructions.md"),
        ],
    )
    def test_one_an_agent(self, paths: Iterable[str], path: str) -> None:
        """Of two files of one agent, one is written."""
        assert [path] == written(choose_targets(there(*paths)))

    @pytest.mark.parametrize("path", ["CLAUDE.local.md", "docs/CLAUDE.md", ".cursor/rules/own.mdc"])
    def test_others(self, path: str) -> None:
        """Private files, and those a person keeps below the root, are never written."""
        assert [] == written(choose_targets(there(path)))

    def test_agent(self) -> None:
        """For one agent, only its file is written."""
        assert ["GEMINI.md"] == written(
            choose_targets(there("CLAUDE.md", "GEMINI.md"), agent="gemini")
        )

    def test_unknown_agent(self) -> None:
        """An agent nobody knows is an error."""
        with pytest.raises(NotFound, match="emacs"):
            choose_targets([], agent="emacs")

    def test_without_files(self) -> None:
        """An agent that is handed its text has no files."""
        assert Targets(()) == choose_targets(there("CLAUDE.md"), agent="chatgpt", create=True)


class TestLinks:
    def test_link(self) -> None:
        """A link to another instruction file is not written a second time."""
        found = choose_targets([*there("AGENTS.md"), Present("CLAUDE.md", link="AGENTS.md")])
        assert ["AGENTS.md"] == written(found)
        assert [("CLAUDE.md", "is a link to AGENTS.md, which is written")] == [
            (each.path, each.reason) for each in found.left
        ]

    def test_for_agent(self) -> None:
        """Who asks for the agent whose file is a link has the file behind it written."""
        present = [*there("AGENTS.md"), Present("CLAUDE.md", link="AGENTS.md")]
        assert ["AGENTS.md"] == written(choose_targets(present, agent="claude"))

    @pytest.mark.parametrize("link", ["../other/CLAUDE.md", "/etc/hosts", "docs/rules.md"])
    def test_elsewhere(self, link: str) -> None:
        """A link to anything else is left alone, and so is where it leads."""
        found = choose_targets([Present("CLAUDE.md", link=link)])
        assert ([], 1) == (written(found), len(found.left))
        assert link in found.left[0].reason

    @pytest.mark.parametrize(
        ("path", "data", "link"),
        [
            ("CLAUDE.md", b"AGENTS.md", "AGENTS.md"),
            (".github/copilot-instructions.md", b"../AGENTS.md", "AGENTS.md"),
            ("CLAUDE.md", b".agents/rules/own.md", ".agents/rules/own.md"),
        ],
    )
    def test_link_in_text(self, path: str, data: bytes, link: str) -> None:
        """A link that git checked out as a file is left alone, so that it stays one."""
        found = choose_targets([*there("AGENTS.md"), Present(path, data=data)])
        assert "AGENTS.md" in written(found)
        (left,) = found.left
        assert left.path == path
        assert left.reason.startswith(f"is a link to {link}")

    @pytest.mark.parametrize("data", [b"See AGENTS.md", b"AGENTS.md\n\n- Use tabs.\n", b""])
    def test_no_link_in_text(self, data: bytes) -> None:
        """A file that says more than where another one is can be written."""
        assert ["CLAUDE.md"] == written(choose_targets([Present("CLAUDE.md", data=data)]))

    def test_ring(self) -> None:
        """Two files that lead to one another are no riddle without end."""
        found = choose_targets(
            [Present("CLAUDE.md", link="AGENTS.md"), Present("AGENTS.md", link="CLAUDE.md")]
        )
        assert {"CLAUDE.md", "AGENTS.md"} == {*written(found)}


class TestImports:
    @pytest.mark.parametrize(
        "data",
        [
            b"@AGENTS.md",
            b"# CLAUDE.md\n\nSee @./AGENTS.md\n",
            b"\xef\xbb\xbf<!-- kept by hand -->\r\n@AGENTS.md\r\n",
            b"@AGENTS.md\n\n## For Claude\n\n- Use plan mode.\n",
            b"@AGENTS.md\n\n<!-- cortex:begin v1 sha256=0 -->\n- old\n<!-- cortex:end -->\n",
        ],
    )
    def test_imported(self, data: bytes) -> None:
        """A file that reads another one in says what that says, and is not written as well."""
        found = choose_targets([*there("AGENTS.md"), Present("CLAUDE.md", data=data)])
        assert ["AGENTS.md"] == written(found)
        assert ["imports AGENTS.md, which is written"] == [each.reason for each in found.left]

    @pytest.mark.parametrize(
        "data",
        [
            b"`@AGENTS.md`\n",
            b"```\n@AGENTS.md\n```\n",
            b"@docs/rules.md\n",
            b"Ask agents@AGENTS.md.\n",
            b"",
        ],
    )
    def test_not_imported(self, data: bytes) -> None:
        """Code, other files and mail addresses import no instruction file."""
        found = choose_targets([*there("AGENTS.md"), Present("CLAUDE.md", data=data)])
        assert ["CLAUDE.md", "AGENTS.md"] == written(found)

    def test_from_folder(self) -> None:
        """An import is meant from the folder of the file."""
        present = [*there("AGENTS.md"), Present(".claude/CLAUDE.md", data=b"@../AGENTS.md\n")]
        assert ["AGENTS.md"] == written(choose_targets(present))

    def test_agent_without_imports(self) -> None:
        """An agent that follows no imports is only led on by a file that says nothing else."""
        says = Present(".cursorrules", data=b"See @AGENTS.md\n\nNever push to main.\n")
        points = Present(".cursorrules", data=b"See @AGENTS.md\n")
        assert ["AGENTS.md", ".cursorrules"] == written(choose_targets([*there("AGENTS.md"), says]))
        assert ["AGENTS.md"] == written(choose_targets([*there("AGENTS.md"), points]))

    @pytest.mark.parametrize("data", [b"\0", b"a" * 1_048_577])
    def test_no_text(self, data: bytes) -> None:
        """A file that is no text is a target: whoever writes it says what is wrong."""
        assert ["CLAUDE.md"] == written(choose_targets([Present("CLAUDE.md", data=data)]))


class TestCreate:
    def test_unasked(self) -> None:
        """A file that is not there is not made for an agent; it is told how it would be."""
        found = choose_targets(there("CLAUDE.md"), agent="gemini")
        assert [] == written(found)
        assert "is not there; --create makes it" == found.left[0].reason

    @pytest.mark.parametrize("formatter", [each for each in FORMATTERS if each.places])
    def test_asked(self, formatter: object) -> None:
        """On request the file of an agent is made where it has none."""
        each = next(one for one in FORMATTERS if one is formatter)
        found = choose_targets([], agent=each.name, create=True)
        assert [each.places[0]] == written(found) == made(found)
        assert each.top.encode() == found.write[0].fresh

    def test_there_already(self) -> None:
        """What an agent has is written, and nothing is made beside it."""
        found = choose_targets(there(".cursorrules"), agent="cursor", create=True)
        assert ([".cursorrules"], []) == (written(found), made(found))

    @pytest.mark.parametrize("create", [True, False])
    def test_claude_beside_agents(self, create: bool) -> None:
        """A CLAUDE.md is never made beside an AGENTS.md, which Claude Code reads without one."""
        found = choose_targets(there("AGENTS.md"), agent="claude", create=create)
        assert (["AGENTS.md"], []) == (written(found), made(found))
        assert ["CLAUDE.md"] == [each.path for each in found.left]

    def test_nobody_named(self) -> None:
        """Where there is no file at all, one is made that the most agents read."""
        assert ["AGENTS.md"] == made(choose_targets([], create=True))

    def test_not_beside_others(self) -> None:
        """Where there is a file, nobody being named makes no others."""
        assert [] == made(choose_targets(there("CLAUDE.md"), create=True))

    def test_tools(self) -> None:
        """A tool whose folder of rules is there gets a file of ours in it."""
        present = [*there("CLAUDE.md"), Present(".cursor/rules"), Present(".windsurf/rules")]
        found = choose_targets(present, create=True)
        assert [".cursor/rules/cortex.mdc", ".windsurf/rules/cortex.md"] == made(found)
        assert ["CLAUDE.md"] == written(choose_targets(present))
