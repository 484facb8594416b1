"""Every exception of the product, in one small tree under `CortexError`.

The text of an error says what was attempted, on what, and what to do next. `exit_code` is what
the command line returns for it (docs/cli.md lists them); the numbers follow BSD's sysexits.h where
one fits. Errors that are the caller's fault (`BadInput`), the world's (`EmbedderDown`) and ours
(`InternalError`) are different classes, because only the last one is worth a bug report.

Why an instruction file is not written: one class for each reason, each with what to do next.

A person's file is touched only where everything about it is as expected. Whatever is not is refused
here, and the file is left exactly as it is; what would have been written can still be had with
`cortex resolve PATH --stdout`.
"""

from __future__ import annotations

from typing import ClassVar, Self


class CortexError(Exception):
    """Something the user asked for was not done; the text says what and what to do next."""

    #: What the command line exits with.
    exit_code: ClassVar[int] = 1

    #: An actor that crashes with it ends the daemon, which exits with `exit_code`: no restart.
    ends_daemon: ClassVar[bool] = False


# The caller's input.


class UsageError(CortexError):
    """The command was called with words it does not know."""

    exit_code = 64


class BadInput(CortexError):
    """The data given cannot be used: its shape, its size or its encoding is wrong."""

    exit_code = 65


class Unembeddable(BadInput):
    """Some texts of a request cannot be turned into vectors; trying again does not help."""

    def __init__(self, text: str, numbers: tuple[int, ...] = ()) -> None:
        """Say what happened, and which of the texts it were, counted from 0."""
        super().__init__(text)
        self.numbers = numbers


class NotText(BadInput):
    """A file that should hold text holds something else."""


class FileTooLarge(BadInput):
    """A file is larger than an instruction file may be."""


class NotFound(CortexError):
    """A path, id or name is not known here."""

    exit_code = 66


class UnknownProject(NotFound):
    """A path lies under no registered project, or a project id is not known."""


class UnknownTopic(NotFound):
    """A topic is not in the catalogue and is not a custom one."""


class UnknownActor(NotFound):
    """No actor of that name is in the tree."""


class Refused(CortexError):
    """The request is understood and not allowed."""

    exit_code = 77


class NotYours(Refused):
    """An agent asked for what only the owner of the daemon, or another agent, may have."""


class TooManyConnections(Refused):
    """The control socket has no place for one more connection, or for one more request."""


class BadToken(Refused):
    """The token that was shown counts for no agent: wrong, revoked, or readable by others."""


# The daemon and its home.


class DaemonDown(CortexError):
    """No daemon answers for this home."""

    exit_code = 69


class AnswerLost(DaemonDown):
    """The daemon ended before it answered: whether it did what it was asked is not known."""


class DaemonStopping(DaemonDown):
    """The daemon is draining and takes no new work."""


class Busy(CortexError):
    """More is asked at once than is answered in a bearable time; nothing of it was done."""

    exit_code = 75


class HomeUnwritable(CortexError):
    """The home folder cannot be created or written."""

    exit_code = 73


class AlreadyRunning(CortexError):
    """Another daemon owns this home."""

    exit_code = 75


class ConfigurationError(CortexError):
    """A setting, or the installation itself, cannot work as it is."""

    exit_code = 78


class StoreTooNew(ConfigurationError):
    """The ledger was written by a newer version than this one."""


class StoreTooOld(ConfigurationError):
    """The ledger has a schema from before the oldest one that this version can migrate."""


class InternalError(CortexError):
    """A fault of this program; the log holds the traceback."""

    exit_code = 70


# The world: parts that can be away and come back.


class EndpointDown(CortexError):
    """A model behind an address cannot be asked at the moment, or answers what cannot be used."""


class EndpointUnusable(EndpointDown):
    """An address, a key or a model's name cannot work: a person has to change it."""

    exit_code = 78


class StoreDown(CortexError):
    """A remote store gives no answer that can be used at the moment."""


class StoreTimeout(StoreDown):
    """A remote store did not answer in the time it had."""


class StoreUnusable(StoreDown):
    """A remote store cannot be asked as it is set up: a person has to change something."""

    exit_code = 78


class EmbedderDown(CortexError):
    """No text can be turned into a vector at the moment."""


class EmbedderLoading(EmbedderDown):
    """The embedding model is still being loaded."""


class ModelMissing(EmbedderDown):
    """The configured embedding model is not on this machine."""

    exit_code = 78


class ModelChanged(EmbedderDown):
    """The asker means another embedding model than the one that answers now."""


class JudgeDown(CortexError):
    """A model that judges statements cannot be asked at the moment."""


class JudgeMissing(JudgeDown):
    """The configured entailment model is not on this machine, or is none."""

    exit_code = 78


class CompileFailed(CortexError):
    """A model was not compiled this time; its float form goes on answering."""


class NotCompilable(CompileFailed):
    """A model is made of something that has no compiled form; trying again will not help."""


class CompileNoRoom(CompileFailed):
    """The disk has no room (or the user no quota) for a compiled model."""


class IndexDown(CortexError):
    """The vector index cannot answer at the moment."""


class WriteFailed(CortexError):
    """The disk did not take a person's file; the file is as it was."""


class WordsDamaged(CortexError):
    """The ledger's list of words cannot be read; the texts that it is made of can."""


class LedgerDown(CortexError):
    """The ledger cannot be read or written at the moment."""


class StorageFull(LedgerDown):
    """The disk of the ledger has no room (or the user no quota); nothing was written."""


class StorageReadOnly(LedgerDown):
    """The ledger lies on a disk that cannot be written at the moment."""


class LedgerBusy(LedgerDown):
    """Another process holds the ledger locked."""


class DiskFault(LedgerDown):
    """The disk failed, or the ledger is damaged: nothing may be acknowledged any more."""

    exit_code = 70
    ends_daemon = True


class Superseded(LedgerDown):
    """Another daemon owns the ledger; this one writes nothing any more."""

    exit_code = 75
    ends_daemon = True


# The runtime.


class ActorAway(CortexError):
    """No actor has the name now: it is being restarted, or has given up."""


class DeadlineExceeded(CortexError):
    """No answer came within the time allowed."""


class RoundTripFailed(CortexError):
    """A probe could not be remembered, recalled and forgotten, though the daemon runs."""


class ChildProcessDown(CortexError):
    """A child process ended while it was needed."""


class BlockingInLoopError(CortexError, RuntimeError):
    """A blocking call was made on the thread that runs the event loop: it would freeze it."""


class CallCycleError(CortexError, RuntimeError):
    """An ask would close a ring of actors that wait for one another."""


class Stuck(CortexError):
    """An actor sat in one message for longer than it may; the watchdog crashed it."""

    def __init__(self, text: str, task: str = "", stack: tuple[str, ...] = ()) -> None:
        """Say what happened, the name of the task that did not end, and where it was."""
        super().__init__(text)
        self.task = task
        self.stack = stack


class MailboxFull(CortexError, RuntimeError):
    """A bounded mailbox has no room and its policy is to refuse."""


class TooManyTasks(CortexError, RuntimeError):
    """A task supervisor runs as many tasks as it may."""


class TaskEnded(CortexError):
    """A task was stopped or killed before it had a result."""

    def __init__(self, text: str, reason: object) -> None:
        """Say what happened, and the exit reason of the task."""
        super().__init__(text)
        self.reason = reason


class NotWritten(Refused):
    """An instruction file was left as it is."""

    #: One word for programs: in `resolutions.reason`, and in what `--json` shows.
    code: ClassVar[str] = "refused"

    #: What was asked for.
    doing: ClassVar[str] = "write"

    #: Why, behind the path; what to do next. Facts are in braces.
    why: ClassVar[str] = "it may not be written"
    advice: ClassVar[str] = "take the text from --stdout"

    @classmethod
    def from_file(cls, path: str, **facts: object) -> Self:
        """Return the error for a file."""
        why, advice = cls.why.format(**facts), cls.advice.format(**facts)
        return cls(f"refused to {cls.doing} {path}: {why}; {advice}")


class OutsideRoot(NotWritten):
    """The path does not lie below the folder that was registered."""

    code = "outside"
    why = "it does not lie in the registered folder {root}"
    advice = "register its folder with `cortex init`"


class InsideGit(NotWritten):
    """The path lies in a repository's own folder."""

    code = "git"
    why = "it lies under .git, which is git's own"
    advice = "give an instruction file of the project itself"


class SymbolicLink(NotWritten):
    """The file, or a folder on the way to it, is a symbolic link."""

    code = "symlink"
    why = "{part} is a symbolic link"
    advice = "give the path that it leads to, if that lies in a registered folder"


class FolderMissing(NotWritten):
    """The folder that should hold the file is not there, or is no folder."""

    code = "no-folder"
    why = "there is no folder {folder}"
    advice = "make the folder first"


class FolderMoved(NotWritten):
    """The file's folder was moved or exchanged while the file was being written."""

    code = "moved"
    why = "its folder was moved or exchanged meanwhile"
    advice = "try again when the folder stays where it is"


class Missing(NotWritten):
    """There is no such file, and it was not asked for."""

    code = "missing"
    why = "there is no such file"
    advice = "create it yourself, or ask for it with --create"


class OnNetwork(NotWritten):
    """The file lies on a disk that other machines write to."""

    code = "network"
    why = "it lies on {kind}, a disk that other machines may write to unseen"
    advice = "paste what --stdout shows"


class OnFuse(NotWritten):
    """The file lies on a file system that a program makes up."""

    code = "fuse"
    why = "it lies on {kind}, which cannot exchange two files at one stroke"
    advice = "paste what --stdout shows"


class NoExchange(NotWritten):
    """The file system cannot exchange two files at one stroke."""

    code = "no-exchange"
    why = "its file system cannot exchange two files at one stroke ({error})"
    advice = "paste what --stdout shows"


class ReadOnlyDisk(NotWritten):
    """The file lies on a disk that is mounted for reading only."""

    code = "read-only-disk"
    why = "its disk is mounted for reading only"
    advice = "mount it for writing"


class NamedPipe(NotWritten):
    """There is a pipe at the path."""

    code = "pipe"
    why = "it is a named pipe"
    advice = "put a text file there"


class Device(NotWritten):
    """There is a device at the path."""

    code = "device"
    why = "it is a device"
    advice = "put a text file there"


class NotAFile(NotWritten):
    """There is a folder or a socket at the path."""

    code = "no-file"
    why = "it is no file but {kind}"
    advice = "put a text file there"


class HardLink(NotWritten):
    """The file has more than one name: writing it would take it apart from the others."""

    code = "hard-link"
    why = "it has {names} names (hard links), of which only this one would change"
    advice = "make it a file of its own, by copying it"


class ReadOnlyFile(NotWritten):
    """The file's mode forbids its owner to write it."""

    code = "read-only"
    why = "its mode {mode:04o} forbids writing"
    advice = "allow it with `chmod u+w`"


class ImmutableFile(NotWritten):
    """The file, or its folder, may not be changed by this user."""

    code = "immutable"
    why = "the system forbids it ({error})"
    advice = "look at the folder's mode and at `lsattr`"


class ForeignOwner(NotWritten):
    """The file belongs to another user."""

    code = "owner"
    why = "it belongs to the user {owner} and not to {user}"
    advice = "let its owner run the daemon, or take the file over"


class Oversized(NotWritten):
    """The file is, or would become, larger than an instruction file may be."""

    code = "size"
    why = "it would have {size:,} bytes and an instruction file may have {limit:,}"
    advice = "split it"


class Unkept(NotWritten):
    """The new file could not be given an attribute of the old one."""

    code = "attribute"
    why = "its attribute {name} cannot be kept ({error})"
    advice = "take the attribute away, or paste what --stdout shows"


class Unreadable(NotWritten):
    """The file holds bytes that no text has."""

    code = "no-text"
    why = "it holds NUL bytes, so it is no text"
    advice = "save the file as UTF-8"


class TwoSections(NotWritten):
    """There are several sections of ours."""

    code = "two-sections"
    why = "it holds {count} sections between `cortex:begin` and `cortex:end`"
    advice = "delete all but one of them"


class BrokenSection(NotWritten):
    """A mark of ours lacks its counterpart."""

    code = "broken-section"
    why = "the mark in line {line} has no counterpart"
    advice = "delete the mark, or put the other one back"


class NewerSection(NotWritten):
    """The section was written by a newer version than this one."""

    code = "newer-section"
    why = "its section is of version {version}, which this program does not know"
    advice = "install the newer version"


class EditedSection(NotWritten):
    """The section that is ours was edited by hand."""

    code = "edited"
    why = "its section between the marks was edited by hand"
    advice = "`--edited keep` moves the edits above the section, `--edited discard` drops them"


class UnfencedSection(NotWritten):
    """There is a resolved section without marks, as Cerno wrote it."""

    code = "unfenced"
    why = "line {line} begins a resolved section without marks"
    advice = "`--adopt` replaces it by one with marks"


class OpenBlock(NotWritten):
    """A block that is not closed would swallow our section."""

    code = "open-block"
    why = "the code fence or comment that begins in line {line} is not closed"
    advice = "close it"


class BeingSaved(NotWritten):
    """The file keeps changing: an editor seems to be saving it."""

    code = "being-saved"
    why = "it did not come to rest in {seconds:g} s"
    advice = "try again in a moment"


class LooksTorn(NotWritten):
    """The file has become empty or far smaller than it was: it may be half saved."""

    code = "torn"
    why = "it has {size:,} bytes where {known:,} were known, as if it were half saved"
    advice = "save it once more, or run `cortex projects scan` if it is meant to be so"


class OpenInEditor(NotWritten):
    """An editor has left a mark beside the file that it is being edited."""

    code = "editor"
    why = "{mark} beside it says that an editor has it open"
    advice = "close it there, or remove {mark}"


class GitAtWork(NotWritten):
    """Git is changing the working tree."""

    code = "git-lock"
    why = "git is at work in {root} (.git/index.lock)"
    advice = "try again when git has finished"


class KeepsChanging(NotWritten):
    """The file was saved each time that it was to be written."""

    code = "keeps-changing"
    why = "it was saved before each of {tries} attempts"
    advice = "try again when it rests"


class BeingWritten(NotWritten):
    """Another write of ours into the file has not ended."""

    code = "being-written"
    why = "another write into it has not ended"
    advice = "try again in a moment, or restart the daemon, which ends it"


class NothingToUndo(NotWritten):
    """No write into the file is known that could be taken back."""

    code = "nothing-to-undo"
    doing = "undo a write into"
    why = "no write into it is known that could be taken back"
    advice = "older versions may be in your version control"


def visible(text: str) -> str:
    """Return a text with what could move a terminal's cursor or hide characters written out."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
