# The attention kernel: its arithmetic on the host, and the kernel itself by the emulator.
set(kernels ${CMAKE_SOURCE_DIR}/core/kernels/cuda)
if(NOT TARGET reprise_attention_plans)
  reprise_library(reprise_attention_plans
    SOURCES ${kernels}/roofline.cpp ${kernels}/schedule.cpp ${kernels}/schedule_upload.cpp ${kernels}/tiles.cpp
    LINK reprise_kernels)
endif()
foreach(name roofline step_schedule steps tiles)
  reprise_test(cuda_attention_${name}_test SOURCES ${CMAKE_CURRENT_LIST_DIR}/attention_${name}_test.cpp
               LINK reprise_attention_plans)
endforeach()
if(TARGET reprise_row_kernels_on_cpu)
  reprise_kernels_on_cpu(reprise_attention_on_cpu
    SOURCES ${kernels}/attention.cu ${kernels}/attention_bf16.cu ${kernels}/attention_f16.cu ${kernels}/attention_map.cu
    LINK reprise_attention_plans reprise_row_kernels_on_cpu)
  # It holds no kernel, and throws: the emulator has no hooks for tables of virtual functions.
  set_source_files_properties(${kernels}/attention.cu PROPERTIES COMPILE_OPTIONS "-fno-sanitize=all")
  reprise_test(cuda_attention_test SOURCES ${CMAKE_CURRENT_LIST_DIR}/attention_test.cpp
               LINK reprise_attention_on_cpu reprise_reference)
  reprise_test(cuda_attention_extremes_test SOURCES ${CMAKE_CURRENT_LIST_DIR}/attention_extremes_test.cpp
               LINK reprise_attention_on_cpu reprise_reference)
  add_test(NAME cuda_attention_backward_test COMMAND cuda_attention_test)
  set_tests_properties(cuda_attention_backward_test PROPERTIES TIMEOUT 300 ENVIRONMENT CUDA_ON_CPU_ORDER=backward)
endif()
if(REPRISE_CUDA)
  foreach(name attention attention_extremes)
    reprise_test(cuda_device_${name}_test SOURCES device_main.cpp ${CMAKE_CURRENT_LIST_DIR}/${name}_test.cpp
                 LINK reprise_cuda_kernels reprise_reference LABELS gpu)
    set_tests_properties(cuda_device_${name}_test PROPERTIES SKIP_RETURN_CODE 77)
  endforeach()
endif()
add_executable(cuda_attention_roofline_table ${CMAKE_CURRENT_LIST_DIR}/attention_roofline_table.cpp)
target_link_libraries(cuda_attention_roofline_table PRIVATE reprise_options reprise_attention_plans)
# Seeded faults, as cuda_mutations.
find_package(Python3 COMPONENTS Interpreter QUIET)
if(TARGET cuda_attention_test AND Python3_FOUND)
  add_custom_target(cuda_attention_mutations
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/cuda_on_cpu/mutate.py ${CMAKE_BINARY_DIR}
            --faults ${CMAKE_CURRENT_LIST_DIR}/attention_mutations.json
    DEPENDS cuda_attention_test cuda_attention_extremes_test cuda_attention_map_test
    USES_TERMINAL)
  add_test(NAME cuda_attention_mutations_have_their_places_test
           COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/cuda_on_cpu/mutate.py ${CMAKE_BINARY_DIR}
                   --faults ${CMAKE_CURRENT_LIST_DIR}/attention_mutations.json --look)
endif()
# All of a device: what a model runs on.
if(TARGET reprise_attention_on_cpu)
  reprise_library(reprise_cuda_on_cpu
    SOURCES ${kernels}/backend.cpp ${kernels}/device_maps.cpp ${kernels}/device_weight.cpp ${kernels}/map_tiles.cpp
            ${kernels}/open_device.cpp ${kernels}/step_attention_cuda.cpp ${kernels}/timing.cpp ${CMAKE_SOURCE_DIR}/tests/cuda_on_cpu/gemm.cpp
    LINK reprise_cuda_device_on_cpu reprise_attention_on_cpu reprise_probe_kernels_on_cpu)
  reprise_test(cuda_linear_test SOURCES ${CMAKE_CURRENT_LIST_DIR}/linear_test.cpp LINK reprise_cuda_on_cpu)
  reprise_test(cuda_attention_map_test SOURCES ${CMAKE_CURRENT_LIST_DIR}/attention_map_test.cpp
               LINK reprise_cuda_on_cpu reprise_reference)
  add_test(NAME cuda_attention_map_backward_test COMMAND cuda_attention_map_test)
  set_tests_properties(cuda_attention_map_backward_test PROPERTIES TIMEOUT 300 ENVIRONMENT CUDA_ON_CPU_ORDER=backward)
endif()
if(TARGET reprise_row_kernels_on_cpu)
  reprise_test(cuda_draw_test SOURCES ${CMAKE_CURRENT_LIST_DIR}/draw_test.cpp LINK reprise_row_kernels_on_cpu reprise_engine)
  add_test(NAME cuda_draw_backward_test COMMAND cuda_draw_test)
  set_tests_properties(cuda_draw_backward_test PROPERTIES TIMEOUT 300 ENVIRONMENT CUDA_ON_CPU_ORDER=backward)
endif()
if(REPRISE_CUDA)
  reprise_test(cuda_device_linear_test SOURCES device_main.cpp ${CMAKE_CURRENT_LIST_DIR}/linear_test.cpp LINK reprise_cuda_kernels LABELS gpu)
  set_tests_properties(cuda_device_linear_test PROPERTIES SKIP_RETURN_CODE 77)
  reprise_test(cuda_device_attention_map_test SOURCES device_main.cpp ${CMAKE_CURRENT_LIST_DIR}/attention_map_test.cpp
               LINK reprise_cuda_kernels reprise_reference LABELS gpu)
  set_tests_properties(cuda_device_attention_map_test PROPERTIES SKIP_RETURN_CODE 77)
  reprise_test(cuda_device_draw_test SOURCES device_main.cpp ${CMAKE_CURRENT_LIST_DIR}/draw_test.cpp
               LINK reprise_cuda_kernels reprise_engine LABELS gpu)
  set_tests_properties(cuda_device_draw_test PROPERTIES SKIP_RETURN_CODE 77)
endif()
