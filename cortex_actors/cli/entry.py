"""The console script: chooses the quick way or the full one, and turns errors into one line.

Whatever goes wrong, the user sees `cortex: ...` on one line, which says what to do, and the exit
code of the error's class (docs/cli.md). A fault of ours has no traceback either: `CORTEX_DEBUG=1`
shows it.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

from cortex_actors.errors import CortexError, InternalError, NotYours, UsageError
from cortex_actors.home import Home

#: Commands that are answered by the standard library alone.
FAST = frozenset({"status", "start", "stop", "restart", "reload", "publish", "hook", "mcp"})

#: Commands that read or write the home themselves where no daemon answers: the owner's alone, as
#: they are with one. An agent is one whose token is in that variable.
OWNERS = frozenset({"doctor", "model", "setup", "uninstall"}) | {
    f"daemon {name}" for name in "backup install logs publish restore run uninstall unit".split()
}
TOKEN = "CORTEX_TOKEN"  # noqa: S105 - a variable's name
_REFUSAL = f"is not for agents: only the owner of the daemon may, without a token (unset {TOKEN})"

#: Commands whose name is two words, or one that has others below it.
GROUPS = frozenset(
    "actor agents contradictions crumb daemon debug embeddings insights knowledge memory model "
    "principles project projects review service stores triage".split()
) | {"agents crumb", "memory knowledge"}

#: The variable by which a shell asks how a line goes on, and the shells that may.
COMPLETE, SHELLS = "_CORTEX_COMPLETE", ("bash", "zsh", "fish")

#: Seconds that a daemon may take to start before a command gives up, as `cortex start` has.
START_TIMEOUT = 60.0

#: What a shell expects of a program that was interrupted: 128 + SIGINT.
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = _home_last(list(sys.argv[1:] if argv is None else argv))
    out: object = sys.stdout
    if isinstance(out, io.TextIOWrapper) and out.encoding.lower().replace("-", "") != "utf8":
        # A terminal without a sign shows a question mark for it, rather than nothing at all.
        out.reconfigure(errors="replace")
    try:
        code = _run(words)
        sys.stdout.flush()
        return code
    except CortexError as error:
        return _fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has seen enough (`... | head`); Python must not complain at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:  # noqa: BLE001 - the last place where a fault can be explained
        if os.environ.get("CORTEX_DEBUG") == "1":
            import traceback  # noqa: PLC0415 - only for a fault

            traceback.print_exception(error)
        text = f"failed inside: {type(error).__name__}: {error}; CORTEX_DEBUG=1 shows where"
        return _fail(text, InternalError.exit_code)


def _run(words: list[str]) -> int:
    """Run the command on the way it deserves."""
    if words == ["--version"]:
        from cortex_actors import __version__  # noqa: PLC0415 - only what is needed

        print(f"cortex {__version__}")
        return 0
    if words[:1] == ["--show-completion"] or COMPLETE in os.environ:
        return _complete(words)
    if not words:
        from cortex_actors.cli import fast  # noqa: PLC0415 - as above

        return fast.show_overview()
    if "hook" in words[:2]:
        from cortex_actors.cli import agenthooks  # noqa: PLC0415 - a client waits for it

        if agenthooks.is_event(words):
            return agenthooks.run(words)
    from cortex_actors.cli.declare import MOVED, find_moved  # noqa: PLC0415 - as above

    old, name, words = find_moved(words)
    if TOKEN in os.environ and OWNERS & {name, *words[:1]}:
        raise NotYours(f"cortex {old or (name if name in OWNERS else words[0])} {_REFUSAL}")
    if old and sys.stderr.isatty() and "--last" not in words:  # what only the short one is called
        print(f"cortex: `cortex {old}` is now `cortex {name}`", file=sys.stderr)
    quick = words[1:] if words[:1] == ["daemon"] else words
    if quick and quick[0] in FAST and (quick is words or quick[0] in MOVED):
        from cortex_actors.cli import fast  # noqa: PLC0415 - as above

        return fast.run(quick, is_short=bool(old))
    if TOKEN in os.environ or OWNERS & {name, *words[:1]} or name in {"daemon", "demo"}:
        return _full(words)
    return _with_daemon(words)


def _with_daemon(words: list[str]) -> int:
    """Run a command that a daemon answers: one is started in a terminal, and an older one ended."""
    from cortex_actors.client.connection import Client  # noqa: PLC0415 - as above

    if _is_watched() and os.environ.get("CORTEX_AUTOSTART") != "0":
        Client.when_down = staticmethod(_start)
    Client.when_older = staticmethod(_replace)
    try:
        return _full(words)
    finally:
        Client.when_down = Client.when_older = None


def _complete(words: list[str]) -> int:
    """Print a shell's script, or the words that it can go on with."""
    from cortex_actors.cli import command_line  # noqa: PLC0415 - only what is needed

    if words[:1] != ["--show-completion"]:
        return command_line.complete(os.environ[COMPLETE])
    if len(words) != 2 or words[1] not in SHELLS:  # noqa: PLR2004 - the option and its value
        raise UsageError(f"--show-completion takes one of {', '.join(SHELLS)}")
    return command_line.complete(f"{words[1]}_source")


def _is_watched() -> bool:
    """Return whether a person types: whatever the output goes into."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _start(home: Home) -> bool:
    """Start the daemon of a home, at most once a command, and say so; return whether it runs."""
    from cortex_actors.cli import lifecycle  # noqa: PLC0415 - only what is needed
    from cortex_actors.client.connection import Client  # noqa: PLC0415 - as above

    Client.when_down = None
    child, took = lifecycle.launch(home, timeout=START_TIMEOUT)
    text = f"cortex: started the daemon, pid {child.pid}, in {took:.2f} s (CORTEX_AUTOSTART=0: not)"
    print(text, file=sys.stderr)
    return True


def _replace(home: Home) -> None:
    """Restart a daemon that is older than this program, if a person wants that; else say so."""
    from cortex_actors import __version__  # noqa: PLC0415 - only what is needed
    from cortex_actors.process import lock  # noqa: PLC0415 - as above

    found = lock.read(home).version
    if (
        not _numbers(found) < _numbers(__version__)
        or lock.read_state(home) is not lock.HomeState.RUNNING
    ):
        return
    text = f"cortex: the daemon is of version {found}, and this program of {__version__}"
    if not _is_watched():
        print(f"{text}; replace it with: cortex daemon restart", file=sys.stderr)
        return
    print(f"{text}; restart it now? [Y/n] ", end="", file=sys.stderr, flush=True)
    # The end of the input is no answer.
    if sys.stdin.readline().lower() not in {"\n", "y\n", "yes\n"}:
        return
    from cortex_actors import settings  # noqa: PLC0415 - as above
    from cortex_actors.cli import lifecycle  # noqa: PLC0415 - as above

    # It goes on where it would not start with them.
    settings.load(home)
    lifecycle.end(home, timeout=lifecycle.STOP_TIMEOUT)
    child, took = lifecycle.launch(home, timeout=START_TIMEOUT)
    print(f"cortex: restarted, pid {child.pid}, in {took:.2f} s", file=sys.stderr)


def _numbers(version: str) -> list[int]:
    """Return a version's numbers; those of one that is not known are greater than any."""
    return [int(each) for each in version.split(".") if each.isdigit()] or [sys.maxsize]


def _full(words: list[str]) -> int:
    """Run a command of the table."""
    import click  # noqa: PLC0415 - only what is needed

    from cortex_actors.cli import command_line  # noqa: PLC0415 - as above

    try:
        return command_line.run(words)
    except SystemExit as ended:
        # All that click leaves the process for in this mode is a reader that hung up.
        raise BrokenPipeError from ended
    except click.ClickException as error:
        said = error.format_message().rstrip(".")
        # A text that begins with a dash, which was taken for an option.
        is_text = any(word.startswith("-") and " " in word.partition("=")[0] for word in words)
        if is_text and getattr(error, "option_name", None) is not None:
            said += " (before a text that begins with a dash write -- )"
        # The command that explains the one that was misused.
        path = getattr(getattr(error, "ctx", None), "command_path", "cortex")
        said += command_line.suggest(error)
        raise UsageError(f"{said}; see: {path} --help") from error
    except click.Abort as error:
        # Ctrl-C, or the end of the input, where a question was asked.
        raise KeyboardInterrupt from error


def _home_last(words: list[str]) -> list[str]:
    """Return the words with a leading `--home DIR` behind the command, which knows it."""
    leading = 2 if words[:1] == ["--home"] else 1 if words and words[0][:7] == "--home=" else 0
    home, command = words[:leading], words[leading:]
    length = 1
    while " ".join(command[:length]) in GROUPS and command[length:] and command[length][:1] != "-":
        length += 1
    return [*command[:length], *home, *command[length:]]


def _fail(text: str, code: int) -> int:
    """Say what went wrong on one line, and return the exit code."""
    shown = "".join(c if c.isprintable() else " " for c in text)
    print(f"cortex: {' '.join(shown.split())}", file=sys.stderr)
    return code


if __name__ == "__main__":
    raise SystemExit(main())
