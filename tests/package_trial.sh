# What the trials of packages share. Sourced by package_test.sh, slurm_test.sh and wheel_test.sh, which then call `start_trial "$@"` and define
# check_machine, make_package (into `package`, a file below `folder`) and try_package. Both the latter and the functions below
# "In the new root" run there, as does what an option of the trial's own, takes_option, has set.
tree=$(cd "$(dirname "$0")/.." && pwd)
name=$(basename "$0")
readonly tree name

fails() { echo "$name: $*" >&2; exit 1; }
not_here() { echo "$name: not possible on this machine: $*" >&2; exit 77; }
# shellcheck source=tests/bare_root.sh
. "$tree/tests/bare_root.sh"

build="" suite="" mirror="" cache="" in_memory=false
parse_options() {
  while [ $# -gt 0 ]; do
    case "$1" in
      --cache) [ $# -ge 2 ] || { echo "--cache needs a value" >&2; exit 2; }; mkdir -p "$2"; cache=$(realpath "$2"); shift ;;
      --in-memory) in_memory=true ;;
      --help | -h) sed -n '2,/^set -e/{/^set -e/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
      -*) takes_option "$1" || { echo "$name: unknown option \"$1\"; --help lists them" >&2; exit 2; } ;;
      *) build=$(realpath "$1") ;;
    esac
    shift
  done
  [ -n "$build" ] || { echo "$name: which build? For example: tests/$name build/release" >&2; exit 2; }
  suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")   # the package fits the system that built it
}

# ---- In the new root ---------------------------------------------------------------------------------------------

as_root() { chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }

seconds_since() { awk -v from="$1" -v to="$EPOCHREALTIME" 'BEGIN {printf "%.1f", to - from}'; }

apt_install() {   # with apt-get's options; into `seconds`
  local started=$EPOCHREALTIME
  as_root apt-get install -y -qq --no-install-recommends "$@" >"$root/apt.log" 2>&1 ||
    { tail -20 "$root/apt.log" >&2; fails "apt-get install failed"; }
  seconds=$(seconds_since "$started")
}

make_user() {   # with an empty folder
  as_root useradd --create-home plain
  mkdir "$root/home/plain/empty"
  as_root chown plain:plain /home/plain/empty
}

# Runs a command as a plain user in a folder that was empty before the first one, and prints its time.
as_user() {
  local started=$EPOCHREALTIME log=$root/home/plain/log
  echo "== plain\$ $*"
  chroot --userspec=plain:plain --groups=plain "$root" env -i HOME=/home/plain PATH=/usr/bin:/bin LANG=C.UTF-8 \
    sh -ec 'cd ~/empty; exec "$@"' sh "$@" >"$log" 2>&1 </dev/null ||
    { local status=$?; tail -30 "$log" >&2; fails "\"$*\" ended with status $status"; }
  echo "==   $(seconds_since "$started") s"
  ! grep -F "$tree" "$log" || fails "\"$*\" names the source tree, which is not here"
}

says() { grep -q -- "$1" "$root/home/plain/log" || { cat "$root/home/plain/log" >&2; fails "\"$1\" is not in the output"; }; }

has_figures() {   # in the results folder $1
  [ -n "$(find "$root/home/plain/empty/$1" -name '*.png' -size +1k)" ] || fails "$1 has no figure"
}

# What every package must do for its user. $1 is the program.
use_program() {
  as_user "$1" --version
  as_user "$1" list
  for text in models/quickstart tinyllama-1.1b chunk_attention relay_attention/table3; do says "$text"; done
  as_user "$1" run quickstart
  says ttft_ms
  has_figures out/quickstart/desk
  as_user "$1" run prompt_cache/ttft --scale smoke
  has_figures out/prompt_cache_ttft/smoke
  as_user "$1" plot out/quickstart/desk --out again
  has_figures again
  as_user "$1" report out/quickstart/desk
  as_user "$1" export out/quickstart/desk --format bmf
  as_user "$1" data list
}

run_inside() {
  mkdir "$root"
  ! $in_memory || mount -t tmpfs -o dev,exec,suid,mode=755,size=50% tmpfs "$root"
  bootstrap_root
  configure_apt
  mount_system
  as_root apt-get update -qq || not_here "apt-get update failed in the new root"
  make_user
  try_package
}

# ---- Outside -----------------------------------------------------------------------------------------------------

check_deb_possible() {
  local program
  for program in cpack dpkg-shlibdeps file; do
    command -v "$program" >/dev/null || not_here "there is no $program (apt-get install cmake dpkg-dev file)"
  done
  [ -n "$(apt_sources)" ] || not_here "its apt reads no source of \"$suite\""
}

make_deb() {
  cpack --config "$build/CPackConfig.cmake" -B "$folder/made" >"$folder/cpack.log" 2>&1 ||
    { cat "$folder/cpack.log" >&2; fails "cpack failed"; }
  package=$(echo "$folder"/made/*.deb)
  echo "== $(basename "$package"): $(du -k "$package" | cut -f1) kB, $(dpkg-deb -f "$package" Installed-Size) kB installed"
}

folder="" child=""
clean_up() {
  trap '' INT TERM HUP
  if [ -n "$child" ]; then kill -KILL "$child" 2>/dev/null || true; wait "$child" 2>/dev/null || true; fi
  [ -z "$folder" ] || rm -rf --one-file-system "$folder"
}

run_outside() {
  parse_options "$@"
  check_bare_root_possible
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

start_trial() {
  if [ "${1:-}" = --inside ]; then
    root=$2
    package=$3
    shift 3
    parse_options "$@"
    find_mirror
    run_inside
  else
    run_outside "$@"
  fi
}
