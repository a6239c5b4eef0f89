# The commands of this repository. `make demo` and `make test` are the two of the README.
# Needs: Rust (stable, 1.95 or later) with rustfmt and clippy, Python 3.11 or later with venv and pip (the package index is
# asked for what Python's tests and the site need, into an environment of their own), and a C++ compiler (c++), which runs the
# kernels of the GPU on the host. No other install.

# Where the Python package is installed to be tested: nothing of the source tree is on its path.
PYTHON_ENV := $(abspath $(or $(CARGO_TARGET_DIR),target))/python
PYTHON := $(PYTHON_ENV)/bin/python
# What the package is made of: it is installed again when one of these is newer.
PYTHON_SOURCES := pyproject.toml Cargo.toml Cargo.lock $(shell find crates python -type f \
	-not -path '*/tests/*' -not -path '*/benches/*' -not -path '*/examples/*' -not -path '*/__pycache__/*' -not -name '*.so')

LIMBWISE := cargo run --release -p limbwise-cli --bin limbwise --

# NVIDIA's kernel compiler, from its wheel: it needs no GPU.
NVRTC := $(PYTHON_ENV)/nvrtc

FUZZ_SECONDS ?= 60
BUILT := $(or $(CARGO_TARGET_DIR),target)/debug

.PHONY: campaign campaign-long secrets supply reproducible demo test test-rust test-python test-sweep test-sklearn test-recipes test-plans test-all check check-code check-docs check-portable check-python docs python wheel fuzz bless bench

demo:        ## trains on real data, encrypted; then plans and times the same program
	$(LIMBWISE) run logreg

test: test-rust test-python  ## all tests that CI runs

# One test more than there are cores: some wait for a server, a device or a file.
test-rust: $(NVRTC)  ## those of the Rust workspace and of the checkers; the GPU's kernels are compiled, and run on the host
	LIMBWISE_NVRTC=$(NVRTC) LIMBWISE_REQUIRE="$${LIMBWISE_REQUIRE:+$$LIMBWISE_REQUIRE,}nvrtc,c++" cargo test --workspace -- --test-threads $$(($$(getconf _NPROCESSORS_ONLN) + 1))
	cd scripts && python3 -m unittest -q test_checkers test_file_format

test-python: python  ## those of the Python package, as installed
	$(PYTHON) -m pytest --numprocesses 2 --dist worksteal

python: $(PYTHON_ENV)/installed  ## builds the Python package and installs it into the environment of its tests

# Built as the Rust tests are, with the same features of dependencies, so that what they have built serves here (ADR 115);
# `pip install .` and `make wheel` build for speed.
$(PYTHON_ENV)/installed: $(PYTHON_SOURCES) | $(PYTHON)
	MATURIN_PEP517_ARGS="--profile dev --features as-tested" $(PYTHON) -m pip install --quiet --disable-pip-version-check ".[test,docs,plots,progress]"
	touch $@

docs: python  ## the site, in target/site: every cell of every lesson is run, every link is followed
	$(PYTHON) -m sphinx --quiet --fail-on-warning --keep-going -b html -d $(PYTHON_ENV)/site docs target/site
	python3 scripts/check_site.py target/site

$(PYTHON):
	python3 -m venv $(PYTHON_ENV)

$(NVRTC): | $(PYTHON)
	$(PYTHON) -m pip install --quiet --disable-pip-version-check "nvidia-cuda-nvrtc==13.0.*"
	ln -sfn "$$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/nvidia/cu13/lib" $@

wheel: $(PYTHON)  ## a manylinux wheel in target/wheels; kernels are chosen when it runs
	$(PYTHON) -m pip install --quiet --disable-pip-version-check "maturin>=1.9.4,<2"
	$(PYTHON_ENV)/bin/maturin build --out target/wheels

test-sweep: python  ## searches and a local Ray cluster (pymoo and Ray from PyPI)
	$(PYTHON) -m pip install --quiet --disable-pip-version-check ".[search,ray]"
	$(PYTHON) -m pytest python/tests/test_sweep.py python/tests/test_cluster.py

test-sklearn: python  ## models of scikit-learn and XGBoost compared with themselves (both from PyPI)
	$(PYTHON) -m pip install --quiet --disable-pip-version-check "scikit-learn>=1.5" xgboost
	$(PYTHON) -m pytest python/tests/test_sklearn.py python/tests/test_trees.py
	$(PYTHON) scripts/random_forests.py

test-recipes:  ## type-checks a copy of the tree with a toy of every kind in it, added as docs/recipes says
	python3 scripts/check_recipes.py --compile

test-plans:  ## every workload's predicted seconds, memory and precision beside the measured ones, at small sizes
	cargo build --release -p limbwise-cli
	python3 scripts/plan_check.py $${CARGO_TARGET_DIR:-target}/release/limbwise

test-all: test-python test-sweep test-sklearn test-recipes test-plans  ## also the long tests, random arrays, networks and queries, and the server's API fuzzed (schemathesis from PyPI)
	cargo test --workspace -- --include-ignored
	$(PYTHON) scripts/random_arrays.py
	$(PYTHON) scripts/random_arrays.py --integers
	$(PYTHON) scripts/random_networks.py $${CARGO_TARGET_DIR:-target}/campaign/networks
	python3 scripts/fuzz_api.py $${CARGO_TARGET_DIR:-target}/debug/limbwise
	python3 scripts/browse_pages.py $${CARGO_TARGET_DIR:-target}/debug/limbwise
	$(MAKE) docs && python3 scripts/browse_site.py
	$(PYTHON) -m pip install --quiet --disable-pip-version-check duckdb && $(PYTHON) scripts/check_q6_duckdb.py
	$(PYTHON) scripts/random_queries.py $${CARGO_TARGET_DIR:-target}/campaign/queries $${CARGO_TARGET_DIR:-target}/release/limbwise
	cd scripts && python3 -m unittest -q test_checkers test_file_format

# Half of them use one core at a time. Of each the output comes when it is done.
check:       ## all of the following, two at a time
	$(MAKE) --jobs=2 --output-sync=target check-code check-docs check-python docs

check-code:  ## form, lints, rustdoc, and the server build, which has no secret key
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo clippy -p limbwise -p limbwise-runtime -p limbwise-cli --lib --bins --no-default-features --features as-tested -- -D warnings
	RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links" cargo doc --workspace --features limbwise-py/as-tested \
		--no-deps --document-private-items

check-docs:  ## the checkers in scripts/
	python3 scripts/check_file_length.py
	python3 scripts/check_layering.py
	python3 scripts/check_portable.py
	python3 scripts/check_features.py
	python3 scripts/check_citations.py
	python3 scripts/check_doc_paths.py
	python3 scripts/check_doc_width.py
	python3 scripts/check_recipes.py
	python3 scripts/check_release.py
	python3 scripts/list_unsafe.py --check
	python3 scripts/sbom.py --check >/dev/null

check-portable:  ## type-checks the library for ARM (rustup target add aarch64-unknown-linux-gnu; a C compiler for it)
	python3 scripts/check_portable.py
	cargo check --target aarch64-unknown-linux-gnu -p limbwise-cpu -p limbwise

check-python: python  ## form, lints and types of the Python package
	$(PYTHON) -m ruff format --check python
	$(PYTHON) -m ruff check python
	$(PYTHON) -m mypy
	$(PYTHON) -m mypy.stubtest limbwise._limbwise

campaign:    ## a short form of docs/reliability.md in ten minutes: readers, both sides, faults, secrets, noise, soak; goes on from the last one
	python3 scripts/run_campaign.py

campaign-long:  ## the rest, in hours: a minute a reader, 100000 changed files, 10000 samples, every digest, real sizes killed; goes on where it was stopped
	python3 scripts/run_campaign.py --long

secrets:     ## branches and addresses that depend on secrets, under valgrind; needs valgrind
	python3 scripts/secrets_under_valgrind.py

supply:      ## licences, sources, checksums, a bill of materials, `unsafe` with its reasons; cargo-deny where it is installed
	python3 scripts/sbom.py --check
	python3 scripts/sbom.py --out $(BUILT)/../limbwise.cdx.json
	python3 scripts/list_unsafe.py
	if ! cargo deny --version >/dev/null 2>&1; then echo "cargo-deny is not installed: advisories were not looked at"; \
	elif cargo deny fetch db >/dev/null 2>&1; then cargo deny check; \
	else cargo deny check bans licenses sources && echo "no advisories can be fetched here: they were not looked at"; fi

reproducible:  ## two release builds in two folders have the same hash
	scripts/reproducible.sh

fuzz:        ## every reader under libFuzzer for FUZZ_SECONDS each; needs cargo-fuzz and a nightly compiler
	cargo run -q -p limbwise-fuzz -- --list | while read target seeds; do \
		mkdir -p fuzz/corpus/$$target; \
		LIMBWISE_TARGET=$$target cargo +nightly fuzz run reader fuzz/corpus/$$target $$seeds \
			-- -max_total_time=$(FUZZ_SECONDS) -max_len=65536 -malloc_limit_mb=64 || exit 1; \
	done

bless:       ## rewrites golden files; read the diff before committing
	LIMBWISE_BLESS=1 cargo test --workspace

bench:       ## measures operations here, and those of other libraries that install (bench/peers), in the same run
	$(LIMBWISE) bench --peers bench/peers/run.py
