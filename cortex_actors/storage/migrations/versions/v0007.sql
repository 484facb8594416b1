-- The baseline, written out as it was: a migration must mean the same for ever.
--
-- Statements end with a semicolon at the end of a line, and there is no other one.

CREATE TABLE insights (
    id TEXT NOT NULL,
    content TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    heading TEXT,
    category TEXT NOT NULL,
    tags JSON NOT NULL,
    domain TEXT,
    confidence REAL NOT NULL,
    status TEXT NOT NULL,
    first_seen_at INTEGER NOT NULL,
    last_seen_at INTEGER NOT NULL,
    text_hash BLOB NOT NULL,
    superseded_by TEXT,
    granularity TEXT DEFAULT 'section' NOT NULL,
    kind TEXT,
    verdict REAL,
    review TEXT,
    PRIMARY KEY (id),
    CONSTRAINT id_is_of_the_content CHECK (id = 'ins_' || substr(content_hash, 1, 20)),
    CONSTRAINT content_hash_is_a_digest CHECK (length(content_hash) = 64 AND content_hash NOT GLOB
        '*[^0-9a-f]*'),
    CONSTRAINT category_is_known CHECK (category IN ('convention', 'principle', 'technique',
        'warning', 'preference', 'fact', 'pattern')),
    CONSTRAINT confidence_is_a_share CHECK (confidence BETWEEN 0 AND 1),
    CONSTRAINT status_is_known CHECK (status IN ('active', 'contradicted', 'superseded',
        'pending_review', 'withdrawn')),
    CONSTRAINT first_is_not_after_last CHECK (first_seen_at <= last_seen_at),
    CONSTRAINT text_hash_is_a_digest CHECK (length(text_hash) = 32),
    CONSTRAINT superseded_has_a_successor CHECK ((status = 'superseded') = (superseded_by IS NOT
        NULL)),
    CONSTRAINT superseded_by_another CHECK (superseded_by <> id),
    CONSTRAINT granularity_is_known CHECK (granularity IN ('section', 'statement')),
    CONSTRAINT kind_is_known CHECK (kind IN ('rule', 'fact', 'command', 'example')),
    CONSTRAINT verdict_is_a_share CHECK (verdict BETWEEN 0 AND 1),
    CONSTRAINT review_is_not_empty CHECK (review <> ''),
    UNIQUE (content_hash),
    FOREIGN KEY(superseded_by) REFERENCES insights (id)
);
CREATE INDEX insights_by_status ON insights (status, confidence);
CREATE INDEX insights_by_superseding ON insights (superseded_by);

CREATE TABLE principles (
    id TEXT NOT NULL,
    content TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    elaboration TEXT,
    category TEXT NOT NULL,
    tags JSON NOT NULL,
    domains JSON NOT NULL,
    confidence REAL NOT NULL,
    quality REAL DEFAULT (0.5) NOT NULL,
    rank REAL NOT NULL,
    status TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    text_hash BLOB NOT NULL,
    origin TEXT DEFAULT 'single' NOT NULL,
    strikes INTEGER DEFAULT 0 NOT NULL,
    linked BLOB,
    PRIMARY KEY (id),
    CONSTRAINT id_is_of_the_content CHECK (id = 'pri_' || substr(content_hash, 1, 20)),
    CONSTRAINT content_hash_is_a_digest CHECK (length(content_hash) = 64 AND content_hash NOT GLOB
        '*[^0-9a-f]*'),
    CONSTRAINT category_is_known CHECK (category IN ('learning', 'principle', 'moral', 'heuristic',
        'anti_pattern')),
    CONSTRAINT confidence_is_a_share CHECK (confidence BETWEEN 0 AND 1),
    CONSTRAINT quality_is_a_share CHECK (quality BETWEEN 0 AND 1),
    CONSTRAINT rank_is_a_share CHECK (rank BETWEEN 0 AND 1),
    CONSTRAINT status_is_known CHECK (status IN ('active', 'decaying', 'pruned')),
    CONSTRAINT text_hash_is_a_digest CHECK (length(text_hash) = 32),
    CONSTRAINT origin_is_known CHECK (origin IN ('single', 'cluster', 'synthesis')),
    CONSTRAINT strikes_is_at_least_0 CHECK (strikes >= 0),
    CONSTRAINT linked_is_a_digest CHECK (length(linked) = 32),
    UNIQUE (content_hash)
);
CREATE INDEX principles_by_rank ON principles (status, rank);

CREATE TABLE projects (
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    root TEXT NOT NULL,
    added_at INTEGER NOT NULL,
    active INTEGER DEFAULT 1 NOT NULL,
    resolves INTEGER DEFAULT 0 NOT NULL,
    origin TEXT,
    PRIMARY KEY (id),
    CONSTRAINT active_is_yes_or_no CHECK (active IN (0, 1)),
    CONSTRAINT resolves_is_yes_or_no CHECK (resolves IN (0, 1)),
    UNIQUE (root)
);

CREATE TABLE runs (
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    project_id TEXT,
    path TEXT,
    agent TEXT,
    dry_run INTEGER DEFAULT 0 NOT NULL,
    state TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    finished_at INTEGER NOT NULL,
    counts JSON NOT NULL,
    error TEXT,
    PRIMARY KEY (id),
    CONSTRAINT state_is_known CHECK (state IN ('completed', 'unchanged', 'failed')),
    CONSTRAINT dry_run_is_yes_or_no CHECK (dry_run IN (0, 1))
);
CREATE INDEX runs_by_time ON runs (kind, finished_at);
CREATE INDEX runs_by_path ON runs (kind, path, finished_at);

CREATE TABLE approvals (
    principle_id TEXT NOT NULL,
    decision TEXT NOT NULL,
    decided_by TEXT NOT NULL,
    way TEXT NOT NULL,
    at INTEGER NOT NULL,
    note TEXT,
    ended_at INTEGER,
    PRIMARY KEY (principle_id),
    CONSTRAINT decision_is_known CHECK (decision IN ('approved', 'rejected')),
    CONSTRAINT decided_by_is_not_empty CHECK (decided_by <> ''),
    CONSTRAINT way_is_known CHECK (way IN ('review', 'diff', 'earlier')),
    CONSTRAINT note_is_not_empty CHECK (note <> '')
);

CREATE TABLE revocations (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    "key" TEXT NOT NULL,
    note TEXT,
    at INTEGER NOT NULL,
    ended_at INTEGER,
    CONSTRAINT kind_is_known CHECK (kind IN ('project', 'path', 'insight', 'principle')),
    CONSTRAINT key_is_not_empty CHECK (key <> ''),
    CONSTRAINT note_is_not_empty CHECK (note <> '')
);
CREATE UNIQUE INDEX revocations_open ON revocations (kind, "key") WHERE ended_at IS NULL;

CREATE TABLE resolved_bullets (
    path TEXT NOT NULL,
    agent TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    principle_id TEXT NOT NULL,
    text TEXT NOT NULL,
    "conflict" INTEGER DEFAULT 0 NOT NULL,
    PRIMARY KEY (path, agent, ordinal),
    CONSTRAINT ordinal_is_at_least_0 CHECK (ordinal >= 0),
    CONSTRAINT text_is_not_empty CHECK (text <> ''),
    CONSTRAINT conflict_is_yes_or_no CHECK (conflict IN (0, 1))
)
 WITHOUT ROWID;
CREATE INDEX resolved_bullets_by_principle ON resolved_bullets (principle_id);

CREATE TABLE events (
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,
    topic TEXT NOT NULL,
    payload JSON NOT NULL,
    at INTEGER NOT NULL,
    source TEXT NOT NULL,
    idempotency_key TEXT,
    CONSTRAINT id_is_of_the_moment CHECK (id GLOB 'evt_*' AND length(id) = 30),
    CONSTRAINT idempotency_key_is_not_empty CHECK (idempotency_key <> ''),
    UNIQUE (id)
);
CREATE UNIQUE INDEX events_by_idempotency_key ON events (idempotency_key) WHERE idempotency_key IS
    NOT NULL;

CREATE TABLE jobs (
    name TEXT NOT NULL,
    every_s REAL NOT NULL,
    jitter_s REAL DEFAULT (0) NOT NULL,
    started_at INTEGER,
    finished_at INTEGER,
    due_at INTEGER,
    state TEXT,
    said TEXT,
    PRIMARY KEY (name),
    CONSTRAINT every_s_is_above_0 CHECK (every_s > 0),
    CONSTRAINT jitter_s_is_at_least_0 CHECK (jitter_s >= 0),
    CONSTRAINT state_is_known CHECK (state IN ('done', 'failed'))
);

CREATE TABLE verdicts (
    "key" BLOB NOT NULL,
    layer TEXT NOT NULL,
    model TEXT NOT NULL,
    question TEXT NOT NULL,
    answer JSON NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY ("key"),
    CONSTRAINT key_is_a_digest CHECK (length(key) = 32),
    CONSTRAINT layer_is_known CHECK (layer IN ('rules', 'nli', 'llm', 'person'))
);
CREATE INDEX verdicts_by_time ON verdicts (at);

CREATE TABLE meta (
    name TEXT NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (name),
    CONSTRAINT name_is_not_empty CHECK (name <> '')
);

CREATE TABLE owner (
    one INTEGER NOT NULL CHECK (one = 1),
    epoch INTEGER NOT NULL,
    pid INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    PRIMARY KEY (one)
);

CREATE TABLE leases (
    name TEXT NOT NULL,
    holder TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (name),
    CONSTRAINT holder_is_not_empty CHECK (holder <> ''),
    CONSTRAINT epoch_is_at_least_1 CHECK (epoch >= 1)
);

CREATE TABLE embedding_models (
    id TEXT NOT NULL,
    dimension INTEGER NOT NULL,
    state TEXT NOT NULL,
    since INTEGER NOT NULL,
    provider TEXT,
    name TEXT,
    PRIMARY KEY (id),
    CONSTRAINT dimension_is_at_least_1 CHECK (dimension >= 1),
    CONSTRAINT state_is_known CHECK (state IN ('coming', 'active', 'retired'))
);
CREATE UNIQUE INDEX embedding_models_in_use ON embedding_models (state) WHERE state != 'retired';

CREATE TABLE vectors (
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    model TEXT NOT NULL,
    text_hash BLOB NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE (model, text_hash)
);

CREATE TABLE index_ops (
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    collection TEXT NOT NULL,
    item_id TEXT NOT NULL,
    op TEXT NOT NULL CHECK (op IN ('put', 'drop'))
);
CREATE INDEX index_ops_by_item ON index_ops (item_id);

CREATE TABLE index_state (
    one INTEGER NOT NULL CHECK (one = 1),
    generation INTEGER NOT NULL,
    token TEXT NOT NULL,
    model TEXT NOT NULL,
    applied_seq INTEGER NOT NULL,
    PRIMARY KEY (one)
);

CREATE TABLE passages (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    collection TEXT NOT NULL,
    item_id TEXT NOT NULL,
    place TEXT NOT NULL,
    text TEXT NOT NULL,
    text_hash BLOB NOT NULL,
    UNIQUE (item_id, collection, place),
    CONSTRAINT collection_is_not_empty CHECK (collection <> ''),
    CONSTRAINT item_id_is_not_empty CHECK (item_id <> ''),
    CONSTRAINT place_is_known CHECK (place IN ('alone', 'paired', 'both')),
    CONSTRAINT text_hash_is_a_digest CHECK (length(text_hash) = 32)
);
CREATE INDEX passages_by_text ON passages (text_hash);

CREATE TABLE memory_changes (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    others JSON DEFAULT '[]' NOT NULL,
    "before" JSON DEFAULT '{}' NOT NULL,
    "by" TEXT NOT NULL,
    reason TEXT,
    at INTEGER NOT NULL,
    undone_at INTEGER,
    undone_by TEXT,
    CONSTRAINT kind_is_known CHECK (kind IN ('merge', 'consolidate', 'split', 'supersede',
        'archive', 'restore', 'save', 'promote', 'crystallize', 'pin', 'unpin', 'forget')),
    CONSTRAINT memory_id_is_not_empty CHECK (memory_id <> ''),
    CONSTRAINT by_is_not_empty CHECK (by <> ''),
    CONSTRAINT reason_is_not_empty CHECK (reason <> ''),
    CONSTRAINT undone_says_by_whom CHECK ((undone_at IS NULL) = (undone_by IS NULL))
);
CREATE INDEX memory_changes_by_memory ON memory_changes (memory_id);

CREATE TABLE agents (
    id TEXT NOT NULL,
    display_name TEXT NOT NULL,
    symbol TEXT NOT NULL,
    color TEXT DEFAULT '#888888' NOT NULL,
    generation INTEGER DEFAULT 0 NOT NULL,
    lineage TEXT,
    specialization TEXT,
    origin_story TEXT,
    registered_at INTEGER NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT id_is_a_name CHECK (length(id) BETWEEN 1 AND 64 AND id NOT GLOB '*[^A-Z0-9_-]*'),
    CONSTRAINT display_name_is_not_empty CHECK (display_name <> ''),
    CONSTRAINT symbol_is_not_empty CHECK (symbol <> ''),
    CONSTRAINT color_is_hexadecimal CHECK (color GLOB
        '#[0-9A-Fa-f][0-9A-Fa-f][0-9A-Fa-f][0-9A-Fa-f][0-9A-Fa-f][0-9A-Fa-f]')
);

CREATE TABLE convergences (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    likeness REAL NOT NULL,
    found_at INTEGER NOT NULL,
    CONSTRAINT kind_is_known CHECK (kind IN ('HARMONY', 'CONSENSUS')),
    CONSTRAINT likeness_is_a_cosine CHECK (likeness BETWEEN -1 AND 1)
);

CREATE TABLE knowledge_chunks (
    id TEXT NOT NULL,
    source TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    topic TEXT NOT NULL,
    title TEXT NOT NULL,
    headings JSON DEFAULT '[]' NOT NULL,
    text TEXT NOT NULL,
    is_code INTEGER DEFAULT 0 NOT NULL,
    code_language TEXT,
    tags JSON DEFAULT '[]' NOT NULL,
    cross_refs JSON DEFAULT '[]' NOT NULL,
    text_hash BLOB NOT NULL,
    status TEXT DEFAULT 'active' NOT NULL,
    read_at INTEGER NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT id_is_of_knowledge CHECK (id GLOB 'kb_*'),
    CONSTRAINT ordinal_is_at_least_0 CHECK (ordinal >= 0),
    CONSTRAINT text_is_not_empty CHECK (text <> ''),
    CONSTRAINT is_code_is_yes_or_no CHECK (is_code IN (0, 1)),
    CONSTRAINT only_code_has_a_language CHECK (code_language IS NULL OR is_code = 1),
    CONSTRAINT text_hash_is_a_digest CHECK (length(text_hash) = 32),
    CONSTRAINT status_is_known CHECK (status IN ('active', 'withdrawn'))
);
CREATE UNIQUE INDEX knowledge_chunks_in_place ON knowledge_chunks (source, ordinal) WHERE status =
    'active';
CREATE INDEX knowledge_chunks_by_text ON knowledge_chunks (text_hash);
CREATE INDEX knowledge_chunks_by_topic ON knowledge_chunks (topic);

CREATE TABLE documents (
    source TEXT NOT NULL,
    content_hash BLOB NOT NULL,
    read_as INTEGER NOT NULL,
    topic TEXT NOT NULL,
    title TEXT NOT NULL,
    tags JSON DEFAULT '[]' NOT NULL,
    size INTEGER NOT NULL,
    redacted INTEGER DEFAULT 0 NOT NULL,
    saved_by TEXT DEFAULT 'owner' NOT NULL,
    trust TEXT DEFAULT 'file' NOT NULL,
    read_at INTEGER NOT NULL,
    withdrawn_at INTEGER,
    PRIMARY KEY (source),
    CONSTRAINT source_is_not_empty CHECK (source <> ''),
    CONSTRAINT content_hash_is_a_digest CHECK (length(content_hash) = 32),
    CONSTRAINT read_as_is_at_least_1 CHECK (read_as >= 1),
    CONSTRAINT size_is_at_least_0 CHECK (size >= 0),
    CONSTRAINT redacted_is_at_least_0 CHECK (redacted >= 0),
    CONSTRAINT saved_by_is_not_empty CHECK (saved_by <> ''),
    CONSTRAINT trust_is_known CHECK (trust IN ('file', 'agent', 'import', 'remote'))
);
CREATE INDEX documents_by_topic ON documents (topic);

CREATE TABLE insight_sources (
    id INTEGER NOT NULL,
    insight_id TEXT NOT NULL,
    said_id TEXT NOT NULL,
    fragment_id TEXT NOT NULL,
    ordinal INTEGER DEFAULT 0 NOT NULL,
    project_id TEXT NOT NULL,
    path TEXT NOT NULL,
    heading TEXT,
    kind TEXT,
    scope TEXT DEFAULT '' NOT NULL,
    line_start INTEGER NOT NULL,
    line_end INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    withdrawn_at INTEGER,
    trust TEXT DEFAULT 'file' NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (fragment_id, ordinal),
    CONSTRAINT ordinal_is_at_least_0 CHECK (ordinal >= 0),
    CONSTRAINT line_start_is_at_least_1 CHECK (line_start >= 1),
    CONSTRAINT kind_is_known CHECK (kind IN ('rule', 'fact', 'command', 'example')),
    CONSTRAINT start_is_not_behind_end CHECK (line_start <= line_end),
    CONSTRAINT trust_is_known CHECK (trust IN ('file', 'agent', 'import', 'remote')),
    FOREIGN KEY(insight_id) REFERENCES insights (id),
    FOREIGN KEY(said_id) REFERENCES insights (id),
    FOREIGN KEY(project_id) REFERENCES projects (id)
);
CREATE INDEX insight_sources_by_path ON insight_sources (path);
CREATE INDEX insight_sources_by_insight ON insight_sources (insight_id);
CREATE INDEX insight_sources_by_project ON insight_sources (project_id);
CREATE INDEX insight_sources_by_said ON insight_sources (said_id);

CREATE TABLE contradictions (
    id TEXT NOT NULL,
    insight_a TEXT NOT NULL,
    insight_b TEXT NOT NULL,
    type TEXT NOT NULL,
    similarity REAL,
    detected_by TEXT NOT NULL,
    decided_by TEXT NOT NULL,
    reason TEXT NOT NULL,
    detected_at INTEGER NOT NULL,
    status TEXT DEFAULT 'unresolved' NOT NULL,
    resolved_at INTEGER,
    kept_id TEXT,
    resolution TEXT,
    PRIMARY KEY (id),
    UNIQUE (insight_a, insight_b),
    CONSTRAINT lesser_comes_first CHECK (insight_a < insight_b),
    CONSTRAINT type_is_known CHECK (type IN ('direct', 'partial', 'contextual')),
    CONSTRAINT similarity_is_a_cosine CHECK (similarity BETWEEN -1 AND 1),
    CONSTRAINT decided_by_is_known CHECK (decided_by IN ('rules', 'nli', 'llm', 'person')),
    CONSTRAINT reason_is_not_empty CHECK (reason <> ''),
    CONSTRAINT status_is_known CHECK (status IN ('unresolved', 'resolved', 'dismissed')),
    CONSTRAINT settled_at_some_time CHECK ((status = 'unresolved') = (resolved_at IS NULL)),
    CONSTRAINT kept_is_one_of_the_two CHECK (kept_id IS NULL OR (status = 'resolved' AND kept_id IN
        (insight_a, insight_b))),
    FOREIGN KEY(insight_a) REFERENCES insights (id),
    FOREIGN KEY(insight_b) REFERENCES insights (id),
    FOREIGN KEY(kept_id) REFERENCES insights (id)
);
CREATE INDEX contradictions_by_kept ON contradictions (kept_id);
CREATE INDEX contradictions_by_status ON contradictions (status);
CREATE INDEX contradictions_by_other ON contradictions (insight_b);

CREATE TABLE clusters (
    id TEXT NOT NULL,
    medoid_id TEXT NOT NULL,
    model TEXT NOT NULL,
    centroid BLOB NOT NULL,
    coherence REAL NOT NULL,
    made_at INTEGER NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT coherence_is_a_cosine CHECK (coherence BETWEEN -1 AND 1),
    FOREIGN KEY(medoid_id) REFERENCES insights (id)
);
CREATE INDEX clusters_by_medoid ON clusters (medoid_id);

CREATE TABLE insight_slots (
    slot TEXT NOT NULL,
    insight_id TEXT NOT NULL,
    PRIMARY KEY (slot, insight_id),
    CONSTRAINT slot_is_not_empty CHECK (slot <> ''),
    FOREIGN KEY(insight_id) REFERENCES insights (id)
)
 WITHOUT ROWID;
CREATE INDEX insight_slots_by_insight ON insight_slots (insight_id);

CREATE TABLE derivations (
    principle_id TEXT NOT NULL,
    insight_id TEXT NOT NULL,
    weight REAL NOT NULL,
    PRIMARY KEY (principle_id, insight_id),
    CONSTRAINT weight_is_a_share CHECK (weight BETWEEN 0 AND 1),
    FOREIGN KEY(principle_id) REFERENCES principles (id),
    FOREIGN KEY(insight_id) REFERENCES insights (id)
)
 WITHOUT ROWID;
CREATE INDEX derivations_by_insight ON derivations (insight_id);

CREATE TABLE principle_links (
    source_id TEXT NOT NULL,
    target_id TEXT NOT NULL,
    type TEXT NOT NULL,
    strength REAL NOT NULL,
    decided_by TEXT NOT NULL,
    reason TEXT NOT NULL,
    linked_at INTEGER NOT NULL,
    PRIMARY KEY (source_id, target_id, type),
    CONSTRAINT type_is_known CHECK (type IN ('reinforces', 'generalizes', 'specializes',
        'contradicts', 'depends_on', 'related')),
    CONSTRAINT lesser_is_the_source CHECK (source_id < target_id OR (type = 'depends_on' AND
        source_id <> target_id)),
    CONSTRAINT strength_is_a_share CHECK (strength BETWEEN 0 AND 1),
    CONSTRAINT decided_by_is_known CHECK (decided_by IN ('rules', 'nli', 'llm', 'person')),
    CONSTRAINT reason_is_not_empty CHECK (reason <> ''),
    FOREIGN KEY(source_id) REFERENCES principles (id),
    FOREIGN KEY(target_id) REFERENCES principles (id)
)
 WITHOUT ROWID;
CREATE INDEX principle_links_by_target ON principle_links (target_id);

CREATE TABLE file_states (
    path TEXT NOT NULL,
    project_id TEXT NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    ctime_ns INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    seen_at INTEGER NOT NULL,
    error TEXT,
    read_as TEXT DEFAULT 'section/1' NOT NULL,
    PRIMARY KEY (path),
    CONSTRAINT size_is_at_least_0 CHECK (size >= 0),
    CONSTRAINT read_as_is_not_empty CHECK (read_as <> ''),
    FOREIGN KEY(project_id) REFERENCES projects (id)
);
CREATE INDEX file_states_by_project ON file_states (project_id);

CREATE TABLE file_writes (
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    run_id TEXT NOT NULL,
    project_id TEXT NOT NULL,
    path TEXT NOT NULL,
    agent TEXT NOT NULL,
    before_sha256 TEXT,
    before_bytes BLOB,
    after_sha256 TEXT NOT NULL,
    aside TEXT NOT NULL,
    displaced BLOB,
    state TEXT DEFAULT 'pending' NOT NULL,
    began_at INTEGER NOT NULL,
    ended_at INTEGER,
    CONSTRAINT state_is_known CHECK (state IN ('pending', 'done', 'abandoned', 'undone')),
    CONSTRAINT before_has_its_hash CHECK ((before_bytes IS NULL) = (before_sha256 IS NULL)),
    CONSTRAINT what_ended_is_not_pending CHECK ((state = 'pending') = (ended_at IS NULL)),
    FOREIGN KEY(project_id) REFERENCES projects (id)
);
CREATE INDEX file_writes_by_path ON file_writes (path);
CREATE INDEX file_writes_by_project ON file_writes (project_id);
CREATE UNIQUE INDEX file_writes_pending ON file_writes (path) WHERE state = 'pending';

CREATE TABLE alerts (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    project_id TEXT NOT NULL,
    path TEXT NOT NULL,
    fragment_id TEXT NOT NULL,
    line_start INTEGER NOT NULL,
    line_end INTEGER NOT NULL,
    detail TEXT NOT NULL,
    fingerprint TEXT,
    found_at INTEGER NOT NULL,
    ended_at INTEGER,
    UNIQUE (path, fragment_id, kind, detail),
    CONSTRAINT kind_is_known CHECK (kind IN ('hidden_unicode', 'secret', 'injection')),
    CONSTRAINT line_start_is_at_least_1 CHECK (line_start >= 1),
    CONSTRAINT start_is_not_behind_end CHECK (line_start <= line_end),
    CONSTRAINT detail_is_not_empty CHECK (detail <> ''),
    FOREIGN KEY(project_id) REFERENCES projects (id)
);
CREATE INDEX alerts_by_project ON alerts (project_id);
CREATE INDEX alerts_open ON alerts (path) WHERE ended_at IS NULL;

CREATE TABLE reviews (
    insight_id TEXT NOT NULL,
    decision TEXT NOT NULL,
    at INTEGER NOT NULL,
    note TEXT,
    PRIMARY KEY (insight_id),
    CONSTRAINT decision_is_known CHECK (decision IN ('approved', 'rejected')),
    CONSTRAINT note_is_not_empty CHECK (note <> ''),
    FOREIGN KEY(insight_id) REFERENCES insights (id)
);

CREATE TABLE resolutions (
    path TEXT NOT NULL,
    agent TEXT NOT NULL,
    project_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    revision TEXT NOT NULL,
    inputs TEXT NOT NULL,
    section TEXT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT,
    resolved_at INTEGER NOT NULL,
    PRIMARY KEY (path, agent),
    CONSTRAINT state_is_known CHECK (state IN ('written', 'unchanged', 'edited', 'refused')),
    CONSTRAINT reason_is_not_empty CHECK (reason <> ''),
    FOREIGN KEY(project_id) REFERENCES projects (id)
);
CREATE INDEX resolutions_by_project ON resolutions (project_id);

CREATE TABLE deliveries (
    consumer TEXT NOT NULL,
    seq INTEGER NOT NULL,
    "key" TEXT,
    attempts INTEGER DEFAULT 0 NOT NULL,
    due_at INTEGER DEFAULT 0 NOT NULL,
    error TEXT,
    PRIMARY KEY (consumer, seq),
    CONSTRAINT attempts_is_at_least_0 CHECK (attempts >= 0),
    CONSTRAINT due_at_is_at_least_0 CHECK (due_at >= 0),
    FOREIGN KEY(seq) REFERENCES events (seq)
)
 WITHOUT ROWID;
CREATE INDEX deliveries_by_due ON deliveries (consumer, due_at) WHERE due_at > 0;
CREATE INDEX deliveries_by_seq ON deliveries (seq);
CREATE INDEX deliveries_by_key ON deliveries (consumer, "key");

CREATE TABLE dead_letters (
    consumer TEXT NOT NULL,
    seq INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    error TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (consumer, seq),
    CONSTRAINT attempts_is_at_least_1 CHECK (attempts >= 1),
    FOREIGN KEY(seq) REFERENCES events (seq)
)
 WITHOUT ROWID;
CREATE INDEX dead_letters_by_seq ON dead_letters (seq);

CREATE TABLE memories (
    id TEXT NOT NULL,
    realm TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    thread TEXT DEFAULT '' NOT NULL,
    layer TEXT NOT NULL,
    type TEXT NOT NULL,
    text TEXT NOT NULL,
    abstract TEXT NOT NULL,
    summary TEXT NOT NULL,
    text_hash BLOB NOT NULL,
    status TEXT DEFAULT 'active' NOT NULL,
    merged_into TEXT,
    merged_as INTEGER,
    merged_at INTEGER,
    merged_by TEXT,
    merged_why TEXT,
    created_at INTEGER NOT NULL,
    layer_since INTEGER NOT NULL,
    role TEXT DEFAULT '' NOT NULL,
    saved_by TEXT DEFAULT 'owner' NOT NULL,
    trust TEXT DEFAULT 'agent' NOT NULL,
    said_from INTEGER,
    said_until INTEGER,
    promoted_at INTEGER,
    pinned_at INTEGER,
    replaced_by TEXT,
    replaced_at INTEGER,
    archived_at INTEGER,
    merge_due INTEGER DEFAULT 0 NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (merged_into, merged_as),
    CONSTRAINT id_is_of_the_moment CHECK (id GLOB 'mem_*' AND length(id) = 30),
    CONSTRAINT realm_is_known CHECK (realm IN ('private', 'village', 'bridge')),
    CONSTRAINT layer_is_known CHECK (layer IN ('sensory', 'working', 'long_term', 'cortex')),
    CONSTRAINT type_is_known CHECK (type IN ('fact', 'dialogue', 'observation', 'question',
        'cultural', 'agent_profile')),
    CONSTRAINT text_is_not_empty CHECK (text <> ''),
    CONSTRAINT text_hash_is_a_digest CHECK (length(text_hash) = 32),
    CONSTRAINT status_is_known CHECK (status IN ('active', 'merged', 'superseded', 'archived')),
    CONSTRAINT merged_has_a_whole CHECK ((status = 'merged') = (merged_into IS NOT NULL)),
    CONSTRAINT merge_says_how CHECK ((merged_into IS NULL) = (merged_as IS NULL) AND (merged_into IS
        NULL) = (merged_at IS NULL) AND (merged_into IS NULL) = (merged_by IS NULL)),
    CONSTRAINT merged_into_another CHECK (merged_into <> id),
    CONSTRAINT merged_as_is_at_least_0 CHECK (merged_as >= 0),
    CONSTRAINT merged_by_is_known CHECK (merged_by IN ('rules', 'nli', 'llm', 'person')),
    CONSTRAINT saved_by_is_not_empty CHECK (saved_by <> ''),
    CONSTRAINT trust_is_known CHECK (trust IN ('file', 'agent', 'import', 'remote')),
    CONSTRAINT said_from_is_not_behind_until CHECK ((said_from IS NULL) = (said_until IS NULL) AND
        (said_from IS NULL OR said_from <= said_until)),
    CONSTRAINT superseded_says_by_what CHECK ((status = 'superseded') = (replaced_by IS NOT NULL)
        AND (replaced_by IS NULL) = (replaced_at IS NULL)),
    CONSTRAINT replaced_by_another CHECK (replaced_by <> id),
    CONSTRAINT archived_says_when CHECK ((status = 'archived') = (archived_at IS NOT NULL)),
    CONSTRAINT merge_due_is_yes_or_no CHECK (merge_due IN (0, 1)),
    FOREIGN KEY(agent_id) REFERENCES agents (id),
    FOREIGN KEY(merged_into) REFERENCES memories (id),
    FOREIGN KEY(replaced_by) REFERENCES memories (id)
);
CREATE INDEX memories_replaced ON memories (replaced_by);
CREATE INDEX memories_by_text ON memories (text_hash);
CREATE INDEX memories_by_agent ON memories (agent_id, realm, created_at);
CREATE UNIQUE INDEX memories_said_once ON memories (realm, agent_id, thread, text_hash) WHERE status
    = 'active' AND type IN ('fact', 'observation') AND realm != 'bridge';
CREATE INDEX memories_by_thread ON memories (thread, created_at);
CREATE INDEX memories_due ON memories (id) WHERE merge_due = 1;

CREATE TABLE crumbs (
    id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    type TEXT DEFAULT 'orientation' NOT NULL,
    priority TEXT DEFAULT 'MEDIUM' NOT NULL,
    summary TEXT NOT NULL,
    discoveries JSON DEFAULT '[]' NOT NULL,
    emotional_state JSON DEFAULT '{}' NOT NULL,
    unfinished JSON DEFAULT '[]' NOT NULL,
    links JSON DEFAULT '{}' NOT NULL,
    if_disoriented JSON DEFAULT '[]' NOT NULL,
    left_at INTEGER NOT NULL,
    saved_by TEXT DEFAULT 'owner' NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT id_is_of_the_moment CHECK (id GLOB 'crm_*' AND length(id) = 30),
    CONSTRAINT session_id_is_not_empty CHECK (session_id <> ''),
    CONSTRAINT type_is_known CHECK (type IN ('orientation', 'technical', 'emotional', 'task')),
    CONSTRAINT priority_is_known CHECK (priority IN ('HIGH', 'MEDIUM', 'LOW')),
    CONSTRAINT summary_is_not_empty CHECK (summary <> ''),
    CONSTRAINT saved_by_is_not_empty CHECK (saved_by <> ''),
    FOREIGN KEY(agent_id) REFERENCES agents (id)
);
CREATE INDEX crumbs_by_agent ON crumbs (agent_id, left_at);
CREATE INDEX crumbs_by_session ON crumbs (session_id);

CREATE TABLE observations (
    source_id INTEGER NOT NULL,
    file_hash TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (source_id, file_hash),
    FOREIGN KEY(source_id) REFERENCES insight_sources (id)
)
 WITHOUT ROWID;

CREATE TABLE cluster_insights (
    insight_id TEXT NOT NULL,
    cluster_id TEXT NOT NULL,
    PRIMARY KEY (insight_id),
    FOREIGN KEY(insight_id) REFERENCES insights (id),
    FOREIGN KEY(cluster_id) REFERENCES clusters (id)
)
 WITHOUT ROWID;
CREATE INDEX cluster_insights_by_cluster ON cluster_insights (cluster_id);

CREATE TABLE memory_tags (
    memory_id TEXT NOT NULL,
    tag TEXT NOT NULL,
    PRIMARY KEY (memory_id, tag),
    CONSTRAINT tag_is_not_empty CHECK (tag <> ''),
    FOREIGN KEY(memory_id) REFERENCES memories (id)
)
 WITHOUT ROWID;
CREATE INDEX memory_tags_by_tag ON memory_tags (tag);

CREATE TABLE memory_agents (
    memory_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    PRIMARY KEY (memory_id, agent_id),
    FOREIGN KEY(memory_id) REFERENCES memories (id),
    FOREIGN KEY(agent_id) REFERENCES agents (id)
)
 WITHOUT ROWID;
CREATE INDEX memory_agents_by_agent ON memory_agents (agent_id);

CREATE TABLE memory_replies (
    memory_id TEXT NOT NULL,
    replied_id TEXT NOT NULL,
    PRIMARY KEY (memory_id, replied_id),
    CONSTRAINT replies_to_another CHECK (memory_id <> replied_id),
    FOREIGN KEY(memory_id) REFERENCES memories (id),
    FOREIGN KEY(replied_id) REFERENCES memories (id)
)
 WITHOUT ROWID;
CREATE INDEX memory_replies_by_replied ON memory_replies (replied_id);

CREATE TABLE memory_attention (
    memory_id TEXT NOT NULL,
    access_count INTEGER DEFAULT 0 NOT NULL,
    accessed_at INTEGER,
    attention REAL NOT NULL,
    weighed_at INTEGER NOT NULL,
    due_at INTEGER,
    PRIMARY KEY (memory_id),
    CONSTRAINT access_count_is_at_least_0 CHECK (access_count >= 0),
    CONSTRAINT attention_is_in_range CHECK (attention BETWEEN 0 AND 2),
    FOREIGN KEY(memory_id) REFERENCES memories (id)
)
 WITHOUT ROWID;
CREATE INDEX memory_attention_due ON memory_attention (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE beliefs (
    memory_id TEXT NOT NULL,
    began_at INTEGER NOT NULL,
    ended_at INTEGER,
    PRIMARY KEY (memory_id, began_at),
    CONSTRAINT began_is_not_behind_ended CHECK (ended_at >= began_at),
    FOREIGN KEY(memory_id) REFERENCES memories (id)
)
 WITHOUT ROWID;
CREATE INDEX beliefs_by_moment ON beliefs (began_at);
CREATE UNIQUE INDEX beliefs_open ON beliefs (memory_id) WHERE ended_at IS NULL;

CREATE TABLE memory_apart (
    left_id TEXT NOT NULL,
    right_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    reason TEXT,
    PRIMARY KEY (left_id, right_id),
    CONSTRAINT left_is_the_lesser CHECK (left_id < right_id),
    CONSTRAINT reason_is_not_empty CHECK (reason <> ''),
    FOREIGN KEY(left_id) REFERENCES memories (id),
    FOREIGN KEY(right_id) REFERENCES memories (id)
)
 WITHOUT ROWID;
CREATE INDEX memory_apart_by_right ON memory_apart (right_id);

CREATE TABLE memory_conflicts (
    left_id TEXT NOT NULL,
    right_id TEXT NOT NULL,
    decided_by TEXT NOT NULL,
    reason TEXT NOT NULL,
    found_at INTEGER NOT NULL,
    ended_at INTEGER,
    PRIMARY KEY (left_id, right_id),
    CONSTRAINT left_is_the_lesser CHECK (left_id < right_id),
    CONSTRAINT decided_by_is_known CHECK (decided_by IN ('rules', 'nli', 'llm', 'person')),
    CONSTRAINT reason_is_not_empty CHECK (reason <> ''),
    FOREIGN KEY(left_id) REFERENCES memories (id),
    FOREIGN KEY(right_id) REFERENCES memories (id)
)
 WITHOUT ROWID;
CREATE INDEX memory_conflicts_by_right ON memory_conflicts (right_id);

CREATE TABLE posts_due (
    memory_id TEXT NOT NULL,
    PRIMARY KEY (memory_id),
    FOREIGN KEY(memory_id) REFERENCES memories (id)
)
 WITHOUT ROWID;

CREATE TABLE convergence_memories (
    convergence_id INTEGER NOT NULL,
    memory_id TEXT NOT NULL,
    PRIMARY KEY (convergence_id, memory_id),
    FOREIGN KEY(convergence_id) REFERENCES convergences (id),
    FOREIGN KEY(memory_id) REFERENCES memories (id)
)
 WITHOUT ROWID;
CREATE INDEX convergence_memories_by_memory ON convergence_memories (memory_id);

CREATE VIEW passages_alone AS SELECT id, text FROM passages WHERE place IN ('alone', 'both');

CREATE VIRTUAL TABLE words_alone USING fts5(text, content='passages_alone', content_rowid='id',
    tokenize='porter unicode61 remove_diacritics 2');

CREATE VIRTUAL TABLE words_alone_terms USING fts5vocab('words_alone', 'row');

CREATE VIEW passages_paired AS SELECT id, text FROM passages WHERE place IN ('paired', 'both');

CREATE VIRTUAL TABLE words_paired USING fts5(text, content='passages_paired', content_rowid='id',
    tokenize='porter unicode61 remove_diacritics 2');

CREATE VIRTUAL TABLE words_paired_terms USING fts5vocab('words_paired', 'row');
