"""The daemon: one loop that observes, advances jobs, commits, and acts.

It may be killed at any moment: what it has committed it does again when it starts, and each act may be done twice.
"""
