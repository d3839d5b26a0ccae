-- Decisions about several items at once, format 6.

-- +goose Up
CREATE TABLE decision_items (       -- F: the items of a decision that is about several; decisions.item is the first of them
  item     INTEGER NOT NULL,        -- ordinal
  decision INTEGER NOT NULL,
  PRIMARY KEY (item, decision)
) WITHOUT ROWID;
CREATE INDEX decision_items_by_decision ON decision_items (decision);
CREATE INDEX decisions_by_item ON decisions (item) WHERE item IS NOT NULL;
