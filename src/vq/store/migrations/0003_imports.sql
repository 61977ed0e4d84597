-- Where imported rows came from, so that they can be told and forgotten; null in the rows of this queue's own runs.
ALTER TABLE history ADD COLUMN source TEXT;
UPDATE history SET source = repository WHERE job IS NULL;
CREATE INDEX history_imported ON history (source) WHERE source IS NOT NULL;
