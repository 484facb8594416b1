ALTER TABLE agreements RENAME COLUMN cosine TO score;
