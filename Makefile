# make demo, make test, make lint, make commands, make docs, make ci. Everything happens in .venv, made with $(PYTHON).

PYTHON ?= python3
JOBS ?= 2
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint format commands docs ci clean

# pip reads dependency groups from 25.1 on.
$(VENV)/.base: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "falsify-adapters needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.tests: $(VENV)/.base
	$(BIN)/python -m pip install --quiet --editable '.[all]' --group tests
	touch $@

$(VENV)/.lint: $(VENV)/.base
	$(BIN)/python -m pip install --quiet --group lint
	touch $@

$(VENV)/.docs: $(VENV)/.base
	$(BIN)/python -m pip install --quiet --group docs
	touch $@

demo: $(VENV)/.base
	$(BIN)/falsify-adapters demo

test: $(VENV)/.tests
	$(BIN)/python -m pytest -n $(JOBS)

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

commands: $(VENV)/.base
	$(BIN)/python tools/commands_page.py > docs/commands.md

docs: $(VENV)/.docs
	$(BIN)/mkdocs build --strict --quiet

ci:
	.ci/run

clean:
	rm -rf $(VENV) build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis
