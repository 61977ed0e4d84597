"""Use cases: each one a function that the command line calls, and later a web page or a remote host."""
