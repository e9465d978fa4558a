# Needs Python 3.11 or newer and make, nothing else: everything more comes from the lock into .venv.
PYTHON ?= python3
# More arguments for pytest or the benchmarks, e.g. make test ARGS="-k snapshot -x".
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
LOCK := .ci/requirements.lock
LOCKER := .venv-lock
PEERS := .venv-peers
PEERS_LOCK := .ci/peers.lock
PEERS_IN := tests/benchmarks/peers/requirements.in
PIP := -m pip --disable-pip-version-check --no-input --quiet
PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal

# The tests start hundreds of processes: each would compile the project anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help env demo test test-fast check lint types layers format bench bench-peers lock clean

help: ## Show this text
	@echo "Intent Ledger: an event-sourced ledger of agent runs."
	@echo
	@echo "Start with: make demo"
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo
	@echo "Another interpreter: make env PYTHON=python3.13. More arguments: make test ARGS=\"-k snapshot\"."
	@echo "Where a new test goes, how to repeat a failed one: tests/README.md."

env: $(VENV)/.project ## Create or refresh .venv from the lock (the targets below do it by themselves)

demo: env ## Show a ledger at work in under ten seconds
	@$(BIN)/intent-ledger demo

test: env ## Run all tests
	@$(PYTEST) $(ARGS)

test-fast: env ## Run all but the slow tests (crashes, races, many processes)
	@$(PYTEST) -m "not slow" $(ARGS)

check: lint types layers ## Check style, types and the direction of imports

lint: env
	@echo "lint: ruff"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: env
	@echo "types: mypy"
	@$(BIN)/mypy

layers: env
	@echo "layers: import-linter"
	@$(BIN)/lint-imports --no-logo

format: env ## Format the code and repair what the linter can
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: env ## Measure the goals as ratios to raw drivers
	@$(BIN)/python -m tests.benchmarks $(ARGS)

bench-peers: env $(PEERS)/.locked ## Measure effects beside other libraries' steps (gets 250 MB of them)
	@$(BIN)/python -m tests.benchmarks peers $(ARGS)

# What is to be resolved, and where the answer stands.
define resolve
cp $(2) $(LOCKER)/lock
$(LOCKER)/bin/uv pip compile $(1) --output-file $(LOCKER)/lock --quiet \
	--universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-emit-find-links --custom-compile-command "make lock" $(if $(UPGRADE),--upgrade)
if grep -n '://' $(LOCKER)/lock; then echo "lock: an address slipped in, see above" >&2; exit 1; fi
cmp -s $(LOCKER)/lock $(2) || cp $(LOCKER)/lock $(2)
endef

lock: ## Resolve what is needed into the locks (UPGRADE=1 takes newer versions)
	@echo "lock: resolving for Python 3.11 and newer"
	@$(PYTHON) -m venv $(LOCKER)
	@$(LOCKER)/bin/python $(PIP) install 'uv>=0.9,<1'
	@set -e; $(call resolve,pyproject.toml --extra dev,$(LOCK))
	@set -e; $(call resolve,$(PEERS_IN),$(PEERS_LOCK))

clean: ## Remove .venv, caches and build products
	@rm -rf $(VENV) $(LOCKER) $(PEERS) .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache dist
	@find ledger projections tests -type d -name __pycache__ -prune -exec rm -rf {} +

# Two stamps: a changed lock makes the environment anew, so that nothing old stays in it; a changed
# pyproject.toml only installs the project again.
$(VENV)/.locked: $(LOCK)
	@command -v "$(PYTHON)" >/dev/null || { \
		echo "env: no '$(PYTHON)' found; name an interpreter: make env PYTHON=/path/to/python3" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "env: needs Python 3.11 or newer, '$(PYTHON)' is $$($(PYTHON) -V 2>&1);" \
			"name another: make env PYTHON=python3.13" >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "env: '$(PYTHON)' has no venv module; on Debian or Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@echo "env: creating $(VENV) with $$($(PYTHON) -V)"
	@"$(PYTHON)" -m venv --clear $(VENV)
	@echo "env: installing the locked packages (a minute on a slow line)"
	@$(BIN)/python $(PIP) install --require-hashes --only-binary :all: -r $(LOCK)
	@touch $@

$(PEERS)/.locked: $(PEERS_LOCK)
	@echo "bench-peers: creating $(PEERS), and installing the locked packages"
	@"$(PYTHON)" -m venv --clear $(PEERS)
	@$(PEERS)/bin/python $(PIP) install --require-hashes --only-binary :all: -r $(PEERS_LOCK)
	@touch $@

$(VENV)/.project: $(VENV)/.locked pyproject.toml
	@echo "env: installing the project"
	@$(BIN)/python $(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@
