# Finds every library that the tree uses, each with the Debian/Ubuntu package that contains it.
find_package(fmt REQUIRED)            # libfmt-dev
# In Ubuntu 22.04's fmt, format.h rejects what core.h has made of strings if it is included later.
if(fmt_VERSION VERSION_LESS 9)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-include fmt/format.h>")
endif()
find_package(nlohmann_json REQUIRED)  # nlohmann-json3-dev
find_package(PkgConfig REQUIRED)      # pkg-config
pkg_check_modules(HWY REQUIRED IMPORTED_TARGET libhwy)                      # libhwy-dev
include(${CMAKE_CURRENT_LIST_DIR}/sentencepiece.cmake)                       # libsentencepiece-dev
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)                # libpcre2-dev
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)            # libutf8proc-dev
pkg_check_modules(PUGIXML REQUIRED IMPORTED_TARGET pugixml)                  # libpugixml-dev
pkg_check_modules(HTTPLIB REQUIRED IMPORTED_TARGET cpp-httplib)             # libcpp-httplib-dev
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)             # libxxhash-dev
find_package(Eigen3 REQUIRED NO_MODULE)  # libeigen3-dev
find_package(Threads REQUIRED)
find_package(Boost 1.74 REQUIRED CONFIG)                                    # libboost-dev: headers alone
find_package(ZLIB REQUIRED)                                                 # zlib1g-dev
find_path(CLI11_INCLUDE_DIR CLI/CLI.hpp REQUIRED)                           # libcli11-dev
# Some systems named in the README lack these. Targets that need one report that it is missing.
# prometheus-cpp-dev; not in Ubuntu 22.04
pkg_check_modules(PROMETHEUS QUIET IMPORTED_TARGET prometheus-cpp-core)
find_package(faiss CONFIG QUIET)  # libfaiss-dev, which brings BLAS and LAPACK; not in Ubuntu 24.04
if(faiss_FOUND)
  find_package(OpenMP REQUIRED COMPONENTS CXX)
endif()
if(REPRISE_TESTS)
  find_package(GTest REQUIRED)        # libgtest-dev libgmock-dev
endif()
if(REPRISE_BENCHMARKS)
  find_package(benchmark REQUIRED)    # libbenchmark-dev
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()
