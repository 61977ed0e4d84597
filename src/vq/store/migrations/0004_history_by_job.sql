-- The last runs of one job, so that to predict it takes no reading of all.
CREATE INDEX history_by_job ON history (profile, repository, name, workflow, ordered_at, cancelled, sequence);
