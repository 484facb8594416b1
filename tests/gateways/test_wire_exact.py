"""Our door and the real SerenMemory and SerenLoci are asked the same, and answer alike."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.federation import seren
from tests.gateways.doors import knock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.gateways.house import House

pytestmark = pytest.mark.slow

#: What lets in at the real ones.
TOKEN = "hush-hush-token"

#: What of a document is anybody's own, and what an error repeats of a request.
FREE = {"metadata", "input", "ctx"}

#: Requests that a SerenMemory and our door are both asked, by path and body.
ASKED_MEMORY = [
    ("/search", '{"query": "deploys"}'),
    ("/search", '{"query": "deploys", "n_results": 50, "with_surroundings": true}'),
    ("/search", '{"query": "backups at noon", "include_short": false, "with_surroundings": true}'),
    ("/search", '{"query": "backups at noon", "include_short": false}'),
    ("/search", '{"query": "deploys", "n_results": "2", "more": [1]}'),
    ("/search", '{"query": "deploys", "include_short": false, "include_long": false}'),
    ("/search", '{"query": ""}'),
    ("/search", '{"query": "x", "n_results": 51}'),
    ("/search", '{"query": "x", "n_results": 0}'),
    ("/search", '{"n_results": 1}'),
    ("/search", '{"query": 5}'),
    ("/search", "[]"),
    ("/search", "nonsense"),
    ("/search", None),
    ("/by_topic", '{"topics": ["DEPLOY"], "n_results": 5}'),
    ("/by_topic", '{"topics": [], "exclude_ids": ["x"]}'),
    ("/by_topic", '{"topics": "deploy"}'),
    ("/by_topic", json.dumps({"topics": ["deploy", *(f"topic {n}" for n in range(299))]})),
    ("/by_topic", "{}"),
    ("/nowhere", None),
    ("/health", None),
    ("/", None),
]

#: The same for a SerenLoci.
ASKED_LOCI = [
    ("/search", '{"query": "Test port"}'),
    ("/search", '{"query": "port", "project": "*", "include_fundamentals": false}'),
    ("/search", '{"query": "port", "n_results": 0}'),
    ("/search", '{"query": "port", "n_results": 400}'),
    ("/search", '{"query": ""}'),
    ("/search", "{}"),
    ("/search", '{"query": null}'),
    ("/search", None),
    ("/by_topic", '{"topics": ["x"]}'),
    ("/health", None),
    ("/", None),
]


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Give a real SerenMemory and a real SerenLoci that know the like, by address."""
    folder = tmp_path_factory.mktemp("real")
    with (
        seren.memory(folder / "memory", token=TOKEN) as memory,
        seren.loci(folder / "loci", token=TOKEN) as loci,
    ):
        seren.remember(memory, "Deploys happen on Mondays", "deploy")
        old = seren.conclude(memory, "new_core", "Backups run at night on the big disk", "backup")
        seren.conclude(
            memory,
            "supersede",
            "Backups run at noon",
            "backup",
            target_core_id=old,
            contradicts="Backups run at night",
        )
        seren.state(loci, "atlas", "Test port", "5433", why="5432 is taken")
        yield {"memory": memory.url, "loci": loci.url}


class TestShape:
    def test_memory(self, real: dict[str, str], house: House) -> None:
        """A request has the same status and shape of answer at our door as at a SerenMemory."""
        for path, body in ASKED_MEMORY:
            found = _both(f"{real['memory']}{path}", f"{house.memory}{path}", body, house)

            assert not found, (path, body, found)

    def test_loci(self, real: dict[str, str], house: House) -> None:
        """A request has the same status and shape of answer at our door as at a SerenLoci."""
        for path, body in ASKED_LOCI:
            found = _both(f"{real['loci']}{path}", f"{house.loci}{path}", body, house)

            assert not found, (path, body, found)

    def test_no_token(self, real: dict[str, str], house: House) -> None:
        """Who shows no token, or a wrong one, is turned away at our door as at theirs."""
        for path, body in (("/search", '{"query": "x"}'), ("/nowhere", None), ("/", None)):
            for token in ("", "wrong"):
                theirs = knock(f"{real['loci']}{path}", body, token=token)
                ours = knock(f"{house.loci}{path}", body, token=token)

                assert theirs.status == ours.status
                if 200 != theirs.status:
                    assert {"detail": "unauthorized"} == theirs.document == ours.document


def _both(theirs: str, ours: str, body: str | None, house: House) -> str:
    """Return in what two answers differ; empty when they are alike."""
    one, other = knock(theirs, body, token=TOKEN), knock(ours, body, token=house.door.token)
    if one.status != other.status:
        return f"{one.status} and {other.status}"
    if body is None and 200 == one.status:
        # The first pages say who somebody is; what we say they say too, and they say more.
        own = set(other.document) & set(one.document)
        return "" if len(own) > 1 else f"{sorted(one.document)} and {sorted(other.document)}"
    return _unlike(one.document, other.document, "answer")


def _unlike(theirs: Any, ours: Any, where: str) -> str:
    """Return where two documents are made of something else; empty when they are alike.

    A list is what its first member is, and null says nothing. What is anybody's own is passed over,
    and so is what an error repeats of a request, which ours does not.
    """
    if isinstance(theirs, dict) and isinstance(ours, dict):
        names = [set(each) - FREE for each in (theirs, ours)]
        if names[0] != names[1]:
            return f"{where}: {sorted(names[0])} and {sorted(names[1])}"
        found = [_unlike(theirs[name], ours[name], f"{where}.{name}") for name in sorted(names[0])]
        return next(filter(None, found), "")
    if isinstance(theirs, list) and isinstance(ours, list):
        return _unlike(theirs[0], ours[0], f"{where}[0]") if theirs and ours else ""
    alike = theirs is None or ours is None or type(theirs) is type(ours)
    return "" if alike else f"{where}: {type(theirs).__name__} and {type(ours).__name__}"
