# Two commands for newcomers: `make demo` and `make test`. Everything else is for contributors (`make help`).
.DEFAULT_GOAL := help
PY := .venv/bin/python
STAMP := .venv/.synced
DEMO_STAMP := .venv/.synced-demo
# Where everything is installed, the demo adds nothing.
DEMO_READY := $(if $(wildcard $(STAMP)),$(STAMP),$(DEMO_STAMP))
SETUP_INPUTS := requirements/uv.txt pyproject.toml scripts/setup
# Of make random-jobs.
SEED := 1
CASES := 40
# Tests start hundreds of processes; each would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE
# kube-apiserver and kubectl spend a third of their time on garbage; tests start hundreds of them, and memory is there.
PYTEST := GOGC=400 GOMEMLIMIT=1500MiB $(PY) -m pytest
REAL := --cluster=real -m "conformance or e2e"
CONFORMANCE := $(REAL) tests/faults tests/conformance tests/e2e
# What differs most between the two kinds of cluster, in minutes: recorded lives, clients, moves. The rest is asked before landing.
CORE := $(REAL) tests/conformance/test_control_plane.py tests/faults/test_webhooks.py $(addprefix tests/e2e/test_,$(addsuffix .py, \
	recordings job_life kubectl sdk_v1 sdk_v2 run_program migration_trials migration_moves))

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(STAMP) ## create .venv from the lock file (hashes checked)

$(STAMP): requirements/lock.txt $(SETUP_INPUTS) scripts/page_vendor.py src/shunter/page/vendor.cdx.json
	@scripts/setup
	@touch $@

$(DEMO_STAMP): requirements/demo.txt $(SETUP_INPUTS)
	@scripts/setup demo
	@touch $@

demo: $(DEMO_READY) ## start an embedded cluster, train three distributed jobs, show the result
	@.venv/bin/shunter demo

demo-migrate: $(DEMO_READY) ## move v1 example jobs to v2 with evidence: assess, convert, prove, train beside the originals, compare, report
	@.venv/bin/shunter migrate demo --results build/migration-demo

# `LINTED=yes`: .ci/run has done it just before, beside other things.
test: setup $(if $(LINTED),,lint) ## lint, types, layers, unit, scenario and e2e tests
	@$(PYTEST) -n 3 --dist loadgroup --durations 20 --durations-min 5 --ignore tests/faults

unit: setup ## the tests that start no process and open no connection; one and a half to three minutes on two cores
	@$(PYTEST) -n 2 -m unit --durations 5 --durations-min 2

unit-versions: setup ## make unit on Python 3.13 and 3.14, where this machine has them or uv can download them
	@scripts/unit-versions

release: setup ## wheel, source, chart, manifests, SBOM and checksums into dist/, and what to push; pushes nothing
	@scripts/release

fuzz: setup ## 20,000 mutated requests to the embedded API server and its controllers, seeds fixed (about three minutes)
	@FUZZ_REQUESTS=20000 $(PYTEST) tests/fuzz

long: setup ## the tests that make test has no time for: a minute each, for what shorter tests show in part
	@$(PYTEST) -n 4 --dist loadgroup -m long

faults: setup ## kills, outages, mangled answers: what operator and trainings must survive, on the embedded cluster (five minutes)
	@EVERY_WRITE=1 RECIPE_KILLS=20 $(PYTEST) -n 4 --dist loadgroup tests/faults tests/recipes/test_lm.py \
		tests/migrate/conversion/gitops/test_overlays.py

conformance: setup ## all e2e tests, and those that need it, on a real Kubernetes control plane (needs Go, see CONTRIBUTING.md)
	@conformance/build >/dev/null
	@$(PYTEST) -n 4 --dist loadgroup --durations 20 --durations-min 5 $(CONFORMANCE)

conformance-core: setup ## the part of make conformance that .ci/run has time for (about five minutes)
	@conformance/build >/dev/null
	@$(PYTEST) -n 4 --dist loadgroup --durations 20 --durations-min 5 $(CORE)

random-jobs: setup ## random jobs by upstream's operators in Go and by ours on real control planes: SEED=1 CASES=40 (ten minutes)
	@for program in controlplane training-operator trainer; do conformance/build $$program >/dev/null || exit; done
	@cd tests && for generation in v1 v2; do PYTHONPATH=.:../conformance ../$(PY) -m random_jobs $$generation --seed $(SEED) --cases $(CASES); done

again: setup ## what did not pass in the last make test, once more, one test at a time
	@$(PYTEST) --unpassed --ignore tests/faults

conformance-again: setup ## what did not pass in the last make conformance, once more, one test at a time
	@$(PYTEST) --unpassed $(CONFORMANCE)

conformance-core-again: setup ## what did not pass in the last make conformance-core, once more, one test at a time
	@$(PYTEST) --unpassed $(CORE)

lint: setup
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy
	@.venv/bin/lint-imports
	@$(PY) scripts/page_vendor.py --types
	@.venv/bin/deptry --no-ansi src
	@$(PY) scripts/generate.py --check

# `mkdocs` of mkdocs-material builds the same mkdocs.yml, with the same options.
SITE := zensical
site: setup ## build the docs site into build/site; links, anchors and the menu are checked
	@$(PY) scripts/site_pages.py
	@.venv/bin/$(SITE) build --clean --strict --config-file mkdocs.yml

generate: setup ## write generated files anew: CRDs, built-in schemas
	@$(PY) scripts/generate.py

lock: setup ## lock dependencies anew, with hashes
	@.venv/bin/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header requirements/uv.in -o requirements/uv.txt
	@.venv/bin/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header requirements/kubectl-oldest.in -o requirements/kubectl-oldest.txt
	@.venv/bin/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --all-extras pyproject.toml -o requirements/lock.txt
	@.venv/bin/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header pyproject.toml -o requirements/runtime.txt
	@.venv/bin/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --constraint requirements/lock.txt pyproject.toml requirements/unit.in -o requirements/unit.txt
	@.venv/bin/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --extra kubectl --extra torch --constraint requirements/lock.txt pyproject.toml requirements/demo.in -o requirements/demo.txt
	@$(PY) scripts/page_vendor.py --lock

page-shots: setup ## take the pictures of the web page that README and docs show (needs Chromium: scripts/setup-browser)
	@PYTHONPATH=tests:conformance $(PY) tests/page/browser/shots.py docs/pictures

vectors: setup ## ask a real API server again what tests/vectors compares with (needs Go)
	@PYTHONPATH=tests:conformance $(PY) tests/vectors/record.py $(FILES)

kubectl-answers: setup ## ask a real API server again what tests/e2e/test_kubectl_commands.py compares with (needs Go)
	@PYTHONPATH=tests:conformance $(PY) tests/kubectl/record.py

format: setup ## format the code
	@.venv/bin/ruff check --fix .
	@.venv/bin/ruff format .

clean: ## remove .venv and caches
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build

.PHONY: help setup demo demo-migrate test unit unit-versions release fuzz faults conformance conformance-core again conformance-again conformance-core-again lint site generate lock page-shots vectors kubectl-answers format clean
