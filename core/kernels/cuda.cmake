# The kernels of the CUDA backend, built only with REPRISE_CUDA. tests/cuda_on_cpu compiles the same
# sources for the CPU.
reprise_library(reprise_cuda_kernels ALONE
  SOURCES
    activation/cuda/activation.cu
    attention/cuda/attention.cu attention/cuda/attention_bf16.cu attention/cuda/attention_f16.cu attention/cuda/merge.cu
    attention/cuda/roofline.cpp attention/cuda/schedule.cpp attention/cuda/schedule_upload.cpp
    attention/cuda/step_attention_cuda.cpp attention/cuda/tensor_map.cpp attention/cuda/tiles.cpp
    attention_map/cuda/attention_map.cu attention_map/cuda/device_maps.cpp attention_map/cuda/map_tiles.cpp
    clip/cuda/clip.cu
    device/cuda/backend.cpp device/cuda/probe_kernels.cu device/cuda/timing.cpp
    embedding/cuda/embedding.cu
    kv_write/cuda/kv_write.cu
    linear/cuda/coded_product.cu linear/cuda/coded_weight.cpp linear/cuda/device_weight.cpp linear/cuda/epilogue_bias.cpp
    linear/cuda/gemm_cublaslt.cpp
    norm/cuda/norm.cu
    rotary/cuda/rotary.cu
    rows/cuda/rows.cu
    sampling/cuda/draw.cu
  LINK reprise_kernels reprise_cuda_device CUDA::cublasLt)
if(CMAKE_CUDA_ARCHITECTURES MATCHES 90a)
  target_compile_definitions(reprise_cuda_kernels PUBLIC REPRISE_CUDA_SM90A)
endif()
# Measures the limits of a device, for benchmarks and records.
reprise_library(reprise_cuda_probe ALONE SOURCES device/cuda/machine_device.cpp device/cuda/device_probe.cpp LINK reprise_cuda_kernels)
