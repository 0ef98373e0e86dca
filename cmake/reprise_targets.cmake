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
                         -fno-omit-frame-pointer -g)
  # In instrumented builds GCC warns of uninitialized members in its own std::regex.
  target_compile_options(reprise_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(reprise_options INTERFACE -fsanitize=${REPRISE_SANITIZE})
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
# common headers (JSON, the command line's library) are parsed and instantiated once. The presets
# debug, asan and tsan compile each source alone, which shows missing includes.
function(reprise_compile_in_batches)
  foreach(target IN LISTS ARGN)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
  endforeach()
endfunction()

# reprise_compile_lightly(targets...): uses -O1, for the tests and for code that runs before or after
# what is timed, and never between two times. GCC spends a third of the compile time of these sources between -O1 and -O3.
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

# reprise_test(name SOURCES ... LINK ... [LABELS ...]): one GoogleTest program, which is one ctest
# entry. The tests find the real data through the environment variable REPRISE_DATA; without it,
# they are skipped.
function(reprise_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LINK;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE reprise_options ${ARG_LINK} GTest::gtest_main GTest::gtest)
  if(REPRISE_BATCHES)
    reprise_compile_lightly(${name})
    reprise_compile_in_batches(${name})
  endif()
  add_test(NAME ${name} COMMAND ${name})
  if("gpu" IN_LIST ARG_LABELS)
    add_dependencies(gpu ${name})
  endif()
  # Keeps libtorch's OpenMP teams (in the baselines' tests) from spinning beside other tests.
  set(environment "OMP_WAIT_POLICY=passive")
  if(REPRISE_SANITIZE MATCHES "thread")
    list(APPEND environment "TSAN_OPTIONS=halt_on_error=1")
  elseif(REPRISE_SANITIZE MATCHES "address")
    list(APPEND environment "UBSAN_OPTIONS=print_stacktrace=1")
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}"
                       ENVIRONMENT "${environment}")
  target_compile_definitions(${name} PRIVATE REPRISE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
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
