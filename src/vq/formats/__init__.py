"""Other people's records of jobs as rows of the history: one module a format, text in, rows out."""
