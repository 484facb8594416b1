"""What turns texts into vectors: the port, its states, and the check of what comes out of it.

How a provider that loads in the background is kept running.

What may be embedded at all, and the name a text has in a cache.

What became of each text of a request: a vector, or why there is none.
"""

from __future__ import annotations

import asyncio
import logging
from enum import StrEnum
from hashlib import sha256
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cortex_actors import errors

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from cortex_actors.clock import Clock

log = logging.getLogger("cortex.embedder")

#: Seconds until the next life after the first, second ... failure in a row; the last one is also
#: how long a life must have lasted for earlier failures to be forgotten.
PAUSES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0)

#: One row a text, `dimension` columns, every row of length 1.
Vectors: TypeAlias = NDArray[np.float32]

#: One text's vector.
Row: TypeAlias = NDArray[np.float32]


class ProviderState(StrEnum):
    """Whether a provider can embed now."""

    LOADING = "loading"
    READY = "ready"
    #: Away, and being mended by its owner.
    DOWN = "down"
    #: Will not come by itself: a person has to change a setting or the installation.
    MISSING = "missing"


class Provider(Protocol):
    """A model, wherever it runs.

    `model_id` names the space its vectors lie in: vectors of different ids are never compared. It
    is known before anything is loaded, as are `max_tokens` and `dimension`, which are 0 while the
    model is missing; the dimension of a remote one also until it was asked for the first time.
    """

    #: The name of the vector space.
    model_id: str
    #: Numbers in one vector.
    dimension: int
    #: Tokens the model reads at once; a longer text is the mean of its windows.
    max_tokens: int
    #: Texts of one request that suit the model, when no person waits for them.
    bulk: int
    #: Whether it can embed now.
    state: ProviderState

    @property
    def reason(self) -> str:
        """Why it is not ready, in words for a person; empty when it is."""

    @property
    def counters(self) -> Mapping[str, int]:
        """What it has counted since it was made; `tokens` where it knows how many it embedded."""

    async def start(self) -> None:
        """Begin to load and return at once; nothing happens when it has begun already."""

    async def wait_settled(self) -> ProviderState:
        """Return the state as soon as it is not `loading`."""

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vectors:
        """Return one unit row a text, in the order of the texts.

        `urgent` is for texts that a person waits for: where the model can, they overtake others.

        Raises `BadInput` when a text cannot be embedded at any time; `EmbedderLoading`,
        `ModelMissing` or another `EmbedderDown` when the texts are not to blame.
        """

    async def close(self) -> None:
        """Close the model; `start` may be called again."""


class KeptProvider:
    """Keeps a model running in the background: one life after another, until `close`.

    A life that fails makes it `down`; the next one begins after a pause that grows from 1 to 60
    seconds. A model that is `missing` is looked for again only by `start`.
    """

    model_id: str

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._keeper: asyncio.Task[None] | None = None
        self._settled = asyncio.Event()
        self._restarts = 0
        self.state, self._why = ProviderState.LOADING, ""

    @property
    def reason(self) -> str:
        """Why it is not ready; empty when it is."""
        return self._why

    async def wait_settled(self) -> ProviderState:
        """Return the state as soon as it is not `loading`."""
        while self.state is ProviderState.LOADING:
            await self._settled.wait()
        return self.state

    async def close(self) -> None:
        """End the life and wait until it has ended; `start` begins another."""
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            keeper.cancel()
            await asyncio.wait({keeper})
            self._become(ProviderState.LOADING)

    def _begin(self, live: Callable[[], Awaitable[str | None]]) -> None:
        """Have `live` called in the background, unless that has been done.

        It returns why a life ended, None when there is no more to do, or raises: `ModelMissing`
        where no further life can help.
        """
        keeper = self._keeper
        if keeper is None or (keeper.done() and self.state is not ProviderState.READY):
            self._become(ProviderState.LOADING)
            self._keeper = asyncio.create_task(self._keep(live), name="embedder-keeper")

    async def _keep(self, live: Callable[[], Awaitable[str | None]]) -> None:
        """Run one life after another."""
        failures = 0
        while True:
            begun = self._clock.monotonic()
            try:
                reason = await live()
            except errors.ModelMissing as error:
                self._become(ProviderState.MISSING, str(error))
                return
            except (errors.CortexError, OSError, MemoryError) as error:
                reason = str(error)
            if reason is None:
                return
            if self._clock.monotonic() - begun > PAUSES[-1]:
                failures = 0
            pause = PAUSES[min(failures, len(PAUSES) - 1)]
            failures += 1
            self._become(ProviderState.DOWN, f"{reason}; next attempt in {pause:g} s")
            await self._clock.sleep(pause)
            self._restarts += 1
            self._become(ProviderState.LOADING)

    def _become(self, state: ProviderState, reason: str = "") -> None:
        if state in (ProviderState.DOWN, ProviderState.MISSING) and state is not self.state:
            log.warning("the embedding model %s is %s: %s", self.model_id, state, reason)
        self.state, self._why = state, reason
        if state is ProviderState.LOADING:
            self._settled.clear()
        else:
            self._settled.set()


def scale_rows(rows: NDArray[np.floating]) -> Vectors:
    """Return the rows scaled to length 1; a row without any length stays as it is."""
    wide = np.asarray(rows, dtype=np.float64)
    lengths = np.sqrt(np.einsum("ij,ij->i", wide, wide))
    lengths[lengths == 0.0] = 1.0
    scaled: Vectors = (wide / lengths[:, None]).astype(np.float32)
    return scaled


def check_rows(rows: NDArray[np.floating], texts: int, *, dimension: int) -> Vectors:
    """Return a provider's rows as unit vectors, once they are known to be vectors.

    Raises `EmbedderDown` when their number or dimension is wrong, because then no row can be
    believed, and `BadInput` when a row is not finite or has no length, because then its text is
    the cause and the others are worth another try.
    """
    if rows.shape != (texts, dimension):
        raise errors.EmbedderDown(
            f"the embedder answered {texts} texts with rows of shape {rows.shape} where "
            f"({texts}, {dimension}) was due; nothing of it is used: see `cortex daemon logs`"
        )
    wrong = [i for i, row in enumerate(rows) if not np.isfinite(row).all() or not row.any()]
    if wrong:
        raise errors.BadInput(
            f"{len(wrong)} of {texts} texts came out of the embedder without a usable vector "
            f"(the first is number {wrong[0] + 1}); change or leave out that text"
        )
    return scale_rows(rows)


def explain_refusal(provider: Provider) -> errors.EmbedderDown | None:
    """Return the error that says why the provider cannot embed now; None when it can."""
    if provider.state is ProviderState.READY:
        return None
    if provider.state is ProviderState.LOADING:
        return errors.EmbedderLoading(
            f"the embedding model {provider.model_id} is still loading; "
            "try again in some seconds, `cortex status` says when it is ready"
        )
    if provider.state is ProviderState.MISSING:
        return errors.ModelMissing(provider.reason)
    return errors.EmbedderDown(
        f"the embedding model {provider.model_id} is down: {provider.reason}; ask again in a moment"
    )


def require_model(provider: Provider, model: str | None) -> None:
    """Raise `ModelChanged` when an asker means another model than the provider's; None is any."""
    if model not in (None, provider.model_id):
        raise errors.ModelChanged(
            f"cannot embed with {model}: this daemon embeds with {provider.model_id} now, and "
            "vectors of two models are never compared; ask again with that one"
        )


#: Letters one text may have: as many as the largest instruction file (1 MiB), far more than any
#: model reads, and too few to fill a frame or keep a tokeniser busy for long.
MAX_LETTERS = 1_048_576


def require_texts(texts: Iterable[object]) -> None:
    """Refuse what no model could read.

    Raises `Unembeddable`, in the words of the first such text and with the numbers of all: not
    text, too long, or holding half of a surrogate pair, which has no UTF-8 form (JSON can carry
    one).
    """
    wrong = {place: why for place, text in enumerate(texts) if (why := _refusal(text))}
    if wrong:
        first, why = next(iter(wrong.items()))
        raise errors.Unembeddable(f"text {first + 1} to embed {why}", tuple(wrong))


def _refusal(text: object) -> str:
    """Return why no model could read a text; empty when one can."""
    if not isinstance(text, str):
        return f"is {type(text).__name__}; give strings only"
    if len(text) > MAX_LETTERS:
        return f"has {len(text)} characters, more than {MAX_LETTERS}; split it, embed the parts"
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return (
            f"is not valid Unicode at character {error.start + 1}; decode it again from its bytes, "
            "or take the character out"
        )
    return ""


def hash_text(text: str) -> bytes:
    """Return the SHA-256 of a text's UTF-8 bytes: its key in the cache and in the ledger."""
    return sha256(text.encode()).digest()


#: A vector, or why there is none.
Outcome: TypeAlias = Row | errors.CortexError


def collect_rows(texts: Sequence[str], outcomes: Sequence[Outcome]) -> Vectors:
    """Return one row a text of a request that has at least one.

    Raises, in an exception of this caller's own, what kept it from being answered in full: first
    an error that is no text's fault, because then asking again may help; else `Unembeddable` with
    the numbers of the texts that were refused.
    """
    refused = {i: each for i, each in enumerate(outcomes) if isinstance(each, errors.CortexError)}
    for error in refused.values():
        if not isinstance(error, errors.BadInput):
            raise type(error)(*error.args) from error
    if refused:
        first, why = next(iter(refused.items()))
        more = f" (and {len(refused) - 1} more)" if len(refused) > 1 else ""
        raise errors.Unembeddable(
            f"text {first + 1} of {len(texts)} ({len(texts[first])} characters){more} cannot be "
            f"embedded; leave it out or change it. The embedder said: {why}",
            tuple(refused),
        ) from why
    return np.stack([each for each in outcomes if not isinstance(each, errors.CortexError)])
