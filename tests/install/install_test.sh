#!/usr/bin/env bash
# install_test.sh BUILD: tests that an installed program finds its data, and find_package(reprise) its libraries, after
# the installation folder was moved.
set -euo pipefail
build=$1
consumer=$(cd "$(dirname "$0")/consumer" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cmake --install "$build" --prefix "$folder/first" >"$folder/install.log" || { cat "$folder/install.log"; exit 1; }
mv "$folder/first" "$folder/moved"

echo "== the program"
cd "$folder"   # where there is no experiments/
data=$folder/moved/share/reprise
mv "$data/experiments/quickstart.json" "$data/experiments/only_here.json"   # not to be found in the source tree
moved/bin/reprise list experiments >"$folder/experiments"   # to a file: grep -q would close a pipe at the first match
grep -q only_here "$folder/experiments"
moved/bin/reprise run only_here --scale smoke --set repetitions=1 --out "$folder/out"
test -s "$folder/out/records.jsonl"
moved/bin/reprise report "$folder/out"
grep -q '</html>' "$folder/out/report.html"
! python3 "$data/experiments/shared_prefix/best_ratio.py" "$folder/out" 2>"$folder/best_ratio"   # the records have no best_ratio
grep -q 'no record has a best_ratio' "$folder/best_ratio"
moved/bin/reprise export "$folder/out" --format bmf >"$folder/bmf"
grep -q '"ttft_ms"' "$folder/bmf"
PYTHONPATH=$data/python python3 -c 'import reprise, sys; print(reprise.views(sys.argv[1]))' "$folder/out" >"$folder/views"
grep -q 'VIEW samples' "$folder/views"

echo "== a project that embeds the runtime"
cmake -S "$consumer" -B "$folder/build" -DCMAKE_PREFIX_PATH="$folder/moved" -DCMAKE_CXX_COMPILER_LAUNCHER="$(command -v ccache || true)"
cmake --build "$folder/build"
"$folder/build/consumer" "$data/models/quickstart" | tee "$folder/consumer.log"
grep -q '8 tokens' "$folder/consumer.log"
