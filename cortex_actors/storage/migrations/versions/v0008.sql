-- What a scan that finds nothing changed leaves behind, and which rules of two projects are near.
-- Statements end with a semicolon at the end of a line, and there is no other one.

CREATE TABLE said_since (
    said_id TEXT NOT NULL,
    project_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (said_id, project_id),
    FOREIGN KEY (said_id) REFERENCES insights (id),
    FOREIGN KEY (project_id) REFERENCES projects (id)
) WITHOUT ROWID;

CREATE INDEX said_since_by_project ON said_since (project_id);

CREATE TABLE scans (
    project_id TEXT NOT NULL,
    day INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (project_id, day),
    CONSTRAINT day_is_of_the_time CHECK (day = at / 86400000000),
    FOREIGN KEY (project_id) REFERENCES projects (id)
) WITHOUT ROWID;

CREATE TABLE agreements (
    left_id TEXT NOT NULL,
    right_id TEXT NOT NULL,
    cosine REAL NOT NULL,
    PRIMARY KEY (left_id, right_id),
    CONSTRAINT left_is_the_lesser CHECK (left_id < right_id),
    FOREIGN KEY (left_id) REFERENCES insights (id),
    FOREIGN KEY (right_id) REFERENCES insights (id)
) WITHOUT ROWID;

CREATE INDEX agreements_by_right ON agreements (right_id);

INSERT INTO said_since (said_id, project_id, at)
    SELECT s.said_id, s.project_id, min(o.at) FROM insight_sources AS s
    JOIN observations AS o ON o.source_id = s.id
    WHERE s.withdrawn_at IS NULL GROUP BY s.said_id, s.project_id;
