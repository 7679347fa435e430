.DEFAULT_GOAL := help
.PHONY: help setup demo test check bench page clean
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PYTHON ?= python3

help: ## list the targets
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

setup: $(READY) ## make .venv and install quantascope with its tools

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --no-deps mup # an oracle of tests; asks for torchvision
	@touch $(READY)

demo: $(READY) ## train a small Transformer and find its quanta, two minutes after the install
	$(BIN)/quantascope train number-naming --out runs/demo --set steps=2000 intervals=32 replays=0
	$(BIN)/quantascope discover runs/demo

test: $(READY) ## the whole test-suite
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 2 --dist worksteal

check: $(READY) ## ruff and basedpyright
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright --level error

bench: $(READY) ## the benchmarks: ratios measured side by side
	$(BIN)/python benchmarks/hsp_training.py
	$(BIN)/python benchmarks/factorization.py
	$(BIN)/python benchmarks/priority_field.py
	$(BIN)/python benchmarks/scaling_sweep.py
	$(BIN)/python benchmarks/compile.py
	$(BIN)/python benchmarks/guidance.py
	$(BIN)/python benchmarks/qmodel_fit.py
	$(BIN)/python benchmarks/artefact_reading.py
	$(BIN)/python benchmarks/damage.py

page: ## rebuild the explorer's page, with node
	npm --prefix src/quantascope/explorer/page ci --silent
	npm --prefix src/quantascope/explorer/page run build

clean: ## remove the environment and all local runs
	rm -rf $(VENV) runs
