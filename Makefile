# Two commands do everything: `make demo` and `make test`. Both set up .venv by themselves.

VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint clean

demo: $(VENV)/.ready
	$(BIN)/alita demo

test: lint
	$(BIN)/python -m pytest --numprocesses=logical --maxprocesses=4 --dist=loadgroup --cov --cov-report=term

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
