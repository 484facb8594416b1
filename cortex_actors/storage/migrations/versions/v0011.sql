-- Agents judge pairs, too: they are among those who may have decided. SQLite changes no check, so
-- the tables are made again.
CREATE TABLE new_contradictions (
    id TEXT NOT NULL,
    insight_a TEXT NOT NULL,
    insight_b TEXT NOT NULL,
    type TEXT NOT NULL,
    similarity REAL,
    confidence REAL DEFAULT 1 NOT NULL,
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
INSERT INTO new_contradictions (id, insight_a, insight_b, type, similarity, confidence, detected_by,
    decided_by, reason, detected_at, status, resolved_at, kept_id, resolution) SELECT id, insight_a,
    insight_b, type, similarity, confidence, detected_by, decided_by, reason, detected_at, status,
    resolved_at, kept_id, resolution FROM contradictions;
DROP TABLE contradictions;
ALTER TABLE new_contradictions RENAME TO contradictions;
CREATE INDEX contradictions_by_other ON contradictions (insight_b);
CREATE INDEX contradictions_by_kept ON contradictions (kept_id);
CREATE INDEX contradictions_by_status ON contradictions (status);
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
    CONSTRAINT lesser_is_the_source CHECK (source_id < target_id OR (type = 'depends_on'
        AND source_id <> target_id)),
    CONSTRAINT strength_is_a_share CHECK (strength BETWEEN 0 AND 1),
    CONSTRAINT decided_by_is_known CHECK (decided_by IN ('rules', 'nli', 'llm', 'agent', 'person')),
    CONSTRAINT reason_is_not_empty CHECK (reason <> ''),
    FOREIGN KEY (source_id) REFERENCES principles (id),
    FOREIGN KEY (target_id) REFERENCES principles (id)
) WITHOUT ROWID;
INSERT INTO new_principle_links (source_id, target_id, type, strength, decided_by, reason,
    linked_at) SELECT source_id, target_id, type, strength, decided_by, reason, linked_at FROM
    principle_links;
DROP TABLE principle_links;
ALTER TABLE new_principle_links RENAME TO principle_links;
CREATE INDEX principle_links_by_target ON principle_links (target_id);
CREATE TABLE new_verdicts (
    "key" BLOB NOT NULL,
    decider TEXT NOT NULL,
    name TEXT NOT NULL,
    question TEXT NOT NULL,
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
INSERT INTO new_verdicts (key, decider, name, question, one, other, relation, answer, at) SELECT
    key, decider, name, question, one, other, relation, answer, at FROM verdicts;
DROP TABLE verdicts;
ALTER TABLE new_verdicts RENAME TO verdicts;
CREATE INDEX verdicts_by_time ON verdicts (at);
CREATE INDEX verdicts_of_pairs ON verdicts (decider, one) WHERE one IS NOT NULL;
CREATE TABLE handouts (
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
