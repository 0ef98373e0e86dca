#!/usr/bin/env bash
# Packs what a build needs beyond nvcc, g++, CMake, ninja and Python: the sources of the libraries that
# cmake/dependencies.cmake finds, for a GPU machine without their packages and without a network. There, tools/gpu_run.sh
# unpacks it and builds with -DREPRISE_THIRD_PARTY=FOLDER (cmake/third_party.cmake).
#
#   tools/gpu_pack.sh [--sources FOLDER] [--limit-mib N] [--export FILE.tar.gz] [OUT.tar.gz]
#                                                                          default: out/gpu_pack.tar.gz
#
#   --sources    where each library's source package is, or is downloaded and unpacked to: FOLDER/PACKAGE/...
#                (default: build/gpu_pack_sources)
#   --limit-mib  refuse a larger pack (default: 15)
#   --export     also write FILE: the folder reprise/ with the tree and, as out/gpu_pack.tar.gz in it, the pack. All that
#                has to be copied to the GPU machine. Measurements and pictures are left out of this tree.
#   --list       print what is packed, a line each: folder in the pack, Debian's source package, its parts
#
# The libraries are those of Debian or Ubuntu as this machine's apt knows them, their patches included (Boost: as
# installed). Also packed: MANIFEST (folder, package, version), each library's copyright, and the tree's revision with a
# checksum of each file that a build or a run can read, since the tree travels without its git history.
set -euo pipefail
tree=$(cd "$(dirname "$0")/.." && pwd)
readonly tree

die() { echo "gpu_pack.sh: $*" >&2; exit 1; }

libraries() {
  cat <<'END'
benchmark      benchmark       include src
boost          boost           boost
cli11          cli11           include
eigen          eigen3          Eigen
fmt            fmtlib          include src
googletest     googletest      googletest/include googletest/src
highway        highway         hwy
httplib        cpp-httplib     httplib.h
nlohmann_json  nlohmann-json3  include
pcre2          pcre2           src
prometheus     prometheus-cpp  core/include core/src
pugixml        pugixml         src
sentencepiece  sentencepiece   src third_party
utf8proc       utf8proc        utf8proc.c utf8proc.h utf8proc_data.c
xxhash         xxhash          xxhash.c xxhash.h xxh3.h
zlib           zlib            adler32.c crc32.c crc32.h deflate.c deflate.h gzguts.h inffast.c inffast.h inffixed.h inflate.c inflate.h inftrees.c inftrees.h trees.c trees.h zconf.h zlib.h zutil.c zutil.h
END
}

sources=$tree/build/gpu_pack_sources limit_mib=15 archive="" out=$tree/out/gpu_pack.tar.gz
while [ $# -gt 0 ]; do
  case "$1" in
    --sources | --limit-mib | --export) [ $# -ge 2 ] || die "$1 needs a value" ;;
  esac
  case "$1" in
    --sources) mkdir -p "$2"; sources=$(cd "$2" && pwd); shift ;;
    --limit-mib) limit_mib=$2; shift ;;
    --export) archive=$(realpath -m "$2"); shift ;;
    --list) libraries; exit 0 ;;
    --help | -h) sed -n '2,/^set -e/{/^set -e/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    -*) die "unknown option \"$1\"; --help lists them" ;;
    *) out=$(realpath -m "$1") ;;
  esac
  shift
done

# ---- Source packages, fetched by apt with its own list, since this machine's apt may lack deb-src
# -----------------------

apt() {   # apt-get with its state below $sources
  local state=$sources/.apt program=$1
  shift
  "$program" -o Dir::Etc::SourceList="$state/sources.list" -o Dir::Etc::SourceParts=/dev/null \
    -o Dir::State::Lists="$state/lists" -o Dir::Cache="$state/cache" -o APT::Sandbox::User=root "$@"
}

list_source_repositories() {   # the distribution's own among those that apt reads
  apt-get indextargets --format '$(ORIGIN)|$(REPO_URI)|$(CODENAME)|$(COMPONENT)' 'Created-By: Packages' |
    while IFS='|' read -r origin uri suite component; do
      case "$origin/$component" in
        Debian/main | Ubuntu/main | Ubuntu/universe)
          keyring=/usr/share/keyrings/${origin,,}-archive-keyring.gpg   # else apt's own keys are asked
          echo "deb-src $([ ! -e "$keyring" ] || echo "[signed-by=$keyring]") $uri $suite $component" ;;
      esac
    done | sort -u
}

has_list=false
prepare_apt() {
  ! $has_list || return 0
  has_list=true
  command -v apt-get >/dev/null && command -v dpkg-source >/dev/null ||
    die "downloading source packages takes apt-get and dpkg-dev; or name a folder with them unpacked: --sources"
  mkdir -p "$sources/.apt/lists/partial" "$sources/.apt/cache/archives/partial"
  list_source_repositories >"$sources/.apt/sources.list"
  [ -s "$sources/.apt/sources.list" ] ||
    die "apt knows no repository of Debian or Ubuntu here; run \"apt-get update\" first"
  apt apt-get update -qq
}

# Collects the installed headers of Boost that the sources include, with all headers that these include, because Boost's
# source package has 100 MB. All headers of config and predef are taken, because the compiler decides which are
# included.
fetch_boost() {
  local folder
  [ -e /usr/include/boost/math ] || die "Boost's headers are not installed: run setup.sh, or apt-get install libboost-dev"
  folder=$(mktemp -d "$sources/.fetch.XXXXXX")
  mkdir "$folder/debian"
  echo "boost ($(sed -n 's/^#define BOOST_LIB_VERSION "\(.*\)"/\1/p' /usr/include/boost/version.hpp | tr _ .))" >"$folder/debian/changelog"
  head -qc 65536 /usr/share/doc/libboost[0-9]*-dev/copyright >"$folder/debian/copyright"
  {
    grep -rhoE '<boost/[^>]*>' "$tree/core" "$tree/methods" "$tree/results" "$tree/server" --include=*.cpp --include=*.h | sort -u | sed 's/^/#include /' | g++ -std=c++20 -M -x c++ - |
      grep -o '/usr/include/boost/[^ ]*'
    find /usr/include/boost/config /usr/include/boost/predef -type f
  } | sort -u | sed 's|^/usr/include/||' | tar -C /usr/include -T - -cf - | tar -C "$folder" -xf -
  mv "$folder" "$sources/boost"
}

# Fetches one source package with its patches: the newest, or that of a suite whose mirror still has its files.
fetch() {
  local package=$1 folder wanted
  prepare_apt
  folder=$(mktemp -d "$sources/.fetch.XXXXXX")
  for wanted in "$package" $(awk -v package="$package" '{print package "/" $(NF - 1)}' "$sources/.apt/sources.list"); do
    if (cd "$folder" && apt apt-get source -qq --only-source "$wanted" >>log 2>&1); then break; fi
  done
  [ -n "$(find "$folder" -mindepth 1 -maxdepth 1 -type d)" ] ||
    { tail -5 "$folder/log" >&2; die "the source package $package could not be downloaded"; }
  find "$folder" -maxdepth 1 -type f -delete
  mv "$folder"/* "$sources/$package"
  rmdir "$folder"
}

# ---- The pack --------------------------------------------------------------------------------------------------------

version_of() {   # prints the version of an unpacked source package, "unknown" without Debian's changelog
  sed -n '1s/^[^(]*(\(.*\)).*/\1/p' "$sources/$1/debian/changelog" 2>/dev/null | grep . || echo unknown
}

pack_library() {   # folder, package, parts...
  local folder=$1 package=$2 part
  shift 2
  [ -d "$sources/$package" ] || if [ "$package" = boost ]; then fetch_boost; else fetch "$package"; fi
  for part in "$@"; do
    if [ ! -e "$sources/$package/$part" ]; then
      [ "$part" != xxh3.h ] || continue   # older versions have it beside xxhash.h
      die "the source package $package ($(version_of "$package")) has no $part, which is to be packed"
    fi
    mkdir -p "$stage/$folder/$(dirname "$part")"
    cp -r "$sources/$package/$part" "$stage/$folder/$part"
  done
  if [ -e "$sources/$package/debian/copyright" ]; then
    cp "$sources/$package/debian/copyright" "$stage/$folder/COPYRIGHT"
  fi
  echo "$folder $package $(version_of "$package")" >>"$stage/MANIFEST"
}

# Prints the files that git tracks or would track, each ended by a zero byte, but none that neither a build nor a run
# reads: results that were measured, pictures, and the table that binds the pages' numbers to those results.
exported_files() {
  git -C "$tree" ls-files -z --cached --others --exclude-standard | sort -zu |
    grep -zvE '^results/(measurements|baselines)/|^docs/.*\.(png|ipynb)$|^tests/repository/documented_figures\.json$' |
    while IFS= read -r -d '' file; do [ ! -f "$tree/$file" ] || printf '%s\0' "$file"; done
}

# Writes the revision, and a checksum of every exported file.
pack_revision() {
  cd "$tree"
  git rev-parse HEAD >"$stage/revision" 2>/dev/null || die "$tree is no git checkout, whose revision records would name"
  exported_files | xargs -0 sha256sum >"$stage/tree.sha256"
  [ -z "$(git status --porcelain)" ] || echo "modified" >>"$stage/revision"
}

# Writes the tree and the pack into one archive.
write_export() {
  local reprise=$stage.export/reprise
  mkdir -p "$reprise/out" "$(dirname "$archive")"
  exported_files | tar -C "$tree" --null -T - -c | tar -C "$reprise" -x
  cp "$out" "$reprise/out/gpu_pack.tar.gz"
  tar -C "$stage.export" --sort=name --owner=0 --group=0 -czf "$archive" reprise
  echo "$archive: tree and pack, $(($(stat -c %s "$archive") >> 10)) KiB, unpacked $(du -sm "$reprise" | cut -f1) MiB"
}

main() {
  stage=$(mktemp -d)
  trap 'rm -rf "$stage" "$stage.export"' EXIT
  while read -r folder package parts; do
    # shellcheck disable=SC2086  # $parts is a list of words
    pack_library "$folder" "$package" $parts </dev/null
  done < <(libraries)
  pack_revision
  mkdir -p "$(dirname "$out")"
  case "$out" in
    *.tar.gz) tar -C "$stage" --sort=name --owner=0 --group=0 -czf "$out" . ;;
    *.tar.zst) tar -C "$stage" --sort=name --owner=0 --group=0 --zstd -cf "$out" . ;;
    *) die "$out: a pack is named .tar.gz or .tar.zst" ;;
  esac
  local bytes
  bytes=$(stat -c %s "$out")
  if [ "$bytes" -gt $((limit_mib << 20)) ]; then
    rm "$out"
    die "the pack has $bytes bytes, more than --limit-mib $limit_mib; pack less of: $(du -sm "$stage"/* | sort -rn | head -3 | tr '\n\t' ', ')"
  fi
  echo "$out: $(wc -l <"$stage/MANIFEST") libraries, $((bytes >> 10)) KiB, revision $(tr '\n' ' ' <"$stage/revision")"
  [ -z "$archive" ] || write_export
}

main
