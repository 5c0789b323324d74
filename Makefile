# The two commands: `make train` and `make test`, each from a bare machine. All else is CMake (docs/building.md).
#
#   make train CONFIG=configs/mnist_cnn.json ARGS="--workers 4"
CONFIG ?= configs/fashion_mlp.json
ARGS ?=
JOBS ?= $(shell scripts/build_jobs.sh)

export CCACHE_BASEDIR := $(CURDIR)# another clone of the project finds what this one has compiled

release := build/release
programs := scavenger-train scavenger-ctl scavenger-plan scavenger-ps scavenger-worker scavenger-export

.PHONY: help train test setup programs clean
.NOTPARALLEL:
.DELETE_ON_ERROR:

help:
	@echo 'make train   set up what is missing, build, train $(CONFIG)'
	@echo '             CONFIG=... another job; ARGS="..." more for scavenger-train, for example "--workers 4"'
	@echo 'make test    set up what is missing, build, run the tests'
	@echo 'make clean   remove build/ (not .venv/, .deps/, runs/)'

train: programs
	@$(release)/bin/scavenger-train $(CONFIG) $(ARGS)

test:
	@scripts/setup.sh --test
	@cmake --preset release
	@cmake --build $(release) --parallel $(JOBS)
	@scripts/run_tests.sh $(release)

setup:
	@scripts/setup.sh

# Ninja configures again by itself when a CMakeLists.txt changes: cmake is only called for the first time.
programs: setup
	@test -f $(release)/build.ninja || cmake --preset release
	@cmake --build $(release) --parallel $(JOBS) --target $(programs)

clean:
	rm -rf build
