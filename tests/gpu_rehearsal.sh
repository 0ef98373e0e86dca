#!/usr/bin/env bash
# Rehearses the first minutes on a GPU machine: a bare Debian or Ubuntu in a temporary folder, with g++, CMake, Ninja,
# Python and this machine's CUDA Toolkit, and nothing else; no network, no git, no library of ours. There it unpacks
# what tools/gpu_pack.sh --export wrote, and runs tools/gpu_run.sh, which must build everything and then end at the first
# call that needs a device, with an error that says so. Prints the sizes of what is carried, and the time of each step.
#
#   tests/gpu_rehearsal.sh [--suite NAME] [--mirror URL] [--export FILE] [--cuda FOLDER] [--jobs N]
#                          [--cache FOLDER] [--keep]
#
#   --suite   of the bare system: bookworm (default), trixie, noble, jammy, ...
#   --mirror  where its packages come from (default: what this machine's apt uses for that suite; else the
#             distribution's own)
#   --export  of tools/gpu_pack.sh (default: one is made)
#   --cuda    the toolkit to lend (default: /usr/local/cuda)
#   --jobs    compilers at once (default: one a core)
#   --cache   keep package archives in this folder between runs
#   --keep    leave the folder behind and say where it is
#
# Needs root, debootstrap, and the right to mount and chroot. Exit status: 0 it went as it must, 1 it did not, 2 a wrong
# option, 77 this machine does not allow the rehearsal.
set -euo pipefail
tree=$(cd "$(dirname "$0")/.." && pwd)
readonly tree

die() { echo "gpu_rehearsal.sh: $*" >&2; exit 2; }
fails() { echo "gpu_rehearsal.sh: $*" >&2; exit 1; }
not_here() { echo "gpu_rehearsal.sh: not possible on this machine: $*" >&2; exit 77; }
# shellcheck source=tests/bare_root.sh
. "$tree/tests/bare_root.sh"

suite=bookworm mirror="" archive="" cuda=/usr/local/cuda jobs=$(nproc) cache="" keeps=false
parse_options() {
  while [ $# -gt 0 ]; do
    case "$1" in
      --suite | --mirror | --export | --cuda | --jobs | --cache) [ $# -ge 2 ] || die "$1 needs a value" ;;
    esac
    case "$1" in
      --suite) suite=$2; shift ;;
      --mirror) mirror=$2; shift ;;
      --export) archive=$(realpath "$2"); shift ;;
      --cuda) cuda=$2; shift ;;
      --jobs) jobs=$2; shift ;;
      --cache) mkdir -p "$2"; cache=$(realpath "$2"); shift ;;
      --keep) keeps=true ;;
      --help | -h) sed -n '2,/^set -e/{/^set -e/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
      *) die "unknown option \"$1\"; --help lists them" ;;
    esac
    shift
  done
  cuda=$(realpath "$cuda")
}

check_machine() {
  check_bare_root_possible
  [ -x "$cuda/bin/nvcc" ] || not_here "there is no CUDA Toolkit in $cuda"
}

# A root that has one of the libraries would not show that the pack is complete.
check_bareness() {
  local header found
  for header in fmt/core.h nlohmann/json.hpp CLI/CLI.hpp gtest/gtest.h benchmark/benchmark.h hwy/highway.h \
    sentencepiece_processor.h pcre2.h utf8proc.h pugixml.hpp httplib.h prometheus/registry.h xxhash.h zlib.h \
    boost/version.hpp; do
    found=$(find "$root/usr" -path "*/include/$header" -not -path "$root/usr/local/cuda/*" -print -quit)
    [ -z "$found" ] || fails "the root is not bare: it has $found"
  done
}

run_inside() {   # within the namespaces; only gpu_run.sh is without a network
  bootstrap_root --include=g++,make,cmake,ninja-build,python3
  check_bareness
  mkdir -p "$root$cuda"
  mount --bind "$cuda" "$root$cuda"
  mount -o remount,bind,ro "$root$cuda"
  [ "$cuda" = /usr/local/cuda ] || ln -sfn "$cuda" "$root/usr/local/cuda"
  mount -t proc proc "$root/proc"
  mount -t tmpfs tmpfs "$root/dev/shm" 2>/dev/null || true
  tar -C "$root" -xf "$archive"
  unshare --net chroot "$root" env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
    /reprise/tools/gpu_run.sh /result 1 --patience 20 --jobs "$jobs" </dev/null
}

# Checks that what is carried fits on the machines that are lent with at most 64 MiB. The pack's own limit is that of
# tools/gpu_pack.sh.
check_sizes() {
  python3 - "$root/reprise" "$archive" <<'END'
import json, pathlib, sys
tree, export = map(pathlib.Path, sys.argv[1:])
pack = tree / "out/gpu_pack.tar.gz"
carried = sum(path.stat().st_size for path in tree.rglob("*")
              if path.is_file() and not path.is_relative_to(tree / "build"))
mib = {name: round(size / 2**20, 1) for name, size in
       {"pack": pack.stat().st_size, "export": export.stat().st_size, "unpacked": carried}.items()}
print(json.dumps({"mib": mib}))
if mib["unpacked"] > 64:
    sys.exit(f"the unpacked tree and its pack have {mib['unpacked']} MiB, more than 64")
END
}

# Checks summary.json: everything was built, and the missing device is the first fault.
check_result() {
  python3 - "$root/result" <<'END'
import json, pathlib, sys
out = pathlib.Path(sys.argv[1])
summary, log = json.loads((out / "summary.json").read_text()), (out / "log.txt").read_text(errors="replace")
build, smoke = summary["stages"]
print(json.dumps({step["step"]: [step["state"], step.get("wall_s")] for step in build["steps"] + smoke["steps"]}))
if build["state"] != "passed":
    sys.exit(f"the build {build['state']}:\n{log[-6000:]}")
device, tests = smoke["steps"]
if device["state"] != "failed" or "CUDA device" not in log[log.rindex("==== 1 device"):]:
    sys.exit(f"the first call that needs a device ended otherwise than by saying so:\n{log[-3000:]}")
if tests["state"] != "not run" or "device" not in tests["why"]:
    sys.exit(f"without a device the tests were {tests}")
if len(list(out.iterdir())) > 8:
    sys.exit(f"more files than come back: {sorted(path.name for path in out.iterdir())}")
END
}

folder="" child=""
clean_up() {
  trap '' INT TERM HUP
  if [ -n "$child" ]; then kill -KILL "$child" 2>/dev/null || true; wait "$child" 2>/dev/null || true; fi
  [ -n "$folder" ] || return 0
  if $keeps; then echo "gpu_rehearsal.sh: kept in $folder" >&2; else rm -rf --one-file-system "$folder"; fi
}

main() {
  parse_options "$@"
  check_machine
  find_mirror
  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  folder=$(mktemp -d "${TMPDIR:-/var/tmp}/reprise_gpu.XXXXXX")
  root=$folder/root
  if [ -z "$archive" ]; then
    archive=$folder/export.tar.gz
    "$tree/tools/gpu_pack.sh" --export "$archive" "$folder/pack.tar.gz"
  fi
  export root archive
  local status=0
  unshare --mount --pid --fork --kill-child --propagation private bash "$0" --inside "$root" "$archive" "$@" &
  child=$!
  wait "$child" || status=$?
  child=""
  [ "$status" -ne 77 ] || exit 77
  [ -e "$root/result/summary.json" ] || fails "tools/gpu_run.sh ended with status $status and left no summary.json"
  [ "$status" -ne 0 ] || fails "without a device tools/gpu_run.sh ended with status 0"
  check_sizes || fails "see above"
  check_result || fails "see above"
  echo "Rehearsed on a bare $suite: all is built there, and the missing device is named."
}

if [ "${1:-}" = --inside ]; then
  root=$2
  given=$3
  shift 3
  parse_options "$@"
  archive=$given
  find_mirror
  run_inside
else
  main "$@"
fi
