"""Real runs of pw.x through the whole chain, by `make example-qe` or as below.

    python examples/quantum-espresso/run.py [--short] OUT_DIR

For every input: a dry run, a receipt of what pw.x says, a job with that receipt attached, and what the job used. The
materials of the training set calibrate; then each held-out calculation runs once more, with the calibrated figure as
its memory limit. Three sets come of it, below OUT_DIR/sets: training, held-out and limited. `report.py` says what is
in them.

Whatever was done stands in OUT_DIR, each step whole or not at all: interrupted, the same command goes on where it was.
Jobs that are running meanwhile go on, too.
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import materials
from materials import CALCULATIONS, PSEUDOPOTENTIALS, SETS, Calculation

from vq.errors import VqError

PACKAGES = ("quantum-espresso", "quantum-espresso-data")
DRY_RUN_STATUS = 255
LIMITED = "limited"

GUESS_MB = "2048"
"""The limit of a run that nothing is known of: the operator's guess, enough for all of them."""

METHOD, MARGIN = "offset", "10"
"""The calibration that the limits come from, chosen before anything was measured."""

EVIDENCE = {"schema_version": 1, "mpi_ranks": 1, "memory_scope": "job", "algorithm": "davidson"}
"""What the operator knows of every run here: one process is the whole job, and the default diagonalisation."""

ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OMPI_MCA_ess_singleton_isolated": "1"}
"""One thread; and no helper process of Open MPI, which would make a run of one process one of two."""

SHORT = (
    *("aluminium-1-20ry-k8", "aluminium-4-30ry-k4", "iron-1-30ry-k6", "lithium-1-40ry-k8"),
    *("silicon-8-20ry-k1", "silicon-8-30ry-k2"),
)
SHORT_MIN_CASES = 4
"""The short form's training set has so many cases; the default of 5 is for real ones."""


class Example:
    """The chain below a folder, on these calculations."""

    def __init__(self, out: str, calculations: Sequence[Calculation], min_cases: int | None) -> None:
        self.out = os.path.abspath(out)
        self.calculations = calculations
        self.min_cases = min_cases
        self.hardware_class = hardware_class()
        beside = os.path.join(os.path.dirname(sys.executable), "vq")
        self._vq = beside if os.access(beside, os.X_OK) else "vq"
        self._pw = shutil.which("pw.x") or "pw.x"

    def path(self, *names: str) -> str:
        """A path below the output folder."""
        return os.path.join(self.out, *names)

    def run(self) -> None:
        """Every step that has not been done; raises `VqError`."""
        materials.write(self.path("inputs"), self.calculations)
        features = self.path("features.json")
        if not os.path.exists(features):
            _write(features, json.dumps(EVIDENCE, indent=2) + "\n")
        for calculation in self.calculations:
            self._dry_run(calculation)
        for name in SETS:
            self._measure(
                name, [c for c in self.calculations if c.set_name == name], "receipt.json", "--mem-mb", GUESS_MB
            )
        self._calibrate()
        held_out = [c for c in self.calculations if c.set_name == SETS[1]]
        for calculation in held_out:
            self._estimate(calculation, "calibrated.json", *self._calibration())
        self._measure(LIMITED, held_out, "calibrated.json", "--mem-from-estimate")
        say(f"three sets stand in {self.path('sets')}")

    def vq(self, *words: str, queue: str = "none", status: tuple[int, ...] = (0,)) -> str:
        """What `vq` prints to stdout, with a queue of the example's own; raises `VqError` on another exit status."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("VQ_")}
        own = {"VQ_STATE_DIR": self.path("queues", queue), "XDG_CONFIG_HOME": self.path("config")}
        return ended([self._vq, *words], {**kept, **own}, status)

    def _dry_run(self, calculation: Calculation) -> None:
        """A receipt of what pw.x says when it is told, by the file that it looks for, to stop before it computes."""
        folder = self.path("dry-runs", calculation.name)
        if os.path.exists(os.path.join(folder, "receipt.json")):
            return
        scratch = os.path.join(folder, "out")
        os.makedirs(scratch, exist_ok=True)
        _write(os.path.join(scratch, "pw.EXIT"), "")
        command = [self._pw, "-i", self.path("inputs", calculation.name, "pw.in")]
        printed = ended(command, {**os.environ, **ENVIRONMENT}, (DRY_RUN_STATUS,), cwd=folder)
        _write(os.path.join(folder, "pw.out"), printed)
        shutil.rmtree(scratch)
        self._estimate(calculation, "receipt.json")
        say(f"dry run  {calculation.name}")

    def _estimate(self, calculation: Calculation, target: str, *calibration: str) -> None:
        folder = self.path("dry-runs", calculation.name)
        if os.path.exists(os.path.join(folder, target)):
            return
        words = ("estimate", os.path.join(folder, "pw.out"), "--program", "quantum-espresso")
        bound = ("--features", self.path("features.json"), "--input", self.path("inputs", calculation.name, "pw.in"))
        self.vq(*words, *bound, *calibration, "-o", os.path.join(folder, target))

    def _measure(self, name: str, calculations: Sequence[Calculation], estimate: str, *flags: str) -> None:
        """The set of these jobs, each with its estimate, in a queue of their own."""
        if os.path.exists(self.path("sets", name)):
            return
        jobs = {calculation.name: self._submit(name, calculation, estimate, *flags) for calculation in calculations}
        say(f"{name}: {len(jobs)} jobs, of which two run at once on two cores; vq wait …")
        self.vq("wait", *jobs.values(), queue=name, status=(0, 1))
        for calculation, job in jobs.items():
            self._fetch(name, calculation, job)
        os.makedirs(self.path("sets"), exist_ok=True)
        said = self.vq(
            *("estimate-collect", self.path("sets", name), "--hardware-class", self.hardware_class),
            *("--set-id", f"quantum-espresso-{name}"),
            queue=name,
        )
        say(said.rstrip())
        self.vq("daemon", "stop", queue=name)

    def _submit(self, name: str, calculation: Calculation, estimate: str, *flags: str) -> str:
        """The id of a job that runs the calculation; the same one however often this is asked."""
        environment = [word for item in ENVIRONMENT.items() for word in ("--env", "=".join(item))]
        return self.vq(
            *("submit", "-d", self.path("inputs", calculation.name), "--name", calculation.name, "--clean-env"),
            *("--estimate", self.path("dry-runs", calculation.name, estimate), *flags),
            *("--idempotency-key", calculation.name, "--cpus", "1", *environment, "-q"),
            *("--", self._pw, "-i", "pw.in"),
            queue=name,
        ).strip()

    def _fetch(self, name: str, calculation: str, job: str) -> None:
        """Take out what a job computed; raises `VqError` where a job without a limit of ours did not complete."""
        state = json.loads(self.vq("status", job, "--json", queue=name))
        target = self.path("results", name, calculation)
        if state["state"] == "COMPLETED":
            if not os.path.exists(target):
                os.makedirs(os.path.dirname(target), exist_ok=True)
                self.vq("fetch", job, "-o", target, "--only", "data-file-schema.xml", queue=name)
        elif name != LIMITED:
            log = f"VQ_STATE_DIR={self.path('queues', name)} vq logs {job}"
            hint = f"see {log}; then remove {self.path('queues', name)} to run that set again"
            raise VqError(
                f"expected a completed run, found {state['state']}", where=f"{name}, {calculation}", hint=hint
            )

    def _calibration(self) -> tuple[str, ...]:
        return ("--calibration", self.path("calibration.json"), "--hardware-class", self.hardware_class)

    def _calibrate(self) -> None:
        target = self.path("calibration.json")
        if os.path.exists(target):
            return
        cases = () if self.min_cases is None else ("--min-cases", str(self.min_cases))
        training = self.path("sets", SETS[0], "set.json")
        method = ("--method", METHOD, "--margin", MARGIN)
        say(self.vq("estimate-calibrate", training, "-o", target, *method, *cases).rstrip())


def hardware_class() -> str:
    """What runs here are alike in: system, machine and the BLAS that pw.x finds, whose buffers are in its peak."""
    with open("/etc/os-release", encoding="utf-8") as file:
        system = dict(line.rstrip().split("=", 1) for line in file if "=" in line)
    chosen = glob.glob("/etc/alternatives/libblas.so.3-*")
    blas = os.path.basename(os.path.dirname(os.path.realpath(chosen[0]))) if chosen else "unknown"
    named = "reference" if blas == "blas" else blas
    release = system.get("VERSION_ID", "").strip('"')
    return f"{system.get('ID', 'linux')}-{release}-{os.uname().machine}-{named}-blas"


def provide() -> None:
    """See to it that pw.x and its pseudopotentials are there; raises `VqError` that says what to install."""
    if shutil.which("pw.x") and os.path.isdir(PSEUDOPOTENTIALS):
        return
    install = ("apt-get", "install", "--yes", "--quiet", "--no-install-recommends", *PACKAGES)
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise VqError("pw.x or its pseudopotentials are missing", hint=f"on Debian, as root: {' '.join(install)}")
    environment: Mapping[str, str] = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    say(f"installing {', '.join(PACKAGES)}")
    ended(["apt-get", "update", "--quiet"], environment, (0,))
    ended(list(install), environment, (0,))


def ended(
    command: Sequence[str], environment: Mapping[str, str], status: tuple[int, ...], cwd: str | None = None
) -> str:
    """What a command prints to stdout; raises `VqError` with its stderr where it ends with another exit status."""
    done = subprocess.run(  # noqa: S603 - programs of this example, with arguments of its own
        command, env=environment, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode not in status:
        said = (done.stderr or done.stdout).strip()[-1000:]
        raise VqError(f"expected exit status {status[0]}, found {done.returncode}: {said}", where=" ".join(command[:4]))
    return done.stdout


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def say(text: str) -> None:
    """Tell how far it is."""
    print(text, flush=True)


def main(arguments: Sequence[str]) -> int:
    """The exit status of the example."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", metavar="OUT_DIR")
    parser.add_argument("--short", action="store_true", help="six small inputs, in less than three minutes")
    given: Any = parser.parse_args(arguments)
    chosen = [c for c in CALCULATIONS if not given.short or c.name in SHORT]
    try:
        provide()
        Example(given.out, chosen, SHORT_MIN_CASES if given.short else None).run()
    except KeyboardInterrupt:
        print("interrupted; what runs goes on, and the same command takes it up again", file=sys.stderr)
        return 130
    except (VqError, OSError) as error:
        print(f"example: error: {error}", file=sys.stderr)
        if isinstance(error, VqError) and error.hint:
            print(f"to fix it: {error.hint}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
