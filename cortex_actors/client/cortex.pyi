# Made from the registry of operations by `make docs`.
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Self

from cortex_actors.client.host import Embed
from cortex_actors.client.results import (
    Convergence,
    Crumb,
    Detail,
    Duplicate,
    Exported,
    Found,
    Imported,
    Saved,
    Stale,
    Thread,
)
from cortex_actors.home import Home

class Cortex:
    def __enter__(self) -> Self: ...
    def __exit__(self, *_error: object) -> None: ...
    def __init__(
        self,
        home: Home | Path | str | None = None,
        *,
        agent: str | None = None,
        token: str | None = None,
        embedded: Embed = False,
        timeout: float | None = None,
    ) -> None: ...
    def add_project(self, path: str) -> dict[str, Any]: ...
    def add_store(
        self,
        name: str,
        type: str,
        url: str,
        *,
        weight: float | None = 1.0,
        floor: float | None = 0.0,
        token: str | None = None,
        token_env: str | None = None,
        token_keyring: str | None = None,
        options: Mapping[str, Any] | None = None,
        enabled: bool | None = True,
    ) -> dict[str, Any]: ...
    def agent(self, agent: str, *, as_agent: str | None = None) -> dict[str, Any]: ...
    def agent_token(self, agent: str) -> dict[str, Any]: ...
    def agents(
        self,
        limit: int | None = 100,
        skip: int | None = 0,
        *,
        as_agent: str | None = None,
    ) -> dict[str, Any]: ...
    def approve(self, insight: str, note: str | None = None) -> dict[str, Any]: ...
    def archive(
        self,
        ids: Collection[str],
        reason: str | None = None,
        *,
        as_agent: str | None = None,
    ) -> dict[str, Any]: ...
    def backup(self, to: str | None = None) -> dict[str, Any]: ...
    def brief(
        self,
        project: str | None = None,
        *,
        budget_tokens: int | None = None,
        as_agent: str | None = None,
        here: str | None = None,
    ) -> dict[str, Any]: ...
    def calibrate(
        self,
        domain: str | None = None,
        *,
        write: bool | None = False,
    ) -> dict[str, Any]: ...
    def cancel_migration(self) -> dict[str, Any]: ...
    def close(self) -> None: ...
    def configure(self, changes: Mapping[str, Any]) -> dict[str, Any]: ...
    def conflicts(
        self,
        *,
        skip: int | None = 0,
        limit: int | None = 20,
        as_agent: str | None = None,
    ) -> dict[str, Any]: ...
    def consolidate(
        self,
        first: str | None = None,
        second: str | None = None,
        *,
        keep: str | None = None,
        as_agent: str | None = None,
        id1: str | None = None,
        id2: str | None = None,
    ) -> dict[str, Any]: ...
    def contradiction(self, contradiction: str) -> dict[str, Any]: ...
    def contradictions(
        self,
        project: str | None = None,
        limit: int | None = 20,
        *,
        status: str | None = "unresolved",
        kind: str | None = None,
        skip: int | None = 0,
    ) -> dict[str, Any]: ...
    def convergence(
        self,
        query: str,
        min_agents: int | None = 2,
        threshold: float | None = None,
        *,
        as_agent: str | None = None,
        similarity_threshold: float | None = None,
    ) -> Convergence: ...
    def crash(self, name: str) -> dict[str, Any]: ...
    def crumbs(
        self,
        agent: str | None = None,
        hours: float | None = 168,
        priority: str | None = None,
        type: str | None = None,
        limit: int | None = 10,
        *,
        project: str | None = None,
        as_agent: str | None = None,
        here: str | None = None,
        agent_id: str | None = None,
        lookback_hours: float | None = None,
        priority_filter: str | None = None,
        n_results: int | None = None,
    ) -> tuple[Crumb, ...]: ...
    def crystallize(self, id: str, *, as_agent: str | None = None) -> dict[str, Any]: ...
    def decide(self, item: str, verdict: str) -> dict[str, Any]: ...
    def detect_convergence(
        self,
        query: str,
        min_agents: int | None = 2,
        threshold: float | None = None,
        *,
        as_agent: str | None = None,
        similarity_threshold: float | None = None,
    ) -> Convergence: ...
    def disable_store(self, name: str) -> dict[str, Any]: ...
    def discard(self, events: Collection[str]) -> dict[str, Any]: ...
    def dismiss_contradiction(
        self,
        contradiction: str,
        note: str | None = None,
    ) -> dict[str, Any]: ...
    def doctor(
        self,
        repair: bool | None = False,
        thorough: bool | None = False,
    ) -> dict[str, Any]: ...
    def duplicates(
        self,
        threshold: float | None = 0.95,
        limit: int | None = 50,
        *,
        realm: str | None = None,
        as_agent: str | None = None,
        similarity_threshold: float | None = None,
    ) -> tuple[Duplicate, ...]: ...
    def edit(
        self,
        id: str,
        content: str,
        *,
        redact: bool | None = False,
        as_agent: str | None = None,
    ) -> dict[str, Any]: ...
    def enable_store(self, name: str) -> dict[str, Any]: ...
    def event(self, event: str) -> dict[str, Any]: ...
    def event_topics(self) -> dict[str, Any]: ...
    def events(
        self,
        topic: str | None = None,
        waiting: bool | None = False,
        dead: bool | None = False,
        since: int | None = 0,
        limit: int | None = 20,
    ) -> dict[str, Any]: ...
    def export(
        self,
        kind: str | None = "memories",
        *,
        after: str | None = "",
        limit: int | None = 200,
        agent: str | None = None,
        realm: str | None = None,
        as_agent: str | None = None,
    ) -> dict[str, Any]: ...
    def export_to(
        self,
        path: Path | str,
        *,
        agent: str | None = None,
        realm: str | None = None,
    ) -> Exported: ...
    def follow_own(self, on: bool) -> dict[str, Any]: ...
    def forget(self, *ids: str, as_agent: str | None = None) -> dict[str, Any]: ...
    def fragments(
        self,
        project: str | None = None,
        limit: int | None = 20,
        *,
        path: str | None = None,
        skip: int | None = 0,
    ) -> dict[str, Any]: ...
    def get_crumbs(
        self,
        agent: str | None = None,
        hours: float | None = 168,
        priority: str | None = None,
        type: str | None = None,
        limit: int | None = 10,
        *,
        project: str | None = None,
        as_agent: str | None = None,
        here: str | None = None,
        agent_id: str | None = None,
        lookback_hours: float | None = None,
        priority_filter: str | None = None,
        n_results: int | None = None,
    ) -> tuple[Crumb, ...]: ...
    def get_duplicates(
        self,
        threshold: float | None = 0.95,
        limit: int | None = 50,
        *,
        realm: str | None = None,
        as_agent: str | None = None,
        similarity_threshold: float | None = None,
    ) -> tuple[Duplicate, ...]: ...
    def get_stale(
        self,
        days: float | None = 30.0,
        limit: int | None = 20,
        *,
        below: float | None = None,
        realm: str | None = None,
        as_agent: str | None = None,
        days_unused: float | None = None,
    ) -> tuple[Stale, ...]: ...
    def history(self, thing: str) -> dict[str, Any]: ...
    def hook_compact(
        self,
        session_id: str | None = "",
        *,
        summary: str | None = "",
        transcript: str | None = "",
        agent: str | None = None,
        here: str | None = "",
    ) -> dict[str, Any]: ...
    def hook_end(
        self,
        session_id: str | None = "",
        *,
        summary: str | None = "",
        transcript: str | None = "",
        agent: str | None = None,
        here: str | None = "",
    ) -> dict[str, Any]: ...
    def hook_last(
        self,
        limit: int | None = 5,
        *,
        as_agent: str | None = None,
    ) -> dict[str, Any]: ...
    def hook_prompt(
        self,
        prompt: str,
        session_id: str | None = "",
        *,
        agent: str | None = None,
        here: str | None = "",
    ) -> dict[str, Any]: ...
    def hook_start(
        self,
        session_id: str | None = "",
        *,
        source: str | None = "",
        agent: str | None = None,
        here: str | None = "",
    ) -> dict[str, Any]: ...
    def import_from(self, path: Path | str, *, dry_run: bool = False) -> Imported: ...
    def import_memories(
        self,
        path: str,
        *,
        dry_run: bool | None = False,
        skip: int | None = 0,
    ) -> dict[str, Any]: ...
    def ingest(self, path: Path | str, *, topic: str | None = None) -> dict[str, Any]: ...
    def ingest_text(
        self,
        text: str,
        *,
        source: str | None = None,
        topic: str | None = None,
    ) -> dict[str, Any]: ...
    def insight(self, insight: str) -> dict[str, Any]: ...
    def insights(
        self,
        project: str | None = None,
        limit: int | None = 20,
        *,
        status: str | None = "live",
        category: str | None = None,
        domain: str | None = None,
        kind: str | None = None,
        tag: str | None = None,
        least: float | None = None,
        search: str | None = "",
        path: str | None = None,
        sort: str | None = "sure",
        skip: int | None = 0,
    ) -> dict[str, Any]: ...
    def inspect(self, name: str) -> dict[str, Any]: ...
    def introduce(self, agent: str) -> dict[str, Any]: ...
    def judge_answer(
        self,
        id: str,
        verdict: str,
        *,
        reason: str | None = None,
        agent: str | None = None,
    ) -> dict[str, Any]: ...
    def judge_list(self, limit: int | None = 20, *, skip: int | None = 0) -> dict[str, Any]: ...
    def judge_next(
        self,
        limit: int | None = 3,
        *,
        agent: str | None = None,
        here: str | None = None,
    ) -> dict[str, Any]: ...
    def keep_both(
        self,
        left: str,
        right: str,
        *,
        as_agent: str | None = None,
    ) -> dict[str, Any]: ...
    def knobs(self) -> dict[str, Any]: ...
    def knowledge_documents(
        self,
        limit: int | None = 100,
        skip: int | None = 0,
        *,
        topic: str | None = None,
        withdrawn: bool | None = False,
    ) -> dict[str, Any]: ...
    def knowledge_search(
        self,
        query: str,
        limit: int | None = 5,
        *,
        topic: str | None = None,
        source: str | None = None,
        code: bool | None = None,
        language: str | None = None,
        tags: Collection[str] | None = (),
        n_results: int | None = None,
    ) -> Found: ...
    def knowledge_topics(self) -> tuple[dict[str, Any], ...]: ...
    def latest_crumb(
        self,
        agent: str | None = None,
        *,
        project: str | None = None,
        as_agent: str | None = None,
        here: str | None = None,
    ) -> dict[str, Any]: ...
    def leave_crumb(
        self,
        summary: str | None = None,
        discoveries: Collection[str] | None = None,
        *,
        emotional_state: Mapping[str, Any] | None = None,
        unfinished: Collection[str] | None = None,
        links: Mapping[str, Any] | None = None,
        if_disoriented: Collection[str] | None = None,
        priority: str | None = "MEDIUM",
        type: str | None = None,
        session: str | None = None,
        project: str | None = None,
        agent: str | None = None,
        redact: bool | None = False,
        here: str | None = None,
        session_summary: str | None = None,
        key_discoveries: Collection[str] | None = None,
        unfinished_business: Collection[str] | None = None,
        crumb_type: str | None = None,
        session_id: str | None = None,
        references: Mapping[str, Any] | None = None,
        agent_id: str | None = None,
    ) -> Crumb: ...
    def lift(self, source: str) -> dict[str, Any]: ...
    def links(
        self,
        principle: str | None = None,
        limit: int | None = 40,
        *,
        kind: str | None = None,
        least: float | None = None,
        status: str | None = "live",
    ) -> dict[str, Any]: ...
    def memories(
        self,
        *,
        project: str | None = None,
        status: str | None = "active",
        pinned: bool | None = False,
        conflicts: bool | None = False,
        sort: str | None = "newest",
        skip: int | None = 0,
        limit: int | None = 20,
        as_agent: str | None = None,
        layers: Collection[str] | None = (),
        realm: str | None = None,
        agent: str | None = None,
        type: str | None = None,
        tags: Collection[str] | None = (),
        thread: str | None = None,
        since: int | str | None = None,
        until: int | str | None = None,
        min_attention: float | None = None,
    ) -> dict[str, Any]: ...
    def memory(self, id: str, *, as_agent: str | None = None) -> Detail: ...
    def memory_changes(
        self,
        *,
        memory: str | None = None,
        kind: str | None = None,
        skip: int | None = 0,
        limit: int | None = 50,
        as_agent: str | None = None,
    ) -> dict[str, Any]: ...
    def memory_decay(self, *, dry_run: bool | None = False) -> dict[str, Any]: ...
    def memory_health(
        self,
        *,
        duplicates: bool | None = False,
        as_agent: str | None = None,
    ) -> dict[str, Any]: ...
    def memory_promotions(self, *, dry_run: bool | None = False) -> dict[str, Any]: ...
    def migrate(self, to: str, provider: str | None = None) -> dict[str, Any]: ...
    def migration(self) -> dict[str, Any]: ...
    def model(self) -> dict[str, Any]: ...
    def organise(self) -> dict[str, Any]: ...
    def outside_counts(self) -> dict[str, Any]: ...
    def outside_facts(
        self,
        query: str,
        limit: int | None = 10,
        *,
        project: str | None = None,
        fundamentals: bool | None = True,
    ) -> dict[str, Any]: ...
    def outside_memories(
        self,
        query: str,
        limit: int | None = 5,
        *,
        layers: Collection[str] | None = (),
        surroundings: bool | None = False,
    ) -> dict[str, Any]: ...
    def outside_recall(self, query: str, limit: int | None = 10) -> dict[str, Any]: ...
    def outside_topics(
        self,
        topics: Collection[str],
        limit: int | None = 5,
        *,
        layers: Collection[str] | None = (),
        exclude_ids: Collection[str] | None = (),
    ) -> dict[str, Any]: ...
    def own_files(self) -> dict[str, Any]: ...
    def pace(self) -> dict[str, Any]: ...
    def pin(self, id: str, *, as_agent: str | None = None) -> dict[str, Any]: ...
    def ping_store(self, name: str | None = None) -> dict[str, Any]: ...
    def post(
        self,
        content: str,
        realm: str | None = "village",
        *,
        agent: str | None = None,
        type: str | None = "dialogue",
        responding_to: Collection[str] | None = None,
        thread: str | None = None,
        related_agents: Collection[str] | None = None,
        tags: Collection[str] | None = None,
        project: str | None = None,
        redact: bool | None = False,
        here: str | None = None,
        visibility: str | None = None,
        agent_id: str | None = None,
        message_type: str | None = None,
        conversation_thread: str | None = None,
    ) -> Saved: ...
    def prepare_model(self) -> dict[str, Any]: ...
    def principle(self, principle: str) -> dict[str, Any]: ...
    def principles(
        self,
        project: str | None = None,
        limit: int | None = 20,
        *,
        status: str | None = "live",
        category: str | None = None,
        domain: str | None = None,
        tag: str | None = None,
        least: float | None = None,
        search: str | None = "",
        sort: str | None = "rank",
        skip: int | None = 0,
    ) -> dict[str, Any]: ...
    def project_files(self, project: str) -> dict[str, Any]: ...
    def projects(self) -> dict[str, Any]: ...
    def promote(
        self,
        id: str,
        to: str | None = None,
        *,
        as_agent: str | None = None,
    ) -> dict[str, Any]: ...
    def promotions(
        self,
        project: str | None = None,
        limit: int | None = 20,
        *,
        reason: str | None = None,
    ) -> dict[str, Any]: ...
    def publish(
        self,
        topic: str,
        payload: Mapping[str, Any],
        *,
        source: str | None = "client",
        transient: bool | None = False,
        idempotency_key: str | None = None,
    ) -> dict[str, Any]: ...
    def recall(
        self,
        query: str,
        limit: int | None = None,
        project: str | None = None,
        *,
        stores: Collection[str] | None = (),
        budget_tokens: int | None = None,
        hops: int | None = None,
        sure: bool | None = False,
        explain: bool | None = False,
        as_of: int | str | None = None,
        as_agent: str | None = None,
        track: bool | None = True,
        here: str | None = None,
        layers: Collection[str] | None = (),
        realm: str | None = None,
        agent: str | None = None,
        type: str | None = None,
        tags: Collection[str] | None = (),
        thread: str | None = None,
        since: int | str | None = None,
        until: int | str | None = None,
        min_attention: float | None = None,
        visibility: str | None = None,
        agent_filter: str | None = None,
        conversation_thread: str | None = None,
        n_results: int | None = None,
    ) -> Found: ...
    def reconcile(self, full: bool | None = False) -> dict[str, Any]: ...
    def reject(self, insight: str, note: str | None = None) -> dict[str, Any]: ...
    def reload(self) -> dict[str, Any]: ...
    def remember(
        self,
        content: str,
        layer: str | None = None,
        realm: str | None = None,
        *,
        project: str | None = None,
        agent: str | None = None,
        tags: Collection[str] | None = None,
        type: str | None = "observation",
        role: str | None = "",
        thread: str | None = "",
        related_agents: Collection[str] | None = None,
        responding_to: Collection[str] | None = None,
        abstract: str | None = None,
        said_from: int | str | None = None,
        said_until: int | str | None = None,
        supersedes: Collection[str] | None = None,
        prefer: str | None = None,
        redact: bool | None = False,
        merge: bool | None = True,
        idempotency_key: str | None = None,
        here: str | None = None,
        visibility: str | None = None,
        agent_id: str | None = None,
        message_type: str | None = None,
        conversation_thread: str | None = None,
    ) -> Saved: ...
    def remove_knowledge(
        self,
        *,
        topic: str | None = None,
        source: str | None = None,
    ) -> dict[str, Any]: ...
    def remove_project(self, path: str) -> dict[str, Any]: ...
    def remove_store(self, name: str) -> dict[str, Any]: ...
    def replay(self, events: Collection[str]) -> dict[str, Any]: ...
    def rescan(self, folder: str) -> dict[str, Any]: ...
    def resolve(
        self,
        path: str | None = None,
        agent: str | None = None,
        *,
        dry_run: bool | None = False,
        everything: bool | None = False,
        create: bool | None = False,
        adopt: bool | None = False,
        edited: str | None = None,
        metadata: bool | None = False,
        text_only: bool | None = False,
        approve: Collection[str] | None = (),
    ) -> dict[str, Any]: ...
    def resolve_contradiction(
        self,
        contradiction: str,
        keep: str,
        note: str | None = None,
    ) -> dict[str, Any]: ...
    def resolve_preview(
        self,
        path: str | None = None,
        agent: str | None = None,
        *,
        text_only: bool | None = False,
        here: str | None = None,
    ) -> dict[str, Any]: ...
    def restore(self, ids: Collection[str], *, as_agent: str | None = None) -> dict[str, Any]: ...
    def restore_knowledge(
        self,
        *,
        topic: str | None = None,
        source: str | None = None,
    ) -> dict[str, Any]: ...
    def review(self, insight: str) -> dict[str, Any]: ...
    def reviews(
        self,
        project: str | None = None,
        limit: int | None = 20,
        *,
        status: str | None = "waiting",
        skip: int | None = 0,
    ) -> dict[str, Any]: ...
    def revoke(
        self,
        source: str,
        note: str | None = None,
        *,
        same: bool | None = False,
        dry_run: bool | None = False,
    ) -> dict[str, Any]: ...
    def revoke_token(self, agent: str) -> dict[str, Any]: ...
    def revoked(self) -> dict[str, Any]: ...
    def round_trip(self) -> dict[str, Any]: ...
    def run_job(self, job: str) -> dict[str, Any]: ...
    def runs(
        self,
        kind: str | None = None,
        project: str | None = None,
        failed: bool | None = False,
        limit: int | None = 20,
    ) -> dict[str, Any]: ...
    def save(self, id: str, *, as_agent: str | None = None) -> dict[str, Any]: ...
    def scan(self, path: str | None = None) -> dict[str, Any]: ...
    def schedule(self) -> dict[str, Any]: ...
    def search(
        self,
        query: str,
        limit: int | None = 10,
        *,
        project: str | None = None,
        sure: bool | None = False,
        explain: bool | None = False,
        as_of: int | str | None = None,
        original_only: bool | None = False,
        as_agent: str | None = None,
        track: bool | None = True,
        here: str | None = None,
        layers: Collection[str] | None = (),
        realm: str | None = None,
        agent: str | None = None,
        type: str | None = None,
        tags: Collection[str] | None = (),
        thread: str | None = None,
        since: int | str | None = None,
        until: int | str | None = None,
        min_attention: float | None = None,
        visibility: str | None = None,
        agent_filter: str | None = None,
        conversation_thread: str | None = None,
        n_results: int | None = None,
    ) -> Found: ...
    def seed_agents(self) -> dict[str, Any]: ...
    def set_auto(self, project: str, on: bool) -> dict[str, Any]: ...
    def split(self, id: str, *, as_agent: str | None = None) -> dict[str, Any]: ...
    def stale(
        self,
        days: float | None = 30.0,
        limit: int | None = 20,
        *,
        below: float | None = None,
        realm: str | None = None,
        as_agent: str | None = None,
        days_unused: float | None = None,
    ) -> tuple[Stale, ...]: ...
    def status(self) -> dict[str, Any]: ...
    def store_health(self) -> dict[str, Any]: ...
    def stores(self) -> dict[str, Any]: ...
    def summon(
        self,
        agent_id: str,
        display_name: str | None = None,
        *,
        generation: int | None = None,
        lineage: str | None = None,
        specialization: str | None = None,
        origin_story: str | None = None,
        color: str | None = None,
        symbol: str | None = None,
    ) -> dict[str, Any]: ...
    def supersede(
        self,
        old: str,
        new: str,
        reason: str | None = None,
        *,
        as_agent: str | None = None,
    ) -> dict[str, Any]: ...
    def thread(
        self,
        id: str,
        limit: int | None = 200,
        *,
        as_agent: str | None = None,
    ) -> Thread: ...
    def threads(
        self,
        limit: int | None = 50,
        skip: int | None = 0,
        *,
        as_agent: str | None = None,
    ) -> dict[str, Any]: ...
    def topics(self) -> tuple[dict[str, Any], ...]: ...
    def tree(self) -> dict[str, Any]: ...
    def triage(
        self,
        project: str | None = None,
        limit: int | None = 50,
        *,
        kind: str | None = None,
    ) -> dict[str, Any]: ...
    def tune_store(
        self,
        name: str,
        weight: float | None = None,
        floor: float | None = None,
    ) -> dict[str, Any]: ...
    def undo(self, change: int, *, as_agent: str | None = None) -> dict[str, Any]: ...
    def undo_resolution(self, path: str) -> dict[str, Any]: ...
    def unfinished(
        self,
        agent: str | None = None,
        hours: float | None = 168,
        limit: int | None = 50,
        *,
        project: str | None = None,
        as_agent: str | None = None,
        here: str | None = None,
        lookback_hours: float | None = None,
    ) -> dict[str, Any]: ...
    def unpin(self, id: str, *, as_agent: str | None = None) -> dict[str, Any]: ...
    def village_stats(self, *, as_agent: str | None = None) -> dict[str, Any]: ...
    def what_if(self, insight: str) -> dict[str, Any]: ...
    @property
    def home(self) -> Home: ...

class AsyncCortex:
    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *_error: object) -> None: ...
    def __init__(
        self,
        home: Home | Path | str | None = None,
        *,
        agent: str | None = None,
        token: str | None = None,
        embedded: Embed = False,
        timeout: float | None = None,
    ) -> None: ...
    async def add_project(self, path: str) -> dict[str, Any]: ...
    async def add_store(
        self,
        name: str,
        type: str,
        url: str,
        *,
        weight: float | None = 1.0,
        floor: float | None = 0.0,
        token: str | None = None,
        token_env: str | None = None,
        token_keyring: str | None = None,
        options: Mapping[str, Any] | None = None,
        enabled: bool | None = True,
    ) -> dict[str, Any]: ...
    async def agent(self, agent: str, *, as_agent: str | None = None) -> dict[str, Any]: ...
    async def agent_token(self, agent: str) -> dict[str, Any]: ...
    async def agents(
        self,
        limit: int | None = 100,
        skip: int | None = 0,
        *,
        as_agent: str | None = None,
    ) -> dict[str, Any]: ...
    async def approve(self, insight: str, note: str | None = None) -> dict[str, Any]: ...
    async def archive(
        self,
        ids: Collection[str],
        reason: str | None = None,
        *,
        as_agent: str | None = None,
    ) -> dict[str, Any]: ...
    async def backup(self, to: str | None = None) -> dict[str, Any]: ...
    async def brief(
        self,
        project: str | None = None,
        *,
        budget_tokens: int | None = None,
        as_agent: str | None = None,
        here: str | None = None,
    ) -> dict[str, Any]: ...
    async def calibrate(
        self,
        domain: str | None = None,
        *,
        write: bool | None = False,
    ) -> dict[str, Any]: ...
    async def cancel_migration(self) -> dict[str, Any]: ...
    async def close(self) -> None: ...
    async def configure(self, changes: Mapping[str, Any]) -> dict[str, Any]: ...
    async def conflicts(
        self,
        *,
        skip: int | None = 0,
        limit: int | None = 20,
        as_agent: str | None = None,
    ) -> dict[str, Any]: ...
    async def consolidate(
        self,
        first: str | None = None,
        second: str | None = None,
        *,
        keep: str | None = None,
        as_agent: str | None = None,
        id1: str | None = None,
        id2: str | None = None,
    ) -> dict[str, Any]: ...
    async def contradiction(self, contradiction: str) -> dict[str, Any]: ...
    async def contradictions(
        self,
        project: str | None = None,
        limit: int | None = 20,
        *,
        status: str | None = "unresolved",
        kind: str | None = None,
        skip: int | None = 0,
    ) -> dict[str, Any]: ...
    async def convergence(
        self,
        query: str,
        min_agents: int | None = 2,
        threshold: float | None = None,
        *,
        as_agent: str | None = None,
        similarity_threshold: float | None = None,
    ) -> Convergence: ...
    async def crash(self, name: str) -> dict[str, Any]: ...
    async def crumbs(
        self,
        agent: str | None = None,
        hours: float | None = 168,
        priority: str | None = None,
        type: str | None = None,
        limit: int | None = 10,
        *,
        project: str | None = None,
        as_agent: str | None = None,
        here: str | None = None,
        agent_id: str | None = None,
        lookback_hours: float | None = None,
        priority_filter: str | None = None,
        n_results: int | None = None,
    ) -> tuple[Crumb, ...]: ...
    async def crystallize(self, id: str, *, as_agent: str | None = None) -> dict[str, Any]: ...
    async def decide(self, item: str, verdict: str) -> dict[str, Any]: ...
    async def detect_convergence(
        self,
        query: str,
        min_agents: int | None = 2,
        threshold: float | None = None,
        *,
        as_agent: str | None = None,
        similarity_threshold: float | None = None,
    ) -> Convergence: ...
    async def disable_store(self, name: str) -> dict[str, Any]: ...
    async def discard(self, events: Collection[str]) -> dict[str, Any]: ...
    async def dismiss_contradiction(
        self,
        contradiction: str,
        note: str | None = None,
    ) -> dict[str, Any]: ...
    async def doctor(
        self,
        repair: bool | None = False,
        thorough: bool | None = False,
    ) -> dict[str, Any]: ...
    async def duplicates(
        self,
        threshold: float | None = 0.95,
        limit: int | None = 50,
        *,
        realm: str | None = None,
        as_agent: str | None = None,
        similarity_threshold: float | None = None,
    ) -> tuple[Duplicate, ...]: ...
    async def edit(
        self,
        id: str,
        content: str,
        *,
        redact: bool | None = False,
        as_agent: str | None = None,
    ) -> dict[str, Any]: ...
    async def enable_store(self, name: str) -> dict[str, Any]: ...
    async def event(self, event: str) -> dict[str, Any]: ...
    async def event_topics(self) -> dict[str, Any]: ...
    async def events(
        self,
        topic: str | None = None,
        waiting: bool | None = False,
        dead: bool | None = False,
        since: int | None = 0,
        limit: int | None = 20,
    ) -> dict[str, Any]: ...
    async def export(
        self,
        kind: str | None = "memories",
        *,
        after: str | None = "",
        limit: int | None = 200,
        agent: str | None = None,
        realm: str | None = None,
        as_agent: str | None = None,
    ) -> dict[str, Any]: ...
    async def export_to(
        self,
        path: Path | str,
        *,
        agent: str | None = None,
        realm: str | None = None,
    ) -> Exported: ...
    async def follow_own(self, on: bool) -> dict[str, Any]: ...
    async def forget(self, *ids: str, as_agent: str | None = None) -> dict[str, Any]: ...
    async def fragments(
        self,
        project: str | None = None,
        limit: int | None = 20,
        *,
        path: str | None = None,
        skip: int | None = 0,
    ) -> dict[str, Any]: ...
    async def get_crumbs(
        self,
        agent: str | None = None,
        hours: float | None = 168,
        priority: str | None = None,
        type: str | None = None,
        limit: int | None = 10,
        *,
        project: str | None = None,
        as_agent: str | None = None,
        here: str | None = None,
        agent_id: str | None = None,
        lookback_hours: float | None = None,
        priority_filter: str | None = None,
        n_results: int | None = None,
    ) -> tuple[Crumb, ...]: ...
    async def get_duplicates(
        self,
        threshold: float | None = 0.95,
        limit: int | None = 50,
        *,
        realm: str | None = None,
        as_agent: str | None = None,
        similarity_threshold: float | None = None,
    ) -> tuple[Duplicate, ...]: ...
    async def get_stale(
        self,
        days: float | None = 30.0,
        limit: int | None = 20,
        *,
        below: float | None = None,
        realm: str | None = None,
        as_agent: str | None = None,
        days_unused: float | None = None,
    ) -> tuple[Stale, ...]: ...
    async def history(self, thing: str) -> dict[str, Any]: ...
    async def hook_compact(
        self,
        session_id: str | None = "",
        *,
        summary: str | None = "",
        transcript: str | None = "",
        agent: str | None = None,
        here: str | None = "",
    ) -> dict[str, Any]: ...
    async def hook_end(
        self,
        session_id: str | None = "",
        *,
        summary: str | None = "",
        transcript: str | None = "",
        agent: str | None = None,
        here: str | None = "",
    ) -> dict[str, Any]: ...
    async def hook_last(
        self,
        limit: int | None = 5,
        *,
        as_agent: str | None = None,
    ) -> dict[str, Any]: ...
    async def hook_prompt(
        self,
        prompt: str,
        session_id: str | None = "",
        *,
        agent: str | None = None,
        here: str | None = "",
    ) -> dict[str, Any]: ...
    async def hook_start(
        self,
        session_id: str | None = "",
        *,
        source: str | None = "",
        agent: str | None = None,
        here: str | None = "",
    ) -> dict[str, Any]: ...
    async def import_from(self, path: Path | str, *, dry_run: bool = False) -> Imported: ...
    async def import_memories(
        self,
        path: str,
        *,
        dry_run: bool | None = False,
        skip: int | None = 0,
    ) -> dict[str, Any]: ...
    async def ingest(self, path: Path | str, *, topic: str | None = None) -> dict[str, Any]: ...
    async def ingest_text(
        self,
        text: str,
        *,
        source: str | None = None,
        topic: str | None = None,
    ) -> dict[str, Any]: ...
    async def insight(self, insight: str) -> dict[str, Any]: ...
    async def insights(
        self,
        project: str | None = None,
        limit: int | None = 20,
        *,
        status: str | None = "live",
        category: str | None = None,
        domain: str | None = None,
        kind: str | None = None,
        tag: str | None = None,
        least: float | None = None,
        search: str | None = "",
        path: str | None = None,
        sort: str | None = "sure",
        skip: int | None = 0,
    ) -> dict[str, Any]: ...
    async def inspect(self, name: str) -> dict[str, Any]: ...
    async def introduce(self, agent: str) -> dict[str, Any]: ...
    async def judge_answer(
        self,
        id: str,
        verdict: str,
        *,
        reason: str | None = None,
        agent: str | None = None,
    ) -> dict[str, Any]: ...
    async def judge_list(
        self,
        limit: int | None = 20,
        *,
        skip: int | None = 0,
    ) -> dict[str, Any]: ...
    async def judge_next(
        self,
        limit: int | None = 3,
        *,
        agent: str | None = None,
        here: str | None = None,
    ) -> dict[str, Any]: ...
    async def keep_both(
        self,
        left: str,
        right: str,
        *,
        as_agent: str | None = None,
    ) -> dict[str, Any]: ...
    async def knobs(self) -> dict[str, Any]: ...
    async def knowledge_documents(
        self,
        limit: int | None = 100,
        skip: int | None = 0,
        *,
        topic: str | None = None,
        withdrawn: bool | None = False,
    ) -> dict[str, Any]: ...
    async def knowledge_search(
        self,
        query: str,
        limit: int | None = 5,
        *,
        topic: str | None = None,
        source: str | None = None,
        code: bool | None = None,
        language: str | None = None,
        tags: Collection[str] | None = (),
        n_results: int | None = None,
    ) -> Found: ...
    async def knowledge_topics(self) -> tuple[dict[str, Any], ...]: ...
    async def latest_crumb(
        self,
        agent: str | None = None,
        *,
        project: str | None = None,
        as_agent: str | None = None,
        here: str | None = None,
    ) -> dict[str, Any]: ...
    async def leave_crumb(
        self,
        summary: str | None = None,
        discoveries: Collection[str] | None = None,
        *,
        emotional_state: Mapping[str, Any] | None = None,
        unfinished: Collection[str] | None = None,
        links: Mapping[str, Any] | None = None,
        if_disoriented: Collection[str] | None = None,
        priority: str | None = "MEDIUM",
        type: str | None = None,
        session: str | None = None,
        project: str | None = None,
        agent: str | None = None,
        redact: bool | None = False,
        here: str | None = None,
        session_summary: str | None = None,
        key_discoveries: Collection[str] | None = None,
        unfinished_business: Collection[str] | None = None,
        crumb_type: str | None = None,
        session_id: str | None = None,
        references: Mapping[str, Any] | None = None,
        agent_id: str | None = None,
    ) -> Crumb: ...
    async def lift(self, source: str) -> dict[str, Any]: ...
    async def links(
        self,
        principle: str | None = None,
        limit: int | None = 40,
        *,
        kind: str | None = None,
        least: float | None = None,
        status: str | None = "live",
    ) -> dict[str, Any]: ...
    async def memories(
        self,
        *,
        project: str | None = None,
        status: str | None = "active",
        pinned: bool | None = False,
        conflicts: bool | None = False,
        sort: str | None = "newest",
        skip: int | None = 0,
        limit: int | None = 20,
        as_agent: str | None = None,
        layers: Collection[str] | None = (),
        realm: str | None = None,
        agent: str | None = None,
        type: str | None = None,
        tags: Collection[str] | None = (),
        thread: str | None = None,
        since: int | str | None = None,
        until: int | str | None = None,
        min_attention: float | None = None,
    ) -> dict[str, Any]: ...
    async def memory(self, id: str, *, as_agent: str | None = None) -> Detail: ...
    async def memory_changes(
        self,
        *,
        memory: str | None = None,
        kind: str | None = None,
        skip: int | None = 0,
        limit: int | None = 50,
        as_agent: str | None = None,
    ) -> dict[str, Any]: ...
    async def memory_decay(self, *, dry_run: bool | None = False) -> dict[str, Any]: ...
    async def memory_health(
        self,
        *,
        duplicates: bool | None = False,
        as_agent: str | None = None,
    ) -> dict[str, Any]: ...
    async def memory_promotions(self, *, dry_run: bool | None = False) -> dict[str, Any]: ...
    async def migrate(self, to: str, provider: str | None = None) -> dict[str, Any]: ...
    async def migration(self) -> dict[str, Any]: ...
    async def model(self) -> dict[str, Any]: ...
    async def organise(self) -> dict[str, Any]: ...
    async def outside_counts(self) -> dict[str, Any]: ...
    async def outside_facts(
        self,
        query: str,
        limit: int | None = 10,
        *,
        project: str | None = None,
        fundamentals: bool | None = True,
    ) -> dict[str, Any]: ...
    async def outside_memories(
        self,
        query: str,
        limit: int | None = 5,
        *,
        layers: Collection[str] | None = (),
        surroundings: bool | None = False,
    ) -> dict[str, Any]: ...
    async def outside_recall(self, query: str, limit: int | None = 10) -> dict[str, Any]: ...
    async def outside_topics(
        self,
        topics: Collection[str],
        limit: int | None = 5,
        *,
        layers: Collection[str] | None = (),
        exclude_ids: Collection[str] | None = (),
    ) -> dict[str, Any]: ...
    async def own_files(self) -> dict[str, Any]: ...
    async def pace(self) -> dict[str, Any]: ...
    async def pin(self, id: str, *, as_agent: str | None = None) -> dict[str, Any]: ...
    async def ping_store(self, name: str | None = None) -> dict[str, Any]: ...
    async def post(
        self,
        content: str,
        realm: str | None = "village",
        *,
        agent: str | None = None,
        type: str | None = "dialogue",
        responding_to: Collection[str] | None = None,
        thread: str | None = None,
        related_agents: Collection[str] | None = None,
        tags: Collection[str] | None = None,
        project: str | None = None,
        redact: bool | None = False,
        here: str | None = None,
        visibility: str | None = None,
        agent_id: str | None = None,
        message_type: str | None = None,
        conversation_thread: str | None = None,
    ) -> Saved: ...
    async def prepare_model(self) -> dict[str, Any]: ...
    async def principle(self, principle: str) -> dict[str, Any]: ...
    async def principles(
        self,
        project: str | None = None,
        limit: int | None = 20,
        *,
        status: str | None = "live",
        category: str | None = None,
        domain: str | None = None,
        tag: str | None = None,
        least: float | None = None,
        search: str | None = "",
        sort: str | None = "rank",
        skip: int | None = 0,
    ) -> dict[str, Any]: ...
    async def project_files(self, project: str) -> dict[str, Any]: ...
    async def projects(self) -> dict[str, Any]: ...
    async def promote(
        self,
        id: str,
        to: str | None = None,
        *,
        as_agent: str | None = None,
    ) -> dict[str, Any]: ...
    async def promotions(
        self,
        project: str | None = None,
        limit: int | None = 20,
        *,
        reason: str | None = None,
    ) -> dict[str, Any]: ...
    async def publish(
        self,
        topic: str,
        payload: Mapping[str, Any],
        *,
        source: str | None = "client",
        transient: bool | None = False,
        idempotency_key: str | None = None,
    ) -> dict[str, Any]: ...
    async def recall(
        self,
        query: str,
        limit: int | None = None,
        project: str | None = None,
        *,
        stores: Collection[str] | None = (),
        budget_tokens: int | None = None,
        hops: int | None = None,
        sure: bool | None = False,
        explain: bool | None = False,
        as_of: int | str | None = None,
        as_agent: str | None = None,
        track: bool | None = True,
        here: str | None = None,
        layers: Collection[str] | None = (),
        realm: str | None = None,
        agent: str | None = None,
        type: str | None = None,
        tags: Collection[str] | None = (),
        thread: str | None = None,
        since: int | str | None = None,
        until: int | str | None = None,
        min_attention: float | None = None,
        visibility: str | None = None,
        agent_filter: str | None = None,
        conversation_thread: str | None = None,
        n_results: int | None = None,
    ) -> Found: ...
    async def reconcile(self, full: bool | None = False) -> dict[str, Any]: ...
    async def reject(self, insight: str, note: str | None = None) -> dict[str, Any]: ...
    async def reload(self) -> dict[str, Any]: ...
    async def remember(
        self,
        content: str,
        layer: str | None = None,
        realm: str | None = None,
        *,
        project: str | None = None,
        agent: str | None = None,
        tags: Collection[str] | None = None,
        type: str | None = "observation",
        role: str | None = "",
        thread: str | None = "",
        related_agents: Collection[str] | None = None,
        responding_to: Collection[str] | None = None,
        abstract: str | None = None,
        said_from: int | str | None = None,
        said_until: int | str | None = None,
        supersedes: Collection[str] | None = None,
        prefer: str | None = None,
        redact: bool | None = False,
        merge: bool | None = True,
        idempotency_key: str | None = None,
        here: str | None = None,
        visibility: str | None = None,
        agent_id: str | None = None,
        message_type: str | None = None,
        conversation_thread: str | None = None,
    ) -> Saved: ...
    async def remove_knowledge(
        self,
        *,
        topic: str | None = None,
        source: str | None = None,
    ) -> dict[str, Any]: ...
    async def remove_project(self, path: str) -> dict[str, Any]: ...
    async def remove_store(self, name: str) -> dict[str, Any]: ...
    async def replay(self, events: Collection[str]) -> dict[str, Any]: ...
    async def rescan(self, folder: str) -> dict[str, Any]: ...
    async def resolve(
        self,
        path: str | None = None,
        agent: str | None = None,
        *,
        dry_run: bool | None = False,
        everything: bool | None = False,
        create: bool | None = False,
        adopt: bool | None = False,
        edited: str | None = None,
        metadata: bool | None = False,
        text_only: bool | None = False,
        approve: Collection[str] | None = (),
    ) -> dict[str, Any]: ...
    async def resolve_contradiction(
        self,
        contradiction: str,
        keep: str,
        note: str | None = None,
    ) -> dict[str, Any]: ...
    async def resolve_preview(
        self,
        path: str | None = None,
        agent: str | None = None,
        *,
        text_only: bool | None = False,
        here: str | None = None,
    ) -> dict[str, Any]: ...
    async def restore(
        self,
        ids: Collection[str],
        *,
        as_agent: str | None = None,
    ) -> dict[str, Any]: ...
    async def restore_knowledge(
        self,
        *,
        topic: str | None = None,
        source: str | None = None,
    ) -> dict[str, Any]: ...
    async def review(self, insight: str) -> dict[str, Any]: ...
    async def reviews(
        self,
        project: str | None = None,
        limit: int | None = 20,
        *,
        status: str | None = "waiting",
        skip: int | None = 0,
    ) -> dict[str, Any]: ...
    async def revoke(
        self,
        source: str,
        note: str | None = None,
        *,
        same: bool | None = False,
        dry_run: bool | None = False,
    ) -> dict[str, Any]: ...
    async def revoke_token(self, agent: str) -> dict[str, Any]: ...
    async def revoked(self) -> dict[str, Any]: ...
    async def round_trip(self) -> dict[str, Any]: ...
    async def run_job(self, job: str) -> dict[str, Any]: ...
    async def runs(
        self,
        kind: str | None = None,
        project: str | None = None,
        failed: bool | None = False,
        limit: int | None = 20,
    ) -> dict[str, Any]: ...
    async def save(self, id: str, *, as_agent: str | None = None) -> dict[str, Any]: ...
    async def scan(self, path: str | None = None) -> dict[str, Any]: ...
    async def schedule(self) -> dict[str, Any]: ...
    async def search(
        self,
        query: str,
        limit: int | None = 10,
        *,
        project: str | None = None,
        sure: bool | None = False,
        explain: bool | None = False,
        as_of: int | str | None = None,
        original_only: bool | None = False,
        as_agent: str | None = None,
        track: bool | None = True,
        here: str | None = None,
        layers: Collection[str] | None = (),
        realm: str | None = None,
        agent: str | None = None,
        type: str | None = None,
        tags: Collection[str] | None = (),
        thread: str | None = None,
        since: int | str | None = None,
        until: int | str | None = None,
        min_attention: float | None = None,
        visibility: str | None = None,
        agent_filter: str | None = None,
        conversation_thread: str | None = None,
        n_results: int | None = None,
    ) -> Found: ...
    async def seed_agents(self) -> dict[str, Any]: ...
    async def set_auto(self, project: str, on: bool) -> dict[str, Any]: ...
    async def split(self, id: str, *, as_agent: str | None = None) -> dict[str, Any]: ...
    async def stale(
        self,
        days: float | None = 30.0,
        limit: int | None = 20,
        *,
        below: float | None = None,
        realm: str | None = None,
        as_agent: str | None = None,
        days_unused: float | None = None,
    ) -> tuple[Stale, ...]: ...
    async def status(self) -> dict[str, Any]: ...
    async def store_health(self) -> dict[str, Any]: ...
    async def stores(self) -> dict[str, Any]: ...
    async def summon(
        self,
        agent_id: str,
        display_name: str | None = None,
        *,
        generation: int | None = None,
        lineage: str | None = None,
        specialization: str | None = None,
        origin_story: str | None = None,
        color: str | None = None,
        symbol: str | None = None,
    ) -> dict[str, Any]: ...
    async def supersede(
        self,
        old: str,
        new: str,
        reason: str | None = None,
        *,
        as_agent: str | None = None,
    ) -> dict[str, Any]: ...
    async def thread(
        self,
        id: str,
        limit: int | None = 200,
        *,
        as_agent: str | None = None,
    ) -> Thread: ...
    async def threads(
        self,
        limit: int | None = 50,
        skip: int | None = 0,
        *,
        as_agent: str | None = None,
    ) -> dict[str, Any]: ...
    async def topics(self) -> tuple[dict[str, Any], ...]: ...
    async def tree(self) -> dict[str, Any]: ...
    async def triage(
        self,
        project: str | None = None,
        limit: int | None = 50,
        *,
        kind: str | None = None,
    ) -> dict[str, Any]: ...
    async def tune_store(
        self,
        name: str,
        weight: float | None = None,
        floor: float | None = None,
    ) -> dict[str, Any]: ...
    async def undo(self, change: int, *, as_agent: str | None = None) -> dict[str, Any]: ...
    async def undo_resolution(self, path: str) -> dict[str, Any]: ...
    async def unfinished(
        self,
        agent: str | None = None,
        hours: float | None = 168,
        limit: int | None = 50,
        *,
        project: str | None = None,
        as_agent: str | None = None,
        here: str | None = None,
        lookback_hours: float | None = None,
    ) -> dict[str, Any]: ...
    async def unpin(self, id: str, *, as_agent: str | None = None) -> dict[str, Any]: ...
    async def village_stats(self, *, as_agent: str | None = None) -> dict[str, Any]: ...
    async def what_if(self, insight: str) -> dict[str, Any]: ...
    @property
    def home(self) -> Home: ...
