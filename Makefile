# `make train` and `make test` are all a newcomer needs; `make help` lists the rest.
#
# Everything lives in $(VENV). The stamp files in it remember which set of dependencies is installed,
# so a second call goes straight to work; a changed pyproject.toml or constraints.txt installs again.

PYTHON ?= python3
VENV ?= .venv
BENCH_VENV ?= .venv-bench
ARGS ?=

BIN := $(VENV)/bin
BENCH_BIN := $(BENCH_VENV)/bin
NEEDS := pyproject.toml constraints.txt
# -qq: pip prints nothing unless it fails
PIP_INSTALL := -m pip install -qq --disable-pip-version-check -c constraints.txt

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help train test test-slow check format dev bench results docs clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo '  ARGS="…" is passed on, e.g. make train ARGS="seed=3", make test ARGS="-k resume"'

train: $(VENV)/.core  ## set up the core (no torch) and train CartPole-v1 until it is solved
	@$(BIN)/gymnast train CartPole-v1:ppo $(ARGS)

test: $(VENV)/.dev  ## run the test suite, without the slow tests
	@$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadgroup $(ARGS)

test-slow: $(VENV)/.dev  ## run the slow tests alone
	@$(BIN)/python -m pytest -m slow -n auto --maxprocesses 4 --dist loadgroup $(ARGS)

check: $(VENV)/.dev  ## lint, formatting, types, and every packaged preset
	@echo "ruff check";           $(BIN)/ruff check .
	@echo "ruff format --check";  $(BIN)/ruff format --check .
	@echo "mypy";                 $(BIN)/mypy
	@echo "gymnast config validate"; $(BIN)/gymnast config validate

format: $(VENV)/.dev  ## format the code and fix what the linter can fix
	@$(BIN)/ruff check --fix --quiet . || true
	@$(BIN)/ruff format .

dev: $(VENV)/.dev  ## set up everything for development, and the pre-commit hooks
	@$(BIN)/pre-commit install

bench: $(BENCH_VENV)/.bench  ## compare with Stable-Baselines3, side by side (ARGS="--quick", "--write", …)
	@$(BENCH_BIN)/python benchmarks/compare.py $(ARGS)

results: $(VENV)/.dev  ## train the presets with three seeds each and write docs/results.md
	@$(BIN)/python benchmarks/results.py $(ARGS)

docs: $(VENV)/.dev  ## write docs/metrics.md, settings.md and the pages of alerts from the code
	@$(BIN)/gymnast metrics --markdown > docs/metrics.md
	@$(BIN)/gymnast config keys --markdown > docs/settings.md
	@$(BIN)/gymnast diagnose --markdown docs
	@echo "docs/metrics.md, docs/settings.md and docs/alerts written"

clean:  ## remove environments, caches and builds; runs are kept
	rm -rf $(VENV) $(BENCH_VENV) .venv-ci build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- environments -------------------------------------------------------------------------------

# $(call make_venv,FOLDER): a one-line message if Python is missing or too old.
define make_venv
	@command -v $(PYTHON) >/dev/null || { echo "no '$(PYTHON)' found: install Python 3.11 or newer, or use make PYTHON=/path/to/python"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Gymnast needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) -V 2>&1)."; \
	  echo "Name a newer one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@test -x $(1)/bin/python || $(PYTHON) -m venv $(1) || { \
	  rm -rf $(1); echo "could not create $(1); on Debian and Ubuntu: apt install python3-venv"; exit 1; }
endef

$(VENV)/.core: $(NEEDS)
	$(call make_venv,$(VENV))
	@echo "Installing Gymnast and its core dependencies into $(VENV) …"
	@$(BIN)/python $(PIP_INSTALL) -e .
	@touch $@

$(VENV)/.dev: $(NEEDS)
	$(call make_venv,$(VENV))
	@echo "Installing Gymnast with its development tools, torch and every family of games into $(VENV) …"
	@$(BIN)/python $(PIP_INSTALL) -e '.[dev,games]'
	@touch $(VENV)/.core $@

$(BENCH_VENV)/.bench: $(NEEDS)
	$(call make_venv,$(BENCH_VENV))
	@echo "Installing Gymnast, torch and Stable-Baselines3 into $(BENCH_VENV) …"
	@$(BENCH_BIN)/python $(PIP_INSTALL) -e '.[bench]'
	@touch $@
