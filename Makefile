# Every command a developer types. `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup demo test check unit campaign fuzz soak bench side-by-side fmt lint types tools image images parity lock crds chart licences sbom audit crds-kubernetes

UV_VERSION := 0.13.7
UV := $(shell command -v uv 2>/dev/null || echo $(CURDIR)/.uv/bin/uv)
PYTHON := .venv/bin/python
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' libs/cli/pyproject.toml)
MEMBERS := $(patsubst %/pyproject.toml,%,$(wildcard libs/*/pyproject.toml services/*/pyproject.toml))
unexport VIRTUAL_ENV PYTHONDONTWRITEBYTECODE
export UV_PROJECT_ENVIRONMENT := .venv
export CASES OPERATOR

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / {printf "  make %-15s %s\n", $$1, $$2}' Makefile

$(CURDIR)/.uv/bin/uv:
	@python3 -m pip --version >/dev/null 2>&1 || { echo "make: python3 with pip is needed (Debian: apt-get install python3-pip), or install uv by hand" >&2; exit 1; }
	@echo "make: installing uv $(UV_VERSION) into .uv"
	@python3 -m pip install --quiet --root-user-action=ignore --target .uv uv==$(UV_VERSION)

.venv/.synced: requirements.lock $(MEMBERS:%=%/pyproject.toml) | $(UV)
	@$(UV) venv --quiet --allow-existing --python '>=3.11' .venv
	@$(UV) pip sync --quiet --compile-bytecode --require-hashes requirements.lock
	@$(UV) pip install --quiet --no-deps $(MEMBERS:%=-e %)
	@touch $@

setup: .venv/.synced ## make .venv with everything, the manta command included
	@echo "make: .venv is ready; try .venv/bin/manta --help"

demo: setup ## run a Ray job on this machine, no Kubernetes needed
	@.venv/bin/manta demo $(if $(KEEP),--keep)

test: setup ## everything CI runs, against real parts (the first run builds them: about ten minutes)
	@python3 tests/tools/stages.py

check: lint types unit ## lint, types and unit tests; under a minute

lint: .venv/.synced
	@.venv/bin/ruff format --check --quiet .
	@.venv/bin/ruff check --quiet .

types: .venv/.synced
	@.venv/bin/mypy

unit: .venv/.synced # two halves at once
	@.venv/bin/pytest -q tests/unit/manta_common & half=$$!; \
	.venv/bin/pytest -q tests/unit --ignore tests/unit/manta_common; code=$$?; \
	wait $$half && exit $$code

campaign: setup ## every play through every fault at every place, on the simulator
	@CAMPAIGN=all .venv/bin/pytest -q tests/model/test_campaign.py

fuzz: setup ## specs that nobody has thought of, on the simulator; FUZZ=SEEDS
	@FUZZ=$${FUZZ:-1000} .venv/bin/pytest -q tests/model/test_spec_fuzz.py

soak: setup ## churn for SOAK=MINUTES (30) while every service and NATS are killed in turn
	@python3 tests/tools/build.py test
	@SOAK=$${SOAK:-30} .venv/bin/pytest -q tests/chaos/test_soak.py

bench: setup ## measure, side by side with the peer or the raw limit
	@python3 tests/tools/build.py test
	@.venv/bin/pytest -q -s tests/bench && code=0 || code=$$?; \
	$(PYTHON) -m tests.bench.side_by_side && exit $$code

side-by-side: setup ## only the second half of bench: docs/reference/benchmarks.md; ROWS=a,b ROUNDS=n for a part
	@python3 tests/tools/build.py test
	@$(PYTHON) -m tests.bench.side_by_side $(if $(ROWS),--only $(ROWS)) $(if $(ROUNDS),--rounds $(ROUNDS))

tools: ## build every real part of the tests into the cache
	@python3 tests/tools/build.py

image: ## build the images manta and manta-submitter with Docker; BASE=IMAGE is where Python comes from
	@for target in manta submitter; do \
		docker build --file deploy/image/Dockerfile $(if $(BASE),--build-arg BASE=$(BASE)) --target $$target \
			--tag manta$$([ $$target = manta ] || echo -$$target):$(VERSION) .; \
	done

images: setup ## make the container images of the tests where they can't be pulled
	@$(PYTHON) tests/tools/images.py
	@$(PYTHON) tests/tools/product.py

parity: setup ## PARITY=DIR: play recorded cases against Manta and print what differs
	@$(PYTHON) -m tests.tools.parity $(PARITY)

crds: setup ## write the CRDs, the admission policies and the references from the types
	@$(PYTHON) -m manta_common.crd write deploy/crds docs/reference/api.md
	@$(PYTHON) -m manta_common.validation.admission deploy/admission
	@$(PYTHON) -m manta_common.reference docs/reference
	@$(PYTHON) -m manta_cli.reference docs/reference/cli.md

chart: setup ## write the rights of the services into the chart, and its README
	@$(PYTHON) -m manta_cli.rights deploy/helm/manta/files
	@$(PYTHON) -m tests.tools.values deploy/helm/manta

licences: setup ## write the list of the licences of what is shipped
	@$(PYTHON) -m tests.tools.supply licences docs/reference/licences.md

sbom: setup ## write what is shipped, with versions, as CycloneDX into dist/
	@$(PYTHON) -m tests.tools.supply sbom dist/manta.cdx.json
	@echo "make: dist/manta.cdx.json"

audit: setup ## look whether advisories are known for what is shipped; needs the net
	@$(PYTHON) -m tests.tools.supply audit

crds-kubernetes: setup ## take Kubernetes' own definitions anew from its pinned version
	@go=$$($(PYTHON) -c 'from tests.tools.build import find_go; print(find_go())'); \
	folder=$$(cd tests/tools/kubernetes && "$$go" list -m -f '{{.Dir}}' k8s.io/kubernetes)/api/openapi-spec/v3; \
	$(PYTHON) -m manta_common.crd take "$$folder"/api__v1_openapi.json "$$folder"/apis__networking.k8s.io__v1_openapi.json; \
	$(PYTHON) -m manta_embedded.store.openapi "$$folder"; \
	$(PYTHON) -m manta_embedded.api.documents "$$folder"; \
	$(PYTHON) -m manta_embedded.api.protobuf $$(cd tests/tools/kubernetes && "$$go" list -m -f '{{.Dir}}' k8s.io/api k8s.io/apimachinery)

fmt: .venv/.synced ## format the code and mend what can be mended
	@.venv/bin/ruff format .
	@.venv/bin/ruff check --fix .

lock: $(UV) ## take the newest dependencies and pin them
	@$(UV) lock --upgrade --no-config
	@$(UV) export --quiet --no-config --locked --no-emit-workspace --all-groups --no-annotate --no-header --output-file requirements.lock
	@python3 tests/tools/pins.py requirements.lock uv.toml
	@$(MAKE) --no-print-directory setup
	@$(PYTHON) tests/tools/image_lock.py requirements.lock deploy/image/requirements.lock
	@printf 'setuptools\nuv-build>=0.13,<0.14\n' | $(UV) pip compile --quiet --no-config --universal --generate-hashes \
		--no-header --no-annotate --output-file deploy/image/build.lock -
	@rm -f uv.lock
