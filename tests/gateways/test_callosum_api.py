"""Callosum's own contract on our door: its statuses and shapes, and who may turn what."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

from cortex_actors.client.connection import Client
from tests.gateways.doors import knock
from tests.gateways.house import SECRET

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.gateways.doors import Heard
    from tests.gateways.house import House

pytestmark = pytest.mark.slow

#: Every way to ask what is known; `{}` is the question.
QUESTIONS = (
    ("/seren/memory/search", '{{"query": {}, "n_results": 50, "with_surroundings": true}}'),
    ("/seren/memory/by_topic", '{{"topics": ["deploy", {}], "n_results": 50}}'),
    ("/seren/loci/search", '{{"query": {}, "n_results": 200}}'),
    ("/recall", '{{"query": {}, "limit": 200}}'),
)


@pytest.fixture(scope="module")
def agent(house: House) -> Iterator[str]:
    """Give the token of the agent that keeps the secret."""
    token = house.door.client.call("agent_token", agent="CLAUDE")["token"]
    yield str(token)
    house.door.client.call("revoke_token", agent="CLAUDE")


def ask(house: House, path: str, body: object = None, *, token: str | None = None) -> Heard:
    """Ask, as the owner unless a token is given."""
    data = None if body is None else json.dumps(body)
    shown = house.door.token if token is None else token
    return knock(f"{house.door.url}{path}", data, token=shown)


def delete(house: House, path: str) -> int:
    """Return the status of a deletion by the owner."""
    headers = {"Authorization": f"Bearer {house.door.token}"}
    request = urllib.request.Request(f"{house.door.url}{path}", None, headers, method="DELETE")  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - http
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return int(error.code)


class TestPrivate:
    @pytest.mark.parametrize(("path", "body"), QUESTIONS)
    @pytest.mark.parametrize("query", [SECRET, "heliotrope", "launch"])
    def test_never(self, house: House, agent: str, path: str, body: str, query: str) -> None:
        """What is private is answered to no other program, whoever's token it shows."""
        for token in (house.door.token, agent):
            heard = knock(f"{house.door.url}{path}", body.format(json.dumps(query)), token=token)
            document = dict(heard.document)
            for echoed in ("query", "topics"):
                document.pop(echoed, None)

            assert 200 == heard.status
            assert "heliotrope" not in json.dumps(document)

    def test_own(self, house: House, agent: str) -> None:
        """The fan is a recall by whoever asks: an agent finds its own there, as it would."""
        found = ask(house, "/search", {"query": SECRET, "n_results": 3}, token=agent).document

        assert SECRET in [hit["content"] for hit in found["hits"]]


class TestSearch:
    def test_shape(self, house: House) -> None:
        """A hit says where it comes from, what its store thought of it, and where it stands."""
        found = ask(house, "/search", {"query": "deploys on mondays", "n_results": 2}).document
        first = found["hits"][0]

        assert [
            "query",
            "hits",
            "budget_tokens",
            "tokens",
            "stores_searched",
            "failed",
            "skipped",
        ] == list(found)
        assert (house.monday, "cortex_village", 1) == (
            first["id"],
            first["store"],
            first["store_rank"],
        )
        assert "deploy" == first["metadata"]["topic"]
        assert ["local"] == found["stores_searched"]

    @pytest.mark.parametrize("number", [0, -1])
    def test_none(self, house: House, number: int) -> None:
        """Who wants no hits gets none."""
        heard = ask(house, "/search", {"query": "deploys", "n_results": number})

        assert (200, []) == (heard.status, heard.document["hits"])

    @pytest.mark.parametrize(
        ("body", "status"),
        [({}, 422), ({"query": 1}, 422), ({"query": "x", "budget_tokens": 0}, 422), (None, 405)],
    )
    def test_bad(self, house: House, body: object, status: int) -> None:
        """What is no question of the contract is refused."""
        assert status == ask(house, "/search", body).status

    def test_tokens(self, house: House) -> None:
        """An answer without a budget says what it costs, too."""
        found = ask(house, "/search", {"query": "deploys"}).document

        assert None is found["budget_tokens"]
        assert found["tokens"] >= len(found["hits"]) > 0

    def test_page(self, house: House) -> None:
        """A page is no larger than it was to be, and says how large it is."""
        found = ask(house, "/search", {"query": "deploys", "budget_tokens": 12}).document

        assert 0 < found["tokens"] <= 12 == found["budget_tokens"]


class TestStores:
    def test_life(self, house: House) -> None:
        """A store is added, listed without its token, asked, and let go."""
        given = {"name": " far ", "type": "cortex", "url": "http://127.0.0.1:1/", "token": "hush"}
        added = ask(house, "/stores", given)
        listed = ask(house, "/stores").document
        (row,) = [each for each in listed["stores"] if each["name"] == "far"]
        again = ask(house, "/stores", given)
        failed = ask(house, "/search", {"query": "deploys"}).document["failed"]
        health = ask(house, "/health/stores").document

        assert (200, True, "far", 2) == (
            added.status,
            added.document["ok"],
            added.document["added"],
            added.document["active"],
        )
        assert ("http://127.0.0.1:1", True, True, "active") == (
            row["url"],
            row["auth"],
            row["managed"],
            row["status"],
        )
        assert "hush" not in json.dumps([added.document, listed, again.document])
        assert 409 == again.status
        assert ["far"] == [each["name"] for each in failed]
        assert {"healthy": 1, "unhealthy": 1} == {
            name: health[name] for name in ("healthy", "unhealthy")
        }
        local, far = health["stores"]
        assert 0 < local["last_success_ts"] <= far["last_call_ts"] <= health["ts"]
        assert 0 == far["last_success_ts"]
        gone = [delete(house, f"/stores/{name}") for name in ("far", "far", "local")]
        assert [200, 404, 400] == gone

    @pytest.mark.parametrize(
        ("given", "reason"),
        [
            ({"name": "", "type": "cortex", "url": "http://x"}, "name is required"),
            ({"name": "x", "type": "cortex", "url": "  "}, "url is required"),
            ({"name": "x", "type": "nope", "url": "http://x"}, "seren_memory"),
            ({"name": "x", "type": "cortex", "url": "gopher://x"}, "http"),
            ({"name": "x", "type": "cortex", "url": "http://169.254.169.254"}, "169.254.169.254"),
        ],
    )
    def test_refused(self, house: House, given: object, reason: str) -> None:
        """What is no store is refused, and why."""
        heard = ask(house, "/stores", given)

        assert 400 == heard.status
        assert reason in heard.document["detail"]

    @pytest.mark.parametrize(
        ("spelt", "given"),
        [("token", "hush"), ("bearer_token", "hush"), ("bearer_token_env", "HOME")],
    )
    def test_token(self, house: House, spelt: str, given: str) -> None:
        """A token's key may be spelt in either way, and a store may be added to rest."""
        store = {"name": "far", "type": "cortex", "url": "http://127.0.0.1:1", "enabled": False}
        added = ask(house, "/stores", {**store, spelt: given})
        (row,) = [e for e in ask(house, "/stores").document["stores"] if e["name"] == "far"]
        delete(house, "/stores/far")

        assert (200, 1) == (added.status, added.document["active"])
        assert (True, False) == (row["auth"], row["enabled"])

    def test_no_echo(self, house: House) -> None:
        """A body that cannot be read is not repeated: it may hold a token."""
        heard = ask(house, "/stores", {"token": "hush-hush", "weight": "heavy"})

        assert 422 == heard.status
        assert "hush-hush" not in json.dumps(heard.document)


class TestConfigure:
    @pytest.mark.parametrize(
        ("changes", "status"),
        [
            ({"k": -1}, 422),
            ({"fusion_mode": "x"}, 422),
            ({"nonsense": 1}, 422),
            ({"k": 60.5}, 422),
            ({"stores": [{"name": "local", "floor": 0.1}]}, 422),
            ({"k": 7, "stores": [{"name": "nobody", "weight": 2}]}, 404),
        ],
    )
    def test_refused(self, house: House, changes: object, status: int) -> None:
        """What cannot be turned is refused, and then nothing has been."""
        before = ask(house, "/stores").document["k"]

        assert status == ask(house, "/configure", changes).status
        assert before == ask(house, "/stores").document["k"]

    def test_turned(self, house: House) -> None:
        """What was supplied is what changed, from the next question on."""
        turned = ask(house, "/configure", {"k": 7, "stores": [{"weight": 2}], "hops": None})
        knobs = ask(house, "/knobs").document["federation"]
        now: dict[str, Any] = {each["key"]: each["live"] for each in knobs}
        back = ask(house, "/configure", {"k": 60})

        assert {"k": 7} == {k: v for k, v in turned.document["changed"].items() if k != "stores"}
        assert 7 == now["k"]
        assert 200 == back.status
        assert {} == ask(house, "/configure", {}).document["changed"]

    def test_satellites(self, house: House) -> None:
        """What a Callosum switches is a budget of none, and back; numbers may be texts."""
        off = ask(house, "/configure", {"satellite_edges_enabled": False, "hops": "2"})
        now = ask(house, "/stores").document
        on = ask(house, "/configure", {"satellite_edges_enabled": True, "hops": 1})
        again = ask(house, "/configure", {"satellite_edges_enabled": True})
        switch = ask(house, "/knobs").document["federation"][-1]

        assert off.document["changed"] == {
            "satellite_edges_enabled": False,
            "satellite_budget": 0,
            "hops": 2,
        }
        assert (0, 2, False) == (
            now["satellite_budget"],
            now["hops"],
            now["satellite_edges_enabled"],
        )
        assert "satellite_edges_enabled" in now["supported_knobs"]
        assert 3 == on.document["changed"]["satellite_budget"]
        assert {"satellite_edges_enabled": True} == again.document["changed"]
        assert ("satellite_edges_enabled", True, False) == (
            switch["key"],
            switch["live"],
            switch["twiddled"],
        )

    @pytest.mark.parametrize("path", ["/stores", "/health/stores", "/knobs"])
    def test_owners(self, house: House, agent: str, path: str) -> None:
        """Stores and knobs are the owner's."""
        assert 403 == ask(house, path, token=agent).status

    def test_not_for_agents(self, house: House, agent: str) -> None:
        """An agent turns nothing and adds nothing."""
        given = {"name": "x", "type": "cortex", "url": "http://127.0.0.1:1"}

        assert 403 == ask(house, "/configure", {"k": 5}, token=agent).status
        assert 403 == ask(house, "/stores", given, token=agent).status


class TestAbout:
    def test_root(self, house: House) -> None:
        """Everybody may know who answers, and which stores are asked."""
        said = knock(f"{house.door.url}/").document

        assert ("CortexActors", ["local"], []) == (
            said["service"],
            said["stores"],
            said["skipped"],
        )

    def test_socket(self, house: House) -> None:
        """The owner's token is the owner's on the control socket; `status` has the door."""
        client = Client(house.door.commands.home, token=house.door.token)

        assert {"state": "open", "address": house.door.url} == client.call("status")["http"]
