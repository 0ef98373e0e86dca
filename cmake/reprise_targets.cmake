# Functions that declare this tree's targets, so that each folder's CMakeLists.txt is a list of
# files.
add_library(reprise_options INTERFACE)
# Designated initializers name only the fields that differ from the defaults.
set(options -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wno-missing-field-initializers -fno-math-errno -fno-trapping-math)
set(cuda_options -DFMT_USE_CONSTEXPR=1)
if(REPRISE_WARNINGS_AS_ERRORS)
  list(APPEND options -Werror)
  list(APPEND cuda_options -Werror=all-warnings)
endif()
target_compile_options(reprise_options INTERFACE "$<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:${options}>>")
# nvcc passes on the host compiler's warnings and has its own. fmt 9 takes nvcc for a compiler
# without constexpr, and then fails to check format strings in C++20.
string(REPLACE ";" "," host_options "${options}")
target_compile_options(reprise_options INTERFACE
  "$<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CUDA>:${cuda_options};-Xcompiler=${host_options}>>")
target_compile_features(reprise_options INTERFACE cxx_std_20)
target_include_directories(reprise_options INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>
                           $<INSTALL_INTERFACE:include/reprise>)
if(REPRISE_SANITIZE)
  target_compile_options(reprise_options INTERFACE -fsanitize=${REPRISE_SANITIZE} -fno-sanitize-recover=all
                         -fno-omit-frame-pointer)
  # In instrumented builds GCC warns of uninitialized members in its own std::regex.
  target_compile_options(reprise_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(reprise_options INTERFACE -fsanitize=${REPRISE_SANITIZE})
  # Exceptions to reprise_options. They are libraries, to be linked after it, because a target's own options come before
  # those of the libraries that it links.
  add_library(reprise_without_coverage INTERFACE)
  target_compile_options(reprise_without_coverage INTERFACE -fno-sanitize-coverage=trace-pc,trace-cmp)
  add_library(reprise_without_ubsan INTERFACE)
  target_compile_options(reprise_without_ubsan INTERFACE -fno-sanitize=undefined)
  add_library(reprise_without_sanitizers INTERFACE)
  target_compile_options(reprise_without_sanitizers INTERFACE -fno-sanitize=all)
  # The tests whose label names this build's sanitizer: `ctest -L asan`, or -L tsan.
  add_custom_target(sanitized_tests)
  if(REPRISE_SANITIZE MATCHES "thread")
    set(REPRISE_SANITIZED_LABEL tsan)
    set(REPRISE_SANITIZER_ENVIRONMENT "TSAN_OPTIONS=halt_on_error=1")
  else()
    set(REPRISE_SANITIZED_LABEL asan)
    set(REPRISE_SANITIZER_ENVIRONMENT "UBSAN_OPTIONS=print_stacktrace=1"
        "ASAN_OPTIONS=detect_stack_use_after_return=1:check_initialization_order=1:strict_string_checks=1")
  endif()
endif()

if(REPRISE_FUZZ)
  target_compile_options(reprise_options INTERFACE -fsanitize-coverage=trace-pc,trace-cmp)
endif()

# reprise_library(name [ALONE] SOURCES ... [TOGETHER ...] [LINK ...]): a static library of one
# folder, compiled in batches. With ALONE, for sources that are timed, each of SOURCES is compiled
# by itself and those of TOGETHER in one batch.
function(reprise_library name)
  cmake_parse_arguments(ARG "ALONE" "" "SOURCES;TOGETHER;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES} ${ARG_TOGETHER})
  target_link_libraries(${name} PUBLIC reprise_options ${ARG_LINK})
  if(REPRISE_BATCHES AND NOT ARG_ALONE)
    reprise_compile_in_batches(${name})
  elseif(REPRISE_BATCHES AND ARG_TOGETHER)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    set_source_files_properties(${ARG_TOGETHER} PROPERTIES UNITY_GROUP together)
  endif()
endfunction()

# reprise_compile_in_batches(targets...): compiles twelve sources of a target at a time, so that
# common headers (the command line's library, JSON in tests) are parsed and instantiated once. The preset
# debug compiles each source alone, which shows missing includes.
function(reprise_compile_in_batches)
  foreach(target IN LISTS ARGN)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
  endforeach()
endfunction()

# reprise_compile_lightly(targets...): uses -O1, for code that runs before or after what is timed and
# never between two times, and for tests that compute. GCC spends a third of the compile time of these sources between -O1 and -O3.
function(reprise_compile_lightly)
  foreach(target IN LISTS ARGN)
    target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
  endforeach()
endfunction()

# reprise_method(name SOURCES ... [LINK ...]): puts a method on the list that the build generates (methods/registry.h). One
# of the sources defines `reprise::methods::MethodEntry NAME_method()`. The sources are compiled with those of the other
# methods; paths are relative to the folder.
function(reprise_method name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  list(TRANSFORM ARG_SOURCES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  target_sources(reprise_methods PRIVATE ${ARG_SOURCES})
  target_link_libraries(reprise_methods PUBLIC ${ARG_LINK})
  set_property(GLOBAL APPEND PROPERTY REPRISE_METHODS ${name})
endfunction()

# reprise_test(name SOURCES ... LINK ... [LABELS ...] [TIMEOUT seconds]): one GoogleTest program, which is one ctest
# entry. The tests find the real data through the environment variable REPRISE_DATA; without it,
# they are skipped. The labels asan and tsan choose the tests that `make sanitize` builds and runs: asan for what reads
# files or input that others wrote, or does arithmetic with pointers; tsan for what several threads share.
function(reprise_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LINK;LABELS" ${ARGN})
  reprise_test_program(${name} SOURCES ${ARG_SOURCES} LINK GTest::gtest_main ${ARG_LINK} LABELS ${ARG_LABELS})
  reprise_test_entry(${name} COMMAND ${name} LABELS ${ARG_LABELS} TIMEOUT ${ARG_TIMEOUT})
endfunction()

# reprise_tests(program SOURCES a_test.cpp ... [ALONE b_test.cpp ...] LINK ... [PREFIX p_] [LABELS ...]
# [TIMEOUT seconds]): one program of several sources, with an entry in ctest for each of them: p_a_test, p_b_test. The
# sources are compiled in batches, because most of the time goes into headers that the tests of a folder have in common.
# Those of ALONE define names that others define too.
function(reprise_tests program)
  cmake_parse_arguments(ARG "" "PREFIX;TIMEOUT" "SOURCES;ALONE;LINK;LABELS" ${ARGN})
  reprise_test_program(${program} SOURCES ${ARG_SOURCES} ${ARG_ALONE} LINK reprise_source_main ${ARG_LINK}
                       LABELS ${ARG_LABELS})
  set_source_files_properties(${ARG_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  foreach(source IN LISTS ARG_SOURCES ARG_ALONE)
    cmake_path(GET source FILENAME file)
    cmake_path(GET source STEM LAST_ONLY name)
    reprise_test_entry(${ARG_PREFIX}${name} COMMAND ${program} --source=${file} LABELS ${ARG_LABELS}
                       TIMEOUT ${ARG_TIMEOUT})
  endforeach()
endfunction()

# The program of both.
function(reprise_test_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE reprise_options ${ARG_LINK} GTest::gtest)
  target_compile_definitions(${name} PRIVATE REPRISE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  if(REPRISE_BATCHES)
    # -O0 saves a third of the time to compile. Most tests spend their time in the tree's libraries; those that compare
    # with references compute themselves.
    if("reprise_reference" IN_LIST ARG_LINK)
      reprise_compile_lightly(${name})
    else()
      target_compile_options(${name} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O0>)
    endif()
    reprise_compile_in_batches(${name})
  endif()
  if("gpu" IN_LIST ARG_LABELS)
    add_dependencies(gpu ${name})
  endif()
  if(REPRISE_SANITIZE)
    # Undefined behaviour is looked for in the tree, not in its tests, and no fuzzer runs them.
    target_compile_options(${name} PRIVATE -O0)
    target_link_libraries(${name} PRIVATE reprise_without_ubsan reprise_without_coverage)
    if(REPRISE_SANITIZED_LABEL IN_LIST ARG_LABELS)
      add_dependencies(sanitized_tests ${name})
    endif()
  endif()
endfunction()

# The entry in ctest of both.
function(reprise_test_entry name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "COMMAND;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  if(REPRISE_SANITIZE)
    math(EXPR ARG_TIMEOUT "3 * ${ARG_TIMEOUT}")
  endif()
  add_test(NAME ${name} COMMAND ${ARG_COMMAND})
  # Keeps libtorch's OpenMP teams (in the baselines' tests) from spinning beside other tests.
  set(environment "OMP_WAIT_POLICY=passive" ${REPRISE_SANITIZER_ENVIRONMENT})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}"
                       ENVIRONMENT "${environment}")
endfunction()

# reprise_benchmark(name SOURCES ... LINK ... [LABELS gpu]): one Google Benchmark program.
function(reprise_benchmark name)
  if(NOT REPRISE_BENCHMARKS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE reprise_options ${ARG_LINK} benchmark::benchmark)
  if("gpu" IN_LIST ARG_LABELS)
    add_dependencies(gpu ${name})
  endif()
endfunction()
