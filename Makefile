# gammonfarm: `make help` lists the targets.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TEST_PROCESSES ?= 2
READY := $(VENV)/.ready

# A problem that a player posted in public, with two of its plays.
POSITION := XGID=--ABBBC-B---eB---c-cbb--A-:0:0:1:56:0:0:0:0:10

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | awk -F'\t' '{printf "  make %-14s %s\n", $$1, $$2}'

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "gammonfarm needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Try make PYTHON=python3.12"; exit 2; }
	@$(PYTHON) -m venv $(VENV) || { echo "$(PYTHON) cannot make a virtual environment (Debian, Ubuntu: apt install python3-venv)"; exit 2; }
	$(BIN)/python -m pip install --disable-pip-version-check -q -c constraints.txt -e '.[dev]'
	@touch $(READY)

.PHONY: install
install: $(READY) ## create .venv and install the pinned set

.PHONY: run
run: $(READY) ## roll out a real problem position
	@$(BIN)/gammonfarm rollout '$(POSITION)' --play 24/13 --play '13/8 13/7' --trials 1296

.PHONY: test
test: $(READY) ## run the tests
	$(BIN)/python -m pytest -q -n $(TEST_PROCESSES) --dist loadgroup --no-loadscope-reorder

.PHONY: test-slow
test-slow: $(READY) ## run the tests that take minutes
	$(BIN)/python -m pytest -q -m slow

.PHONY: check
check: $(READY) ## lint, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

.PHONY: format
format: $(READY) ## format the sources
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.PHONY: train
train: $(READY) ## train the main net from nothing, in five stages (some hours); RESUME=--resume goes on
	$(BIN)/gammonfarm train configs/train/td.toml --folder runs/td $(RESUME)
	$(BIN)/gammonfarm train configs/train/main.toml --folder runs/main $(RESUME)
	$(BIN)/gammonfarm train configs/train/second.toml --folder runs/second $(RESUME)
	$(BIN)/gammonfarm train configs/train/third.toml --folder runs/third $(RESUME)
	$(BIN)/gammonfarm train configs/train/fourth.toml --folder runs/fourth $(RESUME)

.PHONY: book
book: $(READY) ## build a small opening book (under 10 minutes on 2 cores) and write its web pages
	@$(BIN)/gammonfarm book build quick
	@$(BIN)/gammonfarm book export --book quick book-site
	@echo "open book-site/index.html in a browser"

.PHONY: doctor
doctor: $(READY) ## say what is configured and reachable
	@$(BIN)/gammonfarm doctor

.PHONY: ui
ui: $(READY) ## open the MLflow pages of the local runs
	MLFLOW_DISABLE_TELEMETRY=true MLFLOW_SERVER_ENABLE_JOB_EXECUTION=false \
		$(BIN)/mlflow ui --workers 1 --backend-store-uri "sqlite:///$$($(BIN)/python -c 'from engine.home import data_home; print(data_home())')/mlflow.db"

.PHONY: golden
golden: $(READY) ## write the golden file anew after the shipped net has changed
	$(BIN)/python -m scripts.regenerate_golden

.PHONY: constraints
constraints: $(READY) ## write constraints.txt from what is installed
	{ head -1 constraints.txt; $(BIN)/python -m pip freeze --exclude-editable | sed 's/+cpu//'; } > constraints.new
	mv constraints.new constraints.txt

.PHONY: clean
clean: ## remove .venv and caches of the checkout (the data folder stays)
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
