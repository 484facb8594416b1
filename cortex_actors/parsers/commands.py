"""What to type: which text is a command line, and which lines of a fence are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: What stands behind a fence of commands; a fence without a language may be one, too.
_SHELLS = frozenset(
    {"", "bash", "sh", "shell", "zsh", "fish", "console", "terminal", "shell-session", "powershell"}
    | {"ps1", "pwsh", "cmd", "bat", "batch"}
)

#: Commands of one fence that are kept; one of more is a script.
_MOST = 40

#: Programs that instruction files tell agents to run.
_PROGRAMS = frozenset(
    "act alembic ansible ansible-playbook ant apt apt-get artisan aws az babel bandit bash bats "
    "bazel bazelisk biome black brakeman brew buf bun bundle bunx cabal cargo cd changeset "
    "clang-format cmake code composer conda corepack coverage cp ctest curl dart deno devbox "
    "direnv docker docker-compose dotnet dune elixir eslint expo export firebase flake8 flask "
    "flutter fly forge gcloud gh git go gofmt golangci-lint gradle grep hatch helm heroku hugo "
    "invoke isort java javac jest jq julia just kubectl lefthook lein lerna lint-staged ls "
    "magick make maturin meson mise mix mkdir mkdocs mocha mv mvn mypy ng ninja nix nix-shell "
    "node nox npm npx nvm nx oxlint pdm perl php phpstan phpunit pip pip-compile pip3 pipenv "
    "pipx pixi playwright pnpm pnpx podman poetry pre-commit prek prettier prisma psql pulumi "
    "pyright pytest python python3 rails rake rg rm rspec rsync rubocop ruby ruff rustup sam "
    "sbt sed shellcheck source ssh sst stack starship storybook sudo supabase swift swiftlint "
    "task tauri terraform tmux tox trivy tsc tsx turbo twine uv uvicorn uvx vercel vite vitest "
    "vue-tsc webpack wget wrangler xcodebuild xcrun yarn zig".split()
)

#: Programs by which nobody is told anything unless another follows.
_TRIVIAL = frozenset(
    {"cd", "ls", "export", "source", "mkdir", "cat", "echo", "cp", "mv", "rm", "grep"}
)

_PROMPT = re.compile(r"\A(?:[$%#>]|PS>|C:\\>)[ \t]+")
_SETTING = re.compile(r"\A(?:[A-Z_][A-Z0-9_]*=\S*[ \t]+)+")
_SCRIPT = re.compile(r"(?:if|for|while|case|function|until)\b.*|.*<<|[\w-]+\(\)")
_PATH = re.compile(r"\.{0,2}/?(?:[\w.-]+/)+[\w.-]+|\./[\w.-]+")
_COMMENT = re.compile(r"(?:#|REM\b|//)[ \t]*")


class Command(NamedTuple):
    """A command line, and the comment above it; lines are counted from 0 in the fence."""

    first: int
    last: int
    text: str
    above: str = ""
    #: The first line of that comment.
    above_first: int = 0

    @property
    def bare(self) -> str:
        """The command without the comment behind it."""
        return self.text.split(" # ", maxsplit=1)[0]


def is_command(text: str) -> bool:
    """Whether a text is a command line: a program that is known, or a path, and its arguments."""
    bare = _SETTING.sub("", _PROMPT.sub("", text, count=1), count=1)
    words = bare.split(maxsplit=1)
    if not words:
        return False
    if _PATH.fullmatch(words[0]):
        return words[0].startswith(("./", "../", "bin/", "scripts/", "script/")) or len(words) > 1
    return words[0] in _PROGRAMS and (
        len(words) > 1 or words[0] in {"make", "pytest", "tox", "just"}
    )


def commands(lines: Sequence[str], language: str) -> tuple[Command, ...]:
    """Return the commands of a fence; none for a script, for output and for other languages."""
    if language.split(" ", maxsplit=1)[0].lower().strip("{}") not in _SHELLS:
        return ()
    found = list(_read(lines))
    known = [each for each in found if is_command(each.text)]
    if not language and len(known) * 2 < len(found):
        return ()
    if len(known) > _MOST or any(_SCRIPT.fullmatch(line) for line in lines):
        return ()
    return tuple(each for each in known if not _is_trivial(each.text))


def _read(lines: Sequence[str]) -> Iterator[Command]:
    """Yield every line that is no comment, those that go on joined, with what stands above."""
    prompts = any(line.startswith("$ ") for line in lines)
    above, begun, commented, first = "", 0, False, -1
    parts: list[str] = []
    for number, line in enumerate(lines):
        if first < 0:
            if not line.strip():
                above, commented = "", False
                continue
            comment = _COMMENT.match(line)
            if comment is not None and not prompts:
                said = line[comment.end() :].strip(" #=-")
                above = f"{above} {said}".strip() if commented else said
                begun, commented = begun if commented else number, True
                continue
            first, commented = number, False
        parts.append(line.removesuffix("\\").strip())
        if line.endswith("\\") and number + 1 < len(lines):
            continue
        text = " ".join(" ".join(parts).split())
        if not prompts or text.startswith("$ "):
            yield Command(first, number, _PROMPT.sub("", text, count=1), above, begun)
        parts, first = [], -1


def _is_trivial(text: str) -> bool:
    """Whether a command only goes somewhere, or looks."""
    return text.split(maxsplit=1)[0] in _TRIVIAL and not re.search(r"&&|;|\|", text)
