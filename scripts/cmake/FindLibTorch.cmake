# LibTorch, looked for in this order: Torch_DIR / CMAKE_PREFIX_PATH, an active Python's torch, the project's venv.
find_package(Torch QUIET)
if(NOT Torch_FOUND)
  foreach(python "$ENV{VIRTUAL_ENV}/bin/python" python3 "${CMAKE_SOURCE_DIR}/.venv/bin/python")
    execute_process(COMMAND ${python} -c "import torch; print(torch.utils.cmake_prefix_path)"
      OUTPUT_VARIABLE torch_prefix OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE torch_missing)
    if(NOT torch_missing)
      list(APPEND CMAKE_PREFIX_PATH ${torch_prefix})
      break()
    endif()
  endforeach()
  find_package(Torch QUIET)
endif()
if(NOT Torch_FOUND)
  message(FATAL_ERROR "LibTorch was not found. Run scripts/setup.sh, or pass -DTorch_DIR=.../share/cmake/Torch, "
    "or build without the trainer: -DSCAVENGER_WITH_TORCH=OFF")
endif()
message(STATUS "LibTorch ${Torch_VERSION}: ${TORCH_INSTALL_PREFIX}")
