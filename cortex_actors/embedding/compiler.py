"""Compiles a model: a low-priority child builds it, and it is moved into place when it is complete.

A model appears in `<home>/models/` by one rename, behind the sync of everything in it; a kill or a
power cut before that leaves a folder that begins with a dot, which is never read and the next
compile sweeps away. A file lock lets one process compile at a time.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
from contextlib import ExitStack, asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from cortex_actors import errors
from cortex_actors.embedding import calibration
from cortex_actors.embedding import manifest as refusals
from cortex_actors.embedding.manifest import Manifest, find_compiled
from cortex_actors.embedding.torch_child import PROGRESS
from cortex_actors.home import hash_weights, open_private
from cortex_actors.process.lock import take_lock
from cortex_actors.runtime.child import ChildHandlerError, ChildProcess

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
    from pathlib import Path

    from cortex_actors.clock import Clock
    from cortex_actors.embedding.models import Model

    Say = Callable[[str], None]

T = TypeVar("T")

log = logging.getLogger("cortex.compiler")

#: What is run to build a model.
CHILD = "cortex_actors.embedding.torch_child"

#: Seconds a compile may take: some 20 on a quiet machine, minutes for a large model on a busy one.
TIMEOUT = 1_800.0

#: Seconds between two looks whether another process has finished compiling.
POLL = 0.5

#: The file in the folder of models that is locked while one is made.
LOCK = ".lock"

#: What the child may say of a model or the disk; any other failure may pass.
KNOWN = {kind.__name__: kind for kind in (errors.NotCompilable, errors.CompileNoRoom)}


async def compile_model(
    model: Model,
    folder: Path,
    *,
    clock: Clock,
    on_line: Say | None = None,
    timeout: float = TIMEOUT,
    child: str | Sequence[str] = CHILD,
) -> Manifest:
    """Return the manifest of a model's compiled form in the folder of models, made if need be.

    A form that is there and unharmed is returned at once; while another process compiles, this one
    waits, and then finds its result. `on_line` is given a line for each step. Cancelling ends the
    child and leaves nothing. Raises `NotCompilable` (remembered: see `refusals`), `CompileNoRoom`,
    or another `CompileFailed` for what may go better the next time.
    """
    say = on_line or log.debug
    try:
        async with asyncio.timeout(timeout):
            return await _found_or_made(model, folder, clock=clock, say=say, child=child)
    except (TimeoutError, errors.DeadlineExceeded) as error:
        raise errors.CompileFailed(
            f"{model.model_id} was not compiled within {timeout:g} s; try again when the machine "
            "is less busy: cortex model prepare"
        ) from error
    except OSError as error:
        # No process could be started, or the float model's files went away.
        raise errors.CompileFailed(
            f"{model.model_id} was not compiled: {error}; see to that, then: cortex model prepare"
        ) from error


async def _found_or_made(
    model: Model, folder: Path, *, clock: Clock, say: Say, child: str | Sequence[str]
) -> Manifest:
    found = await _finished(find_compiled, folder, model.model_id)
    if found is not None:
        return found[1]
    async with _alone(folder, clock=clock, say=say):
        # Another process that compiled while we waited may have done our work.
        found = await _finished(find_compiled, folder, model.model_id)
        if found is not None:
            return found[1]
        bench = await _finished(calibration.begin_bench, folder)
        try:
            facts = await _built(model, bench, clock=clock, say=say, child=child)
            say("moving the compiled model to its place")
            return await _finished(_installed, model, bench, facts, clock.now())
        finally:
            await _finished(partial(shutil.rmtree, ignore_errors=True), bench)


def _installed(model: Model, bench: Path, facts: dict[str, Any], at: int) -> Manifest:
    """Move what was built to its place, on a thread."""
    if facts["dimension"] != model.dimension:
        raise errors.CompileFailed(
            f"the files in {model.folder} promise vectors of {model.dimension} numbers and the "
            f"model makes {facts['dimension']}; mend the folder, then: cortex model prepare"
        )
    manifest = calibration.install(
        bench,
        {**facts, "versions": refusals.list_versions()},
        source=model.model_id,
        source_hash=hash_weights(model.folder),
        at=at,
    )
    refusals.forget_refusal(bench.parent, model.model_id)
    return manifest


async def _built(
    model: Model, bench: Path, *, clock: Clock, say: Say, child: str | Sequence[str]
) -> dict[str, Any]:
    """Have a child fill the bench, and return what it says of the model."""
    process = await ChildProcess.spawn(
        child, ["--model", str(model.folder)], name="the compiler", on_line=partial(_hear, say)
    )
    try:
        # The caller's timeout ends this; a deadline of its own would be one number too many.
        facts, _ = await process.request("compile", {"folder": str(bench)}, deadline=TIMEOUT)
    except ChildHandlerError as error:
        raise await _refusal(error, model, bench.parent, clock) from error
    except errors.ChildProcessDown as error:
        how = str(error).partition("; ask again")[0]  # this one is not started again
        raise errors.CompileFailed(
            f"{model.model_id} was not compiled: {how}; try again with: cortex model prepare"
        ) from error
    finally:
        await _to_the_end(process.stop())
    return facts


async def _refusal(
    error: ChildHandlerError, model: Model, folder: Path, clock: Clock
) -> errors.CompileFailed:
    """Return what the child's error means; what will not pass is remembered."""
    said = str(error).partition(f"{error.kind}: ")[2]
    kind = KNOWN.get(error.kind, errors.CompileFailed)
    if kind is errors.CompileNoRoom:
        return errors.CompileNoRoom(said)
    if kind is errors.CompileFailed:
        return errors.CompileFailed(
            f"{model.model_id} was not compiled ({error.kind}: {said}); see `cortex daemon logs`, "
            "then try again: cortex model prepare"
        )
    remember = partial(refusals.remember_refusal, folder, model.model_id, said, at=clock.now())
    await _finished(remember)
    return errors.NotCompilable(
        f"{model.model_id} has no compiled form: {said}. It is used in its float form, slower; "
        "`cortex model migrate --to NAME` chooses another model"
    )


@asynccontextmanager
async def _alone(folder: Path, *, clock: Clock, say: Say) -> AsyncIterator[None]:
    """Hold the lock of the folder of models, however long another process has it."""
    with ExitStack() as held:
        descriptor = await _finished(_opened, folder, held)
        if not take_lock(descriptor):
            say("another process compiles a model here; waiting for it")
            while not take_lock(descriptor):
                await clock.sleep(POLL)
        yield


def _opened(folder: Path, held: ExitStack) -> int:
    """Open the lock's file, which `held` closes: the kernel closes it however we end."""
    with calibration.explain_disk(folder):
        folder.mkdir(mode=calibration.MODE, parents=True, exist_ok=True)
        # No child inherits it, as Python's descriptors are.
        descriptor = open_private(folder / LOCK, os.O_RDWR | os.O_CREAT)
    held.callback(os.close, descriptor)
    return descriptor


async def _finished(call: Callable[..., T], *given: object) -> T:
    """Run a blocking call on a thread, to its end even when this task is cancelled.

    A thread cannot be stopped, and one that still wrote into a folder while it is being swept
    would leave half of it.
    """
    return await _to_the_end(asyncio.to_thread(call, *given))


async def _to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """Return what some work gives; a cancellation waits for its end and goes on then."""
    running = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        while not running.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait({running})
        raise


def _hear(say: Say, line: str) -> None:
    """Pass on the steps; what libraries print goes to the debug log."""
    if line.startswith(PROGRESS):
        say(line.removeprefix(PROGRESS))
    elif line.strip():
        log.debug("the compiler wrote: %s", line)
