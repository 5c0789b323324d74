# `cmake --install build/release --prefix DIR`: a folder that can be moved, with bin/, lib/ and share/scavenger/configs/.
# lib/ gets what the programs are linked to and another machine may lack: LibTorch, fmt, spdlog. What every system of the
# kind has (C and C++ run-time, OpenSSL, zlib, SQLite) and drivers stay the system's, so that its updates reach us.
set(system_libraries "^(ld-linux.*|libc|libm|libdl|librt|libpthread|libgcc_s|libstdc\\+\\+|libssl|libcrypto|libz|libsqlite3|libcuda|libnvidia-.*)\\.so.*")
set(library_folders "")
if(TORCH_INSTALL_PREFIX)
  set(library_folders DIRECTORIES ${TORCH_INSTALL_PREFIX}/lib)
endif()
if(EXISTS ${CMAKE_SOURCE_DIR}/apps/CMakeLists.txt)
  install(RUNTIME_DEPENDENCY_SET scavenger_libraries PRE_EXCLUDE_REGEXES ${system_libraries}
    ${library_folders} LIBRARY DESTINATION lib)
endif()
install(DIRECTORY ${CMAKE_SOURCE_DIR}/configs/ DESTINATION share/scavenger/configs)
