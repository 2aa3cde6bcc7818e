# Everything below builds its own environment; nothing needs to be installed by hand besides Python and a C++ compiler.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/ready

.PHONY: demo test lint bench clean

demo: $(READY)
	$(BIN)/bayeskit demo

test: lint
	$(BIN)/python -m pytest -n logical --maxprocesses 4 --dist worksteal

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	cp $(VENV)/lib/python3*/site-packages/bayeskit/_core.pyi src/bayeskit/_core.pyi
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY)
	$(BIN)/python benchmarks/run.py

$(READY): pyproject.toml $(wildcard native/*)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[test]"
	touch $(READY)

clean:
	rm -rf $(VENV) build dist
