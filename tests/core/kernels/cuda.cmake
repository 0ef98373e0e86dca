# The CUDA kernels against the same definitions as the CPU's: run on the CPU by tests/cuda_on_cpu, and with REPRISE_CUDA on
# the device too.
set(kernels ${CMAKE_SOURCE_DIR}/core/kernels)

# reprise_cuda_test(name [BOTH_ORDERS] SOURCES ... ON_CPU library ON_DEVICE library [LINK libraries of both]): the test
# cuda_<name>_test on the emulator, and cuda_device_<name>_test on a GPU. BOTH_ORDERS: a thread that reads what a later
# one overwrites is found when the later one runs first, so the emulator runs the test in that order too.
function(reprise_cuda_test name)
  cmake_parse_arguments(ARG "BOTH_ORDERS" "ON_CPU;ON_DEVICE" "SOURCES;LINK" ${ARGN})
  if(TARGET ${ARG_ON_CPU})
    reprise_test(cuda_${name}_test SOURCES ${ARG_SOURCES} LINK ${ARG_ON_CPU} ${ARG_LINK})
    if(ARG_BOTH_ORDERS)
      add_test(NAME cuda_${name}_backward_test COMMAND cuda_${name}_test)
      set_tests_properties(cuda_${name}_backward_test PROPERTIES TIMEOUT 300 ENVIRONMENT CUDA_ON_CPU_ORDER=backward)
    endif()
  endif()
  if(REPRISE_CUDA)
    reprise_test(cuda_device_${name}_test SOURCES device/cuda/device_main.cpp ${ARG_SOURCES} LINK ${ARG_ON_DEVICE} ${ARG_LINK}
                 LABELS gpu)
    set_tests_properties(cuda_device_${name}_test PROPERTIES SKIP_RETURN_CODE 77)
  endif()
endfunction()

# Operations on rows, each with a kernel of its own.
foreach(test activation/cuda/activation attention/cuda/merge kv_write/cuda/kv_write norm/cuda/norm rotary/cuda/rotary)
  cmake_path(GET test FILENAME name)
  reprise_cuda_test(${name} BOTH_ORDERS SOURCES ${test}_test.cpp ON_CPU reprise_row_kernels_on_cpu
                    ON_DEVICE reprise_cuda_kernels LINK reprise_reference)
endforeach()
reprise_cuda_test(rows BOTH_ORDERS SOURCES clip/cuda/clip_test.cpp rows/cuda/rows_test.cpp ON_CPU reprise_row_kernels_on_cpu
                  ON_DEVICE reprise_cuda_kernels LINK reprise_reference)
reprise_cuda_test(embedding BOTH_ORDERS SOURCES embedding/cuda/embedding_test.cpp ON_CPU reprise_row_kernels_on_cpu
                  ON_DEVICE reprise_cuda_kernels LINK reprise_reference)
reprise_cuda_test(draw BOTH_ORDERS SOURCES sampling/cuda/draw_test.cpp ON_CPU reprise_row_kernels_on_cpu
                  ON_DEVICE reprise_cuda_kernels LINK reprise_engine)
reprise_cuda_test(probe_kernels SOURCES device/cuda/probe_kernels_test.cpp ON_CPU reprise_probe_kernels_on_cpu
                  ON_DEVICE reprise_cuda_probe)

# Attention: its arithmetic on the host, and the kernel itself.
set(attention ${kernels}/attention/cuda)
reprise_library(reprise_attention_plans
  SOURCES ${attention}/roofline.cpp ${attention}/schedule.cpp ${attention}/schedule_upload.cpp ${attention}/tiles.cpp
  LINK reprise_kernels)
reprise_tests(cuda_attention_plans_tests
  SOURCES attention/cuda/attention_roofline_test.cpp attention/cuda/attention_step_schedule_test.cpp
          attention/cuda/attention_steps_test.cpp attention/cuda/attention_tiles_test.cpp
  PREFIX cuda_ LINK reprise_attention_plans)
add_executable(cuda_attention_roofline_table attention/cuda/attention_roofline_table.cpp)
target_link_libraries(cuda_attention_roofline_table PRIVATE reprise_options reprise_attention_plans)
if(TARGET reprise_row_kernels_on_cpu)
  reprise_kernels_on_cpu(reprise_attention_on_cpu
    SOURCES ${attention}/attention.cu ${attention}/attention_bf16.cu ${attention}/attention_f16.cu
            ${kernels}/attention_map/cuda/attention_map.cu
    LINK reprise_attention_plans reprise_row_kernels_on_cpu tensor_maps_on_cpu)
  # It holds no kernel, and throws: the emulator has no hooks for tables of virtual functions.
  set_source_files_properties(${attention}/attention.cu PROPERTIES COMPILE_OPTIONS "-fno-sanitize=all")
endif()
reprise_cuda_test(attention BOTH_ORDERS SOURCES attention/cuda/attention_test.cpp ON_CPU reprise_attention_on_cpu
                  ON_DEVICE reprise_cuda_kernels LINK reprise_reference)
reprise_cuda_test(attention_merge SOURCES attention/cuda/attention_merge_test.cpp ON_CPU reprise_attention_on_cpu
                  ON_DEVICE reprise_cuda_kernels LINK reprise_reference)
reprise_cuda_test(attention_extremes SOURCES attention/cuda/attention_extremes_test.cpp ON_CPU reprise_attention_on_cpu
                  ON_DEVICE reprise_cuda_kernels LINK reprise_reference)

# All of a device: what a model runs on.
if(TARGET reprise_attention_on_cpu)
  reprise_library(reprise_cuda_on_cpu
    SOURCES ${attention}/step_attention_cuda.cpp
            ${kernels}/attention_map/cuda/device_maps.cpp ${kernels}/attention_map/cuda/map_tiles.cpp
            ${kernels}/device/cuda/backend.cpp ${kernels}/device/cuda/open_device.cpp ${kernels}/device/cuda/timing.cpp
            ${kernels}/linear/cuda/coded_weight.cpp ${kernels}/linear/cuda/device_weight.cpp
            ${kernels}/linear/cuda/epilogue_bias.cpp ${CMAKE_SOURCE_DIR}/tests/cuda_on_cpu/gemm.cpp
    LINK reprise_cuda_device_on_cpu reprise_attention_on_cpu reprise_probe_kernels_on_cpu)
endif()
reprise_cuda_test(coded_product BOTH_ORDERS SOURCES linear/cuda/coded_product_test.cpp ON_CPU reprise_cuda_on_cpu
                  ON_DEVICE reprise_cuda_kernels LINK reprise_reference)
reprise_cuda_test(linear SOURCES linear/cuda/linear_test.cpp ON_CPU reprise_cuda_on_cpu ON_DEVICE reprise_cuda_kernels)
reprise_cuda_test(attention_map BOTH_ORDERS SOURCES attention_map/cuda/attention_map_test.cpp ON_CPU reprise_cuda_on_cpu
                  ON_DEVICE reprise_cuda_kernels LINK reprise_reference)

# Seeded faults, as cuda_mutations.
find_package(Python3 COMPONENTS Interpreter QUIET)
if(TARGET cuda_attention_test AND Python3_FOUND)
  set(mutate ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/cuda_on_cpu/mutate.py ${CMAKE_BINARY_DIR}
             --faults ${CMAKE_CURRENT_LIST_DIR}/attention/cuda/attention_mutations.json)
  add_custom_target(cuda_attention_mutations
    COMMAND ${mutate} DEPENDS cuda_attention_test cuda_attention_merge_test cuda_attention_extremes_test cuda_attention_map_test USES_TERMINAL)
  add_test(NAME cuda_attention_mutations_have_their_places_test COMMAND ${mutate} --look)
endif()

if(REPRISE_CUDA)
  foreach(bench attention/cuda/attention attention_map/cuda/attention_map linear/cuda/gemm shared/cuda/rows)
    cmake_path(GET bench FILENAME name)
    reprise_benchmark(cuda_${name}_bench SOURCES ${bench}_bench.cpp LINK reprise_cuda_probe LABELS gpu)
  endforeach()
  # Tests on the hardware what the emulator assumes about the instructions.
  set(emulator ${CMAKE_SOURCE_DIR}/tests/cuda_on_cpu)
  reprise_test(cuda_device_intrinsics_test
    SOURCES device/cuda/device_main.cpp ${emulator}/intrinsics_test.cpp ${emulator}/intrinsic_kernels.cu
    LINK reprise_cuda_kernels LABELS gpu)
  set_tests_properties(cuda_device_intrinsics_test PROPERTIES SKIP_RETURN_CODE 77)
endif()
