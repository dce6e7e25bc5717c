# Palisade's chores. `make test` is what CI runs; it sets up what it needs.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
# rustup's folder, for shells that have not sourced its env file.
export PATH := $(PATH):$(HOME)/.cargo/bin
# How many random programs `make soak` compares.
SOAK ?= 1000000
# How many random programs it compares with the axioms of RC11.
SOAK_AXIOMS ?= 100000
# How many random programs each long test tries in `make soak-tests`.
SOAK_TESTS ?= 20000
# How many edited texts `make fuzz` tries with each test.
FUZZ_ROUNDS ?= 5000
# How many seconds `make fuzz-targets` runs each target.
FUZZ_SECONDS ?= 60

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
soak: setup ## SOAK=1000000 random programs, each decided twice; differences are shrunk; SOAK_AXIOMS=100000 under RC11
	cargo run --release -p palisade-soak -- --programs $(SOAK) --state target/soak.state
	PALISADE_SOAK=$(SOAK_AXIOMS) cargo test --release -p palisade-machine outcomes_of_the_axioms -- --nocapture

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

# A target, and where texts to start from are. libFuzzer needs the C++ library, which scripts/setup leaves out
# for Z3; cargo-fuzz has flags of its own and forgets where Z3 is.
FUZZ_TARGETS := pal:examples heap:examples/linear c:examples/c litmus:crates/frontend/tests/litmus \
	rmm:examples/rmm llvm:fuzz/llvm tvp:examples/shape boolean:fuzz/boolean certificate:fuzz/certificate trace:fuzz/trace

.PHONY: fuzz-targets
fuzz-targets: setup ## coverage-guided fuzzing (nightly, cargo-fuzz), FUZZ_SECONDS for each front end
	@export LD_LIBRARY_PATH=$$(dirname "$$(sed -n 's/^# library: //p' .cargo/config.toml)"); \
	for entry in $(FUZZ_TARGETS); do target=$${entry%%:*}; \
		mkdir -p fuzz/corpus/$$target; echo "$$target"; \
		CXXSTDLIB=stdc++ cargo +nightly fuzz run -s none $$target fuzz/corpus/$$target $${entry#*:} -- -max_total_time=$(FUZZ_SECONDS) \
			-timeout=60 -rss_limit_mb=3000 -max_len=6000 -dict=fuzz/words.dict 2>&1 | grep -E "^Done|SUMMARY|panicked|ERROR" || exit 1; done

.PHONY: mutants
mutants: setup ## mutation of the code (cargo-mutants): MUTANTS="-p palisade-certify --shard 0/20"
	cargo mutants $(MUTANTS) --timeout 240

.PHONY: clean
clean: ## remove what was built (Z3 stays; `rm -r .palisade .cargo` removes it too)
	rm -rf target .palisade/built .palisade/built.part.*
