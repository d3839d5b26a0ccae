-- The catalogue, format 1. Tables marked F hold facts and are only appended to;
-- tables marked P are projections of them, kept for reading, and `jianguo verify`
-- proves that they agree. Times are milliseconds since 1970.
--
-- The column sum is a checksum of four bytes of the other columns of a row (internal/sqlite).
-- The program writes it with the rows of items, events, current, clusters and boilerplate,
-- which each batch adds to; triggers write it for the other tables. Kept texts have
-- a checksum of their own; of members and decision_items, all columns are the key.

CREATE TABLE meta (                 -- applied sequence, stream identity, reindexes
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL,
  sum   INTEGER
) WITHOUT ROWID;

CREATE TABLE stamps (               -- F: the recipes and policies that rows refer to
  number INTEGER PRIMARY KEY,
  kind   TEXT NOT NULL,             -- 'recipe' or 'policy'
  hash   TEXT NOT NULL,
  detail TEXT NOT NULL,
  sum    INTEGER,
  UNIQUE (kind, hash)
);

CREATE TABLE sources (              -- F: source names, interned
  number INTEGER PRIMARY KEY,
  name   TEXT NOT NULL UNIQUE,
  sum    INTEGER
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
  evidence     TEXT,                -- JSON: reason code, facts
  event        INTEGER NOT NULL,    -- its first, which most versions have only
  sum          INTEGER
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
  note     TEXT,                    -- why, where a person or a source gave a reason
  restores INTEGER,                 -- of an undo: the event whose verdict and reason it brings back
  story    INTEGER,                 -- the first telling of its story; NULL: its cluster
  sum      INTEGER
);
CREATE INDEX events_later ON events (ordinal) WHERE cause > 2; -- causes 1 and 2 are arrivals: items.event

CREATE TABLE current (              -- P: the state of those versions that are not as their items row says
  ordinal  INTEGER PRIMARY KEY,
  verdict  INTEGER NOT NULL,
  rule     INTEGER NOT NULL,
  of       INTEGER,
  cluster  INTEGER NOT NULL,
  flags    INTEGER NOT NULL,        -- exemplar, blocked, superseded
  revision INTEGER NOT NULL,
  seq      INTEGER NOT NULL,
  sum      INTEGER
);

CREATE INDEX current_withdrawn ON current (cluster) WHERE verdict = 4;

CREATE TABLE clusters (             -- P: clusters of two or more, or otherwise not as their id says
  id          INTEGER PRIMARY KEY,  -- = ordinal of the founding item
  lead        INTEGER NOT NULL,     -- 0: no lead is left
  merged_into INTEGER,
  follows     INTEGER,              -- the telling that it comes after in its story; NULL: it is the first
  adds        INTEGER NOT NULL,     -- characters, to that one; 0: it tells the same; -1: unknown
  size        INTEGER NOT NULL,     -- current members, the lead included
  first_at    INTEGER NOT NULL,
  last_at     INTEGER NOT NULL,     -- arrival of the last copy
  sum         INTEGER
);
CREATE INDEX clusters_by_last ON clusters (last_at, id);
CREATE INDEX clusters_by_size ON clusters (size, id);
CREATE INDEX clusters_by_follows ON clusters (follows) WHERE follows IS NOT NULL;
CREATE INDEX clusters_exceptions ON clusters (id) WHERE lead != id OR merged_into IS NOT NULL; -- what a start reads

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
  effects TEXT    NOT NULL,         -- JSON: states before and after, what an undo restores
  sum     INTEGER
);
CREATE INDEX decisions_by_cluster ON decisions (cluster);
CREATE INDEX decisions_by_other ON decisions (other) WHERE other IS NOT NULL;
CREATE INDEX decisions_by_item ON decisions (item) WHERE item IS NOT NULL;

CREATE TABLE decision_items (       -- F: the items of a decision that is about several; decisions.item is the first of them
  item     INTEGER NOT NULL,        -- ordinal
  decision INTEGER NOT NULL,
  PRIMARY KEY (item, decision)
) WITHOUT ROWID;
CREATE INDEX decision_items_by_decision ON decision_items (decision);

CREATE TABLE source_policies (      -- F: the last row of a source holds
  number  INTEGER PRIMARY KEY,
  at      INTEGER NOT NULL,
  by      TEXT    NOT NULL,
  source  TEXT    NOT NULL,
  policy  TEXT    NOT NULL,         -- normal, licensed, preferred or watched
  reason  TEXT    NOT NULL,
  applied INTEGER NOT NULL,         -- the applied sequence it was set after
  sum     INTEGER
);

CREATE TABLE reviews (              -- F: a rejection looked at; the last row of an item by a person holds
  number  INTEGER PRIMARY KEY,
  at      INTEGER NOT NULL,
  by      TEXT    NOT NULL,
  ordinal INTEGER NOT NULL,
  drawn   TEXT    NOT NULL,         -- 'random', the measure of precision, or 'doubt'
  finding TEXT    NOT NULL,         -- right, wrong or unsure
  reason  TEXT    NOT NULL,
  sum     INTEGER
);
CREATE INDEX reviews_by_ordinal ON reviews (ordinal);
CREATE INDEX reviews_by_at ON reviews (at);

CREATE TABLE overlay (              -- P: what versions are compared by after a reindex (package reindex)
  place       INTEGER PRIMARY KEY,  -- stamps.number of the recipe << 32 | ordinal
  exact       BLOB,                 -- as in items
  fingerprint INTEGER NOT NULL,
  sketch      BLOB,                 -- NULL: blank
  sum         INTEGER
);

CREATE TABLE boilerplate (          -- P: what recurs in the unrelated articles of each source (package sources)
  source   TEXT PRIMARY KEY,
  articles INTEGER NOT NULL,        -- learned from
  counts   BLOB NOT NULL,           -- 4 bytes a clause: 24 bits of its hash, in how many articles it was
  passages TEXT NOT NULL,           -- JSON
  sum      INTEGER
);

CREATE TRIGGER stamps_insert AFTER INSERT ON stamps BEGIN
  UPDATE stamps SET sum = row_sum(NEW.number, NEW.kind, NEW.hash, NEW.detail) WHERE number = NEW.number;
END;
CREATE TRIGGER sources_insert AFTER INSERT ON sources BEGIN
  UPDATE sources SET sum = row_sum(NEW.number, NEW.name) WHERE number = NEW.number;
END;
CREATE TRIGGER decisions_insert AFTER INSERT ON decisions BEGIN
  UPDATE decisions SET sum = row_sum(NEW.number, NEW.at, NEW.by, NEW.kind, NEW.cluster, NEW.item, NEW.other, NEW.reason, NEW.effects) WHERE number = NEW.number;
END;
CREATE TRIGGER source_policies_insert AFTER INSERT ON source_policies BEGIN
  UPDATE source_policies SET sum = row_sum(NEW.number, NEW.at, NEW.by, NEW.source, NEW.policy, NEW.reason, NEW.applied) WHERE number = NEW.number;
END;
CREATE TRIGGER reviews_insert AFTER INSERT ON reviews BEGIN
  UPDATE reviews SET sum = row_sum(NEW.number, NEW.at, NEW.by, NEW.ordinal, NEW.drawn, NEW.finding, NEW.reason) WHERE number = NEW.number;
END;
CREATE TRIGGER meta_insert AFTER INSERT ON meta BEGIN
  UPDATE meta SET sum = row_sum(NEW.key, NEW.value) WHERE key = NEW.key;
END;
CREATE TRIGGER meta_update AFTER UPDATE OF value ON meta BEGIN
  UPDATE meta SET sum = row_sum(NEW.key, NEW.value) WHERE key = NEW.key;
END;
CREATE TRIGGER overlay_insert AFTER INSERT ON overlay BEGIN
  UPDATE overlay SET sum = row_sum(NEW.place, NEW.exact, NEW.fingerprint, NEW.sketch) WHERE place = NEW.place;
END;
