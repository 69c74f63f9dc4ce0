# The commands of this project. `make` alone lists them.
PYTHON_BIN := .venv/bin
TEST_WORKERS ?= 2
# Slow tests often wait for servers, browsers and the clock, so there are more workers than processors.
SLOW_TEST_WORKERS ?= $(shell expr $(TEST_WORKERS) + 2)
RUN_TESTS = $(PYTHON_BIN)/pytest -n $(TEST_WORKERS) --dist worksteal
FAST_TESTS := tests/unit tests/contracts
ATTACK_TESTS := $(addprefix tests/integration/,\
	memories/tenancy/test_admin_isolation.py memories/tenancy/test_console_isolation.py \
	memories/tenancy/test_row_scope_tokens.py context/assembly/test_assembly_attacks.py context/assembly/test_hidden_text.py \
	memory_platform/console/test_sign_in_limits.py memory_platform/rest/test_api_routes.py \
	memory_platform/rest/test_api_bounded_answers.py memory_platform/rest/test_slow_clients.py \
	memory_platform/rest/test_proxy.py)
MEASURE_COVERAGE := --cov --cov-report=
# The 20 files with the least coverage, and the total.
REPORT_COVERAGE = $(PYTHON_BIN)/coverage report --sort=cover | awk 'NR <= 22 || /^TOTAL/'
.DEFAULT_GOAL := help
.PHONY: help run test fast-tests slow-tests coverage check check-types check-rest fmt audit css packers fuzz chaos soak attack bench screenshots packages

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

run: .venv/run.stamp ## run everything on this machine until Ctrl-C; uses PORT, HOST, DATA_DIR, DEMO, ... (.env.example)
	@exec $(PYTHON_BIN)/python -m memory_platform.embedded

# The tests start a hundred Python processes, which share compiled bytecode regardless of the shell's settings.
test: export PYTHONDONTWRITEBYTECODE :=
test: ## lint, types, all tests, branch coverage of the fast ones; PYTEST='tests/unit -k packer': only some tests
	@$(MAKE) --silent --jobs 2 .venv/dev.stamp packages
ifdef PYTEST
	$(RUN_TESTS) $(PYTEST)
else
	@$(MAKE) --no-print-directory --jobs 3 check-types fast-tests slow-tests
endif

# mypy and the fast tests use the processors while slow tests wait. Their output appears among the progress of the slow
# tests: one line of mypy, and all of the fast tests when the last one has ended.
fast-tests: check-rest
	@output=$$({ $(RUN_TESTS) $(MEASURE_COVERAGE) $(FAST_TESTS) && $(REPORT_COVERAGE); } 2>&1); \
		result=$$?; echo "$$output"; exit $$result

slow-tests: check-rest
	$(RUN_TESTS) -n $(SLOW_TEST_WORKERS) $(FAST_TESTS:%=--ignore=%)

coverage: .venv/dev.stamp packages ## all tests with branch coverage, which takes up to 65 % more processor time
	$(RUN_TESTS) $(MEASURE_COVERAGE)
	@$(REPORT_COVERAGE)

check: .venv/dev.stamp ## lint, format, types, import contracts, templates, compose and CI files, migrations, credentials, known vulnerabilities
	@$(MAKE) --no-print-directory --jobs 2 check-rest check-types

check-types:
	$(PYTHON_BIN)/mypy .

check-rest:
	$(PYTHON_BIN)/ruff check .
	$(PYTHON_BIN)/ruff format --check .
	$(PYTHON_BIN)/lint-imports
	git ls-files -z 'templates/*.html' | xargs -0 $(PYTHON_BIN)/djade --check --target-version 5.2
	$(PYTHON_BIN)/check-jsonschema --builtin-schema vendor.compose-spec docker-compose.yml
	$(PYTHON_BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(PYTHON_BIN)/check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/feature.yml
	$(PYTHON_BIN)/python -W ignore manage.py makemigrations --check --dry-run
	$(PYTHON_BIN)/python bin/scan_secrets.py
	$(PYTHON_BIN)/python bin/audit.py --optional

fmt: .venv/dev.stamp ## format and fix what can be fixed
	$(PYTHON_BIN)/ruff check --fix .
	$(PYTHON_BIN)/ruff format .
	git ls-files -z 'templates/*.html' | xargs -0 $(PYTHON_BIN)/djade --target-version 5.2

audit: .venv/run.stamp ## known vulnerabilities of all pinned packages, by pip-audit; fails if the index has no such data
	$(PYTHON_BIN)/python bin/audit.py

css: .venv/run.stamp ## trim Tabler's stylesheet to what the pages can use; commit the result
	$(PYTHON_BIN)/python bin/trim_stylesheet.py

packers: .venv/dev.stamp ## the contract tests of the packers on 100,000 generated inputs (1,400 in `make test`)
	PACKER_CASES=100000 $(PYTHON_BIN)/pytest -n $(TEST_WORKERS) tests/contracts/context/test_packers.py

fuzz: .venv/dev.stamp ## 10,000 requests generated from the OpenAPI document (150 in `make test`); FUZZ_SEED=1 repeats a run
	FUZZ_CASES=$${FUZZ_CASES:-10000} FUZZ_SEED=$${FUZZ_SEED:-$$(date +%s)} $(PYTHON_BIN)/pytest -s tests/reliability/test_fuzz.py

chaos: .venv/dev.stamp ## 50 times kill -9 under load; every acknowledged write must be stored exactly once (4 times in `make test`)
	$(PYTHON_BIN)/python -m tests.reliability.chaos

soak: .venv/dev.stamp ## 50 clients for ten minutes; the memory of the Python processes must stay within 10 % (500 writes in `make test`)
	$(PYTHON_BIN)/python -m tests.reliability.soak

attack: .venv/dev.stamp ## attack tests: other tenants, forged scopes, hostile texts, slow clients, guessed passwords, huge responses
	$(RUN_TESTS) $(ATTACK_TESTS)

bench: .venv/dev.stamp .venv-bench/stamp ## the table of docs/performance.md, compared with mem0 and LangGraph; BENCH='--rows 10000' for a quick run
	$(PYTHON_BIN)/python -m benchmarks.table $(BENCH)

# In a separate environment, because the platform does not need the packages it is compared with.
.venv-bench/stamp: benchmarks/requirements-peers.txt
	$(PYTHON_BIN)/python -m venv --clear .venv-bench
	.venv-bench/bin/python -m pip install --quiet --no-deps --require-hashes --requirement benchmarks/requirements-peers.txt
	@touch $@

screenshots: .venv/dev.stamp packages ## every page of a running `make run` as PNGs in var/screenshots; uses PORT, DATA_DIR
	$(PYTHON_BIN)/python -m tests.e2e.screenshots

packages:
	@bin/chromium > /dev/null
	@bin/pgbouncer > /dev/null
	@bin/libfaketime > /dev/null

.venv/run.stamp: requirements.txt
	@bin/bootstrap requirements.txt
	@touch $@

# The development requirements include those of the platform.
.venv/dev.stamp: requirements-dev.txt
	@bin/bootstrap requirements-dev.txt
	@touch $@ .venv/run.stamp
