"""Jobs on this host: each attempt with a folder and a supervisor of its own, which outlives whoever started it."""
