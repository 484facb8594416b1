-- The second schema, written out as it was: a migration must mean the same for ever.
--
-- Eleven tables get constraints that they lacked, and SQLite has no way to add one to a table: each
-- is made anew, filled, and takes the old one's place. Foreign keys are on meanwhile and cannot be
-- turned off inside a transaction, so whole families are made anew: the new tables refer to each
-- other, the old ones go children first, and renaming carries the references along.
--
-- Statements end with a semicolon at the end of a line, and there is no other one.

-- The tables that get constraints.

CREATE TABLE new_projects (
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    root TEXT NOT NULL,
    added_at INTEGER NOT NULL,
    active INTEGER DEFAULT 1 NOT NULL,
    resolves INTEGER DEFAULT 0 NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT active_is_yes_or_no CHECK (active IN (0, 1)),
    CONSTRAINT resolves_is_yes_or_no CHECK (resolves IN (0, 1)),
    UNIQUE (root)
);

CREATE TABLE new_runs (
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

CREATE TABLE new_insights (
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
    UNIQUE (content_hash),
    FOREIGN KEY(superseded_by) REFERENCES new_insights (id)
);

CREATE TABLE new_insight_sources (
    id INTEGER NOT NULL,
    insight_id TEXT NOT NULL,
    fragment_id TEXT NOT NULL,
    ordinal INTEGER DEFAULT 0 NOT NULL,
    project_id TEXT NOT NULL,
    path TEXT NOT NULL,
    heading TEXT,
    line_start INTEGER NOT NULL,
    line_end INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    withdrawn_at INTEGER,
    PRIMARY KEY (id),
    UNIQUE (fragment_id, ordinal),
    CONSTRAINT ordinal_is_at_least_0 CHECK (ordinal >= 0),
    CONSTRAINT line_start_is_at_least_1 CHECK (line_start >= 1),
    CONSTRAINT start_is_not_behind_end CHECK (line_start <= line_end),
    FOREIGN KEY(insight_id) REFERENCES new_insights (id),
    FOREIGN KEY(project_id) REFERENCES new_projects (id)
);

CREATE TABLE new_observations (
    source_id INTEGER NOT NULL,
    file_hash TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (source_id, file_hash),
    FOREIGN KEY(source_id) REFERENCES new_insight_sources (id)
) WITHOUT ROWID;

CREATE TABLE new_file_states (
    path TEXT NOT NULL,
    project_id TEXT NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    ctime_ns INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    seen_at INTEGER NOT NULL,
    error TEXT,
    PRIMARY KEY (path),
    CONSTRAINT size_is_at_least_0 CHECK (size >= 0),
    FOREIGN KEY(project_id) REFERENCES new_projects (id)
);

CREATE TABLE new_principles (
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
    UNIQUE (content_hash)
);

CREATE TABLE new_derivations (
    principle_id TEXT NOT NULL,
    insight_id TEXT NOT NULL,
    weight REAL NOT NULL,
    PRIMARY KEY (principle_id, insight_id),
    CONSTRAINT weight_is_a_share CHECK (weight BETWEEN 0 AND 1),
    FOREIGN KEY(principle_id) REFERENCES new_principles (id),
    FOREIGN KEY(insight_id) REFERENCES new_insights (id)
) WITHOUT ROWID;

CREATE TABLE new_events (
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

CREATE TABLE new_deliveries (
    consumer TEXT NOT NULL,
    seq INTEGER NOT NULL,
    "key" TEXT,
    attempts INTEGER DEFAULT 0 NOT NULL,
    due_at INTEGER DEFAULT 0 NOT NULL,
    error TEXT,
    PRIMARY KEY (consumer, seq),
    CONSTRAINT attempts_is_at_least_0 CHECK (attempts >= 0),
    CONSTRAINT due_at_is_at_least_0 CHECK (due_at >= 0),
    FOREIGN KEY(seq) REFERENCES new_events (seq)
) WITHOUT ROWID;

CREATE TABLE new_dead_letters (
    consumer TEXT NOT NULL,
    seq INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    error TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (consumer, seq),
    CONSTRAINT attempts_is_at_least_1 CHECK (attempts >= 1),
    FOREIGN KEY(seq) REFERENCES new_events (seq)
) WITHOUT ROWID;

-- What they hold, parents first.

INSERT INTO new_projects
    (id, name, root, added_at, active)
SELECT
    id, name, root, added_at, active
FROM projects;

INSERT INTO new_runs
    (id, kind, project_id, path, state, started_at, finished_at, counts, error)
SELECT
    id, kind, project_id, path, state, started_at, finished_at, counts, error
FROM runs;

INSERT INTO new_insights
    (id, content, content_hash, heading, category, tags, domain, confidence, status, first_seen_at,
        last_seen_at, text_hash)
SELECT
    id, content, content_hash, heading, category, tags, domain, confidence, status, first_seen_at,
        last_seen_at, text_hash
FROM insights;

INSERT INTO new_insight_sources
    (id, insight_id, fragment_id, ordinal, project_id, path, heading, line_start, line_end, seen_at,
        withdrawn_at)
SELECT
    id, insight_id, fragment_id, ordinal, project_id, path, heading, line_start, line_end, seen_at,
        withdrawn_at
FROM insight_sources;

INSERT INTO new_observations
    (source_id, file_hash, at)
SELECT
    source_id, file_hash, at
FROM observations;

INSERT INTO new_file_states
    (path, project_id, size, mtime_ns, ctime_ns, inode, sha256, seen_at, error)
SELECT
    path, project_id, size, mtime_ns, ctime_ns, inode, sha256, seen_at, error
FROM file_states;

INSERT INTO new_principles
    (id, content, content_hash, category, tags, domains, confidence, rank, status, created_at)
SELECT
    id, content, content_hash, category, tags, domains, confidence, rank, status, created_at
FROM principles;

INSERT INTO new_derivations
    (principle_id, insight_id, weight)
SELECT
    principle_id, insight_id, weight
FROM derivations;

INSERT INTO new_events
    (seq, id, topic, payload, at, source)
SELECT
    seq, id, topic, payload, at, source
FROM events;

INSERT INTO new_deliveries
    (consumer, seq, "key", attempts, due_at, error)
SELECT
    consumer, seq, "key", attempts, due_at, error
FROM deliveries;

INSERT INTO new_dead_letters
    (consumer, seq, attempts, error, at)
SELECT
    consumer, seq, attempts, error, at
FROM dead_letters;

-- Numbers that were given once are not given again, whatever rows are left.
DELETE FROM sqlite_sequence WHERE name = 'new_events';
INSERT INTO sqlite_sequence (name, seq)
SELECT 'new_events', seq FROM sqlite_sequence WHERE name = 'events';

-- The old ones go, children first: what still refers to a row would stop it.
DROP TABLE observations;
DROP TABLE insight_sources;
DROP TABLE file_states;
DROP TABLE derivations;
DROP TABLE deliveries;
DROP TABLE dead_letters;
DROP TABLE runs;
DROP TABLE projects;
DROP TABLE principles;
DROP TABLE insights;
DROP TABLE events;

ALTER TABLE new_projects RENAME TO projects;
ALTER TABLE new_runs RENAME TO runs;
ALTER TABLE new_insights RENAME TO insights;
ALTER TABLE new_insight_sources RENAME TO insight_sources;
ALTER TABLE new_observations RENAME TO observations;
ALTER TABLE new_file_states RENAME TO file_states;
ALTER TABLE new_principles RENAME TO principles;
ALTER TABLE new_derivations RENAME TO derivations;
ALTER TABLE new_events RENAME TO events;
ALTER TABLE new_deliveries RENAME TO deliveries;
ALTER TABLE new_dead_letters RENAME TO dead_letters;

-- Their indexes went with them.
CREATE INDEX runs_by_path ON runs (kind, path, finished_at);
CREATE INDEX runs_by_time ON runs (kind, finished_at);
CREATE INDEX insights_by_status ON insights (status, confidence);
CREATE INDEX insights_by_superseding ON insights (superseded_by);
CREATE INDEX insight_sources_by_insight ON insight_sources (insight_id);
CREATE INDEX insight_sources_by_path ON insight_sources (path);
CREATE INDEX insight_sources_by_project ON insight_sources (project_id);
CREATE INDEX file_states_by_project ON file_states (project_id);
CREATE INDEX principles_by_rank ON principles (status, rank);
CREATE INDEX derivations_by_insight ON derivations (insight_id);
CREATE UNIQUE INDEX events_by_idempotency_key ON events (idempotency_key) WHERE idempotency_key IS
        NOT NULL;
CREATE INDEX deliveries_by_due ON deliveries (consumer, due_at) WHERE due_at > 0;
CREATE INDEX deliveries_by_key ON deliveries (consumer, "key");
CREATE INDEX deliveries_by_seq ON deliveries (seq);
CREATE INDEX dead_letters_by_seq ON dead_letters (seq);

-- Tables that are new.

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

CREATE TABLE embedding_models (
    id TEXT NOT NULL,
    dimension INTEGER NOT NULL,
    state TEXT NOT NULL,
    since INTEGER NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT dimension_is_at_least_1 CHECK (dimension >= 1),
    CONSTRAINT state_is_known CHECK (state IN ('coming', 'active', 'retired'))
);
CREATE UNIQUE INDEX embedding_models_in_use ON embedding_models (state) WHERE state != 'retired';

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
CREATE INDEX knowledge_chunks_by_text ON knowledge_chunks (text_hash);
CREATE INDEX knowledge_chunks_by_topic ON knowledge_chunks (topic);
CREATE UNIQUE INDEX knowledge_chunks_in_place ON knowledge_chunks (source, ordinal) WHERE status =
        'active';

CREATE TABLE leases (
    name TEXT NOT NULL,
    holder TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (name),
    CONSTRAINT holder_is_not_empty CHECK (holder <> ''),
    CONSTRAINT epoch_is_at_least_1 CHECK (epoch >= 1)
);

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
CREATE INDEX contradictions_by_other ON contradictions (insight_b);
CREATE INDEX contradictions_by_status ON contradictions (status);

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
    PRIMARY KEY (id),
    CONSTRAINT id_is_of_the_moment CHECK (id GLOB 'crm_*' AND length(id) = 30),
    CONSTRAINT session_id_is_not_empty CHECK (session_id <> ''),
    CONSTRAINT type_is_known CHECK (type IN ('orientation', 'technical', 'emotional', 'task')),
    CONSTRAINT priority_is_known CHECK (priority IN ('HIGH', 'MEDIUM', 'LOW')),
    CONSTRAINT summary_is_not_empty CHECK (summary <> ''),
    FOREIGN KEY(agent_id) REFERENCES agents (id)
);
CREATE INDEX crumbs_by_agent ON crumbs (agent_id, left_at);
CREATE INDEX crumbs_by_session ON crumbs (session_id);

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
    PRIMARY KEY (id),
    UNIQUE (merged_into, merged_as),
    CONSTRAINT id_is_of_the_moment CHECK (id GLOB 'mem_*' AND length(id) = 30),
    CONSTRAINT realm_is_known CHECK (realm IN ('private', 'village', 'bridge')),
    CONSTRAINT layer_is_known CHECK (layer IN ('sensory', 'working', 'long_term', 'cortex')),
    CONSTRAINT type_is_known CHECK (type IN ('fact', 'dialogue', 'observation', 'question',
        'cultural', 'agent_profile')),
    CONSTRAINT text_is_not_empty CHECK (text <> ''),
    CONSTRAINT text_hash_is_a_digest CHECK (length(text_hash) = 32),
    CONSTRAINT status_is_known CHECK (status IN ('active', 'merged', 'archived')),
    CONSTRAINT merged_has_a_whole CHECK ((status = 'merged') = (merged_into IS NOT NULL)),
    CONSTRAINT merge_says_how CHECK ((merged_into IS NULL) = (merged_as IS NULL) AND (merged_into IS
        NULL) = (merged_at IS NULL) AND (merged_into IS NULL) = (merged_by IS NULL)),
    CONSTRAINT merged_into_another CHECK (merged_into <> id),
    CONSTRAINT merged_as_is_at_least_0 CHECK (merged_as >= 0),
    CONSTRAINT merged_by_is_known CHECK (merged_by IN ('rules', 'nli', 'llm', 'person')),
    FOREIGN KEY(agent_id) REFERENCES agents (id),
    FOREIGN KEY(merged_into) REFERENCES memories (id)
);
CREATE INDEX memories_by_agent ON memories (agent_id, realm, created_at);
CREATE INDEX memories_by_text ON memories (text_hash);
CREATE INDEX memories_by_thread ON memories (thread, created_at);
CREATE UNIQUE INDEX memories_said_once ON memories (realm, agent_id, thread, text_hash) WHERE status
        = 'active' AND type IN ('fact', 'observation');

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
) WITHOUT ROWID;
CREATE INDEX principle_links_by_target ON principle_links (target_id);

CREATE TABLE cluster_insights (
    insight_id TEXT NOT NULL,
    cluster_id TEXT NOT NULL,
    PRIMARY KEY (insight_id),
    FOREIGN KEY(insight_id) REFERENCES insights (id),
    FOREIGN KEY(cluster_id) REFERENCES clusters (id)
) WITHOUT ROWID;
CREATE INDEX cluster_insights_by_cluster ON cluster_insights (cluster_id);

CREATE TABLE memory_agents (
    memory_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    PRIMARY KEY (memory_id, agent_id),
    FOREIGN KEY(memory_id) REFERENCES memories (id),
    FOREIGN KEY(agent_id) REFERENCES agents (id)
) WITHOUT ROWID;
CREATE INDEX memory_agents_by_agent ON memory_agents (agent_id);

CREATE TABLE memory_attention (
    memory_id TEXT NOT NULL,
    access_count INTEGER DEFAULT 0 NOT NULL,
    accessed_at INTEGER,
    attention REAL NOT NULL,
    weighed_at INTEGER NOT NULL,
    PRIMARY KEY (memory_id),
    CONSTRAINT access_count_is_at_least_0 CHECK (access_count >= 0),
    CONSTRAINT attention_is_in_range CHECK (attention BETWEEN 0 AND 2),
    FOREIGN KEY(memory_id) REFERENCES memories (id)
) WITHOUT ROWID;

CREATE TABLE memory_replies (
    memory_id TEXT NOT NULL,
    replied_id TEXT NOT NULL,
    PRIMARY KEY (memory_id, replied_id),
    CONSTRAINT replies_to_another CHECK (memory_id <> replied_id),
    FOREIGN KEY(memory_id) REFERENCES memories (id),
    FOREIGN KEY(replied_id) REFERENCES memories (id)
) WITHOUT ROWID;
CREATE INDEX memory_replies_by_replied ON memory_replies (replied_id);

CREATE TABLE memory_tags (
    memory_id TEXT NOT NULL,
    tag TEXT NOT NULL,
    PRIMARY KEY (memory_id, tag),
    CONSTRAINT tag_is_not_empty CHECK (tag <> ''),
    FOREIGN KEY(memory_id) REFERENCES memories (id)
) WITHOUT ROWID;
CREATE INDEX memory_tags_by_tag ON memory_tags (tag);
