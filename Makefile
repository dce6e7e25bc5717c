# Palisade's chores. `make test` is what CI runs; it sets up what it needs.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
# rustup's folder, for shells that have not sourced its env file.
export PATH := $(PATH):$(HOME)/.cargo/bin
# How many random programs `make soak` compares.
SOAK ?= 1000000
# How many random programs each long test tries in `make soak-tests`.
SOAK_TESTS ?= 20000
# How many edited texts `make fuzz` tries with each test.
FUZZ_ROUNDS ?= 5000

# cargo-nextest runs the tests of all crates side by side; where it is missing,
# cargo's own runner does the same tests.
NEXTEST := $(shell cargo nextest --version >/dev/null 2>&1 && echo yes)

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

.PHONY: setup
setup: ## find or fetch Z3, write .cargo/config.toml
	@scripts/setup

.PHONY: format-check
format-check: setup
	cargo fmt --all --check

.PHONY: clippy
clippy: setup
	cargo clippy --workspace --all-targets -- -D warnings

.PHONY: doc
doc: setup ## rustdoc, warnings denied
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

.PHONY: lint
lint: format-check clippy doc ## rustfmt, clippy, rustdoc: warnings denied

.PHONY: test-all
test-all: setup
ifeq ($(NEXTEST),yes)
	cargo nextest run --workspace --no-fail-fast
	cargo test --workspace --doc
else
	cargo test --workspace --no-fail-fast
endif

.PHONY: test
test: ## everything CI checks: formatting, clippy, rustdoc, all tests
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory test-all

.PHONY: soak
soak: setup ## SOAK=1000000 random programs, each decided twice; differences are shrunk
	cargo run --release -p palisade-soak -- --programs $(SOAK)

.PHONY: soak-tests
soak-tests: setup ## the other random tests, SOAK_TESTS=20000 programs each
	PALISADE_SOAK=$(SOAK_TESTS) cargo test --release --workspace -- --include-ignored

.PHONY: bench
bench: setup ## the benchmarks in crates/*/benches
	cargo bench --workspace

.PHONY: dist
dist: ## a package to unpack anywhere: binary, libz3, manual page, completions, checksum
	@scripts/dist

.PHONY: demo
demo: ## Dekker's algorithm under SC and TSO, without and with fences
	-./palisade explore examples/dekker.pal --model sc
	-./palisade explore examples/dekker.pal --model tso
	-./palisade explore examples/dekker_fenced.pal --model tso

.PHONY: fuzz
fuzz: setup ## random edits of models and programs, FUZZ_ROUNDS of them: none may panic
	PALISADE_SOAK=$(FUZZ_ROUNDS) cargo test -p palisade-shape -- mutate input
	PALISADE_SOAK=$(FUZZ_ROUNDS) cargo test -p palisade-frontend robust

.PHONY: clean
clean: ## remove what was built (Z3 stays; `rm -r .palisade .cargo` removes it too)
	rm -rf target .palisade/built .palisade/built.part.*
