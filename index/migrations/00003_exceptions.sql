-- What start-up reads without a scan, format 3.

-- +goose Up
CREATE INDEX clusters_exceptions ON clusters (id) WHERE lead != id OR merged_into IS NOT NULL;
