# The CUDA language and toolkit, for REPRISE_CUDA. CMAKE_CUDA_ARCHITECTURES selects the devices. By
# default: machine code for compute capability 8.0 (A100) and 9.0 (H100, H200; 90a has their products
# by warpgroups), and PTX of 9.0, which later devices compile themselves.
include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  message(FATAL_ERROR "REPRISE_CUDA is ON, but no nvcc was found. Install the CUDA Toolkit and put its bin folder into PATH, or "
                      "name it: -DCMAKE_CUDA_COMPILER=/usr/local/cuda/bin/nvcc")
endif()
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80-real 90a-real 90-virtual)
endif()
# CMake 3.25 does not know that nvcc supports C++20; later versions set this option themselves.
if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
endif()
enable_language(CUDA)
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
find_package(CUDAToolkit REQUIRED)

# Some toolkits come without cuBLAS. Then the wheel nvidia-cublas, which PyTorch installs, provides
# the headers, and a library that does not have the name that linkers look for.
if(NOT TARGET CUDA::cublasLt)
  execute_process(
    COMMAND python3 -c "import importlib.util as u; s = u.find_spec('nvidia'); print(';'.join(s.submodule_search_locations) if s else '', end='')"
    OUTPUT_VARIABLE wheels ERROR_QUIET)
  set(version ${CUDAToolkit_VERSION_MAJOR})
  find_path(REPRISE_CUBLASLT_INCLUDE_DIR cublasLt.h HINTS ${wheels} PATH_SUFFIXES cu${version}/include cublas/include)
  find_library(REPRISE_CUBLASLT_LIBRARY NAMES cublasLt libcublasLt.so.${version} HINTS ${wheels}
               PATH_SUFFIXES cu${version}/lib cublas/lib)
  if(NOT REPRISE_CUBLASLT_INCLUDE_DIR OR NOT REPRISE_CUBLASLT_LIBRARY)
    message(FATAL_ERROR "REPRISE_CUDA is ON, but cuBLASLt was found neither in the toolkit (${CUDAToolkit_LIBRARY_DIR}) nor among "
                        "python3's packages. Install libcublas-dev of CUDA ${version}, or the wheel nvidia-cublas.")
  endif()
  message(STATUS "cuBLASLt: ${REPRISE_CUBLASLT_LIBRARY}")
  add_library(CUDA::cublasLt UNKNOWN IMPORTED)
  set_target_properties(CUDA::cublasLt PROPERTIES IMPORTED_LOCATION ${REPRISE_CUBLASLT_LIBRARY}
                        INTERFACE_INCLUDE_DIRECTORIES ${REPRISE_CUBLASLT_INCLUDE_DIR})
endif()
