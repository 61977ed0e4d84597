"""vq: a job queue that knows what its jobs will need."""
