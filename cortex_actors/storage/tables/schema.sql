-- The ledger's schema as it is today: the only declaration of its tables. `schema.py` makes
-- SQLAlchemy's tables of it, and a test holds what the migrations make equal to it.
--
-- What each table is for: docs/ledger.md. Times are UTC microseconds. Constraints live here, not in
-- code: what must be unique is unique here, and what is one of a few words or between two numbers
-- is checked here; a test holds the words equal to the domain's. Numbers that can be counted are
-- counted (an insight's observations are rows), because a counter that is incremented is wrong
-- after the first replay.
--
-- The form is what `schema.py` reads: a column or a constraint begins with four spaces and goes on
-- with eight, every CHECK of a table has a name, a comment has lines of its own, and a semicolon
-- ends a line and a statement.

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
    -- What was embedded: SHA-256 of heading and content. With the model's id it finds the vector.
    text_hash BLOB NOT NULL,
    -- The insight that says the same and for which its sources count.
    superseded_by TEXT,
    -- What it is: a whole section, or one statement, and then of which kind.
    granularity TEXT DEFAULT 'section' NOT NULL,
    kind TEXT,
    -- How sure the classifier is of the category.
    verdict REAL,
    -- Why a person has to look at it first.
    review TEXT,
    PRIMARY KEY (id),
    CONSTRAINT id_is_of_the_content CHECK (id = 'ins_' || substr(content_hash, 1, 20)),
    CONSTRAINT content_hash_is_a_digest CHECK (length(content_hash) = 64
        AND content_hash NOT GLOB '*[^0-9a-f]*'),
    CONSTRAINT category_is_known CHECK (category IN ('convention', 'principle', 'technique',
        'warning', 'preference', 'fact', 'pattern')),
    CONSTRAINT confidence_is_a_share CHECK (confidence BETWEEN 0 AND 1),
    CONSTRAINT status_is_known CHECK (status IN ('active', 'contradicted', 'superseded',
        'pending_review', 'withdrawn')),
    CONSTRAINT first_is_not_after_last CHECK (first_seen_at <= last_seen_at),
    CONSTRAINT text_hash_is_a_digest CHECK (length(text_hash) = 32),
    CONSTRAINT superseded_has_a_successor CHECK
        ((status = 'superseded') = (superseded_by IS NOT NULL)),
    CONSTRAINT superseded_by_another CHECK (superseded_by <> id),
    CONSTRAINT granularity_is_known CHECK (granularity IN ('section', 'statement')),
    CONSTRAINT kind_is_known CHECK (kind IN ('rule', 'fact', 'command', 'example')),
    CONSTRAINT verdict_is_a_share CHECK (verdict BETWEEN 0 AND 1),
    CONSTRAINT review_is_not_empty CHECK (review <> ''),
    UNIQUE (content_hash),
    FOREIGN KEY (superseded_by) REFERENCES insights (id)
);
CREATE INDEX insights_by_status ON insights (status, confidence);
CREATE INDEX insights_by_superseding ON insights (superseded_by);

CREATE TABLE insight_sources (
    id INTEGER NOT NULL,
    -- For which insight it counts, and whose text stands there: another one's after a merge.
    insight_id TEXT NOT NULL,
    said_id TEXT NOT NULL,
    fragment_id TEXT NOT NULL,
    ordinal INTEGER DEFAULT 0 NOT NULL,
    project_id TEXT NOT NULL,
    path TEXT NOT NULL,
    heading TEXT,
    -- Of which kind the statement is there.
    kind TEXT,
    -- Where in the project it holds: the folder of a nested file or the globs of its front matter.
    scope TEXT DEFAULT '' NOT NULL,
    line_start INTEGER NOT NULL,
    line_end INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    withdrawn_at INTEGER,
    -- Where the text came from.
    trust TEXT DEFAULT 'file' NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (fragment_id, ordinal),
    CONSTRAINT ordinal_is_at_least_0 CHECK (ordinal >= 0),
    CONSTRAINT line_start_is_at_least_1 CHECK (line_start >= 1),
    CONSTRAINT kind_is_known CHECK (kind IN ('rule', 'fact', 'command', 'example')),
    CONSTRAINT start_is_not_behind_end CHECK (line_start <= line_end),
    CONSTRAINT trust_is_known CHECK (trust IN ('file', 'agent', 'import', 'remote')),
    FOREIGN KEY (insight_id) REFERENCES insights (id),
    FOREIGN KEY (said_id) REFERENCES insights (id),
    FOREIGN KEY (project_id) REFERENCES projects (id)
);
CREATE INDEX insight_sources_by_insight ON insight_sources (insight_id);
CREATE INDEX insight_sources_by_said ON insight_sources (said_id);
CREATE INDEX insight_sources_by_path ON insight_sources (path);
CREATE INDEX insight_sources_by_project ON insight_sources (project_id);

-- One row for each revision of a file that said it.
CREATE TABLE observations (
    source_id INTEGER NOT NULL,
    file_hash TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (source_id, file_hash),
    FOREIGN KEY (source_id) REFERENCES insight_sources (id)
) WITHOUT ROWID;

-- Since when a project says a text without interruption.
CREATE TABLE said_since (
    said_id TEXT NOT NULL,
    project_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (said_id, project_id),
    FOREIGN KEY (said_id) REFERENCES insights (id),
    FOREIGN KEY (project_id) REFERENCES projects (id)
) WITHOUT ROWID;
CREATE INDEX said_since_by_project ON said_since (project_id);

-- The first complete look at a project's files on a day (days since 1970, UTC). It observes all
-- that the project says, and writes nothing of what it finds unchanged.
CREATE TABLE scans (
    project_id TEXT NOT NULL,
    day INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (project_id, day),
    CONSTRAINT day_is_of_the_time CHECK (day = at / 86400000000),
    FOREIGN KEY (project_id) REFERENCES projects (id)
) WITHOUT ROWID;

-- Two rules of two projects that are near each other and do not disagree. The lesser id comes
-- first.
CREATE TABLE agreements (
    left_id TEXT NOT NULL,
    right_id TEXT NOT NULL,
    score REAL NOT NULL,
    PRIMARY KEY (left_id, right_id),
    CONSTRAINT left_is_the_lesser CHECK (left_id < right_id),
    FOREIGN KEY (left_id) REFERENCES insights (id),
    FOREIGN KEY (right_id) REFERENCES insights (id)
) WITHOUT ROWID;
CREATE INDEX agreements_by_right ON agreements (right_id);

-- A pair that cannot both hold. The lesser id comes first, so that a pair is there once.
CREATE TABLE contradictions (
    id TEXT NOT NULL,
    insight_a TEXT NOT NULL,
    insight_b TEXT NOT NULL,
    -- How the two statements disagree.
    type TEXT NOT NULL,
    -- NULL where it was found without vectors.
    similarity REAL,
    -- How sure the layer was that decided, 0 to 1.
    confidence REAL DEFAULT 1 NOT NULL,
    -- The actor that came upon it, the layer that decided (rules, the entailment model, the
    -- language model, an agent, or a person), and why.
    detected_by TEXT NOT NULL,
    decided_by TEXT NOT NULL,
    reason TEXT NOT NULL,
    detected_at INTEGER NOT NULL,
    -- How far that is settled.
    status TEXT DEFAULT 'unresolved' NOT NULL,
    resolved_at INTEGER,
    -- Which of the two holds, where one does; who said so, and why.
    kept_id TEXT,
    resolution TEXT,
    PRIMARY KEY (id),
    UNIQUE (insight_a, insight_b),
    CONSTRAINT lesser_comes_first CHECK (insight_a < insight_b),
    CONSTRAINT type_is_known CHECK (type IN ('direct', 'partial', 'contextual')),
    CONSTRAINT similarity_is_a_cosine CHECK (similarity BETWEEN -1 AND 1),
    CONSTRAINT confidence_is_a_share CHECK (confidence BETWEEN 0 AND 1),
    CONSTRAINT decided_by_is_known CHECK (decided_by IN ('rules', 'nli', 'llm', 'agent', 'person')),
    CONSTRAINT reason_is_not_empty CHECK (reason <> ''),
    CONSTRAINT status_is_known CHECK (status IN ('unresolved', 'resolved', 'dismissed')),
    CONSTRAINT settled_at_some_time CHECK ((status = 'unresolved') = (resolved_at IS NULL)),
    CONSTRAINT kept_is_one_of_the_two CHECK (kept_id IS NULL OR (status = 'resolved'
        AND kept_id IN (insight_a, insight_b))),
    FOREIGN KEY (insight_a) REFERENCES insights (id),
    FOREIGN KEY (insight_b) REFERENCES insights (id),
    FOREIGN KEY (kept_id) REFERENCES insights (id)
);
CREATE INDEX contradictions_by_other ON contradictions (insight_b);
CREATE INDEX contradictions_by_kept ON contradictions (kept_id);
CREATE INDEX contradictions_by_status ON contradictions (status);

-- What two insights may be to each other: without effect until a person or a model decides.
CREATE TABLE proposals (
    id TEXT NOT NULL,
    insight_a TEXT NOT NULL,
    insight_b TEXT NOT NULL,
    kind TEXT NOT NULL,
    -- How likely it is so, 0 to 1, and what speaks for it.
    score REAL NOT NULL,
    reason TEXT NOT NULL,
    -- NULL where a vector was missing.
    similarity REAL,
    found_at INTEGER NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (insight_a, insight_b),
    CONSTRAINT lesser_comes_first CHECK (insight_a < insight_b),
    CONSTRAINT kind_is_known CHECK (kind IN ('duplicate', 'contradiction')),
    CONSTRAINT score_is_a_share CHECK (score BETWEEN 0 AND 1),
    CONSTRAINT similarity_is_a_cosine CHECK (similarity BETWEEN -1 AND 1),
    FOREIGN KEY (insight_a) REFERENCES insights (id),
    FOREIGN KEY (insight_b) REFERENCES insights (id)
);
CREATE INDEX proposals_by_other ON proposals (insight_b);

-- What says nearly the same. Centre and coherence are of one model's vectors.
CREATE TABLE clusters (
    id TEXT NOT NULL,
    medoid_id TEXT NOT NULL,
    model TEXT NOT NULL,
    centroid BLOB NOT NULL,
    coherence REAL NOT NULL,
    made_at INTEGER NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT coherence_is_a_cosine CHECK (coherence BETWEEN -1 AND 1),
    FOREIGN KEY (medoid_id) REFERENCES insights (id)
);
CREATE INDEX clusters_by_medoid ON clusters (medoid_id);

-- A partition: an insight is in one cluster at most.
CREATE TABLE cluster_insights (
    insight_id TEXT NOT NULL,
    cluster_id TEXT NOT NULL,
    PRIMARY KEY (insight_id),
    FOREIGN KEY (insight_id) REFERENCES insights (id),
    FOREIGN KEY (cluster_id) REFERENCES clusters (id)
) WITHOUT ROWID;
CREATE INDEX cluster_insights_by_cluster ON cluster_insights (cluster_id);

-- What live insights speak of: two of one slot may contradict however far apart their vectors are.
CREATE TABLE insight_slots (
    slot TEXT NOT NULL,
    insight_id TEXT NOT NULL,
    PRIMARY KEY (slot, insight_id),
    CONSTRAINT slot_is_not_empty CHECK (slot <> ''),
    FOREIGN KEY (insight_id) REFERENCES insights (id)
) WITHOUT ROWID;
CREATE INDEX insight_slots_by_insight ON insight_slots (insight_id);

-- Frequency, recency and links are counted from derivations, observations and links.
CREATE TABLE principles (
    id TEXT NOT NULL,
    content TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    -- What a longer explanation says, where one was written.
    elaboration TEXT,
    category TEXT NOT NULL,
    tags JSON NOT NULL,
    domains JSON NOT NULL,
    confidence REAL NOT NULL,
    -- How good the sources are (Cerno: 0.5 until somebody says otherwise).
    quality REAL DEFAULT (0.5) NOT NULL,
    rank REAL NOT NULL,
    -- Whether it is given out: `decaying` ones are when nothing better is, `pruned` ones not;
    -- neither is deleted, and both come back when they are observed again.
    status TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    -- What was embedded; with the model's id it finds the vector.
    text_hash BLOB NOT NULL,
    -- Made of one insight, the centre of a cluster, or all of a cluster together.
    origin TEXT DEFAULT 'single' NOT NULL,
    -- Runs of decay in a row that found that it should be pruned.
    strikes INTEGER DEFAULT 0 NOT NULL,
    -- Digest of all that its links were drawn from; NULL where they are to be drawn anew.
    linked BLOB,
    PRIMARY KEY (id),
    CONSTRAINT id_is_of_the_content CHECK (id = 'pri_' || substr(content_hash, 1, 20)),
    CONSTRAINT content_hash_is_a_digest CHECK (length(content_hash) = 64
        AND content_hash NOT GLOB '*[^0-9a-f]*'),
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

CREATE TABLE derivations (
    principle_id TEXT NOT NULL,
    insight_id TEXT NOT NULL,
    weight REAL NOT NULL,
    PRIMARY KEY (principle_id, insight_id),
    CONSTRAINT weight_is_a_share CHECK (weight BETWEEN 0 AND 1),
    FOREIGN KEY (principle_id) REFERENCES principles (id),
    FOREIGN KEY (insight_id) REFERENCES insights (id)
) WITHOUT ROWID;
CREATE INDEX derivations_by_insight ON derivations (insight_id);

-- The lesser id is the source, so that a pair is linked once in each way: "a specializes b" is said
-- for "b generalizes a". Only what depends on another has no such opposite, and keeps its order.
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
    CONSTRAINT lesser_is_the_source CHECK (source_id < target_id OR (type = 'depends_on'
        AND source_id <> target_id)),
    CONSTRAINT strength_is_a_share CHECK (strength BETWEEN 0 AND 1),
    CONSTRAINT decided_by_is_known CHECK (decided_by IN ('rules', 'nli', 'llm', 'agent', 'person')),
    CONSTRAINT reason_is_not_empty CHECK (reason <> ''),
    FOREIGN KEY (source_id) REFERENCES principles (id),
    FOREIGN KEY (target_id) REFERENCES principles (id)
) WITHOUT ROWID;
CREATE INDEX principle_links_by_target ON principle_links (target_id);

-- Watched projects.
CREATE TABLE projects (
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    root TEXT NOT NULL,
    added_at INTEGER NOT NULL,
    active INTEGER DEFAULT 1 NOT NULL,
    -- Whether the resolver writes into its files by itself; somebody has said so.
    resolves INTEGER DEFAULT 0 NOT NULL,
    -- Which repository it is a checkout of, where that is known: two checkouts of one are one
    -- voice.
    origin TEXT,
    PRIMARY KEY (id),
    CONSTRAINT active_is_yes_or_no CHECK (active IN (0, 1)),
    CONSTRAINT resolves_is_yes_or_no CHECK (resolves IN (0, 1)),
    UNIQUE (root)
);

-- The audit: one row for each run of an actor of the pipeline, its name as `kind`.
CREATE TABLE runs (
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    -- No foreign key: a run fails because its project is not known, and says so.
    project_id TEXT,
    path TEXT,
    -- Of a resolution: for whom it was written, and whether only to be looked at.
    agent TEXT,
    dry_run INTEGER DEFAULT 0 NOT NULL,
    -- How it ended: the row is written then, with what the run did.
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
-- For pruning, which keeps the last run of each path.
CREATE INDEX runs_by_path ON runs (kind, path, finished_at);

CREATE TABLE file_states (
    path TEXT NOT NULL,
    project_id TEXT NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    ctime_ns INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    seen_at INTEGER NOT NULL,
    -- Why the file could not be read this time; what it said before still stands.
    error TEXT,
    -- Granularity and version of the reader: another one reads the same bytes again.
    read_as TEXT DEFAULT 'section/1' NOT NULL,
    PRIMARY KEY (path),
    CONSTRAINT size_is_at_least_0 CHECK (size >= 0),
    CONSTRAINT read_as_is_not_empty CHECK (read_as <> ''),
    FOREIGN KEY (project_id) REFERENCES projects (id)
);
CREATE INDEX file_states_by_project ON file_states (project_id);

-- The resolver's journal: a row is committed before the file is touched, so that a write which was
-- cut off is finished or taken back at the next start, and each can be undone.
CREATE TABLE file_writes (
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    -- The run's audit row comes with its end, after this one.
    run_id TEXT NOT NULL,
    project_id TEXT NOT NULL,
    path TEXT NOT NULL,
    agent TEXT NOT NULL,
    -- The file as a human left it; NULL when there was none.
    before_sha256 TEXT,
    before_bytes BLOB,
    after_sha256 TEXT NOT NULL,
    -- The name beside the file under which the new bytes wait, and then the displaced ones.
    aside TEXT NOT NULL,
    -- What the exchange really displaced, when that was not `before_bytes`: a human's text, kept.
    displaced BLOB,
    -- `pending` until the file is known to be whole, then `done`, or `abandoned` when somebody else
    -- wrote first; a person may have a `done` one `undone`.
    state TEXT DEFAULT 'pending' NOT NULL,
    began_at INTEGER NOT NULL,
    ended_at INTEGER,
    CONSTRAINT state_is_known CHECK (state IN ('pending', 'done', 'abandoned', 'undone')),
    CONSTRAINT before_has_its_hash CHECK ((before_bytes IS NULL) = (before_sha256 IS NULL)),
    CONSTRAINT what_ended_is_not_pending CHECK ((state = 'pending') = (ended_at IS NULL)),
    FOREIGN KEY (project_id) REFERENCES projects (id)
);
CREATE INDEX file_writes_by_path ON file_writes (path);
CREATE INDEX file_writes_by_project ON file_writes (project_id);
-- Nobody begins a write where another has not ended.
CREATE UNIQUE INDEX file_writes_pending ON file_writes (path) WHERE state = 'pending';

-- One row for each thing found in a fragment; it ends when the fragment no longer says it.
CREATE TABLE alerts (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    -- What was met: characters that nobody sees, something secret, words meant to take an agent
    -- over.
    kind TEXT NOT NULL,
    project_id TEXT NOT NULL,
    path TEXT NOT NULL,
    fragment_id TEXT NOT NULL,
    line_start INTEGER NOT NULL,
    line_end INTEGER NOT NULL,
    detail TEXT NOT NULL,
    -- Of a secret, never the secret: tells whether two places hold the same one.
    fingerprint TEXT,
    found_at INTEGER NOT NULL,
    ended_at INTEGER,
    UNIQUE (path, fragment_id, kind, detail),
    CONSTRAINT kind_is_known CHECK (kind IN ('hidden_unicode', 'secret', 'injection')),
    CONSTRAINT line_start_is_at_least_1 CHECK (line_start >= 1),
    CONSTRAINT start_is_not_behind_end CHECK (line_start <= line_end),
    CONSTRAINT detail_is_not_empty CHECK (detail <> ''),
    FOREIGN KEY (project_id) REFERENCES projects (id)
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
    FOREIGN KEY (insight_id) REFERENCES insights (id)
);

-- Whether a principle may be written into files of other projects. A principle's id is made of its
-- text's hash: other words are another id, about which nobody has decided.
CREATE TABLE approvals (
    -- No foreign key: a decision outlasts the principle.
    principle_id TEXT NOT NULL,
    decision TEXT NOT NULL,
    decided_by TEXT NOT NULL,
    -- How a person said so: in the review, by accepting a diff, or by asking for a write before
    -- there were approvals.
    way TEXT NOT NULL,
    at INTEGER NOT NULL,
    note TEXT,
    -- When what it is about was revoked; lifting that revocation makes it count again.
    ended_at INTEGER,
    PRIMARY KEY (principle_id),
    CONSTRAINT decision_is_known CHECK (decision IN ('approved', 'rejected')),
    CONSTRAINT decided_by_is_not_empty CHECK (decided_by <> ''),
    CONSTRAINT way_is_known CHECK (way IN ('review', 'diff', 'earlier')),
    CONSTRAINT note_is_not_empty CHECK (note <> '')
);

-- What a person took back; it counts until that is lifted.
CREATE TABLE revocations (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    -- An id, or a file's path. No foreign key: what it names may be gone because of it.
    "key" TEXT NOT NULL,
    note TEXT,
    at INTEGER NOT NULL,
    ended_at INTEGER,
    CONSTRAINT kind_is_known CHECK (kind IN ('project', 'path', 'insight', 'principle')),
    CONSTRAINT key_is_not_empty CHECK (key <> ''),
    CONSTRAINT note_is_not_empty CHECK (note <> '')
);
CREATE UNIQUE INDEX revocations_open ON revocations (kind, "key") WHERE ended_at IS NULL;

-- One row for each file and the agent it is written for; the runs are the history.
CREATE TABLE resolutions (
    path TEXT NOT NULL,
    agent TEXT NOT NULL,
    project_id TEXT NOT NULL,
    -- The run's audit row comes with its end; it is pruned before this one.
    run_id TEXT NOT NULL,
    -- The human's part of the file, and all that went into the section, as hashes.
    revision TEXT NOT NULL,
    inputs TEXT NOT NULL,
    -- What we wrote between the marks, to show what a human changed there.
    section TEXT NOT NULL,
    -- How it ended: `edited` when a human wrote inside our section.
    state TEXT NOT NULL,
    reason TEXT,
    resolved_at INTEGER NOT NULL,
    PRIMARY KEY (path, agent),
    CONSTRAINT state_is_known CHECK (state IN ('written', 'unchanged', 'edited', 'refused')),
    CONSTRAINT reason_is_not_empty CHECK (reason <> ''),
    FOREIGN KEY (project_id) REFERENCES projects (id)
);
CREATE INDEX resolutions_by_project ON resolutions (project_id);

-- The bullets of that section, in their order: what `blame` is asked about. They are written
-- together with the row above, and go with it.
CREATE TABLE resolved_bullets (
    path TEXT NOT NULL,
    agent TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    -- No foreign key: a principle may be revoked before the file is written anew.
    principle_id TEXT NOT NULL,
    text TEXT NOT NULL,
    "conflict" INTEGER DEFAULT 0 NOT NULL,
    PRIMARY KEY (path, agent, ordinal),
    CONSTRAINT ordinal_is_at_least_0 CHECK (ordinal >= 0),
    CONSTRAINT text_is_not_empty CHECK (text <> ''),
    CONSTRAINT conflict_is_yes_or_no CHECK (conflict IN (0, 1))
) WITHOUT ROWID;
CREATE INDEX resolved_bullets_by_principle ON resolved_bullets (principle_id);

CREATE TABLE memories (
    id TEXT NOT NULL,
    realm TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    -- Empty for none, so that what must be unique within a thread is unique without one, too.
    thread TEXT DEFAULT '' NOT NULL,
    layer TEXT NOT NULL,
    type TEXT NOT NULL,
    text TEXT NOT NULL,
    abstract TEXT NOT NULL,
    summary TEXT NOT NULL,
    -- SHA-256 of what is embedded; equal texts have equal ones.
    text_hash BLOB NOT NULL,
    status TEXT DEFAULT 'active' NOT NULL,
    -- The memory it is part of now, in which place (0 is what the merge began with), since when,
    -- which layer decided and why. Following this leads to the active memory, for ever.
    merged_into TEXT,
    merged_as INTEGER,
    merged_at INTEGER,
    merged_by TEXT,
    merged_why TEXT,
    created_at INTEGER NOT NULL,
    -- When it came to its layer.
    layer_since INTEGER NOT NULL,
    -- Who spoke; `text` begins with it then.
    role TEXT DEFAULT '' NOT NULL,
    -- Who had it saved: the owner, or the agent whose token it was.
    saved_by TEXT DEFAULT 'owner' NOT NULL,
    trust TEXT DEFAULT 'agent' NOT NULL,
    -- When what it tells of began and ended.
    said_from INTEGER,
    said_until INTEGER,
    promoted_at INTEGER,
    -- Since when it is kept as it is: never merged, never faded.
    pinned_at INTEGER,
    -- What holds instead, and since when.
    replaced_by TEXT,
    replaced_at INTEGER,
    archived_at INTEGER,
    -- 1 while it has still to be compared with the others: it was saved without a vector.
    merge_due INTEGER DEFAULT 0 NOT NULL,
    -- The project it belongs to; empty for a global one, as with `thread`. No foreign key for that.
    project_id TEXT DEFAULT '' NOT NULL,
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
    CONSTRAINT merge_says_how CHECK ((merged_into IS NULL) = (merged_as IS NULL)
        AND (merged_into IS NULL) = (merged_at IS NULL)
        AND (merged_into IS NULL) = (merged_by IS NULL)),
    CONSTRAINT merged_into_another CHECK (merged_into <> id),
    CONSTRAINT merged_as_is_at_least_0 CHECK (merged_as >= 0),
    CONSTRAINT merged_by_is_known CHECK (merged_by IN ('rules', 'nli', 'llm', 'person')),
    CONSTRAINT saved_by_is_not_empty CHECK (saved_by <> ''),
    CONSTRAINT trust_is_known CHECK (trust IN ('file', 'agent', 'import', 'remote')),
    CONSTRAINT said_from_is_not_behind_until CHECK ((said_from IS NULL) = (said_until IS NULL)
        AND (said_from IS NULL OR said_from <= said_until)),
    CONSTRAINT superseded_says_by_what CHECK ((status = 'superseded') = (replaced_by IS NOT NULL)
        AND (replaced_by IS NULL) = (replaced_at IS NULL)),
    CONSTRAINT replaced_by_another CHECK (replaced_by <> id),
    CONSTRAINT archived_says_when CHECK ((status = 'archived') = (archived_at IS NOT NULL)),
    CONSTRAINT merge_due_is_yes_or_no CHECK (merge_due IN (0, 1)),
    FOREIGN KEY (agent_id) REFERENCES agents (id),
    FOREIGN KEY (merged_into) REFERENCES memories (id),
    FOREIGN KEY (replaced_by) REFERENCES memories (id)
);
CREATE INDEX memories_by_agent ON memories (agent_id, realm, created_at);
CREATE INDEX memories_by_thread ON memories (thread, created_at);
CREATE INDEX memories_by_text ON memories (text_hash);
CREATE INDEX memories_by_project ON memories (project_id, created_at);
CREATE INDEX memories_replaced ON memories (replaced_by);
CREATE INDEX memories_due ON memories (id) WHERE merge_due = 1;
-- What somebody remembers twice is one memory. On a bridge the same words to other readers are
-- another memory.
CREATE UNIQUE INDEX memories_said_once
    ON memories (realm, agent_id, thread, project_id, text_hash)
    WHERE status = 'active' AND type IN ('fact', 'observation') AND realm != 'bridge';

CREATE TABLE memory_tags (
    memory_id TEXT NOT NULL,
    tag TEXT NOT NULL,
    PRIMARY KEY (memory_id, tag),
    CONSTRAINT tag_is_not_empty CHECK (tag <> ''),
    FOREIGN KEY (memory_id) REFERENCES memories (id)
) WITHOUT ROWID;
CREATE INDEX memory_tags_by_tag ON memory_tags (tag);

-- Whom a memory is about or for; of a bridge, who may read it beside its author.
CREATE TABLE memory_agents (
    memory_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    PRIMARY KEY (memory_id, agent_id),
    FOREIGN KEY (memory_id) REFERENCES memories (id),
    FOREIGN KEY (agent_id) REFERENCES agents (id)
) WITHOUT ROWID;
CREATE INDEX memory_agents_by_agent ON memory_agents (agent_id);

-- Which memories a post answers.
CREATE TABLE memory_replies (
    memory_id TEXT NOT NULL,
    replied_id TEXT NOT NULL,
    PRIMARY KEY (memory_id, replied_id),
    CONSTRAINT replies_to_another CHECK (memory_id <> replied_id),
    FOREIGN KEY (memory_id) REFERENCES memories (id),
    FOREIGN KEY (replied_id) REFERENCES memories (id)
) WITHOUT ROWID;
CREATE INDEX memory_replies_by_replied ON memory_replies (replied_id);

-- What changes when a memory is read, apart from its text: written later, many at once, and a
-- crash may lose the last of it. Attention is what the formula gave at `weighed_at`.
CREATE TABLE memory_attention (
    memory_id TEXT NOT NULL,
    access_count INTEGER DEFAULT 0 NOT NULL,
    -- NULL until it is read for the first time.
    accessed_at INTEGER,
    -- The most generous formula gives 2.
    attention REAL NOT NULL,
    weighed_at INTEGER NOT NULL,
    -- When it will be old enough for the next layer; NULL while it does not wait for that.
    due_at INTEGER,
    PRIMARY KEY (memory_id),
    CONSTRAINT access_count_is_at_least_0 CHECK (access_count >= 0),
    CONSTRAINT attention_is_in_range CHECK (attention BETWEEN 0 AND 2),
    FOREIGN KEY (memory_id) REFERENCES memories (id)
) WITHOUT ROWID;
CREATE INDEX memory_attention_due ON memory_attention (due_at) WHERE due_at IS NOT NULL;

-- Since when until when a memory was active: what was believed on a date is asked here alone.
CREATE TABLE beliefs (
    memory_id TEXT NOT NULL,
    began_at INTEGER NOT NULL,
    -- NULL while it is active.
    ended_at INTEGER,
    PRIMARY KEY (memory_id, began_at),
    CONSTRAINT began_is_not_behind_ended CHECK (ended_at >= began_at),
    FOREIGN KEY (memory_id) REFERENCES memories (id)
) WITHOUT ROWID;
CREATE INDEX beliefs_by_moment ON beliefs (began_at);
CREATE UNIQUE INDEX beliefs_open ON beliefs (memory_id) WHERE ended_at IS NULL;

-- What was done with memories, and what has to be known to undo it: never a text. No foreign key:
-- that a memory was forgotten is kept after it has gone.
CREATE TABLE memory_changes (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    -- The other memories it was about.
    others JSON DEFAULT '[]' NOT NULL,
    "before" JSON DEFAULT '{}' NOT NULL,
    -- The owner, an agent, or the actor that did it.
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

-- Pairs that a split parted: they are not merged by themselves again.
CREATE TABLE memory_apart (
    left_id TEXT NOT NULL,
    right_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    reason TEXT,
    PRIMARY KEY (left_id, right_id),
    CONSTRAINT left_is_the_lesser CHECK (left_id < right_id),
    CONSTRAINT reason_is_not_empty CHECK (reason <> ''),
    FOREIGN KEY (left_id) REFERENCES memories (id),
    FOREIGN KEY (right_id) REFERENCES memories (id)
) WITHOUT ROWID;
CREATE INDEX memory_apart_by_right ON memory_apart (right_id);

-- Pairs that cannot both hold; `ended_at` when somebody decided, or one of the two is gone.
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
    FOREIGN KEY (left_id) REFERENCES memories (id),
    FOREIGN KEY (right_id) REFERENCES memories (id)
) WITHOUT ROWID;
CREATE INDEX memory_conflicts_by_right ON memory_conflicts (right_id);

-- Who remembers and posts: an id, and the profile that others see.
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
    CONSTRAINT color_is_hexadecimal CHECK
        (color GLOB '#[0-9A-Fa-f][0-9A-Fa-f][0-9A-Fa-f][0-9A-Fa-f][0-9A-Fa-f][0-9A-Fa-f]')
);

-- Whether something is unfinished is asked of `unfinished`: an empty list is `[]`.
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
    -- Kind of thing -> what to look up.
    links JSON DEFAULT '{}' NOT NULL,
    if_disoriented JSON DEFAULT '[]' NOT NULL,
    left_at INTEGER NOT NULL,
    -- Who had it left: the owner, or the agent whose token it was; `import` for one from a file.
    saved_by TEXT DEFAULT 'owner' NOT NULL,
    -- As of a memory.
    project_id TEXT DEFAULT '' NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT id_is_of_the_moment CHECK (id GLOB 'crm_*' AND length(id) = 30),
    CONSTRAINT session_id_is_not_empty CHECK (session_id <> ''),
    CONSTRAINT type_is_known CHECK (type IN ('orientation', 'technical', 'emotional', 'task')),
    CONSTRAINT priority_is_known CHECK (priority IN ('HIGH', 'MEDIUM', 'LOW')),
    CONSTRAINT summary_is_not_empty CHECK (summary <> ''),
    CONSTRAINT saved_by_is_not_empty CHECK (saved_by <> ''),
    FOREIGN KEY (agent_id) REFERENCES agents (id)
);
CREATE INDEX crumbs_by_agent ON crumbs (agent_id, left_at);
CREATE INDEX crumbs_by_session ON crumbs (session_id);

-- Posts of the village and of bridges that were not compared with what other agents say yet; the
-- row goes when they were.
CREATE TABLE posts_due (
    memory_id TEXT NOT NULL,
    PRIMARY KEY (memory_id),
    FOREIGN KEY (memory_id) REFERENCES memories (id)
) WITHOUT ROWID;

-- What several agents were found to say alike; a group of posts is told of once, for ever.
CREATE TABLE convergences (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    likeness REAL NOT NULL,
    found_at INTEGER NOT NULL,
    CONSTRAINT kind_is_known CHECK (kind IN ('HARMONY', 'CONSENSUS')),
    CONSTRAINT likeness_is_a_cosine CHECK (likeness BETWEEN -1 AND 1)
);

CREATE TABLE convergence_memories (
    convergence_id INTEGER NOT NULL,
    memory_id TEXT NOT NULL,
    PRIMARY KEY (convergence_id, memory_id),
    FOREIGN KEY (convergence_id) REFERENCES convergences (id),
    FOREIGN KEY (memory_id) REFERENCES memories (id)
) WITHOUT ROWID;
CREATE INDEX convergence_memories_by_memory ON convergence_memories (memory_id);

-- One row for each piece of a document, in the order of the document.
CREATE TABLE knowledge_chunks (
    id TEXT NOT NULL,
    -- A file's path or an address.
    source TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    topic TEXT NOT NULL,
    title TEXT NOT NULL,
    -- The headings above it, outermost first.
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
-- What a document no longer says keeps its row, and its place goes to another.
CREATE UNIQUE INDEX knowledge_chunks_in_place ON knowledge_chunks (source, ordinal)
    WHERE status = 'active';
CREATE INDEX knowledge_chunks_by_topic ON knowledge_chunks (topic);
CREATE INDEX knowledge_chunks_by_text ON knowledge_chunks (text_hash);

-- One row for each document that was read: one that has not changed costs a hash.
CREATE TABLE documents (
    -- A file's path or an address.
    source TEXT NOT NULL,
    -- SHA-256 of its bytes.
    content_hash BLOB NOT NULL,
    -- The version of what read it.
    read_as INTEGER NOT NULL,
    topic TEXT NOT NULL,
    title TEXT NOT NULL,
    tags JSON DEFAULT '[]' NOT NULL,
    -- Bytes.
    size INTEGER NOT NULL,
    -- Secrets that were taken out.
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

CREATE TABLE events (
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,
    topic TEXT NOT NULL,
    payload JSON NOT NULL,
    at INTEGER NOT NULL,
    source TEXT NOT NULL,
    -- What the publisher calls this event, so that saying it again is saying it once.
    idempotency_key TEXT,
    CONSTRAINT id_is_of_the_moment CHECK (id GLOB 'evt_*' AND length(id) = 30),
    CONSTRAINT idempotency_key_is_not_empty CHECK (idempotency_key <> ''),
    UNIQUE (id)
);
-- Only of those that have one: most have none, and an entry for each would cost every publish.
CREATE UNIQUE INDEX events_by_idempotency_key ON events (idempotency_key)
    WHERE idempotency_key IS NOT NULL;

CREATE TABLE deliveries (
    consumer TEXT NOT NULL,
    seq INTEGER NOT NULL,
    "key" TEXT,
    attempts INTEGER DEFAULT 0 NOT NULL,
    -- Not handed out before this time.
    due_at INTEGER DEFAULT 0 NOT NULL,
    error TEXT,
    PRIMARY KEY (consumer, seq),
    CONSTRAINT attempts_is_at_least_0 CHECK (attempts >= 0),
    CONSTRAINT due_at_is_at_least_0 CHECK (due_at >= 0),
    FOREIGN KEY (seq) REFERENCES events (seq)
) WITHOUT ROWID;
CREATE INDEX deliveries_by_key ON deliveries (consumer, "key");
CREATE INDEX deliveries_by_due ON deliveries (consumer, due_at) WHERE due_at > 0;
-- A foreign key is looked up from both ends: without these, removing an event reads everything.
CREATE INDEX deliveries_by_seq ON deliveries (seq);

CREATE TABLE dead_letters (
    consumer TEXT NOT NULL,
    seq INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    error TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (consumer, seq),
    CONSTRAINT attempts_is_at_least_1 CHECK (attempts >= 1),
    FOREIGN KEY (seq) REFERENCES events (seq)
) WITHOUT ROWID;
CREATE INDEX dead_letters_by_seq ON dead_letters (seq);

-- What is done by the clock, and when it was done last, by whichever life of the daemon.
CREATE TABLE jobs (
    name TEXT NOT NULL,
    -- Seconds between two runs, and by how many of them a run may come later.
    every_s REAL NOT NULL,
    jitter_s REAL DEFAULT (0) NOT NULL,
    started_at INTEGER,
    finished_at INTEGER,
    due_at INTEGER,
    -- How the last run ended.
    state TEXT,
    -- What the last run said, or why it failed.
    said TEXT,
    PRIMARY KEY (name),
    CONSTRAINT every_s_is_above_0 CHECK (every_s > 0),
    CONSTRAINT jitter_s_is_at_least_0 CHECK (jitter_s >= 0),
    CONSTRAINT state_is_known CHECK (state IN ('done', 'failed'))
);

-- What was decided about texts, and by whom: the answer of a model, or what an agent or a person
-- said of two.
CREATE TABLE verdicts (
    -- SHA-256 of who decided, how it was asked, and the texts; one for two texts of a person's, and
    -- one for each time that an agent said something.
    "key" BLOB NOT NULL,
    -- The layer that decided, and the name of the model or of who said it.
    decider TEXT NOT NULL,
    name TEXT NOT NULL,
    question TEXT NOT NULL,
    -- Of a comparison: the content hashes of both texts, the lesser first, and what they are to each
    -- other; NULL where the layer is not sure, or an agent's word was taken back.
    one TEXT,
    other TEXT,
    relation TEXT,
    answer JSON NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY ("key"),
    CONSTRAINT key_is_a_digest CHECK (length(key) = 32),
    CONSTRAINT decider_is_known CHECK (decider IN ('rules', 'nli', 'llm', 'agent', 'person')),
    CONSTRAINT relation_is_known CHECK (relation IN ('contradiction', 'same', 'related', 'unrelated'))
);
CREATE INDEX verdicts_by_time ON verdicts (at);
CREATE INDEX verdicts_of_pairs ON verdicts (decider, one) WHERE one IS NOT NULL;

-- Pairs that an agent was given to judge, so that it is given none twice; the rows of a pair go when
-- it is decided.
CREATE TABLE handouts (
    -- The id of the pair, what was asked about it, and the two texts; the lesser id comes first.
    item TEXT NOT NULL,
    agent TEXT NOT NULL,
    kind TEXT NOT NULL,
    insight_a TEXT NOT NULL,
    insight_b TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (item, agent),
    CONSTRAINT agent_is_not_empty CHECK (agent <> ''),
    CONSTRAINT kind_is_known CHECK (kind IN ('contradiction', 'duplicate', 'offer'))
) WITHOUT ROWID;

-- Small facts of the home, by name.
CREATE TABLE meta (
    name TEXT NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (name),
    CONSTRAINT name_is_not_empty CHECK (name <> '')
);

-- The one row that says who may write: a daemon that was paused and superseded has an old epoch.
CREATE TABLE owner (
    one INTEGER NOT NULL CHECK (one = 1),
    epoch INTEGER NOT NULL,
    pid INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    PRIMARY KEY (one)
);

-- Who holds what only one process may do at a time; with one machine nobody asks.
CREATE TABLE leases (
    name TEXT NOT NULL,
    holder TEXT NOT NULL,
    -- Grows with each holder; a write under an older one is refused.
    epoch INTEGER NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (name),
    CONSTRAINT holder_is_not_empty CHECK (holder <> ''),
    CONSTRAINT epoch_is_at_least_1 CHECK (epoch >= 1)
);

-- Which models have made vectors; those of two are never compared.
CREATE TABLE embedding_models (
    id TEXT NOT NULL,
    dimension INTEGER NOT NULL,
    -- `coming` while its vectors are being made, `active` when they answer, `retired` afterwards.
    state TEXT NOT NULL,
    -- When it came to that state.
    since INTEGER NOT NULL,
    -- By which its provider is made again; NULL where a ledger's earlier version did not say.
    provider TEXT,
    name TEXT,
    PRIMARY KEY (id),
    CONSTRAINT dimension_is_at_least_1 CHECK (dimension >= 1),
    CONSTRAINT state_is_known CHECK (state IN ('coming', 'active', 'retired'))
);
-- One answers, and one at most is on its way.
CREATE UNIQUE INDEX embedding_models_in_use ON embedding_models (state) WHERE state != 'retired';

-- What a file was compared by the last time, beside its statements, of which there are vectors below:
-- its beginning and its sections.
CREATE TABLE file_vectors (
    path TEXT NOT NULL,
    model TEXT NOT NULL,
    digest BLOB NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (path, digest)
);
CREATE INDEX file_vectors_by_text ON file_vectors (digest);

CREATE TABLE vectors (
    -- Grows for ever, so that whoever holds vectors in memory asks for those that came since. The
    -- vectors do not lie in the tree of what is unique, on purpose: asking whether there is one
    -- would read them all (18 times as slow at 100,000).
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    model TEXT NOT NULL,
    text_hash BLOB NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE (model, text_hash)
);

-- What the vector index has still to be told, in order.
CREATE TABLE index_ops (
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    collection TEXT NOT NULL,
    item_id TEXT NOT NULL,
    op TEXT NOT NULL CHECK (op IN ('put', 'drop'))
);
CREATE INDEX index_ops_by_item ON index_ops (item_id);

-- Which generation of the index is in use, and up to where it has been told.
CREATE TABLE index_state (
    one INTEGER NOT NULL CHECK (one = 1),
    generation INTEGER NOT NULL,
    -- In the folder's name, too: a ledger that was replaced or restored knows no earlier folder.
    token TEXT NOT NULL,
    model TEXT NOT NULL,
    applied_seq INTEGER NOT NULL,
    PRIMARY KEY (one)
);

-- One row for each text of an item that may be found; only such items have rows. A row is never
-- changed, and its number is never given again: a text that changes gets a new one.
CREATE TABLE passages (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    -- Of the item, as insights or memories of a realm; the index has `<collection>_paired` beside.
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

-- The full-text tables, each with the view that has the texts of its words: the texts lie in
-- `passages` alone. English endings and accents make no difference. No trigger keeps the words:
-- with `trusted_schema` off SQLite refuses a virtual table in one, so `storage/passages.py` writes
-- both in one transaction.
CREATE VIEW passages_alone AS SELECT id, text FROM passages WHERE place IN ('alone', 'both');
CREATE VIRTUAL TABLE words_alone USING fts5(text, content='passages_alone', content_rowid='id',
    tokenize='porter unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE words_alone_terms USING fts5vocab('words_alone', 'row');

CREATE VIEW passages_paired AS SELECT id, text FROM passages WHERE place IN ('paired', 'both');
CREATE VIRTUAL TABLE words_paired USING fts5(text, content='passages_paired', content_rowid='id',
    tokenize='porter unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE words_paired_terms USING fts5vocab('words_paired', 'row');
