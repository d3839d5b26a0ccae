-- The catalogue, format 1. Tables marked F hold facts and are only appended to;
-- tables marked P are projections of them, kept for reading, and `jianguo
-- verify` proves that they agree. Times are milliseconds since 1970.

-- +goose Up
CREATE TABLE meta (                 -- applied sequence, stream identity, counters
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE stamps (               -- F: the recipes and policies rows refer to
  number INTEGER PRIMARY KEY,
  kind   TEXT NOT NULL,             -- 'recipe' or 'policy'
  hash   TEXT NOT NULL,
  detail TEXT NOT NULL,
  UNIQUE (kind, hash)
);

CREATE TABLE sources (              -- F: source names, interned
  number INTEGER PRIMARY KEY,
  name   TEXT NOT NULL UNIQUE
);

CREATE TABLE items (                -- F: one row a version of an item, as it was judged on arrival
  ordinal      INTEGER PRIMARY KEY, -- dense, from 1, in order of application
  id           TEXT    NOT NULL,
  seq          INTEGER NOT NULL,    -- applied sequence (stream sequence + epoch base)
  revision     INTEGER NOT NULL,    -- 0: none given
  title        TEXT    NOT NULL,
  source       INTEGER,             -- sources.number
  url          TEXT,
  published_at INTEGER,
  arrived_at   INTEGER NOT NULL,
  exact        BLOB,                -- 16 bytes; NULL: blank, matches nothing
  fingerprint  INTEGER NOT NULL,    -- 64 bits, as a signed integer
  sketch       BLOB,
  recipe       INTEGER NOT NULL,    -- stamps.number
  policy       INTEGER NOT NULL,    -- stamps.number
  verdict      INTEGER NOT NULL,
  rule         INTEGER NOT NULL,
  of           INTEGER,             -- ordinal of the lead (or blocked exemplar) it was judged against
  cluster      INTEGER NOT NULL,    -- = ordinal of the founding item
  series       INTEGER,             -- ordinal of the first known member of its series
  distance     INTEGER,             -- differing bits against the proposal that decided
  margin       REAL,                -- S of the same
  resemblance  REAL,
  evidence     TEXT                 -- JSON: reason code, facts
);

CREATE TABLE texts (                -- F: kept bodies, zstd
  ordinal INTEGER PRIMARY KEY,
  body    BLOB NOT NULL
);

CREATE TABLE events (               -- F: every change of an item's state, gapless from 1
  number   INTEGER PRIMARY KEY,     -- = sequence in the VERDICTS stream
  ordinal  INTEGER NOT NULL,
  at       INTEGER NOT NULL,
  verdict  INTEGER NOT NULL,
  previous INTEGER NOT NULL,        -- 0: none
  cause    INTEGER NOT NULL,
  rule     INTEGER NOT NULL,
  of       INTEGER,
  cluster  INTEGER NOT NULL,
  policy   INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  note     TEXT                     -- why, where a person or a source gave a reason
);
CREATE INDEX events_by_ordinal ON events (ordinal);

CREATE TABLE current (              -- P: the state of those versions that are not as their items row says
  ordinal  INTEGER PRIMARY KEY,
  verdict  INTEGER NOT NULL,
  rule     INTEGER NOT NULL,
  of       INTEGER,
  cluster  INTEGER NOT NULL,
  flags    INTEGER NOT NULL,        -- exemplar, blocked, superseded
  revision INTEGER NOT NULL,
  seq      INTEGER NOT NULL
);

CREATE TABLE clusters (             -- P: clusters of two or more, or otherwise not as their id says
  id          INTEGER PRIMARY KEY,  -- = ordinal of the founding item
  lead        INTEGER NOT NULL,     -- 0: no lead is left
  merged_into INTEGER,
  size        INTEGER NOT NULL,     -- current members, the lead included
  first_at    INTEGER NOT NULL,
  last_at     INTEGER NOT NULL      -- arrival of the last copy
);
CREATE INDEX clusters_by_last ON clusters (last_at, id);
CREATE INDEX clusters_by_size ON clusters (size, id);

CREATE TABLE members (              -- P: current versions by cluster, leads of singletons left out
  cluster INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  PRIMARY KEY (cluster, ordinal)
) WITHOUT ROWID;

CREATE TABLE decisions (            -- F: what editors decided, an undo too
  number  INTEGER PRIMARY KEY,
  at      INTEGER NOT NULL,
  by      TEXT    NOT NULL,
  kind    TEXT    NOT NULL,
  cluster INTEGER NOT NULL,
  item    INTEGER,                  -- ordinal, where the decision is about one
  other   INTEGER,                  -- the cluster merged into, or the decision undone
  reason  TEXT    NOT NULL,
  effects TEXT    NOT NULL          -- JSON: states before and after, what an undo restores
);
CREATE INDEX decisions_by_cluster ON decisions (cluster);
