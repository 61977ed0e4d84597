"""The store: one SQLite file that is the queue's memory, and the mailbox between the commands and the daemon.

A transaction is `BEGIN IMMEDIATE` or read-only. Every statement stands beside the one function that runs it.
"""
