# Thin: every target is a call of cmake, of ctest or of a script in tools/. "make help" lists them.
PREFIX  ?= /usr/local
JOBS    ?= $(shell nproc 2>/dev/null || echo 2)
SECONDS ?= 60

MAKEFLAGS += --no-print-directory

.PHONY: help demo test test-sanitize test-threads fuzz evaluate compare format format-check lint check install clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 24

demo: build/Makefile  ## install what is missing, build, answer one request with the shipped model
	@cmake --build build --target clef_program --parallel $(JOBS)
	build/clef ask examples/demo.json

test: build/Makefile  ## install what is missing, build, run every suite
	@tools/install_dependencies.sh build test
	@tools/install_dependencies.sh pip >/dev/null || echo "No pip: what needs PyPI will be skipped."
	@cmake --preset release >/dev/null # finds a Python that has just come
	@cmake --build build --parallel $(JOBS)
	@python3 tools/run_tests.py --build build --jobs $(JOBS)

test-sanitize: build-sanitize/Makefile  ## every suite under address and undefined-behaviour sanitizers
	@cmake --build build-sanitize --parallel $(JOBS)
	@python3 tools/run_tests.py --build build-sanitize --jobs $(JOBS)

test-threads:  ## the suites with threads under the thread sanitizer
	@tools/install_dependencies.sh build test
	@test -f build-thread/Makefile || cmake --preset sanitize-thread
	@cmake --build build-thread --parallel $(JOBS)
	@ctest --test-dir build-thread --output-on-failure \
		-R '^(unit|server)/|^engine/engine/(sharing|cancel|handles|cache_store)_test'

fuzz:  ## fuzz each parser for SECONDS (60) seconds, with clang
	@tools/install_dependencies.sh build clang
	@test -f build-fuzz/Makefile || cmake --preset fuzz
	@cmake --build build-fuzz --target clef_fuzzers --parallel $(JOBS)
	@tools/run_fuzzers.sh build-fuzz $(SECONDS)

evaluate: build/Makefile  ## accuracy and calibration of the shipped model against the recorded figures
	@cmake --build build --target clef_program --parallel $(JOBS)
	@python3 tools/evaluate.py --check

compare:  ## speed beside PyTorch, llama.cpp and tokenizers (bench/compare/README.md); wants a quiet machine
	@tools/install_dependencies.sh build
	@bench/compare/run.sh

format:  ## format all C files
	@tools/format.sh

format-check:  ## name the C files that are not formatted
	@tools/format.sh --check

lint: build/Makefile  ## clang-tidy over the library and the program
	@tools/lint.sh build $(JOBS)

check:  ## layers, style and fixtures
	@python3 tools/check_layers.py
	@python3 tools/check_style.py
	@python3 tools/make_manifest.py --check

install: build/Makefile  ## build for PREFIX (/usr/local) and install there; DESTDIR is honoured
	@cmake --preset release -DCMAKE_INSTALL_PREFIX=$(PREFIX) >/dev/null
	@cmake --build build --parallel $(JOBS)
	@cmake --install build

clean:  ## remove everything that was built
	rm -rf build build-debug build-sanitize build-thread build-fuzz build-strict-gcc build-strict-clang

# The compiler's and CMake's part; milliseconds when nothing is missing.
.PHONY: dependencies
dependencies:
	@tools/install_dependencies.sh build

build/Makefile: | dependencies
	cmake --preset release

build-sanitize/Makefile: | dependencies
	cmake --preset sanitize
