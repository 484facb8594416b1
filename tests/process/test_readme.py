"""The README is what happens: its commands are run in order, and their output is compared.

With the default model, because what is near enough to be written depends on it. What is different
each time (process ids, seconds, ids of folders, the checkout's own path) is masked on both sides.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.process.commands import PATIENCE, ROOT, Commands, until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

#: Where the README's reader has the checkout and the copy of its samples.
HOME = "/home/me"

#: The first words of lines that are not run: they install, and remove what was installed.
LEFT_OUT = {"uv", "pipx", "rm"}

#: Stands for lines that are left out.
GAP = "..."

#: What no two runs have in common.
MASKS = (
    (r"\bpid \d+", "pid N"),
    (r"\bprj_[0-9a-f]{20}", "prj_ID"),
    (r"\b\d+\.\d+ s\b", "N s"),
    (r"\b\d+ ms\b", "N ms"),
)

#: `cortex` as in a terminal, where `init` waits until all is read.
PROGRAM = """#!/bin/sh
[ "$1" = init ] && set -- "$@" --wait
exec {python} -m cortex_actors "$@"
"""


def readme() -> str:
    """Return the README."""
    return (ROOT / "README.md").read_text("utf-8")


def steps(page: str) -> Iterator[tuple[str, str]]:
    """Yield the command lines of a page's console blocks, each with the output it shows."""
    for block in re.findall(r"^```console\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = step.partition("\n")
            yield command, output


def masked(text: str) -> str:
    """Return a text without what is different each time."""
    for what, instead in MASKS:
        text = re.sub(what, instead, text)
    return text


def shows(shown: str, real: str) -> bool:
    """Say whether a shown output is the real one, but for masks and lines left out."""
    lines = masked(shown).splitlines(keepends=True)
    wanted = (r"(?:.*\n)*?" if each.strip() == GAP else re.escape(each) for each in lines)
    return re.fullmatch("".join(wanted), masked(real)) is not None


@pytest.fixture
def reader(cortex: Commands, tmp_path: Path) -> Commands:
    """Give the home of somebody who cloned the repository, and `cortex` on the path."""
    checkout = tmp_path / "cortex-actors"
    shutil.copytree(ROOT / "data/projects", checkout / "data/projects")
    for command in ("init", "remote add origin https://example.org/cortex-actors.git"):
        subprocess.run(["git", *command.split()], cwd=checkout, capture_output=True, check=True)
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/cortex"
    program.write_text(PROGRAM.format(python=shlex.quote(sys.executable)), "utf-8")
    program.chmod(0o755)
    del cortex.env["CORTEX_EMBEDDING__PROVIDER"]
    cortex.env |= {
        "COLUMNS": "240",
        "CORTEX_EMBEDDING__COMPILE": "false",  # it would be thrown away with the home
        "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
    }
    return cortex


class TestReadme:
    def test_commands(self, reader: Commands, tmp_path: Path) -> None:
        """Whoever types the README's commands gets the output that stands below them."""
        run = []
        for command, shown in steps(readme()):
            if command.split()[0] in LEFT_OUT:
                assert not shown, f"nobody compares the output of {command}"
                continue
            done = subprocess.run(
                ["sh", "-c", command],
                cwd=tmp_path / "cortex-actors",
                env=reader.env,
                capture_output=True,
                text=True,
                timeout=4 * PATIENCE,
                check=False,
            )
            real = done.stdout.replace(str(tmp_path.resolve()), HOME)
            assert (0, "") == (done.returncode, done.stderr), command
            assert shows(shown, real), f"$ {command}\n{real}"
            run.append(" ".join(command.split()[:2]))
            if command.startswith("cortex review approve"):
                until(lambda: _principles(reader), "a principle of what was approved")

        assert {"cortex start", "cortex init", "cortex recall", "cortex resolve"} <= {*run}
        assert "cortex stop" == run[-1]

    def test_length(self) -> None:
        """It has at most 100 lines, and at most six links beside its picture."""
        page = readme()

        assert 100 >= len(page.splitlines())
        assert 6 >= len(re.findall(r"(?<!!)\[[^\]]*\]\(", page))

    @pytest.mark.parametrize(
        ("shown", "real", "same"),
        [
            ("stopped, pid 1, in 0.20 s\n", "stopped, pid 4711, in 3.00 s\n", True),
            ("1 of 1\n...\nend\n", "1 of 1\na\nb\nend\n", True),
            ("1 of 1\n...\n", "1 of 1\n", True),
            ("1 of 1\nend\n", "1 of 1\na\nend\n", False),
            ("1 of 1\n...\nend\n", "1 of 1\na\n", False),
            ("port 5433\n", "port 5432\n", False),
        ],
    )
    def test_compared(self, shown: str, real: str, same: bool) -> None:
        """Masks and gaps let pass what varies or is left out, and nothing else."""
        assert same is shows(shown, real)


def _principles(cortex: Commands) -> bool:
    """Say whether anything was distilled yet."""
    return bool(json.loads(cortex("principles", "--json").stdout)["principles"])
