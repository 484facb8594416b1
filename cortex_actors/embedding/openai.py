"""The provider for any endpoint that speaks OpenAI's protocol: OpenAI, Ollama, TEI, vLLM ...

It sends what is embedded, as it is: what may not leave this machine has to be taken out before.

Asks an endpoint for vectors, and says its trouble in the words of the embedder.

The vectors in an endpoint's answer, read with suspicion. Pure.
"""

from __future__ import annotations

import asyncio
import logging
import random
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from cortex_actors import errors
from cortex_actors.embedding.provider import (
    KeptProvider,
    ProviderState,
    check_rows,
    explain_refusal,
    require_texts,
)
from cortex_actors.embedding.tokens import pool_rows, split_text
from cortex_actors.endpoint.client import (
    LONGEST_CALL,
    LOOK_AGAIN,
    Breaker,
    EndpointClient,
    SwitchPosition,
)
from cortex_actors.endpoint.replies import (
    Endpoint,
    HttpReply,
    Use,
    count_tokens,
    find_host,
    read_document,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from cortex_actors.clock import Clock
    from cortex_actors.embedding.provider import Vectors
    from cortex_actors.sections import EmbeddingSettings


def read_rows(answer: HttpReply, *, texts: int, endpoint: Endpoint) -> tuple[Vectors, int]:
    """Return the vectors of a good answer in the order of the texts, and the tokens it counted.

    Raises `EndpointDown` for what is no list of vectors with the numbers 0 to `texts` - 1, each of
    them once: then no row can be believed. Numbers that are not finite are left for the port's own
    check, because they are one text's and not the answer's.
    """
    where = f"{endpoint.named} answered {texts} texts"
    document = read_document(answer, endpoint, where=where, key="data")
    found = document.get("data")
    if not isinstance(found, list) or len(found) != texts:
        count = f"{len(found)} vectors" if isinstance(found, list) else "no list of vectors"
        raise errors.EndpointDown(f"{where} with {count}; nothing of it is used")
    by_number = {
        each["index"]: each["embedding"]
        for each in found
        # True is an int in Python.
        if isinstance(each, dict)
        and type(each.get("index")) is int
        and isinstance(each.get("embedding"), list)
    }
    if set(by_number) != set(range(texts)):
        raise errors.EndpointDown(
            f"{where} without saying which vector is whose: it must number them from 0 to "
            f"{texts - 1}, each once; nothing of it is used"
        )
    rows = [by_number[number] for number in range(texts)]
    try:
        with np.errstate(over="ignore"):  # what is too large for float32 becomes infinity
            matrix = np.array(rows, dtype=np.float64).astype(np.float32)
    except (ValueError, TypeError, OverflowError):
        matrix = np.empty(0, dtype=np.float32)
    if matrix.ndim != 2 or not matrix.size:  # noqa: PLR2004 - a matrix
        raise errors.EndpointDown(
            f"{where} with rows that are not lists of equally many numbers; nothing of it is used"
        )
    return matrix, count_tokens(document)


#: What the endpoint is asked for.
EMBEDDING = Use("embedding", "embedding", "embeddings", "an embeddings API")

#: Bytes an answer may have, for each text and beside them: vectors of 8,192 numbers, 24 characters
#: each, fit in.
ROW_BYTES, MORE_BYTES = 200_000, 65_536


@contextmanager
def _as_embedder() -> Iterator[None]:
    """Turn an endpoint's trouble into the embedder's; what caused it stays its cause."""
    try:
        yield
    except errors.EndpointUnusable as error:
        raise errors.ModelMissing(str(error)) from error.__cause__ or error
    except errors.EndpointDown as error:
        raise errors.EmbedderDown(str(error)) from error.__cause__ or error


log = logging.getLogger("cortex.embedder")

#: Texts of one request: every server takes as many (text-embeddings-inference, as it comes, no
#: more), and a question waits for nothing behind them.
BULK = 32

#: Tokens of a text that count when `embedding.max_tokens` does not say: BERT's limit.
USUAL_TOKENS = 512

#: Bytes of a text that are taken for one token, as the tokeniser is not known: English has more
#: than four to a token, and writings of three bytes a letter have about one letter to a token.
TOKEN_BYTES = 3

#: What is embedded to see whether an endpoint works.
PROBE = "warm"


class OpenAIProvider(KeptProvider):
    """A model behind HTTP, asked once at its start how long its vectors are.

    While it cannot be reached it is `down`, says why and when the next look is, and refuses at
    once; it looks again by itself. What only a person can mend (a key, a model's name, an address,
    vectors of another length) makes it `missing`, and it looks again every minute. Texts that are
    longer than `max_tokens`, as estimated, are embedded in pieces. `dimension`, if given, is that
    of the vectors there are; the endpoint's must be the same.
    """

    def __init__(
        self,
        model: str,
        clock: Clock,
        *,
        settings: EmbeddingSettings,
        dimension: int = 0,
        chance: Callable[[], float] = random.random,
    ) -> None:
        super().__init__(clock)
        self.model_id = f"openai:{model}@{find_host(settings.base_url)}"
        self.dimension = dimension or settings.dimension
        self.max_tokens = settings.max_tokens or USUAL_TOKENS
        self.bulk = BULK
        self._model = model
        self._settings = settings
        self._chance = chance
        self._breaker = Breaker(failures=settings.breaker_failures, pause=settings.breaker_pause_s)
        self._client: EndpointClient | None = None
        self._next_look = 0.0
        self._trouble = asyncio.Event()
        self._is_usable = True
        self._counts = {"requests": 0, "retries": 0, "tokens": 0, "split": 0}
        try:
            self._client = self._connected()
        except errors.EndpointUnusable as error:
            self._is_usable = False
            self._become(ProviderState.MISSING, str(error))

    @property
    def reason(self) -> str:
        """Why it is not ready, and when the next look is."""
        if self.state is not ProviderState.DOWN:
            return self._why
        wait = max(0.0, self._next_look - self._clock.monotonic())
        return f"{self._why}; next attempt in {wait:.0f} s"

    @property
    def counters(self) -> Mapping[str, int]:
        """Return what it has counted: `tokens` as the server tells them, `split` texts ..."""
        return {**self._counts, "breaker_opened": self._breaker.opened}

    async def start(self) -> None:
        """Begin to look whether it works, and return at once; nothing if that goes on already.

        Neither does anything happen where the settings themselves cannot work: that stays as it is.
        """
        if self._is_usable:
            self._client = self._client or self._connected()
            self._begin(self._watch)

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vectors:
        """Return one unit row a text; `urgent` needs nothing: requests do not wait for each other.

        Raises what the port says: `BadInput` when the endpoint refuses the texts, once it is seen
        that it still takes others.
        """
        require_texts(texts)
        if error := explain_refusal(self):
            raise error
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        try:
            return await self._embedded(texts)
        except errors.BadInput:
            if len(texts) == 1:
                await self._require_working()
            raise
        except errors.ModelMissing as missing:
            self._stumble(ProviderState.MISSING, str(missing))
            raise
        except errors.EmbedderDown as failure:
            if self._breaker.position is not SwitchPosition.CLOSED:
                self._stumble(ProviderState.DOWN, self._breaker.reason or str(failure))
            raise

    async def close(self) -> None:
        """Close the connections; `start` begins again."""
        await super().close()
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _embedded(self, texts: Sequence[str]) -> Vectors:
        """Embed texts piece by piece, as many pieces in one request as any server takes."""
        split = await self._split(texts)
        self._counts["split"] += sum(len(pieces) > 1 for pieces in split)
        pieces = [piece for each in split for piece in each]
        until = self._clock.monotonic() + LONGEST_CALL
        rows = [
            await self._asked(pieces[first : first + BULK], until)
            for first in range(0, len(pieces), BULK)
        ]
        if len(pieces) == len(texts):
            return np.concatenate(rows)
        owners = [number for number, each in enumerate(split) for _ in each]
        weights = [_tokens(piece) for piece in pieces]
        return pool_rows(np.concatenate(rows), owners, weights, texts=len(texts))

    async def _split(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the pieces of each text; cutting up a long one takes a thread some 0.3 s."""
        if all(_tokens(text) <= self.max_tokens for text in texts):
            return [[text] for text in texts]
        with _as_embedder():
            return await self._required().run(
                lambda: [split_text(text, self.max_tokens, _tokens) for text in texts]
            )

    def _connected(self) -> EndpointClient:
        """Return what asks the endpoint; raises `EndpointUnusable`."""
        return EndpointClient(
            EMBEDDING, self._settings, clock=self._clock, breaker=self._breaker, chance=self._chance
        )

    def _required(self) -> EndpointClient:
        """Return what asks the endpoint, unless it was closed."""
        if self._client is None:
            raise errors.EmbedderDown(f"the embedding model {self.model_id} is closed; ask again")
        return self._client

    async def _asked(self, pieces: Sequence[str], until: float) -> Vectors:
        """Return the checked rows of one request."""
        client = self._required()
        document = {"model": self._model, "input": list(pieces), "encoding_format": "float"}
        read = partial(read_rows, texts=len(pieces), endpoint=client.endpoint)
        most = MORE_BYTES + len(pieces) * ROW_BYTES
        try:
            with _as_embedder():
                rows, tokens = await client.ask(document, read, most=most, until=until)
        finally:
            self._counts |= {"requests": client.requests, "retries": client.retried}
        self._counts["tokens"] += tokens or sum(map(_tokens, pieces))
        width = rows.shape[1]
        if self.dimension not in (0, width):
            raise errors.ModelMissing(
                f"{self.model_id} makes vectors of {width} numbers now where {self.dimension} were "
                "expected: another model answers under that name; have the old one served again, "
                f"or change over with `cortex model migrate --to openai:{self._model}` "
                "(embedding.dimension, if set, must say the new number)"
            )
        self.dimension = width
        return check_rows(rows, len(pieces), dimension=width)

    async def _probe(self) -> None:
        """Embed a word; raises `ModelMissing` when the endpoint refuses even that."""
        try:
            await self._asked([PROBE], self._clock.monotonic() + LONGEST_CALL)
        except errors.BadInput as error:
            raise errors.ModelMissing(
                f"{error}, and refuses any other text, too; see what it says, and embedding.model"
            ) from error

    async def _require_working(self) -> None:
        """Raise `ModelMissing` when the endpoint refuses everything, and not only one text."""
        try:
            await self._probe()
        except errors.ModelMissing as missing:
            self._stumble(ProviderState.MISSING, str(missing))
            raise

    async def _watch(self) -> None:
        """Look whether it works; then again after a while, or when a caller had trouble."""
        while True:
            self._trouble.clear()
            wait = await self._look()
            if wait is None:
                await self._trouble.wait()
                wait = self._pause()
            self._next_look = self._clock.monotonic() + wait
            await self._clock.sleep(wait)

    async def _look(self) -> float | None:
        """Embed a word, note the state that follows, and return the seconds until the next look."""
        try:
            await self._probe()
        except errors.ModelMissing as error:
            self._become(ProviderState.MISSING, str(error))
        except errors.CortexError as error:
            self._become(ProviderState.DOWN, self._breaker.reason or str(error.__cause__ or error))
        except Exception as error:
            log.exception("looking at %s failed inside and will be tried again", self.model_id)
            self._become(ProviderState.DOWN, f"it failed inside: {error!r}")
        else:
            self._become(ProviderState.READY)
            return None
        return self._pause()

    def _pause(self) -> float:
        """Return the seconds until the next look in this state."""
        if self.state is ProviderState.MISSING:
            return LOOK_AGAIN
        rest = self._breaker.compute_wait(self._clock.monotonic())
        return rest or self._settings.breaker_pause_s

    def _stumble(self, state: ProviderState, reason: str) -> None:
        """Note trouble that an asker ran into, and have the keeper see to it."""
        self._become(state, reason)
        self._next_look = self._clock.monotonic() + self._pause()
        self._trouble.set()


def _tokens(text: str) -> int:
    """Return about how many tokens a text has, rather too many than too few."""
    return -(-len(text.encode()) // TOKEN_BYTES)
