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
export PATH := $(CURDIR)/target/tools/bin:$(PATH):$(or $(CARGO_HOME),$(HOME)/.cargo)/bin
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

# A diff; `make mutants` then judges the mutants of the lines that it changes.
DIFF ?=

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
STACK_SOURCES := stacks/Cargo.toml stacks/Cargo.lock stacks/programs/Cargo.lock scripts/rustflags scripts/stack-releases \
    $(shell find stacks/programs stacks/quic stacks/quinn stacks/noq stacks/smoltcp crates/units crates/cc crates/stack \( -path '*/src/*' -o -name Cargo.toml -o -path 'stacks/quic/*' \) -type f)
STACKS := python/fairhaul/stacks
# The old release that a test compares with the present one.
FAULTY := smoltcp-0.13.1

# The environment with all tools of developers, and the extension in it. `make demo` needs the extension alone.
READY := $(VENV)/.packages $(VENV)/.extension

# All crates that can be built here, listed when a recipe runs, because packages may be installed before.
CRATES = --workspace $$(scripts/host excluded)

.PHONY: help demo test check tidy choices fuzz bench bench-peers instructions papers grain arithmetic hosts queues explain-table explain-simulated explain-controllers explain-limits mutants coverage soak gallery scores site man dist dist-check trial install uninstall audit ports fmt clean tools host studio stacks stacks-repeat stacks-fidelity stacks-others stack-faults

help: ## this text
	@echo 'Fairhaul: who gets how much of a fast, long path, how soon, and at whose cost'
	@echo
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1|\2/p' Makefile | awk -F '|' '{ printf "%-18s %s\n", $$1, $$2 }'
	@echo
	@echo 'Needs Rust, Python 3.11 or later (another one: make PYTHON=python3.12 demo), cc and make.'
	@echo 'The first call makes .venv and builds the engine; later calls only what has changed.'

demo: $(VENV)/.extension ## build the engine, and judge two claims of a paper by 60 runs: the answer, a figure and a report in out/demo
	@echo 'Reproducing an experiment of the paper on CUBIC fairness: 60 runs, 13 s of processor time'
	@$(VENV)/bin/fairhaul reproduce cubic-fairness --quick --only short-path --out out/demo --markdown >/dev/null
	@sed -n 's/^\*\*.*\*\* /\n/p' out/demo/report.md | fold -s
	@echo
	@echo 'Its figure, shares beside NewReno: out/demo/figures/short-path.png'
	@echo 'The command: source $(VENV)/bin/activate, then fairhaul --help. For the kernel and the lab: make host; the studio: make studio'

# The builds for users, whose last step uses one processor, run beside those of the tests: cargo locks the folder of a
# profile, and these have others.
test: tools $(VENV)/.packages ## everything that has to pass before a commit
	@echo 'make test: formats and lints, builds all tests, then runs those of Rust and Python beside those of the lab and the kernel: about 50 minutes from a fresh clone on two quiet cores, and 20 once all is built'
	cargo fmt --all --check
	@$(MAKE) --no-print-directory $(VENV)/.extension host & for_users=$$!; \
	trap 'kill $$for_users 2>/dev/null || true' EXIT; \
	scripts/suite build $(LOGS); \
	cargo clippy $(CRATES) --all-targets --locked -- -D warnings; \
	$(MAKE) --no-print-directory studio stacks; \
	wait $$for_users
	@scripts/linux
	@scripts/suite run $(LOGS)

stacks: $(STACKS)/.built ## the transport stacks of others: quinn, noq and smoltcp, in minutes

# The random numbers of the system are replaced (stacks/quic/src/chance.rs).
$(STACKS)/.built: $(STACK_SOURCES)
	cd stacks && RUSTFLAGS="$$(../scripts/rustflags) --cfg getrandom_backend=\"custom\"" cargo build --release --locked --quiet
	mkdir -p $(STACKS)
	cp stacks/target/release/libfairhaul_{quinn,noq,smoltcp}.so $(STACKS)
	cd stacks/programs && RUSTFLAGS="$$(../../scripts/rustflags)" cargo build --release --locked --quiet
	cp stacks/programs/target/release/quinn-transfer $(STACKS)
	scripts/stack-releases $(FAULTY)
	touch $@

stacks-fidelity: ## compare Fairhaul's TCP behind the interface of stacks with the built-in one in 500 random scenarios
	cargo test --locked -p fairhaul-tcp-stack --features slow

stacks-repeat: $(READY) stacks ## run 200 scenarios of each transport stack and controller in two processes each, and compare all packets
	$(VENV)/bin/python -m tools.stacks

OTHER_STACKS := quiche s2n-quic

# BoringSSL needs cmake and libclang (Debian: cmake, libclang-dev), AWS-LC cmake alone.
stacks-others: $(READY) stacks ## build quiche and s2n-quic, with BoringSSL and AWS-LC, behind the interface of stacks, and judge them
	mkdir -p stacks/releases/built
	set -e; for each in $(OTHER_STACKS); do \
	    (cd stacks/$$each && RUSTFLAGS="$$(../../scripts/rustflags) --cfg getrandom_backend=\"custom\"" cargo build --release --locked --quiet); \
	    cp stacks/$$each/target/release/libfairhaul_$${each//-/_}.so stacks/releases/built/lib$$each.so; \
	done
	cp stacks/quiche/target/release/quiche-transfer stacks/releases/built
	$(VENV)/bin/python -m tools.stacks.others

stack-faults: $(READY) stacks ## build old releases of the transport stacks, and tell those with a known fault from others
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

fuzz: tools $(READY) ## random scenarios and damaged files, for ten minutes or longer: make fuzz TIME=8h SEED=7
	@scripts/fuzz $(TIME) $(SEED)

soak: tools $(READY) ## the same with other seeds, and scenarios in both engines, paused and copied, for a time; the ledger is in docs/search.md: make soak TIME=8h
	$(VENV)/bin/python -m tools.soak --time $(TIME)

mutants: $(READY) ## change the rules of cc, path and the senders, and record which changes the tests find, for a time; goes on where it ended: make mutants TIME=8h DIFF=change.diff
	@command -v cargo-mutants >/dev/null || cargo install --quiet --locked --root target/tools --target-dir target/tools/build cargo-mutants@27.1.0
	$(VENV)/bin/python -m tools.mutants run --time $(TIME) $(if $(DIFF),--in-diff '$(DIFF)')

coverage: $(READY) ## the lines and branches of cc, path and sim that the tests of each reach; needs LLVM's tools of the compiler's version
	@rustup component add llvm-tools 2>/dev/null || true
	$(VENV)/bin/python -m tools.coverage

bench: $(READY) host ## the speed of the engine, and the cost of eBPF ports in the kernel, in 10 to 12 minutes; parts: make bench ONLY=workloads,queues
	@scripts/debian
	$(VENV)/bin/python -m tools.bench run --only '$(ONLY)'

bench-peers: $(READY) ## the same workloads in ns-2 and ns-3, which it installs, and in htsim: make bench-peers HTSIM=../csg-htsim
	@scripts/peers/install
	$(VENV)/bin/python -m tools.bench peers --htsim '$(HTSIM)'

instructions: $(READY) ## record the instructions per packet of small workloads, which a test compares
	@scripts/debian
	$(VENV)/bin/python -m tools.bench instructions

papers: $(READY) ## every paper in full, reports in out/papers, and the checks too slow for `make test`
	$(VENV)/bin/fairhaul reproduce all --out out/papers
	RUSTFLAGS="$$(scripts/rustflags)" cargo test --release --locked -p fairhaul-sim --features slow

grain: $(READY) ## compare bursts that are simulated as one with single packets in 60 scenarios, in 20 minutes of processor time
	$(VENV)/bin/python -m tools.grain

queues: $(READY) ## compare the simulator and Linux with depths of a queue at hardware (docs/queues-10g.md): make queues FILE=queues.csv
	$(VENV)/bin/python -m tools.queues $(FILE)

explain-table: explain-simulated explain-controllers explain-limits ## all comparisons of fairhaul explain with the truth (docs/explain-compared.md); with captures of known policers, too: make explain-table FOLDER=policing
	@[ -z '$(FOLDER)' ] || $(VENV)/bin/python -m tools.explanation '$(FOLDER)'

explain-simulated: $(READY) ## those of 300 simulated captures, in ten minutes of processor time
	$(VENV)/bin/python -m tools.explanation.simulated

explain-controllers: $(READY) host ## those of the controllers and of the second halves of 67 captures of Linux, in seven minutes; an interrupted call goes on
	$(VENV)/bin/python -m tools.explanation.controllers
	$(VENV)/bin/python -m tools.explanation.predicted

explain-limits: $(READY) host ## those of the limits of 60 captures of Linux, in six minutes; an interrupted call goes on
	$(VENV)/bin/python -m tools.explanation.limited

arithmetic: $(VENV)/.packages ## compare the integer arithmetic of the eBPF ports with exact arithmetic (docs/arithmetic.md), in half an hour; installs z3
	@scripts/debian
	$(VENV)/bin/python -m pip install -q --disable-pip-version-check z3-solver==5.4.1
	$(VENV)/bin/python -m tools.arithmetic

hosts: $(READY) host ## compare the hosts of the simulator with Linux in 100 drawn cells, in many hours; an interrupted call goes on
	$(VENV)/bin/python -m tools.hosts

gallery: tools $(READY) ## redraw the figures of the docs: every controller, queue, flow counter and example scenario
	$(VENV)/bin/python -m tools.gallery

scores: $(READY) ## compute the table of scores of docs/score.md, in about 17 minutes of processor time
	$(VENV)/bin/python -m tools.scores

site: $(READY) studio ## the documentation as a site in out/site, which opens from the disk
	$(VENV)/bin/python -m tools.site

man: $(READY) ## the man pages in out/man: man -M out/man fairhaul-run
	$(VENV)/bin/python -m tools.site man

dist: tools $(READY) ## a release in out/dist: source distribution, wheels, Debian packages, checksums; half an hour or more
	$(VENV)/bin/python -m tools.dist build

dist-check: dist ## build the release a second time in another folder, and compare the bytes
	scripts/dist/again $(VENV)/bin/python

trial: ## as root on Debian: install the Debian package of out/dist in a fresh system, use it and remove it
	scripts/dist/trial

install: $(READY) host studio ## install below PREFIX (and DESTDIR), with the layout of the Debian package
	$(VENV)/bin/python -m tools.dist install --prefix '$(PREFIX)' --destination '$(DESTDIR)/'

uninstall: $(READY) ## remove what `make install` installed below PREFIX (and DESTDIR)
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

# What the package needs to run, and maturin, which builds the extension: the versions are those of requirements.lock.
$(VENV)/.runtime: requirements.lock pyproject.toml
	@scripts/require $(PYTHON)
	test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install -q --disable-pip-version-check -c requirements.lock maturin \
	    $$($(VENV)/bin/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"])')
	@touch $@

$(VENV)/.packages: $(VENV)/.runtime
	$(VENV)/bin/python -m pip install -q --disable-pip-version-check --no-deps -r requirements.lock
	@touch $@

$(VENV)/.extension: $(VENV)/.runtime $(SOURCES)
	@scripts/require $(PYTHON)
	RUSTFLAGS="$$(scripts/rustflags)" $(VENV)/bin/maturin develop --release --locked
	@touch $@

$(VENV)/.host: $(VENV)/.runtime $(HOST_SOURCES)
	@scripts/debian
	scripts/host build
	@if [ -x python/fairhaul/bin/fairhaul-host ]; then touch $@; fi

$(VENV)/.studio: $(VENV)/.runtime $(STUDIO_SOURCES)
	@scripts/require $(PYTHON)
	scripts/studio
	@if [ -e python/fairhaul/studio/engine.wasm.gz ]; then touch $@; fi
