# `make demo`, `make test` and `make test-all` set up .venv first; a second run skips what is done.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: set-up demo test test-all lint docs real clean
.DELETE_ON_ERROR:

$(STAMP): pyproject.toml src/pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { echo "make: $(PYTHON) not found; install Python 3.11-3.13 or pass PYTHON=..."; exit 2; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt hatchling
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-build-isolation -e '.[dev]' -e ./src
	@touch $@

set-up: $(STAMP)

demo: $(STAMP)
	@$(BIN)/python -m ci.demo

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m "not slow"

# With fuzz, mutations, wheels, tutorials, ranks, real programs.
test-all: lint
	$(BIN)/python -m pytest -n 2 --dist loadgroup

# The pages of docs/ as a site, in build/site; broken links are errors.
docs: $(STAMP)
	@$(BIN)/python -m ci.reference
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# The static half on real programs, compared with benchmarks/real; needs the archives, and the registry once.
real: $(STAMP)
	@$(BIN)/python benchmarks/real.py $(REAL)
	@$(BIN)/python benchmarks/measured.py

clean:
	rm -rf .venv build out
