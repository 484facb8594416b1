-- The fourth schema, written out as it was: a migration must mean the same for ever.
--
-- Statements end with a semicolon at the end of a line, and there is no other one.

-- Until now an insight was a section, from now on it may be one statement of it. Its sources say
-- whose text stands there, beside the insight they count for: what was said until now counted for
-- itself. Of a file it is known how it was read, so that a reader that sees more reads it again.
-- What refers to a table that is made anew is made anew as well.

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
    FOREIGN KEY(superseded_by) REFERENCES new_insights (id)
);

CREATE TABLE new_insight_sources (
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
    PRIMARY KEY (id),
    UNIQUE (fragment_id, ordinal),
    CONSTRAINT ordinal_is_at_least_0 CHECK (ordinal >= 0),
    CONSTRAINT line_start_is_at_least_1 CHECK (line_start >= 1),
    CONSTRAINT kind_is_known CHECK (kind IN ('rule', 'fact', 'command', 'example')),
    CONSTRAINT start_is_not_behind_end CHECK (line_start <= line_end),
    FOREIGN KEY(insight_id) REFERENCES new_insights (id),
    FOREIGN KEY(said_id) REFERENCES new_insights (id),
    FOREIGN KEY(project_id) REFERENCES projects (id)
);

CREATE TABLE new_observations (
    source_id INTEGER NOT NULL,
    file_hash TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (source_id, file_hash),
    FOREIGN KEY(source_id) REFERENCES new_insight_sources (id)
)
 WITHOUT ROWID;

CREATE TABLE new_contradictions (
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
    CONSTRAINT kept_is_one_of_the_two CHECK (kept_id IS NULL OR (status = 'resolved' AND kept_id
        IN (insight_a, insight_b))),
    FOREIGN KEY(insight_a) REFERENCES new_insights (id),
    FOREIGN KEY(insight_b) REFERENCES new_insights (id),
    FOREIGN KEY(kept_id) REFERENCES new_insights (id)
);

CREATE TABLE new_clusters (
    id TEXT NOT NULL,
    medoid_id TEXT NOT NULL,
    model TEXT NOT NULL,
    centroid BLOB NOT NULL,
    coherence REAL NOT NULL,
    made_at INTEGER NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT coherence_is_a_cosine CHECK (coherence BETWEEN -1 AND 1),
    FOREIGN KEY(medoid_id) REFERENCES new_insights (id)
);

CREATE TABLE new_cluster_insights (
    insight_id TEXT NOT NULL,
    cluster_id TEXT NOT NULL,
    PRIMARY KEY (insight_id),
    FOREIGN KEY(insight_id) REFERENCES new_insights (id),
    FOREIGN KEY(cluster_id) REFERENCES new_clusters (id)
)
 WITHOUT ROWID;

CREATE TABLE new_derivations (
    principle_id TEXT NOT NULL,
    insight_id TEXT NOT NULL,
    weight REAL NOT NULL,
    PRIMARY KEY (principle_id, insight_id),
    CONSTRAINT weight_is_a_share CHECK (weight BETWEEN 0 AND 1),
    FOREIGN KEY(principle_id) REFERENCES principles (id),
    FOREIGN KEY(insight_id) REFERENCES new_insights (id)
)
 WITHOUT ROWID;

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
    read_as TEXT DEFAULT 'section/1' NOT NULL,
    PRIMARY KEY (path),
    CONSTRAINT size_is_at_least_0 CHECK (size >= 0),
    CONSTRAINT read_as_is_not_empty CHECK (read_as <> ''),
    FOREIGN KEY(project_id) REFERENCES projects (id)
);

INSERT INTO new_insights (id, content, content_hash, heading, category, tags, domain, confidence,
    status, first_seen_at, last_seen_at, text_hash, superseded_by)
SELECT id, content, content_hash, heading, category, tags, domain, confidence, status,
    first_seen_at, last_seen_at, text_hash, superseded_by FROM insights;
INSERT INTO new_insight_sources (id, insight_id, fragment_id, ordinal, project_id, path, heading,
    line_start, line_end, seen_at, withdrawn_at, said_id)
SELECT id, insight_id, fragment_id, ordinal, project_id, path, heading, line_start, line_end,
    seen_at, withdrawn_at, insight_id FROM insight_sources;
INSERT INTO new_observations (source_id, file_hash, at)
SELECT source_id, file_hash, at FROM observations;
INSERT INTO new_contradictions (id, insight_a, insight_b, type, similarity, detected_by,
    decided_by, reason, detected_at, status, resolved_at, kept_id, resolution)
SELECT id, insight_a, insight_b, type, similarity, detected_by, decided_by, reason, detected_at,
    status, resolved_at, kept_id, resolution FROM contradictions;
INSERT INTO new_clusters (id, medoid_id, model, centroid, coherence, made_at)
SELECT id, medoid_id, model, centroid, coherence, made_at FROM clusters;
INSERT INTO new_cluster_insights (insight_id, cluster_id)
SELECT insight_id, cluster_id FROM cluster_insights;
INSERT INTO new_derivations (principle_id, insight_id, weight)
SELECT principle_id, insight_id, weight FROM derivations;
INSERT INTO new_file_states (path, project_id, size, mtime_ns, ctime_ns, inode, sha256, seen_at,
    error)
SELECT path, project_id, size, mtime_ns, ctime_ns, inode, sha256, seen_at, error FROM file_states;

DROP TABLE observations;
DROP TABLE insight_sources;
DROP TABLE cluster_insights;
DROP TABLE clusters;
DROP TABLE contradictions;
DROP TABLE derivations;
DROP TABLE insights;
DROP TABLE file_states;
ALTER TABLE new_insights RENAME TO insights;
ALTER TABLE new_insight_sources RENAME TO insight_sources;
ALTER TABLE new_observations RENAME TO observations;
ALTER TABLE new_contradictions RENAME TO contradictions;
ALTER TABLE new_clusters RENAME TO clusters;
ALTER TABLE new_cluster_insights RENAME TO cluster_insights;
ALTER TABLE new_derivations RENAME TO derivations;
ALTER TABLE new_file_states RENAME TO file_states;
CREATE INDEX insights_by_status ON insights (status, confidence);
CREATE INDEX insights_by_superseding ON insights (superseded_by);
CREATE INDEX insight_sources_by_insight ON insight_sources (insight_id);
CREATE INDEX insight_sources_by_path ON insight_sources (path);
CREATE INDEX insight_sources_by_project ON insight_sources (project_id);
CREATE INDEX insight_sources_by_said ON insight_sources (said_id);
CREATE INDEX contradictions_by_kept ON contradictions (kept_id);
CREATE INDEX contradictions_by_other ON contradictions (insight_b);
CREATE INDEX contradictions_by_status ON contradictions (status);
CREATE INDEX clusters_by_medoid ON clusters (medoid_id);
CREATE INDEX cluster_insights_by_cluster ON cluster_insights (cluster_id);
CREATE INDEX derivations_by_insight ON derivations (insight_id);
CREATE INDEX file_states_by_project ON file_states (project_id);

-- What insights speak of: candidates for a contradiction, however far their vectors are apart.

CREATE TABLE insight_slots (
    slot TEXT NOT NULL,
    insight_id TEXT NOT NULL,
    PRIMARY KEY (slot, insight_id),
    CONSTRAINT slot_is_not_empty CHECK (slot <> ''),
    FOREIGN KEY(insight_id) REFERENCES insights (id)
)
 WITHOUT ROWID;
CREATE INDEX insight_slots_by_insight ON insight_slots (insight_id);

-- What somebody should look at, and when it was over.

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

-- What the daemon keeps for itself: answers of models, jobs by the clock, small facts.

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

CREATE TABLE meta (
    name TEXT NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (name),
    CONSTRAINT name_is_not_empty CHECK (name <> '')
);
