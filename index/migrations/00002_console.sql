-- What editors say besides decisions, format 2. Facts, only appended to.

-- +goose Up
CREATE TABLE source_policies (        -- F: the last row of a source holds
  number INTEGER PRIMARY KEY,
  at     INTEGER NOT NULL,
  by     TEXT    NOT NULL,
  source TEXT    NOT NULL,
  policy TEXT    NOT NULL,            -- normal, licensed, preferred or watched
  reason TEXT    NOT NULL
);

CREATE TABLE reviews (                -- F: a rejection looked at; the last row of an item by a person holds
  number  INTEGER PRIMARY KEY,
  at      INTEGER NOT NULL,
  by      TEXT    NOT NULL,
  ordinal INTEGER NOT NULL,
  drawn   TEXT    NOT NULL,           -- 'random', the measure of precision, or 'doubt'
  finding TEXT    NOT NULL,           -- right, wrong or unsure
  reason  TEXT    NOT NULL
);
CREATE INDEX reviews_by_ordinal ON reviews (ordinal);
CREATE INDEX reviews_by_at ON reviews (at);

CREATE INDEX decisions_by_other ON decisions (other) WHERE other IS NOT NULL;
