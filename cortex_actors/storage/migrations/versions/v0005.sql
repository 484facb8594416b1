-- The fifth schema, written out as it was: a migration must mean the same for ever.
--
-- Statements end with a semicolon at the end of a line, and there is no other one.

-- A principle knows by what its vector is found, what it was made of, and how often in a row it
-- should have been pruned. A source knows where its text came from, a project of which repository
-- it is a checkout. What refers to a table that is made anew is made anew as well.

CREATE TABLE new_projects (
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
    FOREIGN KEY(project_id) REFERENCES new_projects (id)
);

CREATE TABLE new_observations (
    source_id INTEGER NOT NULL,
    file_hash TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (source_id, file_hash),
    FOREIGN KEY(source_id) REFERENCES new_insight_sources (id)
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
    FOREIGN KEY(project_id) REFERENCES new_projects (id)
);

CREATE TABLE new_file_writes (
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
    FOREIGN KEY(project_id) REFERENCES new_projects (id)
);

CREATE TABLE new_alerts (
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
    text_hash BLOB NOT NULL,
    origin TEXT DEFAULT 'single' NOT NULL,
    strikes INTEGER DEFAULT 0 NOT NULL,
    linked BLOB,
    PRIMARY KEY (id),
    CONSTRAINT id_is_of_the_content CHECK (id = 'pri_' || substr(content_hash, 1, 20)),
    CONSTRAINT content_hash_is_a_digest CHECK (length(content_hash) = 64 AND content_hash NOT
        GLOB '*[^0-9a-f]*'),
    CONSTRAINT category_is_known CHECK (category IN ('learning', 'principle', 'moral',
        'heuristic', 'anti_pattern')),
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

CREATE TABLE new_derivations (
    principle_id TEXT NOT NULL,
    insight_id TEXT NOT NULL,
    weight REAL NOT NULL,
    PRIMARY KEY (principle_id, insight_id),
    CONSTRAINT weight_is_a_share CHECK (weight BETWEEN 0 AND 1),
    FOREIGN KEY(principle_id) REFERENCES new_principles (id),
    FOREIGN KEY(insight_id) REFERENCES insights (id)
)
 WITHOUT ROWID;

CREATE TABLE new_principle_links (
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
    FOREIGN KEY(source_id) REFERENCES new_principles (id),
    FOREIGN KEY(target_id) REFERENCES new_principles (id)
)
 WITHOUT ROWID;

INSERT INTO new_projects (id, name, root, added_at, active, resolves)
SELECT id, name, root, added_at, active, resolves FROM projects;
INSERT INTO new_insight_sources (id, insight_id, said_id, fragment_id, ordinal, project_id, path,
    heading, kind, scope, line_start, line_end, seen_at, withdrawn_at)
SELECT id, insight_id, said_id, fragment_id, ordinal, project_id, path, heading, kind, scope,
    line_start, line_end, seen_at, withdrawn_at FROM insight_sources;
INSERT INTO new_observations (source_id, file_hash, at)
SELECT source_id, file_hash, at FROM observations;
INSERT INTO new_file_states (path, project_id, size, mtime_ns, ctime_ns, inode, sha256, seen_at,
    error, read_as)
SELECT path, project_id, size, mtime_ns, ctime_ns, inode, sha256, seen_at, error, read_as FROM
    file_states;
INSERT INTO new_file_writes (seq, run_id, project_id, path, agent, before_sha256, before_bytes,
    after_sha256, aside, displaced, state, began_at, ended_at)
SELECT seq, run_id, project_id, path, agent, before_sha256, before_bytes, after_sha256, aside,
    displaced, state, began_at, ended_at FROM file_writes;
INSERT INTO new_alerts (id, kind, project_id, path, fragment_id, line_start, line_end, detail,
    fingerprint, found_at, ended_at)
SELECT id, kind, project_id, path, fragment_id, line_start, line_end, detail, fingerprint,
    found_at, ended_at FROM alerts;
INSERT INTO new_principles (id, content, content_hash, elaboration, category, tags, domains,
    confidence, quality, rank, status, created_at, text_hash)
SELECT id, content, content_hash, elaboration, category, tags, domains, confidence, quality, rank,
    status, created_at, coalesce((SELECT i.text_hash FROM derivations AS d JOIN insights AS i ON
    i.id = d.insight_id WHERE d.principle_id = principles.id ORDER BY d.weight DESC, i.id LIMIT
    1), zeroblob(32)) FROM principles;
INSERT INTO new_derivations (principle_id, insight_id, weight)
SELECT principle_id, insight_id, weight FROM derivations;
INSERT INTO new_principle_links (source_id, target_id, type, strength, decided_by, reason,
    linked_at)
SELECT source_id, target_id, type, strength, decided_by, reason, linked_at FROM principle_links;

-- Numbers that were given once are not given again, whatever rows are left.
DELETE FROM sqlite_sequence WHERE name = 'new_file_writes';
INSERT INTO sqlite_sequence (name, seq)
SELECT 'new_file_writes', seq FROM sqlite_sequence WHERE name = 'file_writes';
DELETE FROM sqlite_sequence WHERE name = 'new_alerts';
INSERT INTO sqlite_sequence (name, seq)
SELECT 'new_alerts', seq FROM sqlite_sequence WHERE name = 'alerts';

-- The old ones go, children first: what still refers to a row would stop it.
DROP TABLE observations;
DROP TABLE insight_sources;
DROP TABLE file_states;
DROP TABLE file_writes;
DROP TABLE alerts;
DROP TABLE derivations;
DROP TABLE principle_links;
DROP TABLE principles;
DROP TABLE projects;
ALTER TABLE new_projects RENAME TO projects;
ALTER TABLE new_insight_sources RENAME TO insight_sources;
ALTER TABLE new_observations RENAME TO observations;
ALTER TABLE new_file_states RENAME TO file_states;
ALTER TABLE new_file_writes RENAME TO file_writes;
ALTER TABLE new_alerts RENAME TO alerts;
ALTER TABLE new_principles RENAME TO principles;
ALTER TABLE new_derivations RENAME TO derivations;
ALTER TABLE new_principle_links RENAME TO principle_links;
CREATE INDEX insight_sources_by_insight ON insight_sources (insight_id);
CREATE INDEX insight_sources_by_path ON insight_sources (path);
CREATE INDEX insight_sources_by_project ON insight_sources (project_id);
CREATE INDEX insight_sources_by_said ON insight_sources (said_id);
CREATE INDEX file_states_by_project ON file_states (project_id);
CREATE INDEX file_writes_by_path ON file_writes (path);
CREATE INDEX file_writes_by_project ON file_writes (project_id);
CREATE UNIQUE INDEX file_writes_pending ON file_writes (path) WHERE state = 'pending';
CREATE INDEX alerts_by_project ON alerts (project_id);
CREATE INDEX alerts_open ON alerts (path) WHERE ended_at IS NULL;
CREATE INDEX principles_by_rank ON principles (status, rank);
CREATE INDEX derivations_by_insight ON derivations (insight_id);
CREATE INDEX principle_links_by_target ON principle_links (target_id);

-- What a person said about candidates, and which sources count no more.

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

-- What stands in our section of each instruction file.

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
