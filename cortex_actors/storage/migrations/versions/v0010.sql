-- What was remembered before is of no project. The index that has a text said once is made anew.
ALTER TABLE memories ADD COLUMN project_id TEXT DEFAULT '' NOT NULL;
ALTER TABLE crumbs ADD COLUMN project_id TEXT DEFAULT '' NOT NULL;
CREATE INDEX memories_by_project ON memories (project_id, created_at);
DROP INDEX memories_said_once;
CREATE UNIQUE INDEX memories_said_once
    ON memories (realm, agent_id, thread, project_id, text_hash)
    WHERE status = 'active' AND type IN ('fact', 'observation') AND realm != 'bridge';
