"""Jobs: the record, the one table of states and events, what was asked, and what a run leaves in the history; pure."""
