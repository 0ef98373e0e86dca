#!/usr/bin/env bash
# Makes the wheel of `make wheel` from a build and tries it in the smallest Debian, in a temporary folder, with python3 and
# python3-venv and no compiler: a plain user installs it by pip into a virtual environment, lists, measures, draws and reads
# the records in Python, and after its removal nothing of it is left. Prints the wheel's size and the times. Nothing stays
# behind.
#
#   tests/wheel_test.sh BUILD [--cache FOLDER] [--in-memory] [--old-processor]      BUILD: build/release
#
#   --cache          keep package archives in this folder between runs
#   --in-memory      make the root in memory, which takes 2 GiB: faster, and gone at once
#   --old-processor  also generate a text on an emulated Haswell, of 2013 (by qemu-user)
#
# Needs root, debootstrap, a mirror of this machine's system, PyPI, and the right to mount and chroot. Exit status: 0 all went
# well, 1 it did not, 2 a wrong option, 77 this machine does not allow the trial.
set -euo pipefail
# shellcheck source=tests/package_trial.sh
. "$(dirname "$0")/package_trial.sh"

emulates=false
takes_option() { [ "$1" = --old-processor ] && emulates=true; }

check_machine() {
  [ -n "$(apt_sources)" ] || not_here "its apt reads no source of \"$suite\""
}

make_package() {
  local status=0
  mkdir "$folder/made"
  "$tree/tools/make_wheel.sh" "$build" "$folder/made" || status=$?
  [ "$status" -ne 69 ] || not_here "the tools for wheels could not be had"
  [ "$status" -eq 0 ] || fails "no wheel was made"
  package=$(echo "$folder"/made/*.whl)
}

# The options by which this machine's pip reaches PyPI. The new root needs them too.
configure_pip() {
  local pip=$build/wheel/tools/bin/pip cert
  { echo "[global]"
    "$pip" config list | sed -nE "s/^[^=]*\.((extra-)?index-url|trusted-host|proxy|cert|(default-)?timeout)='(.*)'$/\1 = \4/p" |
      sort -u -t ' ' -k 1,1
  } >"$root/etc/pip.conf"
  cert=$(sed -n 's/^cert = //p' "$root/etc/pip.conf")
  [ ! -e "$cert" ] || { mkdir -p "$root$(dirname "$cert")"; cat "$cert" >"$root$cert"; }
}

readonly venv=/home/plain/venv

install_package() {
  apt_install python3 python3-venv   # among them certificates
  configure_pip
  cp "$package" "$root/tmp/"
  as_user python3 -m venv "$venv"
  local before
  before=$(venv_kb)
  as_user "$venv/bin/pip" install "/tmp/$(basename "$package")"
  echo "==   $((($(venv_kb) - before) / 1024)) MB installed with all that it depends on, of which Reprise" \
    "$(du -kc "$root$venv"/lib/python3*/site-packages/reprise* | awk 'END {printf "%d", $1 / 1024}') MB"
}

venv_kb() { du -ks "$root$venv" | cut -f1; }

python_says() { as_user "$venv/bin/python" -c "$1"; says "$2"; }

look_at_figures() {   # a page without a curve is white nearly everywhere
  python_says 'import glob, matplotlib.image
for name in sorted(glob.glob("out/*/*/figures/*.png")):
    page = matplotlib.image.imread(name)[..., :3]
    print(name, "drawn" if (page < 0.9).mean() > 0.01 else "blank")' drawn
  ! grep blank "$root/home/plain/log" || fails "a figure is blank"
}

read_records() {
  as_user "$venv/bin/pip" install pandas
  python_says 'import reprise; print(len(reprise.records("out/quickstart/desk")), "records")' '^[1-9][0-9]* records'
}

run_on_old_processors() {
  local program text generate=(generate --model models/quickstart --dtype f32 --threads 1 --prompt "The cat" --max-new-tokens 24)
  as_user "$venv/bin/reprise" run prompt_cache/ttft --scale smoke --isa avx2 --out avx2
  has_figures avx2
  $emulates || return 0
  apt_install qemu-user
  as_user "$venv/bin/reprise" "${generate[@]}" --isa avx2
  text=$(generated_text)
  program=$(cd "$root" && echo ."$venv"/lib/python3*/site-packages/reprise/bin/reprise)
  as_user qemu-x86_64 -cpu Haswell "${program#.}" "${generate[@]}"
  [ "$(generated_text)" = "$text" ] || fails "the emulated Haswell generates \"$(generated_text)\" in place of \"$text\""
}

generated_text() {   # the line that has the beginning of the model's answer
  grep -v -e '^qemu' -e '^measured' -e '^TTFT' -e '^TPOT' -e '^computed in' -e '^weights' "$root/home/plain/log"
}

remove_package() {
  as_user "$venv/bin/pip" uninstall --yes reprise-bench
  local left
  left=$(find "$root$venv" -iname '*reprise*')
  [ -z "$left" ] || fails "left behind: $left"
  echo "== removed; nothing is left"
}

try_package() {
  install_package
  ! as_root sh -c 'command -v cc c++ gcc g++' || fails "the root has a compiler"
  use_program "$venv/bin/reprise"
  look_at_figures
  read_records
  run_on_old_processors
  remove_package
}

start_trial "$@"
