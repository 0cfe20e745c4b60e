# Two commands do everything: `make demo` and `make test`. Both set up .venv by themselves, with the locked versions.
# docs/testing.md says what the three tiers of tests prove, and how long each takes.
# PYTHON=python3.13 takes that interpreter, DEPENDENCIES=newest or =lowest the versions that pyproject.toml allows at most
# or at least; each has an environment of its own.

PYTHON :=
PYTHONS := $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11)
DEPENDENCIES := locked
LOCKED_VENV := .venv$(if $(PYTHON),-$(notdir $(PYTHON)))
VENV := $(LOCKED_VENV)$(if $(filter-out locked,$(DEPENDENCIES)),-$(DEPENDENCIES))
BIN := $(VENV)/bin
# The lock is complete, so nothing is resolved: another release of a package, or an extra that it asks for, changes nothing.
INSTALL_LOCKED := install --no-deps --require-hashes --requirement constraints.txt
EXPORT := $(LOCKED_VENV)/bin/uv export --quiet --locked --no-emit-project --no-annotate --no-header --all-extras --group dev --format requirements-txt
READY := $(if $(filter locked,$(DEPENDENCIES)),lint,$(VENV)/.ready)
TEST_PROCESSES ?= 4
# A process that dies ends the run: pytest-xdist 3.8 may wait for ever for one that takes its place (its issue 1323).
PYTEST := $(BIN)/python -m pytest --numprocesses=$(TEST_PROCESSES) --dist=loadgroup --max-worker-restart=0
COVERAGE := --cov --cov-report=html:.cache/coverage
CHEAP := not docker and not bubblewrap and not node and not postgres and not process and not slow and not exhaustive

.PHONY: demo check test test-all test-dependencies bench lint lock component mcpb clean

# Each of a thousand processes starts sooner where Python keeps what it compiled; it does so beside no source.
check test test-all: export PYTHONPYCACHEPREFIX := $(CURDIR)/.cache/bytecode
check test test-all: export PYTHONDONTWRITEBYTECODE :=

demo: component
	$(BIN)/alita demo

check: $(READY) component
	$(PYTEST) -m "$(CHEAP)"

test: $(READY) component
	$(PYTEST) -m "not exhaustive"

# Damaged homes and kills (tests/faults) are drawn from a seed: a new one each time, printed; the same variable repeats it.
test-all: export ALITA_TEST_SEED := $(or $(ALITA_TEST_SEED),$(shell date +%s))
test-all: lint component
	@echo "ALITA_TEST_SEED=$(ALITA_TEST_SEED)"
	$(PYTEST) --random-order --hypothesis-profile=new $(COVERAGE)
	$(PYTEST) --store=postgres -m "not exhaustive" tests/server
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

# The bundle for Claude Desktop and other hosts; it installs the published package of the same version.
mcpb:
	@mkdir -p dist && rm -f dist/alita-mcp-server.mcpb
	cd deploy/mcpb && python3 -m zipfile -c ../../dist/alita-mcp-server.mcpb manifest.json pyproject.toml src/

# After a change of pyproject.toml; `make lock UPGRADE=--upgrade` takes the newest versions that it allows.
lock:
	@[ -x $(LOCKED_VENV)/bin/uv ] || $(MAKE) $(LOCKED_VENV)/.ready
	$(LOCKED_VENV)/bin/uv lock $(UPGRADE)
	$(EXPORT) >constraints.txt

# An interpreter that is only a shim, or has no ensurepip where uv is missing, is passed over. _base_executable: the .venv
# that is made anew may be the active one.
$(LOCKED_VENV)/.ready: pyproject.toml constraints.txt
	@uv=; if uv --version >/dev/null 2>&1; then uv=uv; fi; \
	for each in $(PYTHONS); do \
	  python=$$("$$each" -c 'import sys; (3, 11) <= sys.version_info < (3, 15) and print(sys._base_executable)' 2>/dev/null); \
	  [ -n "$$python" ] || continue; \
	  if [ -n "$$uv" ] || "$$python" -c 'import ensurepip, venv' 2>/dev/null; then break; fi; \
	  without_venv="$$without_venv $$each"; python=; \
	done; \
	if [ -z "$$python" ]; then \
	  if [ -n "$$without_venv" ]; then echo "Cannot make a virtual environment with$$without_venv: install its venv package (Debian and Ubuntu: apt install python3-venv) or uv."; \
	  else echo "Python 3.11 to 3.14 is needed; none of these runs: $(PYTHONS). Debian and Ubuntu: apt install python3 python3-venv; others: python.org."; fi >&2; \
	  exit 1; \
	fi; \
	rm -rf $(LOCKED_VENV) && \
	if [ -n "$$uv" ]; then \
	  uv venv --quiet --python "$$python" $(LOCKED_VENV) && pip() { uv pip "$$@" --quiet --python $(LOCKED_VENV)/bin/python; }; \
	else \
	  "$$python" -m venv $(LOCKED_VENV) && pip() { $(LOCKED_VENV)/bin/python -m pip --quiet --disable-pip-version-check "$$@"; }; \
	fi && \
	pip $(INSTALL_LOCKED) && pip install --no-deps --no-build-isolation --editable . && pip check
	@touch $@

$(LOCKED_VENV)-newest/.ready: RESOLUTION := highest
$(LOCKED_VENV)-lowest/.ready: RESOLUTION := lowest-direct
$(LOCKED_VENV)-%/.ready: pyproject.toml $(LOCKED_VENV)/.ready
	$(LOCKED_VENV)/bin/uv venv --quiet --clear --python $(LOCKED_VENV)/bin/python $(@D)
	$(LOCKED_VENV)/bin/uv pip install --quiet --python $(@D)/bin/python --resolution $(RESOLUTION) --group dev --editable '.[all]'
	@touch $@

clean:
	rm -rf .venv .venv-* .node-tools .cache .coverage* .mypy_cache .pytest_cache .ruff_cache
