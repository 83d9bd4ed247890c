# Every target makes .venv itself and installs into it what it needs, once: a stamp file for each extra says that it is there.

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
# One thread a process: the arrays in tests are small, and several workers share the cores.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: help native demo test lint parity upstream bench generate clean distclean

help:
	@echo 'make demo      generate, check every operator, train a classifier'
	@echo 'make test      everything that needs no PyTorch'
	@echo 'make lint      ruff and mypy --strict'
	@echo 'make parity    the comparisons with PyTorch (installs it)'
	@echo 'make upstream  the same, with the formulas of PyTorch itself'
	@echo 'make bench     speed beside PyTorch (installs it)'
	@echo 'make native    build the native core, where there is CMake and a C++ compiler'
	@echo 'make generate  run python -m codegen'
	@echo 'make clean     remove what was generated and cached; distclean removes .venv too'

$(PY):
	@if [ -z '$(PYTHON)' ]; then \
		echo 'Gradwright needs Python 3.11 or newer, and none was found as python3, python3.14 ... python3.11.' >&2; \
		echo 'Install one, or name it: make PYTHON=/path/to/python3.11 ...' >&2; exit 1; fi
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Gradwright needs Python 3.11 or newer; $(PYTHON) is $$("$(PYTHON)" --version 2>&1)." >&2; exit 1; }
	"$(PYTHON)" -m venv $(VENV)

$(STAMP)%: pyproject.toml hatch_build.py | $(PY)
	$(PY) -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@

generate: $(STAMP)test
	$(PY) -m codegen

native: $(STAMP)test
	$(PY) -m codegen build

demo: $(STAMP)demo
	$(PY) -m demo

test: generate
	$(PY) -m pytest -m 'not parity' -n $(WORKERS)

lint: $(STAMP)dev generate
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

parity: $(STAMP)parity generate
	$(PY) -m pytest -m parity -n $(WORKERS)

upstream: $(STAMP)parity generate
	$(PY) tests/upstream.py -n $(WORKERS)

bench: $(STAMP)bench generate
	$(PY) -m bench

clean:
	find generated -mindepth 1 ! -name README.md -delete
	find . -name __pycache__ -type d -not -path './$(VENV)/*' -prune -exec rm -rf {} +
	rm -rf dist build runtime/native/*.so .pytest_cache .mypy_cache .ruff_cache .hypothesis demo/training.png

distclean: clean
	rm -rf $(VENV)
