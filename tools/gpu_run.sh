#!/usr/bin/env bash
# Builds, tests and measures on a GPU machine that has only nvcc, g++, CMake, Ninja or Make, and Python:
#    tools/gpu_run.sh OUT [STAGE...]
# Starts tools/gpu_run.py; --help lists the options.
set -euo pipefail
command -v python3 >/dev/null || { echo "gpu_run.sh: there is no python3, which its stages are run by" >&2; exit 1; }
exec python3 "$(dirname "$0")/gpu_run.py" "$@"
