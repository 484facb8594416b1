"""Bodies: what requests may hold, checked where they come in.

The fields, defaults and bounds are those of the contracts that are served; what else a client sends
is passed over, as the originals do, so that a newer one can ask an older one.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, FailFast, Field


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
    """`POST /stores` of Callosum; where its token lies may be said instead of the token."""

    name: Text
    type: Text
    url: Text
    weight: float = 1.0
    floor: float = 0.0
    token: Text | None = Field(None, repr=False)
    token_env: Text | None = None
    token_keyring: Text | None = None
    options: dict[str, Any] | None = None


class Changes(Body):
    """`POST /configure` of Callosum: any of the knobs, and what single stores count."""

    model_config = ConfigDict(extra="allow", allow_inf_nan=False)

    stores: list[dict[str, Any]] | None = None
