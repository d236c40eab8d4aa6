# Everything a person does here starts with `make`. Each target sets up what it needs.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:

# Which Python makes the environment: make PYTHON=python3.12 demo
PYTHON ?= python3

VENV := .venv
LOGS := target/test-logs
export PATH := $(PATH):$(or $(CARGO_HOME),$(HOME)/.cargo)/bin
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
export PYO3_PYTHON := $(VIRTUAL_ENV)/bin/python

# Parts of the bench, separated by commas; by default all.
ONLY ?=

# A checkout of htsim (https://github.com/Broadcom/csg-htsim), which `make bench-peers` then measures, too.
HTSIM ?=

# Where `make install` installs, and a folder that stands for the root when a package is made from the result.
PREFIX ?= /opt/fairhaul
DESTDIR ?=

# The measurements for `make queues`: notebooks/generalized_test.csv of https://github.com/brucespang/ifip21-buffer-sizing
FILE ?=

# The captures for `make explain-table`: the folder data/validation of https://github.com/USC-NSL/policing-detection
FOLDER ?=

# How long `make fuzz` looks for scenarios that break an invariant, and then for input that breaks each reader; from which
# seed the scenarios are drawn, by default another one each day.
TIME ?= 10m
SEED ?= $(shell date +%Y%m%d)

# What the extension is built from.
SOURCES := Cargo.toml Cargo.lock pyproject.toml scripts/rustflags \
    $(shell find crates \( -path crates/fuzz -o -path crates/web -o -path crates/host -o -path crates/linux -o -path crates/ports -o -path crates/tcp-stack \) -prune -o \
        \( -path '*/src/*' -o -name Cargo.toml -o -name build.rs \) -type f -print)

# What fairhaul-host is built from.
HOST_SOURCES := Cargo.toml Cargo.lock scripts/rustflags \
    $(shell find crates/units crates/cc crates/path crates/experiment crates/host crates/linux crates/ports -type f -not -path '*/tests/*' -not -path '*/examples/*')

# What the engine as WebAssembly is built from.
STUDIO_SOURCES := Cargo.toml Cargo.lock scripts/rustflags scripts/studio \
    $(shell find crates/units crates/cc crates/path crates/experiment crates/sim crates/web \( -path '*/src/*' -o -name Cargo.toml \) -type f)

# What the transport stacks are built from.
STACK_SOURCES := stacks/Cargo.toml stacks/Cargo.lock scripts/rustflags scripts/stack-releases \
    $(shell find stacks/quic stacks/quinn stacks/noq stacks/smoltcp crates/units crates/cc crates/stack \( -path '*/src/*' -o -name Cargo.toml -o -path 'stacks/quic/*' \) -type f)
STACKS := python/fairhaul/stacks
# The old release that a test compares with the present one.
FAULTY := smoltcp-0.13.1

# All crates that can be built here, listed when a recipe runs, because packages may be installed before.
CRATES = --workspace $$(scripts/host excluded)

.PHONY: help demo test check tidy choices fuzz bench bench-peers instructions papers grain arithmetic hosts queues explain-table explain-simulated explain-controllers explain-limits gallery scores site man dist dist-check trial install uninstall audit ports fmt clean tools host studio stacks stacks-repeat stacks-fidelity stack-faults

help: ## this text
	@echo 'Fairhaul: who gets how much of a fast, long path, how soon, and at whose cost'
	@echo
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1|\2/p' Makefile | awk -F '|' '{ printf "%-18s %s\n", $$1, $$2 }'
	@echo
	@echo 'Needs Rust, Python 3.11 or later (another one: make PYTHON=python3.12 demo), cc and make.'
	@echo 'The first call makes .venv and builds the engine; later calls only what has changed.'

demo: $(VENV)/.extension host studio ## the figures of the XCP-TCP paper in the short form, its claims judged, and a report in out/demo
	$(VENV)/bin/fairhaul reproduce xcp-tcp --quick --only figures --out out/demo --markdown
	@sed -n 's/^\*\*.*\*\* /\n/p' out/demo/report.md | fold -s
	@echo 'Its Figure 4, the shares of XCP and TCP over time: out/demo/figures/figure4.png'
	@echo 'Next, Table 1 of the FHSTCP paper beside its own numbers, some of which differ here:'
	@echo '  $(VENV)/bin/fairhaul reproduce fhstcp --quick --only table1 --out out/table1'

test: tools $(VENV)/.extension host studio stacks ## everything that has to pass before a commit
	cargo fmt --all --check
	cargo clippy $(CRATES) --all-targets --locked -- -D warnings
	@scripts/linux
	@scripts/suite $(LOGS)

stacks: $(STACKS)/.built ## the transport stacks of others: quinn, noq and smoltcp, in minutes

# The random numbers of the system are replaced (stacks/quic/src/chance.rs).
$(STACKS)/.built: $(STACK_SOURCES)
	cd stacks && RUSTFLAGS="$$(../scripts/rustflags) --cfg getrandom_backend=\"custom\"" cargo build --release --locked --quiet
	mkdir -p $(STACKS)
	cp stacks/target/release/libfairhaul_{quinn,noq,smoltcp}.so $(STACKS)
	scripts/stack-releases $(FAULTY)
	touch $@

stacks-fidelity: ## compare Fairhaul's TCP behind the interface of stacks with the built-in one in 500 random scenarios
	cargo test --locked -p fairhaul-tcp-stack --features slow

stacks-repeat: $(VENV)/.extension stacks ## run 200 scenarios of each transport stack and controller in two processes each, and compare all packets
	$(VENV)/bin/python -m tools.stacks

stack-faults: $(VENV)/.extension stacks ## build old releases of the transport stacks, and tell those with a known fault from others
	scripts/stack-releases
	$(VENV)/bin/python -m tools.stacks.faults

check: tools $(VENV)/.packages ## the quick part of it: formats, lints, the rules of style and structure, the small crates
	cargo fmt --all --check
	cargo clippy $(CRATES) --all-targets --locked -- -D warnings
	cargo test --quiet --locked -p fairhaul-units -p fairhaul-cc -p fairhaul-path
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports --no-logo
	$(VENV)/bin/pytest -q tests/test_tidy.py
	@scripts/audit
	@echo 'make check: passed (make test runs everything)'

tidy: $(VENV)/.packages ## the rules of style and structure alone, in seconds
	@$(VENV)/bin/python -m tools.tidy

choices: $(VENV)/.packages ## write docs/choices.md from the marks in comments, and docs/requirements.md from the statements and their tests
	$(VENV)/bin/python -m tools.tidy choices

fuzz: tools $(VENV)/.extension ## random scenarios and damaged files, for ten minutes or longer: make fuzz TIME=8h SEED=7
	@scripts/fuzz $(TIME) $(SEED)

bench: $(VENV)/.extension host ## the speed of the engine, and the cost of eBPF ports in the kernel, in 9 to 11 minutes; parts: make bench ONLY=workloads,queues
	@scripts/debian
	$(VENV)/bin/python -m tools.bench run --only '$(ONLY)'

bench-peers: $(VENV)/.extension ## the same workloads in ns-2 and ns-3, which it installs, and in htsim: make bench-peers HTSIM=../csg-htsim
	@scripts/peers/install
	$(VENV)/bin/python -m tools.bench peers --htsim '$(HTSIM)'

instructions: $(VENV)/.extension ## record the instructions per packet of small workloads, which a test compares
	@scripts/debian
	$(VENV)/bin/python -m tools.bench instructions

papers: $(VENV)/.extension ## every paper in full, reports in out/papers, and the checks too slow for `make test`
	$(VENV)/bin/fairhaul reproduce all --out out/papers
	RUSTFLAGS="$$(scripts/rustflags)" cargo test --release --locked -p fairhaul-sim --features slow

grain: $(VENV)/.extension ## compare bursts that are simulated as one with single packets in 60 scenarios, in 20 minutes of processor time
	$(VENV)/bin/python -m tools.grain

queues: $(VENV)/.extension ## compare the simulator and Linux with depths of a queue at hardware (docs/queues-10g.md): make queues FILE=queues.csv
	$(VENV)/bin/python -m tools.queues $(FILE)

explain-table: explain-simulated explain-controllers explain-limits ## all comparisons of fairhaul explain with the truth (docs/explain-compared.md); with captures of known policers, too: make explain-table FOLDER=policing
	@[ -z '$(FOLDER)' ] || $(VENV)/bin/python -m tools.explanation '$(FOLDER)'

explain-simulated: $(VENV)/.extension ## those of 300 simulated captures, in ten minutes of processor time
	$(VENV)/bin/python -m tools.explanation.simulated

explain-controllers: $(VENV)/.extension host ## those of the controllers and of the second halves of 67 captures of Linux, in seven minutes; an interrupted call goes on
	$(VENV)/bin/python -m tools.explanation.controllers
	$(VENV)/bin/python -m tools.explanation.predicted

explain-limits: $(VENV)/.extension host ## those of the limits of 60 captures of Linux, in six minutes; an interrupted call goes on
	$(VENV)/bin/python -m tools.explanation.limited

arithmetic: $(VENV)/.packages ## compare the integer arithmetic of the eBPF ports with exact arithmetic (docs/arithmetic.md), in half an hour; installs z3
	@scripts/debian
	$(VENV)/bin/python -m pip install -q --disable-pip-version-check z3-solver==5.4.1
	$(VENV)/bin/python -m tools.arithmetic

hosts: $(VENV)/.extension host ## compare the hosts of the simulator with Linux in 100 drawn cells, in many hours; an interrupted call goes on
	$(VENV)/bin/python -m tools.hosts

gallery: tools $(VENV)/.extension ## redraw the figures of the docs: every controller, queue, flow counter and example scenario
	$(VENV)/bin/python -m tools.gallery

scores: $(VENV)/.extension ## compute the table of scores of docs/score.md, in about 17 minutes of processor time
	$(VENV)/bin/python -m tools.scores

site: $(VENV)/.extension studio ## the documentation as a site in out/site, which opens from the disk
	$(VENV)/bin/python -m tools.site

man: $(VENV)/.extension ## the man pages in out/man: man -M out/man fairhaul-run
	$(VENV)/bin/python -m tools.site man

dist: tools $(VENV)/.extension ## a release in out/dist: source distribution, wheels, Debian packages, checksums; half an hour or more
	$(VENV)/bin/python -m tools.dist build

dist-check: dist ## build the release a second time in another folder, and compare the bytes
	scripts/dist/again $(VENV)/bin/python

trial: ## as root on Debian: install the Debian package of out/dist in a fresh system, use it and remove it
	scripts/dist/trial

install: $(VENV)/.extension host studio ## install below PREFIX (and DESTDIR), with the layout of the Debian package
	$(VENV)/bin/python -m tools.dist install --prefix '$(PREFIX)' --destination '$(DESTDIR)/'

uninstall: $(VENV)/.extension ## remove what `make install` installed below PREFIX (and DESTDIR)
	$(VENV)/bin/python -m tools.dist uninstall --prefix '$(PREFIX)' --destination '$(DESTDIR)/'

audit: tools $(VENV)/.packages ## the licences, origins and known vulnerabilities of all dependencies; installs cargo-deny
	scripts/audit install

ports: tools ## the controllers as eBPF objects for the kernel, in target/ports
	cargo run --quiet --locked -p fairhaul-ports --example objects -- target/ports

host: $(VENV)/.host ## fairhaul-host, for `fairhaul kernel` and the lab, and the library of the engine `linux`: where it cannot be built it says why

studio: $(VENV)/.studio ## the engine as WebAssembly, for `fairhaul studio`: where it cannot be built it says why

fmt: tools $(VENV)/.packages ## lay the sources out as the checks want them
	cargo fmt --all
	$(VENV)/bin/ruff check --fix --quiet .
	$(VENV)/bin/ruff format .

clean: ## remove everything that was built
	rm -rf target $(VENV) .mypy_cache .ruff_cache .pytest_cache
	find python tests tools -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
	rm -rf python/fairhaul/_core*.so python/fairhaul/bin python/fairhaul/studio/engine.wasm.gz

tools:
	@FAIRHAUL_FOR=tests scripts/require $(PYTHON)
	@scripts/debian

$(VENV)/.packages: requirements.lock
	@scripts/require $(PYTHON)
	test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install -q --disable-pip-version-check --no-deps -r requirements.lock
	@touch $@

$(VENV)/.extension: $(VENV)/.packages $(SOURCES)
	@scripts/require $(PYTHON)
	RUSTFLAGS="$$(scripts/rustflags)" $(VENV)/bin/maturin develop --release --locked
	@touch $@

$(VENV)/.host: $(VENV)/.packages $(HOST_SOURCES)
	@scripts/debian
	scripts/host build
	@if [ -x python/fairhaul/bin/fairhaul-host ]; then touch $@; fi

$(VENV)/.studio: $(VENV)/.packages $(STUDIO_SOURCES)
	@scripts/require $(PYTHON)
	scripts/studio
	@if [ -e python/fairhaul/studio/engine.wasm.gz ]; then touch $@; fi
