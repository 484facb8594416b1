-- The sixth schema, written out as it was: a migration must mean the same for ever.
--
-- Statements end with a semicolon at the end of a line, and there is no other one.

-- A memory knows who spoke and who saved it, what replaced it, and since when it is pinned or
-- archived. What refers to a table that is made anew is made anew as well.

CREATE TABLE new_memories (
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
    CONSTRAINT merge_says_how CHECK ((merged_into IS NULL) = (merged_as IS NULL) AND
        (merged_into IS NULL) = (merged_at IS NULL) AND (merged_into IS NULL) = (merged_by IS
        NULL)),
    CONSTRAINT merged_into_another CHECK (merged_into <> id),
    CONSTRAINT merged_as_is_at_least_0 CHECK (merged_as >= 0),
    CONSTRAINT merged_by_is_known CHECK (merged_by IN ('rules', 'nli', 'llm', 'person')),
    CONSTRAINT saved_by_is_not_empty CHECK (saved_by <> ''),
    CONSTRAINT trust_is_known CHECK (trust IN ('file', 'agent', 'import', 'remote')),
    CONSTRAINT said_from_is_not_behind_until CHECK ((said_from IS NULL) = (said_until IS NULL)
        AND (said_from IS NULL OR said_from <= said_until)),
    CONSTRAINT superseded_says_by_what CHECK ((status = 'superseded') = (replaced_by IS NOT
        NULL) AND (replaced_by IS NULL) = (replaced_at IS NULL)),
    CONSTRAINT replaced_by_another CHECK (replaced_by <> id),
    CONSTRAINT archived_says_when CHECK ((status = 'archived') = (archived_at IS NOT NULL)),
    CONSTRAINT merge_due_is_yes_or_no CHECK (merge_due IN (0, 1)),
    FOREIGN KEY(agent_id) REFERENCES agents (id),
    FOREIGN KEY(merged_into) REFERENCES new_memories (id),
    FOREIGN KEY(replaced_by) REFERENCES new_memories (id)
);

CREATE TABLE new_memory_tags (
    memory_id TEXT NOT NULL,
    tag TEXT NOT NULL,
    PRIMARY KEY (memory_id, tag),
    CONSTRAINT tag_is_not_empty CHECK (tag <> ''),
    FOREIGN KEY(memory_id) REFERENCES new_memories (id)
)
 WITHOUT ROWID;

CREATE TABLE new_memory_agents (
    memory_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    PRIMARY KEY (memory_id, agent_id),
    FOREIGN KEY(memory_id) REFERENCES new_memories (id),
    FOREIGN KEY(agent_id) REFERENCES agents (id)
)
 WITHOUT ROWID;

CREATE TABLE new_memory_replies (
    memory_id TEXT NOT NULL,
    replied_id TEXT NOT NULL,
    PRIMARY KEY (memory_id, replied_id),
    CONSTRAINT replies_to_another CHECK (memory_id <> replied_id),
    FOREIGN KEY(memory_id) REFERENCES new_memories (id),
    FOREIGN KEY(replied_id) REFERENCES new_memories (id)
)
 WITHOUT ROWID;

CREATE TABLE new_memory_attention (
    memory_id TEXT NOT NULL,
    access_count INTEGER DEFAULT 0 NOT NULL,
    accessed_at INTEGER,
    attention REAL NOT NULL,
    weighed_at INTEGER NOT NULL,
    due_at INTEGER,
    PRIMARY KEY (memory_id),
    CONSTRAINT access_count_is_at_least_0 CHECK (access_count >= 0),
    CONSTRAINT attention_is_in_range CHECK (attention BETWEEN 0 AND 2),
    FOREIGN KEY(memory_id) REFERENCES new_memories (id)
)
 WITHOUT ROWID;

CREATE TABLE new_crumbs (
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

INSERT INTO new_memories (id, realm, agent_id, thread, layer, type, text, abstract, summary,
    text_hash, status, merged_into, merged_as, merged_at, merged_by, merged_why, created_at,
    layer_since, archived_at)
SELECT id, realm, agent_id, thread, layer, type, text, abstract, summary, text_hash, status,
    merged_into, merged_as, merged_at, merged_by, merged_why, created_at, layer_since, iif(status
    = 'archived', layer_since, NULL) FROM memories;
INSERT INTO new_memory_tags (memory_id, tag)
SELECT memory_id, tag FROM memory_tags;
INSERT INTO new_memory_agents (memory_id, agent_id)
SELECT memory_id, agent_id FROM memory_agents;
INSERT INTO new_memory_replies (memory_id, replied_id)
SELECT memory_id, replied_id FROM memory_replies;
INSERT INTO new_memory_attention (memory_id, access_count, accessed_at, attention, weighed_at)
SELECT memory_id, access_count, accessed_at, attention, weighed_at FROM memory_attention;
INSERT INTO new_crumbs (id, agent_id, session_id, type, priority, summary, discoveries,
    emotional_state, unfinished, links, if_disoriented, left_at)
SELECT id, agent_id, session_id, type, priority, summary, discoveries, emotional_state,
    unfinished, links, if_disoriented, left_at FROM crumbs;

-- The old ones go, children first: what still refers to a row would stop it.
DROP TABLE memory_tags;
DROP TABLE memory_agents;
DROP TABLE memory_replies;
DROP TABLE memory_attention;
DROP TABLE crumbs;
DROP TABLE memories;
ALTER TABLE new_memories RENAME TO memories;
ALTER TABLE new_memory_tags RENAME TO memory_tags;
ALTER TABLE new_memory_agents RENAME TO memory_agents;
ALTER TABLE new_memory_replies RENAME TO memory_replies;
ALTER TABLE new_memory_attention RENAME TO memory_attention;
ALTER TABLE new_crumbs RENAME TO crumbs;
CREATE INDEX memories_by_agent ON memories (agent_id, realm, created_at);
CREATE INDEX memories_by_text ON memories (text_hash);
CREATE INDEX memories_by_thread ON memories (thread, created_at);
CREATE INDEX memories_due ON memories (id) WHERE merge_due = 1;
CREATE INDEX memories_replaced ON memories (replaced_by);
CREATE UNIQUE INDEX memories_said_once ON memories (realm, agent_id, thread, text_hash)
    WHERE status = 'active' AND type IN ('fact', 'observation') AND realm != 'bridge';
CREATE INDEX memory_tags_by_tag ON memory_tags (tag);
CREATE INDEX memory_agents_by_agent ON memory_agents (agent_id);
CREATE INDEX memory_replies_by_replied ON memory_replies (replied_id);
CREATE INDEX memory_attention_due ON memory_attention (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX crumbs_by_agent ON crumbs (agent_id, left_at);
CREATE INDEX crumbs_by_session ON crumbs (session_id);

-- When a memory was active, what was done with it, and what does not go together.

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

-- When an archived one was taken out is not known: it is told of as if from its beginning.
INSERT INTO beliefs (memory_id, began_at, ended_at)
SELECT id, created_at, CASE status WHEN 'active' THEN NULL WHEN 'merged' THEN max(created_at,
    merged_at) ELSE max(created_at, archived_at) END FROM memories;

-- What agents say alike, and which documents were read.

CREATE TABLE posts_due (
    memory_id TEXT NOT NULL,
    PRIMARY KEY (memory_id),
    FOREIGN KEY(memory_id) REFERENCES memories (id)
)
 WITHOUT ROWID;

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
    FOREIGN KEY(convergence_id) REFERENCES convergences (id),
    FOREIGN KEY(memory_id) REFERENCES memories (id)
)
 WITHOUT ROWID;
CREATE INDEX convergence_memories_by_memory ON convergence_memories (memory_id);

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
