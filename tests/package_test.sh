#!/usr/bin/env bash
# Makes the package of `make deb` from a build and tries it in the smallest Debian, in a temporary folder: apt installs it
# with what it depends on, a plain user in an empty folder lists, measures and draws, and after its removal
# nothing of it is left. Prints the package's size and the times. Nothing stays behind.
#
#   tests/package_test.sh BUILD [--cache FOLDER] [--in-memory] [--lintian]      BUILD: build/release
#
#   --cache      keep package archives in this folder between runs
#   --in-memory  make the root in memory, which takes 2 GiB: faster, and gone at once
#   --lintian    also run lintian, which must find no errors; its warnings are printed
#
# Needs root, debootstrap, a mirror of this machine's system, and the right to mount and chroot. Exit status: 0 all went
# well, 1 it did not, 2 a wrong option, 77 this machine does not allow the trial.
set -euo pipefail
tree=$(cd "$(dirname "$0")/.." && pwd)
readonly tree

fails() { echo "package_test.sh: $*" >&2; exit 1; }
not_here() { echo "package_test.sh: not possible on this machine: $*" >&2; exit 77; }
# shellcheck source=tests/bare_root.sh
. "$tree/tests/bare_root.sh"

build="" suite="" mirror="" cache="" in_memory=false runs_lintian=false
parse_options() {
  while [ $# -gt 0 ]; do
    case "$1" in
      --cache) [ $# -ge 2 ] || { echo "--cache needs a value" >&2; exit 2; }; mkdir -p "$2"; cache=$(realpath "$2"); shift ;;
      --in-memory) in_memory=true ;;
      --lintian) runs_lintian=true ;;
      --help | -h) sed -n '2,/^set -e/{/^set -e/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
      -*) echo "package_test.sh: unknown option \"$1\"; --help lists them" >&2; exit 2 ;;
      *) build=$(realpath "$1") ;;
    esac
    shift
  done
  [ -n "$build" ] || { echo "package_test.sh: which build? For example: tests/package_test.sh build/release" >&2; exit 2; }
  suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")   # the package fits the system that built it
}

check_machine() {
  check_bare_root_possible
  local program
  for program in cpack dpkg-shlibdeps file; do
    command -v "$program" >/dev/null || not_here "there is no $program (apt-get install cmake dpkg-dev file)"
  done
  [ -n "$(apt_sources)" ] || not_here "its apt reads no source of \"$suite\""
}

make_package() {   # into `package`
  cpack --config "$build/CPackConfig.cmake" -B "$folder/made" >"$folder/cpack.log" 2>&1 ||
    { cat "$folder/cpack.log" >&2; fails "cpack failed"; }
  package=$(echo "$folder"/made/*.deb)
  echo "== $(basename "$package"): $(du -k "$package" | cut -f1) kB, $(dpkg-deb -f "$package" Installed-Size) kB installed"
}

# ---- In the new root ---------------------------------------------------------------------------------------------

as_root() { chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }

seconds_since() { awk -v from="$1" -v to="$EPOCHREALTIME" 'BEGIN {printf "%.1f", to - from}'; }

# Runs a command as a plain user in a folder that was empty before the first one, and prints its time.
as_user() {
  local started=$EPOCHREALTIME log=$root/home/plain/log
  echo "== plain\$ $*"
  chroot --userspec=plain:plain --groups=plain "$root" env -i HOME=/home/plain PATH=/usr/bin:/bin LANG=C.UTF-8 \
    sh -ec 'cd ~/empty; exec "$@"' sh "$@" >"$log" 2>&1 </dev/null ||
    { tail -30 "$log" >&2; fails "\"$*\" ended with status $?"; }
  echo "==   $(seconds_since "$started") s"
  ! grep -F "$tree" "$log" || fails "\"$*\" names the source tree, which is not here"
}

says() { grep -q -- "$1" "$root/home/plain/log" || { cat "$root/home/plain/log" >&2; fails "\"$1\" is not in the output"; }; }

has_figures() {   # in the results folder $1
  [ -n "$(find "$root/home/plain/empty/$1" -name '*.png' -size +1k)" ] || fails "$1 has no figure"
}

installed_kb() { as_root dpkg-query -W -f='${Installed-Size}\n' | awk '{sum += $1} END {print sum}'; }

install_package() {
  as_root apt-get update -qq || not_here "apt-get update failed in the new root"
  cp "$package" "$root/tmp/package.deb"
  local before download_mb
  before=$(installed_kb)
  download_mb=$(as_root apt-get install -y --no-install-recommends -o Dir::Cache::archives=/tmp --print-uris /tmp/package.deb |
    awk '$1 ~ "http" {sum += $3} END {printf "%.0f", sum / 1e6}')
  local started=$EPOCHREALTIME
  as_root apt-get install -y -qq --no-install-recommends /tmp/package.deb >"$root/apt.log" 2>&1 ||
    { tail -20 "$root/apt.log" >&2; fails "apt-get install failed"; }
  echo "== apt-get install: $(seconds_since "$started") s, $download_mb MB downloaded besides the package," \
    "$((($(installed_kb) - before) / 1024)) MB installed with all that it depends on"
}

use_program() {
  as_root useradd --create-home plain
  mkdir "$root/home/plain/empty"
  as_root chown plain:plain /home/plain/empty
  as_user reprise --version
  as_user reprise list
  for text in models/quickstart tinyllama-1.1b chunk_attention relay_attention/table3; do says "$text"; done
  as_user reprise run quickstart
  says ttft_ms
  has_figures out/quickstart/desk
  as_user reprise run prompt_cache/ttft --scale smoke
  has_figures out/prompt_cache_ttft/smoke
  as_user reprise plot out/quickstart/desk --out again
  has_figures again
  as_user reprise report out/quickstart/desk
  as_user reprise export out/quickstart/desk --format bmf
  as_user reprise data list
}

remove_package() {
  # As root, for whom Python keeps what it compiled.
  as_root reprise plot /home/plain/empty/out/quickstart/desk --out /root/figures >"$root/plot.log" 2>&1 ||
    { cat "$root/plot.log" >&2; fails "reprise plot failed as root"; }
  as_root dpkg --verify reprise | tee "$root/verify" || true
  [ ! -s "$root/verify" ] || fails "files of the package have changed"
  as_root apt-get purge -y -qq reprise >"$root/apt.log" 2>&1 || { cat "$root/apt.log" >&2; fails "apt-get purge failed"; }
  local left
  left=$(find "$root/usr" "$root/etc" "$root/var/lib" -name 'reprise*' -not -path "$root/var/lib/apt/*")
  [ -z "$left" ] || fails "left behind: $left"
  echo "== removed; nothing is left"
}

check_by_lintian() {
  as_root apt-get install -y -qq --no-install-recommends lintian >"$root/apt.log" 2>&1 ||
    { tail -5 "$root/apt.log" >&2; fails "lintian could not be installed"; }
  echo "== lintian"
  as_root lintian --allow-root --no-cfg --tag-display-limit 0 --fail-on error /tmp/package.deb || fails "lintian found errors"
}

run_inside() {
  mkdir "$root"
  ! $in_memory || mount -t tmpfs -o dev,exec,suid,mode=755,size=50% tmpfs "$root"
  bootstrap_root
  configure_apt
  mount_system
  install_package
  use_program
  remove_package
  ! $runs_lintian || check_by_lintian
}

# ---- Outside -----------------------------------------------------------------------------------------------------

folder="" child=""
clean_up() {
  trap '' INT TERM HUP
  if [ -n "$child" ]; then kill -KILL "$child" 2>/dev/null || true; wait "$child" 2>/dev/null || true; fi
  [ -z "$folder" ] || rm -rf --one-file-system "$folder"
}

main() {
  parse_options "$@"
  check_machine
  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  folder=$(mktemp -d "${TMPDIR:-/var/tmp}/reprise_package.XXXXXX")
  make_package
  unshare --mount --pid --fork --kill-child --propagation private bash "$0" --inside "$folder/root" "$package" "$@" &
  child=$!
  local status=0
  wait "$child" || status=$?
  child=""
  exit "$status"
}

if [ "${1:-}" = --inside ]; then
  root=$2
  package=$3
  shift 3
  parse_options "$@"
  find_mirror
  run_inside
else
  main "$@"
fi
