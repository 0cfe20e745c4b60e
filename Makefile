# Two commands do everything: `make demo` and `make test`. Both set up .venv by themselves, with the locked versions.
# DEPENDENCIES=newest and DEPENDENCIES=lowest take what pyproject.toml allows at most and at least, each in a folder of its own.

DEPENDENCIES := locked
VENV := .venv$(if $(filter-out locked,$(DEPENDENCIES)),-$(DEPENDENCIES))
BIN := $(VENV)/bin
EXPORT := .venv/bin/uv export --quiet --locked --no-emit-project --no-annotate --no-header --group dev --format requirements-txt

.PHONY: demo test lint lock clean

demo: $(VENV)/.ready
	$(BIN)/alita demo

test: $(if $(filter locked,$(DEPENDENCIES)),lint,$(VENV)/.ready)
	$(BIN)/python -m pytest --numprocesses=logical --maxprocesses=4 --dist=loadgroup --cov --cov-report=term

lint: $(VENV)/.ready
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	@$(EXPORT) | cmp --silent - constraints.txt || { echo "uv.lock or constraints.txt is out of date: run make lock"; exit 1; }

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
