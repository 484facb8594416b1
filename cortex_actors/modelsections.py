"""The sections of the settings that say which models there are, and how they are asked.

docs/configuration.md is made from these comments; a test holds it to this module.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, SecretStr

from cortex_actors.sections import Section


class EmbeddingSettings(Section):
    """How texts become vectors."""

    #: Where vectors come from in a home that has none yet: a model on this machine, any endpoint
    #: that speaks OpenAI's protocol, or `hashing`, which needs no model and is for tests. A home
    #: that has vectors goes on with their model (`cortex embeddings migrate`).
    provider: Literal["sentence-transformers", "openai", "hashing"] = "sentence-transformers"
    #: A model's name, or the path of a folder that holds one; chosen when `provider` is.
    model: str = "all-MiniLM-L6-v2"
    #: Compile a sentence-transformers model once, in the background, and embed with that.
    compile: bool = True
    #: Threads that embed with a compiled model; 0: as many as there are cores.
    threads: int = Field(0, ge=0, le=256)
    #: Tokens of the texts that a compiled model is given at once.
    batch_tokens: int = Field(256, ge=16, le=65_536)
    #: openai: where the endpoint is, such as `http://localhost:11434/v1`; empty: OpenAI's own.
    base_url: str = Field("", pattern=r"^(https?://\S+)?$")
    #: openai: the endpoint's key; better kept in the variable CORTEX_EMBEDDING__API_KEY.
    api_key: SecretStr = SecretStr("")
    #: openai: whether the operating system's certificates count; `tls.trust_system_store` has it so
    #: for every connection.
    trust_system_store: bool = False
    #: openai: tokens of a text that the endpoint's model reads; 0: 512.
    max_tokens: int = Field(0, ge=0)
    #: openai: numbers in a vector that are expected; 0: the endpoint is asked.
    dimension: int = Field(0, ge=0)
    #: openai: times that a request is tried again, with a growing pause.
    retries: int = Field(3, ge=0, le=10)
    #: openai: failures in a row after which the endpoint is left alone for a while.
    breaker_failures: int = Field(5, ge=1)
    #: openai: seconds for which it is left alone then.
    breaker_pause_s: float = Field(30, gt=0, le=3_600)
    #: Texts gathered into one batch before it is embedded (Cerno: 20).
    batch_items: int = Field(20, ge=1)
    #: Milliseconds a text waits for others to join its batch (Cerno: 500).
    batch_ms: int = Field(500, ge=0)
    #: Vectors kept in memory, least recently used out first (Cerno: 10,000).
    cache_entries: int = Field(10_000, ge=1)
    #: Texts that may wait; more are refused, so that a flood slows its sender.
    queue_limit: int = Field(10_000, ge=1)
    #: Seconds one batch may take, at most 300: the watchdog crashes a pool that sits for 600.
    request_timeout_s: float = Field(60.0, gt=0, le=300)


class JudgingSettings(Section):
    """Who is asked about two statements where the rules leave it open, and who writes summaries.

    Without a `cross_encoder` and a `model`, the rules alone decide.
    """

    #: A CrossEncoder of sentence-transformers that tells contradiction, entailment and neutral: the
    #: path of a folder, or a name in this machine's Hugging Face cache; empty: none.
    cross_encoder: str = ""
    #: What its outputs are, in order, where its own configuration does not name them.
    cross_encoder_labels: tuple[Literal["contradiction", "entailment", "neutral"], ...] = ()
    #: Least probability with which it decides, above a half; below, the next one is asked.
    cross_encoder_sure: float = Field(0.8, gt=0.5, le=1)
    #: Seconds after its last question for which it stays in memory.
    cross_encoder_idle_s: float = Field(300, gt=0)
    #: A language model as the endpoint calls it, such as `llama3.1:8b`; empty: none.
    model: str = ""
    #: Where the endpoint is, such as `http://localhost:11434/v1`; empty: OpenAI's own.
    base_url: str = Field("", pattern=r"^(https?://\S+)?$")
    #: The endpoint's key; better kept in the variable CORTEX_JUDGING__API_KEY.
    api_key: SecretStr = SecretStr("")
    #: Whether the operating system's certificates count; `tls.trust_system_store` has it so for
    #: every connection.
    trust_system_store: bool = False
    #: Questions to the language model in one run, at most; answers that are known cost nothing.
    budget: int = Field(50, ge=0)
    #: Questions that are with the language model at once.
    at_once: int = Field(2, ge=1, le=16)
    #: Bytes of what one question quotes, at most; longer ones are not asked.
    longest: int = Field(16_384, ge=256, le=1_048_576)
    #: Tokens an answer may have, at most; a model that thinks aloud needs more.
    answer_tokens: int = Field(1_024, ge=64)
    #: Seconds a run waits for answers, at most 100; what comes later is kept for the next time.
    patience_s: float = Field(60, gt=0, le=100)
    #: Seconds one request may take.
    request_timeout_s: float = Field(60, gt=0, le=300)
    #: Times that a request is tried again, with a growing pause.
    retries: int = Field(2, ge=0, le=10)
    #: Failures in a row after which a model is left alone for a while.
    breaker_failures: int = Field(3, ge=1)
    #: Seconds for which it is left alone then.
    breaker_pause_s: float = Field(60, gt=0, le=3_600)
