# Makes the smallest Debian or Ubuntu in a folder. Sourced by fresh_machine.sh and gpu_rehearsal.sh, which set `suite`,
# `mirror` (empty: see find_mirror), `cache` (empty: none) and `root`, and define a function not_here that ends with
# status 77.

check_bare_root_possible() {
  [ "$(id -u)" -eq 0 ] || not_here "it takes root to mount and to change the root"
  local program
  for program in debootstrap chroot unshare git; do
    command -v "$program" >/dev/null || not_here "there is no $program (apt-get install debootstrap util-linux git)"
  done
  unshare --mount --pid --fork --propagation private mount -t tmpfs none /mnt 2>/dev/null ||
    not_here "mounting in a namespace of its own is not allowed"
}

apt_sources() {   # "URL SUITE COMPONENT" of each source of the suite that this machine's apt reads
  apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' 2>/dev/null |
    grep -E " $suite(-updates|-security)? main\$" | sort -u || true
}

find_mirror() {   # into `mirror`: what this machine's apt uses for the suite, else the distribution's own
  if [ -z "$mirror" ]; then
    mirror=$(apt_sources | awk -v suite="$suite" '$2 == suite {print $1; exit}')
  fi
  if [ -z "$mirror" ]; then
    case "$suite" in
      jammy | noble | plucky | questing) mirror=http://archive.ubuntu.com/ubuntu ;;
      *) mirror=http://deb.debian.org/debian ;;
    esac
  fi
}

bootstrap_root() {   # with debootstrap's options
  local options=(--variant=minbase "$@") proxy="" scripts=/usr/share/debootstrap/scripts script=()
  if [ -n "$cache" ]; then
    mkdir -p "$cache/archives/partial"
    options+=(--cache-dir="$cache/archives")
  fi
  eval "$(apt-config shell proxy Acquire::http::Proxy)"
  if [ -n "$proxy" ] && [ "$proxy" != DIRECT ]; then export http_proxy="${http_proxy:-$proxy}"; fi
  case "$mirror" in
    */ubuntu*)
      options+=(--components=main,universe)
      [ -e /usr/share/keyrings/ubuntu-archive-keyring.gpg ] || options+=(--no-check-gpg)  # only a trial root
      [ -e "$scripts/$suite" ] || script=("$scripts/gutsy") ;;  # newer than this debootstrap
    *) [ -e "$scripts/$suite" ] || script=("$scripts/sid") ;;
  esac
  debootstrap "${options[@]}" "$suite" "$root" "$mirror" "${script[@]}" >"$root.log" 2>&1 ||
    { tail -5 "$root.log" >&2; not_here "debootstrap failed"; }
}
