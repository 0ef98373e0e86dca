#!/usr/bin/env bash
# Installs what building, testing and plotting need on Debian 12 or Ubuntu 22.04 and later. Running it again
# installs nothing that is there already.
set -euo pipefail

packages=(
  build-essential g++ cmake ninja-build pkg-config ccache git ca-certificates   # to build
  libdnnl-dev libhwy-dev libeigen3-dev                                          # arithmetic
  nlohmann-json3-dev libcli11-dev libfmt-dev libspdlog-dev                      # files, command line, messages
  libsentencepiece-dev libpcre2-dev libutf8proc-dev                             # tokenizers
  libgtest-dev libgmock-dev libbenchmark-dev                                    # tests and benchmarks
  python3 python3-matplotlib                                                    # figures
)
tools=(clang-format clang-tidy)   # for `make format` and `make tidy` only

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  echo "setup.sh installs with apt-get, which this system does not have. Install what these Debian packages"
  echo "bring, by your system's own names:"
  printf '  %s\n' "${packages[@]}" "${tools[@]}"
  exit 1
fi

is_installed() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

missing=()
for package in "${packages[@]}" "${tools[@]}"; do
  is_installed "$package" || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "All ${#packages[@]} packages are there; nothing to install."
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "These packages are missing, and installing them needs root or sudo:"
    printf '  %s\n' "${missing[@]}"
    exit 1
  fi
  as_root=(sudo)
fi

echo "Installing: ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
echo "Done. Next: make"
