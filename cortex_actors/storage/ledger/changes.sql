-- What the writing connection notes of changes, in its memory: see `connection.changed_since`. The
-- first row names the log. A name that comes again gets a new number. Two statements do that,
-- because an "OR REPLACE" in a trigger gives way to what the statement outside says of conflicts.
CREATE TEMP TABLE changed (seq INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE);
INSERT INTO changed (name) VALUES ('log ' || hex(randomblob(8)));
CREATE TEMP VIEW change AS SELECT '' AS name;
CREATE TEMP TRIGGER change_noted INSTEAD OF INSERT ON change
BEGIN DELETE FROM changed WHERE name = NEW.name; INSERT INTO changed (name) VALUES (NEW.name); END;

CREATE TEMP TRIGGER principle_came AFTER INSERT ON main.principles
BEGIN INSERT INTO change VALUES (NEW.id); END;
CREATE TEMP TRIGGER principle_changed AFTER UPDATE ON main.principles
BEGIN INSERT INTO change VALUES (NEW.id); END;
CREATE TEMP TRIGGER principle_went AFTER DELETE ON main.principles
BEGIN INSERT INTO change VALUES (OLD.id); END;

CREATE TEMP TRIGGER insight_came AFTER INSERT ON main.insights
BEGIN INSERT INTO change VALUES (NEW.id); END;
CREATE TEMP TRIGGER insight_changed AFTER UPDATE ON main.insights
    WHEN (OLD.heading, OLD.granularity) IS NOT (NEW.heading, NEW.granularity)
BEGIN INSERT INTO change VALUES (NEW.id); END;
CREATE TEMP TRIGGER insight_went AFTER DELETE ON main.insights
BEGIN INSERT INTO change VALUES (OLD.id); END;

CREATE TEMP TRIGGER source_came AFTER INSERT ON main.insight_sources
BEGIN INSERT INTO change VALUES (NEW.said_id); END;
CREATE TEMP TRIGGER source_changed AFTER UPDATE ON main.insight_sources
    WHEN (OLD.said_id, OLD.scope, OLD.withdrawn_at) IS NOT (NEW.said_id, NEW.scope, NEW.withdrawn_at)
BEGIN INSERT INTO change VALUES (OLD.said_id); INSERT INTO change VALUES (NEW.said_id); END;
CREATE TEMP TRIGGER source_went AFTER DELETE ON main.insight_sources
BEGIN INSERT INTO change VALUES (OLD.said_id); END;

CREATE TEMP TRIGGER pair_came AFTER INSERT ON main.contradictions
BEGIN INSERT INTO change VALUES (NEW.insight_a); END;
CREATE TEMP TRIGGER pair_changed AFTER UPDATE ON main.contradictions
BEGIN INSERT INTO change VALUES (NEW.insight_a); END;
CREATE TEMP TRIGGER pair_went AFTER DELETE ON main.contradictions
BEGIN INSERT INTO change VALUES (OLD.insight_a); END;

CREATE TEMP TRIGGER vector_came AFTER INSERT ON main.vectors
BEGIN INSERT INTO change VALUES (lower(hex(NEW.text_hash))); END;
CREATE TEMP TRIGGER vector_went AFTER DELETE ON main.vectors
BEGIN INSERT INTO change VALUES (lower(hex(OLD.text_hash))); END;
