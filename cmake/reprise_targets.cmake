# How this tree declares its targets, so that each folder's CMakeLists.txt is a list of files.
add_library(reprise_options INTERFACE)
# Designated initializers name what differs from the defaults; the rest is meant to be left out.
set(options -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wno-missing-field-initializers -fno-math-errno -fno-trapping-math)
set(cuda_options -DFMT_USE_CONSTEXPR=1)
if(REPRISE_WARNINGS_AS_ERRORS)
  list(APPEND options -Werror)
  list(APPEND cuda_options -Werror=all-warnings)
endif()
target_compile_options(reprise_options INTERFACE "$<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:${options}>>")
# nvcc passes the host's warnings on, and has its own. fmt 9 takes nvcc for a compiler without constexpr, and then
# fails where it checks format strings in C++20.
string(REPLACE ";" "," host_options "${options}")
target_compile_options(reprise_options INTERFACE
  "$<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CUDA>:${cuda_options};-Xcompiler=${host_options}>>")
target_compile_features(reprise_options INTERFACE cxx_std_20)
target_include_directories(reprise_options INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>
                           $<INSTALL_INTERFACE:include/reprise>)
if(REPRISE_SANITIZE)
  target_compile_options(reprise_options INTERFACE -fsanitize=${REPRISE_SANITIZE} -fno-sanitize-recover=all
                         -fno-omit-frame-pointer -g)
  # GCC sees uninitialized members in its own std::regex once it is instrumented.
  target_compile_options(reprise_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(reprise_options INTERFACE -fsanitize=${REPRISE_SANITIZE})
endif()

# reprise_library(name [ALONE] SOURCES ... [TOGETHER ...] [LINK ...]): a static library of one folder, compiled in
# batches; ALONE where sources are timed, each compiled by itself, but for those TOGETHER, which are not.
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

# reprise_compile_in_batches(targets...): twelve sources of a target at a time, so that what they all include (JSON,
# the command line's library) is read and instantiated once. The presets debug, asan and tsan compile each source alone,
# which shows a missing include.
function(reprise_compile_in_batches)
  foreach(target IN LISTS ARGN)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
  endforeach()
endfunction()

# reprise_compile_lightly(targets...): what runs once, before or after anything is timed, and the tests. GCC spends a
# third of the time of these sources on the step from -O1 to -O3.
function(reprise_compile_lightly)
  foreach(target IN LISTS ARGN)
    target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
  endforeach()
endfunction()

# reprise_test(name SOURCES ... LINK ... [LABELS ...]): one GoogleTest program, one ctest entry for each program.
# The tests find the real data through the environment variable REPRISE_DATA and skip without it.
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
  # libtorch's OpenMP teams (the baselines' tests) would spin beside other tests.
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
