-- The seventh schema, written out as it was: a migration must mean the same for ever.
--
-- Statements end with a semicolon at the end of a line, and there is no other one.

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

-- A person let those become principles, whoever says them.
INSERT INTO approvals (principle_id, decision, decided_by, way, at, note)
SELECT 'pri_' || substr(insight_id, 5), 'approved', 'owner', 'review', at, note FROM reviews
WHERE decision = 'approved';

-- What stands in a project that is not written by itself is there because a person asked for that
-- write. What was taken back meanwhile is not approved.
INSERT OR IGNORE INTO approvals (principle_id, decision, decided_by, way, at)
SELECT b.principle_id, 'approved', 'owner', 'earlier', min(f.resolved_at)
FROM resolved_bullets AS b
JOIN resolutions AS f ON f.path = b.path AND f.agent = b.agent
JOIN projects AS o ON o.id = f.project_id AND o.resolves = 0
JOIN principles AS p ON p.id = b.principle_id
WHERE NOT EXISTS (SELECT 1 FROM revocations AS r WHERE r.kind = 'principle' AND r.key = p.id
    AND r.ended_at IS NULL)
GROUP BY b.principle_id;
