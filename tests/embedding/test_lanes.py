"""Calls of the compiled provider that run on threads."""

from __future__ import annotations

import pytest

from cortex_actors.embedding.compiled import _guarded
from cortex_actors.errors import EmbedderDown


def test_panic() -> None:
    """What is no ordinary error, such as a panic in Rust, is one all the same."""

    def panic() -> None:
        raise BaseException("at the disco")  # noqa: TRY002

    with pytest.raises(EmbedderDown, match="at the disco"):
        _guarded(panic)
