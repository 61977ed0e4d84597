"""The queue as people meet it: cold commands, short jobs by the second, and what its processes hold and use.

    python benchmarks/commands.py [--jobs 1000] [--ended 100000] [--pending 10000] [--runs 3] [--folder DIR] [--only …]

Every part is measured beside a floor or a peer in the same run, taken in turn, and the least of the runs counts: a
bare interpreter for a cold command; `tsp` (task-spooler), `pueue`, `parallel` and `xargs` for short jobs, where they
are installed.
What the machine did meanwhile is printed first: on a busy one only the ratios and the CPU times say something.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from store import fill

from vq.jobs.record import State
from vq.readings import processes
from vq.store.connection import open_store
from vq.store.jobs import counts
from vq.supervisor.command import SERVE, supervisor_command

TRUE = "/bin/true"
CONFIG = """[host]
memory_max = "4G"
cpus = 2
[daemon]
autostart = false
[profiles.default]
memory = "64M"
cpus = 1
"""
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
MIB = 2**20
IDLE_SECONDS = 20
LONGEST_SECONDS = 300
PARTS = ("cold", "list", "large", "jobs", "idle", "supervisor")


class Queue:
    """A queue of its own in a folder that does not stay."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "config" / "vq").mkdir(parents=True)
        (folder / "config" / "vq" / "config.toml").write_text(CONFIG)
        kept = {name: text for name, text in os.environ.items() if not name.startswith(("VQ_", "XDG_", "PYTHON"))}
        self.environment = {**kept, "VQ_STATE_DIR": str(folder / "state"), "XDG_CONFIG_HOME": str(folder / "config")}

    @property
    def state(self) -> str:
        """The state folder."""
        return str(self.folder / "state")

    def command(self, *words: str) -> list[str]:
        """A `vq` command line of this interpreter's environment."""
        return [os.path.join(os.path.dirname(sys.executable), "vq"), *words]

    def ask(self, *words: str) -> str:
        """What a command prints."""
        done = subprocess.run(
            self.command(*words), env=self.environment, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        return done.stdout.decode()

    def daemon(self) -> int:
        """The daemon's process."""
        return int(json.loads(self.ask("daemon", "status", "--json"))["pid"])

    def counts(self) -> dict[str, int]:
        """How many jobs are in each state."""
        counts: dict[str, int] = json.loads(self.ask("queue", "--json", "--limit", "1"))["counts"]
        return counts


@contextmanager
def queue(folder: str | None) -> Iterator[Queue]:
    """A new queue with a daemon."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        found = Queue(Path(place))
        found.ask("daemon", "start")
        try:
            yield found
        finally:
            found.ask("daemon", "stop")


def seconds(command: list[str], environment: dict[str, str], stdin: bytes = b"") -> float:
    """The wall time of one process."""
    begin = time.perf_counter()
    subprocess.run(
        command, env=environment, input=stdin, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    return time.perf_counter() - begin


def in_turn(runs: int, *acts: Callable[[], float]) -> list[list[float]]:
    """What each act measured, taken in turn so many times."""
    found: list[list[float]] = [[] for _ in acts]
    for _ in range(runs):
        for measured, act in zip(found, acts, strict=True):
            measured.append(act())
    return found


def cold(options: argparse.Namespace) -> None:
    """One submission, as a new process, beside a bare interpreter that imports the same two libraries."""
    with queue(options.folder) as one:
        ours, floor = in_turn(
            10 * options.runs,
            lambda: seconds(one.command("submit", "--", TRUE), one.environment),
            lambda: seconds([sys.executable, "-c", "import json, click"], one.environment),
        )
    show("vq submit, cold, ms", ours, floor, at_most=2, scale=1000)


def from_list(options: argparse.Namespace) -> None:
    """Ten thousand jobs from one list, in one transaction, no daemon running."""
    with tempfile.TemporaryDirectory(dir=options.folder) as place:
        one = Queue(Path(place))
        (one.folder / "list").write_text(f"{TRUE}\n" * 10_000)
        took = [seconds(one.command("submit", "--from-file", str(one.folder / "list")), one.environment)]
        took += [seconds(one.command("submit", "--from-file", str(one.folder / "list")), one.environment)]
    print(f"10,000 jobs from a list: {min(took):.2f} s (at most 2)")


def large(options: argparse.Namespace) -> None:
    """`vq queue` with many jobs, beside the same with none."""
    with tempfile.TemporaryDirectory(dir=options.folder) as place:
        (Path(place) / "empty").mkdir()
        (Path(place) / "full").mkdir()
        empty, full = Queue(Path(place) / "empty"), Queue(Path(place) / "full")
        for one in (empty, full):
            one.ask("daemon", "start")
            one.ask("daemon", "stop")
        with open_store(full.state) as store:
            fill(store, options.ended, options.pending)
        ours, floor = in_turn(
            5 * options.runs,
            lambda: seconds(full.command("queue"), full.environment),
            lambda: seconds(empty.command("queue"), empty.environment),
        )
        counts = full.counts()
    show(f"vq queue with {counts}, ms", ours, floor, at_most=2, scale=1000)


def short_jobs(options: argparse.Namespace) -> None:
    """So many `/bin/true` on two slots, from the first submission to the last end."""
    peers = {
        "vq": ours_per_second,
        "tsp": tsp_per_second,
        "pueue": pueue_per_second,
        "parallel": floor_per_second,
        "xargs": floor_per_second,
    }
    names = [name for name in peers if name == "vq" or shutil.which(name)]
    found = in_turn(options.runs, *(lambda name=name: peers[name](name, options) for name in names))
    for name, rates in zip(names, found, strict=True):
        print(
            f"{options.jobs} {TRUE}, {name}: {max(rates):.0f} a second (runs: {', '.join(f'{r:.0f}' for r in rates)})"
        )


def ours_per_second(_: str, options: argparse.Namespace) -> float:
    """Jobs a second by vq; prints where the CPU time went."""
    with queue(options.folder) as one:
        one.ask("submit", "--wait", "--", TRUE)
        pid = one.daemon()
        family = [pid, *processes.children(pid)]
        (one.folder / "list").write_text(f"{TRUE}\n" * options.jobs)
        before = [cpu_seconds(process) for process in family]
        begin = time.time()
        one.ask("submit", "--from-file", str(one.folder / "list"))
        # Not by a command: it would take a quarter of a core from what is measured.
        with open_store(one.state) as store:
            while (found := counts(store)).get(State.COMPLETED, 0) <= options.jobs:
                if time.time() > begin + LONGEST_SECONDS:
                    raise SystemExit(f"after {LONGEST_SECONDS} s jobs have not completed: {found}")
                time.sleep(0.1)
        daemon, rest = (now - then for now, then in zip(map(cpu_seconds, family), before, strict=True))
        workers = sum(cpu_seconds(child) for child in processes.children(family[1]))
        ended = max(job["finished_at"] for job in json.loads(one.ask("queue", "--all", "--json"))["jobs"]) / 1000
    each = [1000 * spent / options.jobs for spent in (daemon, rest + workers)]
    print(f"  CPU ms a job: daemon {each[0]:.1f}, supervisors and jobs {each[1]:.1f}")
    return float(options.jobs / (ended - begin))


def tsp_per_second(name: str, options: argparse.Namespace) -> float:
    """Jobs a second by task-spooler: it has no way to submit many, so `xargs` does on two processes."""
    with tempfile.TemporaryDirectory(dir=options.folder) as place:
        own = {"TS_SOCKET": f"{place}/s", "TS_SLOTS": "2", "TMPDIR": place, "TS_MAXFINISHED": "20000"}
        environment = {**os.environ, **own, "TS_MAXCONN": "1000"}
        begin = time.perf_counter()
        seconds(["xargs", "-P2", "-n1", name, "-n"], environment, f"{TRUE}\n".encode() * options.jobs)
        seconds([name, "-w", str(options.jobs - 1)], environment)
        while b"queued" in (listed := subprocess.check_output([name], env=environment)) or b"running" in listed:
            time.sleep(0.01)
        took = time.perf_counter() - begin
        seconds([name, "-K"], environment)
    return float(options.jobs / took)


def pueue_per_second(name: str, options: argparse.Namespace) -> float:
    """Jobs a second by pueue, of a tenth of the jobs, to the last end that it records: its `wait` looks every 2 s."""
    with tempfile.TemporaryDirectory(dir=options.folder) as place:
        config, socket = Path(place) / "pueue.yml", Path(place) / "socket"
        config.write_text(
            f"shared:\n  pueue_directory: {place}\n  runtime_directory: {place}\n  use_unix_socket: true\n"
            f"  unix_socket_path: {socket}\n  pid_path: {place}/pid\ndaemon: {{}}\nclient: {{}}\nprofiles: {{}}\n"
        )
        ask = [name, "-c", str(config)]
        with subprocess.Popen([f"{name}d", "-c", str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
            while not socket.exists():
                time.sleep(0.01)
            seconds([*ask, "parallel", "2"], dict(os.environ))
            begin = time.time()
            seconds(
                ["xargs", "-P2", "-n1", *ask, "add", "--"],
                dict(os.environ),
                f"{TRUE}\n".encode() * (options.jobs // 10),
            )
            seconds([*ask, "wait", "--quiet", "--all"], dict(os.environ))
            tasks = json.loads(subprocess.check_output([*ask, "status", "--json"]))["tasks"].values()
            seconds([*ask, "shutdown"], dict(os.environ))
    # Nanoseconds are more than `fromisoformat` of Python 3.11 takes.
    ends = (re.sub(r"(\.\d{6})\d*", r"\1", task["status"]["Done"]["end"]) for task in tasks)
    return len(tasks) / (max(datetime.fromisoformat(end).timestamp() for end in ends) - begin)


def floor_per_second(name: str, options: argparse.Namespace) -> float:
    """Jobs a second by a runner that is no queue."""
    command = ["parallel", "--will-cite", "-j2"] if name == "parallel" else ["xargs", "-P2", "-n1", "env"]
    return float(options.jobs / seconds(command, dict(os.environ), f"{TRUE}\n".encode() * options.jobs))


def idle(options: argparse.Namespace) -> None:
    """What a daemon with nothing to do takes."""
    with queue(options.folder) as one:
        one.ask("submit", "--wait", "--", TRUE)
        pid = one.daemon()
        before, begin = cpu_seconds(pid), time.perf_counter()
        time.sleep(IDLE_SECONDS)
        share = (cpu_seconds(pid) - before) / (time.perf_counter() - begin)
        print(f"an idle daemon: {100 * share:.2f} % of a core (at most 0.5), {resident(pid):.1f} MiB (at most 40)")


def supervisor(options: argparse.Namespace) -> None:
    """What a supervisor holds, and what it adds to a job: from its spec to its result, beside starting the program."""
    with queue(options.folder) as one:
        job = one.ask("submit", "--", "sleep", "60").split()[0]
        while json.loads(one.ask("status", job, "--json"))["state"] != "RUNNING":
            time.sleep(0.05)
        time.sleep(1)
        (warm,) = processes.children(one.daemon())
        sizes = [resident(pid) for pid in processes.children(warm)]
        one.ask("kill", "--now", job)
        print(f"a supervisor: {max(sizes):.1f} MiB resident (at most 12 MB, {12e6 / MIB:.1f} MiB)")
    with tempfile.TemporaryDirectory(dir=options.folder) as place:
        both = in_turn(options.runs, lambda: supervised(Path(place)), lambda: bare(200))
    print(f"it adds {1000 * (min(both[0]) - min(both[1])):.1f} ms to a job (at most 10): {TRUE} alone", end=" ")
    print(f"{1000 * min(both[1]):.1f} ms, supervised {1000 * min(both[0]):.1f} ms, medians of 200 one after the other")


def supervised(folder: Path) -> float:
    """The median time from a spec to its end of 200 attempts, one after the other."""
    with subprocess.Popen(supervisor_command(SERVE), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as warm:
        if warm.stdin is None or warm.stdout is None:
            raise AssertionError("the pipes were asked for")
        took = []
        for _ in range(200):
            inner = Path(tempfile.mkdtemp(dir=folder))
            spec = {
                "schema": "vq.attempt-spec.v1",
                "attempt": inner.name.strip("_"),
                "command": [TRUE],
                "cwd": "/",
                "environment": dict(os.environ),
                "stdout_path": f"{inner}/out",
                "stderr_path": f"{inner}/err",
                "result_path": f"{inner}/result.json",
                "memory_limit_bytes": 64 * MIB,
                "cgroup_parent_name": f"vq-benchmark-{os.getpid()}.slice",
            }
            (inner / "spec.json").write_text(json.dumps(spec))
            begin = time.perf_counter()
            warm.stdin.write(f"{inner}/spec.json\n".encode())
            warm.stdin.flush()
            while not warm.stdout.readline().startswith(b"ended"):
                pass
            took.append(time.perf_counter() - begin)
        warm.stdin.close()
    return statistics.median(took)


def bare(runs: int) -> float:
    """The median time to start the program and wait for it."""
    took = []
    for _ in range(runs):
        begin = time.perf_counter()
        os.waitpid(os.posix_spawn(TRUE, [TRUE], os.environ), 0)
        took.append(time.perf_counter() - begin)
    return statistics.median(took)


def show(what: str, ours: list[float], floor: list[float], *, at_most: float, scale: float) -> None:
    """A line with both, and the ratio of the least."""
    least = min(ours) / min(floor)
    middle = statistics.median(ours) / statistics.median(floor)
    print(
        f"{what}: {scale * min(ours):.1f} against {scale * min(floor):.1f}, {least:.2f} times (at most {at_most})",
        end="",
    )
    print(f"; medians {scale * statistics.median(ours):.1f} / {scale * statistics.median(floor):.1f} = {middle:.2f}")


def cpu_seconds(pid: int) -> float:
    """The CPU time of a process and of those it has waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return sum(int(field) for field in fields[11:15]) / TICKS_A_SECOND


def resident(pid: int) -> float:
    """What a process holds, in MiB."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES / MIB


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--ended", type=int, default=100_000)
    parser.add_argument("--pending", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--folder", help="where the queues are made (default: the folder for temporary files)")
    parser.add_argument("--only", choices=PARTS, nargs="+", default=PARTS)
    options = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} CPUs, Python {sys.version.split()[0]}")
    parts = dict(zip(PARTS, (cold, from_list, large, short_jobs, idle, supervisor), strict=True))
    for name in options.only:
        parts[name](options)


if __name__ == "__main__":
    main()
