# Copyright The Flotilla Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Two commands are enough to begin: make demo, make test. Everything they need they get themselves.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Name of the local clusters that the clusters-* targets speak of, and how many members they have.
NAME ?= dev
MEMBERS ?= 2
FAKE_NODES ?= 6
REAL_NODES ?= 0
ZONES ?= a,b
# Seconds before one package's tests are given up.
TEST_TIMEOUT ?= 20m
# Random objects of each kind and direction that make fuzz converts.
ROUNDS ?= 100000
# Which tests: a go test -run or ginkgo --focus expression.
FOCUS ?=
# Which end-to-end specs: words that label them (docs/local-clusters.md), with && || ! and parentheses. Empty: all.
LABELS ?=
# Ends a run of end-to-end tests that found no spec to run in any package.
SOME_SPEC := awk '{print; fflush()} /^Ran [1-9]/ {some = 1} END {if (!some) {print "no spec has these LABELS and this FOCUS"; exit 1}}'

export GOFLAGS ?= -p=2
CLUSTERS := go run ./hack/clusters
TOOL := go tool -modfile=go.tools.mod
COMPONENTS := hub spoke nodeagent

##@ Begin here

.PHONY: help
help: ## Show this list.
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-zA-Z0-9_-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## Bring up a hub and two members, run one workload over both, update it in place. REAL=1: real nodes.
	go run ./hack/demo $(if $(REAL),--real)

.PHONY: demo-down
demo-down: ## Stop what make demo left running.
	$(CLUSTERS) down --name demo

.PHONY: test
test: test-unit test-integration test-e2e ## Run unit, real API server and simulated-fleet tests; make e2e has the slow ones and real nodes.

##@ Tests

.PHONY: test-unit
test-unit: ## Run the unit tests: seconds, no cluster.
	go vet ./...
	go test -timeout $(TEST_TIMEOUT) $(if $(FOCUS),-run '$(FOCUS)') ./...

.PHONY: test-integration
test-integration: assets ## Run the tests against a real API server.
	go test -tags integration -p 1 -timeout $(TEST_TIMEOUT) $(if $(FOCUS),-run '$(FOCUS)') $$(git grep -l '^//go:build integration' -- '*_test.go' | xargs -n1 dirname | sort -u | sed 's|^|./|')

.PHONY: test-e2e
test-e2e: assets ## Run the end-to-end tests on simulated nodes, but for the slow ones. LABELS=cloneset chooses, KEEP=1 leaves the clusters up.
	$(if $(KEEP),,trap '$(CLUSTERS) down --name e2e' EXIT;) \
	go test -tags e2e -p 1 -timeout 50m -v ./e2e/... -args --ginkgo.no-color \
	  --ginkgo.label-filter='!real && !slow$(if $(LABELS), && ($(LABELS)))' --ginkgo.focus='$(FOCUS)' | $(SOME_SPEC)

.PHONY: e2e
e2e: assets ## Run all end-to-end tests, the slow and those on real nodes too (needs root on Linux). LABELS=cloneset chooses, KEEP=1 leaves the clusters up.
	$(if $(KEEP),,trap '$(CLUSTERS) down --name e2e; $(CLUSTERS) down --name e2e-real' EXIT;) \
	go test -tags e2e -p 1 -timeout 60m -v ./e2e/... -args --ginkgo.no-color --ginkgo.v --ginkgo.label-filter='$(LABELS)' --ginkgo.focus='$(FOCUS)' | $(SOME_SPEC)

.PHONY: fuzz
fuzz: ## Convert ROUNDS random objects of every kind there and back: minutes.
	go test -timeout 60m -count 1 -v -run RoundTrips ./apis/apps/v1alpha1 ./apis/policy/v1alpha1 ./apis/rollouts/v1alpha1 -conversion.rounds $(ROUNDS)

.PHONY: bench
bench: assets ## Measure the hub with 100 members and 10,000 replicas; table here, JSON in .bench/.
	go run ./hack/bench

.PHONY: bench-cloneset
bench-cloneset: assets ## Measure CloneSets beside Deployments and a bare client; table here, JSON in .bench/.
	go run ./hack/bench/cloneset

.PHONY: bench-nodeagent
bench-nodeagent: assets ## Measure pulling images ahead on 500 nodes, and the node agent's memory; table here, JSON in .bench/.
	go run ./hack/bench/nodeagent

.PHONY: golden
golden: ## Rewrite the golden rollout logs after a wanted change.
	go test ./spoke/... ./hub/... -run Golden -update

##@ Code

.PHONY: generate
generate: ## Regenerate everything under generated/ and every zz_generated file.
	hack/generate.sh

.PHONY: verify
verify: ## Regenerate, lint, and fail when anything differs from what is committed.
	hack/verify.sh

.PHONY: lint
lint: ## Run the linters.
	GOLANGCI_LINT_CACHE=$(CURDIR)/.golangci-cache $(TOOL) golangci-lint run ./...

.PHONY: render
render: ## Print the manifests of every kustomize base and overlay to bin/manifests/.
	@mkdir -p bin/manifests
	@for dir in hub spoke nodeagent crd-protection distribution following/hub following/spoke overlays/dev/hub overlays/dev/member overlays/e2e/hub overlays/e2e/member overlays/from-openkruise; do \
	  $(TOOL) kustomize build kustomize/$$dir > bin/manifests/$${dir//\//-}.yaml && echo bin/manifests/$${dir//\//-}.yaml; done

.PHONY: build
build: ## Build our programs into bin/.
	@mkdir -p bin
	@for c in $(COMPONENTS); do CGO_ENABLED=0 go build -trimpath -o bin/flotilla-$$c ./$$c && echo bin/flotilla-$$c; done

.PHONY: images
images: build ## Make OCI archives of our programs in bin/images/, without Docker.
	$(CLUSTERS) images --archive bin/images --binaries bin

##@ Local clusters

.PHONY: clusters-up
clusters-up: ## Start local clusters: NAME, MEMBERS, FAKE_NODES, REAL_NODES, ZONES.
	$(CLUSTERS) up --name $(NAME) --members $(MEMBERS) --fake-nodes $(FAKE_NODES) --real-nodes $(REAL_NODES) --zones $(ZONES)

.PHONY: clusters-down
clusters-down: ## Stop them.
	$(CLUSTERS) down --name $(NAME)

.PHONY: clusters-status
clusters-status: ## Show their processes, kubeconfigs and ports.
	$(CLUSTERS) status --name $(NAME)

.PHONY: assets
assets: ## Build the Kubernetes programs that tests and local clusters run, once; later runs find them in the cache.
	$(CLUSTERS) assets
