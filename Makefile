# Cortex Actors: `make run` on a clean checkout installs what is needed and starts the demo.
# Plain make, so that GNU make 3.81 (macOS) reads it too.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# Where torch comes from, when the default (on Linux a build for graphics cards) is not wanted:
#   make run TORCH_INDEX=https://download.pytorch.org/whl/cpu
TORCH_INDEX ?=
TORCH := $(shell sed -n '/^torch==/p' constraints.txt)
TORCH_FROM := $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX))
# The order of the tests: `make test SEED=1234` repeats a run.
SEED ?=
# Further words for pytest: `make test ARGS="tests/flow -x"`.
ARGS ?=
# Tests at once: more than half of their time they wait for other processes and timers (1,934 s of
# CPU in 4,510 s), so three fill two cores. JOBS=0 runs them one after another.
JOBS ?= 3
# Where tests keep their files: in memory, where there are 4 GB for them, because thousands of them
# wait for a disk's syncs and none depends on it. MEMORY= keeps them in TMPDIR.
MEMORY ?= $(shell df -Pk /dev/shm 2>/dev/null | \
	awk 'NR == 2 && $$1 == "tmpfs" && $$4 > 4000000 { print "/dev/shm" }')
# What tests run with. Python may have been asked to keep no byte code, as in many containers: then
# every worker rewrites 650 files of tests again, and each of the many processes that tests start
# compiles the whole program again, which is a third of its start.
TESTING = PYTHONDONTWRITEBYTECODE= $(if $(MEMORY),TMPDIR=$(MEMORY)) $(BIN)/python -m pytest \
	-n $(JOBS) $(if $(SEED),--randomly-seed=$(SEED))
WHEEL_VENV := .wheel-venv
SEREN_VENV := .seren-venv

.PHONY: help venv dev seren run demo test test-fast soak lint types check docs bench wheel-check clean

help:
	@echo "make run          start the demo and follow its log (Ctrl-C stops it)"
	@echo "make demo         run the demo once, and end with a summary"
	@echo "make venv         only install, into $(VENV)"
	@echo "make seren        install the real stores that some tests ask, into $(SEREN_VENV)"
	@echo "make test         every test (SEED=n repeats an order, ARGS=... goes to pytest, JOBS=0: one by one)"
	@echo "make test-fast    what to run before each commit: tests without a process or a model, two minutes"
	@echo "make soak         random lives of the actors at length, and mutants that must die (minutes)"
	@echo "make lint         ruff: rules and format"
	@echo "make types        mypy, strict"
	@echo "make check        lint, types and test"
	@echo "make docs         write the pages that are made from the code"
	@echo "make bench        measure, as ratios in one run"
	@echo "make wheel-check  build the wheel, install it in a fresh environment, run the demo"
	@echo "make clean        remove what the other targets made"
	@echo "PYTHON=python3.12 chooses the interpreter, TORCH_INDEX=url where torch comes from"

venv: $(VENV)/.stamp
dev: $(VENV)/.stamp-dev

# The stamps are files, so that a second `make run` installs nothing. torch goes first and alone,
# because its index is not the one the rest comes from.
$(VENV)/.stamp: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install $(TORCH_FROM) $(TORCH)
	$(PIP) install -c constraints.txt -e .
	touch $@

$(VENV)/.stamp-dev: $(VENV)/.stamp
	$(PIP) install -c constraints.txt -e ".[dev]"
	touch $@

# The real stores of the Seren family. They are GPL and never imported: an environment of their own,
# without torch. Only what a server imports is compiled, at its first start: that halves the time.
seren: $(SEREN_VENV)/.stamp

$(SEREN_VENV)/.stamp: tests/federation/seren.txt constraints.txt
	test -x $(SEREN_VENV)/bin/python || $(PYTHON) -m venv $(SEREN_VENV)
	$(SEREN_VENV)/bin/python -m pip --disable-pip-version-check install --quiet --no-compile \
		-c constraints.txt -r tests/federation/seren.txt
	touch $@

run: venv
	$(BIN)/cortex demo --follow

demo: venv
	$(BIN)/cortex demo

test: dev
	$(TESTING) $(ARGS)

# What a person runs before each commit: tests/starts.py says what, and holds it to that.
test-fast: dev
	$(TESTING) --quick $(ARGS)

# What is marked `soak` and nothing else; its seeds are CORTEX_..._SEED variables.
soak: dev
	CORTEX_SOAK=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -m soak $(if $(SEED),--randomly-seed=$(SEED)) $(ARGS)

lint: dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: dev
	$(BIN)/mypy
# Beside its stub the module itself is read only when it is named.
	$(BIN)/mypy cortex_actors/client/cortex.py

check: lint types test

# Pages that are made from the code; a test compares them.
docs: dev
	$(BIN)/python -m docs.generate

bench: dev
	$(BIN)/python -m benchmarks.actors
	$(BIN)/python -m benchmarks.ledger
	$(BIN)/python -m benchmarks.embedding
	$(BIN)/python benchmarks/quick.py
	$(BIN)/python benchmarks/ingest.py
	$(BIN)/python benchmarks/ingest.py --provider hashing

wheel-check: dev
	rm -rf dist $(WHEEL_VENV)
	$(BIN)/python -m build --wheel
	$(PYTHON) -m venv $(WHEEL_VENV)
	$(WHEEL_VENV)/bin/python -m pip --disable-pip-version-check install $(TORCH_FROM) $(TORCH)
	$(WHEEL_VENV)/bin/python -m pip --disable-pip-version-check install -c constraints.txt dist/*.whl
	cd dist && ../$(WHEEL_VENV)/bin/cortex --version
	cd dist && ../$(WHEEL_VENV)/bin/cortex demo
	rm -rf $(WHEEL_VENV)

clean:
	rm -rf $(VENV) $(WHEEL_VENV) $(SEREN_VENV) build dist htmlcov .coverage
	rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
