"""One small process an attempt: it starts the job, measures, limits and ends it, and leaves a result.

It outlives whoever started it, and needs neither store nor daemon: a folder with a `spec` document is all it reads.
That folder is locked for as long as the attempt has a supervisor. In it lie `requests` (a FIFO: kill, pause, resume),
`attempt.json` (where the job is to be found, written before anything runs) and what the spec names: logs and the
result.

How it works. The job is started from something tiny (`launch`), because the kernel's high-water mark of a process
never falls below the size of the one that forked it. The supervisor is a child subreaper: a process that left its
session and its parents becomes a child of the supervisor, so the job is its control group together with everything
below the supervisor, and nothing is left when there is neither a member nor a child (`job`). One loop waits for the
end of a child, a request, the kernel's word that memory ran out, or the time of the next sample (`supervision`).
What an end was, and what may be said about the number of processes, is decided in `decisions`, from values alone.
When a supervisor itself was killed, `recovery` finds and ends what it left.
"""
