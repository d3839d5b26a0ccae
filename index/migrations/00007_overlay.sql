-- What versions are compared by after a change of recipe, format 7. Derived from
-- kept texts by `jianguo reindex`; meta says which recipe's rows are in force
-- (overlay), and which are being made (reindex). See overlay.go.

-- +goose Up
CREATE TABLE overlay (
  place       INTEGER PRIMARY KEY,  -- stamps.number of the recipe << 32 | ordinal
  exact       BLOB,                 -- as in items
  fingerprint INTEGER NOT NULL,
  sketch      BLOB                  -- NULL: blank
);
