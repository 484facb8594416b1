"""Fixtures of the storage tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cortex_actors.storage.ledger import backups
from cortex_actors.testing import EPOCH
from tests.storage import postgres
from tests.storage.damage import AFTER, BEFORE
from tests.storage.ledgers import Filed
from tests.storage.support import Store, opened
from tests.storage.things import Tables, in_memory
from tests.storage.vectored import Vectored

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from sqlalchemy import Connection, Engine


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """Give a running ledger in a folder of its own."""
    async with opened(tmp_path) as store:
        yield store


@pytest.fixture
def tables() -> Iterator[Tables]:
    """Give the ledger's tables in memory."""
    with in_memory() as tables:
        yield tables


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Vectored]:
    """Give an empty ledger."""
    ledger = Vectored(tmp_path)
    yield ledger
    ledger.close()


@pytest.fixture(scope="session")
def server() -> Iterator[Engine]:
    """Give a PostgreSQL with the ledger's tables."""
    with postgres.tables() as engine:
        yield engine


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def connection(request: pytest.FixtureRequest) -> Iterator[Connection]:
    """Give empty tables of each engine, in a transaction that is not kept."""
    if request.param == "sqlite":
        with in_memory() as tables:
            yield tables.connection
        return
    engine: Engine = request.getfixturevalue("server")
    with engine.connect() as opened:
        yield opened
        opened.rollback()


@pytest.fixture
def filed(tmp_path: Path) -> Filed:
    """Give a good ledger that holds more than its backup."""
    filed = Filed(tmp_path, events=BEFORE)
    backups.take(filed.path, filed.home.backups, at=EPOCH)
    filed.say(AFTER)
    return filed
