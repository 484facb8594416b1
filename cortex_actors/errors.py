"""Every exception of the product, in one small tree under `CortexError`.

The text of an error says what was attempted, on what, and what to do next. `exit_code` is what
the command line returns for it (docs/cli.md lists them); the numbers follow BSD's sysexits.h where
one fits. Errors that are the caller's fault (`BadInput`), the world's (`EmbedderDown`) and ours
(`InternalError`) are different classes, because only the last one is worth a bug report.
"""

from __future__ import annotations

from typing import ClassVar


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
    """Some texts of a request cannot be turned into vectors, whoever tries again."""

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
    """The token that was shown is nobody's: wrong, revoked, or where others could read it."""


# The daemon and its home.


class DaemonDown(CortexError):
    """No daemon answers for this home."""

    exit_code = 69


class AnswerLost(DaemonDown):
    """The daemon ended before it answered: whether it did what it was asked is not known."""


class DaemonStopping(DaemonDown):
    """The daemon is draining and takes no new work."""


class HomeUnwritable(CortexError):
    """The home folder cannot be created or written."""

    exit_code = 73


class AlreadyRunning(CortexError):
    """Another daemon owns this home."""

    exit_code = 75


class ConfigurationError(CortexError):
    """A setting, or the installation itself, cannot work as it stands."""

    exit_code = 78


class StoreTooNew(ConfigurationError):
    """The ledger was written by a newer version than this one."""


class InternalError(CortexError):
    """A fault of this program; the log holds the traceback."""

    exit_code = 70


# The world: parts that can be away and come back.


class EndpointDown(CortexError):
    """A model behind an address cannot be asked at the moment, or answers what cannot be used."""


class EndpointUnusable(EndpointDown):
    """An address, a key or a model's name cannot work: somebody has to change it."""

    exit_code = 78


class StoreDown(CortexError):
    """A remote store gives no answer that can be used at the moment."""


class StoreTimeout(StoreDown):
    """A remote store did not answer in the time it had."""


class StoreUnusable(StoreDown):
    """A remote store cannot be asked as it is set up: somebody has to change something."""

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
    """An actor's name is held by nobody: it is being restarted, or has given up."""


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


class DeathPact(CortexError):
    """An actor that another one watched has ended, and the watcher does not live without it."""


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
    """A task ended without a result: it was stopped, killed, or left for a reason of its own."""

    def __init__(self, text: str, reason: object) -> None:
        """Say what happened, and the exit reason of the task."""
        super().__init__(text)
        self.reason = reason
