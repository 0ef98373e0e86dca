#!/usr/bin/env bash
# Installs what building, testing and plotting need on Debian 12 or Ubuntu 22.04 and later. Running it again
# installs nothing that is there already. As root, or as a user who may use sudo.
#   --torch   also libtorch, for the baselines of PyTorch: 1 GB from PyPI into .torch, where CMake looks for it
#   --tools   also clang-format and clang-tidy, for `make format` and `make tidy`
set -euo pipefail
cd "$(dirname "$0")"

wants_torch=false
wants_tools=false
for argument in "$@"; do
  case "$argument" in
    --torch) wants_torch=true ;;
    --tools) wants_tools=true ;;
    *) echo "setup.sh knows the options --torch and --tools, and not \"$argument\"."; exit 1 ;;
  esac
done

packages=(
  build-essential cmake ninja-build pkg-config ccache git ca-certificates       # to build
  libdnnl-dev ocl-icd-opencl-dev             # arithmetic: oneDNN, whose CMake files ask for OpenCL (for its GPU part)
  libhwy-dev libeigen3-dev                                                      # arithmetic: SIMD; oracles
  nlohmann-json3-dev libcli11-dev libfmt-dev                                    # files, command line, messages
  libxxhash-dev                                                                 # checksums
  libfaiss-dev                                                                  # nearest neighbours
  libsentencepiece-dev libpcre2-dev libutf8proc-dev                             # tokenizers
  libpugixml-dev                                                                # PML
  libcpp-httplib-dev prometheus-cpp-dev                                         # serving: HTTP, metrics
  libgtest-dev libgmock-dev libbenchmark-dev                                    # tests and benchmarks
  openmpi-bin                                                                   # ranks share a run: tests
  python3 python3-matplotlib python3-jieba                                      # figures; words of Chinese texts
)
if $wants_torch && ! python3 -m pip --version >/dev/null 2>&1; then
  packages+=(python3-pip)
fi
if $wants_tools; then
  packages+=(clang-format clang-tidy)
fi

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  echo "setup.sh installs with apt-get, which this system does not have. Install what these Debian packages"
  echo "bring, by your system's own names:"
  printf '  %s\n' "${packages[@]}"
  exit 1
fi

is_installed() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

install_missing_packages() {
  local missing=() as_root=()
  for package in "${packages[@]}"; do
    is_installed "$package" || missing+=("$package")
  done
  if [ ${#missing[@]} -eq 0 ]; then
    echo "All ${#packages[@]} packages are there; nothing to install."
    return
  fi
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
  echo "Done. Next: make run"
}

# The wheel's CPU library links two small CUDA libraries; the large ones it does without.
install_torch() {
  if [ -e .torch/torch/lib/libtorch_cpu.so ]; then
    echo "libtorch is there already, in .torch."
    return
  fi
  echo "Installing libtorch into .torch"
  python3 -m pip install --quiet --root-user-action ignore --no-deps --target .torch \
    torch==2.15.0 'nvidia-cuda-runtime==13.2.*' 'nvidia-cuda-cupti==13.2.*'
  rm -f .torch/torch/lib/libtorch_{cuda,cuda_linalg,nvshmem,python}.so
  echo "Done. Next: cmake --preset release && make run"
}

install_missing_packages
if $wants_torch; then
  install_torch
fi
