# make demo and make test each work alone on a fresh clone with Python >= 3.11 and pip.
PYTHON ?= python3
BIN := .venv/bin
FEDERATIONS ?= 3

DIST_VENV ?= .venv-dist
PYTHONS ?= 3.11 3.12 3.13 3.14

# pip compiles nothing here, which saves a quarter of the environment: Python must be allowed to keep what it compiles.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-browser test-network fuzz chaos check lint lock clean dist dist-test matrix docs

demo: .venv/runtime          ## a whole single-shot run on a bundled dataset
	$(BIN)/flora demo

test: .venv/dev              ## the whole test suite, a file to each core
	$(BIN)/pytest --numprocesses logical --maxprocesses 8 --dist loadfile

test-browser: .venv/dev      ## the report in a real browser: Debian's Chromium, installed if it is not there
	test -x $${FLORA_BROWSER:-/usr/bin/chromium} || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium > /dev/null; }
	FLORA_BROWSER=$${FLORA_BROWSER:-/usr/bin/chromium} $(BIN)/pytest -m browser tests/browser

test-network: .venv/dev      ## aggregator and parties as processes on loopback, with TLS and faults; three federations at a time
	$(BIN)/pytest -m network -o cache_dir=.pytest_cache/network --numprocesses $(FEDERATIONS) --dist loadfile $(MORE) tests/network tests/lab/network

fuzz: .venv/dev              ## hostile input, the long form: so many cases for each reader; FLORA_FUZZ_SEED chooses others
	FLORA_FUZZ=$${FLORA_FUZZ:-100000} $(BIN)/pytest --numprocesses logical --maxprocesses 8 tests/hostile

chaos: .venv/dev             ## faults drawn by a seed, the long form: so many; FLORA_CHAOS_SEED chooses others; chaos.log has each
	FLORA_CHAOS=$${FLORA_CHAOS:-200} FLORA_CHAOS_LOG=$${FLORA_CHAOS_LOG:-chaos.log} $(BIN)/pytest -m network --numprocesses $(FEDERATIONS) $(MORE) tests/network/test_chaos.py

check: lint test             ## all that must pass before a commit

lint: .venv/dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/sync_version.py

dist: .venv/runtime          ## the wheel and the source archive, in dist/
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist

dist-test: dist              ## a clean environment with the wheel alone runs the demonstration and a tune
	rm -rf $(DIST_VENV)
	$(PYTHON) -m venv $(DIST_VENV)
	$(DIST_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r requirements.txt
	$(DIST_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps dist/*.whl
	$(DIST_VENV)/bin/python -I scripts/try_wheel.py

matrix: dist                 ## dist-test with each Python of PYTHONS that is here; those that are not are named
	for version in $(PYTHONS); do \
	  if ! python$$version --version > /dev/null 2>&1; then echo "python$$version: not here, not tried"; continue; fi; \
	  $(MAKE) --no-print-directory dist-test PYTHON=python$$version DIST_VENV=.venv-dist-$$version || exit 1; \
	done

docs: .venv/dev              ## the documentation as a site, in site/
	$(BIN)/mkdocs build --strict --quiet

lock:                        ## pin all versions anew, with hashes (needs uv)
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-header -q --upgrade --extra build pyproject.toml -o requirements.txt
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-header -q --upgrade --extra nvflare --extra database --extra parquet --extra excel pyproject.toml -o requirements-deploy.txt -c requirements.txt
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-header -q --upgrade --all-extras pyproject.toml -o requirements-dev.txt -c requirements.txt

.venv/runtime: requirements.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "FLoRA needs Python 3.11 or newer: make PYTHON=python3.11")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps --no-build-isolation --editable .
	touch $@

.venv/dev: .venv/runtime requirements-dev.txt lab/pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r requirements-dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps --no-build-isolation --editable lab
	touch $@

clean:
	rm -rf .venv .venv-dist* dist site demo-run flora-run .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
