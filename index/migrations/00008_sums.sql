-- A checksum of every row that decides something, format 8. row_sum is a function of
-- the program (internal/sqlite); triggers keep the column right, so that no statement has to.
-- Rows of earlier versions have none: the column is NULL until they change or `jianguo
-- repair` adds it. `jianguo verify` compares each (index/verify). Kept texts have a checksum
-- of their own; of members and decision_items, all columns are the key.

-- +goose Up
ALTER TABLE items ADD COLUMN sum INTEGER;
-- +goose StatementBegin
CREATE TRIGGER items_insert AFTER INSERT ON items BEGIN
  UPDATE items SET sum = row_sum(NEW.ordinal, NEW.id, NEW.seq, NEW.revision, NEW.title, NEW.source, NEW.url, NEW.published_at, NEW.arrived_at, NEW.exact, NEW.fingerprint, NEW.sketch, NEW.recipe, NEW.policy, NEW.verdict, NEW.rule, NEW.of, NEW.cluster, NEW.series, NEW.distance, NEW.margin, NEW.resemblance, NEW.evidence, NEW.event) WHERE ordinal = NEW.ordinal;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER items_update AFTER UPDATE OF ordinal, id, seq, revision, title, source, url, published_at, arrived_at, exact, fingerprint, sketch, recipe, policy, verdict, rule, of, cluster, series, distance, margin, resemblance, evidence, event ON items BEGIN
  UPDATE items SET sum = row_sum(NEW.ordinal, NEW.id, NEW.seq, NEW.revision, NEW.title, NEW.source, NEW.url, NEW.published_at, NEW.arrived_at, NEW.exact, NEW.fingerprint, NEW.sketch, NEW.recipe, NEW.policy, NEW.verdict, NEW.rule, NEW.of, NEW.cluster, NEW.series, NEW.distance, NEW.margin, NEW.resemblance, NEW.evidence, NEW.event) WHERE ordinal = NEW.ordinal;
END;
-- +goose StatementEnd
ALTER TABLE events ADD COLUMN sum INTEGER;
-- +goose StatementBegin
CREATE TRIGGER events_insert AFTER INSERT ON events BEGIN
  UPDATE events SET sum = row_sum(NEW.number, NEW.ordinal, NEW.at, NEW.verdict, NEW.previous, NEW.cause, NEW.rule, NEW.of, NEW.cluster, NEW.policy, NEW.revision, NEW.note) WHERE number = NEW.number;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER events_update AFTER UPDATE OF number, ordinal, at, verdict, previous, cause, rule, of, cluster, policy, revision, note ON events BEGIN
  UPDATE events SET sum = row_sum(NEW.number, NEW.ordinal, NEW.at, NEW.verdict, NEW.previous, NEW.cause, NEW.rule, NEW.of, NEW.cluster, NEW.policy, NEW.revision, NEW.note) WHERE number = NEW.number;
END;
-- +goose StatementEnd
ALTER TABLE current ADD COLUMN sum INTEGER;
-- +goose StatementBegin
CREATE TRIGGER current_insert AFTER INSERT ON current BEGIN
  UPDATE current SET sum = row_sum(NEW.ordinal, NEW.verdict, NEW.rule, NEW.of, NEW.cluster, NEW.flags, NEW.revision, NEW.seq) WHERE ordinal = NEW.ordinal;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER current_update AFTER UPDATE OF ordinal, verdict, rule, of, cluster, flags, revision, seq ON current BEGIN
  UPDATE current SET sum = row_sum(NEW.ordinal, NEW.verdict, NEW.rule, NEW.of, NEW.cluster, NEW.flags, NEW.revision, NEW.seq) WHERE ordinal = NEW.ordinal;
END;
-- +goose StatementEnd
ALTER TABLE clusters ADD COLUMN sum INTEGER;
-- +goose StatementBegin
CREATE TRIGGER clusters_insert AFTER INSERT ON clusters BEGIN
  UPDATE clusters SET sum = row_sum(NEW.id, NEW.lead, NEW.merged_into, NEW.size, NEW.first_at, NEW.last_at) WHERE id = NEW.id;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER clusters_update AFTER UPDATE OF id, lead, merged_into, size, first_at, last_at ON clusters BEGIN
  UPDATE clusters SET sum = row_sum(NEW.id, NEW.lead, NEW.merged_into, NEW.size, NEW.first_at, NEW.last_at) WHERE id = NEW.id;
END;
-- +goose StatementEnd
ALTER TABLE decisions ADD COLUMN sum INTEGER;
-- +goose StatementBegin
CREATE TRIGGER decisions_insert AFTER INSERT ON decisions BEGIN
  UPDATE decisions SET sum = row_sum(NEW.number, NEW.at, NEW.by, NEW.kind, NEW.cluster, NEW.item, NEW.other, NEW.reason, NEW.effects) WHERE number = NEW.number;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER decisions_update AFTER UPDATE OF number, at, by, kind, cluster, item, other, reason, effects ON decisions BEGIN
  UPDATE decisions SET sum = row_sum(NEW.number, NEW.at, NEW.by, NEW.kind, NEW.cluster, NEW.item, NEW.other, NEW.reason, NEW.effects) WHERE number = NEW.number;
END;
-- +goose StatementEnd
ALTER TABLE source_policies ADD COLUMN sum INTEGER;
-- +goose StatementBegin
CREATE TRIGGER source_policies_insert AFTER INSERT ON source_policies BEGIN
  UPDATE source_policies SET sum = row_sum(NEW.number, NEW.at, NEW.by, NEW.source, NEW.policy, NEW.reason, NEW.applied) WHERE number = NEW.number;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER source_policies_update AFTER UPDATE OF number, at, by, source, policy, reason, applied ON source_policies BEGIN
  UPDATE source_policies SET sum = row_sum(NEW.number, NEW.at, NEW.by, NEW.source, NEW.policy, NEW.reason, NEW.applied) WHERE number = NEW.number;
END;
-- +goose StatementEnd
ALTER TABLE reviews ADD COLUMN sum INTEGER;
-- +goose StatementBegin
CREATE TRIGGER reviews_insert AFTER INSERT ON reviews BEGIN
  UPDATE reviews SET sum = row_sum(NEW.number, NEW.at, NEW.by, NEW.ordinal, NEW.drawn, NEW.finding, NEW.reason) WHERE number = NEW.number;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER reviews_update AFTER UPDATE OF number, at, by, ordinal, drawn, finding, reason ON reviews BEGIN
  UPDATE reviews SET sum = row_sum(NEW.number, NEW.at, NEW.by, NEW.ordinal, NEW.drawn, NEW.finding, NEW.reason) WHERE number = NEW.number;
END;
-- +goose StatementEnd
ALTER TABLE stamps ADD COLUMN sum INTEGER;
-- +goose StatementBegin
CREATE TRIGGER stamps_insert AFTER INSERT ON stamps BEGIN
  UPDATE stamps SET sum = row_sum(NEW.number, NEW.kind, NEW.hash, NEW.detail) WHERE number = NEW.number;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER stamps_update AFTER UPDATE OF number, kind, hash, detail ON stamps BEGIN
  UPDATE stamps SET sum = row_sum(NEW.number, NEW.kind, NEW.hash, NEW.detail) WHERE number = NEW.number;
END;
-- +goose StatementEnd
ALTER TABLE sources ADD COLUMN sum INTEGER;
-- +goose StatementBegin
CREATE TRIGGER sources_insert AFTER INSERT ON sources BEGIN
  UPDATE sources SET sum = row_sum(NEW.number, NEW.name) WHERE number = NEW.number;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER sources_update AFTER UPDATE OF number, name ON sources BEGIN
  UPDATE sources SET sum = row_sum(NEW.number, NEW.name) WHERE number = NEW.number;
END;
-- +goose StatementEnd
ALTER TABLE meta ADD COLUMN sum INTEGER;
-- +goose StatementBegin
CREATE TRIGGER meta_insert AFTER INSERT ON meta BEGIN
  UPDATE meta SET sum = row_sum(NEW.key, NEW.value) WHERE key = NEW.key;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER meta_update AFTER UPDATE OF key, value ON meta BEGIN
  UPDATE meta SET sum = row_sum(NEW.key, NEW.value) WHERE key = NEW.key;
END;
-- +goose StatementEnd
ALTER TABLE overlay ADD COLUMN sum INTEGER;
-- +goose StatementBegin
CREATE TRIGGER overlay_insert AFTER INSERT ON overlay BEGIN
  UPDATE overlay SET sum = row_sum(NEW.place, NEW.exact, NEW.fingerprint, NEW.sketch) WHERE place = NEW.place;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER overlay_update AFTER UPDATE OF place, exact, fingerprint, sketch ON overlay BEGIN
  UPDATE overlay SET sum = row_sum(NEW.place, NEW.exact, NEW.fingerprint, NEW.sketch) WHERE place = NEW.place;
END;
-- +goose StatementEnd
