#!/usr/bin/env bash
# extra_methods_test.sh SOURCE: tests that the build lists a method of a folder outside the tree.
set -euo pipefail
source=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp -r "$source/tests/methods/sample_method" "$folder/elsewhere"
cmake -S "$source" -B "$folder/build" -DREPRISE_TESTS=OFF -DREPRISE_BENCHMARKS=OFF \
  -DREPRISE_EXTRA_METHODS="$folder/elsewhere" >"$folder/log" || { cat "$folder/log"; exit 1; }
grep -q 'MethodEntry sample_method_method();' "$folder/build/methods/method_list.cpp"
grep -q 'paged_method(), .*sample_method_method()' "$folder/build/methods/method_list.cpp"
