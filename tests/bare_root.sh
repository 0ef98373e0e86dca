# Makes the smallest Debian or Ubuntu in a folder. Sourced by fresh_machine.sh, gpu_rehearsal.sh and package_trial.sh, which must
# set `suite`, `mirror` (empty: see find_mirror), `cache` (empty: none) and `root`, and define a function not_here that ends
# with status 77.

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
      jammy | noble | plucky | questing | resolute) mirror=http://archive.ubuntu.com/ubuntu ;;
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

# The options by which this machine's apt reaches its mirror, such as proxies. The new root needs them too.
apt_network_options() { apt-config dump | grep -E '^Acquire::((https?|ftp)::|Check-|Retries)' || true; }

configure_apt() {   # in the new root, like this machine's
  apt_network_options >"$root/etc/apt/apt.conf.d/90network"
  local components=main
  case "$mirror" in */ubuntu*) components="main universe" ;; esac
  { echo "deb $mirror $suite $components"; apt_sources | sed 's/^/deb /'; } | sort -u >"$root/etc/apt/sources.list"
  local file
  for file in /etc/resolv.conf /etc/hosts; do
    [ ! -e "$file" ] || cat "$file" >"$root$file"
  done
}

mount_system() {   # what programs in the new root expect, and the cache
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mkdir -p "$root/dev/pts" "$root/dev/shm"
  mount -t devpts devpts "$root/dev/pts" -o newinstance,ptmxmode=0666
  mount -t tmpfs tmpfs "$root/dev/shm"
  [ -e "$root/dev/ptmx" ] || ln -s pts/ptmx "$root/dev/ptmx"
  if [ -n "$cache" ]; then
    mount --bind "$cache/archives" "$root/var/cache/apt/archives"
  fi
}
