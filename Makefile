.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BENCH := .bench
VERSIONS := .versions
PUBLISH := .dist
# Tests that stand together read the same dumps: they stay on one processor.
SHARED_OUT := -n auto --dist worksteal
SHARD ?= 1/1

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.'
	touch $@

$(VENV)/installed-test: $(VENV)/installed
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[test,zst]'
	touch $@

$(VENV)/installed-lint: $(VENV)/installed-test
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[lint]'
	touch $@

# Apart and not editable, as users have it: the import hook of an editable package costs each
# start of Python 9 ms. PYTHONPATH, which the benchmark sets, is what makes it measure this tree.
$(BENCH)/installed: pyproject.toml
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/pip install --quiet --disable-pip-version-check '.[bench]'
	touch $@

$(VERSIONS)/installed: pyproject.toml
	$(PYTHON) -m venv $(VERSIONS)
	$(VERSIONS)/bin/pip install --quiet --disable-pip-version-check '.[versions]'
	touch $@

$(PUBLISH)/installed: pyproject.toml
	$(PYTHON) -m venv $(PUBLISH)
	$(PUBLISH)/bin/pip install --quiet --disable-pip-version-check '.[dist]'
	touch $@

dist: $(PUBLISH)/installed ## Build what is published from a clean clone into dist/, and check it
	$(PUBLISH)/bin/python tests/dist.py build

strangers: $(PUBLISH)/installed ## Try the files in dist/ in fresh environments of each Python that is here
	$(PUBLISH)/bin/python tests/dist.py try

pins: $(VERSIONS)/installed ## Choose the newest versions of what CI installs, with their hashes
	$(VERSIONS)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	  --no-annotate --no-header --no-emit-index-url --no-emit-find-links \
	  --extra test --extra zst --extra lint pyproject.toml -o .ci/requirements.txt

budgets: $(VENV)/installed ## Hold the dumps of testdata against testdata/check/self.toml
	$(BIN)/hlotool check testdata/dumps --config testdata/check/self.toml --where 'status != "pass"'

demo: $(VENV)/installed ## Install into .venv and summarize a real dump
	$(BIN)/hlotool summary testdata/hlo/gpu_train_step.txt

test: $(VENV)/installed-test ## Run the tests, but for what takes long
	$(BIN)/pytest $(SHARED_OUT) -q

hard: $(VENV)/installed-test ## Run what takes long, an hour in all; with SHARD=k/n a part of it
	$(BIN)/pytest $(SHARED_OUT) -q -m hard --shard $(SHARD)

test-browser: $(VENV)/installed-test ## Open pages in Chromium (Debian: chromium, chromium-driver; npm install --no-save axe-core)
	$(BIN)/pytest -q -m browser

mutants: $(VENV)/installed-test ## Ask about 300,000 injured dumps, or COUNT=10000
	$(BIN)/pytest $(SHARED_OUT) -q -m hard tests/test_mutants.py tests/test_protos_bad.py tests/test_byte_mutants.py --mutants $(or $(COUNT),300000)

faults: $(VENV)/installed-test ## Put 40 faults into a copy, one at a time: make test must find them
	$(BIN)/python tests/faults.py

versions: $(VERSIONS)/installed ## Run the tests on the lowest and newest versions of all packages, by each Python
	$(VERSIONS)/bin/python tests/versions.py

prose: $(VENV)/installed-test ## Hold docs/sentences.md, which make docs writes, against testdata/prose.toml
	$(BIN)/python tests/prose.py

lint: $(VENV)/installed-lint ## ruff (all rules) and mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

golden: $(VENV)/installed-test ## Rewrite the golden sessions; look at the diff
	$(BIN)/pytest -q -m "hard or not hard" --update-golden tests/test_golden.py tests/test_docs_sessions.py

docs: $(VENV)/installed ## Rewrite docs/schema and docs/fields.md from the declarations
	$(BIN)/python docs/make_docs.py

pictures: $(VENV)/installed-test ## Take the pictures of README.md and docs/report.md again, in Chromium
	$(BIN)/python docs/make_pictures.py

bench: $(BENCH)/installed ## Measure speed against jaxlib and print the ratios
	$(BENCH)/bin/python tests/bench/run.py

bench-large: $(BENCH)/installed ## Measure texts of 30 MB to a gigabyte: a quarter of an hour, 10 GB
	$(BENCH)/bin/python tests/bench/large.py

performance: $(BENCH)/installed ## Write docs/performance.md from make bench, with LARGE=1 from make bench-large too
	$(BENCH)/bin/python tests/bench/run.py | tee $(BENCH)/bench.txt
	$(if $(LARGE),$(BENCH)/bin/python tests/bench/large.py | tee $(BENCH)/large.txt)
	$(PYTHON) docs/make_performance.py $(BENCH)/bench.txt $(if $(LARGE),$(BENCH)/large.txt)

questions: $(VENV)/installed-test ## Put seventy questions to dumps that have the problem, and to twins without it
	$(BIN)/python tests/questions.py

advice: $(VENV)/installed-test ## Hold advice against programs compiled without the flaw; writes docs/advice.csv
	$(BIN)/python tests/advice.py

accuracy: $(VENV)/installed-test ## Live ranges, estimates, known origins, edits, and which texts are read
	$(BIN)/python tests/accuracy/run.py --write

.PHONY: help pins performance dist strangers demo test hard test-browser pictures mutants faults versions lint golden docs prose budgets bench bench-large accuracy advice questions
