PYTHON ?= python3
BIN := .venv/bin
COVERAGE := --cov --cov-report=
LOOP_TESTS := tests/loops
ENGINE_TESTS := tests/distributed

.PHONY: demo test test-all lint bench clean

demo: .venv/report .venv/loops
	$(BIN)/corekernels reproduce --scale quick --out reproduction

test: lint
	$(BIN)/pytest -q -n auto $(COVERAGE)
	$(BIN)/pytest -q -m "engines and not slow" $(ENGINE_TESTS) $(COVERAGE) --cov-append
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -q $(LOOP_TESTS) $(COVERAGE) --cov-append
	$(BIN)/coverage report

test-all: .venv/test .venv/loops
	$(BIN)/pytest -q -n auto -m "not engines"
	$(BIN)/pytest -q -m engines $(ENGINE_TESTS)

lint: .venv/test .venv/loops
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/bench .venv/loops
	$(BIN)/python benchmarks/exact.py
	$(BIN)/python benchmarks/hashing.py
	$(BIN)/python benchmarks/learning.py
	$(BIN)/python benchmarks/search.py
	$(BIN)/python benchmarks/files.py
	$(BIN)/python benchmarks/intervals.py

# Each stamp is an installation: made again only when pyproject.toml has changed.
.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/report .venv/test .venv/bench: .venv/%: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[$*]"
	touch $@

# A loop is compiled again when its own file changes, not when one that it calls does.
.venv/loops: $(shell find src/corekernels/_loops -name "*.py") | .venv/bin/python
	find src -name "*.nb[ic]" -delete
	touch $@

clean:
	rm -rf .venv
