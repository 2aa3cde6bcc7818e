# Everything below builds its own environment; nothing needs to be installed by hand besides Python and a C++ compiler.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/ready
NATIVE := $(wildcard native/* native/*/*)

.PHONY: demo test test-all lint docs sanitize compilers wheel bench clean

demo: $(VENV)/demo
	$(BIN)/bayeskit demo

test: lint
	$(BIN)/python -m pytest -n logical --maxprocesses 4 --dist worksteal

# Adds what takes long: simulations, long runs of the fuzzers, every page of the site, the core under sanitizers.
test-all: lint
	$(BIN)/python -m pytest -n logical --maxprocesses 4 --dist worksteal -m "slow or not slow"
	$(MAKE) docs
	$(MAKE) compilers
	$(MAKE) sanitize

# The site in docs/_build/html: every page is executed, a warning or an error of a cell is an error, links are checked.
docs: $(VENV)/docs
	$(BIN)/sphinx-build -W --keep-going -q -j auto docs docs/_build/html
	$(BIN)/python docs/check_links.py docs/_build/html

# The core built with checks of addresses and undefined behaviour, and under its tests and laws; then threads.
# A server of PostgreSQL does not start with the runtime of the checks. Reports are not captured, and end the run.
sanitize: $(READY)
	$(MAKE) sanitized CHECKS=address,undefined RUNTIME=libasan.so TESTS="tests/core tests/fuzz/test_core.py tests/laws"
	$(MAKE) sanitized CHECKS=thread RUNTIME=libtsan.so TESTS="tests/core tests/laws/test_same_bits.py tests/test_threads.py"

sanitized:
	$(PYTHON) -m venv --clear $(VENV)-$(CHECKS)
	$(VENV)-$(CHECKS)/bin/python -m pip install --quiet --upgrade pip
	$(VENV)-$(CHECKS)/bin/python -m pip install --quiet --editable ".[test]" --config-settings=cmake.define.SANITIZE=$(CHECKS)
	ASAN_OPTIONS=detect_leaks=0:abort_on_error=1:allocator_may_return_null=1:max_allocation_size_mb=4000 \
	  TSAN_OPTIONS=halt_on_error=1:suppressions=$(CURDIR)/tests/core/threads.supp UBSAN_OPTIONS=print_stacktrace=1 \
	  LD_PRELOAD="$$($(CXX) -print-file-name=$(RUNTIME)) $$($(CXX) -print-file-name=libstdc++.so)" \
	  $(VENV)-$(CHECKS)/bin/python -m pytest -q -p no:cacheprovider --capture=sys -m "not spark and not slow" \
	  -k "not postgresql" $(TESTS)

# The core under both compilers, and with one lane as compilers without vectors get it: a warning is an error.
compilers: $(READY)
	for flags in "g++ -Werror" "clang++ -Werror" "clang++ -Werror -DONE_LANE"; do set -- $$flags; \
	  if ! command -v $$1 >/dev/null; then echo "skipped: there is no $$1"; continue; fi; echo "$$flags"; \
	  CXX=$$1 $(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir build/compilers . \
	    --config-settings=cmake.define.CMAKE_CXX_FLAGS="$${flags#* }" || exit 1; done

# A source archive, wheels for Python 3.11 and for 3.12 and later, and each tried without a compiler: in dist.
PYTHONS ?= python3.11 python3.12 python3.13 python3.14
wheel:
	$(PYTHON) .ci/wheels.py $(PYTHONS)

lint: $(READY)
	cp $(VENV)/lib/python3*/site-packages/bayeskit/_core.pyi src/bayeskit/_core.pyi
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run -Werror $(wildcard native/*/*.cpp native/*/*.h native/*/*.inl)
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY)
	$(BIN)/python benchmarks/run.py

$(READY): pyproject.toml $(NATIVE)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[test]"
	touch $(READY) $(VENV)/demo

# What the demonstration needs, and no more: libraries are fetched while the core is compiled, and modules become
# bytecode when they are first imported.
$(VENV)/demo: pyproject.toml $(NATIVE)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['dependencies'], sep='\n')" \
	  > $(VENV)/libraries
	$(BIN)/python -m pip install --quiet --no-compile --requirement $(VENV)/libraries & \
	  $(BIN)/python -m pip install --quiet --no-compile --no-deps --editable . && wait $$!
	touch $(VENV)/demo

$(VENV)/docs: $(READY)
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	touch $(VENV)/docs

clean:
	rm -rf $(VENV) $(VENV)-* build dist docs/_build docs/api/generated docs/gallery/examples
