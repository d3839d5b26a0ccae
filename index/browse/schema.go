package browse

// FileName is the file of a Model's lists inside the data directory.
const FileName = "browse.db"

// WordsFileName is the file of the search inside the data directory.
const WordsFileName = "words.db"

// listsFormat is the version of browse.db.
const listsFormat = 8

const listsSchema = `
CREATE TABLE stories (cluster INTEGER PRIMARY KEY, lead INTEGER NOT NULL, original INTEGER NOT NULL, size INTEGER NOT NULL, sources INTEGER NOT NULL,
  rules INTEGER NOT NULL, first_at INTEGER NOT NULL, last_at INTEGER NOT NULL, heat REAL NOT NULL, pull REAL NOT NULL, spark BLOB NOT NULL);
CREATE INDEX stories_by_last ON stories (last_at, cluster);
CREATE INDEX stories_by_first ON stories (first_at, cluster);
CREATE INDEX stories_by_size ON stories (size, cluster);
CREATE INDEX stories_by_heat ON stories (heat, cluster);
CREATE INDEX stories_by_pull ON stories (pull, cluster);
CREATE TABLE story_sources (source INTEGER, cluster INTEGER, n INTEGER NOT NULL, PRIMARY KEY (source, cluster)) WITHOUT ROWID;
CREATE INDEX story_sources_by_cluster ON story_sources (cluster);
CREATE TABLE story_rules (rule INTEGER, cluster INTEGER, PRIMARY KEY (rule, cluster)) WITHOUT ROWID;
CREATE TABLE hours (hour INTEGER PRIMARY KEY, items INTEGER NOT NULL, duplicates INTEGER NOT NULL, suspects INTEGER NOT NULL);
CREATE TABLE source_days (source INTEGER, day INTEGER, items INTEGER NOT NULL, duplicates INTEGER NOT NULL, suspects INTEGER NOT NULL,
  PRIMARY KEY (source, day)) WITHOUT ROWID;
CREATE TABLE pairs (origin INTEGER, copier INTEGER, day INTEGER, n INTEGER NOT NULL, PRIMARY KEY (origin, copier, day)) WITHOUT ROWID;
CREATE TABLE pairings (source INTEGER, day INTEGER, n INTEGER NOT NULL, PRIMARY KEY (source, day)) WITHOUT ROWID;
CREATE TABLE copies (ordinal INTEGER PRIMARY KEY, of INTEGER NOT NULL, origin INTEGER NOT NULL, copier INTEGER NOT NULL, at INTEGER NOT NULL, delay INTEGER);
CREATE INDEX copies_by_origin ON copies (origin, copier, at);
CREATE INDEX copies_by_copier ON copies (copier, at);
CREATE INDEX copies_by_delay ON copies (copier, delay) WHERE delay IS NOT NULL;
CREATE INDEX copies_by_time ON copies (at);
CREATE TABLE queue (ordinal INTEGER PRIMARY KEY, error REAL NOT NULL, series INTEGER NOT NULL, source INTEGER NOT NULL, arrived INTEGER NOT NULL, kind TEXT NOT NULL);
CREATE INDEX queue_by_error ON queue (error, ordinal, series, source, arrived, kind);
CREATE INDEX queue_by_series ON queue (series, error, ordinal);
CREATE TABLE rejected (ordinal INTEGER PRIMARY KEY, day INTEGER NOT NULL, doubt REAL NOT NULL, lot INTEGER NOT NULL);
CREATE INDEX rejected_by_lot ON rejected (day, lot);
CREATE INDEX rejected_by_doubt ON rejected (doubt, ordinal);
CREATE TABLE licensed (of INTEGER, ordinal INTEGER, PRIMARY KEY (of, ordinal)) WITHOUT ROWID;
`
