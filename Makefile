# Two commands do all the set-up: `make demo` and `make test`. Everything is installed into .venv.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: setup demo demo-vasp example-qe test test-all test-v2 test-kills test-power-cut test-systemd soak lint types contracts tests docs bench clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "vq needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 setup"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { echo "Python cannot make a virtual environment. On Debian: apt install python3-venv"; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $(STAMP)

# The whole loop on PySCF, in a queue of its own, with what it writes in demo-out; the VASP part needs no queue.
demo: $(STAMP)
	@$(BIN)/python examples/pyscf/demo.py

demo-vasp: $(STAMP)
	@$(BIN)/python examples/vasp/demo.py

# Real runs of Quantum ESPRESSO (12 minutes of CPU time on two cores; resumes when interrupted), and their report in docs.
QE_OUT ?= example-qe-out

example-qe: $(STAMP)
	@$(BIN)/python examples/quantum-espresso/run.py $(QE_OUT)
	@rm -rf examples/quantum-espresso/measured
	@cp -r $(QE_OUT)/sets examples/quantum-espresso/measured
	@$(BIN)/python examples/quantum-espresso/report.py examples/quantum-espresso/measured docs

test: lint types contracts tests soak docs

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

contracts: $(STAMP)
	$(BIN)/lint-imports

tests: $(STAMP)
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest
	$(BIN)/coverage combine --quiet
	@rm -f .coverage.*  # what killed processes left half written
	$(BIN)/coverage report --fail-under=90
	$(BIN)/coverage report --fail-under=100 --include='src/vq/admission/*,src/vq/estimates/*,src/vq/formats/*,src/vq/jobs/*,src/vq/plots/*,src/vq/canonical.py,src/vq/shapes.py,src/vq/sizes.py,src/vq/wording.py'

# The suite on every supported Python that this machine has, each in a virtual environment of its own.
test-all:
	@for python in $$(sh tests/pythons.sh); do \
	  version=$$($$python -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
	  echo "== Python $$version"; \
	  $(MAKE) --no-print-directory PYTHON="$$python" VENV=".venv-$$version" tests || exit 1; \
	done

# The tests with real processes on control groups of version 2, and what sets the clock or needs another file system, in
# a small virtual machine. It takes an hour or more; VM_PATHS and VM_TESTS select from it.
VM_RUN    ?= ../shared/tools/vm-run
VM_PYTHON ?= $(CURDIR)/$(BIN)/python
VM_DISK   ?= $(CURDIR)/.vm-disk
VM_TESTS  ?= -k "not sampled and not cgroup1"
VM_PATHS  ?= tests/integration tests/machines/clock_set.py tests/machines/without_links.py
VM_MODULES    = $(or $(VM_CACHE),$(HOME)/.cache/vq-vm)/kernel/lib/modules
VM_ENV        = env VQ_TEST_SLOWNESS=20 PYTHONDONTWRITEBYTECODE=1
VM_PYTEST     = $(VM_PYTHON) -m pytest -p no:cacheprovider -o timeout=1200

test-v2: $(STAMP)
	$(VM_RUN) -m 6144 -t 10000 -d $(VM_DISK) -- $(VM_ENV) VQ_TEST_DISK=/mnt/disk VQ_TEST_MACHINE=$(VM_MODULES) \
	  $(VM_PYTEST) $(VM_PATHS) --durations=10 $(VM_TESTS)

# The same, in a login session whose user may make no control group but has a systemd that does. What is in no scope yet
# comes first: the tests of supervisors and daemons move their whole process into one.
SYSTEMD_PATHS ?= tests/machines/user_scope.py tests/integration/supervisor tests/integration/daemon

test-systemd: $(STAMP)
	$(VM_RUN) -m 4096 -t 7200 -- $(VM_ENV) tests/machines/systemd_box.sh \
	  $(VM_ENV) VQ_TEST_SYSTEMD=1 HYPOTHESIS_STORAGE_DIRECTORY=/tmp/hypothesis \
	  $(VM_PYTEST) $(SYSTEMD_PATHS) --durations=10 -k "systemd or user_scope"

# The daemon killed 200 times at random moments, in each way to measure and enforce.
test-kills: $(STAMP)
	VQ_TEST_KILLS=200 $(BIN)/python -m pytest tests/integration/daemon/test_kills.py

# Jobs that outgrow their predictions, beside programs that take and give back memory: SOAK_SECONDS=3600 for an hour.
soak: $(STAMP)
	$(BIN)/python tests/soak.py

# The power of a virtual machine cut in the middle of a burst of submissions, VQ_TEST_CUTS times (4).
test-power-cut: $(STAMP)
	VM_RUN=$(VM_RUN) VM_PYTHON=$(VM_PYTHON) $(BIN)/python -m pytest tests/machines/power_cut.py -s

docs: $(STAMP)
	$(BIN)/sphinx-build -q -W -b html docs docs/_build/html

bench: $(STAMP)
	$(BIN)/python benchmarks/estimates.py
	$(BIN)/python benchmarks/admission_replay.py
	$(BIN)/python benchmarks/live_look.py

clean:
	rm -rf .venv .venv-* .vm-disk docs/_build demo-out example-qe-out build dist .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
