CREATE TABLE file_vectors (
    path TEXT NOT NULL,
    model TEXT NOT NULL,
    digest BLOB NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (path, digest)
);
CREATE INDEX file_vectors_by_text ON file_vectors (digest);
