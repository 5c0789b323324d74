# LibTorch, looked for in this order: Torch_DIR / CMAKE_PREFIX_PATH, an active Python's torch, the project's venv.
# scripts/setup.sh looks in the same order; 2.6 is the first release whose pip wheels use today's C++ ABI.
set(minimum_torch 2.6)

# A LibTorch for CUDA turns nvcc on, asks it for our C++ standard and for the GPUs of this machine. Nothing of ours is
# compiled by nvcc, so what every nvcc and CMake know will do.
set(CMAKE_CUDA_STANDARD 17)
if(NOT DEFINED TORCH_CUDA_ARCH_LIST AND NOT DEFINED ENV{TORCH_CUDA_ARCH_LIST})
  set(TORCH_CUDA_ARCH_LIST 8.0)
endif()

macro(find_torch)
  set(CMAKE_MESSAGE_LOG_LEVEL ERROR)  # the wheel's own configuration warns that it comes without its profiler
  find_package(Torch ${minimum_torch} QUIET)
  unset(CMAKE_MESSAGE_LOG_LEVEL)
endmacro()

find_torch()
if(NOT Torch_FOUND)
  set(pythons python3 ${CMAKE_SOURCE_DIR}/.venv/bin/python)
  if(DEFINED ENV{VIRTUAL_ENV})
    list(PREPEND pythons $ENV{VIRTUAL_ENV}/bin/python)
  endif()
  foreach(python ${pythons})
    execute_process(COMMAND ${python} ${CMAKE_SOURCE_DIR}/scripts/locate_torch.py
      OUTPUT_VARIABLE torch_folder OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE torch_missing)
    if(NOT torch_missing)
      set(Torch_DIR ${torch_folder} CACHE PATH "The folder of TorchConfig.cmake" FORCE)
      break()
    endif()
  endforeach()
  find_torch()
endif()
if(NOT Torch_FOUND)
  message(FATAL_ERROR "LibTorch ${minimum_torch} or newer was not found. Run scripts/setup.sh, or pass "
    "-DTorch_DIR=.../share/cmake/Torch, or build without the trainer: -DSCAVENGER_WITH_TORCH=OFF")
endif()
message(STATUS "LibTorch ${Torch_VERSION}: ${TORCH_INSTALL_PREFIX}")

# What this LibTorch has, for sync.strategy and device.
get_target_property(torch_definitions torch_cpu INTERFACE_COMPILE_DEFINITIONS)
if("USE_C10D_GLOO" IN_LIST torch_definitions)
  set(SCAVENGER_HAS_GLOO 1)
endif()
if(TARGET torch_cuda)
  set(SCAVENGER_HAS_CUDA 1)
  # The libtorch.so of PyPI's CUDA wheels has parts of the C++ library in it, and exports them. Programs found those before
  # the system's, and std::filesystem::remove_all crashed: so the system's comes first.
  add_link_options(LINKER:--push-state,--no-as-needed -lstdc++ LINKER:--pop-state)
  get_target_property(torch_definitions torch_cuda INTERFACE_COMPILE_DEFINITIONS)
  # c10d's header asks for NCCL's, which pip brings beside LibTorch, and the toolkit does not; that one asks for CCCL's,
  # which since CUDA 13 have a folder of their own.
  find_path(NCCL_INCLUDE nccl.h HINTS ${TORCH_INSTALL_PREFIX}/../nvidia/nccl/include)
  find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS ${TORCH_INSTALL_PREFIX}/../nvidia/nccl/lib)
  find_path(CCCL_INCLUDE nv/target HINTS ${CUDA_TOOLKIT_ROOT_DIR}/include PATH_SUFFIXES cccl)
  if("USE_C10D_NCCL" IN_LIST torch_definitions AND NCCL_INCLUDE AND NCCL_LIBRARY AND CCCL_INCLUDE)
    set(SCAVENGER_HAS_NCCL 1)
  endif()
endif()
