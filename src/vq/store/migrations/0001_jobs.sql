-- Jobs. `record` is the job, as JSON; the columns beside it are what queries ask for and are written with it.
CREATE TABLE jobs (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,  -- the number of the id; never used again
  state TEXT NOT NULL,
  priority INTEGER NOT NULL,
  name TEXT NOT NULL,
  array_group INTEGER,
  settled_at INTEGER,                          -- when the queue recorded the end
  hook_due INTEGER NOT NULL DEFAULT 0,
  environment_sha256 TEXT,
  estimate_sha256 TEXT,
  calibration_sha256 TEXT,
  record TEXT NOT NULL,                        -- without `usage`
  usage TEXT
) STRICT;
CREATE INDEX jobs_by_state ON jobs (state);
CREATE INDEX jobs_by_name ON jobs (name);
CREATE INDEX jobs_in_order ON jobs (priority DESC, sequence) WHERE state = 'PENDING';
CREATE INDEX jobs_by_end ON jobs (settled_at) WHERE settled_at IS NOT NULL;
CREATE INDEX jobs_in_arrays ON jobs (array_group) WHERE array_group IS NOT NULL;
CREATE INDEX jobs_with_hook_due ON jobs (sequence) WHERE hook_due = 1;

CREATE TRIGGER an_end_never_changes BEFORE UPDATE OF state, record ON jobs
WHEN OLD.settled_at IS NOT NULL AND (NEW.state <> OLD.state OR NEW.record <> OLD.record)
BEGIN
  SELECT RAISE(ABORT, 'an end never changes');
END;

-- How many jobs are in each state, so that nobody counts 100,000 of them.
CREATE TABLE counts (
  state TEXT PRIMARY KEY,
  jobs INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TRIGGER count_new AFTER INSERT ON jobs
BEGIN
  INSERT INTO counts VALUES (NEW.state, 1) ON CONFLICT (state) DO UPDATE SET jobs = jobs + 1;
END;
CREATE TRIGGER count_changed AFTER UPDATE OF state ON jobs WHEN NEW.state <> OLD.state
BEGIN
  UPDATE counts SET jobs = jobs - 1 WHERE state = OLD.state;
  INSERT INTO counts VALUES (NEW.state, 1) ON CONFLICT (state) DO UPDATE SET jobs = jobs + 1;
END;
CREATE TRIGGER count_removed AFTER DELETE ON jobs
BEGIN
  UPDATE counts SET jobs = jobs - 1 WHERE state = OLD.state;
END;

CREATE TABLE tags (
  tag TEXT NOT NULL,
  job INTEGER NOT NULL,
  PRIMARY KEY (tag, job)
) STRICT, WITHOUT ROWID;
CREATE INDEX tags_by_job ON tags (job);

-- Arrays that run at most so many at once.
CREATE TABLE arrays (
  array_group INTEGER PRIMARY KEY,
  at_once INTEGER NOT NULL
) STRICT;

-- Who waits for whom; a row goes when the one waited for has ended.
CREATE TABLE dependencies (
  waited_for INTEGER NOT NULL,
  job INTEGER NOT NULL,
  PRIMARY KEY (waited_for, job)
) STRICT, WITHOUT ROWID;

-- Idempotency keys outlive their jobs.
CREATE TABLE keys (
  key TEXT PRIMARY KEY,
  intent TEXT NOT NULL,
  job INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Estimates, calibrations and environments, each once however many jobs have it.
CREATE TABLE documents (
  sha256 TEXT PRIMARY KEY,
  document TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What commands ask of the daemon, in the order they asked.
CREATE TABLE requests (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  job INTEGER NOT NULL,
  request TEXT NOT NULL
) STRICT;

-- What the daemon resolved, and whether it drains.
CREATE TABLE settings (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
