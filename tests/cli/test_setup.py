"""`cortex setup`: our entries come into a client's configuration and go; nothing else does."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors import __version__
from cortex_actors.cli.setup import FileChange, find_plugin
from cortex_actors.clock import SystemClock
from cortex_actors.errors import NotWritten, Refused
from cortex_actors.files import clients
from cortex_actors.files.clients import CLIENTS, SNIPPETS, VERBS
from cortex_actors.text import jsonc
from cortex_actors.text.markdown import LineKind, classify_lines, split_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Run

#: What others have in the configuration of Claude Code, in the forms in which people leave it.
OTHERS = """{
  // mine
  "mcpServers": {
    "github": { "command": "gh-mcp", "env": { "TOKEN": "ghp_secret" } } // by hand
  },
  "numStartups": 3,
}
"""
HOOKS = """{
    "permissions": {"allow": ["Bash(ls)"]},
    "hooks": {
        "SessionStart": [
            {"matcher": "startup", "hooks": [{"type": "command", "command": "~/mine.sh"}]}
        ],
        "PostToolUse": [{"hooks": [{"type": "command", "command": "cortex hook run git ."}]}]
    }
}
"""
TABLES = """# my settings
model = "gpt-5"   # the large one

[mcp_servers.github]
command = "gh-mcp"

[hooks.state."/home/me/x:stop:0:0"]
trusted_hash = "sha256:00"
"""


@pytest.fixture(autouse=True)
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a user's home folder, in which a project lies that we are in."""
    folder = tmp_path / "me"
    project = folder / "code" / "atlas"
    (project / ".git").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(folder))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(project)
    return folder


def put(path: Path, text: str) -> Path:
    """Write a file and the folders around it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def files(folder: Path) -> dict[str, str]:
    """Return every file below a folder but the copies that were kept, with what it says."""
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.endswith(".bak")
    }


def hooks(data: dict[str, Any]) -> list[str]:
    """Return the lines that our hooks run, in the order of their events."""
    handlers = [h for groups in data["hooks"].values() for g in groups for h in g["hooks"]]
    return [h["command"] for h in handlers if h["command"].startswith(str(sys.prefix))]


class TestWrites:
    def test_claude_code(self, mine: Path, cortex: Run) -> None:
        """Claude Code gets the server and four hooks; others' entries and comments stay."""
        servers = put(mine / ".claude.json", OTHERS)
        settings = put(mine / ".claude" / "settings.json", HOOKS)
        program = str(Path(sys.executable).with_name("cortex"))

        assert 0 == cortex("setup", "claude-code", "--yes")[0]
        wanted = {"type": "stdio", "command": program, "args": ["mcp", "--agent", "CLAUDE"]}
        text = servers.read_text()
        assert wanted == jsonc.read(text)["mcpServers"]["cortex"]
        assert (
            '    "github": { "command": "gh-mcp", "env": { "TOKEN": "ghp_secret" } }, // by' in text
        )
        assert text.startswith("{\n  // mine\n")
        found = json.loads(settings.read_text())
        assert [f"{program} hook {verb} --agent CLAUDE" for verb in VERBS] == hooks(found)
        assert json.loads(HOOKS)["hooks"]["SessionStart"][0] == found["hooks"]["SessionStart"][0]

    def test_codex(self, mine: Path, cortex: Run) -> None:
        """Codex gets a table behind the others, and its hooks in the file for these."""
        config = put(mine / ".codex" / "config.toml", TABLES)

        assert 0 == cortex("setup", "codex", "--yes", "--agent", "vajra")[0]
        text = config.read_text()
        assert text.startswith(TABLES)
        assert ["mcp", "--agent", "VAJRA"] == tomllib.loads(text)["mcp_servers"]["cortex"]["args"]
        assert 4 == len(hooks(json.loads((mine / ".codex" / "hooks.json").read_text())))

    def test_cursor(self, mine: Path, cortex: Run) -> None:
        """Cursor gets the server alone, in the project's folder where that is asked for."""
        code, out, _ = cortex("setup", "cursor", "--yes", "--scope", "project")

        assert 0 == code
        assert ["code/atlas/.cursor/mcp.json"] == [*files(mine)]
        assert "do not commit them" in out

    @pytest.mark.parametrize("name", CLIENTS)
    @pytest.mark.parametrize("scope", ["user", "project"])
    def test_again(self, mine: Path, cortex: Run, name: str, scope: str) -> None:
        """A second run changes nothing and says so; --remove leaves no trace."""
        put(mine / "code" / "atlas" / "AGENTS.md", "# Atlas\n")
        before = files(mine)
        words = ("setup", name, "--yes", "--scope", scope)
        lines = ("--instructions",) if name != "cursor" or scope == "project" else ()
        assert 0 == cortex(*words, *lines)[0]
        made = files(mine)

        assert (0, f"{CLIENTS[name].title}: already set up\n", "") == cortex(*words, *lines)
        assert made == files(mine)
        assert 0 == cortex(*words, "--remove")[0]
        assert before == files(mine)
        code, out, _ = cortex(*words, "--remove")
        assert (0, "nothing of cortex is there\n") == (code, out.partition(": ")[2])

    @pytest.mark.parametrize(
        ("name", "path", "text"),
        [
            ("claude-code", ".claude.json", OTHERS),
            ("claude-code", ".claude/settings.json", HOOKS),
            ("codex", ".codex/config.toml", TABLES),
            ("codex", ".codex/config.toml", 'mcp_servers = { a = { command = "x" } }\n'),
            ("cursor", ".cursor/mcp.json", OTHERS),
        ],
    )
    def test_returns(self, mine: Path, cortex: Run, name: str, path: str, text: str) -> None:
        """What others have written is there byte for byte after a removal."""
        file = put(mine / path, text)
        cortex("setup", name, "--yes")

        assert text != file.read_text()
        cortex("setup", name, "--yes", "--remove")
        assert text == file.read_text()

    def test_home(self, mine: Path, cortex: Run, tmp_path: Path) -> None:
        """A home that is not the default is named, in the hooks with what a shell needs."""
        home = str(tmp_path / "my home")
        cortex("setup", "claude-code", "--yes", "--home", home)
        data = json.loads((mine / ".claude.json").read_text())
        found = json.loads((mine / ".claude" / "settings.json").read_text())

        assert ["--home", home] == data["mcpServers"]["cortex"]["args"][-2:]
        assert ["--home", home] == shlex.split(hooks(found)[0])[-2:]

    def test_updates(self, mine: Path, cortex: Run) -> None:
        """An entry of another installation is replaced; what a person added to it stays."""
        old = {"command": "/old/cortex", "args": ["mcp"], "env": {"A": "b"}}
        line = {"type": "command", "command": "/old/cortex hook prompt"}
        put(mine / ".claude.json", json.dumps({"mcpServers": {"cortex": old}}))
        twice = {"UserPromptSubmit": [{"hooks": [line]}, {"hooks": [line]}]}
        settings = put(mine / ".claude" / "settings.json", json.dumps({"hooks": twice}))
        cortex("setup", "claude-code", "--yes")
        new = json.loads((mine / ".claude.json").read_text())["mcpServers"]["cortex"]

        assert {"A": "b"} == new["env"]
        assert "/old/" not in new["command"]
        assert "/old/" not in settings.read_text()
        assert 4 == len(hooks(json.loads(settings.read_text())))

    def test_moved(self, mine: Path, cortex: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where a client's variable moves its folder, the files there are written."""
        monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(mine / "elsewhere"))
        monkeypatch.setenv("CODEX_HOME", str(mine / "codex"))
        cortex("setup", "claude-code", "--yes")
        cortex("setup", "codex", "--yes")

        assert {
            "elsewhere/.claude.json",
            "elsewhere/settings.json",
            "codex/config.toml",
            "codex/hooks.json",
        } == {*files(mine)}


class TestSafety:
    def test_asks(self, mine: Path, cortex: Run) -> None:
        """Where nobody can answer, nothing is written, and --yes is named."""
        code, out, err = cortex("setup", "cursor")

        assert (77, {}) == (code, files(mine))
        assert '+    "cortex": {' in out
        assert "--yes" in err

    def test_dry_run(self, mine: Path, cortex: Run) -> None:
        """--dry-run shows what would change, without others' keys, and writes nothing."""
        put(mine / ".claude.json", OTHERS)
        before = files(mine)
        code, out, _ = cortex("setup", "claude-code", "--dry-run")

        assert (0, before) == (code, files(mine))
        assert "ghp_secret" not in out
        assert "hook session-start" in out
        assert "hook pre-compact" in out
        assert '+      "type": "stdio",\n' in out

    @pytest.mark.parametrize(
        ("name", "path", "text"),
        [
            ("claude-code", ".claude.json", '{"mcpServers": {'),
            ("claude-code", ".claude/settings.json", "[]"),
            ("claude-code", ".claude/settings.json", '{"hooks": []}'),
            ("codex", ".codex/config.toml", "model = \n"),
            ("codex", ".codex/hooks.json", "{hooks: 1}"),
        ],
    )
    def test_broken(self, mine: Path, cortex: Run, name: str, path: str, text: str) -> None:
        """A configuration that cannot be read is named, and no file at all is written."""
        put(mine / path, text)
        code, _, err = cortex("setup", name, "--yes")

        assert (65, {path: text}) == (code, files(mine))
        assert path in err

    def test_other_program(self, mine: Path, cortex: Run) -> None:
        """A server of that name that is another program's is neither replaced nor removed."""
        text = '{"mcpServers": {"cortex": {"command": "npx", "args": ["cortex-xdr"]}}}'
        file = put(mine / ".cursor" / "mcp.json", text)
        code, _, err = cortex("setup", "cursor", "--yes")

        assert 77 == code
        assert "npx cortex-xdr" in err
        assert 0 == cortex("setup", "cursor", "--yes", "--remove")[0]
        assert text == file.read_text()

    def test_copy(self, mine: Path, cortex: Run) -> None:
        """The text before lies beside the file, and the file keeps its mode."""
        file = put(mine / ".claude.json", OTHERS)
        file.chmod(0o640)
        cortex("setup", "claude-code", "--yes")
        (copy,) = mine.glob(".claude.json.cortex-*.bak")

        assert OTHERS == copy.read_text()
        assert 0o640 == file.stat().st_mode & 0o777
        assert 0o600 == (mine / ".claude" / "settings.json").stat().st_mode & 0o777

    def test_link(self, mine: Path, cortex: Run) -> None:
        """A link to a file that is kept elsewhere stays a link; that file is written."""
        real = put(mine / "dotfiles" / "claude.json", OTHERS)
        (mine / ".claude.json").symlink_to(real)
        cortex("setup", "claude-code", "--yes")

        assert (mine / ".claude.json").is_symlink()
        assert "cortex" in jsonc.read(real.read_text())["mcpServers"]

    def test_locked(self, mine: Path, cortex: Run) -> None:
        """A file that its owner has locked is not replaced."""
        file = put(mine / ".cursor" / "mcp.json", "{}")
        file.chmod(0o400)
        code, _, err = cortex("setup", "cursor", "--yes")

        assert (77, "{}") == (code, file.read_text())
        assert "mcp.json" in err

    def test_saved_meanwhile(self, mine: Path) -> None:
        """What a client saved after the question stays, and no draft is left."""
        file = put(mine / "x.json", '{"saved": "since"}')
        change = FileChange(file, b"{}", b'{"ours": 1}')

        with pytest.raises(Refused, match="saved meanwhile"):
            change.write(at=SystemClock().now())
        assert [file] == [each for each in mine.iterdir() if each.is_file()]
        assert '{"saved": "since"}' == file.read_text()

    def test_open_in_editor(self, mine: Path) -> None:
        """A file that an editor has open is left alone."""
        file = put(mine / "x.json", "{}")
        put(mine / ".x.json.swp", "")

        with pytest.raises(NotWritten, match="editor"):
            FileChange(file, b"{}", b'{"ours": 1}').write(at=SystemClock().now())


class TestInstructions:
    def test_agents_file(self, mine: Path, cortex: Run) -> None:
        """Beside an AGENTS.md no CLAUDE.md is made, which would switch that one off."""
        project = mine / "code" / "atlas"
        put(project / "AGENTS.md", "# Atlas")
        cortex("setup", "claude-code", "--yes", "--scope", "project", "--instructions")

        assert not (project / "CLAUDE.md").exists()
        assert "`recall`" in (project / "AGENTS.md").read_text()

    def test_not_learned(self) -> None:
        """Readers of instruction files take our lines for another tool's, so none is learned."""
        found = split_lines(clients.add_lines("# A\n\n- Use pnpm.\n").encode(), path="A.md")

        what = dict(zip((each.text for each in found), classify_lines(found), strict=True))
        ours = {kind for text, kind in what.items() if "`r" in text or "`crumb" in text}
        assert {LineKind.MANAGED} == ours
        assert LineKind.TEXT is what["- Use pnpm."]

    @pytest.mark.parametrize("text", ["", "# A\n", "# A\n\n", "# A", "# A\n\n<!-- x -->\n"])
    def test_returns(self, text: str) -> None:
        """The lines come once, and go without a trace but for a line end at the end."""
        once = clients.add_lines(text)

        assert once == clients.add_lines(once)
        assert text.rstrip("\n") == clients.remove_lines(once).rstrip("\n")


class TestOthers:
    @pytest.mark.parametrize("name", SNIPPETS)
    def test_snippet(self, cortex: Run, name: str) -> None:
        """For other clients JSON is printed that names the program, and nothing is written."""
        code, out, err = cortex("setup", name)
        shown = json.loads(out)

        assert 0 == code
        assert str(Path(sys.executable).with_name("cortex")) in out
        assert [*SNIPPETS[name][1], "cortex"] == [*shown, *shown[SNIPPETS[name][1][0]]]
        assert SNIPPETS[name][0] in err

    def test_unknown(self, cortex: Run) -> None:
        """A client that is not known is refused with those that are."""
        code, _, err = cortex("setup", "emacs")

        assert 66 == code
        assert "claude-code, codex, cursor, vscode" in err

    def test_list(self, mine: Path, cortex: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without a client those that are here are listed, with their entries and the next step."""
        monkeypatch.setattr(shutil, "which", lambda name: None)
        (mine / ".codex").mkdir()
        cortex("setup", "cursor", "--yes")
        code, out, _ = cortex("setup")
        cells = [[c.strip() for c in line.split("│")] for line in out.splitlines()]
        rows = {c[1]: c[2:-1] for c in cells if len(c) > 2}

        assert 0 == code
        assert ["no", "no"] == rows["claude-code"]
        assert ["yes", "no"] == rows["codex"]
        assert ["yes", "server as CURSOR (~/.cursor/mcp.json)"] == rows["cursor"]
        assert "next: cortex setup codex\n" in out

    def test_agents_may_not(self, cortex: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        """An agent, by its token, changes no client."""
        monkeypatch.setenv("CORTEX_TOKEN", "AZOTH.x")

        assert 77 == cortex("setup", "cursor", "--yes")[0]


class TestPlugin:
    def test_says_the_same(self) -> None:
        """The plugin runs what `cortex setup` writes, by the program on the search path."""
        folder = find_plugin() / "cortex"
        server = json.loads((folder / ".mcp.json").read_text())["mcpServers"]["cortex"]
        found = json.loads((folder / "hooks" / "hooks.json").read_text())
        wiring = clients.Wiring("CLAUDE", program=("cortex",))

        assert {"type": "stdio", **wiring.describe_server()} == server
        wanted = clients.add_hooks(CLIENTS["claude-code"], "", wiring=wiring, path="x.json")
        assert json.loads(wanted)["hooks"] == found["hooks"]

    def test_manifests(self) -> None:
        """Marketplace and plugin have the names that commands give, and our version."""
        folder = find_plugin()
        market = json.loads((folder / ".claude-plugin" / "marketplace.json").read_text())
        (plugin,) = market["plugins"]
        manifest = folder / plugin["source"] / ".claude-plugin" / "plugin.json"

        assert clients.PLUGIN == f"{plugin['name']}@{market['name']}"
        assert __version__ == json.loads(manifest.read_text())["version"]

    def test_named(self, cortex: Run) -> None:
        """--plugin prints the two commands that install it, with a folder that is there."""
        code, out, _ = cortex("setup", "claude-code", "--plugin")

        assert 0 == code
        assert Path(out.split()[4]).is_dir()
        assert f"claude plugin install {clients.PLUGIN}" in out

    def test_not_twice(self, mine: Path, cortex: Run) -> None:
        """Where the plugin is enabled no hooks are added; --remove switches it off."""
        settings = mine / ".claude" / "settings.json"
        put(settings, json.dumps({"enabledPlugins": {clients.PLUGIN: True, "x@y": True}}))
        code, _, err = cortex("setup", "claude-code", "--yes")

        assert (78, "claude plugin uninstall") == (code, err.partition("first: ")[2][:23])
        cortex("setup", "claude-code", "--yes", "--remove")
        assert {"enabledPlugins": {"x@y": True}} == json.loads(settings.read_text())


def started(name: str, *words: str, **how: Any) -> subprocess.Popen[str]:
    """Start a client's program; skip where there is none."""
    places = os.pathsep.join([os.environ.get("CORTEX_TEST_CLIENTS", ""), os.environ["PATH"]])
    program = shutil.which(name, path=places)
    if program is None:
        pytest.skip(f"{name} is neither on PATH nor in CORTEX_TEST_CLIENTS")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    return subprocess.Popen([program, *words], text=True, **(pipes | how))


@pytest.mark.soak
class TestRealClients:
    """What the clients themselves read; `CORTEX_TEST_CLIENTS` is a folder with their programs."""

    @pytest.fixture
    def run(self, mine: Path) -> Callable[..., str]:
        """Give a client's program in the user's home; skip without it."""

        def run(*words: str) -> str:
            with started(*words, stderr=subprocess.STDOUT) as process:
                return process.communicate(timeout=120)[0]

        return run

    def test_claude_code(self, cortex: Run, run: Callable[..., str]) -> None:
        """`claude mcp list` names our server with its words."""
        cortex("setup", "claude-code", "--yes")

        program = Path(sys.executable).with_name("cortex")
        assert f"cortex: {program} mcp --agent CLAUDE" in run("claude", "mcp", "list")

    def test_plugin(self, run: Callable[..., str]) -> None:
        """Claude Code finds nothing wrong with the marketplace and the plugin."""
        folder = find_plugin()

        assert "Validation passed" in run("claude", "plugin", "validate", str(folder))
        assert "Validation passed" in run("claude", "plugin", "validate", str(folder / "cortex"))

    def test_codex(self, mine: Path, cortex: Run, run: Callable[..., str]) -> None:
        """`codex mcp list` names our server beside the others'."""
        put(mine / ".codex" / "config.toml", TABLES)
        cortex("setup", "codex", "--yes")
        out = run("codex", "mcp", "list", "--json")
        found = json.loads(out[out.index("[") :])

        assert ["cortex", "github"] == sorted(each["name"] for each in found)

    def test_codex_hooks(self, cortex: Run) -> None:
        """Codex reads the four hooks without a warning, and has a person trust them first."""
        cortex("setup", "codex", "--yes")
        asked = (
            {
                "method": "initialize",
                "id": 1,
                "params": {"clientInfo": {"name": "x", "version": "1"}},
            },
            {"method": "initialized"},
            {"method": "hooks/list", "id": 2, "params": {"cwds": ["/"]}},
        )
        with started("codex", "app-server") as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.writelines(json.dumps(each) + "\n" for each in asked)
            process.stdin.flush()
            answers = map(json.loads, process.stdout)
            (found,) = next(each for each in answers if each.get("id") == 2)["result"]["data"]
            process.terminate()

        assert ([], []) == (found["warnings"], found["errors"])
        events = {each["command"].split()[2]: each["trustStatus"] for each in found["hooks"]}
        assert dict.fromkeys(VERBS, "untrusted") == events
