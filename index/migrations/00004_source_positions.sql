-- Where in the stream a policy of a source took effect, format 4.

-- +goose Up
ALTER TABLE source_policies ADD COLUMN applied INTEGER NOT NULL DEFAULT 0; -- the applied sequence it was set after; 0: before this was kept
