# Every target does the set-up that it needs; `make help` lists them.
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/sluice
TARGET := $(or $(CARGO_TARGET_DIR),target)
export PATH := $(CACHE)/bin:$(HOME)/.cargo/bin:$(PATH):/usr/local/sbin:/usr/sbin:/sbin
# One line for a long command; what it prints is shown only if it fails.
STEP := ./setup.sh step
PROGRAMS := --package sluice-agent --package sluicectl --package xtask
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: demo
demo: ## Show on real packets that a policy does its job (root)
	@./setup.sh demo
	@$(STEP) "the programs, optimised" release cargo build --release $(PROGRAMS)
	@$(TARGET)/release/xtask demo

.PHONY: build
build: ## Build the programs, optimised
	@./setup.sh build
	@$(STEP) "the programs, optimised" release cargo build --release $(PROGRAMS)

.PHONY: test
test: setup-test build-all ## Lint, then run every test that this machine can run
	@$(TARGET)/debug/xtask lint && lint=0 || lint=1; \
	$(TARGET)/debug/xtask test; \
	if [ $$lint = 1 ]; then echo "lint failed: see above"; exit 1; fi

.PHONY: lint
lint: setup-test build-all ## Only the checks: format, clippy, licences, spelling, arrows, generated files
	@$(TARGET)/debug/xtask lint

.PHONY: generate
generate: ## Write the generated files anew
	@./setup.sh build
	@cargo xtask generate

.PHONY: fmt
fmt: setup-test ## Format Rust and TOML
	@cargo fmt --all
	@RUST_LOG=error taplo fmt

.PHONY: bench
bench: ## Measure (root)
	@./setup.sh test
	@$(STEP) "the programs, optimised" release cargo build --release $(PROGRAMS)
	@$(TARGET)/release/xtask bench

.PHONY: kernels
kernels: setup-test ## Show in QEMU guests that other kernels take the eBPF programs
	@$(STEP) "the chores" debug cargo build --package xtask
	@$(TARGET)/debug/xtask kernels

.PHONY: soak
soak: setup-test ## Compare the program with the reference on random policies and frames for ten minutes (root)
	@$(STEP) "the chores" debug cargo build --package xtask
	@$(TARGET)/debug/xtask soak $(SOAK)

# The tests and the chores from one build of the whole workspace: one set of features, compiled once.
.PHONY: build-all
build-all: setup-test
	@$(STEP) "programs and tests" debug cargo build --workspace --all-targets

.PHONY: setup-test
setup-test:
	@./setup.sh test
