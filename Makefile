# Everything below builds its own environment; nothing needs to be installed by hand besides Python and a C++ compiler.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/ready

.PHONY: demo test test-all lint sanitize bench clean

demo: $(READY)
	$(BIN)/bayeskit demo

test: lint
	$(BIN)/python -m pytest -n logical --maxprocesses 4 --dist worksteal

# Adds what takes long: simulations, long runs of the fuzzers, the core under sanitizers.
test-all: lint
	$(BIN)/python -m pytest -n logical --maxprocesses 4 --dist worksteal -m "slow or not slow"
	$(MAKE) sanitize

# The core built with checks of addresses and undefined behaviour, and under its tests and laws; then threads.
# A server of PostgreSQL does not start with the runtime of the checks. Reports are not captured, and end the run.
sanitize: $(READY)
	$(MAKE) sanitized CHECKS=address,undefined RUNTIME=libasan.so TESTS="tests/core tests/fuzz/test_core.py tests/laws"
	$(MAKE) sanitized CHECKS=thread RUNTIME=libtsan.so TESTS="tests/core tests/laws/test_same_bits.py"

sanitized:
	$(PYTHON) -m venv --clear $(VENV)-$(CHECKS)
	$(VENV)-$(CHECKS)/bin/python -m pip install --quiet --upgrade pip
	$(VENV)-$(CHECKS)/bin/python -m pip install --quiet --editable ".[test]" --config-settings=cmake.define.SANITIZE=$(CHECKS)
	ASAN_OPTIONS=detect_leaks=0:abort_on_error=1:allocator_may_return_null=1:max_allocation_size_mb=4000 \
	  TSAN_OPTIONS=halt_on_error=1:suppressions=$(CURDIR)/tests/core/threads.supp UBSAN_OPTIONS=print_stacktrace=1 \
	  LD_PRELOAD="$$($(CXX) -print-file-name=$(RUNTIME)) $$($(CXX) -print-file-name=libstdc++.so)" \
	  $(VENV)-$(CHECKS)/bin/python -m pytest -q -p no:cacheprovider --capture=sys -m "not spark and not slow" \
	  -k "not postgresql" $(TESTS)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	cp $(VENV)/lib/python3*/site-packages/bayeskit/_core.pyi src/bayeskit/_core.pyi
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY)
	$(BIN)/python benchmarks/run.py

$(READY): pyproject.toml $(wildcard native/* native/*/*)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[test]"
	touch $(READY)

clean:
	rm -rf $(VENV) $(VENV)-* build dist
