# The CUDA language and toolkit, for REPRISE_CUDA. CMAKE_CUDA_ARCHITECTURES says for which devices: by default machine
# code for compute capability 8.0 (A100) and 9.0 (H100, H200), and PTX of 9.0, which later devices compile for themselves.
include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  message(FATAL_ERROR "REPRISE_CUDA is ON, but no nvcc was found. Install the CUDA Toolkit and put its bin folder into PATH, or "
                      "name it: -DCMAKE_CUDA_COMPILER=/usr/local/cuda/bin/nvcc")
endif()
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80-real 90)
endif()
# CMake 3.25 does not know that nvcc speaks C++20, and later ones say so themselves.
if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
endif()
enable_language(CUDA)
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
find_package(CUDAToolkit REQUIRED)
