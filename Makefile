# Each target sets up what it needs in .venv, from nothing but Python 3.11+ (uv is used where it is installed).

PYTHON ?= python3
TASK ?= lunarlander
VENV := .venv
UV := $(shell command -v uv 2>/dev/null)

.PHONY: train test lint clean

train: $(VENV)/installed
	$(VENV)/bin/udrl train $(TASK)

test: $(VENV)/installed-dev
	$(VENV)/bin/python -m pytest

lint: $(VENV)/installed-dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/pyright --pythonpath $(VENV)/bin/python

clean:
	rm -rf $(VENV)

$(VENV)/bin/python:
ifdef UV
	$(UV) venv --python $(PYTHON) $(VENV)
else
	$(PYTHON) -m venv $(VENV)
endif

$(VENV)/installed: pyproject.toml $(VENV)/bin/python
	$(call install,-e .)

$(VENV)/installed-dev: pyproject.toml $(VENV)/bin/python
	$(call install,-e '.[dev]')

define install
	$(if $(UV),$(UV) pip install --quiet --python $(VENV)/bin/python $(1),$(VENV)/bin/python -m pip install --quiet $(1))
	touch $@
endef
