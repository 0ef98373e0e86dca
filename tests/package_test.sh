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
# shellcheck source=tests/package_trial.sh
. "$(dirname "$0")/package_trial.sh"

runs_lintian=false
takes_option() { [ "$1" = --lintian ] && runs_lintian=true; }

check_machine() { check_deb_possible; }
make_package() { make_deb; }

installed_kb() { as_root dpkg-query -W -f='${Installed-Size}\n' | awk '{sum += $1} END {print sum}'; }

install_package() {
  cp "$package" "$root/tmp/package.deb"
  local before download_mb
  before=$(installed_kb)
  download_mb=$(as_root apt-get install -y --no-install-recommends -o Dir::Cache::archives=/tmp --print-uris /tmp/package.deb |
    awk '$1 ~ "http" {sum += $3} END {printf "%.0f", sum / 1e6}')
  apt_install /tmp/package.deb
  echo "== apt-get install: $seconds s, $download_mb MB downloaded besides the package," \
    "$((($(installed_kb) - before) / 1024)) MB installed with all that it depends on"
}

remove_package() {
  # Draws as root, because Python may then write compiled files into the package's folders.
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

try_package() {
  install_package
  use_program reprise
  remove_package
  ! $runs_lintian || check_by_lintian
}

start_trial "$@"
