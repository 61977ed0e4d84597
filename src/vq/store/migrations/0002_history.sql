-- One row a run, with the names of an exported history. `job` and `attempt` are null in imported rows.
CREATE TABLE history (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  job INTEGER,
  attempt INTEGER,
  repository TEXT NOT NULL,
  workflow TEXT,
  name TEXT NOT NULL,
  profile TEXT NOT NULL,
  memory_cap INTEGER,
  cpu_cap INTEGER,
  memory_peak INTEGER NOT NULL,
  page_cache INTEGER NOT NULL,
  cpu_average INTEGER,
  queued_at INTEGER NOT NULL,
  started_at INTEGER,
  finished_at INTEGER,
  oom_killed INTEGER NOT NULL,
  hit_cap INTEGER,
  own_cap INTEGER,
  succeeded INTEGER NOT NULL,
  cancelled INTEGER NOT NULL,
  reserved INTEGER,
  ordered_at INTEGER NOT NULL GENERATED ALWAYS AS (coalesce(finished_at, queued_at)) VIRTUAL,
  UNIQUE (job, attempt)
) STRICT;
CREATE INDEX history_in_order ON history (ordered_at, cancelled, sequence);
