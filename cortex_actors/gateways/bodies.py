"""Bodies: what requests may hold, checked where they come in.

The fields, defaults and bounds are those of the contracts that are served; what else a client sends
is passed over, as the originals do, so that a newer one can ask an older one.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, FailFast, Field


def _valid(text: str) -> str:
    """Refuse half a character: it is in no text, and could not be answered either."""
    try:
        text.encode()
    except UnicodeEncodeError:
        message = "it holds half a character, which is no valid text (UTF-8)"
        raise ValueError(message) from None
    return text


#: Text in valid Unicode.
Text = Annotated[str, AfterValidator(_valid)]

#: Several texts. Of those that are none the first is told: a body holds a million, and telling each
#: would take seconds and a hundred megabytes.
Texts = Annotated[list[Text], FailFast()]

#: Ids that may be left out of an answer; more are never known to whoever asks.
_KNOWN = 10_000

#: Hits that SerenMemory gives at most, and for whom names no number.
_CAP, _FEW = 50, 5


class Body(BaseModel):
    """One request's body."""

    model_config = ConfigDict(allow_inf_nan=False)


class Tiers(Body):
    """What of SerenMemory's tiers is searched."""

    n_results: int = Field(_FEW, ge=1, le=_CAP)
    include_short: bool = True
    include_near: bool = True
    include_long: bool = True
    include_superseded: bool = False
    include_satellites: bool = False


class MemorySearch(Tiers):
    """`POST /search` of SerenMemory."""

    query: Text
    with_surroundings: bool = False


class TopicSearch(Tiers):
    """`POST /by_topic` of SerenMemory."""

    topics: Texts
    exclude_ids: Texts = Field([], max_length=_KNOWN)


class FactSearch(Body):
    """`POST /search` of SerenLoci; no number of hits is too many, and none is none."""

    query: Text
    project: Text | None = None
    n_results: int = 10
    include_fundamentals: bool = True
    include_superseded: bool = False


class Recalled(Body):
    """`POST /recall` of another Cortex."""

    query: Text
    limit: int = Field(10, ge=1, le=200)


class FanSearch(Body):
    """`POST /search` of Callosum."""

    query: Text
    n_results: int | None = None
    budget_tokens: int | None = Field(None, ge=1)


class NewStore(Body):
    """`POST /stores` of Callosum; where its token lies may be said instead of the token.

    Its keys may be spelt in either way, as they are in the settings.
    """

    name: Text
    type: Text
    url: Text
    weight: float = 1.0
    floor: float = 0.0
    enabled: bool = True
    token: Text | None = Field(
        None, repr=False, validation_alias=AliasChoices("token", "bearer_token")
    )
    token_env: Text | None = Field(
        None, validation_alias=AliasChoices("token_env", "bearer_token_env")
    )
    token_keyring: Text | None = Field(
        None, validation_alias=AliasChoices("token_keyring", "bearer_token_keyring")
    )
    options: dict[str, Any] | None = None


class Changes(Body):
    """`POST /configure` of Callosum: any of the knobs, and what single stores count.

    Numbers may be written as texts, as there; what else is no knob of ours is for the desk to say.
    """

    model_config = ConfigDict(extra="allow", allow_inf_nan=False)

    k: int | None = None
    n_results: int | None = None
    fetch_multiplier: int | None = None
    per_store_timeout_s: float | None = None
    authority_margin: float | None = None
    min_per_store: int | None = None
    edges_enabled: bool | None = None
    edge_budget: int | None = None
    satellite_edges_enabled: bool | None = None
    satellite_budget: int | None = None
    hops: int | None = None
    hop_terms: int | None = None
    hop_budget: int | None = None
    stores: list[dict[str, Any]] | None = None

    def knobs(self) -> dict[str, Any]:
        """Return what is to be turned, by our names; no satellites are a budget of none."""
        given = {name: value for name, value in self.model_dump().items() if value is not None}
        if given.pop("satellite_edges_enabled", None) is False:
            given["satellite_budget"] = 0
        if "stores" in given:
            given["stores"] = [each for each in given["stores"] if each.get("name")]
        return given
