-- The checksums of the four tables that each batch writes, format 9: the program computes
-- them (sqlite.WithSum) and writes them with the row, which costs less than a trigger.

-- +goose Up
DROP TRIGGER items_insert;
DROP TRIGGER events_insert;
DROP TRIGGER current_insert;
DROP TRIGGER current_update;
DROP TRIGGER clusters_insert;
DROP TRIGGER clusters_update;
