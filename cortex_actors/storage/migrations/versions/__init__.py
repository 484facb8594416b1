"""One file for each version of the schema; append-only."""
