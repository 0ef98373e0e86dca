#!/usr/bin/env bash
# Runs the libFuzzer targets of a build, two at a time: tests/fuzz/run.sh BUILD SECONDS [TARGET ...]
# What they find to be new stays in BUILD/corpus, where the next run begins. Prints the inputs each target ran. Ends
# with 1 if a target crashed, leaked, hung or ran out of memory; the input that did it is named and kept.
# With REPRISE_FUZZ_CANARY set, each target aborts at one in a hundred inputs that it accepts. The script then ends with 1
# if a target does not abort: that target would not find a real fault either.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$1 seconds=$2
shift 2
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
  for program in "$build"/bin/*_fuzz; do
    name=$(basename "$program")
    targets+=("${name%_fuzz}")
  done
fi
TMPDIR=$(mktemp -d --tmpdir="$([ -d /dev/shm ] && echo /dev/shm || echo /tmp)" reprise_fuzz.XXXXXX)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
rm -rf "$build/seeds"
"$build/bin/make_seeds" "$build/seeds"

run_one() {   # prints "TARGET INPUTS STATUS"
  local name=$1 log=$build/$1.log status=0 corpus=$build/corpus/$1
  [ -z "${REPRISE_FUZZ_CANARY:-}" ] || corpus=$build/canary/$1
  mkdir -p "$corpus" "$build/faults"
  local dictionary=tests/fuzz/dictionaries/$name.dict
  # SentencePiece's own reader of protocol buffers reports no leak of ours.
  "$build/bin/${name}_fuzz" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=3072 -max_len=65536 \
    -print_final_stats=1 -artifact_prefix="$build/faults/$name-" \
    $([ -f "$dictionary" ] && echo "-dict=$dictionary") "$corpus" "$build/seeds/$name" >"$log" 2>&1 || status=$?
  local inputs
  inputs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -1)
  [ -n "$inputs" ] || inputs=$(sed -n 's/^#\([0-9]*\).*/\1/p' "$log" | tail -1)
  echo "$name ${inputs:-0} $status"
}
export -f run_one
export build seconds

results=$(printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I{} bash -c 'run_one {}')
echo "$results" | sort | awk -v canary="${REPRISE_FUZZ_CANARY:+1}" -v build="$build" '
  {printf "%-16s %12d inputs  %s\n", $1, $2, $3 == 0 ? "no fault" : "fault, see " build "/" $1 ".log"
   inputs += $2; if (($3 != 0) != (canary == 1)) wrong += 1}
  END {printf "%-16s %12d inputs\n", "all", inputs
       if (wrong > 0) {print wrong " of " NR " targets " (canary == 1 ? "missed their canary" : "found a fault"); exit 1}}'
