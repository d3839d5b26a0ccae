-- What recurs in the unrelated articles of each source, format 10 (index/boilerplate). A row is
-- written with the batch whose articles it was learned from.

-- +goose Up
CREATE TABLE boilerplate (
  source   TEXT PRIMARY KEY,
  articles INTEGER NOT NULL,  -- learned from
  counts   BLOB NOT NULL,     -- 5 bytes a clause: half of its hash, in how many articles it was
  passages TEXT NOT NULL,     -- JSON
  sum      INTEGER
);
