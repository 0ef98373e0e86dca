# The usual steps under short names; CMakePresets.json says what they do. PRESET=debug|asan|tsan picks another build.
PRESET ?= release
BUILD := build/$(PRESET)
JOBS ?= $(shell nproc)

.PHONY: all program setup run test sanitize asan tsan fuzz bench baselines format format-check tidy install deb wheel clean

all: $(BUILD)/build.ninja
	cmake --build --preset $(PRESET) -j $(JOBS)

# bin/reprise alone, without tests and benchmarks.
program: $(BUILD)/build.ninja
	cmake --build --preset $(PRESET) -j $(JOBS) --target reprise

$(BUILD)/build.ninja:
	cmake --preset $(PRESET)

setup:
	./setup.sh

# The main job, on the model the repository ships: measures, prints a table, draws two figures. Anew each time: older
# results may be of another revision, with which a run is not continued.
run: program
	$(BUILD)/bin/reprise run experiments/quickstart.json --fresh

test: all
	ctest --preset $(PRESET) -j $(JOBS)

# The tests labelled asan under the address and undefined-behaviour sanitizers, and those labelled tsan under the thread
# sanitizer; `make test PRESET=asan` runs all tests. The sanitizers' own memory has fixed addresses, which some kernels
# give to a program that is loaded at a random place: setarch -R, where it is allowed, loads programs at a fixed one.
sanitize: asan tsan
asan tsan:
	cmake --preset $@
	cmake --build --preset $@ -j $(JOBS) --target sanitized_tests
	$$(! setarch -R true 2>/dev/null || echo setarch -R) ctest --preset $@ -L $@ -j $(JOBS)

# Each libFuzzer target for FUZZ_SECONDS, beginning with what earlier runs found. Needs Clang's libFuzzer
# (./setup.sh --tools).
FUZZ_SECONDS ?= 60
fuzz:
	cmake --preset asan -DREPRISE_FUZZ=ON
	cmake --build --preset asan -j $(JOBS) --target fuzzers
	$$(! setarch -R true 2>/dev/null || echo setarch -R) tests/fuzz/run.sh build/asan $(FUZZ_SECONDS)

bench: all
	for program in $(BUILD)/bin/*_bench; do $$program || exit 1; done

# Records what this machine reaches, for `reprise check --against results/baselines/NAME.json`. Uses real-time priority
# if the system grants it, and takes about ten minutes.
baselines: all
	realtime=$$(chrt -f 2 true 2>/dev/null && echo --realtime); \
	for name in attention linear pointwise; do \
	  $(BUILD)/bin/reprise check $(BUILD)/bin/$${name}_bench --record results/baselines/$${name}_bench.json \
	    --budget 5 $$realtime || exit 1; \
	done

sources = git ls-files '*.h' '*.cpp' '*.cu' '*.cuh'
format:
	$(sources) | xargs clang-format -i

# Fails, and names the lines, where `make format` would change something. Versions of clang-format differ: CI has 14.
format-check:
	$(sources) | xargs clang-format --dry-run -Werror

# Only what this build compiles: the module that uses libtorch is not everywhere. The preset debug, because its list of
# sources has each by itself, where the others have batches. Takes over half an hour on two cores, so CI leaves it out.
tidy:
	cmake --preset debug
	git ls-files '*.cpp' | grep -v '^tests/' | while read -r file; do \
	  ! grep -q "/$$file\"" build/debug/compile_commands.json || echo "$$file"; done | \
	  xargs -P $(JOBS) -n 4 clang-tidy -p build/debug --quiet

# The program with its data, and the runtime for find_package(reprise); `make install PREFIX=...`.
PREFIX ?= /usr/local
install: all
	cmake --install $(BUILD) --prefix $(PREFIX)

# The program with its data as a package, $(BUILD)/reprise_VERSION_ARCHITECTURE.deb, for systems with the libraries of this one.
deb: program
	@command -v dpkg-shlibdeps >/dev/null && command -v file >/dev/null || \
	  { echo "make deb needs the packages dpkg-dev and file: apt-get install dpkg-dev file"; exit 1; }
	cd $(BUILD) && cpack

# The program with its data and libraries as a wheel for pip, $(BUILD)/reprise_bench-VERSION-*.whl.
wheel: program
	tools/make_wheel.sh $(BUILD)

clean:
	rm -rf build out
