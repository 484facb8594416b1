-- The third schema, written out as it was: a migration must mean the same for ever.
--
-- Statements end with a semicolon at the end of a line, and there is no other one.

-- What can be found. Until now that were the active insights, with the text that was embedded.

CREATE TABLE passages (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
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

INSERT INTO passages (collection, item_id, place, text, text_hash)
SELECT
    'cortex_insights', id, 'both',
    iif(coalesce(heading, '') = '', content, heading || char(10) || content), text_hash
FROM insights WHERE status = 'active' ORDER BY id;

CREATE INDEX passages_by_text ON passages (text_hash);

-- Their words.

CREATE VIEW passages_alone AS SELECT id, text FROM passages WHERE place IN ('alone', 'both');
CREATE VIRTUAL TABLE words_alone USING fts5(text, content='passages_alone', content_rowid='id',
    tokenize='porter unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE words_alone_terms USING fts5vocab('words_alone', 'row');
INSERT INTO words_alone (words_alone) VALUES ('rebuild');

CREATE VIEW passages_paired AS SELECT id, text FROM passages WHERE place IN ('paired', 'both');
CREATE VIRTUAL TABLE words_paired USING fts5(text, content='passages_paired', content_rowid='id',
    tokenize='porter unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE words_paired_terms USING fts5vocab('words_paired', 'row');
INSERT INTO words_paired (words_paired) VALUES ('rebuild');

-- Vectors get a number that is never given again, in the order in which they came.

CREATE TABLE new_vectors (
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    model TEXT NOT NULL,
    text_hash BLOB NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE (model, text_hash)
);
INSERT INTO new_vectors (model, text_hash, vector)
SELECT model, text_hash, vector FROM vectors ORDER BY rowid;
DROP TABLE vectors;
ALTER TABLE new_vectors RENAME TO vectors;

-- Models get what their provider is made of. A folder's path is not known from its id.

CREATE TABLE new_embedding_models (
    id TEXT NOT NULL,
    dimension INTEGER NOT NULL,
    state TEXT NOT NULL,
    since INTEGER NOT NULL,
    provider TEXT,
    name TEXT,
    PRIMARY KEY (id),
    CONSTRAINT dimension_is_at_least_1 CHECK (dimension >= 1),
    CONSTRAINT state_is_known CHECK (state IN ('coming', 'active', 'retired'))
);
INSERT INTO new_embedding_models (id, dimension, state, since)
SELECT id, dimension, state, since FROM embedding_models;
DROP TABLE embedding_models;
ALTER TABLE new_embedding_models RENAME TO embedding_models;
CREATE UNIQUE INDEX embedding_models_in_use ON embedding_models (state) WHERE state != 'retired';

-- The index was told the vectors of one model. Without an index it is the one whose came last. Most
-- of its vectors have the length that all should have.

INSERT OR IGNORE INTO embedding_models (id, dimension, state, since)
SELECT model, length(vector) / 4, 'active', coalesce((SELECT max(at) FROM events), 0)
FROM vectors
WHERE length(vector) >= 4 AND model = coalesce((SELECT model FROM index_state),
    (SELECT model FROM vectors ORDER BY seq DESC LIMIT 1))
GROUP BY length(vector) ORDER BY count(*) DESC LIMIT 1;

UPDATE embedding_models SET
    provider = CASE
        WHEN id GLOB 'hashing*' THEN 'hashing'
        ELSE 'sentence-transformers' END,
    name = CASE
        WHEN id GLOB 'hashing*' THEN 'hashing'
        WHEN id GLOB '*@*' THEN NULL
        ELSE id END;
