# `make check` is the one gate. Every target sets up what it needs.
PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3.13 || command -v python3)
WANTED := 'import sys; sys.exit("Python 3.11 or newer is needed: make PYTHON=..." if sys.version_info < (3, 11) else 0)'
VENV ?= .venv
BIN := $(VENV)/bin
WORKERS ?= auto
REPOSITORY ?=

.DEFAULT_GOAL := help
.PHONY: help setup check format lint types floors test bench simulation soak docs rows lock demo demo-forge

help: ## what can be made
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "%-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/.ready ## a virtual environment with everything in it

$(VENV)/.ready: pyproject.toml requirements.lock
	@$(PYTHON) -c $(WANTED)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	$(BIN)/python -m compileall -q config connectors dispatcher engine tests
	@touch $@

check: lint types floors test ## the one gate: format, lint, types, floors, tests

format: setup ## write the usual format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: setup ## format and lint, checked only
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: setup ## mypy, strict
	$(BIN)/mypy

floors: setup ## who may import whom
	$(BIN)/lint-imports

test: setup ## the tests
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal -m "not bench"

bench: setup ## the measurements, one after the other
	$(BIN)/python -m tests.benchmarks

simulation: setup ## ten thousand histories of faults under a simulated clock, over the native board and over forges
	$(BIN)/python -m tests.simulation --board native --seeds 10000
	$(BIN)/python -m tests.simulation --first 10000 --seeds 2000

soak: setup ## an hour of real processes, killed at random
	$(BIN)/python -m tests.soak --minutes 60 --slots 8

docs: setup ## write the generated tables of the pages
	$(BIN)/python tests/house/tables.py

rows: setup ## which rows of the acceptance matrix a test names, and which none does
	$(BIN)/python tests/house/rows.py

lock: ## renew requirements.lock (wants uv)
	uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-annotate --no-header --output-file requirements.lock

demo: setup ## a card drafts release notes of a git repository (REPOSITORY=path, or a made-up one)
	PATH="$(CURDIR)/$(BIN):$$PATH" bash demo/run.sh $(REPOSITORY)

demo-forge: setup ## a card of a forge: labels move, a comment appears once although its answer is cut
	PATH="$(CURDIR)/$(BIN):$$PATH" bash demo/forge.sh
