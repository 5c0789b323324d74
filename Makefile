# The two commands: `make train` and `make test`, each from a bare machine. All else is CMake (docs/building.md).
#
#   make train CONFIG=configs/mnist_cnn.json ARGS="--workers 4"
CONFIG ?= configs/fashion_mlp.json
ARGS ?=
JOBS ?= $(shell scripts/build_jobs.sh)

export CCACHE_BASEDIR := $(CURDIR)# another clone of the project finds what this one has compiled

release := build/release
# What a job runs: no more is built before the first one starts.
trainer := scavenger-train scavenger-ps scavenger-worker
build = cmake --build $(release) --parallel $(JOBS)

.PHONY: help train test setup configured programs clean
.NOTPARALLEL:
.DELETE_ON_ERROR:

help:
	@echo 'make train   set up what is missing, build, train $(CONFIG)'
	@echo '             CONFIG=... another job; ARGS="..." more for scavenger-train, for example "--workers 4"'
	@echo 'make test    set up what is missing, build, run the tests'
	@echo 'make clean   remove build/ (not .venv/, .deps/, runs/)'

# The other programs of the README are built when the job has ended, however it did.
train: configured
	@$(build) --target $(trainer)
	@status=0; $(release)/bin/scavenger-train $(CONFIG) $(ARGS) || status=$$?; \
	  $(build) --target programs && exit $$status

# CI takes no warning in our own code, and looks at what has changed in ways that take minutes (docs/building.md).
test:
	@scripts/setup.sh --test
	@cmake --preset release -DSCAVENGER_WERROR=$(if $(CI),ON,OFF) -DSCAVENGER_GATE=$(if $(CI),ON,OFF)
	@$(build)
	@scripts/run_tests.sh $(release)

setup:
	@scripts/setup.sh

# Ninja configures again by itself when a CMakeLists.txt changes: cmake is only called for the first time.
configured: setup
	@test -f $(release)/build.ninja || cmake --preset release

programs: configured
	@$(build) --target programs

clean:
	rm -rf build
