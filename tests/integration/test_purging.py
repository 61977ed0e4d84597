"""What a purge removes of jobs that share something."""

from __future__ import annotations

import os
from pathlib import Path

from made_jobs import NOW, job, started
from vq.actions.place import Place
from vq.actions.purge import purge
from vq.jobs.events import HostRebooted, KillRequested
from vq.store.advancing import advance_jobs
from vq.store.connection import Opener, open_store
from vq.store.layout import WORKSPACES, workspace_folder
from vq.store.submitting import Submission, submit


def test_a_workspace_goes_with_the_last_job_that_it_was_of(tmp_path: Path) -> None:
    folder = str(tmp_path / "state")
    workspace = workspace_folder(folder, "a1")
    with open_store(folder, Opener.DAEMON) as store:
        place = Place(folder=folder, store=store)
        submit(store, [Submission(job=job(auto_resume=True))])
        os.makedirs(workspace)
        begun = started(workspace=workspace, cwd=workspace)
        # The machine goes down, and a2 goes on where a1 was.
        advance_jobs(store, [("a1", begun), ("a1", HostRebooted(at_ms=NOW + 1, attempt=1))])
        assert purge(place, NOW + 2, records=True, for_real=True).workspaces == 0
        assert os.path.isdir(workspace)
        advance_jobs(store, [("a2", KillRequested(at_ms=NOW + 3))])
        assert purge(place, NOW + 4, records=False, for_real=False).workspaces == 1
        assert purge(place, NOW + 4, records=False, for_real=True).workspaces == 1
        assert os.listdir(f"{folder}/{WORKSPACES}") == []


def test_a_folder_that_a_job_ran_in_without_a_copy_stays(tmp_path: Path) -> None:
    folder = str(tmp_path / "state")
    theirs = workspace_folder(folder, "a9")
    with open_store(folder, Opener.DAEMON) as store:
        place = Place(folder=folder, store=store)
        submit(store, [Submission(job=job(here=True, cwd=theirs))])
        os.makedirs(theirs)
        begun = started(workspace=theirs, cwd=theirs)
        advance_jobs(store, [("a1", begun), ("a1", HostRebooted(at_ms=NOW + 1, attempt=1))])
        assert purge(place, NOW + 2, records=True, for_real=True).workspaces == 0
        assert os.path.isdir(theirs)
