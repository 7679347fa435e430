.DEFAULT_GOAL := help
.PHONY: help setup demo test chromium check lint docs bench numbers page showcase clean
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
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --no-deps g2p-en # a network to compare with; asks for nltk
	@touch $(READY)

demo: $(READY) ## train a small Transformer and find its quanta, two minutes after the install
	$(BIN)/quantascope train number-naming --out runs/demo --set steps=2000 intervals=32 replays=0
	$(BIN)/quantascope discover runs/demo

test: $(READY) chromium ## the whole test-suite
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 2 --dist worksteal

chromium: # the tests of the explorer's page need one; installed where that is allowed
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || [ "$$(id -u)" != 0 ] \
		|| { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium; } \
		>/dev/null 2>&1 || echo "Chromium could not be installed"

check: lint docs ## style, types, spelling, and the documentation builds without a warning

lint: $(READY) ## style, types and spelling
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright --level error
	$(BIN)/codespell *.md *.toml *.cff Makefile docs src tests benchmarks

docs: $(READY) ## the documentation site: docs/_build/html/index.html; a broken link is an error
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html

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

NUMBERS ?= $(filter-out %/same-numbers.json,$(wildcard results/benchmarks/*.json)) # that one compares two checkouts

numbers: $(READY) ## measure the committed numbers of the benchmarks again: hours; some with NUMBERS=results/benchmarks/X.json
	for file in $(NUMBERS); do \
		$(BIN)/python benchmarks/$$(basename $$file .json | tr - _).py --json $$file || exit 1; done

page: ## rebuild the explorer's page, with node
	npm --prefix src/quantascope/explorer/page ci --silent
	npm --prefix src/quantascope/explorer/page run build

showcase: $(READY) ## docs/demo: the reference source in the explorer, as one file: ten minutes
	rm -rf runs/number-naming && mkdir -p runs docs/demo
	$(BIN)/quantascope train number-naming --out runs/number-naming
	$(BIN)/quantascope discover runs/number-naming
	$(BIN)/quantascope fit runs/number-naming --preset distilled
	$(BIN)/quantascope explain runs/number-naming --units factors --permutations 5
	$(BIN)/quantascope explain runs/number-naming --preset distilled --permutations 5
	$(BIN)/quantascope explore runs/number-naming --html docs/demo/number-naming.html --replace --results none \
		--inputs 346 1001 19 80035 7 999999 467318

clean: ## remove the environment and all local runs
	rm -rf $(VENV) runs
