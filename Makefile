# Two commands do everything: `make demo` and `make test`. Both set up .venv by themselves, with the locked versions.
# docs/testing.md says what the three tiers of tests prove, and how long each takes.
# DEPENDENCIES=newest and DEPENDENCIES=lowest take what pyproject.toml allows at most and at least, each in a folder of its own.

DEPENDENCIES := locked
VENV := .venv$(if $(filter-out locked,$(DEPENDENCIES)),-$(DEPENDENCIES))
BIN := $(VENV)/bin
EXPORT := .venv/bin/uv export --quiet --locked --no-emit-project --no-annotate --no-header --group dev --format requirements-txt
READY := $(if $(filter locked,$(DEPENDENCIES)),lint,$(VENV)/.ready)
TEST_PROCESSES ?= 4
# A process that dies ends the run: pytest-xdist 3.8 may wait for ever for one that takes its place (its issue 1323).
PYTEST := $(BIN)/python -m pytest --numprocesses=$(TEST_PROCESSES) --dist=loadgroup --max-worker-restart=0
COVERAGE := --cov --cov-report=html:.cache/coverage
CHEAP := not docker and not bubblewrap and not node and not process and not slow and not exhaustive

.PHONY: demo check test test-all test-dependencies bench lint lock component clean

# Each of a thousand processes starts sooner where Python keeps what it compiled; it does so beside no source.
check test test-all: export PYTHONPYCACHEPREFIX := $(CURDIR)/.cache/bytecode
check test test-all: export PYTHONDONTWRITEBYTECODE :=

demo: component
	$(BIN)/alita demo

check: $(READY) component
	$(PYTEST) -m "$(CHEAP)"

test: $(READY) component
	$(PYTEST) -m "not exhaustive" $(COVERAGE)

test-all: lint component
	$(PYTEST) --random-order --hypothesis-profile=new $(COVERAGE)
	$(MAKE) test-dependencies

test-dependencies:
	$(MAKE) check DEPENDENCIES=newest
	$(MAKE) check DEPENDENCIES=lowest

# make bench NAME=calls ARGS='--json': stdout holds what the benchmark prints, and nothing else.
NAME :=
ARGS :=
bench:
	@$(MAKE) --no-print-directory component >&2
	@$(BIN)/python -m benchmarks $(NAME) $(ARGS)

lint: $(VENV)/.ready
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	@$(EXPORT) | cmp --silent - constraints.txt || { echo "uv.lock or constraints.txt is out of date: run make lock"; exit 1; }

# The Python of the embedded sandbox, built once for its sources and kept in the user's cache: 20 s of one processor.
component: $(VENV)/.ready
	@$(BIN)/python -m alita_mcp.sandbox.wasm.component

# After a change of pyproject.toml; `make lock UPGRADE=--upgrade` takes the newest versions that it allows.
lock:
	@[ -x .venv/bin/uv ] || $(MAKE) .venv/.ready
	.venv/bin/uv lock $(UPGRADE)
	$(EXPORT) >constraints.txt

.venv/.ready: pyproject.toml constraints.txt
	@if command -v uv >/dev/null 2>&1; then \
	  uv venv --quiet --allow-existing --python '>=3.11,<3.15' .venv && install="uv pip install --quiet --python .venv/bin/python"; \
	else \
	  python3 -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15) and "Python 3.11 to 3.14 is needed, this is " + sys.version)' && \
	  python3 -m venv .venv && install=".venv/bin/python -m pip install --quiet --disable-pip-version-check"; \
	fi && \
	$$install --require-hashes --requirement constraints.txt && \
	$$install --no-deps --no-build-isolation --editable .
	@touch $@

.venv-newest/.ready: RESOLUTION := highest
.venv-lowest/.ready: RESOLUTION := lowest-direct
.venv-%/.ready: pyproject.toml .venv/.ready
	.venv/bin/uv venv --quiet --clear --python .venv/bin/python .venv-$*
	.venv/bin/uv pip install --quiet --python .venv-$*/bin/python --resolution $(RESOLUTION) --group dev --editable .
	@touch $@

clean:
	rm -rf .venv .venv-newest .venv-lowest .node-tools .cache .coverage* .mypy_cache .pytest_cache .ruff_cache
