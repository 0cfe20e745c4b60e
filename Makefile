# Two commands do everything: `make demo` and `make test`. Both set up .venv by themselves.
# docs/testing.md says what the three tiers of tests prove, and how long each takes.

VENV := .venv
BIN := $(VENV)/bin
TEST_PROCESSES ?= 4
PYTEST := $(BIN)/python -m pytest --numprocesses=$(TEST_PROCESSES) --dist=loadgroup
COVERAGE := --cov --cov-report=term

.PHONY: demo check test test-all test-dependencies lint clean

# Each of a thousand processes starts sooner where Python keeps what it compiled; it does so beside no source.
check test test-all: export PYTHONPYCACHEPREFIX := $(CURDIR)/.cache/bytecode
check test test-all: export PYTHONDONTWRITEBYTECODE :=

demo: $(VENV)/.ready
	$(BIN)/alita demo

check: lint
	$(PYTEST) -m "not docker and not bubblewrap and not node and not process and not slow and not exhaustive"

test: lint
	$(PYTEST) -m "not exhaustive" $(COVERAGE)

test-all: lint
	$(PYTEST) --random-order $(COVERAGE)
	$(MAKE) test-dependencies

lint: $(VENV)/.ready
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

$(VENV)/.ready: pyproject.toml
	@if command -v uv >/dev/null 2>&1; then \
	  uv venv --quiet --allow-existing --python '>=3.11' $(VENV) && uv pip install --quiet --python $(BIN)/python -e '.[dev]'; \
	else \
	  python3 -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is " + sys.version)' && \
	  python3 -m venv $(VENV) && $(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'; \
	fi
	@touch $@

clean:
	rm -rf $(VENV) .node-tools .cache .coverage* .mypy_cache .pytest_cache .ruff_cache
