-- Events are found from their item, format 5: of most versions the first event
-- is the only one, so that an index over all of them costs more than a number
-- in the row of each item. items.event is a version's first event; causes 1 and
-- 2 (arrivals) are nothing but first events, and only the others are indexed.

-- +goose Up
ALTER TABLE items ADD COLUMN event INTEGER NOT NULL DEFAULT 0;
UPDATE items SET event = (SELECT min(number) FROM events WHERE events.ordinal = items.ordinal);
DROP INDEX events_by_ordinal;
CREATE INDEX events_later ON events (ordinal) WHERE cause > 2;
