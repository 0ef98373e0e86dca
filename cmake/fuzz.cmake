# libFuzzer comes with Clang, and GCC compiles the tree (its kernels choose instruction sets by GCC's pragmas):
# tests/fuzz/coverage.cpp joins the two. The tests of the address sanitizer and the fuzzers are one build, so that
# the libraries are compiled once for both.
find_program(REPRISE_CLANG NAMES clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14)
set(REPRISE_LIBFUZZER "")
foreach(name libclang_rt.fuzzer-${CMAKE_SYSTEM_PROCESSOR}.a libclang_rt.fuzzer.a)
  if(REPRISE_CLANG AND NOT EXISTS "${REPRISE_LIBFUZZER}")
    execute_process(COMMAND ${REPRISE_CLANG} --print-file-name=${name} OUTPUT_VARIABLE REPRISE_LIBFUZZER
                    OUTPUT_STRIP_TRAILING_WHITESPACE)
  endif()
endforeach()
set(fuzzes OFF)
if(REPRISE_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID STREQUAL GNU AND EXISTS "${REPRISE_LIBFUZZER}")
  set(fuzzes ON)
endif()
option(REPRISE_FUZZ "Build the libFuzzer targets (default: in a build with the address sanitizer, where libFuzzer is)" ${fuzzes})
if(REPRISE_FUZZ AND NOT EXISTS "${REPRISE_LIBFUZZER}")
  message(FATAL_ERROR "REPRISE_FUZZ needs Clang's libFuzzer (./setup.sh --tools)")
endif()
if(REPRISE_FUZZ)
  # What is not a fuzzer has nobody who reads the coverage.
  add_library(fuzz_no_coverage STATIC ${CMAKE_SOURCE_DIR}/tests/fuzz/no_coverage.cpp)
  link_libraries($<BUILD_INTERFACE:fuzz_no_coverage>)
endif()
