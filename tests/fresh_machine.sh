#!/usr/bin/env bash
# Tries what README.md promises a new user: installs the smallest Debian 12 (or another system) into a temporary
# folder, copies the repository into it as committed, runs README's own commands there, and prints how long each part
# took. Nothing stays behind, whichever way it ends: all mounts live in a mount namespace of its own, which ends with it.
#
#   tests/fresh_machine.sh [--user root|plain|both] [--steps run,test] [--also COMMAND] [--suite NAME] [--mirror URL]
#                          [--cache FOLDER] [--keep]
#
#   --user     who types the commands: root, a plain user who may use sudo, or one after the other, each in a
#              root of its own (default: both)
#   --steps    which of README's commands: those that end with `make` and one of these words (default: run)
#   --also     a command to run after them in the same place, such as "./setup.sh --tools && make sanitize"
#   --cache    keep package archives and compiler caches in this folder between runs; without it nothing is shared
#              and every run begins from nothing
#   --ccache   with root: use this compiler cache instead of the one below --cache
#   --suite    of the bare system: bookworm (default), trixie, or Ubuntu's jammy, noble, ...
#   --mirror   where its packages come from (default: what this machine's apt uses for that suite; else the
#              distribution's own)
#   --in-memory     make the root in memory, which takes 3 GiB: faster, and gone at once
#   --keep     leave the root behind and say where it is
#   --output-last   print no line after the last command's own, for those who read the last lines
#   --print    only print the commands
#
# Needs root, debootstrap, and the right to mount and chroot. With REPRISE_DATA set, that folder is there too, read
# only. Exit status: 0 all went well, 1 a command failed, 2 a wrong option, 77 this machine does not allow the trial,
# 130 or 143 interrupted.
set -euo pipefail
source_tree=$(cd "$(dirname "$0")/.." && pwd)
readonly source_tree not_possible=77

die() { echo "fresh_machine.sh: $*" >&2; exit 2; }
not_here() { echo "fresh_machine.sh: this machine cannot try a fresh one: $*" >&2; exit "$not_possible"; }
# shellcheck source=tests/bare_root.sh
. "$source_tree/tests/bare_root.sh"

# ---- What README says ------------------------------------------------------------------------------------------

# Prints the indented lines of README's section "Start", without their comments.
readme_commands() {
  awk '/^## /{inside = ($2 == "Start")} inside && /^    [^ ]/{sub(/ +#.*/, ""); sub(/^ +/, ""); print}' \
    "$source_tree/README.md"
}

wanted_commands() {   # those that end with `make STEP`, in README's order
  local command
  readme_commands | while read -r command; do
    if [[ ",$steps," == *",${command##*make },"* ]]; then echo "$command"; fi
  done
}

all_commands() {   # those, and then the one of --also
  wanted_commands
  [ -z "$also" ] || echo "$also"
}

# ---- Options ---------------------------------------------------------------------------------------------------

users="root plain" steps=run also="" suite=bookworm cache="" ccache="" mirror="" in_memory=false keeps_root=false output_last=false
parse_options() {
  while [ $# -gt 0 ]; do
    case "$1" in
      --user | --steps | --also | --cache | --ccache | --mirror | --suite) [ $# -ge 2 ] || die "$1 needs a value" ;;
    esac
    case "$1" in
      --user)
        case "$2" in root | plain) users=$2 ;; both) users="root plain" ;; *) die "--user $2: root, plain or both" ;; esac
        shift ;;
      --steps) steps=$2; shift ;;
      --also) also=$2; shift ;;
      --cache) mkdir -p "$2"; cache=$(cd "$2" && pwd); shift ;;
      --ccache) mkdir -p "$2"; ccache=$(cd "$2" && pwd); shift ;;
      --mirror) mirror=$2; shift ;;
      --suite) suite=$2; shift ;;
      --in-memory) in_memory=true ;;
      --keep) keeps_root=true ;;
      --output-last) output_last=true ;;
      --print) readme_commands; exit 0 ;;
      --help | -h) sed -n '2,/^set -e/{/^set -e/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
      *) die "unknown option \"$1\"; --help lists them" ;;
    esac
    shift
  done
  ! { $in_memory && $keeps_root; } || die "--keep: a root that is --in-memory cannot be kept"
  [ -n "$(wanted_commands)" ] || die "--steps $steps: README's commands are: $(readme_commands | paste -sd ';')"
}

# ---- What this machine has -------------------------------------------------------------------------------------

check_machine() {
  check_bare_root_possible
  git -C "$source_tree" rev-parse HEAD >/dev/null 2>&1 || not_here "$source_tree is no git checkout"
}

# ---- The new root, in a mount namespace of its own ---------------------------------------------------------------

# The time of a step by the clock, and its processor time, which other programs on the machine lengthen less.
started_at=0 processor_at=0
processor_seconds() {   # of all that has ended so far, into `processor`; in a subshell `times` would begin anew
  times >"$root.times"
  processor=$(awk -F'[ms ]+' 'NR == 2 {printf "%d", $1 * 60 + $2 + $3 * 60 + $4}' "$root.times")
}
start_step() {
  started_at=$(date +%s)
  processor_seconds
  processor_at=$processor
}
end_step() {
  processor_seconds
  printf '== %4d s, %d s of processor time: %s (%s, load %s)\n' $(($(date +%s) - started_at)) \
    $((processor - processor_at)) "$1" "$user" "$(cut -d' ' -f1 /proc/loadavg)"
}

make_root() {
  start_step
  mkdir "$root"
  ! $in_memory || mount -t tmpfs -o dev,exec,suid,mode=755,size=80% tmpfs "$root"
  bootstrap_root
  end_step "debootstrap"
}

mount_into_root() {
  mount_system
  if [ -n "${REPRISE_DATA:-}" ]; then
    mkdir "$root/data"
    mount --bind "$REPRISE_DATA" "$root/data"
    mount -o remount,bind,ro "$root/data"
  fi
}

# Makes the user, the home folder, and a copy of the repository as committed.
make_user() {
  if [ "$user" = plain ]; then
    chroot "$root" sh -ec 'apt-get update -qq; apt-get install -y -qq --no-install-recommends sudo;
      useradd --create-home --shell /bin/bash plain
      echo "plain ALL=(ALL) NOPASSWD: ALL" >/etc/sudoers.d/plain' >/dev/null 2>&1
    home=/home/plain
  else
    home=/root
  fi
  git clone --quiet --depth 1 "file://$source_tree" "$root$home/reprise"
  git -C "$root$home/reprise" remote remove origin
  chroot "$root" chown -R "$user:$user" "$home/reprise"
}

environment=()   # what the commands see
set_environment() {
  environment=(HOME="$home" USER="$user" LOGNAME="$user" TERM=dumb LANG=C.UTF-8
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)
  local name folder
  for name in http_proxy https_proxy no_proxy CI OMP_NUM_THREADS; do
    [ -z "${!name:-}" ] || environment+=("$name=${!name}")
  done
  [ -z "${REPRISE_DATA:-}" ] || environment+=(REPRISE_DATA=/data)
  folder=""
  if [ "$user" = root ] && [ -n "$ccache" ]; then
    folder=$ccache
  elif [ -n "$cache" ]; then
    folder=$cache/ccache_$user
    mkdir -p "$folder"
  fi
  if [ -n "$folder" ]; then
    mkdir "$root/ccache"
    mount --bind "$folder" "$root/ccache"
    [ "$user" = root ] || chroot "$root" chown "$user" /ccache
    environment+=(CCACHE_DIR=/ccache CCACHE_BASEDIR="$home/reprise" CCACHE_NOHASHDIR=1
      CCACHE_MAXSIZE="$(ccache --get-config max_size 2>/dev/null || echo 5G)")   # not to shrink a cache that is shared
  fi
}

as_user() {
  local enter=(chroot)
  if [ "$user" = plain ]; then enter+=(--userspec=plain:plain --groups=plain); fi
  "${enter[@]}" "$root" env -i "${environment[@]}" bash -euo pipefail -c "cd ~/reprise; $1" </dev/null
}

# Runs "A && B" as A, then B, and prints the time of each.
run_command() {
  local command=$1 is_last=$2 part log=$root$home/reprise/build/release/.ninja_log
  echo "== $user\$ $command"
  while read -r part; do
    start_step
    as_user "$part" || { echo "fresh_machine.sh: \"$part\" failed as $user" >&2; return 1; }
    if $is_last && $output_last && [ "$part" = "${command##* && }" ]; then return; fi
    end_step "$part"
    if [ "$part" = "make run" ] && [ -e "$log" ]; then
      echo "==   of which compiling: $(awk '!/^#/ && $2 + 0 > end {end = $2 + 0} END {printf "%d", end / 1000}' "$log") s"
    fi
  done < <(sed 's/ && /\n/g' <<<"$command")
}

say_sizes() {
  [ -n "$cache" ] || echo "== $(du -sm "$root/var/cache/apt/archives" | cut -f1) MB of package archives," \
    "$(chroot "$root" dpkg-query -W -f='${Installed-Size}\n' | awk '{sum += $1} END {printf "%d", sum / 1024}') MB installed" \
    "(the smallest Debian included)"
}

try_as() {   # runs inside the namespaces
  user=$1
  make_root
  configure_apt
  mount_into_root
  make_user
  set_environment
  local commands last
  mapfile -t commands < <(all_commands)
  last=$((${#commands[@]} - 1))
  for i in "${!commands[@]}"; do
    run_command "${commands[$i]}" "$([ "$i" -eq "$last" ] && echo true || echo false)"
  done
  $output_last || say_sizes
}

# ---- Outside: start, wait, clean up ------------------------------------------------------------------------------

folder="" child=""
clean_up() {
  trap '' INT TERM HUP   # a second Ctrl-C would leave half of it
  if [ -n "$child" ]; then kill -KILL "$child" 2>/dev/null || true; wait "$child" 2>/dev/null || true; fi
  [ -n "$folder" ] || return 0
  if $keeps_root; then
    echo "fresh_machine.sh: kept in $folder" >&2
  else
    remove_folder "$folder"
  fi
}

# The mounts ended with the namespace. Its processes are being killed and may still write for a moment.
remove_folder() {
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    if rm -rf --one-file-system "$1" 2>/dev/null; then return; fi
    sleep 0.3
  done
  rm -rf --one-file-system "$1"
}

main() {
  parse_options "$@"
  check_machine
  find_mirror
  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  folder=$(mktemp -d "${TMPDIR:-/var/tmp}/reprise_fresh.XXXXXX")
  local user status=0
  for user in $users; do
    root=$folder/$user
    export user root
    unshare --mount --pid --fork --kill-child --propagation private \
      bash "$0" --inside "$user" "$root" "$@" &
    child=$!
    wait "$child" || status=$?
    child=""
    [ "$status" -eq 0 ] || exit "$status"
    $keeps_root || remove_folder "$root"
  done
}

if [ "${1:-}" = --inside ]; then
  user=$2 root=$3
  shift 3
  parse_options "$@"
  find_mirror
  try_as "$user"
else
  main "$@"
fi
