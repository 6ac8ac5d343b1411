# harmonium: every target makes .venv and installs what it needs by itself.
PYTHON ?= python3
BIN := .venv/bin
SITE := docs/_build docs/gallery docs/api docs/tutorials docs/sg_execution_times.rst

.DEFAULT_GOAL := help
.PHONY: help install test coverage torture docs check format study clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "make %-8s %s\n", $$1, $$2}'

install: .venv/.installed ## .venv with harmonium in it, nothing more

# One process more than there are cores: many tests wait for commands that they have started.
test: .venv/.dev ## the whole test suite
	$(BIN)/python -m tests.kernels
	$(BIN)/pytest -n $$(expr $$(getconf _NPROCESSORS_ONLN) + 1) --dist worksteal

# Not in the group dev: Numba imports coverage wherever it is installed, which slows every start.
coverage: .venv/.dev ## which lines of the package the quick tests run, in percent
	$(BIN)/python -m pip install --quiet -c constraints.txt coverage
	$(BIN)/coverage run -m pytest -q -m "not slow" -p no:xdist
	$(BIN)/coverage report

docs: .venv/.dev ## the documentation site: docs/_build/html/index.html
	rm -rf docs/api
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

torture: .venv/.dev ## attacks on studies and searches for ten minutes; docs/development/guarantees.md
	$(BIN)/python -m tests.torture --minutes 10

check: .venv/.dev ## lint, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/.dev ## put the source into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

study: .venv/.installed ## the main job: how RBM-EDA and BOA scale, in minutes; ends with a report
	$(BIN)/harmonium study run studies/quick.toml --store quick.db
	$(BIN)/harmonium report quick.db -o quick.html

clean: ## remove .venv and caches
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis dist $(SITE)
	find src tests -name __pycache__ -prune -exec rm -rf {} +

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "harmonium needs Python 3.11 or newer; set PYTHON=…, as in: make PYTHON=python3.12 install" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1" -c constraints.txt

.venv/.installed: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[report]"
	@touch $@

.venv/.dev: .venv/.installed
	$(BIN)/python -m pip install --quiet -c constraints.txt --group dev
	@touch $@
