PYTHON ?= python3
BIN := .venv/bin
# A file's tests stay together: two workers seldom compile the same loop or set up the same module.
PARALLEL := -n auto --dist worksteal
SLOWEST := --durations=20
LOOP_TESTS := tests/loops
ENGINE_TESTS := tests/engines
BOUNDS_TESTS := tests/documents tests/hashing tests/io tests/linear tests/loops tests/neighbors \
	tests/text tests/test_*.py
LIVES := 1000
SPARK_3_WARNS := -W "ignore:unclosed:ResourceWarning" \
	-W "ignore:distutils Version classes:DeprecationWarning"

.PHONY: demo reproduction test coverage test-all test-oldest bounds lint docs tour site bench dist clean

# The page is build/reproduction/report.html.
demo: .venv/report .venv/loops
	$(BIN)/python -m reproduction --scale quick

# The same with the paper's data: hours, and gigabytes to download.
reproduction: .venv/reproduction .venv/loops
	$(BIN)/python -m reproduction --scale full

test: lint
	$(BIN)/pytest -q $(PARALLEL) $(COVERAGE) $(SLOWEST)
	$(BIN)/pytest -q -m "engines and not slow" $(ENGINE_TESTS) $(COVERAGE)
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -q $(LOOP_TESTS) $(COVERAGE)

# The same tests, a minute longer for the tracer.
coverage: .venv/test
	$(BIN)/coverage erase
	$(MAKE) test COVERAGE="--cov --cov-append --cov-report="
	$(BIN)/coverage report

test-all: .venv/test .venv/loops
	LIVES=$(LIVES) $(BIN)/pytest -q $(PARALLEL) -m "not engines and not site"
	$(BIN)/pytest -q -m engines $(ENGINE_TESTS)

# with the oldest versions of everything that are supported
test-oldest: .venv-oldest/test
	find src -name "*.nb[ic]" -delete
	.venv-oldest/bin/pytest -q $(PARALLEL)
	.venv-oldest/bin/pytest -q -m "engines and not slow" $(ENGINE_TESTS) $(SPARK_3_WARNS)
	find src -name "*.nb[ic]" -delete

# Loops that check every index, compiled into a folder of their own: those in a cache do not check.
# Memory is not zero before it is written, so that what is read too early is out of bounds as well.
# Compiling takes memory, so peaks are not measured.
bounds: .venv/test
	cache=$$(mktemp -d) && trap "rm -rf $$cache" EXIT && \
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$$cache MALLOC_PERTURB_=165 LIVES=$(LIVES) \
	$(BIN)/pytest -q $(PARALLEL) $(BOUNDS_TESTS) --ignore tests/test_kernels_memory.py

lint: .venv/test .venv/loops
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Examples run: those of docstrings and pages as tests, gallery and notebook in the build itself.
docs: .venv/docs .venv/loops
	$(BIN)/pytest -q $(PARALLEL) src tests/test_pages.py
	$(MAKE) site

# Every page from top to bottom, clusters included, as by a reader who has just installed the package.
tour:
	folder=$$(mktemp -d) && trap "rm -rf $$folder" EXIT && \
	$(PYTHON) -m venv $$folder && $$folder/bin/pip install -q ".[all]" && \
	cd $$folder && bin/python $(CURDIR)/tests/tour.py

# Built, and looked at in a browser where there is one.
site: .venv/docs .venv/loops
	rm -rf docs/api/generated
	$(BIN)/sphinx-build -q -W --keep-going -d docs/_build/doctrees docs docs/_build/html
	$(BIN)/pytest -q -rs -m site tests/test_site.py
	@echo docs/_build/html/index.html

bench: .venv/bench .venv/loops
	$(BIN)/python benchmarks/exact.py
	$(BIN)/python benchmarks/hashing.py
	$(BIN)/python benchmarks/learning.py
	$(BIN)/python benchmarks/search.py
	$(BIN)/python benchmarks/files.py
	$(BIN)/python benchmarks/intervals.py

# What a release consists of, and that it works in an empty environment.
dist: .venv/release
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*
	$(BIN)/python benchmarks/first_contact.py dist/*.whl

# Each stamp is an installation: made again only when pyproject.toml has changed.
.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv-oldest/test: pyproject.toml oldest.txt
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet --constraint oldest.txt --editable ".[test]"
	touch $@

.venv/report .venv/reproduction .venv/test .venv/docs .venv/bench .venv/release: .venv/%: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[$*]"
	touch $@

# A loop is compiled again when its own file changes, not when one that it calls does.
.venv/loops: $(shell find src/corekernels/_loops -name "*.py") | .venv/bin/python
	find src -name "*.nb[ic]" -delete
	touch $@

clean:
	rm -rf .venv .venv-oldest build dist docs/_build docs/api/generated docs/gallery
