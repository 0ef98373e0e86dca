# The libraries of cmake/dependencies.cmake under the same names, compiled from the sources of a
# pack, for a machine that has neither their packages nor a network. tools/gpu_pack.sh makes the
# pack; REPRISE_THIRD_PARTY is the folder into which it was unpacked.
set(pack ${REPRISE_THIRD_PARTY})
if(NOT EXISTS ${pack}/MANIFEST)
  message(FATAL_ERROR "REPRISE_THIRD_PARTY=${pack} is no unpacked pack: it has no file MANIFEST. tools/gpu_pack.sh makes "
                      "a pack, \"tar -xf PACK -C FOLDER\" unpacks it.")
endif()
enable_language(C)
find_package(Threads REQUIRED)

# packed_library(name ALIAS target [SOURCES globs... [EXCLUDE regex]] INCLUDE folders... [...]): a
# static library of the pack's files, or only headers. It is named `packed_...` to tell it from the
# tree's own libraries, and compiled without warnings.
function(packed_library name)
  cmake_parse_arguments(ARG "" "ALIAS;EXCLUDE" "SOURCES;INCLUDE;PRIVATE_INCLUDE;DEFINES;PRIVATE_DEFINES;LINK" ${ARGN})
  set(files "")
  foreach(pattern IN LISTS ARG_SOURCES ARG_INCLUDE ARG_PRIVATE_INCLUDE)
    # An absolute path is a file that this build generates.
    cmake_path(ABSOLUTE_PATH pattern BASE_DIRECTORY ${pack} OUTPUT_VARIABLE place)
    file(GLOB found ${place})
    if(NOT found)
      message(FATAL_ERROR "The pack in ${pack} has no ${pattern}, which ${name} is made of. Make it anew with "
                          "tools/gpu_pack.sh of this revision.")
    endif()
    if(pattern IN_LIST ARG_SOURCES)
      list(APPEND files ${found})
    endif()
  endforeach()
  if(ARG_EXCLUDE)
    list(FILTER files EXCLUDE REGEX "/(${ARG_EXCLUDE})$")
  endif()
  set(scope PUBLIC)
  if(files)
    add_library(packed_${name} STATIC EXCLUDE_FROM_ALL ${files})
    target_compile_options(packed_${name} PRIVATE -w)
    target_compile_definitions(packed_${name} PRIVATE ${ARG_PRIVATE_DEFINES})
  else()
    set(scope INTERFACE)
    add_library(packed_${name} INTERFACE)
  endif()
  foreach(folder IN LISTS ARG_INCLUDE)
    cmake_path(ABSOLUTE_PATH folder BASE_DIRECTORY ${pack})
    target_include_directories(packed_${name} SYSTEM ${scope} ${folder})
  endforeach()
  foreach(folder IN LISTS ARG_PRIVATE_INCLUDE)
    cmake_path(ABSOLUTE_PATH folder BASE_DIRECTORY ${pack})
    target_include_directories(packed_${name} SYSTEM PRIVATE ${folder})
  endforeach()
  target_compile_definitions(packed_${name} ${scope} ${ARG_DEFINES})
  target_link_libraries(packed_${name} ${scope} ${ARG_LINK})
  add_library(${ARG_ALIAS} ALIAS packed_${name})
endfunction()

# Files that the libraries' own build systems generate.
set(made ${CMAKE_BINARY_DIR}/packed)
file(CONFIGURE OUTPUT ${made}/prometheus/prometheus/detail/core_export.h CONTENT
     "#pragma once\n#define PROMETHEUS_CPP_CORE_EXPORT\n#define PROMETHEUS_CPP_CORE_NO_EXPORT\n")
file(CONFIGURE OUTPUT ${made}/sentencepiece/config.h CONTENT
     "#pragma once\n#define VERSION \"packed\"\n#define PACKAGE \"sentencepiece\"\n#define PACKAGE_STRING PACKAGE\n")
configure_file(${pack}/pcre2/src/config.h.generic ${made}/pcre2/config.h COPYONLY)
configure_file(${pack}/pcre2/src/pcre2.h.generic ${made}/pcre2/pcre2.h COPYONLY)
configure_file(${pack}/pcre2/src/pcre2_chartables.c.dist ${made}/pcre2/pcre2_chartables.c COPYONLY)

packed_library(fmt ALIAS fmt::fmt SOURCES fmt/src/format.cc fmt/src/os.cc INCLUDE fmt/include)
packed_library(nlohmann_json ALIAS nlohmann_json::nlohmann_json INCLUDE nlohmann_json/include)
packed_library(highway ALIAS PkgConfig::HWY SOURCES highway/hwy/*.cc EXCLUDE ".*_test.cc|benchmark.cc" INCLUDE highway)
packed_library(sentencepiece ALIAS PkgConfig::SENTENCEPIECE
               SOURCES sentencepiece/src/*.cc sentencepiece/src/builtin_pb/*.cc
                       sentencepiece/third_party/protobuf-lite/*.cc sentencepiece/third_party/absl/flags/*.cc
               EXCLUDE ".*_main.cc|.*_test.cc|testharness.cc"
               INCLUDE sentencepiece/src
               PRIVATE_INCLUDE ${made}/sentencepiece sentencepiece sentencepiece/src/builtin_pb sentencepiece/third_party
                               sentencepiece/third_party/protobuf-lite
               PRIVATE_DEFINES HAVE_PTHREAD=1 _USE_INTERNAL_STRING_VIEW
               LINK Threads::Threads)
# Excludes programs, and files such as pcre2_jit_match.c that other sources include.
packed_library(pcre2 ALIAS PkgConfig::PCRE2
               SOURCES ${made}/pcre2/pcre2_chartables.c pcre2/src/pcre2_*.c
               EXCLUDE "pcre2_(dftables|fuzzsupport|jit_match|jit_misc|jit_test|posix_test|printint|ucptables).*"
               INCLUDE ${made}/pcre2
               PRIVATE_INCLUDE pcre2/src
               DEFINES PCRE2_STATIC
               PRIVATE_DEFINES HAVE_CONFIG_H SUPPORT_UNICODE SUPPORT_JIT PCRE2_CODE_UNIT_WIDTH=8)
packed_library(utf8proc ALIAS PkgConfig::UTF8PROC SOURCES utf8proc/utf8proc.c INCLUDE utf8proc DEFINES UTF8PROC_STATIC)
packed_library(pugixml ALIAS PkgConfig::PUGIXML SOURCES pugixml/src/pugixml.cpp INCLUDE pugixml/src)
packed_library(httplib ALIAS PkgConfig::HTTPLIB INCLUDE httplib LINK Threads::Threads)
packed_library(prometheus ALIAS PkgConfig::PROMETHEUS
               SOURCES prometheus/core/src/*.cc prometheus/core/src/detail/*.cc
               INCLUDE prometheus/core/include ${made}/prometheus
               PRIVATE_INCLUDE prometheus/core/src
               LINK Threads::Threads)
packed_library(xxhash ALIAS PkgConfig::XXHASH SOURCES xxhash/xxhash.c INCLUDE xxhash)
# Asio would include Boost.DateTime for timers that are not used here.
packed_library(boost ALIAS Boost::headers INCLUDE boost DEFINES BOOST_ASIO_DISABLE_BOOST_DATE_TIME LINK Threads::Threads)
packed_library(zlib ALIAS ZLIB::ZLIB SOURCES zlib/*.c INCLUDE zlib)
set(CLI11_INCLUDE_DIR ${pack}/cli11/include)
if(REPRISE_TESTS)
  packed_library(eigen ALIAS Eigen3::Eigen INCLUDE eigen)
  packed_library(gtest ALIAS GTest::gtest SOURCES googletest/googletest/src/gtest-all.cc INCLUDE googletest/googletest/include
                 PRIVATE_INCLUDE googletest/googletest LINK Threads::Threads)
  packed_library(gtest_main ALIAS GTest::gtest_main SOURCES googletest/googletest/src/gtest_main.cc
                 INCLUDE googletest/googletest/include LINK packed_gtest)
endif()
if(REPRISE_BENCHMARKS)
  packed_library(benchmark ALIAS benchmark::benchmark SOURCES benchmark/src/*.cc EXCLUDE benchmark_main.cc
                 INCLUDE benchmark/include DEFINES BENCHMARK_STATIC_DEFINE
                 PRIVATE_DEFINES HAVE_STD_REGEX HAVE_STEADY_CLOCK BENCHMARK_VERSION="packed"
                 LINK Threads::Threads)
endif()
# sentencepiece needs C++17: under C++20 its string types do not match its protobuf's.
set_target_properties(packed_sentencepiece PROPERTIES CXX_STANDARD 17)

# Versions for the records' provenance, as the packages of dependencies.cmake provide them.
file(STRINGS ${pack}/MANIFEST lines REGEX "^highway ")
string(REGEX REPLACE "^highway [^ ]+ " "" HWY_VERSION "${lines}")
