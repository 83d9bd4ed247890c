# Every target makes .venv itself and installs into it what it needs, once: a stamp file for each extra says that it is there.
# What compiles the native core comes along, but for the compiler itself.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# The first interpreter that is new enough.  `make PYTHON=/path/to/python3.12 test` picks another.
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$python" && break; done)

VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed-
WORKERS ?= 2
# `make PART=K/N test`: only the tests of part K of N (tests/conftest.py), for parity and upstream too.
PART ?=
# The part that runs of the tests that are marked with `rotates`: proofs of rules that docs/reports/proofs.txt has already, and
# the many samples of OpInfo.
ROTATE ?= 1/10
PYTEST = $(PY) -m pytest -n $(WORKERS) --dist loadgroup $(if $(PART),--part $(PART)) --rotate $(ROTATE)
# What depends on the core. The generator does not load it.
OF_THE_RUNTIME = tests/runtime tests/gradwright tests/packages tests/test_docstrings.py tests/test_examples.py
# One thread a process: the arrays in tests are small, and several workers share the cores.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
# To compile all modules takes longer than most of these processes run; `clean` removes what is kept.
unexport PYTHONDONTWRITEBYTECODE

# Builds the native core; a machine without a compiler or CMake goes on with a line that says so.
CORE = $(PY) -m codegen build --optional

.PHONY: help demo test test-python lint parity parity-python parity-full upstream releases outside mpi cupy bench docs generate native sanitize sanitize-threads night times clean distclean

help:
	@echo 'make demo      generate, check every operator, train a classifier'
	@echo 'make test      everything that needs no PyTorch'
	@echo 'make test-python  those of the runtime, in Python alone, without the native core; parity-python likewise'
	@echo 'make lint      ruff, mypy --strict, and our own lint'
	@echo 'make parity    the comparisons with PyTorch (installs it)'
	@echo 'make parity-full  every operator on the samples of OpInfo, with a table by mode'
	@echo 'make upstream  make parity with the formulas of PyTorch itself'
	@echo 'make releases  the YAML of each release of PyTorch, with the table of docs/upstream.md (downloads wheels)'
	@echo 'make outside   wheels of this and of a package on top of it, in a fresh environment'
	@echo 'make mpi       gradwright-mpi on 1, 2 and 3 processes (installs MPICH)'
	@echo 'make cupy      gradwright-cupy on a stand-in for CuPy, without a GPU'
	@echo 'make bench     speed beside PyTorch (installs it)'
	@echo 'make docs      the site of documentation: build/site/html/index.html (installs sphinx)'
	@echo 'make generate  run python -m codegen'
	@echo 'make native    build the native core (test, parity and bench do, where it can be built)'
	@echo 'make sanitize  its tests under AddressSanitizer and UndefinedBehaviorSanitizer'
	@echo 'make sanitize-threads  those about threads under ThreadSanitizer'
	@echo 'make night     all tests, in all ways: hours'
	@echo 'make times     how long all this takes from nothing, in a clone: half an hour'
	@echo 'make clean     remove what was generated and cached; distclean removes .venv too'

$(PY):
	@if [ -z '$(PYTHON)' ]; then \
		echo 'Gradwright needs Python 3.11 or newer, and none was found as python3, python3.14 ... python3.11.' >&2; \
		echo 'Install one, or name it: make PYTHON=/path/to/python3.11 ...' >&2; exit 1; fi
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Gradwright needs Python 3.11 or newer; $(PYTHON) is $$("$(PYTHON)" --version 2>&1)." >&2; exit 1; }
	"$(PYTHON)" -m venv $(VENV)

$(STAMP)%: pyproject.toml build_backend.py | $(PY)
	$(PY) -m pip install --quiet --disable-pip-version-check --editable '.[$*,native]'
	@touch $@

generate: $(STAMP)test
	$(PY) -m codegen

native: $(STAMP)test
	$(PY) -m codegen build

# Compiling takes longer than all that it shows, so it runs in Python where nothing is compiled yet.
demo: $(STAMP)demo
	$(PY) -m demo

test: $(STAMP)test
	$(CORE)
	$(PYTEST) -m 'not parity'

test-python: $(STAMP)test generate
	GRADWRIGHT_NATIVE=0 $(PYTEST) -m 'not parity' $(OF_THE_RUNTIME)

lint: $(STAMP)dev generate
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m codegen format --check
	$(PY) -m codegen lint
	$(PY) -m mypy

# The sanitizers come first in the process, and the module is the one that was built with them.  Python frees little at its
# end, so leaks are looked for by the tests themselves.  What builds and packs is not about the core's code.  A report ends
# the process, so pytest must not hold it back.
sanitize: $(STAMP)test
	CXX='$(CXX)' $(PY) -m codegen build --sanitize
	GRADWRIGHT_NATIVE=build/sanitize PYTHONMALLOC=malloc ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
		LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
		$(PYTEST) tests/runtime/native tests/runtime/graph/test_engine_stress.py \
		--ignore=tests/runtime/native/test_build.py --capture=sys

# The interpreter and NumPy are not instrumented: reported is what the core does without a lock, where the locks are of
# whomever. ThreadSanitizer wants its memory at fixed places, which `setarch -R` leaves free.
sanitize-threads: $(STAMP)test
	CXX='$(CXX)' $(PY) -m codegen build --sanitize=thread
	GRADWRIGHT_NATIVE=build/sanitize-thread CXXFLAGS=-fsanitize=thread TSAN_OPTIONS=die_after_fork=0:halt_on_error=1:exitcode=66 \
		setarch -R env LD_PRELOAD="$$($(CXX) -print-file-name=libtsan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
		$(PY) -m pytest tests/runtime/graph/test_engine_stress.py tests/runtime/native/test_threads.py tests/runtime/test_interleaving.py \
		--capture=sys

parity: $(STAMP)parity
	$(CORE)
	$(PYTEST) -m parity

parity-python: $(STAMP)parity generate
	GRADWRIGHT_NATIVE=0 $(PYTEST) -m parity --ignore=tests/parity/codegen --ignore=tests/packages

# `make parity` holds the ledger; this says what is red and why. `make UPDATE=1 parity-full` adds what is green now.
parity-full: $(STAMP)parity
	$(CORE)
	$(PY) -m tools.opinfo --jobs $(WORKERS) --samples 64 $(if $(UPDATE),--update)

upstream: $(STAMP)parity generate
	$(PY) -m tools.upstream -n $(WORKERS) $(if $(PART),--part $(PART)) --rotate $(ROTATE)

# No part of the gate: 900 MB of wheels.
releases: $(STAMP)test
	$(PY) -m tools.releases

outside: $(STAMP)test
	$(PY) -m tools.outside

# Warnings are errors, and so is a link that leads nowhere.
docs: $(STAMP)docs
	$(PY) -m codegen
	$(PY) -m tools.site

# Not a part of `make test`: the tests start processes by the mpiexec that comes with the extra. `make WHOLE=1 mpi` runs
# those of `make night` as well.
mpi: $(STAMP)mpi
	$(CORE)
	cd packages/mpi && ../../$(PY) -m codegen && ../../$(PY) -m codegen lint && ../../$(PY) -m codegen format --check
	cd packages/mpi && ../../$(PY) -m pytest $(if $(WHOLE),,-m 'not night')

# No part of `make test` either: what it needs is generated in the package.
cupy: $(STAMP)cupy
	cd packages/cupy && ../../$(PY) -m codegen && ../../$(PY) -m codegen lint && ../../$(PY) -m codegen format --check
	cd packages/cupy && ../../$(PY) -m pytest

# What .ci/run takes turns with, whole.
night: export GRADWRIGHT_PART = 1/1
night: export ROTATE = 1/1
night: export WHOLE = 1
night:
	$(MAKE) test
	$(MAKE) test-python
	$(MAKE) lint
	$(MAKE) parity
	$(MAKE) parity-python
	$(MAKE) upstream
	$(MAKE) outside
	$(MAKE) mpi
	$(MAKE) cupy
	$(MAKE) sanitize
	$(MAKE) sanitize-threads

bench: $(STAMP)bench
	$(CORE)
	$(PY) -m bench

times: $(STAMP)bench
	$(PY) -m bench.times

clean:
	find generated -mindepth 1 ! -name README.md -delete
	find . -name __pycache__ -type d -not -path './$(VENV)/*' -prune -exec rm -rf {} +
	rm -rf dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis demo/training.png

distclean: clean
	rm -rf $(VENV)
