"""Asks an endpoint for vectors, and says its trouble in the words of the embedder."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from cortex_actors.embedding.reply import Embedded, rows_of
from cortex_actors.endpoint.address import Use, endpoint
from cortex_actors.endpoint.client import Client
from cortex_actors.errors import EmbedderDown, EndpointDown, EndpointUnusable, ModelMissing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from cortex_actors.clock import Clock
    from cortex_actors.endpoint.address import Endpoint
    from cortex_actors.endpoint.client import Breaker

T = TypeVar("T")

#: What the endpoint is asked for.
EMBEDDING = Use("embedding", "embedding", "embeddings", "an embeddings API")

#: Bytes an answer may have, for each text and beside them: vectors of 8,192 numbers, 24 characters
#: each, fit in.
ROW_BYTES, MORE_BYTES = 200_000, 65_536


def embeddings_at(base_url: str, key: str, *, system_store: bool = False) -> Endpoint:
    """Return the endpoint of the settings; raises `ModelMissing` for one that cannot be used."""
    with _as_embedder():
        return endpoint(base_url, key, use=EMBEDDING, system_store=system_store)


class Remote:
    """Asks an endpoint for the vectors of texts; see `Client`."""

    def __init__(
        self,
        model: str,
        clock: Clock,
        *,
        endpoint: Endpoint,
        breaker: Breaker,
        retries: int,
        timeout: float,
        chance: Callable[[], float],
    ) -> None:
        self._model = model
        self._endpoint = endpoint
        self._client = Client(
            endpoint, clock, breaker=breaker, retries=retries, timeout=timeout, chance=chance
        )

    @property
    def requests(self) -> int:
        """Requests so far, repetitions included."""
        return self._client.requests

    @property
    def retried(self) -> int:
        """Repetitions so far."""
        return self._client.retried

    async def ask(self, texts: Sequence[str], *, until: float) -> Embedded:
        """Return one row a text, not yet judged; by the monotonic time `until` in any case.

        Raises `BadInput` when the server refuses the texts, `ModelMissing` when somebody has to
        mend something, and `EmbedderDown` when it cannot be asked now.
        """
        document = {"model": self._model, "input": list(texts), "encoding_format": "float"}
        read = partial(rows_of, texts=len(texts), endpoint=self._endpoint)
        most = MORE_BYTES + len(texts) * ROW_BYTES
        with _as_embedder():
            return await self._client.ask(document, read, most=most, until=until)

    async def run(self, call: Callable[[], T]) -> T:
        """Run a calculation on a thread; raises `EmbedderDown` when closed before its turn."""
        with _as_embedder():
            return await self._client.run(call)

    async def close(self) -> None:
        """Close the connections; who waits for an answer gets `EmbedderDown`."""
        await self._client.close()


@contextmanager
def _as_embedder() -> Iterator[None]:
    """Turn an endpoint's trouble into the embedder's; what caused it stays its cause."""
    try:
        yield
    except EndpointUnusable as error:
        raise ModelMissing(str(error)) from error.__cause__ or error
    except EndpointDown as error:
        raise EmbedderDown(str(error)) from error.__cause__ or error
